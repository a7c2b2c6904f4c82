//! `norm-narrow-comparisons`: coordinates are compared in 32 bits.
//!
//! Matches an `arith.cmpi` of a dim whose extent fits 32 bits with an index that does not vary over it: the column of a label, or the
//! diagonal of a causal mask. For each element a GPU takes two instructions to compare 64 bits, and two more to compute a coordinate
//! of 64 bits. The index is clamped to lie from -1 to the extent, which changes no comparison with a point of the dim, and is computed
//! once for each point that it varies over.

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike, r#type::IntegerType};
use norma_dialects::{norm::KernelOp, op_name};

use crate::{
    kernel::space::Space,
    mlir::{
        builder::Builder,
        comparison::is_unsigned,
        pass::{PassContext, PassResult},
        walk,
    },
    table::{NormNarrowComparisons, NormNarrowComparisonsStatistic},
};

pub(crate) fn run<'c>(
    op: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormNarrowComparisons>,
) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op) {
        let space = Space::of(kernel)?;
        for comparison in space.ops.iter().filter(|op| op_name(**op) == "arith.cmpi") {
            let sides = [comparison.operand(0)?, comparison.operand(1)?];
            let narrowed = [(0, 1), (1, 0)].into_iter().find_map(|(point, other)| {
                let (dim, extent) = narrow_dim(&space, sides[point])?;
                (!space.dims_of(sides[other]).contains(&dim)).then_some((point, other, extent))
            });
            let Some((point, other, extent)) = narrowed else {
                continue;
            };
            let b = Builder::before(*comparison);
            let i32 = IntegerType::new(b.context(), 32).into();
            let narrow = |value| b.value("arith.index_cast", &[value], i32);
            let mut operands = sides;
            operands[other] = narrow(clamped(&b, sides[other], extent, is_unsigned(*comparison)));
            operands[point] = narrow(sides[point]);
            b.set_operands(*comparison, &operands);
            cx.count(NormNarrowComparisonsStatistic::NumNarrowed, 1);
        }
    }
    Ok(())
}

/// The largest extent that is compared in 32 bits: tiles may reach beyond it, to less than twice as far.
const LARGEST_EXTENT: i64 = 1 << 30;

/// The dim that a value is, and the upper bound of its extent, if that is at most [`LARGEST_EXTENT`].
fn narrow_dim<'c, 'a>(space: &Space<'c, 'a>, value: Value<'c, 'a>) -> Option<(usize, i64)> {
    let dim = space.dim_position(value)?;
    let extent = space.extent_bounds(dim).bound()?;
    (extent <= LARGEST_EXTENT).then_some((dim, extent))
}

/// Clamps an index to the range from -1 to `extent`, or, as an unsigned number, from 0 to `extent`.
fn clamped<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    index: Value<'c, 'a>,
    extent: i64,
    is_unsigned: bool,
) -> Value<'c, 'a> {
    let bound = |op, index: Value<'c, 'a>, limit| b.value(op, &[index, b.index(limit)], index.r#type());
    match is_unsigned {
        true => bound("arith.minui", index, extent),
        false => bound("arith.maxsi", bound("arith.minsi", index, extent), -1),
    }
}
