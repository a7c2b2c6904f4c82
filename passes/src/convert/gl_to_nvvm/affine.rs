//! Affine expressions of scalars.

use melior::ir::{AffineExpr, AffineMap, OperationRef, operation::OperationLike};

use crate::mlir::{builder::Builder, conversion::Rejection};

use super::emit::{Emit, Value};

/// Lowers `affine.apply`.
pub(super) fn apply<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let map: AffineMap<'c> = norma_dialects::affine_map(op.attribute("map")?)?;
    let (dims, symbols) = operands.split_at(map.dim_count());
    let value = evaluate(&e, map.result(0)?, dims, symbols).ok_or_else(|| {
        e.unsupported(format!(
            "expected divisors that are positive constants, got {map}"
        ))
    })?;
    b.replace(op, &[value]);
    Ok(())
}

/// The value of an expression over i64 values; `None` if something is divided by anything but a positive constant.
fn evaluate<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    expression: AffineExpr<'c>,
    dims: &[Value<'c, 'a>],
    symbols: &[Value<'c, 'a>],
) -> Option<Value<'c, 'a>> {
    if expression.is_constant() {
        return Some(e.i64(expression.constant_value()));
    } else if expression.is_dim() {
        return Some(dims[expression.dim_position()]);
    } else if expression.is_symbol() {
        return Some(symbols[expression.symbol_position()]);
    }
    let (lhs, rhs) = (expression.lhs(), expression.rhs());
    let value = evaluate(e, lhs, dims, symbols)?;
    if expression.is_add() {
        return Some(e.addi(value, evaluate(e, rhs, dims, symbols)?));
    } else if expression.is_mul() {
        return Some(e.muli(value, evaluate(e, rhs, dims, symbols)?));
    }
    let divisor = Some(rhs)
        .filter(|rhs| rhs.is_constant())
        .map(|rhs| rhs.constant_value())
        .filter(|divisor| *divisor > 0)?;
    Some(if expression.is_mod() {
        e.modulo(value, divisor)
    } else if expression.is_floor_div() {
        e.floor_div(value, divisor)
    } else {
        e.floor_div(e.addi(value, e.i64(divisor - 1)), divisor)
    })
}
