//! Converts coordinates over a whole iteration space to the form of an access: a list of indices, and an affine map over these alone.
//!
//! An access has what it writes and its buffer as its first operands, its indices behind them, and a condition at its end.

use std::collections::BTreeSet;

use melior::{
    Context,
    ir::{AffineExpr, AffineMap, Value, attribute::DenseI32ArrayAttribute, operation::OperationLike},
};
use norma_dialects::affine_map_attribute;

use super::space::Access;
use crate::mlir::{
    affine::{Leaf, substitute, symbols},
    builder::Builder,
};

/// Rewrites an access to other coordinates. `dims` and `symbols` give the value of the dim, or the symbol, at each position.
pub fn set_coordinates<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    access: &Access<'c, 'a>,
    coordinates: &[AffineExpr<'c>],
    dims: &[(usize, Value<'c, 'a>)],
    symbols: &[(usize, Value<'c, 'a>)],
) {
    let (indices, map) = indices_of(b.context(), coordinates, dims, symbols);
    let leading = 1 + usize::from(access.is_write);
    let mut operands = access.op.operands().take(leading).collect::<Vec<_>>();
    let sizes = [1, indices.len(), usize::from(access.condition.is_some())];
    operands.extend(indices);
    operands.extend(access.condition);
    b.set_operands(access.op, &operands);
    b.set_attribute(access.op, "access", affine_map_attribute(map));
    if access.op.attribute(SEGMENTS).is_ok() {
        let sizes = vec![1; leading - 1]
            .into_iter()
            .chain(sizes.map(|size| size as i32));
        let sizes = DenseI32ArrayAttribute::new(b.context(), &sizes.collect::<Vec<_>>());
        b.set_attribute(access.op, SEGMENTS, sizes.into());
    }
}

/// The attribute with the number of operands in each operand group of an op that has several groups of variable length (MLIR's
/// `AttrSizedOperandSegments`).
const SEGMENTS: &str = "operandSegmentSizes";

/// Returns the indices that `coordinates` use, and the coordinates as a map over these. `dims` and `numbers` give the value of the dim, or
/// the symbol, at each position. Indices are in the order of `dims`, followed by those of `numbers`.
pub fn indices_of<'c: 'a, 'a>(
    context: &'c Context,
    coordinates: &[AffineExpr<'c>],
    dims: &[(usize, Value<'c, 'a>)],
    numbers: &[(usize, Value<'c, 'a>)],
) -> (Vec<Value<'c, 'a>>, AffineMap<'c>) {
    let used_numbers = coordinates
        .iter()
        .flat_map(|coordinate| symbols(*coordinate))
        .collect::<BTreeSet<_>>();
    let is_used = |dim: usize| {
        coordinates
            .iter()
            .any(|coordinate| coordinate.is_function_of_dim(dim))
    };
    let used_dims = dims.iter().filter(|(dim, _)| is_used(*dim));
    let used_dims = used_dims.copied().collect::<Vec<_>>();
    let used_numbers = numbers.iter().filter(|(number, _)| used_numbers.contains(number));
    let used_numbers = used_numbers.copied().collect::<Vec<_>>();
    let at = |used: &[(usize, Value<'c, 'a>)], wanted: usize, before: usize| {
        let position = used.iter().position(|(known, _)| *known == wanted);
        position.map_or_else(
            || AffineExpr::constant(context, 0),
            |position| AffineExpr::dim(context, before + position),
        )
    };
    let over_indices = |coordinate: &AffineExpr<'c>| {
        substitute(*coordinate, &mut |leaf| match leaf {
            Leaf::Dim(dim) => at(&used_dims, dim, 0),
            Leaf::Symbol(number) => at(&used_numbers, number, used_dims.len()),
        })
    };
    let coordinates = coordinates.iter().map(over_indices).collect::<Vec<_>>();
    let indices = used_dims.iter().chain(&used_numbers);
    let indices = indices.map(|(_, value)| *value).collect::<Vec<_>>();
    let map = AffineMap::new(context, indices.len(), 0, &coordinates);
    (indices, map)
}

/// Pairs each value with its position.
pub fn numbered<'c, 'a>(values: &[Value<'c, 'a>]) -> Vec<(usize, Value<'c, 'a>)> {
    values.iter().copied().enumerate().collect()
}
