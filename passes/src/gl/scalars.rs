//! How analyses follow scalars to their definitions.

use melior::ir::{OperationRef, Value};

use crate::mlir::{
    values::{argument_number, owner},
    walk,
};

/// The depth in ops to which the definition of a scalar is followed. It bounds the work: operands are followed as a tree, even
/// where subexpressions are shared.
pub(super) const DEPTH: usize = 12;

/// The `scf.for` that a value is the induction variable of, if it is one.
pub(super) fn loop_of<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let number = argument_number(value)?;
    owner(value).filter(|of| walk::has_name(*of, "scf.for") && number == 0)
}
