//! A compute that takes the place of an op: its space, its inputs, and the program that is being written.

use std::collections::HashMap;

use melior::ir::{AffineExpr, AffineMap, OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::{ReadOp, WriteOp};

use super::sizes::Size;
use crate::{
    kernel::{
        compute::{self, Arguments, Signature},
        indices::{indices_of, numbered},
    },
    mlir::{
        builder::Builder,
        pass::{PassError, PassResult},
        types,
        values::key,
    },
    norm::function_scalars,
};

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
    /// tensors whose sizes `extents` are, and the arguments that `numbers` depend on.
    ///
    /// # Errors
    ///
    /// Unsupported: one of `numbers` is not computed from constants and arguments.
    pub(super) fn begin(
        op: OperationRef<'c, 'a>,
        tensors: &[Value<'c, 'a>],
        numbers: &[Value<'c, 'a>],
        extents: &[Size<'c, 'a>],
    ) -> Result<Self, PassError<'c>> {
        let b = Builder::before(op);
        let context = b.context();
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
        let mut leaves = Vec::new();
        for number in numbers {
            function_scalars::leaves(*number, op, &mut leaves)?;
        }
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
        Ok(Self {
            b: Builder::at_end(compute::block(compute)?, op.location()),
            inside: outside.map(|value| key(*value)).zip(inside.copied()).collect(),
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
