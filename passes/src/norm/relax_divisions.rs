//! `norm-relax-divisions`: divisions of elements need not be exact, and take fewer instructions if they are not.
//!
//! An exact division takes a dozen instructions, and a branch whose other side occupies registers. Two kinds of f32 `arith.divf` do
//! without:
//!
//! - Many elements by one value, where the divisor varies over fewer dims than the dividend: the quotient is a product with the
//!   divisor's reciprocal, itself an exact division, which is computed once for each divisor. The product errs by 1.5 ulp where the
//!   reciprocal is a normal number, and by up to 3 ulp where it is not, for divisors beyond 2^126; a subnormal divisor counts as zero.
//! - One for each element of a reduced dim, or for each point of a kernel without reductions: it gets the flag `arcp`, for which
//!   `convert-math-to-nvvm-approx` has an instruction that errs by 2 ulp. A division for each row stays exact: there are few of them,
//!   and users compare scales bit for bit.
//!
//! The table of scalar ops says of `arith.divf` that it errs by up to 3 ulp. Zeros, infinities and NaN give what a division gives.

use melior::ir::{OperationRef, ValueLike, operation::OperationLike};
use norma_dialects::{norm::KernelOp, op_name};

use crate::{
    kernel::space::{DimSet, Space},
    mlir::{
        builder::Builder,
        fast_math::{self, RECIPROCAL},
        pass::{PassContext, PassResult},
        types,
        values::definition,
        walk,
    },
    table::{NormRelaxDivisions, NormRelaxDivisionsStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormRelaxDivisions>) -> PassResult<'c> {
    for kernel in walk::named(op, KernelOp::NAME)
        .into_iter()
        .filter_map(KernelOp::from_op)
    {
        let space = Space::of(kernel)?;
        for division in space.ops.iter().filter(|op| op_name(**op) == "arith.divf") {
            let (dividend, divisor) = (division.operand(0)?, division.operand(1)?);
            let (many, few) = (space.dims_of(dividend), space.dims_of(divisor));
            let ty = dividend.r#type();
            if !types::is_f32(ty) {
                continue;
            }
            if !few.is_subset(&many) || few == many {
                let elements = many.union(&few).copied().collect();
                if is_for_each_element(&space, &elements) {
                    let mut flags = fast_math::flags(*division);
                    if !flags.contains(&RECIPROCAL) {
                        flags.push(RECIPROCAL);
                        fast_math::set_flags(&Builder::before(*division), *division, &flags);
                        cx.count(NormRelaxDivisionsStatistic::NumApproximated, 1);
                    }
                }
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
            cx.count(NormRelaxDivisionsStatistic::NumHoisted, 1);
        }
    }
    Ok(())
}

/// Whether what varies over `dims` has as many values as a row has elements: it varies over a dim that is reduced, or the kernel reduces
/// nothing.
fn is_for_each_element(space: &Space<'_, '_>, dims: &DimSet) -> bool {
    let reductions = space.reductions();
    let mut reduced = reductions.iter().map(|reduce| space.dims_reduced_by(*reduce));
    reductions.is_empty() || reduced.any(|reduced| !reduced.is_disjoint(dims))
}
