//! `quantize`: with n over the elements of a block and L the largest finite number of q's type,
//!
//! ```text
//! amax  = max_n(|x|)
//! scale = static_scale, or max(amax / L, 2^-126), rounded up to a power of two where that is asked for,
//!         or max(2^(floor(log2(amax)) - floor(log2(L))), 2^-126),
//!         or max(amax / L / tensor_scale, 2^-9), rounded to f8E4M3FN; the divisor is then scale * tensor_scale
//! q     = x / scale
//! ```
//!
//! where each element of q may pack two 4-bit floats.

use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::Element;

use super::blocks::{Blocks, numbers_of_pair, pairs_shape};
use super::rows::indices;
use super::scale_layout::ScaleLayout;
use super::{Call, Formula, e2m1};
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// The exponent of the least scale of f32, and of the least power of two.
const LEAST_EXPONENT: i32 = -126;
/// The exponent of the least scale of f8E4M3FN.
const LEAST_E4M3_EXPONENT: i32 = -9;
/// The exponent bias of E8M0.
const BIAS: i32 = 127;
/// The bits of E8M0's NaN.
const NO_NUMBER: i64 = 255;

struct Quantize<'a> {
    blocks: Blocks,
    x: Tensor<'a>,
    static_scale: Option<Tensor<'a>>,
    tensor_scale: Option<Tensor<'a>>,
    /// The kind of elements of `q`.
    codes: Codes,
    /// How computed scales are stored.
    form: ScaleForm,
    /// Where computed scales are stored.
    layout: ScaleLayout,
    rounds_down: bool,
}

/// The kinds of elements that `q` may have.
#[derive(Clone, Copy)]
enum Codes {
    /// 8-bit floats, or integers.
    Of(Element),
    /// Two 4-bit floats each.
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
        blocks.check("static_scale", scale, ScaleLayout::Linear)?;
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
        layout: ScaleLayout::of(&call)?,
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
            Codes::Of(element) => match element.integer_bits() {
                Some(bits) => (1_i64 << (bits - 1)) as f64 - 1.0,
                None => element.largest_finite(),
            },
        }
    }

    /// The exponent of a block's scale as a power of two; `None` if the scale is NaN.
    fn exponent(&self, block: &[i64]) -> Option<i32> {
        let amax = self.amax(block).value;
        let power = |exponent: i32| f64::from(exponent).exp2();
        let found = || match self.rounds_down {
            // The largest power of two not above amax, divided by the largest one not above L.
            true => {
                let own = (0..=BIAS).rfind(|exponent| power(*exponent) <= self.largest())?;
                let most = (LEAST_EXPONENT..=BIAS).rfind(|exponent| power(*exponent + own) <= amax);
                Some(most.unwrap_or(LEAST_EXPONENT))
            }
            // No f32 divided by the largest number of an 8-bit type needs a larger exponent.
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
            // A quotient below f32's normal numbers may be 0 in a kernel, and 0 / 0 is NaN where a number / 0 is infinite.
            let may_vanish = scale.value != 0.0 && scale.value < f64::from(f32::MIN_POSITIVE);
            if !is_safe_divisor(factor.value) || (may_vanish && factor.value == 0.0) {
                return Scaled::undefined();
            }
            scale = scale / factor;
        }
        let least = Scaled::exact(power(least));
        // A scale that is certainly below the minimum becomes the minimum, without error.
        let scale = match scale.value + self.slack(scale) < least.value {
            true => least,
            false => scale.maximum(least),
        };
        match scale.value.is_finite() {
            true => scale,
            false => Scaled::exact(f64::NAN),
        }
    }

    /// The block whose scale is stored at `index`; `None` for padding.
    fn block_at(&self, index: &[i64]) -> Option<Vec<i64>> {
        self.layout.block_at(index, &self.blocks.numbers_shape())
    }

    /// How far a kernel's number may be from `number`, which is computed from elements of `x`.
    fn slack(&self, number: Scaled) -> f64 {
        number.slack(Formula::ulps(self, "q"), Element::F32)
    }

    /// The factor common to the scales of all blocks; 1 if not given.
    fn factor(&self) -> Scaled {
        let given = self.tensor_scale.as_ref().map(|factor| factor.number_at(&[]));
        given.unwrap_or(Scaled::exact(1.0))
    }

    /// The divisor of a block's numbers, then those that a kernel may use instead, where the scale is so close to a rounding
    /// boundary that it may round either way.
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

    /// A number divided by the first divisor; its scale covers the quotients by the others.
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

    /// A number to be stored as an 8-bit float: an infinity, which division by 0 gives, becomes the largest number.
    fn limited(&self, number: Scaled) -> Scaled {
        match number.value.is_infinite() {
            true => Scaled::exact(self.largest().copysign(number.value)),
            false => number,
        }
    }

    /// The values that a kernel may have for a number: itself, and the ends of its error interval.
    fn alternatives(&self, number: Scaled) -> [f64; 3] {
        let value = number.value;
        match self.slack(number) {
            // Adding 0 would turn -0 into +0.
            0.0 => [value; 3],
            slack => [value, value - slack, value + slack],
        }
    }

    /// A number saturated and rounded to an 8-bit integer, and how far a kernel's may be from it.
    fn saturated(&self, number: Scaled) -> (i64, u64) {
        let stored = |number: f64| number.max(-128.0).round_ties_even().min(127.0) as i64;
        if number.is_undefined() {
            return (0, u64::MAX);
        }
        spread(self.alternatives(number).map(stored))
    }

    /// Two numbers rounded to 4-bit floats and packed into an i8, and how far a kernel's i8 may be from it.
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

/// The first of some integers, and the largest distance of the others from it.
fn spread(alternatives: impl IntoIterator<Item = i64>) -> (i64, u64) {
    let mut alternatives = alternatives.into_iter();
    let first = alternatives.next().unwrap_or_default();
    (
        first,
        alternatives.map(|other| first.abs_diff(other)).max().unwrap_or(0),
    )
}

/// Whether division by a number is well defined in f32. Neither the number nor its reciprocal, by which a kernel may multiply,
/// may be subnormal, as a kernel may flush it to 0 or not.
fn is_safe_divisor(number: f64) -> bool {
    let least = f64::from(f32::MIN_POSITIVE);
    let is_below_normal = |number: f64| number != 0.0 && number.abs() < least;
    !is_below_normal(number) && !is_below_normal(number.recip())
}

/// The product of two numbers; exact if both are and f32 represents it.
fn product(one: Scaled, other: Scaled) -> Scaled {
    let found = one * other;
    match one.is_exact() && other.is_exact() && is_of_f32(found.value) {
        true => Scaled::exact(found.value),
        false => found,
    }
}

/// The quotient of two numbers; exact if both are, the divisor is a power of two, by whose reciprocal a kernel multiplies, and
/// f32 represents it.
fn quotient(number: Scaled, divisor: Scaled) -> Scaled {
    let found = number / divisor;
    let is_power = divisor.value.to_bits() << (u64::BITS - MANTISSA_BITS) == 0;
    match number.is_exact() && divisor.is_exact() && is_power && is_of_f32(found.value) {
        true => Scaled::exact(found.value),
        false => found,
    }
}

/// Stored bits of f64's mantissa.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// Whether f32 represents a number exactly, as 0 or a normal number.
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
            "scale" => Some(self.layout.stored_shape(&self.blocks.numbers_shape())),
            "amax" => Some(self.blocks.numbers_shape()),
            _ => None,
        }
    }

    fn independent_dims(&self, _result: &str) -> usize {
        0
    }

    fn ulps(&self, _result: &str) -> f64 {
        arithmetic_ulps(1, Order::Tree).max(self.x.ulps)
    }

    fn is_padding(&self, result: &str, index: &[i64]) -> bool {
        result == "scale" && self.block_at(index).is_none()
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let indices = indices(region);
        match result {
            "amax" => indices.iter().map(|block| self.amax(block)).collect(),
            "scale" if self.form == ScaleForm::E8m0 => {
                let biased = |exponent: i32| i64::from(exponent + BIAS);
                let bits = |block: Vec<i64>| self.exponent(&block).map_or(NO_NUMBER, biased);
                let stored = |index: &Vec<i64>| match self.block_at(index) {
                    Some(block) => (Element::I8.wrap_integer(bits(block)), 0),
                    None => (0, u64::MAX),
                };
                let (values, slacks) = indices.iter().map(stored).unzip();
                Data::Integer { values, slacks }
            }
            "scale" => {
                let stored = |index: &Vec<i64>| match self.block_at(index) {
                    Some(block) => self.scale(&block),
                    None => Scaled::undefined(),
                };
                indices.iter().map(stored).collect()
            }
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
