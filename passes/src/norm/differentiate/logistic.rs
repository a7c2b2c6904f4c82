//! Products of an exponential and a quotient by a sum of a constant and that exponential, as in the derivative of a logistic function.
//!
//! For `e = exp(u)` and `s = a / (c + k * e)` the derivative has the factor `e * s`. Where `e` overflows, or `1 / (c + k * e)` is below the
//! smallest normal number, it would be NaN or 0, and is `a / k`. Exponentials and sums of a narrow type are widened first, in which an infinite
//! exponential stays one. Other functions of `c + e`, such as its reciprocal square root, are left as they are.

use std::ops::RangeInclusive;

use melior::ir::{Value, operation::OperationLike};
use norma_dialects::op_name;

use super::{
    algebra::Powers,
    sum::Atom,
    values::{Values, constant},
};
use crate::mlir::{comparison::Predicate, values::definition};

/// An exponential beyond which `k * e / (c + k * e)` is 1 in f32, for constants of at most [`LARGEST`] and factors within [`FACTORS`]:
/// `1 / (c + k * e)` is a normal number up to there.
const BEYOND: f64 = (1_u128 << 100) as f64;
/// The largest constant that is added to such an exponential. With it the quotient differs from 1 by less than half of the last place of
/// an f32.
const LARGEST: f64 = (1_u64 << 40) as f64;
/// The factors of an exponential in a sum.
const FACTORS: RangeInclusive<f64> = 1.0 / (1_u64 << 20) as f64..=(1_u64 << 20) as f64;
/// The most factors of a product among which the quotient is looked for.
const MOST_FACTORS: usize = 32;

impl<'c: 'a, 'a> Values<'c, 'a> {
    /// The product of two values.
    pub(super) fn multiplied(&mut self, one: Value<'c, 'a>, other: Value<'c, 'a>) -> Value<'c, 'a> {
        for (exponential, product) in [(other, one), (one, other)] {
            if is_exponential(exponential)
                && let Some(product) = self.with_exponential(product, exponential, &mut 0)
            {
                return product;
            }
        }
        self.op("arith.mulf", &[one, other])
    }

    /// A product times an exponential, if a factor of it is a quotient by the exponential and a constant.
    fn with_exponential(
        &mut self,
        product: Value<'c, 'a>,
        exponential: Value<'c, 'a>,
        seen: &mut usize,
    ) -> Option<Value<'c, 'a>> {
        *seen += 1;
        let op = definition(product).filter(|_| *seen <= MOST_FACTORS)?;
        let (first, second) = (op.operand(0).ok()?, op.operand(1).ok()?);
        match op_name(op) {
            "arith.divf" => {
                let factor = factor_in(second, exponential)?;
                let product = self.op("arith.mulf", &[product, exponential]);
                let limit = match factor == 1.0 {
                    true => first,
                    false => {
                        let inverse = self.constant(1.0 / factor);
                        self.op("arith.mulf", &[first, inverse])
                    }
                };
                Some(self.unless_beyond(exponential, limit, product))
            }
            "arith.mulf" => [(first, second), (second, first)]
                .into_iter()
                .find_map(|(factor, rest)| {
                    let factor = self.with_exponential(factor, exponential, seen)?;
                    Some(self.op("arith.mulf", &[factor, rest]))
                }),
            _ => None,
        }
    }

    /// Powers in which no exponential stands beside a quotient by it and a constant.
    pub(super) fn without_exponentials(&mut self, powers: &Powers) -> Powers {
        let mut powers = powers.clone();
        loop {
            let positive = powers.iter().filter(|(_, power)| **power > 0);
            let exponentials = positive.map(|(atom, _)| *atom);
            let found = exponentials
                .filter(|atom| is_exponential(self.of_atom(*atom)))
                .find_map(|atom| Some((atom, self.quotient_in(&powers, self.of_atom(atom))?)));
            let Some((exponential, (quotient, power))) = found else {
                return powers;
            };
            let value = self.of_atom(exponential);
            let one = self.constant(1.0);
            let quotient_value = match power {
                1 => self.of_atom(quotient),
                _ => self.op("arith.divf", &[one, self.of_atom(quotient)]),
            };
            let product = self.multiplied(quotient_value, value);
            let product = self.atom(product);
            for (atom, power) in [(exponential, -1), (quotient, -power), (product, 1)] {
                add_power(&mut powers, atom, power);
            }
        }
    }

    /// A power of 1 or -1 that is a quotient by an exponential and a constant.
    fn quotient_in(&self, powers: &Powers, exponential: Value<'c, 'a>) -> Option<(Atom, i32)> {
        powers.iter().find_map(|(atom, power)| {
            let value = self.of_atom(*atom);
            let is_quotient = || {
                definition(value).is_some_and(|op| {
                    op_name(op) == "arith.divf"
                        && op
                            .operand(1)
                            .is_ok_and(|divisor| factor_in(divisor, exponential).is_some())
                })
            };
            match power.signum() {
                1 if is_quotient() => Some((*atom, 1)),
                -1 if factor_in(value, exponential).is_some() => Some((*atom, -1)),
                _ => None,
            }
        })
    }

    fn unless_beyond(
        &mut self,
        exponential: Value<'c, 'a>,
        limit: Value<'c, 'a>,
        product: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let bound = self.constant(BEYOND);
        let is_beyond = self.compare(Predicate::Greater, exponential, bound);
        self.op("arith.select", &[is_beyond, limit, product])
    }
}

fn add_power(powers: &mut Powers, atom: Atom, by: i32) {
    let power = powers.entry(atom).or_default();
    *power += by;
    if *power == 0 {
        powers.remove(&atom);
    }
}

fn is_exponential(value: Value<'_, '_>) -> bool {
    definition(narrow(value)).is_some_and(|op| ["math.exp", "math.exp2"].contains(&op_name(op)))
}

/// The factor of an exponential in a divisor that is the sum of a positive constant and that many times the exponential; `None` for other
/// divisors.
fn factor_in<'c: 'a, 'a>(divisor: Value<'c, 'a>, exponential: Value<'c, 'a>) -> Option<f64> {
    let (divisor, exponential) = (narrow(divisor), narrow(exponential));
    let sum = definition(divisor)?;
    let [first, second] = [sum.operand(0).ok()?, sum.operand(1).ok()?];
    let (term, added) = match (op_name(sum), constant(first), constant(second)) {
        ("arith.addf", _, Some(added)) => (first, added),
        ("arith.addf", Some(added), _) => (second, added),
        ("arith.subf", _, Some(taken)) => (first, -taken),
        _ => return None,
    };
    let factor = match definition(term).filter(|op| op_name(*op) == "arith.mulf") {
        Some(product) => {
            let [first, second] = [product.operand(0).ok()?, product.operand(1).ok()?];
            let of = |one, other| constant(other).filter(|_| one == exponential);
            of(first, second).or_else(|| of(second, first))
        }
        None => (term == exponential).then_some(1.0),
    };
    factor.filter(|factor| added > 0.0 && added <= LARGEST && FACTORS.contains(factor))
}

/// The value that another one is widened from, or the value itself.
fn narrow<'c: 'a, 'a>(value: Value<'c, 'a>) -> Value<'c, 'a> {
    let widened = definition(value).filter(|op| op_name(*op) == "arith.extf");
    widened.and_then(|op| op.operand(0).ok()).unwrap_or(value)
}
