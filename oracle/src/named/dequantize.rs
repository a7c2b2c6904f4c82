//! `dequantize`: with `scale` that of the block of an element,
//!
//! ```text
//! y = q * scale, or q * (scale * tensor_scale)
//! ```
//!
//! where each element of q may pack two 4-bit floats.

use std::ops::Range;

use super::blocks::{Blocks, place_in_pair, unpaired_shape};
use super::rows::indices;
use super::scale_layout::ScaleLayout;
use super::{Call, Formula, e2m1};
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

struct Dequantize<'a> {
    blocks: Blocks,
    q: Tensor<'a>,
    scale: Tensor<'a>,
    /// Where `scale` holds the scale of a block.
    layout: ScaleLayout,
    tensor_scale: Option<Tensor<'a>>,
    /// Whether each element of `q` packs two 4-bit floats.
    is_e2m1: bool,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let q = call.number("q")?;
    let scale = call.number("scale")?;
    let is_e2m1 = call.is_set("e2m1");
    let shape = match is_e2m1 {
        true => unpaired_shape(&q.layout.shape),
        false => q.layout.shape.clone(),
    };
    let blocks = Blocks::of(&shape, &call.integers("block")?)?;
    let layout = ScaleLayout::of(&call)?;
    blocks.check("scale", &scale, layout)?;
    Ok(Box::new(Dequantize {
        tensor_scale: call.optional("tensor_scale")?,
        is_e2m1,
        blocks,
        q,
        scale,
        layout,
    }))
}

impl Dequantize<'_> {
    /// The number at `index`.
    fn number(&self, index: &[i64]) -> Scaled {
        if !self.is_e2m1 {
            return self.q.number_at(index);
        }
        let (pair, place) = place_in_pair(index);
        let pair = self.q.number_at(&pair).value as i64;
        Scaled::exact(e2m1::decode(e2m1::unpack(pair, place)))
    }

    /// The scale of a block; an integer holds the bits of an E8M0 number.
    fn scale(&self, block: &[i64]) -> Scaled {
        let scale = self.scale.number_at(&self.layout.place_of(block));
        if self.scale.element.is_float() {
            return match &self.tensor_scale {
                Some(factor) => scale * factor.number_at(&[]),
                None => scale,
            };
        }
        let bits = (scale.value as i64).rem_euclid(256);
        Scaled::exact(match bits {
            255 => f64::NAN,
            bits => (bits as f64 - 127.0).exp2(),
        })
    }
}

impl Formula for Dequantize<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        (result == "y").then(|| self.blocks.shape().to_vec())
    }

    fn independent_dims(&self, _result: &str) -> usize {
        self.blocks.shape().len()
    }

    fn ulps(&self, _result: &str) -> f64 {
        arithmetic_ulps(1, Order::Tree).max(self.q.ulps)
    }

    fn evaluate(&self, _result: &str, region: &[Range<i64>]) -> Data {
        let elements = indices(region).into_iter();
        elements
            .map(|index| self.number(&index) * self.scale(&self.blocks.block_of(&index)))
            .collect()
    }
}
