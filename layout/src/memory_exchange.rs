//! Conversions through shared memory: an order of the tile in which both sides access vectors and no banks conflict.
//!
//! The elements in memory are numbered by an invertible linear map, given by the coordinate that each bit of the number stands for.
//! The lowest bits of the number are a *vector*: coordinates that both sides have in a thread's registers, and that do not depend
//! on lane or warp. The next bits make up a row of the memory's 32 banks, the others number rows. Lanes that are served together
//! conflict where two of them are in one bank but in different rows, that is where the space of those lanes' coordinates, modulo
//! the vector, meets the space of rows. So the rows have to be a common complement of the lanes of the one side and of the other;
//! over GF(2) two subspaces of one dimension always have one. As in Zhou et al., arXiv:2505.23819, section 5.5.

use crate::bits::{Span, combine, kernel};
use crate::error::LayoutError;
use crate::linear::{Basis, HardwareDim, LinearLayout};
use crate::shared::{BANKS, SharedLayout, WAVEFRONT_BYTES, WORD_BYTES};

/// Bytes of the widest access of a thread.
const WIDEST_ACCESS: u64 = 16;

/// How to convert a tile from one layout to another through shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryExchange {
    /// The source with its registers renumbered, vectors lowest: the layout to store in.
    pub stored: LinearLayout,
    /// The coordinate that each bit of an element's number in memory stands for.
    pub memory: Vec<Basis>,
    /// Elements of a vector, which both sides have.
    pub vector: usize,
    /// The destination with its registers renumbered, vectors lowest, and none twice: the layout to load in.
    pub loaded: LinearLayout,
}

impl LinearLayout {
    /// Returns how to convert a tile of this layout, of elements of `element_bytes`, to `to` through the shared memory of a CTA.
    /// The tiles have to be of one shape and over the same threads of one CTA.
    pub fn memory_exchange_to(&self, to: &Self, element_bytes: u64) -> MemoryExchange {
        let threads = |layout: &Self| {
            [HardwareDim::Lane, HardwareDim::Warp]
                .into_iter()
                .flat_map(|dim| layout.dim_columns(dim))
                .collect::<Vec<_>>()
        };
        let vector = self.common_vector(
            to,
            threads,
            (WIDEST_ACCESS / element_bytes).max(1).ilog2() as usize,
        );

        // The rest of the coordinates: a complement of the vector that is spanned by the threads' coordinates first.
        let mut whole = Span::of(vector.iter().copied());
        let units = (0..self.tile_bits()).map(|bit| 1_u64 << bit);
        let mut rest = Vec::new();
        for column in threads(self).into_iter().chain(threads(to)).chain(units) {
            if whole.insert(column, 1 << (vector.len() + rest.len())).is_none() {
                rest.push(column);
            }
        }
        let modulo_vector = |column: u64| whole.express(column).unwrap_or(0) >> vector.len();

        let vector_bytes = element_bytes << vector.len();
        let served = (WAVEFRONT_BYTES / vector_bytes.max(WORD_BYTES))
            .min(BANKS)
            .ilog2() as usize;
        let row_bits = ((WAVEFRONT_BYTES / vector_bytes).ilog2() as usize).min(rest.len());
        let lanes = |layout: &Self| {
            let lanes = layout.dim_columns(HardwareDim::Lane).into_iter().take(served);
            lanes.map(modulo_vector).collect::<Vec<_>>()
        };
        let (one, other) = (lanes(self), lanes(to));
        let rest_units = (0..rest.len()).map(|bit| 1_u64 << bit).collect::<Vec<_>>();
        let columns = independent(&[&one, &other, &rest_units], row_bits);
        let other = independent(&[&other, &one, &rest_units], row_bits);
        let rows = common_complement(&columns, &other, &rest_units);
        let order = vector
            .iter()
            .copied()
            .chain(columns.iter().chain(&rows).map(|&column| combine(&rest, column)));
        let renumbered = |layout: &Self| {
            let mut kept = Span::default();
            let mut registers = vector.clone();
            for column in layout.dim_columns(HardwareDim::Register) {
                let column = combine(&rest, modulo_vector(column));
                if kept.insert(column, 0).is_none() {
                    registers.push(column);
                }
            }
            layout.with_registers(&registers)
        };
        MemoryExchange {
            stored: renumbered(self),
            vector: 1 << vector.len(),
            memory: order.map(|column| self.unpack(column)).collect(),
            loaded: renumbered(to),
        }
    }

    /// As [`Self::memory_exchange_to`], but only if storing in this layout or loading in `to` has bank conflicts in `memory`; `None` if
    /// neither has.
    ///
    /// # Errors
    /// If the tiles differ in shape from the memory.
    pub fn memory_exchange_instead_of(
        &self,
        memory: &SharedLayout,
        to: &Self,
        element_bytes: u64,
    ) -> Result<Option<MemoryExchange>, LayoutError> {
        let conflicts = |layout: &Self| {
            let vector = match memory.offset_map() {
                Some(offsets) => layout.compose(&offsets)?.contiguous_elements(&[0]),
                None => 1,
            };
            let vector = vector.min((WIDEST_ACCESS / element_bytes).max(1) as usize);
            let report = memory.bank_conflicts(layout, 8 * element_bytes as u32, vector)?;
            Ok::<_, LayoutError>(report.conflicts())
        };
        Ok((conflicts(self)? + conflicts(to)? > 0).then(|| self.memory_exchange_to(to, element_bytes)))
    }

    /// Returns at most `bits` coordinates that both layouts have in registers and that no combination of lanes and warps changes.
    fn common_vector(&self, to: &Self, threads: impl Fn(&Self) -> Vec<u64>, bits: usize) -> Vec<u64> {
        let registers = self.dim_columns(HardwareDim::Register);
        let of_other = to.dim_columns(HardwareDim::Register);
        let other = Span::of(of_other.iter().copied());
        let mask = (1_u64 << registers.len()) - 1;
        let shared = kernel(registers.iter().chain(&of_other).copied())
            .into_iter()
            .map(|combination| combine(&registers, combination & mask));
        // Single registers come before combinations, so that a vector is in the register order of this layout if possible.
        let candidates = registers
            .iter()
            .copied()
            .filter(|&column| other.express(column).is_some());
        let mut moved = Span::of(threads(self).into_iter().chain(threads(to)));
        let mut vector = Vec::new();
        for column in candidates.chain(shared) {
            if vector.len() < bits && moved.insert(column, 0).is_none() {
                vector.push(column);
            }
        }
        vector
    }

    /// This layout with other registers, given as packed coordinates.
    fn with_registers(&self, registers: &[u64]) -> Self {
        let mut layout = self.clone();
        layout.set_bases(
            HardwareDim::Register,
            registers.iter().map(|&column| self.unpack(column)).collect(),
        );
        layout
    }
}

/// The first `count` vectors of the lists that are independent of those before.
fn independent(lists: &[&[u64]], count: usize) -> Vec<u64> {
    let mut span = Span::default();
    let mut chosen = Vec::new();
    for &vector in lists.iter().copied().flatten() {
        if chosen.len() < count && span.insert(vector, 0).is_none() {
            chosen.push(vector);
        }
    }
    chosen
}

/// A complement, in the space of `units`, of two subspaces of one dimension, each given by a basis.
fn common_complement(one: &[u64], other: &[u64], units: &[u64]) -> Vec<u64> {
    let mut both = Span::of(one.iter().copied());
    let only_other = other
        .iter()
        .copied()
        .filter(|&vector| both.insert(vector, 0).is_none());
    let only_other = only_other.collect::<Vec<_>>();
    let mut known = Span::of(other.iter().copied());
    let only_one = one
        .iter()
        .copied()
        .filter(|&vector| known.insert(vector, 0).is_none());
    let mut complement = only_one
        .zip(&only_other)
        .map(|(one, other)| one ^ other)
        .collect::<Vec<_>>();
    complement.extend(
        units
            .iter()
            .copied()
            .filter(|&unit| both.insert(unit, 0).is_none()),
    );
    complement
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::subspace;
    use crate::sampling::{any_layout_pair, pair_of_blocked};
    use proptest::prelude::*;

    /// Asserts that both sides access vectors, and without bank conflicts.
    fn check(from: &LinearLayout, to: &LinearLayout, element_bytes: u64) {
        let exchange = from.memory_exchange_to(to, element_bytes);
        assert!(
            from.register_map_to(&exchange.stored).unwrap().is_some(),
            "{from} to {}",
            exchange.stored
        );
        assert!(
            exchange.loaded.register_map_to(to).unwrap().is_some(),
            "{} to {to}",
            exchange.loaded
        );
        let shared = SharedLayout::linear(from.shape(), &exchange.memory).unwrap();
        for layout in [&exchange.stored, &exchange.loaded] {
            let offsets = layout.compose(&shared.offset_map().unwrap()).unwrap();
            let vector = offsets
                .contiguous_elements(&[0])
                .min((WIDEST_ACCESS / element_bytes) as usize);
            let report = shared
                .bank_conflicts(layout, 8 * element_bytes as u32, vector)
                .unwrap();
            // Where lanes repeat elements an access may even take fewer wavefronts.
            assert_eq!(report.conflicts(), 0, "{from} to {to}: {layout}");
        }
    }

    fn rows_and_columns() -> (LinearLayout, LinearLayout) {
        let unit = |axis: usize, bit: i32| {
            if axis == 0 {
                vec![1 << bit, 0]
            } else {
                vec![0, 1 << bit]
            }
        };
        let line = |registers: [Basis; 5], lanes: [Basis; 5]| {
            LinearLayout::new([registers.to_vec(), lanes.to_vec(), vec![], vec![]], vec![32, 32]).unwrap()
        };
        let along = |axis| std::array::from_fn(|bit| unit(axis, bit as i32));
        (line(along(0), along(1)), line(along(1), along(0)))
    }

    #[test]
    fn a_transposition_is_without_conflicts_element_by_element() {
        let (rows, columns) = rows_and_columns();
        check(&rows, &columns, 4);
        assert_eq!(rows.memory_exchange_to(&columns, 4).memory.len(), 10);
    }

    #[test]
    fn what_both_sides_hold_together_is_one_vector() {
        let unit = |axis: usize, value| if axis == 0 { vec![value, 0] } else { vec![0, value] };
        let layout = |lanes: [Basis; 5], warps: [Basis; 2]| {
            let registers = vec![unit(1, 1), unit(1, 2), unit(1, 4)];
            LinearLayout::new([registers, lanes.to_vec(), warps.to_vec(), vec![]], vec![16, 64]).unwrap()
        };
        let from = layout(
            [unit(1, 8), unit(1, 16), unit(1, 32), unit(0, 1), unit(0, 2)],
            [unit(0, 4), unit(0, 8)],
        );
        let to = layout(
            [unit(0, 1), unit(0, 2), unit(0, 4), unit(0, 8), unit(1, 8)],
            [unit(1, 16), unit(1, 32)],
        );
        let exchange = from.memory_exchange_to(&to, 2);
        assert_eq!(exchange.memory[..3], [[0, 1], [0, 2], [0, 4]]);
        check(&from, &to, 2);
    }

    /// 8 warps leave partial results of 64 columns, two for each lane, and each thread reads those of its columns.
    #[test]
    fn partial_results_of_columns_leave_a_plain_order_for_one_without_conflicts() {
        let bases = |values: &[i32]| values.iter().map(|value| vec![0, *value]).collect::<Vec<_>>();
        let warps = vec![vec![1, 0], vec![2, 0], vec![4, 0]];
        let tile = LinearLayout::new(
            [bases(&[1]), bases(&[2, 4, 8, 16, 32]), warps, vec![]],
            vec![8, 64],
        )
        .unwrap();
        let partial = tile.partial_layout(0, HardwareDim::Warp).unwrap();
        let gathered = tile.gathered_layout(0, HardwareDim::Warp).unwrap();
        let plain = SharedLayout::plain(partial.shape(), &[0, 1]).unwrap();
        let exchange = partial.memory_exchange_instead_of(&plain, &gathered, 4).unwrap();
        let exchange = exchange.unwrap();
        let swizzled = SharedLayout::linear(partial.shape(), &exchange.memory).unwrap();
        let again = exchange
            .stored
            .memory_exchange_instead_of(&swizzled, &exchange.loaded, 4);
        assert_eq!(again.unwrap(), None);
    }

    #[test]
    fn one_partial_result_of_each_warp_stays_in_plain_order() {
        let unit = |value: i32| vec![value];
        let lanes = [1, 2, 4, 8, 16].map(unit).to_vec();
        let row = LinearLayout::new([vec![], lanes, [32, 64].map(unit).to_vec(), vec![]], vec![128]).unwrap();
        let partial = row.partial_layout(0, HardwareDim::Warp).unwrap();
        let gathered = row.gathered_layout(0, HardwareDim::Warp).unwrap();
        let plain = SharedLayout::plain(partial.shape(), &[0]).unwrap();
        assert_eq!(
            partial.memory_exchange_instead_of(&plain, &gathered, 4).unwrap(),
            None
        );
    }

    proptest! {
        #[test]
        fn blocked_layouts_exchange_without_conflicts((from, to) in pair_of_blocked(), log2_bytes in 0..4) {
            prop_assume!(from.num_blocks() == 1);
            check(&from, &to, 1_u64 << log2_bytes);
        }

        #[test]
        fn any_layouts_exchange_without_conflicts((from, to) in any_layout_pair(), log2_bytes in 0..4) {
            prop_assume!(from.num_blocks() == 1);
            check(&from, &to, 1_u64 << log2_bytes);
        }
    }

    #[test]
    fn a_common_complement_meets_neither() {
        let units = [1, 2, 4, 8];
        let complement = common_complement(&[1, 2], &[2, 4], &units);
        assert_eq!(complement.len(), 2);
        for side in [[1, 2], [2, 4]] {
            let members = subspace(&complement);
            assert!(
                subspace(&side)
                    .iter()
                    .all(|member| *member == 0 || !members.contains(member))
            );
        }
    }
}
