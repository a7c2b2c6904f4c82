//! `norm.dequantize`: `y = q * scale`, with a scale for each block.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::norm::DequantizeOp;

use super::{
    program::{Blocks, Coordinate},
    viewed,
};
use crate::mlir::{pass::PassResult, types};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, DequantizeOp::from_op)?;
    let blocks = Blocks::begin(op, &of.block()?)?;
    let p = &blocks.program;
    let q = p.read_stored(of.q()?, &blocks.element)?;
    let q = match types::is_float(q.r#type()) {
        true => p.widened(q),
        false => p.float_of_integer(q),
    };
    let scale = p.read_stored(of.scale()?, &Coordinate::of(blocks.of_block()))?;
    let scale = match types::is_f32(scale.r#type()) {
        true => scale,
        false => p.power_of_exponent(p.exponent_of_e8m0(scale)),
    };
    p.write_at(p.op("arith.mulf", &[q, scale]), of.y()?, &blocks.element)?;
    blocks.program.end();
    Ok(())
}
