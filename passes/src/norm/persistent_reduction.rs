//! `norm-persistent-reduction`: a row that one chunk covers is resident as a whole, so its loop goes away.
//!
//! Matches a tiled kernel whose schedule says `persistent`. A loop dim of extent 1 has the one value 0, so putting 0 in its
//! place changes no value; what is left is that reductions range over tile dims alone and need no loop. Costs registers
//! for the whole row.

use melior::ir::{AffineExpr, OperationRef, operation::OperationLike};
use norma_dialects::norm::{DimRole, KernelOp, ReductionStrategy};

use crate::{
    kernel::{
        space::{DimSet, Space},
        space_rewrite::{NewDim, NewSpace, replace_space},
    },
    mlir::{
        context,
        diagnostic::Diagnostic,
        pass::{PassContext, PassResult},
        walk,
    },
    table::{NormPersistentReduction, NormPersistentReductionStatistic},
};

pub(crate) fn run<'c>(
    op: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormPersistentReduction>,
) -> PassResult<'c> {
    for kernel in walk::named(op, KernelOp::NAME)
        .into_iter()
        .filter_map(KernelOp::from_op)
    {
        let location = kernel.op().location();
        let space = Space::of(kernel)?;
        let (Some(roles), Some(schedule)) = (&space.roles, kernel.schedule()) else {
            let message = "expected a kernel with a schedule and roles, as norm-tile leaves it";
            return Err(Diagnostic::user(location, message).into());
        };
        if schedule.reduction() != ReductionStrategy::Persistent {
            let message = format!(
                "reduction = {}, expected reduction = persistent",
                schedule.reduction()
            );
            return Err(Diagnostic::unsupported(location, message).into());
        }
        let loops = looped_dims(&space, roles)?;
        if !loops.is_empty() {
            replace_space(&space, &without(&space, roles, &loops))?;
            cx.count(NormPersistentReductionStatistic::NumLoops, loops.len() as u64);
        }
    }
    Ok(())
}

/// The loop dims that reductions range over, each of extent 1.
fn looped_dims<'c>(space: &Space<'c, '_>, roles: &[DimRole]) -> Result<DimSet, Diagnostic<'c>> {
    let mut loops = DimSet::new();
    for reduce in space.reductions() {
        for dim in space.dims_reduced_by(reduce) {
            if roles.get(dim) != Some(&DimRole::Loop) {
                continue;
            }
            let extent = space.extents[dim];
            if !extent.is_constant() {
                let message = "a persistent reduction over a dim whose extent only the run knows, expected a static one";
                return Err(Diagnostic::unsupported(reduce.op().location(), message));
            }
            if extent.constant_value() > 1 {
                let message = format!(
                    "expected a chunk that covers the row, as the reduction is persistent, got {} chunks",
                    extent.constant_value()
                );
                return Err(Diagnostic::user(reduce.op().location(), message)
                    .note(space.kernel.op().location(), "the kernel's schedule says so"));
            }
            loops.insert(dim);
        }
    }
    Ok(loops)
}

/// The space without `loops`, with 0 in their place.
fn without<'c>(space: &Space<'c, '_>, roles: &[DimRole], loops: &DimSet) -> NewSpace<'c> {
    let context = context::of(space.kernel.op().location());
    let mut new = NewSpace::default();
    for (dim, (extent, role)) in space.extents.iter().zip(roles).enumerate() {
        if loops.contains(&dim) {
            new.old_dims.push(AffineExpr::constant(context, 0));
            continue;
        }
        new.old_dims.push(AffineExpr::dim(context, new.dims.len()));
        new.dims.push(NewDim {
            extent: *extent,
            role: *role,
        });
    }
    new
}
