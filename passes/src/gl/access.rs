//! Analysis of the addresses of `gl.load`, `gl.gather`, `gl.store`, `gl.scatter` and `gl.async_copy`: the strides between elements,
//! and how many elements one instruction may move (the vector width).
//!
//! A vector of n elements is n consecutive registers of each thread that hold consecutive elements in memory, from an address
//! that is a multiple of the vector's size. The address is a sum of terms: the base, and strides times constants, indices,
//! coordinates and quotients of these. Along the one tile axis that moves the address by one element, the layout says how long
//! runs are and that they start at multiples of their length ([`runs`]). The start address has to be a multiple of the vector's
//! size, and no quotient may change within a run, neither in the address ([`address`]) nor in a guard (`divisibility`). A guard
//! itself may change within a vector: the lowering then moves the elements of that vector that it admits one by one.

mod address;
mod runs;

use melior::ir::{AffineMap, OperationRef, Type, Value, ValueLike, attribute::DenseI64ArrayAttribute};
use norma_dialects::gl::{AsyncCopyOp, GatherOp, LoadOp, ScatterOp, StoreOp};
use norma_layout::LinearLayout;
use norma_targets::REGISTER_BYTES;

use crate::mlir::{pass::PassError, types};

use super::{
    divisibility, global_memory,
    quotient_form::{Quotient, QuotientForm},
    shared_memory,
    steady::is_steady,
};
pub use address::address_divisor;
use address::{Address, power_of_two_in};
use runs::{Run, Tile};

/// The addressing of a load, a store or a copy to shared memory whose vector width is not chosen yet.
pub struct Access<'c, 'a> {
    element: Type<'c>,
    buffer: Value<'c, 'a>,
    map: AffineMap<'c>,
    guards: Option<AffineMap<'c>>,
    /// A divisor of each index, and of each computed place.
    indices: Vec<i64>,
    /// A divisor of each limit of the guards.
    limits: Vec<i64>,
    /// The tiles of numbers that move elements, and of truth values that mask them, which have to be the same within a vector.
    steady: Vec<Value<'c, 'a>>,
    /// Whether the aligned words around its elements may be read as a whole: nothing writes the buffer during the kernel, and
    /// only its outermost size decides where it ends.
    is_covered_by_words: bool,
}

/// The operands and attributes of a load, gather, store or scatter.
struct Operands<'c, 'a> {
    tile: Value<'c, 'a>,
    buffer: Value<'c, 'a>,
    map: AffineMap<'c>,
    guards: Option<AffineMap<'c>>,
    indices: Vec<Value<'c, 'a>>,
    limits: Vec<Value<'c, 'a>>,
    /// The tiles of computed places.
    places: Vec<Value<'c, 'a>>,
    /// The tile of truth values that says which elements are accessed.
    mask: Option<Value<'c, 'a>>,
    vector: Option<i64>,
}

impl<'c, 'a> Operands<'c, 'a> {
    /// The operands of `op`; `None` if it is of another kind.
    fn of(op: OperationRef<'c, 'a>) -> Result<Option<Self>, PassError<'c>> {
        Ok(Some(if let Some(load) = LoadOp::from_op(op) {
            Self {
                tile: load.tile()?,
                buffer: load.buffer()?,
                map: load.access()?,
                guards: load.guards(),
                indices: load.indices(),
                limits: load.limits(),
                places: Vec::new(),
                mask: None,
                vector: load.vector(),
            }
        } else if let Some(gather) = GatherOp::from_op(op) {
            Self {
                tile: gather.tile()?,
                buffer: gather.buffer()?,
                map: gather.access()?,
                guards: gather.guards(),
                indices: gather.indices(),
                limits: gather.limits(),
                places: gather.places(),
                mask: gather.mask(),
                vector: gather.vector(),
            }
        } else if let Some(scatter) = ScatterOp::from_op(op) {
            Self {
                tile: scatter.tile()?,
                buffer: scatter.buffer()?,
                map: scatter.access()?,
                guards: scatter.guards(),
                indices: scatter.indices(),
                limits: scatter.limits(),
                places: scatter.places(),
                mask: scatter.mask(),
                vector: scatter.vector(),
            }
        } else if let Some(store) = StoreOp::from_op(op) {
            Self {
                tile: store.tile()?,
                buffer: store.buffer()?,
                map: store.access()?,
                guards: store.guards(),
                indices: store.indices(),
                limits: store.limits(),
                places: Vec::new(),
                mask: None,
                vector: store.vector(),
            }
        } else {
            return Ok(None);
        }))
    }
}

/// How many narrow reads the two reads of covering words have to replace to pay off.
const WORTH_COVERING: i64 = 4;

impl<'c, 'a> Access<'c, 'a> {
    /// Returns the tile that `op` loads or stores and its addressing; `None` if `op` is no load, gather, store or scatter, or
    /// has a vector already.
    pub fn of(op: OperationRef<'c, 'a>) -> Result<Option<(Value<'c, 'a>, Self)>, PassError<'c>> {
        let Some(operands) = Operands::of(op)?.filter(|operands| operands.vector.is_none()) else {
            return Ok(None);
        };
        let Operands { tile, buffer, .. } = operands;
        let mut indices = divisors(operands.indices);
        // Nothing is known of a place.
        indices.extend(operands.places.iter().map(|_| 1));
        let mut steady = operands.places;
        steady.extend(operands.mask);
        let access = Self {
            element: types::element(tile.r#type()),
            buffer,
            map: operands.map,
            guards: operands.guards,
            indices,
            limits: divisors(operands.limits),
            steady,
            is_covered_by_words: LoadOp::from_op(op).is_some()
                && is_only_read(buffer)
                && has_static_end(buffer),
        };
        Ok(Some((tile, access)))
    }

    /// Returns the addressing of a copy to shared memory, whose tile is the memory that it fills.
    pub fn of_copy(copy: AsyncCopyOp<'c, 'a>) -> Result<Self, PassError<'c>> {
        Ok(Self {
            element: shared_memory::type_of(copy.memory()?, copy.op())?.element_type(),
            buffer: copy.buffer()?,
            map: copy.access()?,
            guards: copy.guards(),
            indices: divisors(copy.indices()),
            limits: divisors(copy.limits()),
            steady: Vec::new(),
            is_covered_by_words: false,
        })
    }

    /// Bytes of an element in memory; `None` for a type without a size.
    pub fn element_bytes(&self) -> Option<i64> {
        types::element_bytes(self.element)
    }

    /// Returns the stride in bytes along each axis of the tile, `None` for a stride that is known only at run time. Returns
    /// `None` altogether where the address is not linear in the coordinates.
    pub fn strides(&self) -> Option<Vec<Option<i64>>> {
        let address = Address::of(self.buffer, self.map, self.element_bytes()?)?;
        let is_linear = address.quotients().next().is_none();
        let strides = (self.indices.len()..address.fixed.dims.len()).map(|along| address.stride(along));
        is_linear.then(|| strides.collect())
    }

    /// Returns the longest legal vector, in elements, and the reason if it is shorter than the layout's runs and the hardware
    /// would allow.
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
            if !self.moves_together(&run) {
                if best.0 == 1 {
                    best.1 = Some("places or a mask are computed for each element".to_owned());
                }
                continue;
            }
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
            if reason.is_some() && vector > 1 {
                // The vectors that are left are those of the run along a single axis, which is judged by itself.
                continue;
            }
            if best.1.is_some() && vector >= best.0 || vector > best.0 {
                best = (vector, reason);
            }
        }
        best
    }

    /// Returns the vector length, and a divisor of the vector's byte address, of a load that is better read as the two aligned
    /// words around each vector than as vectors of `narrow` elements; `None` for any other load.
    ///
    /// Two reads and the shifts, up to 15 instructions, replace at least four reads. Each narrow read occupies L1 for as long
    /// as one of 16 bytes, since the lanes of a warp are just as far apart.
    pub fn covered_vector(&self, layout: &LinearLayout, narrow: i64) -> Option<(i64, i64)> {
        let bytes = self.element_bytes()?;
        let address = Address::of(self.buffer, self.map, bytes)?;
        let guards = self.guards()?;
        let is_suitable = |run: &Run| {
            let vector = run.elements;
            let dims = run.divisors(vector, &self.indices, layout.rank());
            vector >= narrow * WORTH_COVERING
                && vector * bytes >= REGISTER_BYTES
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

    /// Returns the bytes of a vector of a load of which a guard may admit only a part, if vectors may be read as a whole
    /// nevertheless; `None` otherwise.
    pub fn whole_words(&self, layout: &LinearLayout, vector: i64) -> Option<i64> {
        let bytes = self.element_bytes()?;
        let address = Address::of(self.buffer, self.map, bytes)?;
        let guards = self.guards()?;
        let is_suitable = self.is_covered_by_words
            && address.runtime.is_empty()
            && vector > 1
            && vector * bytes >= REGISTER_BYTES;
        let tile = self.tile(layout, bytes);
        let run = tile
            .runs(&address)
            .find(|run| is_suitable && run.elements >= vector)?;
        let dims = run.divisors(vector, &self.indices, layout.rank());
        let ends_within = |guard| divisibility::changes_sign(guard, run.along, vector, &dims, &self.limits);
        guards.iter().any(ends_within).then_some(vector * bytes)
    }

    /// Whether all elements of a run are at the same computed places and under the same mask.
    fn moves_together(&self, run: &Run) -> bool {
        let mut axes = run.dims().map(|dim| dim - self.indices.len());
        axes.all(|axis| self.steady.iter().all(|tile| is_steady(*tile, axis)))
    }

    /// The tile in its layout.
    fn tile<'l>(&self, layout: &'l LinearLayout, bytes: i64) -> Tile<'l> {
        Tile {
            layout,
            first_axis: self.indices.len(),
            bytes,
        }
    }

    /// Describes the quotient that may change within a vector; `None` if none does.
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

    /// Returns `lhs - rhs` for each guard, whose sign decides it; `None` if one of them is not a [`QuotientForm`].
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

/// Returns a divisor of each of `values`.
fn divisors(values: Vec<Value<'_, '_>>) -> Vec<i64> {
    values.into_iter().map(divisibility::of_scalar).collect()
}

/// Whether the kernel only loads from a buffer, and none of its other buffers may alias it.
pub(super) fn is_only_read(buffer: Value<'_, '_>) -> bool {
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
    is_own && global_memory::is_only_read(buffer)
}

/// Whether only the outermost size decides where a buffer ends: strides and inner sizes are static, and there is no offset.
pub(super) fn has_static_end(buffer: Value<'_, '_>) -> bool {
    let ty = buffer.r#type();
    let inner = types::shape(ty).is_some_and(|shape| shape.iter().skip(1).all(Option::is_some));
    let strides = types::strides_and_offset(ty);
    inner && strides.is_some_and(|(strides, offset)| offset == Some(0) && strides.iter().all(Option::is_some))
}
