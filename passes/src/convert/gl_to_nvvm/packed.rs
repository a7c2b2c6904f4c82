//! Maxima and minima of 16-bit floats, two at a time: `max.NaN.bf16x2` and its kin.
//!
//! A word holds two values. The words of a thread are combined first, their halves last: a reduction is left as `max(low, high)`,
//! and one by the same op over its results goes on with `low` and `high`. What nothing else uses of it is dropped later.

use melior::ir::{BlockRef, OperationRef, Type, ValueLike, operation::OperationLike};

use crate::mlir::{combiner, diagnostic::Diagnostic, types, values::definition, walk};

use super::{
    emit::{Emit, Value},
    reduce::in_chains,
};

/// Whether an op takes the larger or the smaller of two floats.
pub(super) fn is_extreme(op: OperationRef<'_, '_>) -> bool {
    ["arith.maximumf", "arith.minimumf"].contains(&norma_dialects::op_name(op))
}

/// Whether a type is a float of which a word holds two.
pub(super) fn is_half(ty: Type<'_>) -> bool {
    types::is_float(ty) && types::bit_width(ty) == Some(16)
}

/// Reduces each group of a tile's registers, to a vector of one value for each; `None` where the combiner or the values are others.
pub(super) fn reduce<'c: 'a, 'a>(
    e: &Emit<'_, 'c, 'a>,
    block: BlockRef<'c, '_>,
    tile: Value<'c, 'a>,
    groups: &[Vec<usize>],
) -> Result<Option<Value<'c, 'a>>, Diagnostic<'c>> {
    let element = types::element(tile.r#type());
    let op = combiner::single_op(block).filter(|op| is_extreme(*op) && is_half(element));
    let Some(op) = op else {
        return Ok(None);
    };
    let pair = e.vector_of(2, element)?;
    let elements = |vector| e.elements(vector).map_err(|error| e.internal(error));
    let combine = |ty, one, other| -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let copy = e.b.rebuild(op, &[one, other], &[ty]);
        Ok(copy.result(0).map_err(|error| e.internal(error))?.into())
    };
    let registers = elements(tile)?;
    let halves = match halves(op, tile) {
        Some([low, high]) => Some((elements(low)?, elements(high)?)),
        None => None,
    };
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for group in groups {
        let words = match &halves {
            Some((low, high)) => group.iter().map(|index| [low[*index], high[*index]]).collect(),
            None => {
                let (pairs, []) = group.as_chunks::<2>() else {
                    return Ok(None);
                };
                let values = |pair: &[usize; 2]| pair.map(|index| registers[index]);
                pairs.iter().map(values).collect::<Vec<_>>()
            }
        };
        let words = words
            .iter()
            .map(|word| e.pack(word))
            .collect::<Result<Vec<_>, _>>()?;
        let word = in_chains(words, |one, other| combine(pair, *one, *other))?;
        let word = word.ok_or_else(|| e.internal("expected a register"))?;
        let [one, other] = elements(word)?[..] else {
            return Err(e.internal("expected the halves of a word"));
        };
        low.push(one);
        high.push(other);
    }
    let ty = e.vector_of(groups.len(), element)?;
    combine(ty, e.pack(&low)?, e.pack(&high)?).map(Some)
}

/// The two vectors of which `tile` is the combination by the same op.
fn halves<'c: 'a, 'a>(op: OperationRef<'c, '_>, tile: Value<'c, 'a>) -> Option<[Value<'c, 'a>; 2]> {
    let name = norma_dialects::op_name(op);
    let combined = definition(tile).filter(|op| walk::has_name(*op, name))?;
    Some([combined.operand(0).ok()?, combined.operand(1).ok()?])
}
