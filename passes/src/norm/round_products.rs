//! `norm-round-products`: a product keeps its rounding where its distance to the largest of such products is computed.
//!
//! Softmax of scaled logits subtracts the maximum `m` of the products `x * s` from each of them. `m` is one of these products, rounded. If
//! `nvvm-contract-sums` made `x * s - m` an fma, the distance of the largest product would be the rounding error of `m` rather than 0.
//! Beyond 2^30 that is more than the argument of an exponential may be off by, and `log_softmax` of equal logits would be off by half an
//! ulp of a logit. Only results of reductions that select an element matter here. A sum or a product of such elements has a rounding error
//! of its own, beside which that of one product is negligible.

use std::collections::HashSet;

use melior::ir::{Attribute, OperationRef, Value, operation::OperationLike};
use norma_dialects::{
    attributes,
    norm::{KernelOp, ReduceKind, ReduceOp},
    op_name,
};

use crate::{
    kernel::space::Space,
    mlir::{
        builder::Builder,
        pass::{PassContext, PassResult},
        values::{definition, key},
        walk,
    },
    table::{NormRoundProducts, NormRoundProductsStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormRoundProducts>) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op) {
        let space = Space::of(kernel)?;
        for sum in &space.ops {
            if !["arith.subf", "arith.addf"].contains(&op_name(*sum)) {
                continue;
            }
            let [x, y] = [sum.operand(0)?, sum.operand(1)?];
            for (value, other) in [(x, y), (y, x)] {
                let product = definition(value).filter(|op| op_name(*op) == "arith.mulf");
                let product = product.filter(|_| is_chosen_from(&space, other, value));
                if let Some(product) = product {
                    let b = Builder::before(product);
                    b.set_attribute(product, attributes::op::ROUNDED, Attribute::unit(b.context()));
                    cx.count(NormRoundProductsStatistic::NumProducts, 1);
                }
            }
        }
    }
    Ok(())
}

/// Whether a value depends on a reduction, other than a sum or a product, of elements that depend on `element`.
fn is_chosen_from<'c: 'a, 'a>(space: &Space<'c, 'a>, value: Value<'c, 'a>, element: Value<'c, 'a>) -> bool {
    let waits_for = space.waits_for(value);
    let mut reductions = waits_for
        .iter()
        .filter_map(|position| ReduceOp::from_op(space.ops[position]));
    reductions.any(|reduce| {
        let is_sum = matches!(reduce.kind(), Some(ReduceKind::Add | ReduceKind::Mul));
        !is_sum && depends(reduce.values(), element)
    })
}

/// Whether any of some values is computed from `element` by scalar ops.
fn depends<'c: 'a, 'a>(values: Vec<Value<'c, 'a>>, element: Value<'c, 'a>) -> bool {
    let mut open = values;
    let mut seen = HashSet::new();
    while let Some(value) = open.pop() {
        if value == element {
            return true;
        }
        if !seen.insert(key(value)) {
            continue;
        }
        let computed = definition(value).filter(|op| !op_name(*op).starts_with("norm."));
        open.extend(computed.iter().flat_map(|op| op.operands()));
    }
    false
}
