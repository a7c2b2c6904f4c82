//! `redux.sync`: one instruction reduces values of 32 bits over all lanes of a warp, in the place of five shuffles.
//!
//! Every target has it for integers, and some for the maximum and minimum of f32. It takes +0 to be larger than -0, as `arith.maximumf`
//! and `arith.minimumf` do; `arith.maxnumf` and `arith.minnumf` allow either order (PTX ISA, "Parallel Synchronization and Communication
//! Instructions: redux.sync").

use melior::ir::{Attribute, BlockRef, Type, ValueLike, attribute::BoolAttribute, r#type::IntegerType};
use norma_targets::{Feature, Target};

use crate::mlir::{combiner, diagnostic::Diagnostic, types};

use super::emit::{Emit, Value};

/// Ops of combiners of integers, and what `nvvm.redux.sync` calls them.
const OF_INTEGERS: [(&str, &str); 8] = [
    ("arith.addi", "add"),
    ("arith.andi", "and"),
    ("arith.maxsi", "max"),
    ("arith.maxui", "umax"),
    ("arith.minsi", "min"),
    ("arith.minui", "umin"),
    ("arith.ori", "or"),
    ("arith.xori", "xor"),
];

/// Ops of combiners of f32, what `nvvm.redux.sync` calls them, and whether the result is NaN if any value is.
const OF_FLOATS: [(&str, &str, bool); 4] = [
    ("arith.maximumf", "fmax", true),
    ("arith.maxnumf", "fmax", false),
    ("arith.minimumf", "fmin", true),
    ("arith.minnumf", "fmin", false),
];

/// What a `redux.sync` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// The keyword of `nvvm.redux.sync`.
    keyword: &'static str,
    /// Whether the result is NaN if any value is; the values that are NaN are left out otherwise.
    nan: bool,
}

/// The kind of `redux.sync` that reduces values of type `ty` as the combiner `block` does, if `target` has one.
pub(super) fn kind<'c>(block: BlockRef<'c, '_>, ty: Type<'c>, target: &Target) -> Option<Kind> {
    let name = norma_dialects::op_name(combiner::single_op(block)?);
    let has_floats = types::is_f32(ty) && target.has(Feature::ReduxF32);
    let is_word = IntegerType::try_from(ty).is_ok_and(|ty| ty.width() == 32);
    let floats = OF_FLOATS.iter().filter(|_| has_floats).copied();
    let integers = OF_INTEGERS.iter().filter(|_| is_word);
    let integers = integers.map(|(combined, keyword)| (*combined, *keyword, false));
    let known = floats.chain(integers).find(|(combined, ..)| *combined == name);
    known.map(|(_, keyword, nan)| Kind { keyword, nan })
}

/// The reduction of all lanes' values.
pub(super) fn of_lanes<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Value<'c, 'a>,
    kind: Kind,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let context = e.b.context();
    let keyword = Attribute::parse(context, &format!("#nvvm<redux_kind {}>", kind.keyword))
        .ok_or_else(|| e.internal("no kind of redux.sync"))?;
    let nan = BoolAttribute::new(context, true).into();
    let mut attributes = vec![("kind", keyword)];
    attributes.extend(kind.nan.then_some(("nan", nan)));
    let operands = [value, e.i32(-1)];
    Ok(e.b.value_with("nvvm.redux.sync", &operands, value.r#type(), &attributes))
}

#[cfg(test)]
mod tests {
    use super::*;

    use melior::{Context, dialect::DialectRegistry, ir::Module, utility::register_all_dialects};
    use norma_targets::SM_90A;

    use crate::mlir::walk;

    /// The kind for a combiner of one op, on a target.
    fn of(op: &str, ty: &str, target: &Target) -> Option<Kind> {
        let registry = DialectRegistry::new();
        register_all_dialects(&registry);
        let context = Context::new();
        context.append_dialect_registry(&registry);
        context.load_all_available_dialects();
        let text = format!(
            "func.func @combine(%l: {ty}, %r: {ty}) -> {ty} {{ %s = {op} %l, %r : {ty} return %s : {ty} }}"
        );
        let module = Module::parse(&context, &text).unwrap();
        let function = walk::named(module.as_operation(), "func.func")[0];
        let block = walk::entry_block(function).unwrap();
        kind(block, Type::parse(&context, ty).unwrap(), target)
    }

    #[test]
    fn integers_are_reduced_on_every_target() {
        let max = Kind {
            keyword: "max",
            nan: false,
        };
        for target in norma_targets::TARGETS {
            assert_eq!(of("arith.maxsi", "i32", target), Some(max));
            assert_eq!(of("arith.maxsi", "i64", target), None);
            assert_eq!(of("arith.muli", "i32", target), None);
        }
    }

    #[test]
    fn extremes_of_floats_are_reduced_where_the_target_can() {
        let blackwell = Target::parse("sm_100a").unwrap();
        let kind = |keyword, nan| Some(Kind { keyword, nan });
        assert_eq!(of("arith.maximumf", "f32", blackwell), kind("fmax", true));
        assert_eq!(of("arith.maxnumf", "f32", blackwell), kind("fmax", false));
        assert_eq!(of("arith.minimumf", "f32", blackwell), kind("fmin", true));
        assert_eq!(of("arith.minnumf", "f32", blackwell), kind("fmin", false));
        assert_eq!(of("arith.maximumf", "f16", blackwell), None);
        assert_eq!(of("arith.addf", "f32", blackwell), None);
        assert_eq!(of("arith.maximumf", "f32", &SM_90A), None);
    }
}
