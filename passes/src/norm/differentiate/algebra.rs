//! Operations on sums of products: multiplying, summing over dims, and emitting ops.

use std::{cmp::Reverse, collections::BTreeMap};

use melior::ir::Value;
use norma_dialects::norm::ReduceKind;

use super::{
    sum::{Atom, Conditions, Product, Sum},
    values::{DimSet, Values},
};
use crate::mlir::pass::PassError;

/// The longest sum that is multiplied term by term by a product with an element factor; a longer sum is emitted first.
const MOST_PER_ELEMENT: usize = 2;
/// The largest number of products in a sum, and of factors in a product, before it is emitted.
const MOST: usize = 8;

/// Factors with their powers.
pub(super) type Powers = BTreeMap<Atom, i32>;

impl<'c: 'a, 'a> Values<'c, 'a> {
    /// Represents a value as a sum.
    pub(super) fn sum(&mut self, value: Value<'c, 'a>) -> Sum {
        let (coefficient, product) = self.product(value);
        self.sum_of(coefficient, product)
    }

    /// The empty sum, which is 0.
    pub(super) fn zero(&self) -> Sum {
        Sum::zero(self.rounding)
    }

    /// The sum of one product.
    pub(super) fn sum_of(&self, coefficient: f64, product: Product) -> Sum {
        Sum::of(coefficient, product, self.rounding)
    }

    /// Multiplies a sum by a coefficient and a product.
    pub(super) fn times(&mut self, sum: &Sum, coefficient: f64, by: &Product) -> Sum {
        let is_long = by.element.is_some() && sum.terms.len() > MOST_PER_ELEMENT;
        let written = is_long.then(|| {
            let (coefficient, product) = self.written_out(sum);
            self.sum_of(coefficient, product)
        });
        let mut found = self.zero();
        for (product, factor) in &written.as_ref().unwrap_or(sum).terms {
            let mut product = product.clone();
            if !product.require(&by.conditions) {
                continue;
            }
            product.multiply_powers(&by.powers);
            product.element = match (product.element, by.element) {
                (Some(one), Some(other)) => {
                    let value = self.multiplied(self.of_atom(one), self.of_atom(other));
                    Some(self.atom(value))
                }
                (one, other) => one.or(other),
            };
            found.add_product(factor * coefficient, product);
        }
        found
    }

    /// The reciprocal of a sum, as a product.
    pub(super) fn reciprocal(&mut self, sum: &Sum) -> (f64, Product) {
        if let Some((coefficient, product)) = sum.as_product()
            && product.element.is_none()
            && product.conditions.is_empty()
        {
            let powers = product.powers.iter().map(|(atom, power)| (*atom, -power));
            let reciprocal = Product {
                powers: powers.collect(),
                ..Product::default()
            };
            return (1.0 / coefficient, reciprocal);
        }
        let (value, one) = (self.value(sum), self.constant(1.0));
        let reciprocal = self.op("arith.divf", &[one, value]);
        self.product(reciprocal)
    }

    /// Returns the sum, emitted as a single value if it is long.
    pub(super) fn emitted_if_long(&mut self, sum: Sum) -> Sum {
        let is_long = sum.terms.len() > MOST || sum.terms.keys().any(|product| product.powers.len() > MOST);
        if !is_long {
            return sum;
        }
        let (coefficient, product) = self.written_out(&sum);
        self.sum_of(coefficient, product)
    }

    /// Emits a sum as a single value, and returns that as a product. If all terms have the same conditions, the product keeps them, so
    /// that they hold for what it is multiplied by later, too.
    pub(super) fn written_out(&mut self, sum: &Sum) -> (f64, Product) {
        let mut parts = sum.by_conditions();
        let (value, conditions) = match (parts.pop_first(), parts.is_empty()) {
            (Some((conditions, part)), true) => (self.value(&part), conditions),
            _ => (self.value(sum), Conditions::new()),
        };
        let (coefficient, mut product) = self.product(value);
        product.conditions = conditions;
        (coefficient, product)
    }

    /// Emits the ops of a sum: terms with the same conditions are added, and chosen as a whole where these hold.
    pub(super) fn value(&mut self, sum: &Sum) -> Value<'c, 'a> {
        let parts = sum.by_conditions().into_iter();
        let parts = parts.map(|(conditions, part)| {
            let (is_negative, value) = self.unconditional(&part);
            (is_negative, self.where_all_hold(&conditions, value))
        });
        let parts = parts.collect::<Vec<_>>();
        match self.signed_sum(&parts) {
            (false, value) => value,
            (true, value) => self.op("arith.negf", &[value]),
        }
    }

    /// The value where all conditions hold, and 0 elsewhere.
    fn where_all_hold(&mut self, conditions: &Conditions, mut value: Value<'c, 'a>) -> Value<'c, 'a> {
        for (condition, truth) in conditions {
            let (condition, zero) = (self.of_atom(*condition), self.constant(0.0));
            value = match truth {
                true => self.op("arith.select", &[condition, value, zero]),
                false => self.op("arith.select", &[condition, zero, value]),
            };
        }
        value
    }

    /// Emits the ops of a sum of terms without conditions; returns whether the result is to be negated, and the value. Values that vary
    /// over fewer dims are added and multiplied before they meet values that vary over all dims.
    fn unconditional(&mut self, sum: &Sum) -> (bool, Value<'c, 'a>) {
        let mut of_element = BTreeMap::<Option<Atom>, Vec<(&Powers, f64)>>::new();
        for (product, coefficient) in &sum.terms {
            let factors = of_element.entry(product.element).or_default();
            factors.push((&product.powers, *coefficient));
        }
        // Terms that vary over all dims come first.
        let groups = of_element.into_iter().rev();
        let groups = groups.map(|(element, factors)| {
            let factors = factors.into_iter().map(|(powers, coefficient)| {
                let factor = self.factor(powers, coefficient.abs());
                (coefficient < 0.0, factor)
            });
            let factors = factors.collect::<Vec<_>>();
            let [(is_negative, factor)] = factors.as_slice() else {
                let factors = factors
                    .into_iter()
                    .map(|(is_negative, factor)| (is_negative, factor.unwrap_or_else(|| self.constant(1.0))));
                let factors = factors.collect::<Vec<_>>();
                let (is_negative, factor) = self.signed_sum(&factors);
                return (is_negative, self.with_element(Some(factor), element));
            };
            (*is_negative, self.with_element(*factor, element))
        });
        let groups = groups.collect::<Vec<_>>();
        self.signed_sum(&groups)
    }

    fn with_element(&mut self, factor: Option<Value<'c, 'a>>, element: Option<Atom>) -> Value<'c, 'a> {
        let element = element.map(|element| self.of_atom(element));
        match (factor, element) {
            (Some(factor), Some(element)) => self.op("arith.mulf", &[factor, element]),
            (Some(value), None) | (None, Some(value)) => value,
            (None, None) => self.constant(1.0),
        }
    }

    /// Emits the product of a coefficient and powers; `None` if it is 1. Factors that vary over the same dims are multiplied first, those
    /// with the fewest dims before others. Among these, divisors come last, so that a 0 stays 0, and values emitted last come first: they
    /// are what the adjoint consists of, and as small as it is.
    fn factor(&mut self, powers: &Powers, coefficient: f64) -> Option<Value<'c, 'a>> {
        let powers = self.without_exponentials(powers);
        let mut factors = powers
            .iter()
            .map(|(atom, power)| (*atom, *power))
            .collect::<Vec<_>>();
        factors.sort_by_key(|(atom, power)| {
            let dims = self.dims_of_atom(*atom);
            (dims.len(), dims, *power < 0, Reverse(*atom))
        });
        let mut product = (coefficient != 1.0).then(|| self.constant(coefficient));
        for (atom, power) in factors {
            let value = self.of_atom(atom);
            for _ in 0..power.unsigned_abs() {
                product = Some(match (product, power > 0) {
                    (None, true) => value,
                    (Some(product), true) => self.op("arith.mulf", &[product, value]),
                    (product, false) => {
                        let product = product.unwrap_or_else(|| self.constant(1.0));
                        self.op("arith.divf", &[product, value])
                    }
                });
            }
        }
        product
    }

    /// Emits the sum of signed values; returns whether the result is to be negated, and the value.
    fn signed_sum(&mut self, terms: &[(bool, Value<'c, 'a>)]) -> (bool, Value<'c, 'a>) {
        let Some(first) = terms.iter().position(|(is_negative, _)| !is_negative) else {
            let sum = terms.iter().map(|(_, value)| *value).collect::<Vec<_>>();
            let sum = sum
                .into_iter()
                .reduce(|sum, value| self.op("arith.addf", &[sum, value]));
            let is_negative = sum.is_some();
            return (is_negative, sum.unwrap_or_else(|| self.constant(0.0)));
        };
        let mut sum = terms[first].1;
        for (index, (is_negative, value)) in terms.iter().enumerate() {
            if index != first {
                let name = if *is_negative { "arith.subf" } else { "arith.addf" };
                sum = self.op(name, &[sum, *value]);
            }
        }
        (false, sum)
    }

    /// Sums over dims. Factors and conditions that are invariant over the dims are moved out of the reduction; if terms differ in them, only
    /// those that depend on a reduction are, so that the sum need not wait for it. Over dims that a term does not vary over, the sum is a
    /// multiplication by the number of their points.
    pub(super) fn summed(&mut self, sum: &Sum, over: &DimSet) -> Result<Sum, PassError<'c>> {
        let mut groups = BTreeMap::<DimSet, BTreeMap<Product, Sum>>::new();
        for (product, coefficient) in &sum.terms {
            let present = &self.dims_of(product) & over;
            let mut coefficient = *coefficient;
            let mut outside = Product::default();
            let mut inside = product.clone();
            for dim in over - &present {
                match self.extents[dim] {
                    Some(extent) => coefficient *= extent as f64,
                    None => {
                        let one = self.constant(1.0);
                        let count = self.reduce(ReduceKind::Add, one, &[dim].into())?;
                        outside.multiply_powers(&[(self.atom(count), 1)].into());
                    }
                }
            }
            for (atom, power) in &product.powers {
                if self.dims_of_atom(*atom).is_disjoint(&present) {
                    outside.multiply_powers(&[(*atom, *power)].into());
                    inside.powers.remove(atom);
                }
            }
            let conditions = inside.conditions.into_iter();
            (outside.conditions, inside.conditions) =
                conditions.partition(|(atom, _)| self.dims_of_atom(*atom).is_disjoint(&present));
            let group = groups.entry(present).or_default();
            let sum = group.entry(outside).or_insert_with(|| self.zero());
            sum.add_product(coefficient, inside);
        }
        let mut total = self.zero();
        for (present, group) in groups {
            for (outside, inside) in self.joined_groups(&present, group) {
                let reduced = self.reduced(&inside, &present)?;
                total.add(&self.times(&reduced, 1.0, &outside), 1.0);
            }
        }
        Ok(total)
    }

    /// Merges sums that differ in what was moved out of them: factors and conditions that depend on no reduction are moved back inside,
    /// because they keep no sum waiting.
    fn joined_groups(&mut self, present: &DimSet, groups: BTreeMap<Product, Sum>) -> BTreeMap<Product, Sum> {
        if groups.len() < 2 || present.is_empty() {
            return groups;
        }
        let mut joined = BTreeMap::<Product, Sum>::new();
        for (outside, inside) in groups {
            let is_awaited = |atom: Atom| self.facts(self.of_atom(atom)).is_reduced;
            let (awaited, known) = outside.partition(is_awaited);
            let inside = self.times(&inside, 1.0, &known);
            let sum = joined.entry(awaited).or_insert_with(|| self.zero());
            sum.add(&inside, 1.0);
        }
        joined
    }

    /// Emits the sum over dims that every term varies over, as one reduction.
    fn reduced(&mut self, inside: &Sum, over: &DimSet) -> Result<Sum, PassError<'c>> {
        if over.is_empty() || inside.is_zero() {
            return Ok(inside.clone());
        }
        let (coefficient, value) = match inside.as_product() {
            Some((coefficient, product)) => {
                let alone = self.sum_of(1.0, product.clone());
                (coefficient, self.value(&alone))
            }
            None => (1.0, self.value(inside)),
        };
        let reduced = self.reduce(ReduceKind::Add, value, over)?;
        Ok(self.sum(reduced).scaled(coefficient))
    }
}
