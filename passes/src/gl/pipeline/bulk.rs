//! Splits one `gl.copy_to_shared` or `gl.copy_from_shared` into bulk copies: runs that are contiguous on both sides, and the
//! number of elements to copy of each.
//!
//! A bulk copy moves contiguous bytes to contiguous bytes. A run consists of the innermost axes of the tile, as far as their strides in the
//! buffer equal those in shared memory; the copies iterate over the outer axes. A guard may cut off the end of a run: its value has to grow
//! by the same amount from each group of neighbouring elements to the next, so that it admits the first elements of the run. Or it may cut
//! off elements at the beginning, but only within the first 16 bytes, which are then copied whole ([`granules`](super::granules)).

use melior::{
    Context,
    ir::{AffineExpr, AffineMap, Type, Value, ValueLike, operation::OperationLike},
};
use norma_dialects::gl::{BulkLoadOp, BulkStoreOp, MemDescIndexOp, MemDescType, TailLoadOp};
use norma_targets::COPY_ENGINE_GRANULE;

use crate::{
    gcd::gcd,
    gl::{access::address_divisor, divisibility, quotient_form::QuotientForm, shared_memory},
    mlir::{affine_value, builder::Builder, context, diagnostic::Diagnostic, pass::PassError, types},
};

use super::{granules::Surroundings, step_bounds::StepBounds, tile_copy::TileCopy};

/// The most bulk copies that one tile may take: each is an instruction of the thread that issues them.
pub(crate) const MOST_COPIES: i64 = 64;

/// The bulk copies of a tile.
pub(super) struct Copies<'c, 'a> {
    copy: TileCopy<'c, 'a>,
    shape: Vec<i64>,
    /// The first axis of a run.
    first: usize,
    /// How guards shorten a run.
    limits: Vec<Limit<'c>>,
    bounds: StepBounds,
    /// Whether the copies bring whole granules around what the guards admit, which begins or ends within granules.
    surroundings: Option<Surroundings<'c, 'a>>,
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
    /// The bulk copies of a tile in the steps that `bounds` describes.
    ///
    /// # Errors
    ///
    /// Unsupported if the tile cannot be split into at most [`MOST_COPIES`] runs of multiples of 16 bytes.
    pub fn of(copy: TileCopy<'c, 'a>, bounds: StepBounds) -> Result<Self, PassError<'c>> {
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
        let mut heads = Vec::new();
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
                if (first..rank).filter(grows).all(|axis| factors[axis] < 0)
                    && (first..rank).any(|axis| grows(&axis))
                {
                    heads.push(value);
                    continue;
                }
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
        let mut copies = Self {
            surroundings: Surroundings::of(&copy, element_bytes),
            copy,
            shape,
            first,
            limits,
            bounds,
            element,
            element_bytes,
        };
        copies.check_heads(&heads)?;
        let has_whole_granules = copies.check(map)?;
        if has_whole_granules && heads.is_empty() {
            copies.surroundings = None;
        }
        Ok(copies)
    }

    /// Refuses `heads`, guards that cut off the beginning of a run, unless each of them admits the last element of the run's first granule.
    /// Their values fall along a run, so that they then admit all that follows.
    fn check_heads(&self, heads: &[AffineExpr<'c>]) -> Result<(), PassError<'c>> {
        let location = self.copy.op.location();
        let context = context::of(location);
        let admits_last_of = |granule: i64, head: AffineExpr<'c>, mut place: Vec<i64>| {
            let of_run = offsets(&self.shape[self.first..]).into_iter();
            let coordinates = of_run.zip(&self.shape[self.first..]);
            place.extend(coordinates.map(|(offset, extent)| (granule - 1) / offset % extent));
            self.bounds
                .of_expression(self.guard_at(context, head, &place))
                .most
                < 0
        };
        let granule = self.surroundings.as_ref().map(Surroundings::granule);
        let is_suitable = |head: &AffineExpr<'c>| {
            granule.is_some_and(|granule| self.places().all(|place| admits_last_of(granule, *head, place)))
        };
        if heads.iter().all(is_suitable) {
            return Ok(());
        }
        let message = format!(
            "expected guards that leave the first elements of a run, got {}",
            self.copy
                .guards
                .map(|guards| guards.to_string())
                .unwrap_or_default()
        );
        Err(Diagnostic::unsupported(location, message).into())
    }

    /// Refuses addresses and sizes that the copy engine does not take. Returns whether the guards admit whole granules.
    fn check(&self, map: AffineMap<'c>) -> Result<bool, PassError<'c>> {
        let location = self.copy.op.location();
        let count: i64 = self.shape[..self.first].iter().product();
        if count > MOST_COPIES {
            let message = format!("a tile of {count} runs of contiguous elements; supported: {MOST_COPIES}");
            return Err(Diagnostic::unsupported(location, message).into());
        }
        let indices_of = self.copy.indices.iter().copied();
        let mut dims = indices_of.map(divisibility::of_scalar).collect::<Vec<_>>();
        // A run begins at the first point of its axes, and an axis of one point has no other.
        let axes = self.shape.iter().enumerate();
        dims.extend(axes.map(|(axis, extent)| i64::from(axis < self.first && *extent > 1)));
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
        let has_whole_granules = length * self.element_bytes % COPY_ENGINE_GRANULE == 0;
        let length = match self.surroundings {
            Some(_) => self.run(),
            None => length,
        };
        for (what, divisor) in [("addresses", address), ("lengths", length * self.element_bytes)] {
            if divisor % COPY_ENGINE_GRANULE != 0 {
                let divisor = gcd(divisor, COPY_ENGINE_GRANULE);
                let message = format!(
                    "bulk copies of runs whose {what} are multiples of {divisor} bytes; supported: of {COPY_ENGINE_GRANULE}"
                );
                return Err(Diagnostic::unsupported(location, message).into());
            }
        }
        Ok(has_whole_granules)
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
        let mut parts = Vec::new();
        for place in self.places() {
            let admitted = match self.admitted(b.context(), &place) {
                Admitted::Nothing => continue,
                Admitted::Whole => None,
                Admitted::Part => self.count(b, &place, indices, limits)?,
            };
            let count = match (admitted, &self.surroundings) {
                (Some(admitted), Some(surroundings)) => {
                    let first = self.first_of_run(b, &place, indices.len())?;
                    Some(surroundings.copied(b, &first, indices, admitted))
                }
                _ => admitted,
            };
            let tail = admitted.filter(|_| self.surroundings.is_some());
            parts.push(Part { place, count, tail });
        }
        Ok(parts)
    }

    /// How much of the run at `place` the guards admit in every step, heads apart.
    fn admitted(&self, context: &'c Context, place: &[i64]) -> Admitted {
        let mut last = place.to_vec();
        last.extend(self.shape[self.first..].iter().map(|extent| extent - 1));
        let bounds_at = |limit: &Limit<'c>, place: &[i64]| {
            self.bounds
                .of_expression(self.guard_at(context, limit.value, place))
        };
        if self.limits.iter().any(|limit| bounds_at(limit, place).least >= 0) {
            return Admitted::Nothing;
        }
        match self.limits.iter().all(|limit| bounds_at(limit, &last).most < 0) {
            true => Admitted::Whole,
            false => Admitted::Part,
        }
    }

    /// The coordinates of each run along the axes outside of runs.
    fn places(&self) -> impl Iterator<Item = Vec<i64>> {
        let outer = &self.shape[..self.first];
        (0..outer.iter().product::<i64>()).map(move |number| {
            let of_places = offsets(outer).into_iter().zip(outer);
            of_places
                .map(|(offset, extent)| number / offset % extent)
                .collect()
        })
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

    /// Loads the elements that no bulk copy brings: the admitted ones of the granule in which the buffer ends.
    pub fn load_tails(
        &self,
        b: &Builder<'c, 'a>,
        parts: &[Part<'c, 'a>],
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        for part in parts {
            let (Some(from), Some(to)) = (part.count, part.tail) else {
                continue;
            };
            let (slot, access) = self.run_at(b, part, indices.len(), memory)?;
            let buffer = self.copy.buffer;
            b.insert(TailLoadOp::build(
                b.location(),
                buffer,
                indices,
                slot,
                from,
                to,
                access,
            )?);
        }
        Ok(())
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
        let results = self.first_of_run(b, &part.place, indices)?;
        let mut slot = memory;
        for (axis, position) in part.place.iter().enumerate() {
            let inner = shared_memory::row_major(b.context(), self.element, &self.shape[axis + 1..]);
            slot = index_memory(b, slot, inner, b.index(*position))?;
        }
        Ok((slot, AffineMap::new(b.context(), indices, 0, &results)))
    }

    /// The coordinates in the buffer of the first element of the run at `place`, over `indices` indices.
    fn first_of_run(
        &self,
        b: &Builder<'c, 'a>,
        place: &[i64],
        indices: usize,
    ) -> Result<Vec<AffineExpr<'c>>, melior::Error> {
        let map = self.copy.access;
        let coordinates = (0..map.result_count())
            .map(|result| Ok(self.at(b.context(), map.result(result)?, place, indices, 0)));
        coordinates.collect()
    }

    /// The number of elements from a run's first one that the guards admit, heads apart; `None` for all.
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
            let value = self.guard_at(b.context(), limit.value, place) * negative(b.location());
            let map = AffineMap::new(b.context(), indices.len(), limits.len(), &[value]);
            let room = affine_value::apply(b, map, &operands);
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

    /// A guard's value at a coordinate of the tile, over the indices and the limits.
    fn guard_at(&self, context: &'c Context, value: AffineExpr<'c>, place: &[i64]) -> AffineExpr<'c> {
        self.at(
            context,
            value,
            place,
            self.copy.indices.len(),
            self.copy.limits.len(),
        )
    }

    /// An expression over the indices, the tile's axes and the limits, at a coordinate of the tile; those that `place` lacks are 0.
    fn at(
        &self,
        context: &'c Context,
        expression: AffineExpr<'c>,
        place: &[i64],
        indices: usize,
        limits: usize,
    ) -> AffineExpr<'c> {
        let mut dims = (0..indices)
            .map(|index| AffineExpr::dim(context, index))
            .collect::<Vec<_>>();
        let axes = (0..self.shape.len()).map(|axis| place.get(axis).copied().unwrap_or(0));
        dims.extend(axes.map(|coordinate| AffineExpr::constant(context, coordinate)));
        expression.compose(AffineMap::new(context, indices, limits, &dims))
    }
}

/// How much of a run guards admit.
enum Admitted {
    Nothing,
    Whole,
    /// As much as is known in a step.
    Part,
}

/// A run of a tile.
pub(super) struct Part<'c, 'a> {
    /// Its coordinates along the axes outside of runs.
    place: Vec<i64>,
    /// How many of its elements are copied in bulk, of type index; `None` for all.
    count: Option<Value<'c, 'a>>,
    /// Up to which element it is loaded one by one behind those; `None` if nothing is.
    tail: Option<Value<'c, 'a>>,
}

/// Builds `memory[index]`, a stage of type `stage`.
pub(super) fn index_memory<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    memory: Value<'c, 'a>,
    stage: MemDescType<'c>,
    index: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
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
    AffineExpr::constant(context::of(location), -1)
}
