//! `norm-persistent-reduction`: loops of one step are removed, so that the row that the step covers is resident as a whole.
//!
//! Matches a loop dim of a tiled kernel whose extent is 1. The dim has the single value 0, so putting 0 in its place changes no value.
//! Reductions over it then need no loop, and what is read once can be kept in registers.
//!
//! A loop stays if a guard may mask off its only step and, of the dims that a reduction ranges over, concerns none but such loops: the
//! reduction then yields the combiner's identity, and without the loop it would yield an operand for which there is no point. Such are the
//! walks of gradients in CTAs that may have no row.

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::norm::{DimRole, KernelOp};

use crate::{
    kernel::{
        guards,
        space::{DimSet, Space},
        space_rewrite::{NewSpace, replace_space},
    },
    mlir::{
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
    for kernel in walk::all(op, KernelOp::from_op) {
        let space = Space::of(kernel)?;
        let Some(roles) = &space.roles else {
            let message = "expected a kernel with roles, as norm-tile leaves it";
            return Err(Diagnostic::user(kernel.op().location(), message).into());
        };
        let is_one_step = |dim: &usize| {
            let extent = space.extents[*dim];
            roles[*dim] == DimRole::Loop && extent.is_constant() && extent.constant_value() == 1
        };
        let loops = removable(&space, (0..space.dims.len()).filter(is_one_step).collect());
        if !loops.is_empty() {
            replace_space(&space, &NewSpace::without(&space, &loops))?;
            cx.count(NormPersistentReductionStatistic::NumLoops, loops.len() as u64);
        }
    }
    Ok(())
}

/// Those of `dims`, each of one point, without which every reduction gives what it gave.
fn removable(space: &Space<'_, '_>, mut dims: DimSet) -> DimSet {
    let guarded = space.guards.iter().map(guards::dims_of).collect::<Vec<_>>();
    let reduced = space
        .reductions()
        .into_iter()
        .map(|reduce| space.dims_reduced_by(reduce));
    let masked = reduced
        .flat_map(|reduced| guarded.iter().map(move |guarded| guarded & &reduced))
        .collect::<Vec<DimSet>>();
    let needed = masked.iter().filter(|masked| masked.is_subset(&dims)).flatten();
    for dim in needed.copied().collect::<DimSet>() {
        dims.remove(&dim);
    }
    dims
}
