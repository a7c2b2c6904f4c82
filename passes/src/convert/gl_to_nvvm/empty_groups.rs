//! Erases commits of `cp.async` groups without a copy, and waits for nothing else.
//!
//! Which elements are copied through registers is known only once a copy is lowered, and a group may have no other elements.
//! The barrier behind its wait orders the stores to shared memory by itself. A commit or wait is erased where the thread has no
//! copy in flight: the groups that a later wait leaves in flight are the same without an empty group before them.

use melior::ir::{BlockRef, OperationRef, operation::OperationLike};

use crate::mlir::{builder::Builder, pass::PassError, walk};

use super::async_copy::{COMMIT, COPY, PENDING, WAIT};

/// Which copies a thread may not have waited for.
#[derive(Default)]
struct Copies {
    /// Whether some are in no group yet.
    are_issued: bool,
    /// Whether some are in a group.
    are_committed: bool,
}

/// Erases them from a lowered kernel's body.
pub(super) fn erase<'c: 'a, 'a>(body: BlockRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let mut copies = Copies::default();
    for op in walk::in_block(body) {
        let nested = |name| walk::named(op, name);
        let groups = [nested(COMMIT), nested(WAIT)].concat();
        let copies_too = !nested(COPY).is_empty();
        if !copies_too && !copies.are_issued && !copies.are_committed {
            groups.into_iter().for_each(erase_op);
        } else if walk::has_name(op, COMMIT) {
            copies.are_committed = true;
            copies.are_issued = false;
        } else if walk::has_name(op, WAIT) {
            copies.are_committed &= norma_dialects::integer(op.attribute(PENDING)?)? != 0;
        } else {
            copies.are_issued |= copies_too;
            // The groups of a loop are not told apart.
            copies.are_committed |= copies_too && !groups.is_empty();
        }
    }
    Ok(())
}

fn erase_op(op: OperationRef<'_, '_>) {
    Builder::before(op).erase(op);
}
