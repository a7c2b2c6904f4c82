//! Products of an exponential and a quotient by a sum of a constant and that exponential, as in the derivative of a logistic function.
//!
//! For `e = exp(u)` and `s = a / (c + e)` the derivative has the factor `e * s`. Where `e` overflows, or `1 / (c + e)` is below the smallest
//! normal number, it would be NaN or 0, and is `a`.

use melior::ir::{Value, operation::OperationLike};
use norma_dialects::op_name;

use super::{
    algebra::Powers,
    sum::Atom,
    values::{Values, constant},
};
use crate::mlir::{comparison::Predicate, values::definition};

/// An exponential beyond which `e / (c + e)` is 1 in all types, for constants of at most [`LARGEST`]: `1 / (c + e)` is a normal number up
/// to there.
const BEYOND: f64 = (1_u128 << 100) as f64;
/// The largest constant that is added to such an exponential. With it the quotient differs from 1 by less than half of the last place of
/// an f32.
const LARGEST: f64 = (1_u64 << 40) as f64;
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
            "arith.divf" => divides_by(second, exponential).then(|| {
                let product = self.op("arith.mulf", &[product, exponential]);
                self.unless_beyond(exponential, first, product)
            }),
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
                            .is_ok_and(|divisor| divides_by(divisor, exponential))
                })
            };
            match power.signum() {
                1 if is_quotient() => Some((*atom, 1)),
                -1 if divides_by(value, exponential) => Some((*atom, -1)),
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
    definition(value).is_some_and(|op| ["math.exp", "math.exp2"].contains(&op_name(op)))
}

/// Whether a divisor is the sum of an exponential and a positive constant.
fn divides_by<'c: 'a, 'a>(divisor: Value<'c, 'a>, exponential: Value<'c, 'a>) -> bool {
    let Some(sum) = definition(divisor).filter(|op| op_name(*op) == "arith.addf") else {
        return false;
    };
    let operands = sum.operands().collect::<Vec<_>>();
    let is_constant = |value: &Value<'c, 'a>| constant(*value).is_some_and(|c| c > 0.0 && c <= LARGEST);
    operands.contains(&exponential) && operands.iter().any(is_constant)
}
