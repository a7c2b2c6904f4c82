//! Sums of products: the representation of an adjoint before ops are emitted for it.
//!
//! A product keeps the factors that vary over fewer dims than the program has apart, each with its power. Factors that are uniform over a
//! row can thus be moved out of sums over the row, and terms that cancel are recognized: the gradient with respect to the maximum that a
//! softmax subtracts is `T / s - T / s^2 * s`, which cancels completely.

use std::collections::{BTreeMap, BTreeSet};

/// A value of the program, numbered in the order of first use.
pub(super) type Atom = usize;

/// Conditions, each with the truth that it must have.
pub(super) type Conditions = BTreeSet<(Atom, bool)>;

/// The relative tolerance for cancellation, by the type of the program's arithmetic. Coefficients are rounded to that type, where the
/// product of a number and its reciprocal differs from 1 by a rounding of each. A sum of two coefficients that is as small as that counts
/// as 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rounding(f64);

impl Rounding {
    /// Four units in the last place of numbers with a mantissa of so many bits.
    pub(super) fn of_mantissa(bits: i32) -> Self {
        Self(2_f64.powi(2 - bits))
    }
}

/// A product of factors, without a coefficient.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Product {
    /// The factor that varies over every dim of the program, called its element factor, if there is one.
    pub(super) element: Option<Atom>,
    /// The other factors, with powers that are not 0.
    pub(super) powers: BTreeMap<Atom, i32>,
    /// Where these do not all hold, the product is 0, whatever its factors are: also if one is infinite or NaN, as what is read from
    /// an element that does not exist may be.
    pub(super) conditions: Conditions,
}

/// A sum of products with their coefficients, none of which is 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sum {
    pub(super) terms: BTreeMap<Product, f64>,
    rounding: Rounding,
}

impl Product {
    /// Multiplies by the factors that vary over fewer dims.
    pub(super) fn multiply_powers(&mut self, by: &BTreeMap<Atom, i32>) {
        for (atom, power) in by {
            let sum = self.powers.entry(*atom).or_default();
            *sum += power;
            if *sum == 0 {
                self.powers.remove(atom);
            }
        }
    }

    /// Divides a product without an element factor into the factors and conditions for which `is_first` holds, and the others.
    pub(super) fn partition(self, is_first: impl Fn(Atom) -> bool) -> (Product, Product) {
        let powers = self.powers.into_iter().partition(|(atom, _)| is_first(*atom));
        let conditions = self.conditions.into_iter().partition(|(atom, _)| is_first(*atom));
        let of = |powers, conditions| Product {
            element: None,
            powers,
            conditions,
        };
        (of(powers.0, conditions.0), of(powers.1, conditions.1))
    }

    /// Adds conditions; returns whether all can hold at once. Otherwise the product is 0.
    pub(super) fn require(&mut self, conditions: &Conditions) -> bool {
        self.conditions.extend(conditions);
        let mut conditions = self.conditions.iter();
        !conditions.any(|(atom, truth)| self.conditions.contains(&(*atom, !truth)))
    }
}

impl Sum {
    /// The empty sum, which is 0.
    pub(super) fn zero(rounding: Rounding) -> Self {
        Self {
            terms: BTreeMap::new(),
            rounding,
        }
    }

    /// The sum of one product.
    pub(super) fn of(coefficient: f64, product: Product, rounding: Rounding) -> Self {
        let mut sum = Self::zero(rounding);
        sum.add_product(coefficient, product);
        sum
    }

    /// Whether the sum is empty, which is 0.
    pub(super) fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The coefficient and product of a sum of one term; `None` for other sums.
    pub(super) fn as_product(&self) -> Option<(f64, &Product)> {
        let mut terms = self.terms.iter();
        let (product, coefficient) = terms.next()?;
        terms.next().is_none().then_some((*coefficient, product))
    }

    /// Adds a product.
    pub(super) fn add_product(&mut self, coefficient: f64, product: Product) {
        let known = self.terms.get(&product).copied().unwrap_or(0.0);
        let sum = known + coefficient;
        if sum.abs() <= self.rounding.0 * known.abs().max(coefficient.abs()) {
            self.terms.remove(&product);
        } else {
            self.terms.insert(product, sum);
        }
    }

    /// The terms, without their conditions, by these.
    pub(super) fn by_conditions(&self) -> BTreeMap<Conditions, Sum> {
        let mut parts = BTreeMap::<Conditions, Sum>::new();
        for (product, coefficient) in &self.terms {
            let mut product = product.clone();
            let conditions = std::mem::take(&mut product.conditions);
            let part = parts
                .entry(conditions)
                .or_insert_with(|| Self::zero(self.rounding));
            part.add_product(*coefficient, product);
        }
        parts
    }

    /// Adds another sum, times a number.
    pub(super) fn add(&mut self, other: &Self, factor: f64) {
        for (product, coefficient) in &other.terms {
            self.add_product(coefficient * factor, product.clone());
        }
    }

    /// The sum times a number.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        let mut scaled = Self::zero(self.rounding);
        scaled.add(self, factor);
        scaled
    }
}

#[cfg(test)]
mod tests {
    use super::{Product, Rounding, Sum};

    fn power(atom: usize, power: i32) -> Product {
        Product {
            powers: [(atom, power)].into(),
            ..Product::default()
        }
    }

    fn sum_of(coefficient: f64, mantissa: i32) -> Sum {
        Sum::of(coefficient, power(0, 1), Rounding::of_mantissa(mantissa))
    }

    #[test]
    fn equal_products_add_up_and_cancel() {
        let mut sum = sum_of(2.0, 24);
        sum.add_product(1.0, power(0, 1));
        assert_eq!(sum.as_product(), Some((3.0, &power(0, 1))));
        sum.add(&sum_of(1.0, 24), -3.0);
        assert!(sum.is_zero());
    }

    #[test]
    fn a_third_of_three_is_one_but_for_a_rounding() {
        let third = f64::from(1.0_f32 / 3.0);
        let mut sum = sum_of(1.0, 24);
        sum.add_product(-3.0 * third, power(0, 1));
        assert!(sum.is_zero());
    }

    #[test]
    fn a_difference_that_f64_holds_is_no_rounding_there() {
        let difference = |mantissa: i32| {
            let mut sum = sum_of(1.0000001, mantissa);
            sum.add_product(-1.0, power(0, 1));
            sum
        };
        assert!(difference(24).is_zero());
        assert!(!difference(53).is_zero());
    }

    #[test]
    fn conditions_that_exclude_each_other_are_noticed() {
        let mut product = power(0, 1);
        assert!(product.require(&[(1, true), (2, false)].into()));
        assert!(product.require(&[(2, false)].into()));
        assert!(!product.require(&[(1, false)].into()));
    }

    #[test]
    fn terms_are_kept_apart_by_their_conditions() {
        let mut product = power(0, 1);
        product.require(&[(1, true)].into());
        let mut sum = sum_of(2.0, 24);
        sum.add_product(-2.0, product);
        let parts = sum.by_conditions();
        assert_eq!(parts.len(), 2);
        assert_eq!(
            parts[&[(1, true)].into()].as_product(),
            Some((-2.0, &power(0, 1)))
        );
    }

    #[test]
    fn powers_that_come_to_none_are_gone() {
        let mut product = power(0, 2);
        product.multiply_powers(&[(0, -2), (1, 1)].into());
        assert_eq!(product, power(1, 1));
    }
}
