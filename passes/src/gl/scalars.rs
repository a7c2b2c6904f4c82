//! What scalars are made of, as far as analyses follow them.

use melior::ir::{OperationRef, Value, block::BlockArgument};

use crate::mlir::{values::owner, walk};

/// How many ops deep a scalar is followed: a sum of sums is a tree, and may share its branches.
pub(super) const DEPTH: usize = 12;

/// The `scf.for` that a value is the induction variable of, if it is one.
pub(super) fn loop_of<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let number = BlockArgument::try_from(value).ok()?.argument_number();
    owner(value).filter(|of| walk::has_name(*of, "scf.for") && number == 0)
}
