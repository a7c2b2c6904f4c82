//! Operations on sums of products: multiplying, summing over dims, and emitting ops.

use std::{cmp::Reverse, collections::BTreeMap};

use melior::ir::Value;
use norma_dialects::norm::ReduceKind;

use super::{
    sum::{Atom, Product, Sum},
    values::{DimSet, Values},
};
use crate::mlir::pass::PassError;

/// The longest sum that is multiplied term by term by a product with an element factor; a longer sum is emitted first.
const MOST_PER_ELEMENT: usize = 2;
/// The largest number of products in a sum, and of factors in a product, before it is emitted.
const MOST: usize = 8;

/// Factors, with their powers, that are invariant over the summed dims.
type Outside = BTreeMap<Atom, i32>;

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
        let written = is_long.then(|| self.written_out(sum));
        let mut found = self.zero();
        for (product, factor) in &written.as_ref().unwrap_or(sum).terms {
            let mut product = product.clone();
            product.multiply_powers(&by.powers);
            product.element = match (product.element, by.element) {
                (Some(one), Some(other)) => {
                    let operands = [self.of_atom(one), self.of_atom(other)];
                    let value = self.op("arith.mulf", &operands);
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
        {
            let powers = product.powers.iter().map(|(atom, power)| (*atom, -power));
            let reciprocal = Product {
                element: None,
                powers: powers.collect(),
            };
            return (1.0 / coefficient, reciprocal);
        }
        let (value, one) = (self.value(sum), self.constant(1.0));
        let reciprocal = self.op("arith.divf", &[one, value]);
        self.product(reciprocal)
    }

    /// Returns the sum, emitted as a single value if it is long.
    pub(super) fn settled(&mut self, sum: Sum) -> Sum {
        let is_long = sum.terms.len() > MOST || sum.terms.keys().any(|product| product.powers.len() > MOST);
        if is_long { self.written_out(&sum) } else { sum }
    }

    fn written_out(&mut self, sum: &Sum) -> Sum {
        let value = self.value(sum);
        self.sum(value)
    }

    /// Emits the ops of a sum. Values that vary over fewer dims are added and multiplied before they meet values that vary over all dims.
    pub(super) fn value(&mut self, sum: &Sum) -> Value<'c, 'a> {
        let mut of_element = BTreeMap::<Option<Atom>, Vec<(&Outside, f64)>>::new();
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
        match self.signed_sum(&groups) {
            (false, value) => value,
            (true, value) => self.op("arith.negf", &[value]),
        }
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
    fn factor(&mut self, powers: &Outside, coefficient: f64) -> Option<Value<'c, 'a>> {
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

    /// Sums over dims. Factors that are invariant over the dims are moved out of the reduction; if terms differ in such factors, only those
    /// that depend on a reduction are, so that the sum need not wait for it. Over dims that a term does not vary over, the sum is a
    /// multiplication by the number of their points.
    pub(super) fn summed(&mut self, sum: &Sum, over: &DimSet) -> Result<Sum, PassError<'c>> {
        let mut groups = BTreeMap::<DimSet, BTreeMap<Outside, Sum>>::new();
        for (product, coefficient) in &sum.terms {
            let present = &self.dims_of(product) & over;
            let mut coefficient = *coefficient;
            let mut outside = Outside::new();
            let mut inside = product.clone();
            for dim in over - &present {
                match self.extents[dim] {
                    Some(extent) => coefficient *= extent as f64,
                    None => {
                        let one = self.constant(1.0);
                        let count = self.reduce(ReduceKind::Add, one, &[dim].into())?;
                        *outside.entry(self.atom(count)).or_default() += 1;
                    }
                }
            }
            for (atom, power) in &product.powers {
                if self.dims_of_atom(*atom).is_disjoint(&present) {
                    *outside.entry(*atom).or_default() += power;
                    inside.powers.remove(atom);
                }
            }
            outside.retain(|_, power| *power != 0);
            let group = groups.entry(present).or_default();
            let sum = group.entry(outside).or_insert_with(|| self.zero());
            sum.add_product(coefficient, inside);
        }
        let mut total = self.zero();
        for (present, group) in groups {
            for (outside, inside) in self.joined_groups(&present, group) {
                let reduced = self.reduced(&inside, &present)?;
                let outside = Product {
                    element: None,
                    powers: outside,
                };
                total.add(&self.times(&reduced, 1.0, &outside), 1.0);
            }
        }
        Ok(total)
    }

    /// Merges sums that differ in the factors moved out of them: factors that depend on no reduction are moved back inside, because they
    /// keep no sum waiting.
    fn joined_groups(&mut self, present: &DimSet, groups: BTreeMap<Outside, Sum>) -> BTreeMap<Outside, Sum> {
        if groups.len() < 2 || present.is_empty() {
            return groups;
        }
        let mut joined = BTreeMap::<Outside, Sum>::new();
        for (outside, inside) in groups {
            let is_awaited = |atom: &Atom| self.facts(self.of_atom(*atom)).is_reduced;
            let (awaited, known) = outside
                .into_iter()
                .partition::<Outside, _>(|(atom, _)| is_awaited(atom));
            let known = Product {
                element: None,
                powers: known,
            };
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
