//! Moving a tile from one layout to another: how far data has to travel, and where each value comes from.
//!
//! A conversion from `A` to `B` is a linear map `X` from `B`'s indices to `A`'s with `A X = B`. It stays within a level
//! if `X` leaves the coarser parts of the index alone, so the levels are tried from the finest: each column of `X` is
//! solved for in the bases of that level and the finer ones.

use crate::bits::Span;
use crate::error::LayoutError;
use crate::linear::{HardwareDim, HardwareIndex, LinearLayout};
use crate::memory_exchange::MemoryExchange;
use crate::shared::{WAVEFRONT_BYTES, WORD_BYTES};
use crate::warp_exchange::WarpExchange;

/// The coarsest level across which a conversion moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversionLevel {
    /// The layouts place every value alike.
    None,
    /// Each thread renumbers its registers, all threads alike.
    Register,
    /// Data stays within its warp: shuffles, and selects of registers by thread.
    Lane,
    /// Data crosses warps, through shared memory.
    Warp,
    /// Data crosses CTAs, through distributed shared memory.
    Block,
}

/// A conversion, seen from the receiving side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// The coarsest level across which data moves.
    pub level: ConversionLevel,
    sources: [Vec<HardwareIndex>; 4],
}

impl Conversion {
    /// Returns where the old layout holds the value that the new one has at `destination`.
    pub fn source(&self, destination: HardwareIndex) -> HardwareIndex {
        let mut source = HardwareIndex::default();
        for dim in HardwareDim::ALL {
            for (bit, &image) in self.sources[dim as usize].iter().enumerate() {
                if destination.get(dim) >> bit & 1 == 1 {
                    source = source.xor(image);
                }
            }
        }
        source
    }
}

/// The cheapest way to convert a tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConversionPlan {
    /// A renumbering: for each destination register the source register that holds its value.
    Registers(Vec<usize>),
    /// Shuffles.
    Warp(WarpExchange),
    /// Shared memory.
    Memory(MemoryExchange),
}

impl ConversionPlan {
    /// The cost of the plan for a warp, in cycles of an SM while other warps have work.
    pub fn cost(&self, element_bytes: u64) -> usize {
        match self {
            Self::Registers(_) => 0,
            Self::Warp(exchange) => warp_cost(exchange, element_bytes),
            Self::Memory(exchange) => memory_cost(exchange, element_bytes),
        }
    }
}

// Costs are in cycles of an SM while other warps have work. In each cycle an SM serves one wavefront of shared memory, one shuffle of a
// warp, or two selects of a warp (measured on an H100, 2026-11-23, by loops of 64 such instructions in 16 warps: 1.00, 1.00 and 0.51
// cycles for each). The CUDA C++ Programming Guide has the same for shuffles, 32 lanes a clock at compute capability 9.0, and nothing
// for selects. Shuffles and selects count twice that here, so that plans by memory are preferred to plans by shuffles where the two
// are close; which factor chooses the fastest plans has not been measured.

/// A shuffle of 32 bits.
const SHUFFLE_COST: usize = 2;
/// A select of 32 bits.
const SELECT_COST: usize = 1;
/// A wavefront of shared memory.
pub const WAVEFRONT_COST: usize = 1;
/// The two barriers of an exchange through memory, one before it is written and one before it is read. No warp has work meanwhile.
pub const BARRIERS_COST: usize = 40;

impl LinearLayout {
    /// Returns the cheapest plan to convert a tile of elements of `element_bytes` from this layout to `to`.
    ///
    /// # Errors
    /// As [`Self::conversion_to`], and if data crosses CTAs.
    pub fn conversion_plan(&self, to: &Self, element_bytes: u64) -> Result<ConversionPlan, LayoutError> {
        if let Some(map) = self.register_map_to(to)? {
            return Ok(ConversionPlan::Registers(map));
        }
        if self.num_blocks() > 1 {
            return Err(LayoutError::CrossesBlocks);
        }
        let memory = self.memory_exchange_to(to, element_bytes);
        Ok(match self.warp_exchange_to(to) {
            Some(warp) if warp_cost(&warp, element_bytes) <= memory_cost(&memory, element_bytes) => {
                ConversionPlan::Warp(warp)
            }
            _ => ConversionPlan::Memory(memory),
        })
    }

    /// Returns the conversion of a tile from this layout to `to`.
    ///
    /// # Errors
    /// If the layouts differ in shape or in the number of lanes, warps or CTAs.
    pub fn conversion_to(&self, to: &Self) -> Result<Conversion, LayoutError> {
        if self.shape() != to.shape() {
            return Err(LayoutError::ShapeMismatch {
                expected: self.shape().to_vec(),
                got: to.shape().to_vec(),
            });
        }
        for dim in [HardwareDim::Lane, HardwareDim::Warp, HardwareDim::Block] {
            if self.extent(dim) != to.extent(dim) {
                return Err(LayoutError::HardwareMismatch {
                    dim,
                    expected: self.extent(dim),
                    got: to.extent(dim),
                });
            }
        }
        let identical = self == to;
        let levels = [
            (
                if identical {
                    ConversionLevel::None
                } else {
                    ConversionLevel::Register
                },
                HardwareDim::Register,
            ),
            (ConversionLevel::Lane, HardwareDim::Lane),
            (ConversionLevel::Warp, HardwareDim::Warp),
        ];
        let found = levels.into_iter().find_map(|(level, coarsest)| {
            Some(Conversion {
                level,
                sources: self.sources_within(to, coarsest)?,
            })
        });
        let across_blocks = || Conversion {
            level: ConversionLevel::Block,
            // A layout is surjective, so that with every level allowed each column has a solution.
            sources: self.sources_within(to, HardwareDim::Block).unwrap_or_default(),
        };
        Ok(found.unwrap_or_else(across_blocks))
    }

    /// Returns for each register of `to` the register of this layout with the same value; `None` if the conversion takes more than
    /// that.
    ///
    /// # Errors
    /// As [`Self::conversion_to`].
    pub fn register_map_to(&self, to: &Self) -> Result<Option<Vec<usize>>, LayoutError> {
        let conversion = self.conversion_to(to)?;
        let source = |register| {
            conversion
                .source(HardwareIndex {
                    register,
                    ..Default::default()
                })
                .register
        };
        Ok((conversion.level <= ConversionLevel::Register)
            .then(|| (0..to.num_registers()).map(source).collect()))
    }

    /// Returns the columns of an `X` that changes no part of the index coarser than `coarsest`; `None` if there is none.
    fn sources_within(&self, to: &Self, coarsest: HardwareDim) -> Option<[Vec<HardwareIndex>; 4]> {
        let free: Vec<u64> = HardwareDim::ALL
            .iter()
            .filter(|&&dim| dim <= coarsest)
            .flat_map(|&dim| self.dim_columns(dim))
            .collect();
        let span = Span::of(free);
        let mut sources: [Vec<HardwareIndex>; 4] = Default::default();
        for dim in HardwareDim::ALL {
            let here = self.dim_columns(dim);
            for (bit, &wanted) in to.dim_columns(dim).iter().enumerate() {
                let same_place = 1_u64 << (self.index_offset(dim) + bit);
                let held = here.get(bit).copied();
                let packed = if held == Some(wanted) {
                    same_place
                } else if dim > coarsest {
                    // A register chosen by thread is a select, not a renumbering.
                    if coarsest == HardwareDim::Register {
                        return None;
                    }
                    same_place | span.express(wanted ^ held?)?
                } else {
                    span.express(wanted)?
                };
                sources[dim as usize].push(self.unflatten_index(packed));
            }
        }
        Some(sources)
    }
}

fn warp_cost(exchange: &WarpExchange, element_bytes: u64) -> usize {
    let words = element_bytes.div_ceil(WORD_BYTES) as usize;
    // Elements narrower than a word share one as far as neighbours stay together.
    let groups = (WORD_BYTES / element_bytes).max(1).ilog2();
    let grouped = (0..=groups).rev().find_map(|bits| exchange.by_groups(bits));
    let exchange = grouped.as_ref().unwrap_or(exchange);
    words * (exchange.shuffles() * SHUFFLE_COST + exchange.selects() * SELECT_COST)
}

fn memory_cost(exchange: &MemoryExchange, element_bytes: u64) -> usize {
    let wavefronts = |layout: &LinearLayout| {
        let vector = exchange.vector.min(layout.num_registers());
        let lanes_at_once = (WAVEFRONT_BYTES / (vector as u64 * element_bytes).max(WORD_BYTES)) as usize;
        layout.num_registers() / vector * layout.num_lanes().div_ceil(lanes_at_once)
    };
    BARRIERS_COST + WAVEFRONT_COST * (wavefronts(&exchange.stored) + wavefronts(&exchange.loaded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::{any_layout_pair, pair_of_blocked};
    use proptest::prelude::*;

    fn line(register: &[i32], lane: &[i32], warp: &[i32], block: &[i32]) -> LinearLayout {
        let bases = |values: &[i32]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
        LinearLayout::new(
            [bases(register), bases(lane), bases(warp), bases(block)],
            vec![16],
        )
        .unwrap()
    }

    #[test]
    fn the_level_is_the_coarsest_that_moves() {
        let from = line(&[1], &[2], &[4], &[8]);
        let level = |to: &LinearLayout| from.conversion_to(to).unwrap().level;
        assert_eq!(level(&from), ConversionLevel::None);
        assert_eq!(level(&line(&[2], &[1], &[4], &[8])), ConversionLevel::Lane);
        assert_eq!(level(&line(&[4], &[2], &[1], &[8])), ConversionLevel::Warp);
        assert_eq!(level(&line(&[8], &[2], &[4], &[1])), ConversionLevel::Block);
    }

    #[test]
    fn renumbered_registers_need_no_exchange() {
        let from = line(&[1, 2], &[4], &[8], &[]);
        let to = line(&[2, 1], &[4], &[8], &[]);
        assert_eq!(from.register_map_to(&to).unwrap(), Some(vec![0, 2, 1, 3]));
        assert_eq!(from.conversion_to(&to).unwrap().level, ConversionLevel::Register);
    }

    #[test]
    fn broadcasting_into_more_registers_is_a_register_map() {
        let from = line(&[1, 2], &[4], &[8], &[]);
        let to = line(&[1, 0, 2], &[4], &[8], &[]);
        assert_eq!(
            from.register_map_to(&to).unwrap(),
            Some(vec![0, 1, 0, 1, 2, 3, 2, 3])
        );
    }

    #[test]
    fn picking_a_register_by_lane_is_no_register_map() {
        let from = line(&[1, 2], &[0], &[4, 8], &[]);
        let to = line(&[1], &[2], &[4, 8], &[]);
        assert_eq!(from.conversion_to(&to).unwrap().level, ConversionLevel::Lane);
        assert_eq!(from.register_map_to(&to).unwrap(), None);
    }

    #[test]
    fn thread_counts_have_to_agree() {
        let error = line(&[1], &[2], &[4, 8], &[])
            .conversion_to(&line(&[1, 8], &[2], &[4], &[]))
            .unwrap_err();
        assert_eq!(error.to_string(), "expected both layouts to have 4 warps, got 2");
    }

    fn check_conversion(from: &LinearLayout, to: &LinearLayout) {
        let conversion = from.conversion_to(to).unwrap();
        for destination in to.indices() {
            let source = conversion.source(destination);
            assert_eq!(from.apply(source), to.apply(destination));
            let level = conversion.level;
            assert!(level >= ConversionLevel::Block || source.block == destination.block);
            assert!(level >= ConversionLevel::Warp || source.warp == destination.warp);
            assert!(level >= ConversionLevel::Lane || source.lane == destination.lane);
            assert!(level >= ConversionLevel::Register || source.register == destination.register);
        }
    }

    #[test]
    fn the_plan_is_the_cheapest_that_moves_data_far_enough() {
        let wide = |register: &[i32], lane: &[i32], warp: &[i32]| {
            let bases = |values: &[i32]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
            let extent = 1 << (register.len() + lane.len() + warp.len());
            LinearLayout::new([bases(register), bases(lane), bases(warp), vec![]], vec![extent]).unwrap()
        };
        let from = wide(&[1, 2], &[4, 8, 16, 32, 64], &[128]);
        let plan = |to: &LinearLayout| from.conversion_plan(to, 4).unwrap();
        assert!(matches!(
            plan(&wide(&[2, 1], &[4, 8, 16, 32, 64], &[128])),
            ConversionPlan::Registers(_)
        ));
        assert!(matches!(
            plan(&wide(&[4, 8], &[1, 2, 16, 32, 64], &[128])),
            ConversionPlan::Warp(_)
        ));
        assert!(matches!(
            plan(&wide(&[1, 128], &[4, 8, 16, 32, 64], &[2])),
            ConversionPlan::Memory(_)
        ));
        // 64 registers, each selected by 5 lane bits twice: a row of 32 lanes becomes a column.
        let from = wide(&[1, 2, 4, 8, 16, 1024], &[32, 64, 128, 256, 512], &[]);
        let to = wide(&[32, 64, 128, 256, 512, 1024], &[1, 2, 4, 8, 16], &[]);
        assert!(matches!(
            from.conversion_plan(&to, 4).unwrap(),
            ConversionPlan::Memory(_)
        ));
    }

    proptest! {
        #[test]
        fn the_source_of_each_value_holds_it((from, to) in pair_of_blocked()) {
            check_conversion(&from, &to);
        }

        #[test]
        fn the_source_of_each_value_holds_it_in_any_layout((from, to) in any_layout_pair()) {
            check_conversion(&from, &to);
        }
    }
}
