//! `norm-dispatch-schedules`: a kernel with schedules for different sizes becomes a kernel for each schedule.
//!
//! Matches a kernel with `alternatives`. Each alternative's schedule goes to a copy of the kernel, and each launch of the kernel
//! becomes a chain of `affine.if`, whose last else-branch launches the kernel itself: for every size exactly one of them runs, and
//! they compute the same. What the conditions imply for a size becomes a bound in the kernels that are launched under them, so that a
//! tile may hold all of a dim that is short wherever its schedule is used.

use melior::ir::{
    AffineExpr, Block, OperationRef, Region, RegionLike, Type,
    attribute::{DenseI64ArrayAttribute, FlatSymbolRefAttribute},
    operation::OperationLike,
};
use norma_dialects::{
    inequality_attribute,
    norm::{KernelOp, LaunchOp},
};

use super::{kernel_copy::copy_kernel, kernel_names::KernelNames, launches::Launches};
use crate::{
    kernel::space::Space,
    mlir::{
        builder::Builder,
        context,
        interval::Interval,
        linear_form::LinearForm,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{NormDispatchSchedules, NormDispatchSchedulesStatistic},
};

pub(crate) fn run<'c>(
    module: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormDispatchSchedules>,
) -> PassResult<'c> {
    let mut names = KernelNames::new(module);
    let mut launches = Launches::of(module)?;
    for kernel in walk::all(module, KernelOp::from_op) {
        let (Some(alternatives), Some(conditions)) = (kernel.alternatives(), kernel.conditions()) else {
            continue;
        };
        let space = Space::of(kernel)?;
        // `constraint >= 0` over the kernel's sizes, for each alternative.
        let constraints = (0..alternatives.len())
            .map(|index| {
                let (lhs, rhs) = (conditions.result(2 * index)?, conditions.result(2 * index + 1)?);
                let minus_one = AffineExpr::constant(cx.context(), -1);
                Ok(rhs + lhs * minus_one + minus_one)
            })
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        let sizes = space.sizes.clone();
        let b = Builder::before(kernel.op());
        b.remove_attribute(kernel.op(), "alternatives");
        b.remove_attribute(kernel.op(), "conditions");

        let mut kernels = Vec::new();
        for (index, constraint) in constraints.iter().enumerate() {
            let name = names.of(kernel.op());
            let copy = copy_kernel(&b, kernel, &name)?;
            b.set_attribute(copy.op(), "schedule", alternatives[index]);
            for earlier in &constraints[..index] {
                bound(copy, &sizes, *earlier, false)?;
            }
            bound(copy, &sizes, *constraint, true)?;
            kernels.push(name);
            cx.count(NormDispatchSchedulesStatistic::NumDispatched, 1);
        }
        for constraint in &constraints {
            bound(kernel, &sizes, *constraint, false)?;
        }
        let choices = constraints.into_iter().zip(kernels).collect::<Vec<_>>();
        for launch in launches.take(kernel) {
            choose(launch, &sizes, &choices)?;
        }
    }
    Ok(())
}

/// Bounds a size of a kernel that is launched only where `constraint >= 0` holds, or only where it fails, if the constraint compares
/// one size with a constant.
fn bound<'c>(
    kernel: KernelOp<'c, '_>,
    sizes: &[(usize, usize)],
    constraint: AffineExpr<'c>,
    holds: bool,
) -> PassResult<'c> {
    let Some(form) = LinearForm::of(constraint, 0, sizes.len()) else {
        return Ok(());
    };
    let mut used = form
        .symbols
        .iter()
        .enumerate()
        .filter(|(_, coefficient)| **coefficient != 0);
    let (Some((symbol, coefficient @ (1 | -1))), None) = (used.next(), used.next()) else {
        return Ok(());
    };
    let (buffer, axis) = sizes[symbol];
    let known = Space::of(kernel)?.size_bounds(buffer, axis);
    // The constraint is `size >= -constant` or `size <= constant`; where it fails, the size is at least one beyond that.
    let constant = form.constant;
    let Interval { mut least, mut most } = known;
    match (*coefficient == 1, holds) {
        (true, true) => least = least.max(constant.saturating_neg()),
        (true, false) => most = most.min(constant.saturating_neg().saturating_sub(1)),
        (false, true) => most = most.min(constant),
        (false, false) => least = least.max(constant.saturating_add(1)),
    }
    if least > most {
        // No size is left: the kernel is never launched.
        return Ok(());
    }
    let mut bounds = kernel.bounds().unwrap_or_default();
    let place = [buffer as i64, axis as i64];
    match bounds.chunks_exact_mut(4).find(|bound| bound[..2] == place) {
        Some(stated) => stated[2..].copy_from_slice(&[least, most]),
        None => bounds.extend([place[0], place[1], least, most]),
    }
    let location = kernel.op().location();
    let attribute = DenseI64ArrayAttribute::new(context::of(location), &bounds);
    Builder::before(kernel.op()).set_attribute(kernel.op(), "bounds", attribute.into());
    Ok(())
}

/// Replaces a launch by a chain of `affine.if`, which launches the first of `choices` whose constraint holds.
fn choose<'c, 'a>(
    launch: LaunchOp<'c, 'a>,
    sizes: &[(usize, usize)],
    choices: &[(AffineExpr<'c>, String)],
) -> PassResult<'c> {
    let mut b = Builder::before(launch.op());
    let index = Type::index(b.context());
    let arguments = launch.arguments();
    let sizes = sizes
        .iter()
        .map(|(buffer, axis)| b.value("memref.dim", &[arguments[*buffer], b.index(*axis as i64)], index))
        .collect::<Vec<_>>();
    for (constraint, name) in choices {
        let branches = (0..2)
            .map(|_| {
                let region = Region::new();
                region.append_block(Block::new(&[]));
                region
            })
            .collect();
        let condition = [("condition", inequality_attribute(*constraint, sizes.len()))];
        let choice = b.op_with("affine.if", &sizes, &[], &condition, branches);
        let callee = FlatSymbolRefAttribute::new(b.context(), name).into();
        let [holds, fails] = [branch(choice, 0)?, branch(choice, 1)?];
        holds.insert(LaunchOp::build(launch.op().location(), &arguments, callee)?);
        holds.op("affine.yield", &[], &[]);
        let end = fails.op("affine.yield", &[], &[]);
        b = Builder::before(end);
    }
    b.insert(LaunchOp::build(
        launch.op().location(),
        &arguments,
        launch.callee()?,
    )?);
    b.erase(launch.op());
    Ok(())
}

fn branch<'c, 'a>(choice: OperationRef<'c, 'a>, region: usize) -> Result<Builder<'c, 'a>, PassError<'c>> {
    let block = choice
        .region(region)?
        .first_block()
        .ok_or_else(|| PassError::Internal("expected a branch with a block".to_owned()))?;
    Ok(Builder::at_end(block, choice.location()))
}
