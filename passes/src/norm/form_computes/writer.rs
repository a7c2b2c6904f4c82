//! A compute that takes the place of an op: its space, its inputs, and the program that is being written.

use std::collections::HashMap;

use melior::ir::{
    AffineExpr, AffineMap, OperationRef, Type, Value, ValueLike, operation::OperationLike,
    r#type::IntegerType,
};
use norma_dialects::norm::{ReadOp, ReduceKind, WriteOp};

use super::sizes::{Size, Sizes};
use crate::{
    kernel::{
        compute::{self, Arguments, Signature},
        indices::{indices_of, numbered},
        reductions,
    },
    mlir::{
        builder::Builder,
        pass::{PassError, PassResult},
        types,
        values::key,
    },
    norm::function_scalars,
};

/// Where a program gets a number that is taken from a tensor.
enum Source<'c, 'a> {
    /// A size that is known.
    Constant(i64),
    /// A size: the number of points of the dim at this position.
    Count(usize),
    /// What a tensor without axes holds.
    Element(Value<'c, 'a>),
}

/// Where a program over `extents` gets a size from; the extent of a further dim is added to them if none is that size.
fn count<'c, 'a>(size: Size<'c, 'a>, extents: &mut Vec<Size<'c, 'a>>) -> Source<'c, 'a> {
    if let Size::Static(size) = size {
        return Source::Constant(size);
    }
    let known = extents.iter().position(|extent| *extent == size);
    Source::Count(known.unwrap_or_else(|| {
        extents.push(size);
        extents.len() - 1
    }))
}

/// A compute whose program is being written.
pub(super) struct Writer<'c, 'a> {
    /// Inserts at the end of the program.
    pub(super) b: Builder<'c, 'a>,
    arguments: Arguments<'c, 'a>,
    /// By tensor or number outside of the compute: the value that stands for it in the program.
    inside: HashMap<usize, Value<'c, 'a>>,
    /// The results of the compute.
    outside: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Writer<'c, 'a> {
    /// Inserts a compute before `op`, with results of the op's types and one dim for each of `extents`. Its inputs are `tensors`, the
    /// tensors whose sizes `extents` are, and the arguments and tensors that `numbers` depend on. A size that `numbers` depend on is
    /// computed as a sum of ones over a dim of that extent, which is one of `extents` or a further dim behind them.
    ///
    /// # Errors
    ///
    /// Unsupported: one of `numbers` is not computed from constants, arguments, elements of tensors without axes, and sizes that are
    /// available before `op`.
    pub(super) fn begin(
        known: &Sizes<'c, 'a>,
        op: OperationRef<'c, 'a>,
        tensors: &[Value<'c, 'a>],
        numbers: &[Value<'c, 'a>],
        extents: &[Size<'c, 'a>],
    ) -> Result<Self, PassError<'c>> {
        let b = Builder::before(op);
        let context = b.context();
        let (mut leaves, mut taken) = (Vec::new(), Vec::new());
        for number in numbers {
            function_scalars::leaves_and_taken(*number, op, &mut leaves, &mut taken)?;
        }
        let mut extents = extents.to_vec();
        let taken = taken.into_iter().map(|from| {
            let number = Value::from(from.result(0)?);
            let source = match (function_scalars::held_by(from), known.of_number(number, op)) {
                (Some(tensor), _) => Source::Element(tensor),
                (None, Some(size)) => count(size, &mut extents),
                (None, None) => return Err(function_scalars::unknown_number(from, op, true)),
            };
            Ok((number, source))
        });
        let taken = taken.collect::<Result<Vec<_>, PassError<'c>>>()?;
        let mut inputs = Vec::new();
        let mut position = |tensor: Value<'c, 'a>| {
            inputs
                .iter()
                .position(|known| *known == tensor)
                .unwrap_or_else(|| {
                    inputs.push(tensor);
                    inputs.len() - 1
                })
        };
        for tensor in tensors {
            position(*tensor);
        }
        for (_, source) in &taken {
            if let Source::Element(tensor) = source {
                position(*tensor);
            }
        }
        let mut sizes = Vec::new();
        let mut size = |tensor: Value<'c, 'a>, axis: usize| {
            let size = (position(tensor), axis);
            let known = sizes.iter().position(|known| *known == size);
            let symbol = known.unwrap_or_else(|| {
                sizes.push(size);
                sizes.len() - 1
            });
            AffineExpr::symbol(context, symbol)
        };
        let of_space = extents.iter().map(|extent| match extent {
            Size::Static(size) => AffineExpr::constant(context, *size),
            Size::Of(tensor, axis) => size(*tensor, *axis),
            Size::Quotient(tensor, axis, divisor) => {
                AffineExpr::floor_div(size(*tensor, *axis), AffineExpr::constant(context, *divisor))
            }
        });
        let of_space = of_space.collect::<Vec<_>>();
        let results = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
        let compute = compute::insert(
            &b,
            &Signature {
                tensors: &inputs,
                scalars: &leaves,
                results: &results,
                extents: &of_space,
                sizes: &sizes,
                guards: &[],
            },
        )?;
        let arguments = compute::arguments(compute)?;
        let outside = inputs.iter().chain(&leaves);
        let inside = arguments.tensors.iter().chain(&arguments.scalars);
        let b = Builder::at_end(compute::block(compute)?, op.location());
        let mut inside = outside
            .map(|value| key(*value))
            .zip(inside.copied())
            .collect::<HashMap<_, _>>();
        for (number, source) in taken {
            let number_inside = match source {
                Source::Constant(size) => b.index(size),
                Source::Count(dim) => {
                    let one = b.integer(IntegerType::new(context, 64).into(), 1);
                    let sum = reductions::reduce(&b, ReduceKind::Add, &[arguments.dims[dim]], one)?;
                    b.value("arith.index_cast", &[sum], Type::index(context))
                }
                Source::Element(tensor) => {
                    let access = AffineMap::new(context, 0, 0, &[]);
                    let read = ReadOp::build(b.location(), inside[&key(tensor)], &[], access)?;
                    b.insert(read).result(0)?.into()
                }
            };
            inside.insert(key(number), number_inside);
        }
        Ok(Self {
            b,
            inside,
            arguments,
            outside: compute.outputs(),
        })
    }

    /// The dims, outermost first.
    pub(super) fn dims(&self) -> &[Value<'c, 'a>] {
        &self.arguments.dims
    }

    /// The results of the compute.
    pub(super) fn results(&self) -> Vec<Value<'c, 'a>> {
        self.outside.clone()
    }

    /// The value of an operand within the program. That of a tensor is the element at `access`, whose dims are those of the compute and
    /// whose symbols are the compute's scalar inputs; that of a number does not depend on `access`.
    pub(super) fn read(
        &mut self,
        operand: Value<'c, 'a>,
        access: AffineMap<'c>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        if types::shape(operand.r#type()).is_none() {
            return self.number(operand);
        }
        let inside = self.inside.get(&key(operand)).copied();
        let buffer =
            inside.ok_or_else(|| PassError::Internal("a tensor is not among the inputs".to_owned()))?;
        let (indices, access) = self.indices_of(access)?;
        let read = ReadOp::build(self.b.location(), buffer, &indices, access)?;
        Ok(self.b.insert(read).result(0)?.into())
    }

    /// A number of the function within the program; the scalar ops that compute it are copied if need be.
    pub(super) fn number(&mut self, number: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        function_scalars::copy(&self.b, number, &mut self.inside)
    }

    /// Writes an element of a result at `access`, a map of the dims.
    pub(super) fn write(&self, value: Value<'c, 'a>, result: usize, access: AffineMap<'c>) -> PassResult<'c> {
        let (dims, access) = self.indices_of(access)?;
        let buffer = self.arguments.results[result];
        let write = WriteOp::build(self.b.location(), value, buffer, &dims, access, false)?;
        self.b.insert(write);
        Ok(())
    }

    /// The dims and numbers that an access uses, and the access as a map of these alone.
    fn indices_of(
        &self,
        access: AffineMap<'c>,
    ) -> Result<(Vec<Value<'c, 'a>>, AffineMap<'c>), PassError<'c>> {
        let coordinates = (0..access.result_count())
            .map(|axis| access.result(axis))
            .collect::<Result<Vec<_>, _>>()?;
        let (dims, numbers) = (numbered(self.dims()), numbered(&self.arguments.scalars));
        Ok(indices_of(self.b.context(), &coordinates, &dims, &numbers))
    }
}
