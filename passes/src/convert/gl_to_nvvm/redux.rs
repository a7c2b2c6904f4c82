//! `redux.sync`: one instruction reduces 32-bit integers over all lanes of a warp, in the place of five shuffles.
//!
//! Every target has it for integers.

use melior::ir::{Attribute, BlockRef, Type, r#type::IntegerType};

use crate::mlir::{combiner, diagnostic::Diagnostic};

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

/// The kind of `redux.sync` that reduces values of type `ty` as the combiner `block` does, if there is one.
pub(super) fn kind<'c>(block: BlockRef<'c, '_>, ty: Type<'c>) -> Option<&'static str> {
    let is_word = IntegerType::try_from(ty).is_ok_and(|ty| ty.width() == 32);
    let name = norma_dialects::op_name(combiner::single_op(block).filter(|_| is_word)?);
    let known = KINDS.iter().find(|(combined, _)| *combined == name);
    known.map(|(_, kind)| *kind)
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
