//! Affine expressions as sums with quotients: `c0 * d0 + ... + c1 * s0 + ... + c2 * floor(sum / n) + ... + constant`.
//!
//! Every affine expression whose divisors are positive constants has such a form: `x mod n` is `x - n * floor(x / n)`, and
//! `x ceildiv n` is `floor((x + n - 1) / n)`. In this form the linear part of a coordinate is a coefficient, as in a
//! [`LinearForm`](crate::mlir::linear_form::LinearForm), `(x floordiv n) * n + x mod n` simplifies to `x`, and terms that may
//! jump are kept apart.
//!
//! A quotient is normalized: multiples of the divisor are taken out of the numerator, and a common factor of divisor and
//! numerator is cancelled.

use melior::ir::AffineExpr;

use crate::gcd::gcd;

/// A sum of dims, symbols and quotients with constant coefficients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuotientForm {
    /// The coefficient of each dim.
    pub dims: Vec<i64>,
    /// The coefficient of each symbol.
    pub symbols: Vec<i64>,
    /// Quotients, each with a coefficient that is not zero; no two are the same.
    pub quotients: Vec<(i64, Quotient)>,
    /// The constant term.
    pub constant: i64,
}

/// `floor(numerator / divisor)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotient {
    /// The dividend.
    pub numerator: QuotientForm,
    /// The divisor, at least 2.
    pub divisor: i64,
}

impl QuotientForm {
    /// The form of an expression over `dims` dims and `symbols` symbols; `None` if it divides by anything but a positive
    /// constant, multiplies values, or has coefficients that do not fit i64.
    pub fn of(expression: AffineExpr<'_>, dims: usize, symbols: usize) -> Option<Self> {
        let mut form = Self::zero(dims, symbols);
        form.accumulate(expression, 1)?;
        Some(form)
    }

    /// The form 0.
    pub fn zero(dims: usize, symbols: usize) -> Self {
        Self {
            dims: vec![0; dims],
            symbols: vec![0; symbols],
            ..Self::default()
        }
    }

    /// Adds `other * factor`; `None` if a coefficient does not fit i64.
    pub fn add(&mut self, other: &Self, factor: i64) -> Option<()> {
        add_all(&mut self.dims, &other.dims, factor)?;
        add_all(&mut self.symbols, &other.symbols, factor)?;
        for (coefficient, quotient) in &other.quotients {
            self.add_quotient(coefficient.checked_mul(factor)?, quotient.clone())?;
        }
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        Some(())
    }

    /// `lhs - rhs`, or `None` if a coefficient does not fit i64.
    pub fn difference(lhs: &Self, rhs: &Self) -> Option<Self> {
        let mut difference = lhs.clone();
        difference.add(rhs, -1)?;
        Some(difference)
    }

    /// Whether a symbol occurs in the form, quotients included.
    pub fn uses_symbol(&self, symbol: usize) -> bool {
        let mut quotients = self.quotients.iter();
        self.symbols[symbol] != 0 || quotients.any(|(_, quotient)| quotient.numerator.uses_symbol(symbol))
    }

    /// Whether a dim occurs in the form, quotients included.
    pub fn uses_dim(&self, dim: usize) -> bool {
        let mut quotients = self.quotients.iter();
        self.dims[dim] != 0 || quotients.any(|(_, quotient)| quotient.numerator.uses_dim(dim))
    }

    /// Removes a remainder `f * (x mod n)`, which is `f * x - f * n * floor(x / n)`, from the form. `x` is a sum over symbols
    /// and the first `dims` dims, and `f * x` has to be all of the form's linear terms in the dims and symbols of `x`. Returns
    /// f, with x and n as a quotient, or `None` if there is no such remainder.
    pub fn take_remainder(&mut self, dims: usize) -> Option<(i64, Quotient)> {
        let factor_of = |(coefficient, quotient): &(i64, Quotient)| {
            let x = &quotient.numerator;
            let factor = (coefficient % quotient.divisor == 0).then(|| -(coefficient / quotient.divisor))?;
            let is_all = |(own, of_x): (&i64, &i64)| *of_x == 0 || Some(*own) == of_x.checked_mul(factor);
            let terms = self
                .dims
                .iter()
                .zip(&x.dims)
                .chain(self.symbols.iter().zip(&x.symbols));
            let is_over = x.quotients.is_empty() && x.dims[dims..].iter().all(|of_x| *of_x == 0);
            (is_over && terms.into_iter().all(is_all)).then_some(factor)
        };
        let (position, factor) = self
            .quotients
            .iter()
            .enumerate()
            .find_map(|(position, quotient)| Some((position, factor_of(quotient)?)))?;
        let rest_of_constant = factor
            .checked_mul(self.quotients[position].1.numerator.constant)?
            .checked_neg()?;
        self.constant = self.constant.checked_add(rest_of_constant)?;
        let (_, quotient) = self.quotients.remove(position);
        for (own, of_x) in self.dims.iter_mut().zip(&quotient.numerator.dims) {
            *own = if *of_x == 0 { *own } else { 0 };
        }
        for (own, of_x) in self.symbols.iter_mut().zip(&quotient.numerator.symbols) {
            *own = if *of_x == 0 { *own } else { 0 };
        }
        Some((factor, quotient))
    }

    fn accumulate(&mut self, expression: AffineExpr<'_>, factor: i64) -> Option<()> {
        if expression.is_constant() {
            let term = expression.constant_value().checked_mul(factor)?;
            self.constant = self.constant.checked_add(term)?;
            return Some(());
        } else if expression.is_dim() {
            let slot = self.dims.get_mut(expression.dim_position())?;
            *slot = slot.checked_add(factor)?;
            return Some(());
        } else if expression.is_symbol() {
            let slot = self.symbols.get_mut(expression.symbol_position())?;
            *slot = slot.checked_add(factor)?;
            return Some(());
        }
        let (lhs, rhs) = (expression.lhs(), expression.rhs());
        if expression.is_add() {
            self.accumulate(lhs, factor)?;
            return self.accumulate(rhs, factor);
        }
        // MLIR keeps a constant factor on the right.
        let right = rhs.is_constant().then(|| rhs.constant_value())?;
        if expression.is_mul() {
            return self.accumulate(lhs, factor.checked_mul(right)?);
        }
        let mut numerator = Self::of(lhs, self.dims.len(), self.symbols.len())?;
        if right < 1 {
            return None;
        }
        if expression.is_mod() {
            self.add(&numerator, factor)?;
            self.add_floor(numerator, right, factor.checked_mul(right)?.checked_neg()?)
        } else {
            if expression.is_ceil_div() {
                numerator.constant = numerator.constant.checked_add(right - 1)?;
            }
            self.add_floor(numerator, right, factor)
        }
    }

    /// Adds `floor(numerator / divisor) * factor`.
    fn add_floor(&mut self, mut numerator: Self, divisor: i64, factor: i64) -> Option<()> {
        // floor((n * a + b) / n) = a + floor(b / n).
        let mut whole = Self::zero(self.dims.len(), self.symbols.len());
        let take = |from: &mut i64, to: &mut i64| {
            *to = from.div_euclid(divisor);
            *from = from.rem_euclid(divisor);
        };
        for (from, to) in numerator.dims.iter_mut().zip(&mut whole.dims) {
            take(from, to);
        }
        for (from, to) in numerator.symbols.iter_mut().zip(&mut whole.symbols) {
            take(from, to);
        }
        for (coefficient, quotient) in std::mem::take(&mut numerator.quotients) {
            whole.add_quotient(coefficient.div_euclid(divisor), quotient.clone())?;
            numerator.add_quotient(coefficient.rem_euclid(divisor), quotient)?;
        }
        take(&mut numerator.constant, &mut whole.constant);
        self.add(&whole, factor)?;
        // floor((g * a + b) / (g * n)) = floor((a + floor(b / g)) / n).
        let common = numerator.coefficients().fold(divisor, gcd);
        if common == divisor {
            // Only the constant is left, and it is less than the divisor.
            return Some(());
        }
        numerator.divide(common);
        self.add_quotient(
            factor,
            Quotient {
                numerator,
                divisor: divisor / common,
            },
        )
    }

    fn add_quotient(&mut self, coefficient: i64, quotient: Quotient) -> Option<()> {
        match self.quotients.iter_mut().find(|(_, other)| *other == quotient) {
            Some((sum, _)) => *sum = sum.checked_add(coefficient)?,
            None => self.quotients.push((coefficient, quotient)),
        }
        self.quotients.retain(|(coefficient, _)| *coefficient != 0);
        Some(())
    }

    fn coefficients(&self) -> impl Iterator<Item = i64> {
        let quotients = self.quotients.iter().map(|(coefficient, _)| *coefficient);
        self.dims.iter().chain(&self.symbols).copied().chain(quotients)
    }

    /// Divides the form by a common divisor of all coefficients, and rounds the constant down.
    fn divide(&mut self, by: i64) {
        let quotients = self.quotients.iter_mut().map(|(coefficient, _)| coefficient);
        for coefficient in self.dims.iter_mut().chain(&mut self.symbols).chain(quotients) {
            *coefficient /= by;
        }
        self.constant = self.constant.div_euclid(by);
    }
}

fn add_all(sums: &mut [i64], terms: &[i64], factor: i64) -> Option<()> {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum = sum.checked_add(term.checked_mul(factor)?)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        ir::{AffineMap, Attribute, AttributeLike},
    };

    use super::{Quotient, QuotientForm};

    fn form(text: &str) -> Option<QuotientForm> {
        let context = Context::new();
        let attribute = Attribute::parse(&context, &format!("affine_map<{text}>")).unwrap();
        // SAFETY: the attribute is an affine map and the context is alive.
        let map = unsafe { AffineMap::from_raw(mlir_sys::mlirAffineMapAttrGetValue(attribute.to_raw())) };
        QuotientForm::of(map.result(0).unwrap(), map.dim_count(), map.symbol_count())
    }

    fn sum(dims: &[i64], constant: i64) -> QuotientForm {
        QuotientForm {
            dims: dims.to_vec(),
            constant,
            ..QuotientForm::default()
        }
    }

    fn with_quotient(
        mut form: QuotientForm,
        coefficient: i64,
        numerator: QuotientForm,
        divisor: i64,
    ) -> QuotientForm {
        form.quotients
            .push((coefficient, Quotient { numerator, divisor }));
        form
    }

    #[test]
    fn coefficients_add_up() {
        let expected = QuotientForm {
            symbols: vec![3],
            ..sum(&[5, -1], 7)
        };
        assert_eq!(
            form("(d0, d1)[s0] -> (d0 * 2 + (d0 + s0) * 3 - d1 + 7)"),
            Some(expected)
        );
    }

    #[test]
    fn a_remainder_is_what_a_quotient_leaves() {
        assert_eq!(
            form("(d0) -> (d0 mod 4)"),
            Some(with_quotient(sum(&[1], 0), -4, sum(&[1], 0), 4))
        );
        assert_eq!(
            form("(d0) -> ((d0 floordiv 4) * 4 + d0 mod 4)"),
            Some(sum(&[1], 0))
        );
    }

    #[test]
    fn a_remainder_is_taken_out_where_its_dims_are_nowhere_else() {
        let taken = |text| {
            let mut form = form(text)?;
            let (factor, quotient) = form.take_remainder(1)?;
            Some((factor, quotient.numerator, quotient.divisor, form))
        };
        assert_eq!(
            taken("(d0, d1) -> (d1 - (d0 * 7 + 3) mod 8)"),
            Some((-1, sum(&[7, 0], 3), 8, sum(&[0, 1], 0)))
        );
        assert_eq!(
            taken("(d0, d1) -> ((d0 * 6 + 5) mod 8 + d1)"),
            Some((2, sum(&[3, 0], 2), 4, sum(&[0, 1], 1)))
        );
        assert_eq!(taken("(d0, d1) -> (d0 * 9 - (d0 * 7) mod 8)"), None);
        assert_eq!(taken("(d0, d1) -> (d0 floordiv 8)"), None);
        assert_eq!(taken("(d0, d1) -> (d1 mod 8)"), None);
    }

    #[test]
    fn rounding_up_is_rounding_down_from_one_less_than_the_next() {
        assert_eq!(
            form("(d0) -> (d0 ceildiv 4)"),
            Some(with_quotient(sum(&[0], 0), 1, sum(&[1], 3), 4))
        );
    }

    #[test]
    fn what_the_divisor_divides_leaves_the_quotient() {
        assert_eq!(
            form("(d0, d1) -> ((d0 * 512 + d1 + 70) floordiv 64)"),
            Some(with_quotient(sum(&[8, 0], 1), 1, sum(&[0, 1], 6), 64))
        );
        assert_eq!(form("(d0) -> ((d0 * 64 + 63) floordiv 64)"), Some(sum(&[1], 0)));
    }

    #[test]
    fn common_factors_cancel() {
        assert_eq!(
            form("(d0) -> ((d0 * 6 + 5) floordiv 8)"),
            Some(with_quotient(sum(&[0], 0), 1, sum(&[3], 2), 4))
        );
    }

    #[test]
    fn only_positive_constants_divide() {
        assert_eq!(form("(d0)[s0] -> (d0 floordiv s0)"), None);
        assert_eq!(form("(d0)[s0] -> (d0 * s0)"), None);
    }
}
