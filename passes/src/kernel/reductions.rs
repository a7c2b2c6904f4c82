//! Builds `norm.reduce` ops: by a named combiner, or of tuples by a combiner written as a region.

use melior::{
    Error,
    ir::{
        Attribute, Block, BlockLike, OperationRef, Region, RegionLike, Type, Value, ValueLike,
        attribute::DenseI32ArrayAttribute, operation::OperationLike,
    },
};
use norma_dialects::norm::{ReduceKind, ReduceOp, YieldOp};

use super::named_combiner;
use crate::mlir::{builder::Builder, combiner, pass::PassError, types, walk};

/// Applies the combiner of a reduction to two tuples of partial results, which `sides` holds one after the other.
///
/// # Errors
/// Unsupported: a combiner whose ops have regions. Internal: a combiner that its op's verifier does not accept.
pub fn combine<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    reduce: ReduceOp<'c, 'a>,
    sides: &[Value<'c, 'a>],
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let Some(kind) = reduce.kind() else {
        let block = reduce.combiner()?.first_block();
        let block = block.ok_or_else(|| PassError::Internal("expected a combiner".to_owned()))?;
        return Ok(combiner::inline(b, block, sides)?);
    };
    let ty = reduce.values()[0].r#type();
    let (op, flags) = named_combiner::op(kind, types::is_float(ty));
    let flags = flags.and_then(|flags| Attribute::parse(b.context(), flags));
    let attributes = flags.map(|flags| ("fastmath", flags));
    Ok(vec![b.value_with(op, sides, ty, attributes.as_slice())])
}

/// Reduces `value` over `dims` by a named combiner; returns the value itself if there are no dims.
///
/// # Errors
/// MLIR refuses to build the op.
pub fn reduce<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    kind: ReduceKind,
    dims: &[Value<'c, 'a>],
    value: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, Error> {
    if dims.is_empty() {
        return Ok(value);
    }
    named(b, kind, dims, None, value)
}

/// Reduces `value` over `dims` to its order statistics: at point `n` of the dim `nth`, the result is the value that comes `n`-th in the
/// order of `kind`, counted from 0, the largest first for a maximum.
///
/// # Errors
/// MLIR refuses to build the op.
pub fn reduce_to_nth<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    kind: ReduceKind,
    dims: &[Value<'c, 'a>],
    nth: Value<'c, 'a>,
    value: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, Error> {
    named(b, kind, dims, Some(nth), value)
}

fn named<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    kind: ReduceKind,
    dims: &[Value<'c, 'a>],
    nth: Option<Value<'c, 'a>>,
    value: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, Error> {
    let types = [value.r#type()];
    let (kind, combiner) = (Some(kind), Region::new());
    let reduce = ReduceOp::build(b.location(), &[value], dims, nth, kind, None, &types, combiner)?;
    Ok(b.insert(reduce).result(0)?.into())
}

/// Gives a `norm.reduce` other operands.
pub fn set_operands<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    reduce: OperationRef<'c, 'a>,
    values: &[Value<'c, 'a>],
    dims: &[Value<'c, 'a>],
    nth: Option<Value<'c, 'a>>,
) {
    let nth = nth.as_slice();
    let segments = [values.len(), dims.len(), nth.len()].map(|size| size as i32);
    let segments = DenseI32ArrayAttribute::new(b.context(), &segments);
    b.set_operands(reduce, &[values, dims, nth].concat());
    b.set_attribute(reduce, "operandSegmentSizes", segments.into());
}

/// Reduces tuples over `dims` by the combiner that `combine` writes for two tuples; returns the tuple itself if there are no dims.
///
/// # Errors
/// MLIR refuses to build the op.
pub fn reduce_tuples<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    dims: &[Value<'c, 'a>],
    values: &[Value<'c, 'a>],
    identity: &[Attribute<'c>],
    combine: impl Fn(&Builder<'c, 'a>, &[Value<'c, 'a>], &[Value<'c, 'a>]) -> Vec<Value<'c, 'a>>,
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    if dims.is_empty() {
        return Ok(values.to_vec());
    }
    let types = values
        .iter()
        .map(|value| value.r#type())
        .collect::<Vec<Type<'c>>>();
    let arguments = types
        .iter()
        .chain(&types)
        .map(|ty| (*ty, b.location()))
        .collect::<Vec<_>>();
    let region = Region::new();
    region.append_block(Block::new(&arguments));
    let reduce = ReduceOp::build(
        b.location(),
        values,
        dims,
        None,
        None,
        Some(identity),
        &types,
        region,
    )?;
    let reduce = b.insert(reduce);
    let block = walk::entry_block(reduce)?;
    let sides = (0..arguments.len())
        .map(|index| block.argument(index).map(Value::from))
        .collect::<Result<Vec<_>, _>>()?;
    let inside = Builder::at_end(block, b.location());
    let (one, other) = sides.split_at(values.len());
    let yielded = combine(&inside, one, other);
    inside.op(YieldOp::NAME, &yielded, &[]);
    Ok(reduce.results().map(Into::into).collect())
}
