//! Splits one `gl.copy_to_shared` or `gl.copy_from_shared` into TMA copies: boxes of the buffer, each of which is contiguous in
//! shared memory, but for a swizzle within it.
//!
//! From the tile's fastest axis on, axes join the box as long as each continues where the previous ones end, along the same
//! axis of the buffer or an outer one, since the engine lays out a box row by row. The remaining axes, and the rest of an axis
//! that is longer than a box may be, are iterated over box by box.
//!
//! Memory in the order of a swizzle has boxes whose rows are as long as the swizzle's span. They lie one behind the other where rows of the
//! tile are longer.
//!
//! Guards need no treatment. The engine fills elements outside of the buffer with zero on a load, and does not write them on a
//! store. Whatever else a guard masks off of a load is not used; of a store it masks off nothing else.

use melior::ir::{AffineExpr, AffineMap, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::gl::{
    MemDescReshapeOp, MemDescType, TensorLoadOp, TensorMapOp, TensorMapType, TensorStoreOp,
};
use norma_targets::{BOX_ALIGNMENT, COPY_ENGINE_GRANULE, LONGEST_OF_BOX};

use crate::{
    gl::{quotient_form::QuotientForm, shared_memory, swizzled, tensor_maps},
    mlir::{affine_value, builder::Builder, context, diagnostic::Diagnostic, pass::PassError, types},
};

use super::{bulk::index_memory, tile_copy::TileCopy};

/// The most boxes that one tile may take: each is an instruction of the thread that issues them.
const MOST_BOXES: i64 = 64;

/// The boxes of a tile.
pub(super) struct Boxes<'c, 'a> {
    copy: TileCopy<'c, 'a>,
    element: Type<'c>,
    split: Split,
}

/// How a tile is split into boxes.
struct Split {
    /// The extents of a box, one for each axis of the buffer.
    extents: Vec<i64>,
    /// The steps from box to box, slowest first.
    outer: Vec<Steps>,
    /// The bytes of the tile.
    bytes: i64,
    /// The span of the swizzle in bytes; 0 for none.
    swizzle: i64,
}

/// `count` positions that lie `stride` elements apart along an axis of the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Steps {
    axis: usize,
    stride: i64,
    count: i64,
}

impl<'c: 'a, 'a> Boxes<'c, 'a> {
    /// # Errors
    ///
    /// Unsupported if the tile cannot be split into at most [`MOST_BOXES`] boxes that are contiguous in shared memory, or if
    /// the engine does not take such boxes.
    pub fn of(copy: TileCopy<'c, 'a>) -> Result<Self, PassError<'c>> {
        let memory = shared_memory::type_of(copy.memory, copy.op)?;
        let split = split(&copy, memory)?;
        Ok(Self {
            copy,
            element: memory.element_type(),
            split,
        })
    }

    /// The bytes of all boxes together. The engine counts bytes outside of the buffer as well.
    pub fn bytes(&self, b: &Builder<'c, 'a>) -> Value<'c, 'a> {
        b.index(self.split.bytes)
    }

    /// Issues one copy to shared memory for each box, which completes on the mbarrier `full[stage]`.
    pub fn load(
        &self,
        b: &Builder<'c, 'a>,
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
        full: Value<'c, 'a>,
        stage: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let map = self.map(b)?;
        for (coordinates, slot) in self.boxes(b, indices, memory)? {
            let load = TensorLoadOp::build(b.location(), map, &coordinates, slot, full, stage);
            b.insert(load?);
        }
        Ok(())
    }

    /// Issues one copy from shared memory for each box.
    pub fn store(
        &self,
        b: &Builder<'c, 'a>,
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        let map = self.map(b)?;
        for (coordinates, slot) in self.boxes(b, indices, memory)? {
            b.insert(TensorStoreOp::build(b.location(), slot, map, &coordinates)?);
        }
        Ok(())
    }

    /// The buffer's tensor map.
    fn map(&self, b: &Builder<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let buffer = self.copy.buffer;
        let ty = TensorMapType::get(
            b.context(),
            buffer.r#type(),
            &self.split.extents,
            self.split.swizzle,
        )
        .into();
        let map = b.insert(TensorMapOp::build(b.location(), buffer, ty)?);
        Ok(map.result(0)?.into())
    }

    /// The coordinates at which each box begins in the buffer, and its memory.
    #[allow(clippy::type_complexity, reason = "a place on either side")]
    fn boxes(
        &self,
        b: &Builder<'c, 'a>,
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
    ) -> Result<Vec<(Vec<Value<'c, 'a>>, Value<'c, 'a>)>, PassError<'c>> {
        let count: i64 = self.split.outer.iter().map(|steps| steps.count).product();
        let shape = [&[count], self.split.extents.as_slice()].concat();
        let ty = shared_memory::row_major(b.context(), self.element, &shape);
        let all = b.insert(MemDescReshapeOp::build(b.location(), memory, ty.into())?);
        let all = all.result(0)?.into();
        let of_box = |number: i64| {
            let ty = shared_memory::row_major(b.context(), self.element, &self.split.extents);
            let slot = index_memory(b, all, ty, b.index(number))?;
            Ok((self.coordinates(b, indices, number)?, slot))
        };
        (0..count).map(of_box).collect()
    }

    /// The coordinates at which a box begins in the buffer.
    fn coordinates(
        &self,
        b: &Builder<'c, 'a>,
        indices: &[Value<'c, 'a>],
        number: i64,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let context = b.context();
        let access = self.copy.access;
        let mut offsets = vec![0; self.split.extents.len()];
        let mut rest = number;
        for steps in self.split.outer.iter().rev() {
            offsets[steps.axis] += rest % steps.count * steps.stride;
            rest /= steps.count;
        }
        let mut dims = (0..indices.len())
            .map(|index| AffineExpr::dim(context, index))
            .collect::<Vec<_>>();
        dims.resize(access.dim_count(), AffineExpr::constant(context, 0));
        let first = AffineMap::new(context, indices.len(), 0, &dims);
        let mut coordinates = Vec::with_capacity(offsets.len());
        for (axis, offset) in offsets.into_iter().enumerate() {
            let place = access.result(axis)?.compose(first) + AffineExpr::constant(context, offset);
            let map = AffineMap::new(context, indices.len(), 0, &[place]);
            coordinates.push(affine_value::apply(b, map, indices));
        }
        Ok(coordinates)
    }
}

/// The memory in place of `memory` that a copy fills or reads with a swizzle over `span` bytes; `None` if there is none, or its boxes would
/// be none that the engine takes.
pub(super) fn with_swizzle<'c: 'a, 'a>(
    copy: &TileCopy<'c, 'a>,
    memory: MemDescType<'c>,
    span: i64,
) -> Option<MemDescType<'c>> {
    let moved = moved(copy.access, copy.indices.len(), memory.shape())?;
    let row = row_of(&moved, copy.access.result_count().checked_sub(1)?);
    let memory = swizzled::memory(context::of(copy.op.location()), memory, row, span)?;
    split(copy, memory).is_ok().then_some(memory)
}

/// The boxes of a copy whose memory is of type `memory`.
///
/// # Errors
///
/// As [`Boxes::of`].
fn split<'c: 'a, 'a>(copy: &TileCopy<'c, 'a>, memory: MemDescType<'c>) -> Result<Split, PassError<'c>> {
    let location = copy.op.location();
    let unsupported = |message: String| Diagnostic::unsupported(location, message);
    let element = memory.element_type();
    let element_bytes = types::element_bytes(element)
        .ok_or_else(|| unsupported(format!("expected elements of whole bytes, got {element}")))?;
    tensor_maps::check(copy.buffer, location)?;
    let map = copy.access;
    let mut moved = moved(map, copy.indices.len(), memory.shape()).ok_or_else(|| {
        unsupported(format!(
            "expected each axis of a tile to move one coordinate, got {map}"
        ))
    })?;
    let mut extents = vec![1; map.result_count()];
    let mut outer = Vec::new();
    let last = extents.len().saturating_sub(1);
    let span = swizzled::span_of(context::of(location), memory, row_of(&moved, last));
    let longest_row = span.map_or(LONGEST_OF_BOX, |span| span / element_bytes);
    if span.is_some() {
        moved = cut_rows(moved, last, longest_row);
    }
    let mut along = last;
    for steps in moved.into_iter().rev().filter(|steps| steps.count > 1) {
        let longest = if steps.axis == last {
            longest_row
        } else {
            LONGEST_OF_BOX
        };
        let continues = steps.axis <= along && steps.stride == extents[steps.axis];
        let taken = match continues && outer.is_empty() {
            true => steps.count.min(longest / extents[steps.axis]),
            false => 1,
        };
        if taken > 1 {
            along = steps.axis;
            extents[steps.axis] *= taken;
        }
        if taken < steps.count {
            outer.push(Steps {
                stride: steps.stride * taken,
                count: steps.count / taken,
                ..steps
            });
        }
    }
    outer.reverse();
    let count: i64 = outer.iter().map(|steps| steps.count).product();
    if count > MOST_BOXES {
        let message = format!("a tile of {count} boxes; supported: {MOST_BOXES}");
        return Err(unsupported(message).into());
    }
    let row = extents.last().map_or(0, |extent| extent * element_bytes);
    let whole = extents.iter().product::<i64>() * element_bytes;
    // Boxes are adjacent in memory, so that the size of each has to be a multiple of a box's alignment.
    let granules = [
        ("rows of", row, COPY_ENGINE_GRANULE),
        ("boxes of", whole, BOX_ALIGNMENT),
    ];
    for (what, bytes, granule) in granules {
        if bytes % granule != 0 {
            let message =
                format!("copies by tensor maps in {what} {bytes} bytes; supported: multiples of {granule}");
            return Err(unsupported(message).into());
        }
    }
    if let Some(span) = span.filter(|span| *span != row) {
        let message = format!("a swizzle over {span} bytes of boxes with rows of {row}; supported: as many");
        return Err(unsupported(message).into());
    }
    Ok(Split {
        extents,
        outer,
        bytes: memory.shape().iter().product::<i64>() * element_bytes,
        swizzle: span.unwrap_or(0),
    })
}

/// The elements of a tile's rows: of the runs in memory that are runs along the buffer's axis `last` as well.
fn row_of(moved: &[Steps], last: usize) -> i64 {
    let steps = moved.iter().rev().filter(|steps| steps.count > 1);
    steps
        .scan(1, |run, steps| {
            let continues = steps.axis == last && steps.stride == *run;
            *run *= steps.count;
            continues.then_some(*run)
        })
        .last()
        .unwrap_or(1)
}

/// Cuts the rows of a tile into parts of `part` elements: the parts of a row lie further apart than the rows.
fn cut_rows(moved: Vec<Steps>, last: usize, part: i64) -> Vec<Steps> {
    let (mut within, mut rows, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    let mut run = 1;
    for steps in moved.into_iter().rev().filter(|steps| steps.count > 1) {
        if !rows.is_empty() || steps.axis != last || steps.stride != run {
            rows.push(steps);
            continue;
        }
        let taken = (part / run).clamp(1, steps.count);
        run *= steps.count;
        within.push(Steps {
            count: taken,
            ..steps
        });
        parts.push(Steps {
            stride: steps.stride * taken,
            count: steps.count / taken,
            ..steps
        });
    }
    let fastest_first = within.into_iter().chain(rows).chain(parts);
    fastest_first.rev().collect()
}

/// How each axis of a tile moves the coordinates of its buffer; `None` if an axis moves several of them, or moves one through a
/// quotient.
fn moved(map: AffineMap<'_>, indices: usize, shape: &[i64]) -> Option<Vec<Steps>> {
    let forms = (0..map.result_count())
        .map(|axis| QuotientForm::of(map.result(axis).ok()?, map.dim_count(), 0))
        .collect::<Option<Vec<_>>>()?;
    let jumps = |dim: usize| {
        let mut quotients = forms.iter().flat_map(|form| &form.quotients);
        quotients.any(|(_, quotient)| quotient.numerator.dims[dim] != 0)
    };
    let of_axis = |(along, count): (usize, &i64)| {
        let dim = indices + along;
        let mut axes = (0..forms.len()).filter(|axis| forms[*axis].dims[dim] != 0);
        let axis = match (axes.next(), axes.next()) {
            _ if *count == 1 => 0,
            (Some(axis), None) if !jumps(dim) => axis,
            _ => return None,
        };
        Some(Steps {
            axis,
            stride: forms.get(axis)?.dims[dim],
            count: *count,
        })
    };
    shape.iter().enumerate().map(of_axis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(axis: usize, stride: i64, count: i64) -> Steps {
        Steps { axis, stride, count }
    }

    #[test]
    fn a_row_is_a_run_along_the_last_axis() {
        let tile = [steps(0, 1, 4), steps(1, 8, 16), steps(0, 1, 1), steps(1, 1, 8)];
        assert_eq!(row_of(&tile, 1), 128);
        assert_eq!(row_of(&tile[..1], 1), 1);
        let with_gaps = [steps(1, 16, 16), steps(1, 1, 8)];
        assert_eq!(row_of(&with_gaps, 1), 8);
    }

    #[test]
    fn parts_of_rows_become_the_slowest_steps() {
        let tile = vec![steps(0, 1, 4), steps(1, 8, 16), steps(1, 1, 8)];
        let cut = |part| {
            let cut = cut_rows(tile.clone(), 1, part).into_iter();
            cut.filter(|steps| steps.count > 1).collect::<Vec<_>>()
        };
        let [rows, chunks] = [steps(0, 1, 4), steps(1, 1, 8)];
        assert_eq!(cut(32), [steps(1, 32, 4), rows, steps(1, 8, 4), chunks]);
        assert_eq!(cut(8), [steps(1, 8, 16), rows, chunks]);
        assert_eq!(cut(128), tile);
    }
}
