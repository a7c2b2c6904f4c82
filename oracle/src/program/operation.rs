//! The semantics of `arith` and `math` operations, in f64, element by element.
//!
//! A value whose bits every right kernel must produce is marked as exact (scale 0, see `scaled.rs`): an input, and the result
//! of an op on exact operands that rounds once, which is rounded to the program's own type. Every other value is an unrounded
//! f64 with a scale, except that conversions to narrower floats and ops with a narrow float as result round, as the definition
//! does. If a definition leaves a result open (poison: a conversion out of range, a shift by the width, a division by zero), it
//! and everything that depends on it are marked undefined.

use norma_bundle::program::Operation;
use norma_bundle::scalar_op::Accuracy;
use norma_bundle::{Element, ScalarOp};
use thiserror::Error;

use super::functions::{self, Error as IntegerError, Function, unsigned};
use super::grid::Data;
use crate::rounding::round_narrow;
use crate::scaled::Scaled;

/// Why an operation has no value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OperationError {
    /// The evaluator does not know the name or the predicate.
    #[error("the oracle does not know '{0}'")]
    Unknown(String),
    /// The operands are of the wrong kind or number.
    #[error("'{name}' does not take {count} operands of these types")]
    Operands {
        /// The operation.
        name: String,
        /// How many operands it was given.
        count: usize,
    },
}

/// Properties of the operands of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Their types.
    pub types: &'a [Element],
    /// How far a kernel's operands may be off, in ulp of the arithmetic at their scale; see `tolerance.rs`.
    pub ulps: f64,
    /// Whether they are partial results of a reduction. Its order is unknown, so that kernels may differ even in a result that
    /// is rounded once.
    pub in_combiner: bool,
}

impl Context<'_> {
    /// The type that the operands are computed in: narrow floats in f32.
    fn arithmetic(&self) -> Element {
        arithmetic(self.types)
    }
}

fn arithmetic(types: &[Element]) -> Element {
    match types.contains(&Element::F64) {
        true => Element::F64,
        false => Element::F32,
    }
}

/// Applies `operation` to operands of equal length. The result is rounded where the definition rounds, and where every kernel
/// has the rounded value.
///
/// # Errors
/// An operation the oracle does not know, or operands it does not take.
pub fn apply(
    operation: &Operation,
    operands: &[&Data],
    context: Context<'_>,
) -> Result<Data, OperationError> {
    let unrounded = apply_unrounded(operation, operands, context)?;
    Ok(rounded(unrounded, operation, context))
}

/// [`apply`] without the rounding to the result's type: what a kernel's result, before it is stored, approximates.
///
/// # Errors
/// As [`apply`].
pub fn apply_unrounded(
    operation: &Operation,
    operands: &[&Data],
    context: Context<'_>,
) -> Result<Data, OperationError> {
    let op = ScalarOp::from_name(&operation.name);
    let op = op.ok_or_else(|| OperationError::Unknown(operation.name.clone()))?;
    let call = Call {
        op,
        operation,
        context,
        element: operation.element,
    };
    call.evaluate(operands)
}

/// One operation on all elements of its operands.
struct Call<'a> {
    op: ScalarOp,
    operation: &'a Operation,
    context: Context<'a>,
    element: Element,
}

/// An integer, and how far a kernel's value may be from it.
#[derive(Clone, Copy)]
struct Counted {
    value: i64,
    slack: u64,
}

impl Counted {
    const UNDEFINED: Counted = Counted {
        value: 0,
        slack: u64::MAX,
    };

    fn exact(value: i64) -> Counted {
        Counted { value, slack: 0 }
    }

    fn is_undefined(self) -> bool {
        self.slack == u64::MAX
    }
}

impl FromIterator<Counted> for Data {
    fn from_iter<I: IntoIterator<Item = Counted>>(elements: I) -> Data {
        let pairs = elements.into_iter().map(|element| (element.value, element.slack));
        let (values, slacks) = pairs.unzip();
        Data::Integer { values, slacks }
    }
}

fn integers(data: &Data) -> impl Iterator<Item = Counted> + '_ {
    let (values, slacks): (&[i64], &[u64]) = match data {
        Data::Integer { values, slacks } => (values, slacks),
        Data::Float { .. } => (&[], &[]),
    };
    let pairs = values.iter().zip(slacks);
    pairs.map(|(value, slack)| Counted {
        value: *value,
        slack: *slack,
    })
}

impl Call<'_> {
    fn evaluate(&self, operands: &[&Data]) -> Result<Data, OperationError> {
        use Data::{Float, Integer};
        Ok(match (functions::of(self.op), operands) {
            (Function::Unary(function), [a @ Float { .. }]) => a
                .floats()
                .map(|a| self.smooth(&[a], |x| function(x[0])))
                .collect(),
            (Function::Step(function), [a @ Float { .. }]) => {
                a.floats().map(|a| self.step(function, a)).collect()
            }
            (Function::Binary(function), [a @ Float { .. }, b @ Float { .. }]) => {
                let pairs = a.floats().zip(b.floats());
                pairs
                    .map(|(a, b)| self.smooth(&[a, b], |x| function(x[0], x[1])))
                    .collect()
            }
            (Function::Ternary(function), [a @ Float { .. }, b @ Float { .. }, c @ Float { .. }]) => {
                let triples = a.floats().zip(b.floats()).zip(c.floats());
                triples
                    .map(|((a, b), c)| self.smooth(&[a, b, c], |x| function(x[0], x[1], x[2])))
                    .collect()
            }
            (Function::Count(function), [a @ Integer { .. }]) => {
                integers(a).map(|a| self.count(function, a)).collect()
            }
            (Function::Integer(function, error), [a @ Integer { .. }, b @ Integer { .. }]) => {
                let pairs = integers(a).zip(integers(b));
                pairs.map(|(a, b)| self.integer(function, error, a, b)).collect()
            }
            (Function::Compare, [a @ Float { .. }, b @ Float { .. }]) => {
                let holds = functions::float_predicate(self.predicate()).ok_or_else(|| self.unknown())?;
                let compare = |(a, b): (Scaled, Scaled)| {
                    if a.is_undefined() || b.is_undefined() {
                        return Counted::UNDEFINED;
                    }
                    // In a kernel either operand may be the larger.
                    let is_close = (a.value - b.value).abs() <= self.slack(a) + self.slack(b);
                    Counted {
                        value: i64::from(holds(a.value.partial_cmp(&b.value))),
                        slack: u64::from(is_close && !(a.is_exact() && b.is_exact())),
                    }
                };
                a.floats().zip(b.floats()).map(compare).collect()
            }
            (Function::Compare, [a @ Integer { .. }, b @ Integer { .. }]) => {
                let holds = functions::integer_predicate(self.predicate()).ok_or_else(|| self.unknown())?;
                let compare = |(a, b): (Counted, Counted)| {
                    if a.is_undefined() || b.is_undefined() {
                        return Counted::UNDEFINED;
                    }
                    let reach = a.slack.saturating_add(b.slack);
                    Counted {
                        value: i64::from(holds(a.value, b.value)),
                        slack: u64::from(reach > 0 && a.value.abs_diff(b.value) <= reach),
                    }
                };
                integers(a).zip(integers(b)).map(compare).collect()
            }
            (Function::Select, [condition @ Integer { .. }, a @ Float { .. }, b @ Float { .. }]) => {
                let cases = integers(condition).zip(a.floats().zip(b.floats()));
                cases
                    .map(|(condition, (a, b))| self.select_float(condition, a, b))
                    .collect()
            }
            (Function::Select, [condition @ Integer { .. }, a @ Integer { .. }, b @ Integer { .. }]) => {
                let cases = integers(condition).zip(integers(a).zip(integers(b)));
                cases
                    .map(|(condition, (a, b))| select_integer(condition, a, b))
                    .collect()
            }
            (Function::FloatToFloat, [a @ Float { .. }]) => a.floats().map(|a| self.converted(a)).collect(),
            (Function::FloatToInteger { signed }, [a @ Float { .. }]) => {
                a.floats().map(|a| self.to_integer(signed, a)).collect()
            }
            (Function::IntegerToFloat { signed }, [a @ Integer { .. }]) => {
                integers(a).map(|a| self.to_float(signed, a)).collect()
            }
            (Function::IntegerToInteger { signed }, [a @ Integer { .. }]) => {
                let convert = |a: Counted| self.wrapped(self.read(signed, a.value), a.slack);
                integers(a).map(convert).collect()
            }
            (Function::Bits, [a]) => self.bits(a),
            _ => return Err(self.wrong(operands.len())),
        })
    }

    fn wrong(&self, count: usize) -> OperationError {
        OperationError::Operands {
            name: self.operation.name.clone(),
            count,
        }
    }

    fn unknown(&self) -> OperationError {
        OperationError::Unknown(format!("{} {}", self.operation.name, self.predicate()))
    }

    fn predicate(&self) -> &str {
        self.operation.predicate.as_deref().unwrap_or("")
    }

    /// The type of the first operand.
    fn from(&self) -> Element {
        self.context.types.first().copied().unwrap_or(self.element)
    }

    fn slack(&self, x: Scaled) -> f64 {
        x.slack(self.context.ulps, self.context.arithmetic())
    }

    /// The scale at which a value of the result's arithmetic may be off by `distance`.
    fn scale_of(&self, distance: f64) -> f64 {
        Scaled::scale_of(distance, self.context.ulps, arithmetic(&[self.element]))
    }

    fn smooth(&self, operands: &[Scaled], function: impl Fn(&[Scaled]) -> Scaled) -> Scaled {
        if operands.iter().any(|operand| operand.is_undefined()) {
            return Scaled::undefined();
        }
        if self.is_infinity_times_nothing(operands) {
            return Scaled::undefined();
        }
        let found = function(operands);
        match self.op.row().accuracy {
            Accuracy::Rounded => Scaled {
                scale: match operands.iter().all(|operand| operand.is_exact()) && self.is_certain(found.value)
                {
                    true => 0.0,
                    false => found.scale,
                },
                ..found
            },
            Accuracy::Within { ulps, of_one } => {
                // At its scale a result is allowed at least 4 ulp (see `tolerance.rs`), so that these scales cover both errors.
                let own = (ulps / 4.0).max(1.0) * found.value.abs();
                let found = Scaled {
                    scale: found.scale.max(own).max(of_one / 2.0),
                    ..found
                };
                match self.context.arithmetic() {
                    Element::F32 => self.flushed(operands, found, function),
                    _ => found,
                }
            }
        }
    }

    /// Whether an infinity is multiplied by a factor that in a kernel may be zero or have the other sign: the product may then
    /// be NaN or either infinity.
    fn is_infinity_times_nothing(&self, operands: &[Scaled]) -> bool {
        let may_vanish = |x: &Scaled| !x.is_exact() && x.value.abs() <= self.slack(*x);
        match (self.op, operands) {
            (ScalarOp::MulF | ScalarOp::Fma, [a, b, ..]) => {
                (a.value.is_infinite() && may_vanish(b)) || (b.value.is_infinite() && may_vanish(a))
            }
            _ => false,
        }
    }

    /// Whether every kernel must produce this result of exact operands, rounded to the result's type.
    fn is_certain(&self, value: f64) -> bool {
        let is_number = value.is_nan() || self.element.round(value) == value;
        match self.op {
            // A kernel may contract a product into the sum that takes it and leave it unrounded; f64 would round such a sum
            // twice.
            _ if self.operation.relaxed => false,
            ScalarOp::MulF | ScalarOp::Fma => is_number,
            _ => is_number || !self.context.in_combiner,
        }
    }

    /// Raises the scale where flushing matters: an approximate instruction may or may not take operands and results below the
    /// smallest normal f32 for zero.
    fn flushed(&self, operands: &[Scaled], found: Scaled, function: impl Fn(&[Scaled]) -> Scaled) -> Scaled {
        const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
        let is_tiny = |x: &Scaled| x.value != 0.0 && x.value.abs() - self.slack(*x) < SMALLEST;
        let mut scale = found.scale;
        if found.value.abs() < 2.0 * SMALLEST {
            scale = scale.max(self.scale_of(SMALLEST));
        }
        // Each tiny operand may be flushed while another is not.
        for chosen in 1..1u32 << operands.len() {
            let is_chosen = |index: usize| chosen >> index & 1 == 1;
            if (0..operands.len()).any(|index| is_chosen(index) && !is_tiny(&operands[index])) {
                continue;
            }
            let zeros = operands
                .iter()
                .enumerate()
                .map(|(index, operand)| match is_chosen(index) {
                    true => Scaled::exact(0f64.copysign(operand.value)),
                    false => *operand,
                });
            let flushed = function(&zeros.collect::<Vec<_>>());
            let distance = (flushed.value - found.value).abs();
            match distance.is_finite() {
                true => scale = scale.max(self.scale_of(distance)),
                false if flushed.value == found.value => {}
                false if flushed.value.is_nan() && found.value.is_nan() => {}
                false => return Scaled::undefined(),
            }
        }
        Scaled { scale, ..found }
    }

    /// Evaluates a step function: if the operand may lie on either side of a jump, so may the result.
    fn step(&self, function: fn(f64) -> f64, x: Scaled) -> Scaled {
        if x.is_undefined() {
            return Scaled::undefined();
        }
        let value = function(x.value);
        if x.is_exact() || !x.value.is_finite() {
            return Scaled {
                value,
                scale: x.scale,
            };
        }
        let slack = self.slack(x);
        let distance = function(x.value + slack) - function(x.value - slack);
        Scaled {
            value,
            scale: match distance {
                0.0 => 0.0,
                distance => self.scale_of(distance),
            },
        }
    }

    fn count(&self, function: fn(i64, u32) -> i64, a: Counted) -> Counted {
        let value = self
            .element
            .wrap_integer(function(a.value, self.bits_of(self.element)));
        match (a.slack, self.op) {
            (0, _) => Counted::exact(value),
            (slack, ScalarOp::AbsI) => Counted { value, slack },
            _ => Counted::UNDEFINED,
        }
    }

    fn bits_of(&self, element: Element) -> u32 {
        element.integer_bits().unwrap_or(64)
    }

    fn integer(
        &self,
        function: fn(i64, i64, u32) -> Option<i64>,
        error: IntegerError,
        a: Counted,
        b: Counted,
    ) -> Counted {
        if a.is_undefined() || b.is_undefined() {
            return Counted::UNDEFINED;
        }
        let Some(value) = function(a.value, b.value, self.bits_of(self.element)) else {
            return Counted::UNDEFINED;
        };
        let slack = match (error, a.slack, b.slack) {
            (_, 0, 0) => 0,
            (IntegerError::Sum, a, b) => a.saturating_add(b),
            (IntegerError::Product, x, y) => {
                let by_a = b.value.unsigned_abs().saturating_mul(x);
                let by_b = a.value.unsigned_abs().saturating_mul(y);
                by_a.saturating_add(by_b).saturating_add(x.saturating_mul(y))
            }
            (IntegerError::Larger, a, b) => a.max(b),
            // A boolean is off by at most 1.
            (IntegerError::Lost, _, _) if self.element == Element::I1 => 1,
            (IntegerError::Lost, _, _) => u64::MAX,
        };
        self.wrapped(value, slack)
    }

    /// Wraps an integer to the result's type. Undefined if the error interval reaches beyond the type, as a kernel's integer
    /// may then wrap where this one does not.
    fn wrapped(&self, value: i64, slack: u64) -> Counted {
        let wrapped = self.element.wrap_integer(value);
        let reaches = |end: Option<i64>| end.is_some_and(|end| self.element.wrap_integer(end) == end);
        let is_inside = slack == 0
            || self.element == Element::I1
            || (reaches(value.checked_add_unsigned(slack)) && reaches(value.checked_sub_unsigned(slack)));
        match is_inside && slack != u64::MAX {
            true => Counted {
                value: wrapped,
                slack,
            },
            false => Counted::UNDEFINED,
        }
    }

    /// The number that the operand of a conversion represents; a true i1 is -1 when read as signed.
    fn read(&self, signed: bool, value: i64) -> i64 {
        match (signed, self.from()) {
            (true, Element::I1) if self.op != ScalarOp::TruncI => -value,
            (true, _) => value,
            (false, from) => unsigned(value, self.bits_of(from)) as i64,
        }
    }

    fn select_float(&self, condition: Counted, a: Scaled, b: Scaled) -> Scaled {
        let chosen = if condition.value != 0 { a } else { b };
        match condition.slack {
            0 => chosen,
            _ if condition.is_undefined() || a.is_undefined() || b.is_undefined() => Scaled::undefined(),
            _ if a.value == b.value => Scaled {
                scale: a.scale.max(b.scale),
                ..chosen
            },
            _ if !(a.value - b.value).is_finite() => Scaled::undefined(),
            _ => Scaled {
                scale: self.scale_of((a.value - b.value).abs()).max(a.scale).max(b.scale),
                ..chosen
            },
        }
    }

    fn converted(&self, x: Scaled) -> Scaled {
        // A computed infinity saturates here, so that every infinity from here on was read from memory.
        if self.element.saturates() && x.value.is_infinite() {
            return Scaled::exact(self.element.narrow(x.value));
        }
        // Scales count ulp of the arithmetic type, which changes here.
        let (from, to) = (self.context.arithmetic(), arithmetic(&[self.element]));
        match x.is_undefined() || x.is_exact() || from == to {
            true => x,
            false => Scaled {
                scale: x.rescaled().scale * (from.ulp(1.0) / to.ulp(1.0)),
                ..x
            }
            .rescaled(),
        }
    }

    fn to_integer(&self, signed: bool, x: Scaled) -> Counted {
        if x.is_undefined() {
            return Counted::UNDEFINED;
        }
        let bits = self.bits_of(self.element) as i32;
        let (least, end) = match signed {
            true => (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1)),
            false => (0.0, 2f64.powi(bits)),
        };
        let is_inside = |value: f64| value.trunc() >= least && value.trunc() < end;
        let slack = self.slack(x);
        let (low, high) = (x.value - slack, x.value + slack);
        if !(is_inside(low) && is_inside(high)) {
            return Counted::UNDEFINED;
        }
        let value = match signed {
            true => x.value.trunc() as i64,
            false => x.value.trunc() as u64 as i64,
        };
        Counted {
            value: self.element.wrap_integer(value),
            slack: (high.trunc() - low.trunc()) as u64,
        }
    }

    fn to_float(&self, signed: bool, a: Counted) -> Scaled {
        if a.is_undefined() {
            return Scaled::undefined();
        }
        let number = self.read(signed, a.value);
        // Converts to f32 directly: by way of f64, a large integer would be rounded twice.
        let value = match (self.element == Element::F64, signed) {
            (true, true) => number as f64,
            (true, false) => number as u64 as f64,
            (false, true) => f64::from(number as f32),
            (false, false) => f64::from(number as u64 as f32),
        };
        let is_whole = value.abs() < 2f64.powi(24);
        let scale = match a.slack {
            0 if is_whole || !self.element.is_narrow_float() => 0.0,
            slack => self.scale_of(slack as f64).max(value.abs()),
        };
        Scaled { value, scale }
    }

    /// Reinterprets bits. Undefined for a value that may be off, and for a NaN, which has many bit patterns.
    fn bits(&self, a: &Data) -> Data {
        let from = self.from();
        let patterns: Vec<Option<u64>> = match a {
            Data::Float { .. } => a
                .floats()
                .map(|x| (x.is_exact() && !x.value.is_nan()).then(|| from.encode_float(x.value)))
                .collect(),
            Data::Integer { .. } => integers(a)
                .map(|a| (a.slack == 0).then_some(a.value as u64))
                .collect(),
        };
        let patterns = patterns.into_iter();
        match self.element.is_float() {
            true => patterns
                .map(|bits| match bits {
                    Some(bits) => Scaled::exact(self.element.decode_float(bits)),
                    None => Scaled::undefined(),
                })
                .collect(),
            false => patterns
                .map(|bits| match bits {
                    Some(bits) => Counted::exact(self.element.wrap_integer(bits as i64)),
                    None => Counted::UNDEFINED,
                })
                .collect(),
        }
    }
}

fn select_integer(condition: Counted, a: Counted, b: Counted) -> Counted {
    let chosen = if condition.value != 0 { a } else { b };
    match condition.slack {
        0 => chosen,
        _ if condition.is_undefined() || a.is_undefined() || b.is_undefined() => Counted::UNDEFINED,
        _ => Counted {
            slack: a.value.abs_diff(b.value).saturating_add(a.slack.max(b.slack)),
            ..chosen
        },
    }
}

/// Combines floats element by element; `None` if an operand is not of floats. Both are equally long.
pub(crate) fn zip_floats(a: &Data, b: &Data, combine: fn(Scaled, Scaled) -> Scaled) -> Option<Data> {
    let both = matches!((a, b), (Data::Float { .. }, Data::Float { .. }));
    let combine = |(a, b): (Scaled, Scaled)| match a.is_undefined() || b.is_undefined() {
        true => Scaled::undefined(),
        false => combine(a, b),
    };
    both.then(|| a.floats().zip(b.floats()).map(combine).collect())
}

/// Combines integers element by element, wrapped to `element`; `None` if an operand is not of integers. The result is undefined
/// if an operand may be off, as only conversions of computed floats may.
pub(crate) fn zip_integers(
    a: &Data,
    b: &Data,
    element: Element,
    combine: impl Fn(i64, i64) -> i64,
) -> Option<Data> {
    let both = matches!((a, b), (Data::Integer { .. }, Data::Integer { .. }));
    let combine = |(a, b): (Counted, Counted)| match a.slack == 0 && b.slack == 0 {
        true => Counted::exact(element.wrap_integer(combine(a.value, b.value))),
        false => Counted::UNDEFINED,
    };
    both.then(|| integers(a).zip(integers(b)).map(combine).collect())
}

/// Rounds to the result's type where the definition does (always to narrow floats, and to f32 in a `truncf`), and where every
/// kernel has the rounded value.
pub(super) fn rounded(mut data: Data, operation: &Operation, context: Context<'_>) -> Data {
    let element = operation.element;
    if let Data::Float { values, scales } = &mut data {
        if element.is_narrow_float() {
            let before = scales.clone();
            round_narrow(element, context.arithmetic(), context.ulps, values, scales);
            // Another order of the reduction rounds other values.
            if context.in_combiner {
                for ((scale, before), value) in scales.iter_mut().zip(before).zip(&*values) {
                    if before > 0.0 && *scale >= 0.0 {
                        *scale = scale.max(value.abs());
                    }
                }
            }
        } else {
            let narrows = operation.name == ScalarOp::TruncF.row().name;
            for (value, _) in values
                .iter_mut()
                .zip(scales)
                .filter(|(_, scale)| narrows || **scale == 0.0)
            {
                *value = element.round(*value);
            }
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: &str, element: Element) -> Operation {
        Operation {
            name: name.into(),
            operands: vec![],
            predicate: None,
            relaxed: false,
            element,
        }
    }

    fn applied(operation: &Operation, operands: &[&Data], types: &[Element]) -> Data {
        let context = Context {
            types,
            ulps: 4.0,
            in_combiner: false,
        };
        apply(operation, operands, context).unwrap()
    }

    fn floats(name: &str, element: Element, operands: &[(f64, f64)], from: Element) -> Scaled {
        let data: Vec<Data> = operands
            .iter()
            .map(|(value, scale)| Data::Float {
                values: vec![*value],
                scales: vec![*scale],
            })
            .collect();
        let types = vec![from; data.len()];
        let found = applied(
            &operation(name, element),
            &data.iter().collect::<Vec<_>>(),
            &types,
        );
        found.floats().next().unwrap()
    }

    #[test]
    fn an_infinity_times_what_may_be_zero_is_open() {
        let product = |a: (f64, f64)| {
            floats(
                "arith.mulf",
                Element::F32,
                &[a, (f64::INFINITY, 0.0)],
                Element::F32,
            )
        };
        // With an error of some ulp of 1, 1e-8 may be zero; if it is exact, or errs at its own magnitude, it may not.
        assert!(product((1e-8, 1.0)).is_undefined());
        assert_eq!(product((1e-8, 0.0)).value, f64::INFINITY);
        assert_eq!(product((1e-8, 1e-8)).value, f64::INFINITY);
        assert!(product((0.0, 0.0)).value.is_nan());
    }

    fn float(name: &str, operands: &[f64]) -> f64 {
        let exact: Vec<(f64, f64)> = operands.iter().map(|value| (*value, 0.0)).collect();
        floats(name, Element::F32, &exact, Element::F32).value
    }

    fn integer(name: &str, element: Element, a: Data, from: Element) -> (i64, u64) {
        match applied(&operation(name, element), &[&a], &[from]) {
            Data::Integer { values, slacks } => (values[0], slacks[0]),
            Data::Float { .. } => unreachable!("{name} gives integers"),
        }
    }

    fn inexact(value: f64) -> Data {
        Data::Float {
            values: vec![value],
            scales: vec![value.abs()],
        }
    }

    #[test]
    fn functions_agree_with_their_definitions() {
        assert_eq!(float("math.rsqrt", &[4.0]), 0.5);
        assert_eq!(float("math.exp2", &[10.0]), 1024.0);
        assert!((float("math.erf", &[1.0]) - 0.842_700_792_949_714_9).abs() < 1e-15);
        assert!((float("math.tanh", &[0.5]) - 0.462_117_157_260_009_76).abs() < 1e-15);
        assert_eq!(float("math.fma", &[2.0, 3.0, 4.0]), 10.0);
        assert_eq!(float("math.powf", &[2.0, 0.5]), 2.0f64.sqrt());
        assert_eq!(float("math.clampf", &[5.0, -1.0, 2.0]), 2.0);
        assert_eq!(float("math.roundeven", &[2.5]), 2.0);
        assert_eq!(float("math.round", &[2.5]), 3.0);
        assert_eq!(float("math.floor", &[-0.5]), -1.0);
    }

    #[test]
    fn results_that_round_once_are_exact_and_of_the_program_type() {
        let third = floats(
            "arith.addf",
            Element::F32,
            &[(1.0 / 3.0, 0.0), (0.0, 0.0)],
            Element::F32,
        );
        assert_eq!(third, Scaled::exact(f64::from(1.0f32 / 3.0)));
        // A kernel may contract the product into a sum, unrounded.
        let square = floats("arith.mulf", Element::F32, &[(third.value, 0.0); 2], Element::F32);
        assert_eq!(square.scale, square.value);
        assert!(floats("arith.mulf", Element::F32, &[(1.5, 0.0); 2], Element::F32).is_exact());
        // An operand that was computed may be off.
        let third = floats(
            "arith.divf",
            Element::F32,
            &[(1.0, 1.0), (3.0, 0.0)],
            Element::F32,
        );
        assert_eq!(third.value, 1.0 / 3.0);
        assert!(!third.is_exact());
    }

    #[test]
    fn functions_carry_the_scale_of_their_operand() {
        let result = floats("math.exp", Element::F32, &[(3.0, 5.0)], Element::F32);
        assert_eq!(result.scale, 5.0 * 3.0f64.exp());
    }

    #[test]
    fn approximations_have_the_scale_that_the_table_says() {
        for (name, x) in [("math.tanh", 1e-4), ("math.log10", 1.0 + 1e-4)] {
            assert_eq!(
                floats(name, Element::F32, &[(x, 0.0)], Element::F32).scale,
                1.0,
                "{name}"
            );
        }
        let small = floats("math.expm1", Element::F32, &[(1e-4, 0.0)], Element::F32);
        assert!(small.scale < 1e-3);
    }

    #[test]
    fn exponentials_may_be_flushed_to_zero() {
        let allowed = |x: f64| {
            let found = floats("math.exp", Element::F32, &[(x, 0.0)], Element::F32);
            let tolerance = crate::tolerance::tolerance(Element::F32, found, 4.0);
            crate::tolerance::within(Element::F32, 0.0, found.value, tolerance)
        };
        assert!(allowed(-90.0) && !allowed(-70.0));
    }

    #[test]
    fn operands_below_the_normal_range_may_be_zeros() {
        let tiny = 1e-40;
        assert!(floats("math.log", Element::F32, &[(tiny, 0.0)], Element::F32).is_undefined());
        assert!(floats("math.rsqrt", Element::F32, &[(tiny, 0.0)], Element::F32).is_undefined());
        assert!(!floats("math.exp", Element::F32, &[(tiny, 0.0)], Element::F32).is_undefined());
        assert!(floats("arith.addf", Element::F32, &[(tiny, 0.0); 2], Element::F32).is_exact());
    }

    #[test]
    fn steps_go_either_way_next_to_a_jump() {
        let at = |value: f64| floats("math.roundeven", Element::F32, &[(value, value)], Element::F32);
        assert!(4.0 * Element::F32.ulp(at(126.5).scale) >= 1.0);
        assert_eq!(at(126.25), Scaled::exact(126.0));
        let exact = floats("math.roundeven", Element::F32, &[(126.5, 0.0)], Element::F32);
        assert_eq!(exact, Scaled::exact(126.0));
        assert_eq!(
            integer("arith.fptosi", Element::I8, inexact(3.0), Element::F32),
            (3, 1)
        );
        assert_eq!(
            integer("arith.fptosi", Element::I8, inexact(3.5), Element::F32),
            (3, 0)
        );
    }

    #[test]
    fn conversions_out_of_range_are_undefined() {
        let undefined = |name, element, value: f64| {
            integer(name, element, Data::exact(vec![value]), Element::F32).1 == u64::MAX
        };
        assert!(undefined("arith.fptoui", Element::I32, -1.0));
        assert!(!undefined("arith.fptoui", Element::I32, -0.5));
        assert!(undefined("arith.fptosi", Element::I8, 128.0));
        assert!(!undefined("arith.fptosi", Element::I8, -128.5));
        assert!(undefined("arith.fptosi", Element::I64, f64::INFINITY));
        assert!(undefined("arith.fptosi", Element::I32, f64::NAN));
    }

    #[test]
    fn what_follows_from_an_undefined_value_is_undefined_unless_another_is_selected() {
        let (open, one) = (Scaled::undefined(), Scaled::exact(1.0));
        let pair = [(open.value, open.scale), (one.value, one.scale)];
        assert!(floats("arith.addf", Element::F32, &pair, Element::F32).is_undefined());
        let data = pair.map(|(value, scale)| Data::Float {
            values: vec![value],
            scales: vec![scale],
        });
        let condition = Data::integers(vec![0]);
        let types = [Element::I1, Element::F32, Element::F32];
        let chosen = applied(
            &operation("arith.select", Element::F32),
            &[&condition, &data[0], &data[1]],
            &types,
        );
        assert_eq!(chosen.floats().next(), Some(one));
    }

    #[test]
    fn a_choice_by_values_that_are_nearly_equal_may_go_either_way() {
        let mut compare = operation("arith.cmpf", Element::I1);
        compare.predicate = Some("olt".into());
        let close = applied(
            &compare,
            &[&inexact(1.0), &inexact(1.0 + 1e-9)],
            &[Element::F32; 2],
        );
        assert!(matches!(&close, Data::Integer { slacks, .. } if slacks == &[1]));
        let (a, b) = (Data::exact(vec![2.0]), Data::exact(vec![3.0]));
        let types = [Element::I1, Element::F32, Element::F32];
        let chosen = applied(
            &operation("arith.select", Element::F32),
            &[&close, &a, &b],
            &types,
        );
        assert!(4.0 * Element::F32.ulp(chosen.floats().next().unwrap().scale) >= 1.0);
        let far = applied(&compare, &[&inexact(1.0), &inexact(1.1)], &[Element::F32; 2]);
        assert!(matches!(&far, Data::Integer { slacks, .. } if slacks == &[0]));
    }

    #[test]
    fn narrow_results_round_and_computed_wide_ones_do_not() {
        let rounded = floats("arith.truncf", Element::BF16, &[(1.0 / 3.0, 1.0)], Element::F32);
        assert_eq!(rounded.value, Element::BF16.round(1.0 / 3.0));
        let wide = floats(
            "arith.divf",
            Element::F32,
            &[(1.0, 1.0), (3.0, 0.0)],
            Element::F32,
        );
        assert_eq!(wide.value, 1.0 / 3.0);
    }

    #[test]
    fn a_scale_is_of_the_arithmetic_of_its_type() {
        let wide = floats("arith.extf", Element::F64, &[(1.0, 1.0)], Element::F32);
        assert_eq!(4.0 * Element::F64.ulp(wide.scale), 4.0 * Element::F32.ulp(1.0));
        let narrow = floats("arith.truncf", Element::F32, &[(1.0, wide.scale)], Element::F64);
        assert_eq!(narrow.scale, 1.0);
    }

    #[test]
    fn saturating_conversion_stops_at_the_largest_number() {
        let big = Data::exact(vec![1e6, -1e6, f64::NEG_INFINITY]);
        let narrow = operation("arith.truncf", Element::F8E4M3FN);
        let result = applied(&narrow, &[&big], &[Element::F32]);
        assert!(matches!(result, Data::Float { values, .. } if values == [448.0, -448.0, -448.0]));
    }

    #[test]
    fn a_computed_infinity_saturates_before_it_is_stored() {
        let narrow = operation("arith.truncf", Element::F8E5M2);
        let context = Context {
            types: &[Element::F32],
            ulps: 4.0,
            in_combiner: false,
        };
        let infinite = Data::Float {
            values: vec![f64::INFINITY],
            scales: vec![1.0],
        };
        let result = apply_unrounded(&narrow, &[&infinite], context).unwrap();
        assert_eq!(result, Data::exact(vec![57344.0]));
    }

    #[test]
    fn integers_wrap_at_their_width() {
        let (a, b) = (Data::integers(vec![i64::from(i32::MAX)]), Data::integers(vec![1]));
        let types = [Element::I32; 2];
        let sum = applied(&operation("arith.addi", Element::I32), &[&a, &b], &types);
        assert_eq!(sum, Data::integers(vec![i64::from(i32::MIN)]));
        let truth = Data::integers(vec![1]);
        assert_eq!(integer("arith.extsi", Element::I32, truth, Element::I1), (-1, 0));
        let zero = Data::integers(vec![0]);
        let quotient = applied(&operation("arith.divsi", Element::I32), &[&a, &zero], &types);
        assert!(matches!(quotient, Data::Integer { slacks, .. } if slacks == [u64::MAX]));
    }

    #[test]
    fn bits_are_those_of_the_type() {
        let one = Data::exact(vec![1.0]);
        assert_eq!(
            integer("arith.bitcast", Element::I32, one, Element::F32),
            (0x3f80_0000, 0)
        );
        let (_, slack) = integer("arith.bitcast", Element::I32, inexact(1.0), Element::F32);
        assert_eq!(slack, u64::MAX);
        let half = floats("arith.bitcast", Element::F16, &[(1.0, 0.0)], Element::BF16);
        assert_eq!(half, Scaled::exact(Element::F16.decode_float(0x3f80)));
    }

    #[test]
    fn unordered_predicates_hold_on_nan() {
        let (a, b) = (Data::exact(vec![f64::NAN, 1.0]), Data::exact(vec![1.0, 2.0]));
        let mut compare = operation("arith.cmpf", Element::I1);
        for (predicate, expected) in [("olt", [0, 1]), ("ult", [1, 1]), ("uge", [1, 0]), ("one", [0, 1])] {
            compare.predicate = Some(predicate.into());
            let holds = applied(&compare, &[&a, &b], &[Element::F32; 2]);
            assert_eq!(holds, Data::integers(expected.to_vec()), "{predicate}");
        }
    }

    #[test]
    fn unknown_operations_are_named() {
        let x = Data::exact(vec![1.0]);
        let context = Context {
            types: &[Element::F32],
            ulps: 4.0,
            in_combiner: false,
        };
        assert_eq!(
            apply(&operation("math.gamma", Element::F32), &[&x], context),
            Err(OperationError::Unknown("math.gamma".into()))
        );
        assert_eq!(
            apply(&operation("arith.addf", Element::F32), &[&x], context),
            Err(OperationError::Operands {
                name: "arith.addf".into(),
                count: 1
            })
        );
    }
}
