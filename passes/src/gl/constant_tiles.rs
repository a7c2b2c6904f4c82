//! Tiles of a reduction whose elements are all one compile-time constant, so that the partial results are constants too, the
//! same in all threads.
//!
//! For example, where a combiner's tuples hold a number of elements beside their sum (Welford), that number is known wherever
//! no element is masked off. Its partial results need not be exchanged, and arithmetic on them folds.

use melior::ir::{
    BlockRef, OperationRef, Value, ValueLike, attribute::DenseElementsAttribute, operation::OperationLike,
};
use norma_dialects::{gl::ReduceOp, op_name};

use crate::mlir::{
    builder::Builder, combiner, diagnostic::Diagnostic, pass::PassError, types, values::definition, walk,
};

/// Returns for each of `tiles` whether it is one constant and `combiner` computes its result from such tiles alone.
pub(crate) fn are_constant(tiles: &[Value<'_, '_>], combiner: BlockRef<'_, '_>) -> Vec<bool> {
    let Some(needs) = combiner::needs(combiner, tiles.len()) else {
        return vec![false; tiles.len()];
    };
    let mut known = tiles.iter().map(|tile| is_constant(*tile)).collect::<Vec<_>>();
    loop {
        let is_lost = |tile: &usize| known[*tile] && needs[*tile].iter().any(|needed| !known[*needed]);
        let Some(lost) = (0..tiles.len()).find(is_lost) else {
            return known;
        };
        known[lost] = false;
    }
}

/// Replaces the results of a function's reductions that are constants by the constants, so that reductions of these results see
/// them.
///
/// # Errors
///
/// As [`combined`].
pub(crate) fn fold<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    for reduce in walk::all(function, ReduceOp::from_op) {
        let op = reduce.op();
        let tiles = reduce.tiles();
        let shape = tiles.first().and_then(|tile| types::shape(tile.r#type()));
        let count = shape.and_then(|shape| shape.get(reduce.axis().ok()? as usize).copied()?);
        let Some(count) = count else {
            continue;
        };
        let b = Builder::before(op);
        let constants = combined(&b, &tiles, walk::entry_block(op)?, count)?;
        let are_all_constant = constants.iter().all(Option::is_some);
        for (result, scalar) in op.results().zip(constants) {
            if let Some(scalar) = scalar {
                let result = Value::from(result);
                b.replace_all_uses(result, b.value("tensor.splat", &[scalar], result.r#type()));
            }
        }
        if are_all_constant {
            b.erase(op);
        }
    }
    Ok(())
}

/// Returns what `combiner` makes of `count` elements of each tile, as scalars at `b`, for the tiles of which [`are_constant`]
/// holds, and `None` for the others. `count` is a power of two, as the extents of tiles' axes are.
///
/// # Errors
///
/// As [`combiner::inline`].
pub(crate) fn combined<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    tiles: &[Value<'c, 'a>],
    combiner: BlockRef<'c, 'a>,
    count: i64,
) -> Result<Vec<Option<Value<'c, 'a>>>, Diagnostic<'c>> {
    let are_constant = are_constant(tiles, combiner);
    if !are_constant.contains(&true) {
        return Ok(vec![None; tiles.len()]);
    }
    let mut tuple = Vec::with_capacity(tiles.len());
    for (tile, is_constant) in tiles.iter().zip(&are_constant) {
        let element = types::element(tile.r#type());
        tuple.push(match is_constant {
            true => scalar(b, *tile)?,
            // The constant results do not depend on this element, so any value will do.
            false => b.zero(element),
        });
    }
    for _ in 0..count.unsigned_abs().max(1).ilog2() {
        tuple = combiner::inline(b, combiner, &[&tuple[..], &tuple[..]].concat())?;
    }
    let constants = tuple.into_iter().zip(are_constant);
    Ok(constants
        .map(|(value, is_constant)| is_constant.then_some(value))
        .collect())
}

/// Returns the constant that all elements of a tile equal, as a scalar at `b`.
fn scalar<'c: 'a, 'a>(b: &Builder<'c, 'a>, tile: Value<'c, 'a>) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let of_op = |op: OperationRef<'c, 'a>| match walk::has_name(op, "tensor.splat") {
        true => op.operand(0).ok(),
        false => Some(b.constant(dense(op)?.splat_value(), types::element(tile.r#type()))),
    };
    let scalar = definition(tile).and_then(of_op);
    scalar.ok_or_else(|| Diagnostic::internal(b.location(), "expected a tile of one constant"))
}

/// Whether all elements of a tile are one constant.
fn is_constant(tile: Value<'_, '_>) -> bool {
    definition(tile).is_some_and(|op| match walk::has_name(op, "tensor.splat") {
        true => op.operand(0).is_ok_and(is_constant_scalar),
        false => dense(op).is_some(),
    })
}

/// The value of an `arith.constant` of equal elements.
fn dense<'c>(op: OperationRef<'c, '_>) -> Option<DenseElementsAttribute<'c>> {
    let value = op.attribute("value").ok()?;
    let value = walk::has_name(op, "arith.constant").then_some(value)?;
    let dense = DenseElementsAttribute::try_from(value).ok()?;
    dense.is_splat().then_some(dense)
}

/// Whether a scalar is a constant, or arithmetic on constants that nothing has folded yet.
fn is_constant_scalar(scalar: Value<'_, '_>) -> bool {
    definition(scalar).is_some_and(|op| {
        let is_arithmetic = op_name(op).starts_with("arith.") && op.region_count() == 0;
        is_arithmetic && op.operands().all(is_constant_scalar)
    })
}
