//! Ops of the LLVM dialect.
//!
//! They mean what LLVM's language reference says, as its NVPTX back end carries it out where the reference leaves a
//! choice. `contract` and `reassoc` allow results that differ in the last bits; they are decoded as if absent.

mod aggregate;
pub(super) mod arithmetic;
pub(super) mod atomic;
mod call;
mod cast;
mod constant;
mod control;
pub(super) mod memory;
pub(super) mod pointer;
mod reduce;

use super::{
    asm,
    body::Body,
    error::{Result, unsupported},
    kernel::Edges,
    op::Op,
};
use crate::program::{ApproximateFunction as Approximate, Conversion, FloatOp, Instruction, IntegerOp};

/// Decodes one op.
pub(super) fn decode(op: &Op<'_, '_>, body: &mut Body<'_>, edges: &Edges) -> Result<()> {
    match op.name {
        "llvm.add" => arithmetic::integer(op, body, IntegerOp::Add),
        "llvm.sub" => arithmetic::integer(op, body, IntegerOp::Sub),
        "llvm.mul" => arithmetic::integer(op, body, IntegerOp::Mul),
        "llvm.sdiv" => arithmetic::integer(op, body, IntegerOp::DivSigned),
        "llvm.udiv" => arithmetic::integer(op, body, IntegerOp::DivUnsigned),
        "llvm.srem" => arithmetic::integer(op, body, IntegerOp::RemSigned),
        "llvm.urem" => arithmetic::integer(op, body, IntegerOp::RemUnsigned),
        "llvm.and" => arithmetic::integer(op, body, IntegerOp::And),
        "llvm.or" => arithmetic::integer(op, body, IntegerOp::Or),
        "llvm.xor" => arithmetic::integer(op, body, IntegerOp::Xor),
        "llvm.shl" => arithmetic::integer(op, body, IntegerOp::Shl),
        "llvm.lshr" => arithmetic::integer(op, body, IntegerOp::LShr),
        "llvm.ashr" => arithmetic::integer(op, body, IntegerOp::AShr),
        "llvm.intr.smax" => arithmetic::integer(op, body, IntegerOp::MaxSigned),
        "llvm.intr.smin" => arithmetic::integer(op, body, IntegerOp::MinSigned),
        "llvm.intr.umax" => arithmetic::integer(op, body, IntegerOp::MaxUnsigned),
        "llvm.intr.umin" => arithmetic::integer(op, body, IntegerOp::MinUnsigned),
        "llvm.intr.ctpop" => arithmetic::integer_unary(op, body, IntegerOp::PopulationCount),
        "llvm.intr.ctlz" => arithmetic::integer_unary(op, body, IntegerOp::LeadingZeros),
        "llvm.intr.cttz" => arithmetic::integer_unary(op, body, IntegerOp::TrailingZeros),
        "llvm.intr.bitreverse" => arithmetic::integer_unary(op, body, IntegerOp::BitReverse),
        "llvm.intr.abs" => arithmetic::integer_unary(op, body, IntegerOp::AbsSigned),
        "llvm.icmp" => arithmetic::compare_integers(op, body),
        "llvm.fcmp" => arithmetic::compare_floats(op, body),
        "llvm.select" => arithmetic::select(op, body),

        "llvm.fadd" => arithmetic::float(op, body, FloatOp::Add),
        "llvm.fsub" => arithmetic::float(op, body, FloatOp::Sub),
        "llvm.fmul" => arithmetic::float(op, body, FloatOp::Mul),
        "llvm.fdiv" => arithmetic::divide(op, body),
        "llvm.frem" => arithmetic::float(op, body, FloatOp::Rem),
        "llvm.fneg" => arithmetic::float_unary(op, body, FloatOp::Neg),
        "llvm.intr.fabs" => arithmetic::float_unary(op, body, FloatOp::Abs),
        "llvm.intr.sqrt" => arithmetic::square_root(op, body),
        "llvm.intr.maxnum" => arithmetic::float(op, body, FloatOp::MaxNum),
        "llvm.intr.minnum" => arithmetic::float(op, body, FloatOp::MinNum),
        "llvm.intr.maximum" => arithmetic::float(op, body, FloatOp::Maximum),
        "llvm.intr.minimum" => arithmetic::float(op, body, FloatOp::Minimum),
        "llvm.intr.copysign" => arithmetic::float(op, body, FloatOp::CopySign),
        "llvm.intr.trunc" => arithmetic::float_unary(op, body, FloatOp::Trunc),
        "llvm.intr.floor" => arithmetic::float_unary(op, body, FloatOp::Floor),
        "llvm.intr.ceil" => arithmetic::float_unary(op, body, FloatOp::Ceil),
        "llvm.intr.rint" | "llvm.intr.roundeven" | "llvm.intr.nearbyint" => {
            arithmetic::float_unary(op, body, FloatOp::Rint)
        }
        "llvm.intr.round" => arithmetic::float_unary(op, body, FloatOp::Round),
        "llvm.intr.fma" | "llvm.intr.fmuladd" => arithmetic::fused(op, body),
        "llvm.intr.exp2" => arithmetic::approximate(op, body, Approximate::Exp2, false),
        "llvm.intr.log2" => arithmetic::approximate(op, body, Approximate::Log2, true),
        "llvm.intr.sin" => arithmetic::approximate(op, body, Approximate::Sin, true),
        "llvm.intr.cos" => arithmetic::approximate(op, body, Approximate::Cos, true),
        "llvm.intr.tanh" => arithmetic::approximate(op, body, Approximate::Tanh, true),

        "llvm.trunc" => cast::truncate(op, body),
        "llvm.zext" | "llvm.freeze" => cast::rename(op, body),
        "llvm.sext" => cast::sign_extend(op, body),
        "llvm.fptrunc" | "llvm.fpext" => cast::float_to_float(op, body),
        "llvm.sitofp" => cast::integer_to_float(op, body, true),
        "llvm.uitofp" => cast::integer_to_float(op, body, false),
        "llvm.fptosi" => cast::float_to_integer(op, body, true),
        "llvm.fptoui" => cast::float_to_integer(op, body, false),
        "llvm.bitcast" => cast::bitcast(op, body),
        "llvm.ptrtoint" => cast::pointer_to_integer(op, body),
        "llvm.inttoptr" => cast::rename(op, body),
        "llvm.addrspacecast" => pointer::cast(op, body),
        "llvm.getelementptr" => pointer::element(op, body),
        "llvm.mlir.addressof" => pointer::address_of(op, body),

        "llvm.mlir.constant" => constant::constant(op, body),
        "llvm.mlir.zero" => constant::zero(op, body),
        "llvm.mlir.poison" | "llvm.mlir.undef" => constant::undefined(op, body),

        "llvm.extractvalue" => aggregate::extract_value(op, body),
        "llvm.insertvalue" => aggregate::insert_value(op, body),
        "llvm.extractelement" => aggregate::extract_element(op, body),
        "llvm.insertelement" => aggregate::insert_element(op, body),
        "llvm.shufflevector" => aggregate::shuffle(op, body),

        "llvm.load" => memory::load(op, body),
        "llvm.store" => memory::store(op, body),
        "llvm.intr.masked.load" => memory::masked_load(op, body),
        "llvm.intr.masked.store" => memory::masked_store(op, body),
        "llvm.atomicrmw" => atomic::read_modify_write(op, body),
        "llvm.cmpxchg" => atomic::compare_and_swap(op, body),
        "llvm.fence" => atomic::fence(op, body),

        "llvm.br" => control::branch(op, body, edges),
        "llvm.cond_br" => control::conditional_branch(op, body, edges),
        "llvm.switch" => control::switch(op, body, edges),
        "llvm.return" => control::end(op, body, Instruction::Return),
        "llvm.unreachable" | "llvm.intr.trap" => control::end(op, body, Instruction::Trap),

        "llvm.call" => call::function(op, body),
        "llvm.call_intrinsic" => call::intrinsic(op, body),
        "llvm.inline_asm" => asm::inline_asm(op, body),

        // It is only a hint for the optimizer.
        "llvm.intr.assume" => Ok(()),
        "llvm.intr.expect" | "llvm.intr.expect.with.probability" => cast::rename(op, body),

        name => match name.strip_prefix("llvm.intr.vector.reduce.") {
            Some(kind) => reduce::vector(op, body, kind),
            None => Err(unsupported("is not modelled")),
        },
    }
}

/// Decodes a conversion, component by component.
fn convert_each(op: &Op<'_, '_>, body: &mut Body<'_>, conversion: Conversion) -> Result<()> {
    body.each::<1>(op, |to, [from], _| {
        Ok(Instruction::Convert { conversion, to, from })
    })
}
