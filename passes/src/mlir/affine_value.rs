//! Affine expressions computed by ops on `index`, or by `affine.apply`.

use melior::{
    Error,
    ir::{AffineExpr, AffineMap, Type, Value},
};
use norma_dialects::affine_map_attribute;

use super::{builder::Builder, linear_form::LinearForm};

/// Builds an `affine.apply` of a map of one result, with the values of its dims and then of its symbols.
pub fn apply<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    map: AffineMap<'c>,
    operands: &[Value<'c, 'a>],
) -> Value<'c, 'a> {
    let map = affine_map_attribute(map);
    b.value_with(
        "affine.apply",
        operands,
        Type::index(b.context()),
        &[("map", map)],
    )
}

/// Builds the value of an expression, with `dims` and `symbols` in the place of its dims and symbols. Dividends of quotients and remainders
/// must not be negative.
///
/// # Errors
///
/// The expression has more dims or symbols than are given.
pub fn value_of<'c, 'a>(
    b: &Builder<'c, 'a>,
    expression: AffineExpr<'c>,
    dims: &[Value<'c, 'a>],
    symbols: &[Value<'c, 'a>],
) -> Result<Value<'c, 'a>, Error> {
    let Some(form) = LinearForm::of(expression, dims.len(), symbols.len()) else {
        return value_of_parts(b, expression, dims, symbols);
    };
    let index = Type::index(b.context());
    let mut terms = Vec::new();
    let factors = form.dims.iter().chain(&form.symbols);
    let values = dims.iter().chain(symbols);
    for (factor, value) in factors.zip(values).filter(|(factor, _)| **factor != 0) {
        terms.push(match factor {
            1 => *value,
            _ => b.value("arith.muli", &[*value, b.index(*factor)], index),
        });
    }
    if form.constant != 0 || terms.is_empty() {
        terms.push(b.index(form.constant));
    }
    let mut sum = terms[0];
    for term in &terms[1..] {
        sum = b.value("arith.addi", &[sum, *term], index);
    }
    Ok(sum)
}

/// As [`value_of`], for an expression that is not linear.
fn value_of_parts<'c, 'a>(
    b: &Builder<'c, 'a>,
    expression: AffineExpr<'c>,
    dims: &[Value<'c, 'a>],
    symbols: &[Value<'c, 'a>],
) -> Result<Value<'c, 'a>, Error> {
    // Dividends are not negative, so unsigned ops are right.
    let op = if expression.is_add() {
        "arith.addi"
    } else if expression.is_mul() {
        "arith.muli"
    } else if expression.is_mod() {
        "arith.remui"
    } else if expression.is_floor_div() {
        "arith.divui"
    } else if expression.is_ceil_div() {
        "arith.ceildivui"
    } else {
        return Err(Error::AttributeExpected(
            "expression over dims and symbols",
            expression.to_string(),
        ));
    };
    let operands = [
        value_of(b, expression.lhs(), dims, symbols)?,
        value_of(b, expression.rhs(), dims, symbols)?,
    ];
    Ok(b.value(op, &operands, Type::index(b.context())))
}
