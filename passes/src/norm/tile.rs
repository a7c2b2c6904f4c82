//! `norm-tile`: kernels' dims are split and given roles, as their schedules say.
//!
//! Matches a `norm.kernel` with a schedule and without roles. With R rows per CTA and chunks of C elements, the innermost
//! kept dim m becomes `m = b * R + r` and the reduced dim n becomes `n = c * C + t`; the other kept dims stay whole. Every
//! old point is exactly one new point, and a guard keeps out the points beyond an extent that the split does not divide,
//! so the kernel computes what it did. Nothing is moved or copied: only index arithmetic is added.

use melior::ir::{AffineExpr, OperationRef, operation::OperationLike};
use norma_dialects::norm::{CopyMechanism, DimRole, GridKind, KernelOp, ScheduleAttr};

use crate::{
    kernel::{
        reduced_dim::reduced_dim,
        space::Space,
        space_rewrite::{NewDim, NewSpace, replace_space},
    },
    mlir::{
        context,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{NormTile, NormTileStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormTile>) -> PassResult<'c> {
    for kernel in walk::named(op, KernelOp::NAME)
        .into_iter()
        .filter_map(KernelOp::from_op)
    {
        if kernel.roles().is_some() {
            continue;
        }
        let Some(schedule) = kernel.schedule() else {
            let message = "expected a kernel with a schedule, got none";
            return Err(Diagnostic::user(kernel.op().location(), message).into());
        };
        check_schedule(kernel, schedule)?;
        let space = Space::of(kernel)?;
        replace_space(&space, &split(&space, schedule)?)?;
        cx.count(NormTileStatistic::NumTiled, 1);
    }
    Ok(())
}

/// The most elements of a row that one thread may hold: twice what its registers could hold of the narrowest type, and
/// all that is unrolled into one thread's program.
const ELEMENTS_PER_THREAD: i64 = 512;

/// Refuses what no pass applies yet. The strategy and the cache are for the passes that apply them.
fn check_schedule<'c>(kernel: KernelOp<'c, '_>, schedule: ScheduleAttr<'c>) -> Result<(), Diagnostic<'c>> {
    let message = if schedule.cluster() != 1 {
        format!("a cluster of {} CTAs, expected cluster = 1", schedule.cluster())
    } else if schedule.grid() != GridKind::Flat {
        format!("grid = {}, expected grid = flat", schedule.grid())
    } else if schedule.copy() != CopyMechanism::Load {
        format!("copy = {}, expected copy = load", schedule.copy())
    } else if schedule.stages() != 1 {
        format!("{} stages, expected stages = 1", schedule.stages())
    } else if schedule.producer_warps() != 0 {
        format!(
            "{} producer warps, expected producer_warps = 0",
            schedule.producer_warps()
        )
    } else if schedule.dependent_launch() {
        "dependent_launch = true, expected dependent_launch = false".to_owned()
    } else if schedule
        .vector()
        .max(schedule.chunk() / schedule.threads_per_row())
        > ELEMENTS_PER_THREAD
    {
        format!(
            "{} elements of a row per thread, expected at most {ELEMENTS_PER_THREAD}",
            schedule
                .vector()
                .max(schedule.chunk() / schedule.threads_per_row())
        )
    } else {
        return Ok(());
    };
    Err(Diagnostic::unsupported(kernel.op().location(), message))
}

/// The space that the schedule makes of a kernel's: kept dims, then `b`, `r`, `c`, `t`.
fn split<'c>(space: &Space<'c, '_>, schedule: ScheduleAttr<'c>) -> Result<NewSpace<'c>, PassError<'c>> {
    let context = context::of(space.kernel.op().location());
    let constant = |value: i64| AffineExpr::constant(context, value);
    let reduced = reduced_dim(space)?;
    let kept = (0..space.dims.len())
        .filter(|dim| *dim != reduced)
        .collect::<Vec<_>>();
    let row = kept.last().copied();

    let mut new = NewSpace {
        old_dims: vec![constant(0); space.dims.len()],
        ..NewSpace::default()
    };
    for dim in kept.into_iter().filter(|dim| Some(*dim) != row) {
        new.old_dims[dim] = AffineExpr::dim(context, new.dims.len());
        new.dims.push(NewDim {
            extent: space.extents[dim],
            role: DimRole::Grid,
        });
    }
    // Without a kept dim the whole space is one row.
    let rows = row.map_or(constant(1), |dim| space.extents[dim]);
    for (old, extent, step, outer) in [
        (row, rows, schedule.rows_per_cta(), DimRole::Grid),
        (
            Some(reduced),
            space.extents[reduced],
            schedule.chunk(),
            DimRole::Loop,
        ),
    ] {
        let whole = AffineExpr::dim(context, new.dims.len()) * constant(step)
            + AffineExpr::dim(context, new.dims.len() + 1);
        new.dims.push(NewDim {
            extent: AffineExpr::ceil_div(extent, constant(step)),
            role: outer,
        });
        new.dims.push(NewDim {
            extent: constant(step),
            role: DimRole::Tile,
        });
        // An extent of 0 is a multiple of everything, and yet has none of the tile's points.
        let is_empty = extent.is_constant() && extent.constant_value() == 0;
        if is_empty || !extent.is_multiple_of(step) {
            new.guards.push([whole, extent]);
        }
        if let Some(old) = old {
            new.old_dims[old] = whole;
        }
    }
    Ok(new)
}
