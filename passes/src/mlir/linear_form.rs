//! Linear affine expressions: `c0 * d0 + ... + c1 * s0 + ... + constant`.
//!
//! An access or a guard without `floordiv`, `ceildiv` and `mod` is such a sum. Its coefficients answer what is asked of it: the stride
//! along a dim, the part that is uniform across threads, the range of values.

use melior::ir::AffineExpr;

/// A sum of dims and symbols with constant coefficients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearForm {
    /// The coefficient of each dim.
    pub dims: Vec<i64>,
    /// The coefficient of each symbol.
    pub symbols: Vec<i64>,
    /// The constant term.
    pub constant: i64,
}

impl LinearForm {
    /// Returns the linear form of `expression` over `dims` dims and `symbols` symbols; `None` if it is not linear or a coefficient does not
    /// fit i64.
    pub fn of(expression: AffineExpr<'_>, dims: usize, symbols: usize) -> Option<Self> {
        let mut form = Self {
            dims: vec![0; dims],
            symbols: vec![0; symbols],
            constant: 0,
        };
        form.accumulate(expression, 1)?;
        Some(form)
    }

    fn accumulate(&mut self, expression: AffineExpr<'_>, factor: i64) -> Option<()> {
        if expression.is_constant() {
            let term = expression.constant_value().checked_mul(factor)?;
            self.constant = self.constant.checked_add(term)?;
        } else if expression.is_dim() {
            let slot = self.dims.get_mut(expression.dim_position())?;
            *slot = slot.checked_add(factor)?;
        } else if expression.is_symbol() {
            let slot = self.symbols.get_mut(expression.symbol_position())?;
            *slot = slot.checked_add(factor)?;
        } else if expression.is_add() {
            self.accumulate(expression.lhs(), factor)?;
            self.accumulate(expression.rhs(), factor)?;
        } else if expression.is_mul() && expression.rhs().is_constant() {
            // MLIR keeps a constant factor on the right.
            let factor = factor.checked_mul(expression.rhs().constant_value())?;
            self.accumulate(expression.lhs(), factor)?;
        } else {
            return None;
        }
        Some(())
    }

    /// The corners of a box of dims at which `expression` is least and greatest; `lasts` has the last point of each dim, whose first is 0.
    /// A dim with a negative coefficient is at its last point where the expression is least. An expression that is not linear is taken to
    /// rise along every dim, as quotients of sums of dims do.
    pub fn extreme_corners<'c>(
        expression: AffineExpr<'c>,
        lasts: &[AffineExpr<'c>],
        symbols: usize,
        zero: AffineExpr<'c>,
    ) -> [Vec<AffineExpr<'c>>; 2] {
        let form = Self::of(expression, lasts.len(), symbols);
        let falls = |dim: usize| form.as_ref().is_some_and(|form| form.dims[dim] < 0);
        let corner = |is_greatest: bool| {
            let at =
                |(dim, last): (usize, &AffineExpr<'c>)| if falls(dim) == is_greatest { zero } else { *last };
            lasts.iter().enumerate().map(at).collect()
        };
        [corner(false), corner(true)]
    }

    /// Whether the form is the dim `position` and nothing else.
    pub fn is_dim(&self, position: usize) -> bool {
        self.constant == 0
            && self.symbols.iter().all(|&coefficient| coefficient == 0)
            && self
                .dims
                .iter()
                .enumerate()
                .all(|(dim, &coefficient)| coefficient == i64::from(dim == position))
    }
}

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        ir::{AffineMap, Attribute, AttributeLike},
    };

    use super::LinearForm;

    fn form(text: &str) -> Option<LinearForm> {
        let context = Context::new();
        let attribute = Attribute::parse(&context, &format!("affine_map<{text}>")).unwrap();
        // SAFETY: the attribute is an affine map and the context is alive.
        let map = unsafe { AffineMap::from_raw(mlir_sys::mlirAffineMapAttrGetValue(attribute.to_raw())) };
        LinearForm::of(map.result(0).unwrap(), map.dim_count(), map.symbol_count())
    }

    #[test]
    fn coefficients_add_up() {
        let expected = LinearForm {
            dims: vec![5, -1],
            symbols: vec![3],
            constant: 7,
        };
        assert_eq!(
            form("(d0, d1)[s0] -> (d0 * 2 + (d0 + s0) * 3 - d1 + 7)"),
            Some(expected)
        );
    }

    #[test]
    fn divisions_are_no_sums() {
        assert_eq!(form("(d0) -> (d0 floordiv 2)"), None);
        assert_eq!(form("(d0) -> (d0 mod 2 + d0)"), None);
        assert_eq!(form("(d0)[s0] -> (d0 * s0)"), None);
    }

    #[test]
    fn a_single_dim_is_recognised() {
        assert!(form("(d0, d1) -> (d1)").is_some_and(|form| form.is_dim(1)));
        assert!(!form("(d0, d1) -> (d1 + 1)").is_some_and(|form| form.is_dim(1)));
        assert!(!form("(d0, d1) -> (d1 * 2)").is_some_and(|form| form.is_dim(1)));
    }
}
