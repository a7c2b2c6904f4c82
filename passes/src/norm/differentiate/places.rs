//! The coordinates at which the gradient with respect to a tensor is written: those at which the program reads the tensor.
//!
//! This requires that reads reach every element of the tensor exactly once. Each coordinate must linearize some dims, and reads at
//! different coordinates must partition the tensor along one axis. The gradient is summed over dims that no coordinate uses.

use std::collections::BTreeSet;

use melior::{
    Context,
    ir::{AffineExpr, AffineMap, OperationRef, Type, operation::OperationLike},
};
use norma_dialects::norm::ReadOp;

use crate::{
    kernel::digits::digits,
    mlir::{diagnostic::Diagnostic, pass::PassError, types},
};

/// The reads of a tensor at the same coordinates.
#[derive(Clone, Debug)]
pub(super) struct Place<'c, 'a> {
    /// One coordinate for each axis, over the program's dims; its symbols are the program's scalars.
    pub(super) at: Vec<AffineExpr<'c>>,
    /// The reads.
    pub(super) reads: Vec<ReadOp<'c, 'a>>,
}

/// The coordinates of an access in terms of the dims and scalars of a program. `indices` are the access's indices in these terms.
pub(super) fn coordinates<'c>(
    access: AffineMap<'c>,
    indices: &[AffineExpr<'c>],
    [dims, numbers]: [usize; 2],
    context: &'c Context,
) -> Result<Vec<AffineExpr<'c>>, PassError<'c>> {
    let indices = AffineMap::new(context, dims, numbers, indices);
    let coordinate = |axis: usize| Ok(access.result(axis)?.compose(indices));
    (0..access.result_count()).map(coordinate).collect()
}

/// Adds a read to the place of its coordinates, which is added if it is new.
pub(super) fn add<'c, 'a>(places: &mut Vec<Place<'c, 'a>>, read: ReadOp<'c, 'a>, at: Vec<AffineExpr<'c>>) {
    match places.iter_mut().find(|place| place.at == at) {
        Some(place) => place.reads.push(read),
        None => places.push(Place {
            at,
            reads: vec![read],
        }),
    }
}

/// Checks that the reads of a tensor of type `ty` reach each of its elements exactly once.
///
/// # Errors
///
/// Unsupported: they do not. Notes point at the reads.
pub(super) fn check<'c>(
    compute: OperationRef<'c, '_>,
    places: &[Place<'c, '_>],
    ty: Type<'c>,
    extents: &[AffineExpr<'c>],
) -> Result<(), PassError<'c>> {
    let context = crate::mlir::context::of(compute.location());
    let spans = places.iter().map(|place| spans(place, extents, context));
    let is_covered = spans
        .collect::<Option<Vec<_>>>()
        .is_some_and(|spans| cover(&spans, &types::shape(ty).unwrap_or_default()));
    if is_covered {
        return Ok(());
    }
    let message = format!(
        "a gradient with respect to a {ty} of which not every element is read once; supported: coordinates that are dims, or number \
         the points of several, and parts of an axis that make up all of it"
    );
    let mut refusal = Diagnostic::unsupported(compute.location(), message);
    for place in places {
        for read in &place.reads {
            refusal = refusal.note(read.op().location(), "it is read here");
        }
    }
    Err(refusal.into())
}

/// A range of coordinates along an axis: the first one, and their number.
type Span<'c> = (i64, AffineExpr<'c>);

/// The spans of a place; `None` if a coordinate does not linearize dims, or two coordinates share a dim.
fn spans<'c>(
    place: &Place<'c, '_>,
    extents: &[AffineExpr<'c>],
    context: &'c Context,
) -> Option<Vec<Span<'c>>> {
    let mut used = BTreeSet::new();
    let span = |at: &AffineExpr<'c>| {
        let digits = digits(*at, extents, &[], context)?;
        let are_free = digits.dims.iter().all(|(dim, _)| used.insert(*dim));
        are_free.then_some((digits.first, digits.extent))
    };
    place.at.iter().map(span).collect()
}

/// Whether boxes partition a tensor of this shape.
fn cover(boxes: &[Vec<Span<'_>>], shape: &[Option<i64>]) -> bool {
    let mut divided = 0;
    for (axis, size) in shape.iter().enumerate() {
        let along = boxes.iter().map(|spans| spans[axis]).collect::<Vec<_>>();
        let Some((first, extent)) = along.first().copied() else {
            return false;
        };
        if along.iter().all(|span| *span == (first, extent)) {
            // A size known only at run time is checked when a kernel is launched.
            let reaches_end = size.is_none_or(|size| extent.is_constant() && extent.constant_value() == size);
            if first != 0 || !reaches_end {
                return false;
            }
            continue;
        }
        divided += 1;
        let mut parts = along
            .iter()
            .filter(|(_, extent)| extent.is_constant())
            .map(|(first, extent)| (*first, extent.constant_value()))
            .collect::<Vec<_>>();
        parts.sort_unstable();
        let end = parts
            .iter()
            .try_fold(0, |end, (first, extent)| (*first == end).then_some(end + extent));
        if parts.len() != boxes.len() || end.is_none() || end != *size {
            return false;
        }
    }
    divided == usize::from(boxes.len() > 1)
}
