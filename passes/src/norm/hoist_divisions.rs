//! `norm-hoist-divisions`: a division of many elements by one value becomes a product with the value's reciprocal.
//!
//! Matches an f32 `arith.divf` whose divisor varies over fewer dims than its dividend. An exact division takes a dozen instructions
//! and a branch for each element. The product with a reciprocal takes one, and the reciprocal, itself an exact division, is computed
//! once for each divisor. The product errs by 1.5 ulp where the reciprocal is a normal number, and by up to 3 ulp where it is not, for
//! divisors beyond 2^126; a subnormal divisor counts as zero. The table of scalar ops says so of `arith.divf`. Zeros, infinities and
//! NaN give what a division gives.

use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use norma_dialects::{norm::KernelOp, op_name};

use crate::{
    kernel::space::Space,
    mlir::{
        builder::Builder,
        pass::{PassContext, PassResult},
        types,
        values::definition,
        walk,
    },
    table::{NormHoistDivisions, NormHoistDivisionsStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormHoistDivisions>) -> PassResult<'c> {
    for kernel in walk::named(op, KernelOp::NAME)
        .into_iter()
        .filter_map(KernelOp::from_op)
    {
        let space = Space::of(kernel)?;
        for division in space.ops.iter().filter(|op| op_name(**op) == "arith.divf") {
            let (dividend, divisor) = (division.operand(0)?, division.operand(1)?);
            let (many, few) = (space.dims_of(dividend), space.dims_of(divisor));
            let ty = dividend.r#type();
            if !types::is_f32(ty) || !few.is_subset(&many) || few == many {
                continue;
            }
            // Right after its divisor, where it dominates every division by it; a dim or an argument is defined from the start.
            let mut b = Builder::before(*division);
            if let Some(defined) = definition(divisor) {
                b.move_after(defined);
            }
            let reciprocal = b.value("arith.divf", &[b.float(ty, 1.0), divisor], ty);
            b.move_before(*division);
            let quotient = b.value("arith.mulf", &[dividend, reciprocal], ty);
            b.replace(*division, &[quotient]);
            cx.count(NormHoistDivisionsStatistic::NumHoisted, 1);
        }
    }
    Ok(())
}
