//! Affine expressions taken apart: which symbols one has, and the same expression over other dims and symbols.

use std::collections::BTreeSet;

use melior::ir::AffineExpr;

/// A dim or a symbol of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// A dim, by position.
    Dim(usize),
    /// A symbol, by position.
    Symbol(usize),
}

/// The symbols of an expression.
pub fn symbols(expression: AffineExpr<'_>) -> BTreeSet<usize> {
    if expression.is_symbol() {
        [expression.symbol_position()].into()
    } else if expression.is_binary() {
        &symbols(expression.lhs()) | &symbols(expression.rhs())
    } else {
        BTreeSet::new()
    }
}

/// The expression with `replacement` in the place of each dim and symbol.
pub fn substitute<'c>(
    expression: AffineExpr<'c>,
    replacement: &mut impl FnMut(Leaf) -> AffineExpr<'c>,
) -> AffineExpr<'c> {
    if expression.is_dim() {
        return replacement(Leaf::Dim(expression.dim_position()));
    }
    if expression.is_symbol() {
        return replacement(Leaf::Symbol(expression.symbol_position()));
    }
    if !expression.is_binary() {
        return expression;
    }
    let lhs = substitute(expression.lhs(), replacement);
    let rhs = substitute(expression.rhs(), replacement);
    if expression.is_add() {
        lhs + rhs
    } else if expression.is_mul() {
        lhs * rhs
    } else if expression.is_mod() {
        AffineExpr::modulo(lhs, rhs)
    } else if expression.is_floor_div() {
        AffineExpr::floor_div(lhs, rhs)
    } else {
        AffineExpr::ceil_div(lhs, rhs)
    }
}
