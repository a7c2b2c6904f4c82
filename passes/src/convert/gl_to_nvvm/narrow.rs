//! Moves the widening of 16-bit floats behind maxima and minima within a thread.
//!
//! Widening is exact and keeps the order, so the largest of the widened values is the widened largest value. Narrow values are
//! combined in pairs (`packed`). Lanes and warps exchange wide values, which need no conversion for that.
//!
//! This happens before the conversion, on `gl`: a reduction along the next axis sees the widening that the last one has left.

use melior::ir::{
    BlockLike, Location, OperationRef, RegionLike, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::{
    gl::{ReduceOp, YieldOp},
    layout,
};

use crate::mlir::{
    builder::Builder, combiner, diagnostic::Diagnostic, pass::PassError, region, types, values::definition,
    walk,
};

use super::packed;

/// Narrows the reductions of a kernel.
pub(super) fn reductions<'c: 'a, 'a>(kernel: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    let reductions = walk::named(kernel, ReduceOp::NAME);
    for reduce in reductions.into_iter().filter_map(ReduceOp::from_op) {
        if let Some(tile) = widened(reduce)? {
            narrow(reduce, tile)?;
        }
    }
    Ok(())
}

/// The tile of 16-bit floats of which a reduction takes the largest or smallest, if it stays within each thread.
fn widened<'c: 'a, 'a>(reduce: ReduceOp<'c, 'a>) -> Result<Option<Value<'c, 'a>>, PassError<'c>> {
    let [tile] = reduce.tiles()[..] else {
        return Ok(None);
    };
    let is_extreme = combiner::single_op(walk::entry_block(reduce.op())?).is_some_and(packed::is_extreme);
    let extension = definition(tile).filter(|op| is_extreme && walk::has_name(*op, "arith.extf"));
    let Some(extension) = extension else {
        return Ok(None);
    };
    let narrow = extension.operand(0)?;
    let plan = layout::of_tile(tile.r#type())
        .ok()
        .and_then(|layout| layout.reduction(reduce.axis().ok()? as usize).ok());
    let is_within_thread = plan.is_some_and(|plan| {
        plan.lane_shuffles.is_empty() && plan.warp_masks.is_empty() && plan.block_masks.is_empty()
    });
    Ok((is_within_thread && packed::is_half(types::element(narrow.r#type()))).then_some(narrow))
}

/// Reduces `tile` instead, and widens the result.
fn narrow<'c: 'a, 'a>(reduce: ReduceOp<'c, 'a>, tile: Value<'c, 'a>) -> Result<(), PassError<'c>> {
    let op = reduce.op();
    let location = op.location();
    let b = Builder::before(op);
    let element = types::element(tile.r#type());
    let wide = op.result(0)?.r#type();
    let ty = types::tensor(
        &types::shape(wide).unwrap_or_default(),
        element,
        types::encoding(wide),
    )
    .ok_or_else(|| Diagnostic::internal(location, "expected a tile"))?;

    let combined = combiner::single_op(walk::entry_block(op)?)
        .ok_or_else(|| Diagnostic::internal(location, "expected a combiner of one op"))?;
    let argument: (Type<'c>, Location<'c>) = (element, location);
    let region = region::of_block(&[argument, argument]);
    let body = region
        .first_block()
        .ok_or_else(|| Diagnostic::internal(location, "expected a block"))?;
    let inside = Builder::at_end(body, location);
    let operands = [body.argument(0)?.into(), body.argument(1)?.into()];
    let result = inside.rebuild(combined, &operands, &[element]).result(0)?.into();
    inside.op(YieldOp::NAME, &[result], &[]);
    let narrow = ReduceOp::build(location, &[tile], reduce.axis()?, &[ty], region)?;
    let narrow = b.insert(narrow).result(0)?.into();
    let widened = b.value("arith.extf", &[narrow], wide);
    b.replace(op, &[widened]);
    Ok(())
}
