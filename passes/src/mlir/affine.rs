//! Queries and rewrites of affine expressions: their symbols, substitution, and simplification.

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

/// Substitutes `replacement` for each dim and symbol of an expression.
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

/// Simplifies an expression over `symbols` symbols and no dims. MLIR folds only locally when it builds an expression; this also combines
/// terms across products: `(s0 - 1) * 8 + 8` is `s0 * 8`.
pub fn simplified(expression: AffineExpr<'_>, symbols: usize) -> AffineExpr<'_> {
    // SAFETY: the expression is alive, and the one that comes back lives in its context.
    unsafe {
        AffineExpr::from_raw(mlir_sys::mlirSimplifyAffineExpr(
            expression.to_raw(),
            0,
            symbols as u32,
        ))
    }
}

#[cfg(test)]
mod tests {
    use melior::{Context, ir::AffineExpr};

    use super::simplified;

    #[test]
    fn constants_meet_behind_products() {
        let context = Context::new();
        let constant = |value| AffineExpr::constant(&context, value);
        let rows = AffineExpr::floor_div(AffineExpr::symbol(&context, 0), constant(8));
        let reached = (rows + constant(-1)) * constant(8) + constant(7) + constant(1);
        assert_eq!(simplified(reached, 1), rows * constant(8));
    }
}
