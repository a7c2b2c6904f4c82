//! Tiles that travel by tensor maps (TMA), `bring = tensor`: what these require of the buffers that a kernel keeps in shared
//! memory.
//!
//! A tensor map lists extents and strides, the last of which is one element, and the copy engine takes boxes of it. Elements
//! outside of the buffer arrive as zero and are not written, whatever the guards of the kernel say. This file checks the buffers,
//! so that a schedule is refused at the kernel; `gl-pipeline` knows which boxes a tile consists of.

use melior::ir::{AffineExpr, ValueLike};
use norma_bundle::manifest::MAX_TENSOR_MAP_RANK;
use norma_dialects::norm::CopyMechanism;
use norma_targets::{COPY_ENGINE_GRANULE, LONGEST_OF_TENSOR_MAP};

use super::{mapping::Mapping, reason::Reason};
use crate::{
    kernel::space::{Access, Space},
    mlir::types,
};

/// Refuses buffers that no tensor map describes, if the mapping has their tiles travel by one.
///
/// # Errors
///
/// Unsupported, with what is supported, or wrong where a promise of the kernel contradicts the schedule.
pub(super) fn check(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(), Reason> {
    if mapping.bring != CopyMechanism::Tensor {
        return Ok(());
    }
    let accesses = space.accesses().map_err(Reason::wrong)?;
    let is_mapped = |access: &&Access<'_, '_>| !access.is_indirect() && mapping.copies_tiles_of(access);
    for access in accesses.iter().filter(is_mapped) {
        check_buffer(space, access)?;
        check_copied(space, mapping, access)?;
        let is_overwritten = space.aliases().iter().any(|(_, read)| *read == access.buffer);
        if (access.is_write || is_overwritten) && !covers_buffer(space, access, &accesses) {
            let why = match access.is_write {
                true => "which is not written whole, element by element",
                false => "which a result is written over, and which is not read whole, element by element",
            };
            return Err(Reason::unsupported(format!(
                "bring = tensor of buffer {}, {why}; supported: an access at a dim of its own for each axis",
                access.buffer
            )));
        }
    }
    Ok(())
}

/// Refuses a buffer whose extents, strides or address a tensor map cannot express.
fn check_buffer(space: &Space<'_, '_>, access: &Access<'_, '_>) -> Result<(), Reason> {
    let buffer = access.buffer;
    let ty = space.buffers[buffer].r#type();
    let refused = |what: String| {
        Err(Reason::unsupported(format!(
            "bring = tensor of buffer {buffer}, {what}"
        )))
    };
    let shape = types::shape(ty).unwrap_or_default();
    if shape.len() > MAX_TENSOR_MAP_RANK {
        return refused(format!(
            "which has {} axes; supported: {MAX_TENSOR_MAP_RANK}",
            shape.len()
        ));
    }
    let longest = LONGEST_OF_TENSOR_MAP;
    if let Some(extent) = shape
        .iter()
        .flatten()
        .find(|extent| !(1..=longest).contains(*extent))
    {
        return refused(format!(
            "which has {extent} elements along an axis; supported: 1 to {longest}"
        ));
    }
    let bytes = access.element_bytes();
    let divisors = space.axis_divisors(buffer, bytes);
    let strides = types::strides_and_offset(ty).map(|(strides, _)| strides);
    let (Some(divisors), Some(strides)) = (divisors, strides) else {
        return refused(format!("whose layout is {ty}; supported: strides"));
    };
    if strides.last() != Some(&Some(1)) {
        return refused(
            "whose elements are no neighbours along its last axis; supported: a stride of 1 there".to_owned(),
        );
    }
    let alignment = space.alignment(buffer).unwrap_or(bytes);
    if alignment % COPY_ENGINE_GRANULE != 0 {
        return Err(Reason::wrong(format!(
            "expected buffer {buffer} at a multiple of {COPY_ENGINE_GRANULE} bytes for bring = tensor, got {alignment}"
        )));
    }
    // The last axis is exempt: boxes begin at any element of it.
    let outer = divisors.split_last().map_or(&[][..], |(_, outer)| outer);
    if strides.contains(&Some(0)) {
        return refused(
            "whose elements are the same along an axis; supported: strides of at least 16 bytes".to_owned(),
        );
    }
    match outer
        .iter()
        .find(|stride| *stride * bytes % COPY_ENGINE_GRANULE != 0)
    {
        None => Ok(()),
        Some(stride) => refused(format!(
            "whose strides are multiples of {} bytes; supported: of {COPY_ENGINE_GRANULE}",
            1_i64 << (stride * bytes).trailing_zeros()
        )),
    }
}

/// Refuses a buffer that may have no elements if its tile is copied all the same: no tensor map describes an empty buffer.
///
/// An access stays within its buffer at each point of the dims that it uses, so that if the buffer is empty one of these dims has
/// no points. Then nothing is copied, provided that the dim's steps or CTAs follow its extent.
fn check_copied(space: &Space<'_, '_>, mapping: &Mapping, access: &Access<'_, '_>) -> Result<(), Reason> {
    let may_be_empty = |dim: &usize| space.extent_bounds(*dim).least < 1;
    let mut dims = access.dims().into_iter().filter(may_be_empty);
    match dims.find(|dim| !is_gone_through(space, mapping, *dim)) {
        None => Ok(()),
        Some(dim) => Err(Reason::unsupported(format!(
            "bring = tensor of buffer {}, which is copied even if dim {dim} has no points; supported: at least one (norm.min), or a dim \
             that passes in a loop or over CTAs",
            access.buffer
        ))),
    }
}

/// Whether the number of steps or CTAs of a dim follows its extent, so that an empty dim has none.
fn is_gone_through(space: &Space<'_, '_>, mapping: &Mapping, dim: usize) -> bool {
    let factors = &mapping.spread[dim];
    let sized = factors.iter().filter_map(|factor| factor.size);
    let sized = sized.fold(1_i64, i64::saturating_mul);
    let has_rest = factors.first().is_some_and(|factor| factor.size.is_none());
    // If the other factors hold all of the dim at once, it is a tile without steps.
    has_rest && space.extent_bounds(dim).bound().is_none_or(|most| most > sized)
}

/// Whether an access covers all of its buffer, each coordinate being a dim of its own. Then whatever guards mask in a tile lies
/// outside of the buffer, because the accesses of a kernel stay within it and its writes cover all of it.
fn covers_buffer(space: &Space<'_, '_>, access: &Access<'_, '_>, all: &[Access<'_, '_>]) -> bool {
    let is_dim = |coordinate: &AffineExpr<'_>| coordinate.is_dim().then(|| coordinate.dim_position());
    let dims = access.coordinates.iter().map(is_dim).collect::<Option<Vec<_>>>();
    let is_alone = |other: &Access<'_, '_>| other.is_write != access.is_write || other.op == access.op;
    let on_buffer = |other: &&Access<'_, '_>| other.buffer == access.buffer && !other.is_indirect();
    let mut others = all.iter().filter(on_buffer);
    let extents = types::shape(space.buffers[access.buffer].r#type()).unwrap_or_default();
    dims.is_some_and(|dims| {
        let are_distinct = (1..dims.len()).all(|place| !dims[..place].contains(&dims[place]));
        let are_whole = dims.iter().zip(&extents).all(|(dim, extent)| {
            let known = space.extents[*dim];
            extent.is_none_or(|extent| known.is_constant() && known.constant_value() == extent)
        });
        are_distinct && are_whole
    }) && others.all(is_alone)
}
