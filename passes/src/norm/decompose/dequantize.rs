//! `norm.dequantize`: `y = q * scale`, with a scale for each block, multiplied by a scale of the whole tensor if there is one.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::norm::DequantizeOp;

use super::{
    program::{Blocks, Pairs, is_power_of_two, scale_layout},
    viewed,
};
use crate::mlir::{pass::PassResult, types};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, DequantizeOp::from_op)?;
    let pairs = match of.e2m1() {
        true => Pairs::InOperand,
        false => Pairs::Nowhere,
    };
    let blocks = Blocks::begin(op, &of.block()?, pairs)?;
    let p = &blocks.program;
    let q = p.read_stored(of.q()?, &blocks.pair)?;
    let q = match blocks.of_pair {
        Some(of_pair) => p.float_of_e2m1(p.code_of_pair(q, of_pair)),
        None if types::is_float(q.r#type()) => p.widened(q),
        None => p.float_of_integer(q),
    };
    let at = scale_layout::coordinates(of.scale_layout()?, blocks.of_block());
    let scale = p.read_stored(of.scale()?, &at)?;
    let mut scale = match is_power_of_two(scale.r#type()) {
        true => p.power_of_exponent(p.exponent_of_e8m0(scale)),
        false => p.widened(scale),
    };
    if let Some(tensor_scale) = of.tensor_scale() {
        scale = p.op("arith.mulf", &[scale, p.read_at(tensor_scale, &[])?]);
    }
    p.write_at(p.op("arith.mulf", &[q, scale]), of.y()?, &blocks.element)?;
    blocks.program.end();
    Ok(())
}
