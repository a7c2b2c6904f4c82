//! `norm-scale-exponents`: exponentials of the distance of many elements to one value take two instructions, not three.
//!
//! Matches an f32 `math.exp` of `a - b` where `b` varies over fewer dims than `a`, as the maximum of a row does in softmax. A GPU computes
//! powers of 2, so that the distance is subtracted, scaled by log2(e) and raised: `ex2((a - b) * c)`. With `p = b * c`, computed once for
//! each `b`, the first two become one: `ex2(fma(a, c, -p))`.
//!
//! By itself that would err by as much as `p` is rounded, 2^-24 of `b` relative to the exponential. What `p` is off by is known,
//! `fma(b, c, -p)` is exact, and the same for all elements: the exponential is `ex2(fma(a, c, -p))` times `k = ex2(p - b * c)`. So the
//! pass applies where each use takes the factor for many elements at once: sums over dims that `b` does not vary over, and products with
//! a value that varies over fewer dims. Then results err no more than before.
//!
//! Beyond 2^30 `p` would be off by more than 64, and powers of 2 overflow before the factor makes up for it: softmax of a row that a mask
//! of -1e30 leaves nothing of would be NaN. There floats lie at least 128 apart, so that the exponential is 0, 1 or infinite in f32, and
//! so is 2 to the power of the distance: `c` is 1, and nothing is rounded.

use std::f64::consts::LOG2_E;

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    norm::{DimRole, KernelOp, ReduceKind, ReduceOp},
    op_name,
};

use crate::{
    kernel::{
        signature::drop_dead,
        space::{DimSet, Space},
    },
    mlir::{
        builder::Builder,
        comparison::{Predicate, compare_floats},
        pass::{PassContext, PassResult},
        types,
        values::{definition, users},
        walk,
    },
    table::{NormScaleExponents, NormScaleExponentsStatistic},
};

/// The fewest elements of a thread for each `b`: the factor and the scale take about ten instructions, and each element saves one.
const FEWEST_ELEMENTS: i64 = 16;
/// The largest magnitude of `b` for which a factor of the sum makes up for the rounding of `p`.
const LARGEST_ROUNDED: f64 = (1u64 << 30) as f64;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormScaleExponents>) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op)
        .into_iter()
        .filter(|kernel| kernel.roles().is_some())
    {
        // What is scaled may be the distance or the factor of another exponential, so each is found anew.
        while let Some(exponential) = first(&Space::of(kernel)?) {
            exponential.scale()?;
            drop_dead(kernel)?;
            cx.count(NormScaleExponentsStatistic::NumScaled, 1);
        }
    }
    Ok(())
}

/// The first exponential of a kernel that can be scaled.
fn first<'c: 'a, 'a>(space: &Space<'c, 'a>) -> Option<Exponential<'c, 'a>> {
    space.ops.iter().find_map(|op| Exponential::of(space, *op))
}

/// `math.exp` of `a - b`, all of whose uses take a factor that varies as `b` does.
struct Exponential<'c, 'a> {
    op: OperationRef<'c, 'a>,
    a: Value<'c, 'a>,
    b: Value<'c, 'a>,
    sums: Vec<ReduceOp<'c, 'a>>,
    products: Vec<Product<'c, 'a>>,
}

/// A product with a value that varies over fewer dims.
struct Product<'c, 'a> {
    op: OperationRef<'c, 'a>,
    by: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Exponential<'c, 'a> {
    fn of(space: &Space<'c, 'a>, op: OperationRef<'c, 'a>) -> Option<Self> {
        let result: Value = op.result(0).ok()?.into();
        if op_name(op) != "math.exp" || !types::is_f32(result.r#type()) {
            return None;
        }
        let distance = definition(op.operand(0).ok()?).filter(|op| op_name(*op) == "arith.subf")?;
        let (a, b) = (distance.operand(0).ok()?, distance.operand(1).ok()?);
        let (many, few) = (space.dims_of(a), space.dims_of(b));
        if !few.is_subset(&many) || elements_of_thread(space, &(&many - &few)) < FEWEST_ELEMENTS {
            return None;
        }
        let mut found = Self {
            op,
            a,
            b,
            sums: Vec::new(),
            products: Vec::new(),
        };
        for user in users(result) {
            if let Some(sum) = ReduceOp::from_op(user) {
                let is_of_many = space.dims_reduced_by(sum).is_disjoint(&few);
                let is_sum = sum.kind() == Some(ReduceKind::Add) && sum.nth().is_none();
                found.sums.push((is_of_many && is_sum).then_some(sum)?);
            } else {
                let by = [user.operand(0).ok()?, user.operand(1).ok()?];
                let by = by.into_iter().find(|factor| *factor != result)?;
                let varies = space.dims_of(by);
                let is_of_few = varies.is_subset(&many) && varies != many;
                let is_product = op_name(user) == "arith.mulf" && is_of_few;
                found
                    .products
                    .push(is_product.then_some(Product { op: user, by })?);
            }
        }
        Some(found)
    }

    fn scale(&self) -> PassResult<'c> {
        let f32 = self.a.r#type();
        let mut b = Builder::before(self.op);
        let reference = self.b;
        let size = b.value("math.absf", &[reference], f32);
        let is_small = compare_floats(&b, Predicate::AtMost, size, b.float(f32, LARGEST_ROUNDED));
        let select = |b: &Builder<'c, 'a>, one, other| b.value("arith.select", &[is_small, one, other], f32);
        let scale = select(&b, b.float(f32, LOG2_E), b.float(f32, 1.0));
        let product = b.value("arith.mulf", &[reference, scale], f32);
        let offset = b.value("arith.negf", &[product], f32);
        let exponent = b.value("math.fma", &[self.a, scale, offset], f32);
        let power = b.value("math.exp2", &[exponent], f32);
        let left = b.value("math.fma", &[reference, scale, offset], f32);
        let left = select(&b, left, b.float(f32, 0.0));
        let factor = b.value("math.exp2", &[b.value("arith.negf", &[left], f32)], f32);
        let result: Value = self.op.result(0)?.into();
        for sum in &self.sums {
            let total: Value = sum.op().result(0)?.into();
            let users = users(total);
            b.move_after(sum.op());
            let scaled = b.value("arith.mulf", &[total, factor], f32);
            for user in users {
                let operands = user.operands();
                let operands = operands.map(|operand| if operand == total { scaled } else { operand });
                b.set_operands(user, &operands.collect::<Vec<_>>());
            }
        }
        for product in &self.products {
            b.move_before(product.op);
            let by = b.value("arith.mulf", &[product.by, factor], f32);
            let scaled = b.value("arith.mulf", &[power, by], f32);
            b.replace_all_uses(product.op.result(0)?.into(), scaled);
        }
        b.replace_all_uses(result, power);
        Ok(())
    }
}

/// The number of elements along `dims` that a thread computes for each point of the other dims, as far as that is a constant.
fn elements_of_thread(space: &Space<'_, '_>, dims: &DimSet) -> i64 {
    let of_thread = |dim: &&usize| {
        let roles = space.roles.as_ref();
        let role = roles.and_then(|roles| roles.get(**dim));
        matches!(role, Some(DimRole::Register | DimRole::Loop))
    };
    let extents = dims.iter().filter(of_thread).map(|dim| space.extents[*dim]);
    let extents = extents.map(|extent| match extent.is_constant() {
        true => extent.constant_value().max(1),
        // A loop whose number of steps is known only at run time is taken to have many.
        false => FEWEST_ELEMENTS,
    });
    extents.fold(1, i64::saturating_mul)
}
