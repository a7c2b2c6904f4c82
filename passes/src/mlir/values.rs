//! Values as nodes of the data flow: their identity, definition, uses, and name in the source.
//!
//! melior's conversions of values to block arguments and to op results print the value for the error where they fail, and MLIR numbers all
//! values around it for that: 8 ms for each in a kernel of 20000 ops. Therefore they are made here alone, of values of the right kind.
#![expect(clippy::disallowed_types, reason = "see above")]

use melior::ir::{
    Identifier, OperationRef, Value, ValueLike,
    attribute::{FloatAttribute, IntegerAttribute},
    block::BlockArgument,
    operation::{OperationLike, OperationResult},
};

/// A key that identifies a value while its op is alive: melior's values can be compared but not hashed.
pub fn key(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

/// The op that a value is a result of; `None` for a block's argument.
pub fn definition<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    Some(op_result(value)?.owner())
}

/// The number of an op's result; `None` for a block's argument.
pub fn result_number(value: Value<'_, '_>) -> Option<usize> {
    Some(op_result(value)?.result_number())
}

fn op_result<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationResult<'c, 'a>> {
    let is_result = value.is_operation_result();
    is_result.then(|| OperationResult::try_from(value))?.ok()
}

/// A value as a block's argument; `None` for an op's result.
pub fn block_argument<'c, 'a>(value: Value<'c, 'a>) -> Option<BlockArgument<'c, 'a>> {
    let is_argument = value.is_block_argument();
    is_argument.then(|| BlockArgument::try_from(value))?.ok()
}

/// The number of a block's argument; `None` for an op's result.
pub fn argument_number(value: Value<'_, '_>) -> Option<usize> {
    Some(block_argument(value)?.argument_number())
}

/// The value of a constant number; `None` for other values.
pub fn number(value: Value<'_, '_>) -> Option<f64> {
    let op = definition(value).filter(|op| norma_dialects::op_name(*op) == "arith.constant")?;
    let attribute = op.attribute("value").ok()?;
    FloatAttribute::try_from(attribute)
        .map(|float| float.value())
        .or_else(|_| IntegerAttribute::try_from(attribute).map(|integer| integer.value() as f64))
        .ok()
}

/// The op that contains the block of a block argument; `None` for an op's result.
pub fn owner<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    // SAFETY: the value is alive, an argument's block with it, and so is the op around that.
    unsafe {
        if !mlir_sys::mlirValueIsABlockArgument(value.to_raw()) {
            return None;
        }
        let block = mlir_sys::mlirBlockArgumentGetOwner(value.to_raw());
        OperationRef::from_option_raw(mlir_sys::mlirBlockGetParentOperation(block))
    }
}

/// The name of a buffer or dim in the source, which the parser of an iteration space keeps in the value's location.
pub fn name_in_source(value: Value<'_, '_>) -> Option<String> {
    // SAFETY: the value is alive, and the context keeps locations and their names.
    let name = unsafe {
        let location = mlir_sys::mlirValueGetLocation(value.to_raw());
        if !mlir_sys::mlirLocationIsAName(location) {
            return None;
        }
        Identifier::from_raw(mlir_sys::mlirLocationNameGetName(location))
    };
    name.as_string_ref().as_str().ok().map(str::to_owned)
}

/// The ops that a value is an operand of, each once.
pub fn users<'c, 'a>(value: Value<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    let mut users = Vec::new();
    // SAFETY: the value is alive, and its uses do not change meanwhile; their owners live as long as it may be used.
    unsafe {
        let mut operand = mlir_sys::mlirValueGetFirstUse(value.to_raw());
        while !mlir_sys::mlirOpOperandIsNull(operand) {
            let owner = OperationRef::from_raw(mlir_sys::mlirOpOperandGetOwner(operand));
            if !users.contains(&owner) {
                users.push(owner);
            }
            operand = mlir_sys::mlirOpOperandGetNextUse(operand);
        }
    }
    users
}

/// Whether an op has results, and none of them has a use.
pub fn is_unused(op: OperationRef<'_, '_>) -> bool {
    op.result_count() > 0 && op.results().all(|result| uses(result.into()) == 0)
}

/// The number of uses of a value.
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
