//! `quantize`: with n over the elements of a block and L the largest finite number of q's type,
//!
//! ```text
//! amax  = max_n(|x|)
//! scale = static_scale, or max(amax / L, 2^-126), rounded up to a power of two where that is asked for,
//!         or max(2^(floor(log2(amax)) - floor(log2(L))), 2^-126)
//! q     = x / scale
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::Element;

use super::blocks::Blocks;
use super::rows::indices;
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// The exponent of the least scale.
const LEAST_EXPONENT: i32 = -126;
/// What is added to exponents in E8M0.
const BIAS: i32 = 127;
/// E8M0's NaN.
const NO_NUMBER: i64 = 255;

struct Quantize<'a> {
    blocks: Blocks,
    x: Tensor<'a>,
    static_scale: Option<Tensor<'a>>,
    /// The type of `q`.
    element: Element,
    is_power: bool,
    rounds_down: bool,
    is_e8m0: bool,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let x = call.operand("x")?;
    let blocks = Blocks::of(&x.layout.shape, &call.integers("block")?)?;
    let static_scale = call.optional("static_scale")?;
    if let Some(scale) = &static_scale {
        blocks.check("static_scale", scale)?;
    }
    let is_e8m0 = call.result("scale").is_ok_and(|element| !element.is_float());
    Ok(Box::new(Quantize {
        element: call.result("q")?,
        is_power: is_e8m0 || call.is_set("power_of_two"),
        rounds_down: call.is_set("round_down"),
        is_e8m0,
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
        match self.element {
            Element::F8E4M3FN => 448.0,
            Element::F8E5M2 => 57344.0,
            _ => 127.0,
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

    fn scale(&self, block: &[i64]) -> Scaled {
        if let Some(scale) = &self.static_scale {
            return scale.number_at(block);
        }
        if self.is_power {
            let power = |exponent: i32| f64::from(exponent).exp2();
            return Scaled::exact(self.exponent(block).map_or(f64::NAN, power));
        }
        let least = Scaled::exact(f64::from(LEAST_EXPONENT).exp2());
        let scale = (self.amax(block) / Scaled::exact(self.largest())).maximum(least);
        match scale.value.is_finite() {
            true => scale,
            false => Scaled::exact(f64::NAN),
        }
    }

    /// A number that is stored as a float of 8 bits: an infinity, which a division by 0 gives, becomes the largest number.
    fn limited(&self, number: Scaled) -> Scaled {
        match number.value.is_infinite() {
            true => Scaled::exact(self.largest().copysign(number.value)),
            false => number,
        }
    }

    /// A number that is rounded to an integer of 8 bits, and how far a kernel's may be from it.
    fn saturated(&self, number: Scaled) -> (i64, u64) {
        let stored = |number: f64| number.max(-128.0).round_ties_even().min(127.0) as i64;
        let slack = number.slack(Formula::ulps(self, "q"), Element::F32);
        let value = stored(number.value);
        if number.is_undefined() {
            return (value, u64::MAX);
        }
        let apart = |other: f64| value.abs_diff(stored(other));
        (
            value,
            apart(number.value - slack).max(apart(number.value + slack)),
        )
    }
}

/// Whether a number is not 0, but below the normal numbers of f32, in which a kernel divides.
fn is_below_normal(number: f64) -> bool {
    number != 0.0 && number.abs() < f64::from(f32::MIN_POSITIVE)
}

impl Formula for Quantize<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "q" => Some(self.blocks.shape().to_vec()),
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
            "scale" if self.is_e8m0 => {
                let biased = |exponent: i32| i64::from(exponent + BIAS);
                let exponents = indices.iter().map(|block| self.exponent(block));
                let exponents = exponents.map(|exponent| exponent.map_or(NO_NUMBER, biased));
                Data::integers(exponents.map(|bits| Element::I8.wrap_integer(bits)).collect())
            }
            "scale" => indices.iter().map(|block| self.scale(block)).collect(),
            _ => {
                let mut scales = BTreeMap::new();
                let quotients = indices.iter().map(|index| {
                    let scale = scales
                        .entry(self.blocks.block_of(index))
                        .or_insert_with_key(|block| self.scale(block));
                    match is_below_normal(scale.value) {
                        // It counts for 0 or for itself.
                        true => Scaled::undefined(),
                        false => self.x.number_at(index) / *scale,
                    }
                });
                if self.element.is_float() {
                    return quotients.map(|number| self.limited(number)).collect();
                }
                let (values, slacks) = quotients.map(|number| self.saturated(number)).unzip();
                Data::Integer { values, slacks }
            }
        }
    }
}
