//! Copies by `cp.async`: each thread commits its own copies to a group and waits for its own groups only. A barrier after the
//! wait makes the copies of all threads visible to each of them.
//!
//! Elements that a guard masks off become zero in shared memory, so that loads under the same guards need none.

use melior::ir::{OperationRef, Value, ValueLike};
use norma_dialects::gl::{AsyncCommitOp, AsyncCopyOp, AsyncWaitOp, BarrierOp, CopyToSharedOp, LocalLoadOp};

use crate::mlir::{builder::Builder, pass::PassError, values::users, walk};

use super::first_use;

/// The group of a copy outside of loops.
pub(super) struct Group<'c, 'a> {
    commit: OperationRef<'c, 'a>,
    /// The op at the kernel's top level that first loads the copied data, or contains the op that does.
    first_use: OperationRef<'c, 'a>,
}

impl<'c: 'a, 'a> Group<'c, 'a> {
    /// Issues a copy where it stands; `None` if nothing loads the copied data.
    pub fn issue(
        function: OperationRef<'c, 'a>,
        copy: CopyToSharedOp<'c, 'a>,
    ) -> Result<Option<Self>, PassError<'c>> {
        let memory = copy.memory()?;
        drop_guards(copy)?;
        let b = Builder::before(copy.op());
        issue(&b, copy, &copy.indices(), &copy.limits(), memory)?;
        let commit = b.op(AsyncCommitOp::NAME, &[], &[]);
        b.erase(copy.op());
        Ok(first_use(function, memory).map(|first_use| Self { commit, first_use }))
    }

    /// Waits for the group where its memory is first loaded from. Groups that are committed in between may stay in flight;
    /// those of loops in between are not counted, so that the wait covers more groups than it has to.
    pub fn wait(&self, function: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
        let ops = walk::in_block(walk::entry_block(function)?);
        let behind = ops.into_iter().skip_while(|op| *op != self.commit).skip(1);
        let between = behind.take_while(|op| *op != self.first_use);
        let later = between.filter(|op| AsyncCommitOp::from_op(*op).is_some()).count();
        wait(&Builder::before(self.first_use), later as i64)
    }
}

/// Issues a copy to `memory` with these indices and limits.
pub(super) fn issue<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    copy: CopyToSharedOp<'c, 'a>,
    indices: &[Value<'c, 'a>],
    limits: &[Value<'c, 'a>],
    memory: Value<'c, 'a>,
) -> Result<(), PassError<'c>> {
    b.insert(AsyncCopyOp::build(
        b.location(),
        copy.buffer()?,
        indices,
        limits,
        memory,
        copy.access()?,
        copy.guards(),
        None,
        None,
    )?);
    Ok(())
}

/// Waits until at most `pending` groups of each thread are in flight, and for all threads to have waited.
pub(super) fn wait<'c: 'a, 'a>(b: &Builder<'c, 'a>, pending: i64) -> Result<(), PassError<'c>> {
    b.insert(AsyncWaitOp::build(b.location(), pending)?);
    b.insert(BarrierOp::build(b.location(), None, None)?);
    Ok(())
}

/// Removes the guards from those loads of a copy's memory that have the same guards as the copy.
pub(super) fn drop_guards<'c: 'a, 'a>(copy: CopyToSharedOp<'c, 'a>) -> Result<(), PassError<'c>> {
    for load in users(copy.memory()?).into_iter().filter_map(LocalLoadOp::from_op) {
        let is_same = load.guards() == copy.guards()
            && load.indices() == copy.indices()
            && load.limits() == copy.limits();
        if is_same && load.guards().is_some() {
            let b = Builder::before(load.op());
            let tile = load.tile()?.r#type();
            let whole = LocalLoadOp::build(b.location(), load.memory()?, &[], &[], None, load.phase(), tile)?;
            let tile = b.insert(whole).result(0)?.into();
            b.replace(load.op(), &[tile]);
        }
    }
    Ok(())
}
