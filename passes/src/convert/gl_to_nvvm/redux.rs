//! `redux.sync`: one instruction reduces 32-bit integers over all lanes of a warp, in the place of five shuffles.
//!
//! Every target has it for integers.

use melior::ir::{Attribute, BlockRef, Type, operation::OperationLike, r#type::IntegerType};

use crate::mlir::{diagnostic::Diagnostic, walk};

use super::emit::{Emit, Value};

/// Ops of combiners, and what `nvvm.redux.sync` calls them.
const KINDS: [(&str, &str); 8] = [
    ("arith.addi", "add"),
    ("arith.andi", "and"),
    ("arith.maxsi", "max"),
    ("arith.maxui", "umax"),
    ("arith.minsi", "min"),
    ("arith.minui", "umin"),
    ("arith.ori", "or"),
    ("arith.xori", "xor"),
];

/// The kind of `redux.sync` that reduces values of type `ty` as `combiner` does, if there is one.
pub(super) fn kind<'c>(combiner: BlockRef<'c, '_>, ty: Type<'c>) -> Option<&'static str> {
    let is_word = IntegerType::try_from(ty).is_ok_and(|ty| ty.width() == 32);
    // Of two arguments an integer op of this list makes what the combiner yields, in either order.
    let [op, end] = walk::in_block(combiner)[..] else {
        return None;
    };
    let is_yielded = end.operand(0).ok() == op.result(0).ok().map(Into::into);
    let takes_both = op.operands().count() == 2 && op.operand(0).ok() != op.operand(1).ok();
    let name = norma_dialects::op_name(op);
    let known = KINDS.iter().find(|(combined, _)| *combined == name);
    known
        .filter(|_| is_word && is_yielded && takes_both)
        .map(|(_, kind)| *kind)
}

/// The reduction of all lanes' values.
pub(super) fn of_lanes<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Value<'c, 'a>,
    kind: &str,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let attribute = Attribute::parse(e.b.context(), &format!("#nvvm<redux_kind {kind}>"))
        .ok_or_else(|| e.internal("no kind of redux.sync"))?;
    let operands = [value, e.i32(-1)];
    Ok(e.b.value_with("nvvm.redux.sync", &operands, e.int(32), &[("kind", attribute)]))
}
