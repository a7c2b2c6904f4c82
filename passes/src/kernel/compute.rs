//! Helpers for `norm.compute`: its block arguments, the extents that its writes cover, and building a new one without a body.

use melior::ir::{
    AffineExpr, AffineMap, Block, BlockLike, BlockRef, OperationRef, Region, RegionLike, Type, Value,
    ValueLike, operation::OperationLike,
};
use norma_dialects::norm::{ComputeOp, WriteOp};

use super::guards::{self, Guard};
use crate::mlir::{
    affine::simplified, builder::Builder, linear_form::LinearForm, pass::PassError, types, values::key, walk,
};

/// The arguments of a compute's block, in their order.
#[derive(Clone, Debug)]
pub struct Arguments<'c, 'a> {
    /// The tensors among the inputs.
    pub tensors: Vec<Value<'c, 'a>>,
    /// The results.
    pub results: Vec<Value<'c, 'a>>,
    /// The scalars among the inputs.
    pub scalars: Vec<Value<'c, 'a>>,
    /// The dims of the iteration space.
    pub dims: Vec<Value<'c, 'a>>,
}

/// Splits the operands of a compute into tensors and scalars.
pub fn inputs<'c: 'a, 'a>(compute: ComputeOp<'c, 'a>) -> (Vec<Value<'c, 'a>>, Vec<Value<'c, 'a>>) {
    let inputs = compute.inputs().into_iter();
    inputs.partition(|input| types::is_tensor(input.r#type()))
}

/// The block of a compute.
///
/// # Errors
///
/// Internal: the compute is not one that its verifier accepts.
pub fn block<'c: 'a, 'a>(compute: ComputeOp<'c, 'a>) -> Result<BlockRef<'c, 'a>, PassError<'c>> {
    let block = compute.body()?.first_block();
    block.ok_or_else(|| PassError::Internal("expected a norm.compute with a body".to_owned()))
}

/// The arguments of a compute's block.
///
/// # Errors
///
/// Internal: the compute is not one that its verifier accepts.
pub fn arguments<'c: 'a, 'a>(compute: ComputeOp<'c, 'a>) -> Result<Arguments<'c, 'a>, PassError<'c>> {
    let block = block(compute)?;
    let mut all = (0..block.argument_count())
        .map(|index| block.argument(index).map(Value::from))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter();
    let (tensors, scalars) = inputs(compute);
    let mut next = |count: usize| all.by_ref().take(count).collect::<Vec<_>>();
    Ok(Arguments {
        tensors: next(tensors.len()),
        results: next(compute.outputs().len()),
        scalars: next(scalars.len()),
        dims: next(usize::MAX),
    })
}

/// For each write to a result, the extent that it covers along each axis of the result: the greatest coordinate in the space, plus one,
/// or the limit that a guard sets it. Extents are expressions over the compute's sizes.
///
/// # Errors
///
/// Internal: the compute is not one that its verifier accepts.
pub fn reached<'c: 'a, 'a>(
    compute: ComputeOp<'c, 'a>,
    result: usize,
) -> Result<Vec<Vec<AffineExpr<'c>>>, PassError<'c>> {
    let arguments = arguments(compute)?;
    let extents = compute.extents()?;
    let guards = compute
        .guards()
        .map(guards::of_map)
        .transpose()?
        .unwrap_or_default();
    let context = crate::mlir::context::of(compute.op().location());
    let constant = |value: i64| AffineExpr::constant(context, value);
    let mut found = Vec::new();
    for write in walk::in_block(block(compute)?)
        .into_iter()
        .filter_map(WriteOp::from_op)
    {
        if arguments.results.get(result) != Some(&write.buffer()?) {
            continue;
        }
        let dim = |index: &Value<'c, 'a>| {
            let dim = arguments.dims.iter().position(|dim| key(*dim) == key(*index));
            dim.ok_or_else(|| PassError::Internal("a write's index is no dim".to_owned()))
        };
        let indices = write.indices();
        let dims = indices
            .iter()
            .map(dim)
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        let points = dims.iter().map(|dim| Ok(extents.result(*dim)? + constant(-1)));
        let points = points.collect::<Result<Vec<_>, PassError<'c>>>()?;
        let sizes = extents.symbol_count();
        let access = write.access()?;
        let count = arguments.dims.len();
        let of_space = dims.iter().map(|dim| AffineExpr::dim(context, *dim));
        let of_space = AffineMap::new(context, count, 0, &of_space.collect::<Vec<_>>());
        let used = dims.iter().copied().collect();
        let reached = (0..access.result_count())
            .map(|axis| {
                let coordinate = access.result(axis)?;
                let [_, greatest] = LinearForm::extreme_corners(coordinate, &points, sizes, constant(0));
                let last = coordinate.compose(AffineMap::new(context, 0, sizes, &greatest));
                let reached = simplified(last + constant(1), sizes);
                let coordinate = coordinate.compose(of_space);
                let own = guards.iter().filter(|guard| guards::concerns(guard, &used));
                let left = |reached, guard| {
                    guards::left_by(guard, coordinate, count, reached, context).unwrap_or(reached)
                };
                Ok(own.fold(reached, left))
            })
            .collect::<Result<_, PassError<'c>>>()?;
        found.push(reached);
    }
    Ok(found)
}

/// The operands, results and iteration space of a new compute.
#[derive(Debug)]
pub struct Signature<'s, 'c, 'a> {
    /// The tensors that it reads or takes sizes from, each once.
    pub tensors: &'s [Value<'c, 'a>],
    /// The scalars that it reads, each once.
    pub scalars: &'s [Value<'c, 'a>],
    /// The types of its results.
    pub results: &'s [Type<'c>],
    /// The extents of its dims, over `sizes`.
    pub extents: &'s [AffineExpr<'c>],
    /// The sizes as pairs (tensor, axis); results are numbered after the tensors.
    pub sizes: &'s [(usize, usize)],
    /// The guards of its space, over its dims and `sizes`.
    pub guards: &'s [Guard<'c>],
}

/// Inserts a compute whose body is empty.
///
/// # Errors
///
/// Internal: the op cannot be built.
pub fn insert<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    signature: &Signature<'_, 'c, 'a>,
) -> Result<ComputeOp<'c, 'a>, PassError<'c>> {
    let location = b.location();
    let types = |values: &[Value<'c, 'a>]| values.iter().map(ValueLike::r#type).collect::<Vec<_>>();
    let index = Type::index(b.context());
    let arguments = [
        types(signature.tensors),
        signature.results.to_vec(),
        types(signature.scalars),
        vec![index; signature.extents.len()],
    ];
    let arguments = arguments.into_iter().flatten().map(|ty| (ty, location));
    let body = Region::new();
    body.append_block(Block::new(&arguments.collect::<Vec<_>>()));
    let inputs = [signature.tensors, signature.scalars].concat();
    let extents = AffineMap::new(b.context(), 0, signature.sizes.len(), signature.extents);
    let sizes = signature
        .sizes
        .iter()
        .flat_map(|(tensor, axis)| [*tensor as i64, *axis as i64])
        .collect::<Vec<_>>();
    let guards = guards::map_of(
        b.context(),
        signature.guards,
        signature.extents.len(),
        signature.sizes.len(),
    );
    let compute = ComputeOp::build(
        location,
        &inputs,
        extents,
        &sizes,
        guards,
        signature.results,
        body,
    )?;
    of(b.insert(compute))
}

fn of<'c, 'a>(op: OperationRef<'c, 'a>) -> Result<ComputeOp<'c, 'a>, PassError<'c>> {
    ComputeOp::from_op(op).ok_or_else(|| PassError::Internal("expected norm.compute".to_owned()))
}
