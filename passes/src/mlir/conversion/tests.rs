//! Conversions of small modules, one rule a test.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};

use melior::{
    Context,
    dialect::{DialectHandle, DialectRegistry},
    ir::{Module, Type, ValueLike, operation::OperationLike, r#type::IntegerType},
};

use super::Conversion;
use crate::mlir::{diagnostic::Diagnostic, pass::PassError};

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

const LOOP: &str = "
    func.func @f(%n: index, %x: i32) -> i32 {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %2 = scf.for %i = %0 to %n step %1 iter_args(%acc = %x) -> (i32) {
        %3 = arith.muli %acc, %acc : i32
        scf.yield %3 : i32
      }
      %4 = func.call @f(%n, %2) : (index, i32) -> i32
      return %4 : i32
    }";

/// A conversion in which i32 is illegal and becomes i64.
fn with_widened_i32(context: &Context) -> Conversion<'_, '_> {
    let i32 = Type::from(IntegerType::new(context, 32));
    let i64 = Type::from(IntegerType::new(context, 64));
    let mut conversion = Conversion::in_pass(context, "widen");
    conversion
        .type_rule(move |ty| (ty == i32).then_some(i64))
        .signature("func.func")
        .calls()
        .structured_control_flow()
        .legal_by_types();
    conversion
}

#[test]
fn signatures_loops_and_calls_follow_the_type_rules() {
    let context = context();
    let module = Module::parse(&context, LOOP).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.pattern("arith.muli", |op, operands, b| b.retype(op, operands).map(|_| ()));
    conversion.apply_full(module.as_operation()).unwrap();
    let text = module.as_operation().to_string();
    assert!(!text.contains("i32") && !text.contains("unrealized"), "{text}");
    assert!(text.contains("iter_args(%arg3 = %arg1) -> (i64)"), "{text}");
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
    conversion.pattern("arith.muli", |op, operands, b| {
        let ty = b.convert_type(op.result(0)?.r#type())?;
        assert_eq!(operands[0].r#type(), ty);
        let sum = b.value("arith.addi", operands, ty);
        b.replace(op, &[sum]);
        Ok(())
    });
    conversion.apply_full(module.as_operation()).unwrap();
    assert!(
        module
            .as_operation()
            .to_string()
            .contains("arith.addi %arg0, %arg0 : i64")
    );
}

#[test]
fn a_failed_conversion_tells_the_last_mismatch() {
    let context = context();
    let messages = diagnostics(&context);
    let module = Module::parse(&context, MULTIPLY).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion
        .illegal_op("arith.muli")
        .pattern("arith.muli", |_, _, _| Err("expected a constant".into()));
    assert!(matches!(
        conversion.apply_partial(module.as_operation()),
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
    conversion
        .illegal_op("arith.muli")
        .pattern("arith.muli", |op, _, _| {
            Err(Diagnostic::unsupported(op.location(), "products").into())
        });
    assert!(conversion.apply_partial(module.as_operation()).is_err());
    assert_eq!(messages.lock().unwrap()[0], "unsupported: products");
}

#[test]
fn a_panic_in_any_closure_is_an_internal_error() {
    let context = context();
    let messages = diagnostics(&context);
    let module = Module::parse(&context, MULTIPLY).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.pattern("arith.muli", |_, _, _| panic!("no layout"));
    assert!(conversion.apply_partial(module.as_operation()).is_err());
    let module = Module::parse(&context, MULTIPLY).unwrap();
    let mut conversion = with_widened_i32(&context);
    conversion.legal_op_if("arith.muli", |_| panic!("no legality"));
    assert!(conversion.apply_partial(module.as_operation()).is_err());
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
