//! Branches and counted loops of `scf` without results.

use melior::ir::{BlockLike, OperationRef, Region, Type, Value};

use super::{builder::Builder, pass::PassError, region, walk};

/// Builds an `scf.if` without an else branch, whose body `then` builds; returns the `scf.if`.
///
/// # Errors
///
/// Those of `then`.
pub fn when<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    condition: Value<'c, 'a>,
    then: impl FnOnce(&Builder<'c, 'a>) -> Result<(), PassError<'c>>,
) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
    let regions = vec![region::of_block(&[]), Region::new()];
    let branch = b.op_with("scf.if", &[condition], &[], &[], regions);
    let inside = Builder::at_end(walk::entry_block(branch)?, b.location());
    then(&inside)?;
    inside.op("scf.yield", &[], &[]);
    Ok(branch)
}

/// Builds an `scf.for` from `lower` to `upper` with step 1, whose body `body` builds from the induction variable.
///
/// # Errors
///
/// Those of `body`.
pub fn count_from<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    lower: Value<'c, 'a>,
    upper: Value<'c, 'a>,
    body: impl FnOnce(&Builder<'c, 'a>, Value<'c, 'a>) -> Result<(), PassError<'c>>,
) -> Result<(), PassError<'c>> {
    let index = Type::index(b.context());
    let block = region::of_block(&[(index, b.location())]);
    let of = b.op_with("scf.for", &[lower, upper, b.index(1)], &[], &[], vec![block]);
    let block = walk::entry_block(of)?;
    let inside = Builder::at_end(block, b.location());
    body(&inside, block.argument(0)?.into())?;
    inside.op("scf.yield", &[], &[]);
    Ok(())
}
