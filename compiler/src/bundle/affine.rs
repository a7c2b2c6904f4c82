//! Converts MLIR's affine expressions to the manifest's expressions.

use melior::ir::{AffineExpr, AffineMap};
use norma_bundle::Expression;

/// Converts each result of a map, with `dims` and `symbols` in place of the map's; `None` where the map has more of them than
/// are given.
pub(super) fn results(
    map: AffineMap,
    dims: &[Expression],
    symbols: &[Expression],
) -> Option<Vec<Expression>> {
    (0..map.result_count())
        .map(|index| expression(map.result(index).ok()?, dims, symbols))
        .collect()
}

/// Converts one expression; see [`results`].
pub(super) fn expression(
    from: AffineExpr,
    dims: &[Expression],
    symbols: &[Expression],
) -> Option<Expression> {
    if from.is_constant() {
        return Some(Expression::Integer(from.constant_value()));
    }
    if from.is_dim() {
        return dims.get(from.dim_position()).cloned();
    }
    if from.is_symbol() {
        return symbols.get(from.symbol_position()).cloned();
    }
    let (a, b) = (
        expression(from.lhs(), dims, symbols)?,
        expression(from.rhs(), dims, symbols)?,
    );
    Some(if from.is_add() {
        a + b
    } else if from.is_mul() {
        a * b
    } else if from.is_mod() {
        a.modulo(b)
    } else if from.is_floor_div() {
        a.floor_divide(b)
    } else {
        a.ceil_divide(b)
    })
}

/// Replaces symbols by expressions; a symbol without a replacement stays.
pub(super) fn substitute(from: &Expression, replace: &dyn Fn(&str) -> Option<Expression>) -> Expression {
    match from {
        Expression::Integer(value) => Expression::Integer(*value),
        Expression::Symbol(name) => replace(name).unwrap_or_else(|| from.clone()),
        Expression::Binary(operation, a, b) => {
            Expression::binary(*operation, substitute(a, replace), substitute(b, replace))
        }
    }
}
