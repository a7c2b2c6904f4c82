//! `quantize`: with n over the elements of a block and L the largest finite number of q's type,
//!
//! ```text
//! amax  = max_n(|x|)
//! scale = static_scale, or max(amax / L, 2^-126), rounded up to a power of two where that is asked for,
//!         or max(2^(floor(log2(amax)) - floor(log2(L))), 2^-126),
//!         or max(amax / L / tensor_scale, 2^-9), rounded to f8E4M3FN, and what is divided by is scale * tensor_scale
//! q     = x / scale
//! ```
//!
//! where q may be two floats of 4 bits in each element.

use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::Element;

use super::blocks::{Blocks, numbers_of_pair, pairs_shape};
use super::rows::indices;
use super::{Call, Formula, e2m1};
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// The exponent of the least scale of f32, and of the least power of two.
const LEAST_EXPONENT: i32 = -126;
/// The exponent of the least scale of f8E4M3FN.
const LEAST_E4M3_EXPONENT: i32 = -9;
/// What is added to exponents in E8M0.
const BIAS: i32 = 127;
/// E8M0's NaN.
const NO_NUMBER: i64 = 255;

struct Quantize<'a> {
    blocks: Blocks,
    x: Tensor<'a>,
    static_scale: Option<Tensor<'a>>,
    tensor_scale: Option<Tensor<'a>>,
    /// What `q` holds.
    codes: Codes,
    /// What a computed scale is.
    form: ScaleForm,
    rounds_down: bool,
}

/// What the elements of `q` are.
#[derive(Clone, Copy)]
enum Codes {
    /// Floats of 8 bits, or integers.
    Of(Element),
    /// Two floats of 4 bits each.
    PairsOfE2m1,
}

/// How scales are computed and stored.
#[derive(Clone, Copy, PartialEq)]
enum ScaleForm {
    F32,
    PowerOfTwo,
    E8m0,
    E4m3,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let x = call.operand("x")?;
    let blocks = Blocks::of(&x.layout.shape, &call.integers("block")?)?;
    let static_scale = call.optional("static_scale")?;
    if let Some(scale) = &static_scale {
        blocks.check("static_scale", scale)?;
    }
    let form = match call.result("scale") {
        Ok(Element::F8E4M3FN) => ScaleForm::E4m3,
        Ok(element) if !element.is_float() => ScaleForm::E8m0,
        _ if call.is_set("power_of_two") => ScaleForm::PowerOfTwo,
        _ => ScaleForm::F32,
    };
    Ok(Box::new(Quantize {
        codes: match call.is_set("e2m1") {
            true => Codes::PairsOfE2m1,
            false => Codes::Of(call.result("q")?),
        },
        tensor_scale: call.optional("tensor_scale")?,
        rounds_down: call.is_set("round_down"),
        form,
        blocks,
        x,
        static_scale,
    }))
}

impl Quantize<'_> {
    /// The largest magnitude in a block.
    fn amax(&self, block: &[i64]) -> Scaled {
        let elements = self.blocks.elements(block);
        let magnitudes = elements.iter().map(|index| self.x.number_at(index).magnitude());
        magnitudes.fold(Scaled::exact(f64::NEG_INFINITY), Scaled::maximum)
    }

    /// The largest finite number of `q`.
    fn largest(&self) -> f64 {
        match self.codes {
            Codes::PairsOfE2m1 => e2m1::LARGEST,
            Codes::Of(Element::F8E4M3FN) => 448.0,
            Codes::Of(Element::F8E5M2) => 57344.0,
            Codes::Of(_) => 127.0,
        }
    }

    /// The exponent of the scale of a block as a power of two; nothing where it is no number.
    fn exponent(&self, block: &[i64]) -> Option<i32> {
        let amax = self.amax(block).value;
        let power = |exponent: i32| f64::from(exponent).exp2();
        let found = || match self.rounds_down {
            // The largest power of two within the block, as a multiple of the largest within q's type.
            true => {
                let own = (0..=BIAS).rfind(|exponent| power(*exponent) <= self.largest())?;
                let most = (LEAST_EXPONENT..=BIAS).rfind(|exponent| power(*exponent + own) <= amax);
                Some(most.unwrap_or(LEAST_EXPONENT))
            }
            // No f32 divided by what a type of 8 bits holds needs more.
            false => (LEAST_EXPONENT..=BIAS).find(|exponent| self.largest() * power(*exponent) >= amax),
        };
        (!amax.is_nan() && amax != f64::INFINITY).then(found).flatten()
    }

    /// The scale of a block, before it is rounded to its type.
    fn scale(&self, block: &[i64]) -> Scaled {
        if let Some(scale) = &self.static_scale {
            return scale.number_at(block);
        }
        let power = |exponent: i32| f64::from(exponent).exp2();
        if matches!(self.form, ScaleForm::PowerOfTwo | ScaleForm::E8m0) {
            return Scaled::exact(self.exponent(block).map_or(f64::NAN, power));
        }
        let mut scale = self.amax(block) / Scaled::exact(self.largest());
        let mut least = LEAST_EXPONENT;
        if self.form == ScaleForm::E4m3 {
            least = LEAST_E4M3_EXPONENT;
            let factor = self.factor();
            if !is_safe_divisor(factor.value) {
                return Scaled::undefined();
            }
            scale = scale / factor;
        }
        let least = Scaled::exact(power(least));
        // What is certainly less leaves no error.
        let scale = match scale.value + self.slack(scale) < least.value {
            true => least,
            false => scale.maximum(least),
        };
        match scale.value.is_finite() {
            true => scale,
            false => Scaled::exact(f64::NAN),
        }
    }

    /// How far a kernel's number may be from one that is made of elements of `x`.
    fn slack(&self, number: Scaled) -> f64 {
        number.slack(Formula::ulps(self, "q"), Element::F32)
    }

    /// What multiplies the scales of all blocks.
    fn factor(&self) -> Scaled {
        let given = self.tensor_scale.as_ref().map(|factor| factor.number_at(&[]));
        given.unwrap_or(Scaled::exact(1.0))
    }

    /// What the numbers of a block are divided by, and what else that may be in a kernel, where the scale is so close to where its
    /// rounding changes that it may be rounded either way.
    fn divisors(&self, block: &[i64]) -> [Scaled; 3] {
        let scale = self.scale(block);
        if self.form != ScaleForm::E4m3 || scale.is_undefined() || scale.value.is_nan() {
            return [scale; 3];
        }
        let slack = self.slack(scale);
        let least = f64::from(LEAST_E4M3_EXPONENT).exp2();
        [0.0, -slack, slack].map(|slack| {
            let stored = Element::F8E4M3FN.narrow((scale.value + slack).max(least));
            match self.tensor_scale {
                Some(_) => product(Scaled::exact(stored), self.factor()),
                None => Scaled::exact(stored),
            }
        })
    }

    /// A number divided by the first of these, with what the others make of it in its scale.
    fn quotient(&self, number: Scaled, divisors: [Scaled; 3]) -> Scaled {
        let is_unknown = |divisor: &Scaled| divisor.is_undefined() || !is_safe_divisor(divisor.value);
        if number.is_undefined() || divisors.iter().any(is_unknown) {
            return Scaled::undefined();
        }
        let [found, low, high] = divisors.map(|divisor| quotient(number, divisor));
        if divisors.iter().all(|divisor| divisor.value == divisors[0].value) || !found.value.is_finite() {
            return found;
        }
        let apart = [low, high].map(|other| (found.value - other.value).abs() + self.slack(other));
        let of_others = Scaled::scale_of(apart[0].max(apart[1]), Formula::ulps(self, "q"), Element::F32);
        Scaled {
            scale: found.scale.max(of_others),
            ..found
        }
    }

    /// A number that is stored as a float of 8 bits: an infinity, which a division by 0 gives, becomes the largest number.
    fn limited(&self, number: Scaled) -> Scaled {
        match number.value.is_infinite() {
            true => Scaled::exact(self.largest().copysign(number.value)),
            false => number,
        }
    }

    /// What kernels may take a number for: itself, and the ends of what lies around it.
    fn alternatives(&self, number: Scaled) -> [f64; 3] {
        let value = number.value;
        match self.slack(number) {
            // A sum with 0 would turn the sign of -0.
            0.0 => [value; 3],
            slack => [value, value - slack, value + slack],
        }
    }

    /// A number that is rounded to an integer of 8 bits, and how far a kernel's may be from it.
    fn saturated(&self, number: Scaled) -> (i64, u64) {
        let stored = |number: f64| number.max(-128.0).round_ties_even().min(127.0) as i64;
        if number.is_undefined() {
            return (0, u64::MAX);
        }
        spread(self.alternatives(number).map(stored))
    }

    /// Two numbers that are rounded to floats of 4 bits, as an i8, and how far a kernel's may be from it.
    fn packed(&self, numbers: [Scaled; 2]) -> (i64, u64) {
        if numbers.iter().any(|number| number.is_undefined()) {
            return (0, u64::MAX);
        }
        let [first, second] = numbers.map(|number| self.alternatives(number).map(e2m1::encode));
        let pairs = second
            .iter()
            .flat_map(|second| first.map(|first| [first, *second]));
        let bits = pairs.map(|codes| Element::I8.wrap_integer(e2m1::pack(codes)));
        spread(bits)
    }
}

/// The first of some integers, and how far the others are from it.
fn spread(alternatives: impl IntoIterator<Item = i64>) -> (i64, u64) {
    let mut alternatives = alternatives.into_iter();
    let first = alternatives.next().unwrap_or_default();
    (
        first,
        alternatives.map(|other| first.abs_diff(other)).max().unwrap_or(0),
    )
}

/// Whether a kernel divides by a number as f32 defines it: neither the number nor its reciprocal, by which it may multiply, is below
/// the normal numbers of f32, where it counts for 0 or for itself.
fn is_safe_divisor(number: f64) -> bool {
    let least = f64::from(f32::MIN_POSITIVE);
    let is_below_normal = |number: f64| number != 0.0 && number.abs() < least;
    !is_below_normal(number) && !is_below_normal(number.recip())
}

/// The product of two numbers, to the bit if it is a number of f32.
fn product(one: Scaled, other: Scaled) -> Scaled {
    let found = one * other;
    match one.is_exact() && other.is_exact() && is_of_f32(found.value) {
        true => Scaled::exact(found.value),
        false => found,
    }
}

/// The quotient of two numbers, to the bit if the divisor is a power of two, by whose reciprocal a kernel multiplies.
fn quotient(number: Scaled, divisor: Scaled) -> Scaled {
    let found = number / divisor;
    let is_power = divisor.value.to_bits() << (u64::BITS - MANTISSA_BITS) == 0;
    match number.is_exact() && divisor.is_exact() && is_power && is_of_f32(found.value) {
        true => Scaled::exact(found.value),
        false => found,
    }
}

/// Bits of f64's mantissa.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// Whether f32 has a number, and not below its normal ones.
fn is_of_f32(number: f64) -> bool {
    number == 0.0 || (number as f32).is_normal() && f64::from(number as f32) == number
}

impl Formula for Quantize<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "q" => Some(match self.codes {
                Codes::PairsOfE2m1 => pairs_shape(self.blocks.shape()),
                Codes::Of(_) => self.blocks.shape().to_vec(),
            }),
            "scale" | "amax" => Some(self.blocks.numbers_shape()),
            _ => None,
        }
    }

    fn independent_dims(&self, _result: &str) -> usize {
        0
    }

    fn ulps(&self, _result: &str) -> f64 {
        arithmetic_ulps(1, Order::Tree).max(self.x.ulps)
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let indices = indices(region);
        match result {
            "amax" => indices.iter().map(|block| self.amax(block)).collect(),
            "scale" if self.form == ScaleForm::E8m0 => {
                let biased = |exponent: i32| i64::from(exponent + BIAS);
                let exponents = indices.iter().map(|block| self.exponent(block));
                let exponents = exponents.map(|exponent| exponent.map_or(NO_NUMBER, biased));
                Data::integers(exponents.map(|bits| Element::I8.wrap_integer(bits)).collect())
            }
            "scale" => indices.iter().map(|block| self.scale(block)).collect(),
            _ => {
                let mut divisors = BTreeMap::new();
                let mut scaled = |index: &[i64]| {
                    let block = self.blocks.block_of(index);
                    let of_block = divisors
                        .entry(block)
                        .or_insert_with_key(|block| self.divisors(block));
                    self.quotient(self.x.number_at(index), *of_block)
                };
                let (values, slacks) = match self.codes {
                    Codes::Of(element) if element.is_float() => {
                        return indices.iter().map(|index| self.limited(scaled(index))).collect();
                    }
                    Codes::Of(_) => indices.iter().map(|index| self.saturated(scaled(index))).unzip(),
                    Codes::PairsOfE2m1 => {
                        let pairs = indices.iter().map(|pair| numbers_of_pair(pair));
                        pairs
                            .map(|numbers| self.packed(numbers.map(|index| scaled(&index))))
                            .unzip()
                    }
                };
                Data::Integer { values, slacks }
            }
        }
    }
}
