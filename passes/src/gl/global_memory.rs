//! What ops of `gl` do to buffers in global memory: which they read, and which they write. ODS says so of each operand
//! ([`global_effects`]); here a tensor map stands for its buffer.

use melior::ir::{OperationRef, Value};
use norma_dialects::gl::{TensorMapOp, global_effects};

use crate::mlir::{
    values::{definition, users},
    walk,
};

/// Whether an op, or one within it, reads or writes global memory.
pub fn touches(op: OperationRef<'_, '_>) -> bool {
    let accesses = |nested: &OperationRef<'_, '_>| !global_effects(*nested).is_empty();
    walk::pre_order(op).iter().any(accesses)
}

/// Whether an op, or one within it, writes to `buffer`.
pub fn writes<'c: 'a, 'a>(op: OperationRef<'c, 'a>, buffer: Value<'c, 'a>) -> bool {
    walk::pre_order(op)
        .into_iter()
        .flat_map(global_effects)
        .any(|effect| effect.is_written && buffer_of(effect.operand) == Some(buffer))
}

/// Whether all that is done with `buffer` is to read it, and to ask for its sizes.
pub fn is_only_read(buffer: Value<'_, '_>) -> bool {
    users(buffer).into_iter().all(|user| {
        if let Some(map) = TensorMapOp::from_op(user) {
            return map.map().is_ok_and(is_only_read);
        }
        let effects = global_effects(user);
        let reads = !effects.is_empty() && effects.iter().all(|effect| !effect.is_written);
        reads || walk::has_name(user, "memref.dim")
    })
}

/// The buffer that an operand is, or that a tensor map describes.
fn buffer_of<'c: 'a, 'a>(operand: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
    match definition(operand).and_then(TensorMapOp::from_op) {
        Some(map) => map.buffer().ok(),
        None => Some(operand),
    }
}
