//! Conversions of small modules, one rule a test.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};

use melior::{
    Context,
    dialect::{DialectHandle, DialectRegistry},
    ir::{Module, OperationRef, Type, Value, ValueLike, operation::OperationLike, r#type::IntegerType},
};

use super::{Conversion, Rejection};
use crate::mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError};

fn context() -> Context {
    let registry = DialectRegistry::new();
    for handle in [
        DialectHandle::arith(),
        DialectHandle::func(),
        DialectHandle::scf(),
    ] {
        handle.insert_dialect(&registry);
    }
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    context
}

/// The messages of all diagnostics emitted from now on.
fn diagnostics(context: &Context) -> Arc<Mutex<Vec<String>>> {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&messages);
    context.attach_diagnostic_handler(move |diagnostic| {
        sink.lock().unwrap().push(diagnostic.to_string());
        true
    });
    messages
}

/// A conversion in which i32 becomes i64, and all of `arith` is illegal but for constants and sums.
fn with_widened_i32(context: &Context) -> Conversion<'_, '_> {
    let i32 = Type::from(IntegerType::new(context, 32));
    let i64 = Type::from(IntegerType::new(context, 64));
    let mut conversion = Conversion::in_pass(context, "widen");
    conversion
        .type_rule(move |ty| (ty == i32).then_some(i64))
        .illegal_dialect("arith")
        .legal_op("arith.constant")
        .legal_op("arith.addi")
        .structured_control_flow();
    conversion
}

/// Replaces a product by a sum of the converted operands.
fn sum_for_product<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    b.replace(op, &[b.value("arith.addi", operands, operands[0].r#type())]);
    Ok(())
}

#[test]
fn loops_carry_converted_types() {
    let context = context();
    let text = "
        func.func @f(%n: index, %x: i32) -> i32 {
          %0 = arith.constant 0 : index
          %1 = arith.constant 1 : index
          %2 = scf.for %i = %0 to %n step %1 iter_args(%acc = %x) -> (i32) {
            %3 = arith.muli %acc, %acc : i32
            scf.yield %3 : i32
          }
          return %2 : i32
        }";
    let module = Module::parse(&context, text).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.pattern("arith.muli", sum_for_product);
    conversion.apply(module.as_operation()).unwrap();
    let text = module.as_operation().to_string();
    assert!(text.contains("iter_args(%arg3 = %0) -> (i64)"), "{text}");
    assert!(module.as_operation().verify());
}

const MULTIPLY: &str = "func.func @f(%x: i32) -> i32 {
    %0 = arith.muli %x, %x : i32
    return %0 : i32
  }";

#[test]
fn a_pattern_builds_on_converted_operands() {
    let context = context();
    let module = Module::parse(&context, MULTIPLY).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.pattern("arith.muli", sum_for_product);
    conversion.apply(module.as_operation()).unwrap();
    let text = module.as_operation().to_string();
    assert!(text.contains("arith.addi %0, %0 : i64"), "{text}");
}

#[test]
fn a_failed_conversion_tells_the_last_mismatch() {
    let context = context();
    let messages = diagnostics(&context);
    let module = Module::parse(&context, MULTIPLY).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.pattern("arith.muli", |_, _, _| Err("expected a constant".into()));
    assert!(matches!(
        conversion.apply(module.as_operation()),
        Err(PassError::Reported)
    ));
    let messages = messages.lock().unwrap();
    assert!(
        messages[0].contains("failed to legalize operation 'arith.muli'"),
        "{messages:?}"
    );
    assert_eq!(
        messages[1],
        "the last pattern tried does not apply: expected a constant"
    );
}

#[test]
fn an_error_in_a_pattern_is_told_once_and_first() {
    let context = context();
    let messages = diagnostics(&context);
    let module = Module::parse(&context, MULTIPLY).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.pattern("arith.muli", |op, _, _| {
        Err(Diagnostic::unsupported(op.location(), "products").into())
    });
    assert!(conversion.apply(module.as_operation()).is_err());
    assert_eq!(messages.lock().unwrap()[0], "unsupported: products");
}

#[test]
fn a_panic_in_any_closure_is_an_internal_error() {
    let context = context();
    let messages = diagnostics(&context);
    let module = Module::parse(&context, MULTIPLY).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.pattern("arith.muli", |_, _, _| panic!("no layout"));
    assert!(conversion.apply(module.as_operation()).is_err());
    let module = Module::parse(&context, MULTIPLY).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.legal_op_if("arith.muli", |_| panic!("no legality"));
    assert!(conversion.apply(module.as_operation()).is_err());
    let messages = messages.lock().unwrap();
    let count = |text: &str| {
        let start = format!("internal compiler error in pass 'widen': {text}");
        messages
            .iter()
            .filter(|message| message.starts_with(&start))
            .count()
    };
    assert_eq!((count("no layout"), count("no legality")), (1, 1), "{messages:?}");
}
