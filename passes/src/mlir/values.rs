//! Values as nodes of the data flow: what identifies one, what defines it, how often it is used.

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationResult};

/// Identifies a value while its op is alive; melior's values compare but do not hash.
pub fn key(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

/// The op that a value is a result of; `None` for a block's argument.
pub fn definition<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    Some(OperationResult::try_from(value).ok()?.owner())
}

/// How many operands a value is.
pub fn uses(value: Value<'_, '_>) -> usize {
    // SAFETY: the value is alive, and its uses do not change meanwhile.
    unsafe {
        let mut count = 0;
        let mut operand = mlir_sys::mlirValueGetFirstUse(value.to_raw());
        while !mlir_sys::mlirOpOperandIsNull(operand) {
            count += 1;
            operand = mlir_sys::mlirOpOperandGetNextUse(operand);
        }
        count
    }
}
