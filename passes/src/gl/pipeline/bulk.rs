//! Splits one `gl.copy_to_shared` or `gl.copy_from_shared` into bulk copies: runs that are contiguous on both sides, and the
//! number of elements to copy of each.
//!
//! A bulk copy moves contiguous bytes to contiguous bytes. A run consists of the innermost axes of the tile, as far as their
//! strides in the buffer equal those in shared memory; the copies iterate over the outer axes. A guard may end a run early:
//! over the run's outermost axes, down to some axis, it must grow in proportion to the offset within the run, so that the
//! elements that it admits are a prefix of the run.

use melior::ir::{AffineExpr, AffineMap, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    affine_map_attribute,
    gl::{BulkLoadOp, BulkStoreOp, MemDescIndexOp},
};
use norma_targets::COPY_ENGINE_GRANULE;

use crate::{
    gcd::gcd,
    gl::{access::address_divisor, divisibility, quotient_form::QuotientForm, shared_memory},
    mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError, types},
};

use super::tile_copy::TileCopy;

/// The most bulk copies that one tile may take: each is an instruction of the thread that issues them.
const MOST_COPIES: i64 = 64;

/// The bulk copies of a tile.
pub(super) struct Copies<'c, 'a> {
    copy: TileCopy<'c, 'a>,
    shape: Vec<i64>,
    /// The first axis of a run.
    first: usize,
    /// How guards shorten a run.
    limits: Vec<Limit<'c>>,
    element: Type<'c>,
    element_bytes: i64,
}

/// A guard `value + (position in the run) / step < 0`.
struct Limit<'c> {
    /// The guard's left side minus its right one, over the indices, the tile's axes and the limits.
    value: AffineExpr<'c>,
    /// The number of elements of the run over which the guard's value grows by 1; `None` if the guard is the same for the whole
    /// run.
    step: Option<i64>,
}

impl<'c: 'a, 'a> Copies<'c, 'a> {
    /// # Errors
    ///
    /// Unsupported if the tile cannot be split into at most [`MOST_COPIES`] runs of multiples of 16 bytes.
    pub fn of(copy: TileCopy<'c, 'a>) -> Result<Self, PassError<'c>> {
        let location = copy.op.location();
        let unsupported = |message: String| Diagnostic::unsupported(location, message);
        let memory = shared_memory::type_of(copy.memory, copy.op)?;
        let shape = memory.shape().to_vec();
        let rank = shape.len();
        let element = memory.element_type();
        let element_bytes = types::element_bytes(element)
            .ok_or_else(|| unsupported(format!("expected elements of whole bytes, got {element}")))?;
        let map = copy.access;
        let indices = copy.indices.len();
        let offsets = offsets(&shape);
        let strides = strides(copy.buffer, map, indices, rank)
            .ok_or_else(|| unsupported(format!("expected an address that is a sum, got {map}")))?;
        let is_run = |axis: &usize| shape[*axis] == 1 || strides[*axis] == Some(offsets[*axis]);
        let mut first = rank - (0..rank).rev().take_while(is_run).count();

        let mut limits = Vec::new();
        if let Some(guards) = copy.guards {
            for pair in (0..guards.result_count()).step_by(2) {
                let value = guards.result(pair)? + guards.result(pair + 1)? * negative(location);
                let form = QuotientForm::of(value, guards.dim_count(), guards.symbol_count());
                let form = form.filter(|form| {
                    form.quotients.iter().all(|(_, quotient)| {
                        quotient.numerator.dims[indices..]
                            .iter()
                            .all(|factor| *factor == 0)
                    })
                });
                let form =
                    form.ok_or_else(|| unsupported(format!("expected guards that are sums, got {guards}")))?;
                let factors = &form.dims[indices..];
                let grows = |axis: &usize| factors[*axis] != 0 && shape[*axis] > 1;
                let step = match (first..rank).find(grows) {
                    None => None,
                    Some(outermost) => {
                        first = first.max(outermost);
                        let innermost = (first..rank).rev().find(grows).unwrap_or(outermost);
                        let step = offsets[innermost];
                        let is_prefix = (outermost..=innermost)
                            .filter(|axis| shape[*axis] > 1)
                            .all(|axis| factors[axis].checked_mul(step) == Some(offsets[axis]));
                        if !is_prefix {
                            let message = format!(
                                "expected guards that leave the first elements of a run, got {guards}"
                            );
                            return Err(unsupported(message).into());
                        }
                        Some(step)
                    }
                };
                limits.push(Limit { value, step });
            }
        }
        let copies = Self {
            copy,
            shape,
            first,
            limits,
            element,
            element_bytes,
        };
        copies.check(map, indices)?;
        Ok(copies)
    }

    /// Refuses addresses and sizes that the copy engine does not take.
    fn check(&self, map: AffineMap<'c>, indices: usize) -> Result<(), PassError<'c>> {
        let location = self.copy.op.location();
        let count: i64 = self.shape[..self.first].iter().product();
        if count > MOST_COPIES {
            let message = format!("a tile of {count} runs of contiguous elements; supported: {MOST_COPIES}");
            return Err(Diagnostic::unsupported(location, message).into());
        }
        let indices_of = self.copy.indices.iter().copied();
        let mut dims = indices_of.map(divisibility::of_scalar).collect::<Vec<_>>();
        dims.resize(indices + self.shape.len(), 1);
        // A run begins at the first point of its axes.
        dims[indices + self.first..].fill(0);
        let address = address_divisor(self.copy.buffer, map, &dims, self.element_bytes).unwrap_or(1);
        let limits = self.copy.limits.iter().copied();
        let symbols = limits.map(divisibility::of_scalar).collect::<Vec<_>>();
        let length = self.limits.iter().fold(self.run(), |length, limit| {
            let Some(step) = limit.step else {
                return length;
            };
            let form = QuotientForm::of(limit.value, dims.len(), symbols.len());
            let room = form.map_or(1, |form| divisibility::of_form(&form, &dims, &symbols));
            gcd(length, gcd(room, self.run() / step).saturating_mul(step))
        });
        for (what, divisor) in [("addresses", address), ("lengths", length * self.element_bytes)] {
            if divisor % COPY_ENGINE_GRANULE != 0 {
                let divisor = gcd(divisor, COPY_ENGINE_GRANULE);
                let message = format!(
                    "bulk copies of runs whose {what} are multiples of {divisor} bytes; supported: of {COPY_ENGINE_GRANULE}"
                );
                return Err(Diagnostic::unsupported(location, message).into());
            }
        }
        Ok(())
    }

    /// The number of elements of a run.
    fn run(&self) -> i64 {
        self.shape[self.first..].iter().product()
    }

    /// The runs, with the number of elements to copy of each.
    pub fn parts(
        &self,
        b: &Builder<'c, 'a>,
        indices: &[Value<'c, 'a>],
        limits: &[Value<'c, 'a>],
    ) -> Result<Vec<Part<'c, 'a>>, PassError<'c>> {
        let outer = &self.shape[..self.first];
        let mut parts = Vec::new();
        for number in 0..outer.iter().product::<i64>() {
            let mut rest = number;
            let mut place = vec![0; outer.len()];
            for (axis, extent) in outer.iter().enumerate().rev() {
                place[axis] = rest % extent;
                rest /= extent;
            }
            let count = self.count(b, &place, indices, limits)?;
            parts.push(Part { place, count });
        }
        Ok(parts)
    }

    /// The bytes of all runs together.
    pub fn bytes(&self, b: &Builder<'c, 'a>, parts: &[Part<'c, 'a>]) -> Value<'c, 'a> {
        let index = Type::index(b.context());
        let whole = parts.iter().filter(|part| part.count.is_none()).count() as i64;
        let whole = whole * self.run() * self.element_bytes;
        let counts = parts.iter().filter_map(|part| part.count);
        let Some(count) = counts.reduce(|sum, count| b.value("arith.addi", &[sum, count], index)) else {
            return b.index(whole);
        };
        let bytes = b.value("arith.muli", &[count, b.index(self.element_bytes)], index);
        match whole {
            0 => bytes,
            whole => b.value("arith.addi", &[bytes, b.index(whole)], index),
        }
    }

    /// Issues one bulk copy to shared memory for each run.
    pub fn load(
        &self,
        b: &Builder<'c, 'a>,
        parts: &[Part<'c, 'a>],
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
        full: Value<'c, 'a>,
        stage: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let buffer = self.copy.buffer;
        for part in parts {
            let (slot, access) = self.run_at(b, part, indices.len(), memory)?;
            let load = BulkLoadOp::build(
                b.location(),
                buffer,
                indices,
                slot,
                full,
                stage,
                part.count,
                access,
                None,
            )?;
            b.insert(load);
        }
        Ok(())
    }

    /// Issues one bulk copy from shared memory for each run.
    pub fn store(
        &self,
        b: &Builder<'c, 'a>,
        parts: &[Part<'c, 'a>],
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let buffer = self.copy.buffer;
        for part in parts {
            let (slot, access) = self.run_at(b, part, indices.len(), memory)?;
            b.insert(BulkStoreOp::build(
                b.location(),
                slot,
                buffer,
                indices,
                part.count,
                access,
            )?);
        }
        Ok(())
    }

    /// Where a run begins: its memory, and the access map of its place in the buffer, over `indices` indices.
    fn run_at(
        &self,
        b: &Builder<'c, 'a>,
        part: &Part<'c, 'a>,
        indices: usize,
        memory: Value<'c, 'a>,
    ) -> Result<(Value<'c, 'a>, AffineMap<'c>), PassError<'c>> {
        let map = self.copy.access;
        let results = (0..map.result_count())
            .map(|result| Ok(self.at(b, map.result(result)?, &part.place, indices, 0)))
            .collect::<Result<Vec<_>, melior::Error>>()?;
        let mut slot = memory;
        for (axis, position) in part.place.iter().enumerate() {
            slot = index_memory(b, slot, self.element, &self.shape[axis + 1..], b.index(*position))?;
        }
        Ok((slot, AffineMap::new(b.context(), indices, 0, &results)))
    }

    /// The number of elements of a run that the guards admit; `None` for all.
    fn count(
        &self,
        b: &Builder<'c, 'a>,
        place: &[i64],
        indices: &[Value<'c, 'a>],
        limits: &[Value<'c, 'a>],
    ) -> Result<Option<Value<'c, 'a>>, PassError<'c>> {
        let index = Type::index(b.context());
        let operands = [indices, limits].concat();
        let mut count: Option<Value<'c, 'a>> = None;
        for limit in &self.limits {
            let step = limit.step.unwrap_or(self.run());
            let value = self.at(b, limit.value, place, indices.len(), limits.len()) * negative(b.location());
            let map = AffineMap::new(b.context(), indices.len(), limits.len(), &[value]);
            let room = b.value_with(
                "affine.apply",
                &operands,
                index,
                &[("map", affine_map_attribute(map))],
            );
            let room = b.value("arith.maxsi", &[room, b.index(0)], index);
            let steps = b.value("arith.minsi", &[room, b.index(self.run() / step)], index);
            let elements = b.value("arith.muli", &[steps, b.index(step)], index);
            count = Some(match count {
                None => elements,
                Some(other) => b.value("arith.minsi", &[other, elements], index),
            });
        }
        Ok(count)
    }

    /// An expression over the indices, the tile's axes and the limits, at the first element of the run at `place`.
    fn at(
        &self,
        b: &Builder<'c, 'a>,
        expression: AffineExpr<'c>,
        place: &[i64],
        indices: usize,
        limits: usize,
    ) -> AffineExpr<'c> {
        let context = b.context();
        let mut dims = (0..indices)
            .map(|index| AffineExpr::dim(context, index))
            .collect::<Vec<_>>();
        let axes = (0..self.shape.len()).map(|axis| place.get(axis).copied().unwrap_or(0));
        dims.extend(axes.map(|coordinate| AffineExpr::constant(context, coordinate)));
        expression.compose(AffineMap::new(context, indices, limits, &dims))
    }
}

/// A run of a tile.
pub(super) struct Part<'c, 'a> {
    /// Its coordinates along the axes outside of runs.
    place: Vec<i64>,
    /// How many of its elements are copied, of type index; `None` for all.
    count: Option<Value<'c, 'a>>,
}

/// Builds `memory[index]`, a row-major stage of shape `shape`.
pub(super) fn index_memory<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    memory: Value<'c, 'a>,
    element: Type<'c>,
    shape: &[i64],
    index: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let stage = shared_memory::row_major(b.context(), element, shape);
    let stage = b.insert(MemDescIndexOp::build(b.location(), memory, index, stage.into())?);
    Ok(stage.result(0)?.into())
}

/// The stride of each axis of a row-major memory, in elements.
fn offsets(shape: &[i64]) -> Vec<i64> {
    let mut offsets = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        offsets[axis - 1] = offsets[axis] * shape[axis];
    }
    offsets
}

/// The stride in a buffer, in elements, of each axis of a tile; `None` for one that is known only at run time, and for all
/// where the address is not a sum.
fn strides(
    buffer: Value<'_, '_>,
    map: AffineMap<'_>,
    indices: usize,
    rank: usize,
) -> Option<Vec<Option<i64>>> {
    let (strides, _) = types::strides_and_offset(buffer.r#type())?;
    let mut known = vec![Some(0_i64); rank];
    for (axis, stride) in strides.into_iter().enumerate() {
        let form = QuotientForm::of(map.result(axis).ok()?, map.dim_count(), 0)?;
        let has_jumps = |axis: usize| {
            let mut quotients = form.quotients.iter();
            quotients.any(|(_, quotient)| quotient.numerator.dims[indices + axis] != 0)
        };
        for (along, known) in known.iter_mut().enumerate() {
            *known = match (*known, form.dims[indices + along], stride) {
                _ if has_jumps(along) => None,
                (known, 0, _) => known,
                (Some(known), factor, Some(stride)) => known.checked_add(factor.checked_mul(stride)?),
                _ => None,
            };
        }
    }
    Some(known)
}

fn negative<'c>(location: melior::ir::Location<'c>) -> AffineExpr<'c> {
    AffineExpr::constant(crate::mlir::context::of(location), -1)
}
