//! A `norm.compute` while a decomposition writes it.
//!
//! All arithmetic is f32: reads are widened and writes rounded, once, so that operands may differ in type.

use melior::ir::{AffineExpr, AffineMap};
use melior::ir::{
    Block, BlockLike, OperationRef, Region, RegionLike, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::norm::{ComputeOp, ReadOp, ReduceKind, ReduceOp, WriteOp};

use crate::mlir::{builder::Builder, pass::PassError, types, walk};

/// Writes the body of a `norm.compute`.
pub(super) struct Program<'c, 'a> {
    compute: OperationRef<'c, 'a>,
    inputs: Vec<Value<'c, 'a>>,
    outputs: Vec<Value<'c, 'a>>,
    dims: Vec<Value<'c, 'a>>,
    b: Builder<'c, 'a>,
    f32: Type<'c>,
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// Begins the definition of `named`, which stands before it, with a dim for each axis of the first input. The
    /// outputs are the results of `named`.
    pub(super) fn begin(
        named: OperationRef<'c, 'a>,
        inputs: &[Value<'c, 'a>],
    ) -> Result<Self, PassError<'c>> {
        let location = named.location();
        let outer = Builder::before(named);
        let context = outer.context();
        let results = named.results().map(|result| result.r#type()).collect::<Vec<_>>();

        let shape = inputs
            .first()
            .and_then(|input| types::shape(input.r#type()))
            .unwrap_or_default();
        let mut sizes = Vec::new();
        let mut extents = Vec::new();
        for (axis, size) in shape.iter().enumerate() {
            extents.push(match size {
                Some(size) => AffineExpr::constant(context, *size),
                None => {
                    sizes.extend([0, axis as i64]);
                    AffineExpr::symbol(context, sizes.len() / 2 - 1)
                }
            });
        }
        let extents = AffineMap::new(context, 0, sizes.len() / 2, &extents);

        let index = Type::index(context);
        let arguments = inputs
            .iter()
            .map(|input| input.r#type())
            .chain(results.iter().copied())
            .chain(shape.iter().map(|_| index))
            .map(|ty| (ty, location))
            .collect::<Vec<_>>();
        let body = Region::new();
        body.append_block(Block::new(&arguments));
        let compute = ComputeOp::build(location, inputs, extents, &sizes, &results, body)?;
        let compute = outer.insert(compute);

        let block = walk::entry_block(compute)?;
        let mut arguments = (0..arguments.len())
            .map(|index| block.argument(index).map(Value::from))
            .collect::<Result<Vec<_>, _>>()?;
        let dims = arguments.split_off(inputs.len() + results.len());
        let outputs = arguments.split_off(inputs.len());
        Ok(Self {
            compute,
            inputs: arguments,
            outputs,
            dims,
            b: Builder::at_end(block, location),
            f32: Type::float32(context),
        })
    }

    /// The dims, outermost first.
    pub(super) fn dims(&self) -> &[Value<'c, 'a>] {
        &self.dims
    }

    /// The element of an input at `dims`, one for each of its axes, as f32.
    pub(super) fn read(&self, input: usize, dims: &[Value<'c, 'a>]) -> Result<Value<'c, 'a>, PassError<'c>> {
        let access = AffineMap::multi_dim_identity(self.b.context(), dims.len());
        let read = ReadOp::build(self.b.location(), self.inputs[input], dims, access)?;
        let value = Value::from(self.b.insert(read).result(0)?);
        Ok(if value.r#type() == self.f32 {
            value
        } else {
            self.b.value("arith.extf", &[value], self.f32)
        })
    }

    /// Rounds an f32 to the output's type and writes it at `dims`, one for each of its axes.
    pub(super) fn write(
        &self,
        value: Value<'c, 'a>,
        output: usize,
        dims: &[Value<'c, 'a>],
    ) -> Result<(), PassError<'c>> {
        let element = types::element(self.outputs[output].r#type());
        let value = if element == self.f32 {
            value
        } else {
            self.b.value("arith.truncf", &[value], element)
        };
        let access = AffineMap::multi_dim_identity(self.b.context(), dims.len());
        let write = WriteOp::build(self.b.location(), value, self.outputs[output], dims, access)?;
        self.b.insert(write);
        Ok(())
    }

    /// The sum over `dims`.
    pub(super) fn sum(
        &self,
        value: Value<'c, 'a>,
        dims: &[Value<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let kind = Some(ReduceKind::Add);
        let reduce = ReduceOp::build(
            self.b.location(),
            &[value],
            dims,
            kind,
            None,
            &[self.f32],
            Region::new(),
        )?;
        Ok(self.b.insert(reduce).result(0)?.into())
    }

    /// An f32 constant, rounded from `value`.
    pub(super) fn constant(&self, value: f64) -> Value<'c, 'a> {
        self.b.float(self.f32, value)
    }

    /// An `arith` or `math` op on f32.
    pub(super) fn op(&self, name: &str, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        self.b.value(name, operands, self.f32)
    }

    /// Ends the definition: it takes the place of `named`.
    pub(super) fn end(self, named: OperationRef<'c, 'a>) {
        let results = self.compute.results().map(Value::from).collect::<Vec<_>>();
        Builder::before(named).replace(named, &results);
    }
}
