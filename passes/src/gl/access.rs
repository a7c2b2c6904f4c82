//! What a `gl.load`, a `gl.store` or a `gl.async_copy` says of addresses: how far apart elements lie, and how many one instruction may
//! move.
//!
//! A vector of n elements is n consecutive registers of each thread that hold consecutive elements in memory, from an
//! address that n elements divide. The address is a sum of terms: the base, the strides times constants, indices,
//! coordinates and quotients of such. Along the one tile axis that moves the address by one element the layout says how
//! long runs are and that they start at multiples of their length ([`runs`]); the address of a start has to be a multiple of the
//! vector, and no quotient may jump within a run, neither in the address ([`address`]) nor in a guard (`divisibility`). A guard may end
//! within one: the lowering moves what it lets through of a vector element by element.

mod address;
mod runs;

use melior::ir::{AffineMap, OperationRef, Type, Value, ValueLike, attribute::DenseI64ArrayAttribute};
use norma_dialects::{
    gl::{AsyncCopyOp, LoadOp, StoreOp},
    op_name,
};
use norma_layout::LinearLayout;

use crate::mlir::{pass::PassError, types, values::users};

use super::{
    divisibility,
    quotient_form::{Quotient, QuotientForm},
    shared_memory,
};
pub use address::address_divisor;
use address::{Address, power_of_two_in};
use runs::{Run, Tile};

/// What has no vector yet of a load, a store or a copy to shared memory.
pub struct Access<'c, 'a> {
    element: Type<'c>,
    buffer: Value<'c, 'a>,
    map: AffineMap<'c>,
    guards: Option<AffineMap<'c>>,
    /// What divides each index.
    indices: Vec<i64>,
    /// What divides each limit of the guards.
    limits: Vec<i64>,
    /// Whether the bytes between its elements may be read too: nothing writes them meanwhile, and where the buffer ends is known.
    is_covered_by_words: bool,
}

/// Narrow reads that one of two covering words is worth.
const WORTH_COVERING: i64 = 4;
/// The shortest words that are shifted, in bytes: a register's.
const SHORTEST_WORD: i64 = 4;

impl<'c, 'a> Access<'c, 'a> {
    /// The tile that `op` loads or stores, and where; `None` if it does neither, or has a vector already.
    pub fn of(op: OperationRef<'c, 'a>) -> Result<Option<(Value<'c, 'a>, Self)>, PassError<'c>> {
        let (tile, buffer, map, guards, indices, limits, vector) = if let Some(load) = LoadOp::from_op(op) {
            let (indices, limits) = (load.indices(), load.limits());
            let (buffer, map) = (load.buffer()?, load.access()?);
            (
                load.tile()?,
                buffer,
                map,
                load.guards(),
                indices,
                limits,
                load.vector(),
            )
        } else if let Some(store) = StoreOp::from_op(op) {
            let (indices, limits) = (store.indices(), store.limits());
            let (buffer, map) = (store.buffer()?, store.access()?);
            (
                store.tile()?,
                buffer,
                map,
                store.guards(),
                indices,
                limits,
                store.vector(),
            )
        } else {
            return Ok(None);
        };
        if vector.is_some() {
            return Ok(None);
        }
        let access = Self {
            element: types::element(tile.r#type()),
            buffer,
            map,
            guards,
            indices: divisors(indices),
            limits: divisors(limits),
            is_covered_by_words: LoadOp::from_op(op).is_some()
                && is_only_read(buffer)
                && has_static_end(buffer),
        };
        Ok(Some((tile, access)))
    }

    /// What a copy reads, whose tile is the memory that it fills.
    pub fn of_copy(copy: AsyncCopyOp<'c, 'a>) -> Result<Self, PassError<'c>> {
        Ok(Self {
            element: shared_memory::type_of(copy.memory()?, copy.op())?.element_type(),
            buffer: copy.buffer()?,
            map: copy.access()?,
            guards: copy.guards(),
            indices: divisors(copy.indices()),
            limits: divisors(copy.limits()),
            is_covered_by_words: false,
        })
    }

    /// Bytes of an element in memory; `None` for a type without a size.
    pub fn element_bytes(&self) -> Option<i64> {
        types::element_bytes(self.element)
    }

    /// For each axis of the tile the bytes from an element to its neighbour, `None` where only the run knows them; or `None`
    /// for all where the address is no sum of multiples of the coordinates.
    pub fn strides(&self) -> Option<Vec<Option<i64>>> {
        let address = Address::of(self.buffer, self.map, self.element_bytes()?)?;
        let is_linear = address.quotients().next().is_none();
        let strides = (self.indices.len()..address.fixed.dims.len()).map(|along| address.stride(along));
        is_linear.then(|| strides.collect())
    }

    /// The vector's length, and what keeps it shorter than the layout's runs and the hardware would allow.
    pub fn vector(&self, layout: &LinearLayout) -> (i64, Option<String>) {
        let Some(bytes) = self.element_bytes() else {
            return (1, Some("the elements have no size".to_owned()));
        };
        let Some(address) = Address::of(self.buffer, self.map, bytes) else {
            return (
                1,
                Some("the address is no sum of indices, coordinates and their quotients".to_owned()),
            );
        };
        let Some(guards) = self.guards() else {
            return (
                1,
                Some("a guard is no sum of indices, coordinates and their quotients".to_owned()),
            );
        };
        let mut best = (1, Some("no axis of the tile is contiguous in memory".to_owned()));
        let tile = self.tile(layout, bytes);
        let joined = |run: Run| [tile.joined(&run, &address, &guards), Some(run)];
        for run in tile.runs(&address).flat_map(joined).flatten() {
            let mut vector = run.elements;
            let mut reason = None;
            while vector > run.of_within {
                let dims = run.divisors(vector, &self.indices, layout.rank());
                let alignment = power_of_two_in(address.divisor(&dims));
                reason = if alignment < vector * bytes {
                    Some(format!(
                        "addresses are known to be multiples of {alignment} bytes"
                    ))
                } else {
                    self.jumps_within(&address, &guards, &run, vector, &dims)
                };
                if reason.is_none() {
                    break;
                }
                vector /= 2;
            }
            if best.1.is_some() && vector >= best.0 || vector > best.0 {
                best = (vector, reason);
            }
        }
        best
    }

    /// The vector, and what divides its address in bytes, of a load that is better read as the two aligned words around each
    /// vector than as vectors of `narrow` elements.
    ///
    /// Two reads and the shifting, up to 15 instructions, take the place of at least four reads. Each of those takes L1 as
    /// long as one of 16 bytes, since the lanes of a warp lie just as far apart.
    pub fn covered_vector(&self, layout: &LinearLayout, narrow: i64) -> Option<(i64, i64)> {
        let bytes = self.element_bytes()?;
        let address = Address::of(self.buffer, self.map, bytes)?;
        let guards = self.guards()?;
        let is_suitable = |run: &Run| {
            let vector = run.elements;
            let dims = run.divisors(vector, &self.indices, layout.rank());
            vector >= narrow * WORTH_COVERING
                && vector * bytes >= SHORTEST_WORD
                && address.alignment % (vector * bytes) == 0
                && self.jumps_within(&address, &guards, run, vector, &dims).is_none()
        };
        let covered = self.is_covered_by_words && address.runtime.is_empty();
        let tile = self.tile(layout, bytes);
        let found = tile.runs(&address).filter(|_| covered).filter(is_suitable);
        let run = found.max_by_key(|run| run.elements)?;
        let dims = run.divisors(run.elements, &self.indices, layout.rank());
        Some((run.elements, power_of_two_in(address.divisor(&dims))))
    }

    /// The bytes of a vector of a load that a guard may let through in part, if vectors may be read as a whole all the same.
    pub fn whole_words(&self, layout: &LinearLayout, vector: i64) -> Option<i64> {
        let bytes = self.element_bytes()?;
        let address = Address::of(self.buffer, self.map, bytes)?;
        let guards = self.guards()?;
        let is_suitable = self.is_covered_by_words
            && address.runtime.is_empty()
            && vector > 1
            && vector * bytes >= SHORTEST_WORD;
        let tile = self.tile(layout, bytes);
        let run = tile
            .runs(&address)
            .find(|run| is_suitable && run.elements >= vector)?;
        let dims = run.divisors(vector, &self.indices, layout.rank());
        let ends_within = |guard| divisibility::changes_sign(guard, run.along, vector, &dims, &self.limits);
        guards.iter().any(ends_within).then_some(vector * bytes)
    }

    /// The tile in its layout.
    fn tile<'l>(&self, layout: &'l LinearLayout, bytes: i64) -> Tile<'l> {
        Tile {
            layout,
            first_axis: self.indices.len(),
            bytes,
        }
    }

    /// Which quotient may change within a vector, if one does.
    fn jumps_within(
        &self,
        address: &Address,
        guards: &[QuotientForm],
        run: &Run,
        vector: i64,
        dims: &[i64],
    ) -> Option<String> {
        let steps = vector / run.of_within;
        let is_steady = |quotient: &Quotient| {
            let (numerator, divisor) = (&quotient.numerator, quotient.divisor);
            divisibility::is_steady(numerator, divisor, run.along, steps, dims, &self.limits)
        };
        let mut quotients_of_guards = guards.iter().flat_map(|guard| &guard.quotients);
        if !address.quotients().all(is_steady) {
            Some("a quotient may change within a longer one".to_owned())
        } else if !quotients_of_guards.all(|(_, quotient)| is_steady(quotient)) {
            Some("a guard's quotient may change within a longer one".to_owned())
        } else {
            None
        }
    }

    /// For each guard `lhs - rhs`, whose sign decides; `None` if one is no form.
    fn guards(&self) -> Option<Vec<QuotientForm>> {
        let Some(guards) = self.guards else {
            return Some(Vec::new());
        };
        let form = |index| {
            QuotientForm::of(
                guards.result(index).ok()?,
                guards.dim_count(),
                guards.symbol_count(),
            )
        };
        (0..guards.result_count())
            .step_by(2)
            .map(|lhs| QuotientForm::difference(&form(lhs)?, &form(lhs + 1)?))
            .collect()
    }
}

/// What divides each of some scalars.
fn divisors(values: Vec<Value<'_, '_>>) -> Vec<i64> {
    values.into_iter().map(divisibility::of_scalar).collect()
}

/// Whether the kernel only loads from a buffer, and no other of its buffers may be the same memory.
fn is_only_read(buffer: Value<'_, '_>) -> bool {
    let reads = |user: &OperationRef<'_, '_>| matches!(op_name(*user), LoadOp::NAME | "memref.dim");
    let is_own = divisibility::launch_of(buffer).is_some_and(|(launch, argument)| {
        let aliases = launch
            .aliases()
            .and_then(|aliases| DenseI64ArrayAttribute::try_from(aliases).ok());
        let is_buffer = |index: usize| {
            let alias = aliases.as_ref().and_then(|aliases| aliases.element(index).ok());
            alias == i64::try_from(argument).ok()
        };
        !(0..aliases.as_ref().map_or(0, DenseI64ArrayAttribute::len)).any(is_buffer)
    });
    is_own && users(buffer).iter().all(reads)
}

/// Whether nothing but the outermost size decides where a buffer ends.
fn has_static_end(buffer: Value<'_, '_>) -> bool {
    let ty = buffer.r#type();
    let inner = types::shape(ty).is_some_and(|shape| shape.iter().skip(1).all(Option::is_some));
    let strides = types::strides_and_offset(ty);
    inner && strides.is_some_and(|(strides, offset)| offset == Some(0) && strides.iter().all(Option::is_some))
}
