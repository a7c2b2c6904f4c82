//! `norm-normalize-space`: adjacent dims that every access, reduction, scan and buffer treats as one become one.
//!
//! A tensor of any rank then has the fewest axes that its strides allow, so that later passes see one kept and one reduced dim where
//! the user had several, and chunks and tails fall into long dims. Kernels' buffers are collapsed accordingly, and launches collapse
//! the buffers that they pass, which costs nothing: a collapse only changes the buffer's type. [`merge`] decides which dims are
//! merged; this file reads the kernel and writes it back.

mod buffer;
mod merge;
mod origins;

use std::collections::BTreeSet;

use buffer::Buffer;
use melior::{
    Error,
    ir::{BlockLike, OperationRef, ValueLike, attribute::DenseI64ArrayAttribute, operation::OperationLike},
};
use merge::{Access, Mergeable};
use norma_dialects::{
    affine_map_attribute,
    norm::{KernelOp, LaunchOp, ReduceOp, ScanOp, WriteOp},
};
use origins::Origins;

use super::launches::Launches;

use crate::{
    kernel::{
        indices::{numbered, set_coordinates},
        reductions,
        space::Space,
    },
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{NormNormalizeSpace, NormNormalizeSpaceStatistic},
};

pub(crate) fn run<'c>(
    module: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormNormalizeSpace>,
) -> PassResult<'c> {
    let mut launches = Launches::of(module)?;
    for kernel in walk::all(module, KernelOp::from_op) {
        // A schedule refers to the dims as they are.
        let has_schedule = kernel.schedule().is_some() || kernel.alternatives().is_some();
        if kernel.roles().is_some() || has_schedule {
            continue;
        }
        let space = Space::of(kernel)?;
        let of_kernel = launches.take(kernel);
        let mut mergeable = read(&space, Origins::of(of_kernel.iter().copied()), cx)?;
        let merged = mergeable.merge_all();
        if merged == 0 {
            continue;
        }
        cx.count(NormNormalizeSpaceStatistic::NumMerged, merged);
        for launch in of_kernel {
            collapse_arguments(launch, &mergeable)?;
        }
        write(&space, &mergeable)?;
    }
    Ok(())
}

/// What [`merge`] needs to know of a kernel.
fn read<'c>(
    space: &Space<'c, '_>,
    origins: Origins,
    cx: &PassContext<'c, NormNormalizeSpace>,
) -> Result<Mergeable<'c>, PassError<'c>> {
    let accesses = space.accesses()?.into_iter().map(|access| Access {
        buffer: access.buffer,
        covers_buffer: WriteOp::from_op(access.op).is_some_and(|write| !write.partial()),
        coordinates: access.coordinates,
    });
    let kernel = space.kernel()?;
    let sizes = kernel.sizes()?;
    let sizes = sizes
        .chunks_exact(2)
        .map(|size| (size[0] as usize, size[1] as usize));
    let reductions = space.reductions().into_iter();
    let reduced = reductions.map(|reduce| space.dims_reduced_by(reduce));
    let scanned = space.scans().into_iter().map(|scan| space.dims_scanned_by(scan));
    let counting = space.dims_of_nth().into_iter().map(|dim| [dim].into());
    Ok(Mergeable {
        context: cx.context(),
        dims: (0..space.dims.len()).collect(),
        extents: space.extents.clone(),
        sizes: sizes.collect(),
        buffers: space
            .buffers
            .iter()
            .enumerate()
            .map(|(index, buffer)| {
                let multiples = multiples_of(kernel, index);
                Buffer::new(buffer.r#type(), &multiples, |axis| space.size_bounds(index, axis))
            })
            .collect(),
        origins,
        accesses: accesses.collect(),
        aliases: space.aliases(),
        combined: reduced.chain(scanned).chain(counting).collect(),
        values: dims_used_as_values(space)?,
        guards: space.guards.clone(),
    })
}

/// What is known of the sizes of a buffer's axes, as (axis, multiple).
fn multiples_of(kernel: KernelOp<'_, '_>, buffer: usize) -> Vec<(usize, i64)> {
    let multiples = kernel.multiples().unwrap_or_default();
    let of_buffer = multiples
        .chunks_exact(3)
        .filter(|known| known[0] == buffer as i64);
    of_buffer.map(|known| (known[1] as usize, known[2])).collect()
}

/// Dims that an op computes with, within a combiner or outside of one. Indices of accesses, and the dims of reductions and scans, do
/// not count, but for a dim that is added to a value of the body: the sum is a coordinate that the access checks.
fn dims_used_as_values(space: &Space<'_, '_>) -> Result<BTreeSet<usize>, Error> {
    let mut values = BTreeSet::new();
    for op in walk::pre_order(space.program) {
        let operands = if let Some(access) = space.access(op).ok().flatten() {
            let axes = 0..access.coordinates.len();
            for axis in axes.filter(|axis| access.indirect_in(*axis).next().is_some()) {
                values.extend((0..space.dims.len()).filter(|dim| access.is_along(axis, *dim)));
            }
            [access.value].into_iter().chain(access.condition).collect()
        } else if let Some(reduce) = ReduceOp::from_op(op) {
            reduce.values()
        } else if let Some(scan) = ScanOp::from_op(op) {
            vec![scan.value()?]
        } else {
            op.operands().collect::<Vec<_>>()
        };
        values.extend(
            operands
                .into_iter()
                .filter_map(|operand| space.dim_position(operand)),
        );
    }
    Ok(values)
}

/// Collapses the buffers that a launch passes, as those of the kernel are.
fn collapse_arguments<'c, 'a>(launch: LaunchOp<'c, 'a>, mergeable: &Mergeable<'c>) -> PassResult<'c> {
    let b = Builder::before(launch.op());
    let mut arguments = launch.arguments();
    for (index, (argument, buffer)) in arguments.iter_mut().zip(&mergeable.buffers).enumerate() {
        if argument.r#type() != buffer.original() {
            let (location, expected, got) = (launch.op().location(), buffer.original(), argument.r#type());
            let message = format!("expected {expected} for buffer {index} of the kernel, got {got}");
            return Err(Diagnostic::user(location, message).into());
        }
        if buffer.is_joined() {
            let memref = buffer.memref(b.context()).ok_or(PassError::Reported)?;
            let reassociation = buffer.reassociation(b.context());
            let attributes = [("reassociation", reassociation)];
            *argument = b.value_with("memref.collapse_shape", &[*argument], memref, &attributes);
        }
    }
    b.set_operands(launch.op(), &arguments);
    Ok(())
}

/// Rewrites the kernel to the merged space.
fn write<'c, 'a>(space: &Space<'c, 'a>, merged: &Mergeable<'c>) -> PassResult<'c> {
    let kernel = space.program;
    let b = Builder::before(kernel);
    for (value, buffer) in space.buffers.iter().zip(&merged.buffers) {
        if buffer.is_joined() {
            value.set_type(buffer.memref(b.context()).ok_or(PassError::Reported)?);
        }
    }
    let (dims, symbols) = (numbered(&space.dims), numbered(&space.symbols()));
    for (access, new) in space.accesses()?.iter().zip(&merged.accesses) {
        set_coordinates(&b, access, &new.coordinates, &dims, &symbols);
    }
    let left_of = |dims: BTreeSet<usize>| {
        let left = merged.dims.iter().filter(|dim| dims.contains(dim));
        left.map(|dim| space.dims[*dim]).collect::<Vec<_>>()
    };
    for scan in space.scans() {
        let dims = left_of(space.dims_scanned_by(scan));
        b.set_operands(scan.op(), &[vec![scan.value()?], dims].concat());
    }
    for reduce in space.reductions() {
        let dims = left_of(space.dims_reduced_by(reduce));
        reductions::set_operands(&b, reduce.op(), &reduce.values(), &dims, reduce.nth());
    }
    let left = merged.left();
    b.set_attribute(kernel, "extents", affine_map_attribute(left.extents));
    b.set_attribute(
        kernel,
        "sizes",
        DenseI64ArrayAttribute::new(b.context(), &left.sizes).into(),
    );
    if let Some(guards) = left.guards {
        b.set_attribute(kernel, "guards", affine_map_attribute(guards));
    }
    let multiples = merged.buffers.iter().enumerate().flat_map(|(index, buffer)| {
        let known = buffer.dynamic_multiples();
        known.flat_map(move |(axis, multiple)| [index as i64, axis as i64, multiple])
    });
    set_known(&b, kernel, "multiples", &multiples.collect::<Vec<_>>());
    let bounds = merged.buffers.iter().enumerate().flat_map(|(index, buffer)| {
        let known = buffer.dynamic_bounds();
        known.flat_map(move |(axis, bounds)| [index as i64, axis as i64, bounds.least, bounds.most])
    });
    set_known(&b, kernel, "bounds", &bounds.collect::<Vec<_>>());
    let block = walk::entry_block(kernel)?;
    for dim in (0..space.dims.len())
        .rev()
        .filter(|dim| !merged.dims.contains(dim))
    {
        // SAFETY: the accesses, reductions and scans that used the dim have been rewritten, and nothing else may use it.
        unsafe { block.erase_argument(space.buffers.len() + space.scalars.len() + dim) }
    }
    Ok(())
}

/// Sets what is known of the sizes of the kernel's buffers; where that is nothing, the kernel loses the attribute.
fn set_known<'c, 'a>(b: &Builder<'c, 'a>, kernel: OperationRef<'c, 'a>, name: &str, known: &[i64]) {
    if known.is_empty() {
        b.remove_attribute(kernel, name);
    } else {
        let known = DenseI64ArrayAttribute::new(b.context(), known);
        b.set_attribute(kernel, name, known.into());
    }
}
