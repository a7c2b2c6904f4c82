//! `norm-relax-divisions`: divisions of elements need not be exact, and take fewer instructions if they are not.
//!
//! An exact division takes a dozen instructions, and a branch whose other side occupies registers. Two kinds of f32 `arith.divf` do
//! without:
//!
//! - Many elements by one value, where the divisor varies over fewer dims than the dividend: the quotient is a product with the divisor's
//!   reciprocal, itself an exact division, which is computed once for each divisor. The product errs by 1.5 ulp where the reciprocal is a
//!   normal number, and by up to 3 ulp where it is not, for divisors beyond 2^126; a subnormal divisor counts as zero. A quotient for each
//!   row that is itself a result, such as the scale of a quantized row, stays exact: users compare scales bit for bit.
//! - One for each element of a reduced dim, or for each point of a kernel without reductions, all of whose uses lead to floats of at most
//!   16 bits: it gets the flag `arcp`, for which `convert-math-to-nvvm-approx` has an instruction that errs by 2 ulp, far less than that
//!   rounding. A division of two values of a row stays exact, as there are few of them. So does one that an f32 result depends on, whose
//!   errors add up in it. Those by `1 + exp(z)` become products with an approximate reciprocal ([`logistic`]).
//!
//! The table of scalar ops says of `arith.divf` that it errs by up to 3 ulp. Zeros, infinities and NaN give what a division gives.

mod logistic;

use std::collections::HashSet;

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::{norm::KernelOp, op_name};

use crate::{
    kernel::space::{DimSet, Space, is_write},
    mlir::{
        builder::Builder,
        fast_math::{self, RECIPROCAL},
        pass::{PassContext, PassResult},
        types,
        values::{definition, key, users},
        walk,
    },
    table::{NormRelaxDivisions, NormRelaxDivisionsStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormRelaxDivisions>) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op) {
        // The space describes the kernel as it is before any division is replaced.
        let space = Space::of(kernel)?;
        let (mut hoisted, mut approximated) = (Vec::new(), Vec::new());
        for division in space.ops.iter().filter(|op| op_name(**op) == "arith.divf") {
            let (many, few) = (
                space.dims_of(division.operand(0)?),
                space.dims_of(division.operand(1)?),
            );
            let result: Value<'c, '_> = division.result(0)?.into();
            if !types::is_f32(result.r#type()) {
                continue;
            }
            let is_result_of_row = !is_for_each_element(&space, &many) && is_written(result);
            if few.is_subset(&many) && few != many && !is_result_of_row {
                hoisted.push(*division);
            } else if is_for_each_element(&space, &many.union(&few).copied().collect()) && is_rounded(result)
            {
                approximated.push(*division);
            }
        }
        for division in approximated {
            if fast_math::flags(division).contains(&RECIPROCAL) {
                continue;
            }
            if !logistic::scale(division)? {
                allow(division, &[RECIPROCAL]);
            }
            cx.count(NormRelaxDivisionsStatistic::NumApproximated, 1);
        }
        for division in hoisted {
            multiply_by_reciprocal(division)?;
            cx.count(NormRelaxDivisionsStatistic::NumHoisted, 1);
        }
    }
    Ok(())
}

/// Replaces a division by a product with the reciprocal of its divisor.
fn multiply_by_reciprocal<'c>(division: OperationRef<'c, '_>) -> PassResult<'c> {
    let (dividend, divisor) = (division.operand(0)?, division.operand(1)?);
    let ty = dividend.r#type();
    // Right after its divisor, where it dominates every division by it; a dim or an argument is defined from the start.
    let mut b = Builder::before(division);
    if let Some(defined) = definition(divisor) {
        b.move_after(defined);
    }
    let reciprocal = b.value("arith.divf", &[b.float(ty, 1.0), divisor], ty);
    b.move_before(division);
    let quotient = b.value("arith.mulf", &[dividend, reciprocal], ty);
    b.replace(division, &[quotient]);
    Ok(())
}

/// Adds flags to those that a division has.
fn allow(division: OperationRef<'_, '_>, more: &[&'static str]) {
    let mut flags = fast_math::flags(division);
    flags.extend(more);
    fast_math::set_flags(&Builder::before(division), division, &flags);
}

/// Whether a value is itself a result of the kernel.
fn is_written(value: Value<'_, '_>) -> bool {
    users(value).into_iter().any(is_write)
}

/// Whether what varies over `dims` has as many values as a row has elements: it varies over a dim that is reduced, or the kernel reduces
/// nothing.
fn is_for_each_element(space: &Space<'_, '_>, dims: &DimSet) -> bool {
    space.reductions().is_empty() || !space.reduced_dims().is_disjoint(dims)
}

/// The most bits of a float whose rounding hides the error of an approximate division.
const NARROW_BITS: usize = 16;

/// Whether all results that depend on `value` do so by way of its rounding, or of what is computed from it, to a narrow float.
fn is_rounded(value: Value<'_, '_>) -> bool {
    let mut seen = HashSet::new();
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        for user in users(value) {
            let Ok(result) = user.result(0) else {
                // It is written.
                return false;
            };
            let element = types::element(result.r#type());
            let is_narrow =
                types::is_float(element) && types::bit_width(element).is_some_and(|bits| bits <= NARROW_BITS);
            if op_name(user) == "arith.truncf" && is_narrow {
                continue;
            }
            left.extend(
                user.results()
                    .map(Value::from)
                    .filter(|result| seen.insert(key(*result))),
            );
        }
    }
    true
}
