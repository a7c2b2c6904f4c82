//! How the host launches a kernel: grid and traffic as functions of the buffers' sizes.

use std::collections::BTreeSet;

use melior::ir::{
    AffineExpr, AffineMap, Attribute, OperationRef, ValueLike, block::BlockArgument, operation::OperationLike,
};
use mlir_sys::mlirAffineMapAttrGet;
use norma_dialects::{
    gl::LaunchAttr,
    norm::{KernelOp, ReadOp, WriteOp},
};

use crate::support::{context, diagnostic::Diagnostic, pass::PassError, types, walk};

use super::space::Space;

/// The alignment of a buffer that says nothing: what one element needs.
const NATURAL: i64 = 1;

/// The `#gl.launch` of a tiled kernel.
pub(super) fn attribute<'c>(
    kernel: KernelOp<'c, '_>,
    space: &Space<'c, '_>,
) -> Result<LaunchAttr<'c>, PassError<'c>> {
    let context = context::of(space.location());
    let symbols = space.sizes().len();
    let mut ctas = AffineExpr::constant(context, 1);
    for dim in space.grid() {
        ctas = ctas * space.extent(dim)?;
    }
    let mut traffic = Vec::new();
    for name in [ReadOp::NAME, WriteOp::NAME] {
        let mut seen = BTreeSet::new();
        let mut bytes = AffineExpr::constant(context, 0);
        for op in walk::named(kernel.op(), name) {
            let (buffer, access) = operand_and_access(op)?;
            let number = BlockArgument::try_from(buffer)?.argument_number();
            // A buffer that is accessed twice is moved once: the second access hits a cache or a register.
            if seen.insert(number) {
                bytes = bytes + footprint(space, op, buffer.r#type(), access)?;
            }
        }
        traffic.push(bytes);
    }
    let map = |results: &[AffineExpr<'c>]| {
        let map = AffineMap::new(context, 0, symbols, results);
        // SAFETY: the map is alive.
        unsafe { Attribute::from_raw(mlirAffineMapAttrGet(map.to_raw())) }
    };
    let sizes = space
        .sizes()
        .iter()
        .flat_map(|(buffer, axis)| [*buffer as i64, *axis as i64])
        .collect::<Vec<_>>();
    let alignments = kernel
        .alignments()
        .unwrap_or_else(|| vec![NATURAL; space.buffers().len()]);
    let schedule = kernel.schedule();
    Ok(LaunchAttr::get(
        context,
        map(&[ctas]),
        map(&traffic),
        &sizes,
        &alignments,
        schedule.map_or(1, |schedule| schedule.cluster()),
        -1,
        schedule.is_some_and(|schedule| schedule.dependent_launch()),
    ))
}

/// The buffer of a read or write, and its access as a map over all of the kernel's dims.
fn operand_and_access<'c, 'a>(
    op: OperationRef<'c, 'a>,
) -> Result<
    (
        melior::ir::Value<'c, 'a>,
        (Vec<melior::ir::Value<'c, 'a>>, AffineMap<'c>),
    ),
    PassError<'c>,
> {
    if let Some(read) = ReadOp::from_op(op) {
        return Ok((read.buffer()?, (read.indices(), read.access()?)));
    }
    let write = WriteOp::from_op(op)
        .ok_or_else(|| Diagnostic::internal(op.location(), "expected a read or a write"))?;
    Ok((write.buffer()?, (write.indices(), write.access()?)))
}

/// The bytes of the part of a buffer that an access covers.
fn footprint<'c, 'a>(
    space: &Space<'c, 'a>,
    op: OperationRef<'c, 'a>,
    buffer: melior::ir::Type<'c>,
    (indices, access): (Vec<melior::ir::Value<'c, 'a>>, AffineMap<'c>),
) -> Result<AffineExpr<'c>, PassError<'c>> {
    let context = context::of(op.location());
    let constant = |value| AffineExpr::constant(context, value);
    let element = types::element(buffer);
    let bits = types::bit_width(element)
        .filter(|bits| bits % 8 == 0)
        .ok_or_else(|| {
            Diagnostic::unsupported(
                op.location(),
                format!("expected elements of whole bytes, got {element}"),
            )
        })?;
    let mut bytes = constant(bits as i64 / 8);
    let shape = types::shape(buffer).unwrap_or_default();
    let dims = indices
        .iter()
        .map(|index| space.dim_of(*index))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Diagnostic::internal(op.location(), "expected indices to be dims"))?;
    for (axis, size) in shape.iter().enumerate() {
        let extent = match size {
            Some(size) => constant(*size),
            None => covered(space, &dims, access, axis)?,
        };
        bytes = bytes * extent;
    }
    Ok(bytes)
}

/// How far an access reaches along a dynamic axis: up to the guard over the same coordinate, or else to the last
/// point of the dims.
fn covered<'c>(
    space: &Space<'c, '_>,
    dims: &[usize],
    access: AffineMap<'c>,
    axis: usize,
) -> Result<AffineExpr<'c>, PassError<'c>> {
    let context = context::of(space.location());
    let num_dims = space.dims().len();
    let renumbered = dims
        .iter()
        .map(|dim| AffineExpr::dim(context, *dim))
        .collect::<Vec<_>>();
    let renumbering = AffineMap::new(context, num_dims, space.sizes().len(), &renumbered);
    let coordinate = access.result(axis)?.compose(renumbering);
    if let Some(guards) = space.guards() {
        for pair in 0..guards.result_count() / 2 {
            if guards.result(2 * pair)? == coordinate {
                return Ok(guards.result(2 * pair + 1)?);
            }
        }
    }
    let last = (0..num_dims)
        .map(|dim| Ok(space.extent(dim)? + AffineExpr::constant(context, -1)))
        .collect::<Result<Vec<_>, melior::Error>>()?;
    let last = AffineMap::new(context, 0, space.sizes().len(), &last);
    Ok(coordinate.compose(last) + AffineExpr::constant(context, 1))
}
