//! `dequantize`: with the scale of the block that an element is in,
//!
//! ```text
//! y = q * scale
//! ```

use std::ops::Range;

use super::blocks::Blocks;
use super::rows::indices;
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

struct Dequantize<'a> {
    blocks: Blocks,
    q: Tensor<'a>,
    scale: Tensor<'a>,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let q = call.number("q")?;
    let scale = call.number("scale")?;
    let blocks = Blocks::of(&q.layout.shape, &call.integers("block")?)?;
    blocks.check("scale", &scale)?;
    Ok(Box::new(Dequantize { blocks, q, scale }))
}

impl Dequantize<'_> {
    /// The scale of a block; of integers, as the bits of E8M0.
    fn scale(&self, block: &[i64]) -> Scaled {
        let scale = self.scale.number_at(block);
        if self.scale.element.is_float() {
            return scale;
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
            .map(|index| self.q.number_at(&index) * self.scale(&self.blocks.block_of(&index)))
            .collect()
    }
}
