//! Emits a run's part of a program as a compute on one device.

use std::collections::HashMap;

use melior::ir::{
    AffineExpr, AffineMap, Operation, OperationRef, Type, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::norm::{ReadOp, ReduceOp, WriteOp};

use super::{
    exchanges::{Exchange, Program},
    needs::{Needs, values_of},
};
use crate::{
    kernel::{
        compute::{self, Arguments, Signature},
        reductions::{combine, set_operands},
    },
    mlir::{
        builder::Builder,
        pass::{PassError, PassResult},
        types,
        values::key,
    },
};

/// The values and types in the function of one device that a compute is built from.
pub(super) struct Outside<'s, 'c, 'a> {
    /// By the keys of the tensors and scalars of the original function.
    pub(super) values: &'s HashMap<usize, Value<'c, 'a>>,
    /// By exchange, the tensor of the states of all devices.
    pub(super) gathered: &'s [Option<Value<'c, 'a>>],
    /// By exchange, the type of the tensor of this device's states.
    pub(super) sends: &'s [Type<'c>],
    /// The types of the program's results on one device.
    pub(super) results: &'s [Type<'c>],
    /// The coordinate of the first element of this device's shard.
    pub(super) offset: Option<Value<'c, 'a>>,
    pub(super) devices: i64,
}

/// Builds the compute. Its results are those of [`Needs::results`], followed by the tensors of states of [`Needs::sends`].
pub(super) fn emit<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    program: &Program<'c, 'a>,
    needs: &Needs<'c>,
    exchanges: &[Exchange<'c>],
    outside: &Outside<'_, 'c, 'a>,
) -> Result<OperationRef<'c, 'a>, PassError<'c>> {
    let lost = || PassError::Internal("a run has not what its program reads".to_owned());
    let space = &program.space;
    let (_, numbers) = compute::inputs(of(space.program)?);
    let find = |value: Value<'c, 'a>| outside.values.get(&key(value)).copied();
    let read = needs.tensors.iter().map(|buffer| find(program.outside[*buffer]));
    let gathered = needs.gathered.iter().map(|exchange| outside.gathered[*exchange]);
    let tensors = read
        .chain(gathered)
        .collect::<Option<Vec<_>>>()
        .ok_or_else(lost)?;
    let scalars = needs.scalars.iter().map(|scalar| find(numbers[*scalar]));
    let mut scalars = scalars.collect::<Option<Vec<_>>>().ok_or_else(lost)?;
    if needs.has_coordinate {
        scalars.push(outside.offset.ok_or_else(lost)?);
    }
    let results = needs.results.iter().map(|result| outside.results[*result]);
    let results = results.chain(needs.sends.iter().map(|exchange| outside.sends[*exchange]));
    let made = compute::insert(
        b,
        &Signature {
            tensors: &tensors,
            scalars: &scalars,
            results: &results.collect::<Vec<_>>(),
            extents: &needs.extents,
            sizes: &needs.sizes,
            guards: &[],
        },
    )?;
    let arguments = compute::arguments(made)?;
    let mut emitter = Emitter {
        program,
        exchanges,
        needs,
        devices: outside.devices,
        b: Builder::at_end(compute::block(made)?, b.location()),
        local: HashMap::new(),
        of_each: HashMap::new(),
        arguments,
    };
    emitter.begin()?;
    for (position, op) in space.ops.iter().enumerate() {
        emitter.b.set_location(op.location());
        if needs.local.contains(&position) {
            emitter.op(*op)?;
        }
        if needs.of_each.contains(&position) {
            for device in 0..outside.devices {
                emitter.op_of(*op, device)?;
            }
        }
    }
    for (index, exchange) in needs.sends.iter().enumerate() {
        emitter.tell(needs.results.len() + index, &exchanges[*exchange])?;
    }
    Ok(made.op())
}

fn of<'c, 'a>(op: OperationRef<'c, 'a>) -> Result<norma_dialects::norm::ComputeOp<'c, 'a>, PassError<'c>> {
    norma_dialects::norm::ComputeOp::from_op(op)
        .ok_or_else(|| PassError::Internal("expected norm.compute".to_owned()))
}

struct Emitter<'s, 'c, 'a> {
    program: &'s Program<'c, 'a>,
    exchanges: &'s [Exchange<'c>],
    needs: &'s Needs<'c>,
    devices: i64,
    b: Builder<'c, 'a>,
    arguments: Arguments<'c, 'a>,
    /// By the key of a value of the program, its value in the compute. For a dim this is its coordinate, to which the shard's offset has
    /// been added.
    local: HashMap<usize, Value<'c, 'a>>,
    /// By the key of a value of the program and the device, its value for that device.
    of_each: HashMap<(usize, i64), Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Emitter<'_, 'c, 'a> {
    /// Maps the program's scalars and dims to their values in the compute.
    fn begin(&mut self) -> PassResult<'c> {
        let space = &self.program.space;
        let scalars = self.needs.scalars.iter().zip(&self.arguments.scalars);
        for (scalar, value) in scalars {
            self.local.insert(key(space.scalars[*scalar]), *value);
        }
        for (dim, value) in self.needs.dims.iter().zip(&self.arguments.dims) {
            let mut coordinate = *value;
            if let Some(offset) = self.arguments.scalars.last()
                && self.needs.has_coordinate
                && self.program.shared == Some(*dim)
            {
                coordinate = self.b.value("arith.addi", &[*offset, *value], value.r#type());
            }
            self.local.insert(key(space.dims[*dim]), coordinate);
        }
        Ok(())
    }

    /// Emits an op that this device computes once.
    fn op(&mut self, op: OperationRef<'c, 'a>) -> PassResult<'c> {
        if let Some(read) = ReadOp::from_op(op) {
            let buffer = self.position(read.buffer()?)?;
            let place = self.needs.tensors.iter().position(|known| *known == buffer);
            let buffer = place.and_then(|place| self.arguments.tensors.get(place).copied());
            let buffer = buffer.ok_or_else(lost)?;
            let indices = self.dims(&read.indices())?;
            let read = ReadOp::build(op.location(), buffer, &indices, read.access()?)?;
            let read = self.b.insert(read);
            return self.define(op, read);
        }
        if let Some(write) = WriteOp::from_op(op) {
            let result = self.position(write.buffer()?)?.checked_sub(self.program.inputs());
            let place = self.needs.results.iter().position(|known| Some(*known) == result);
            let buffer = place.and_then(|place| self.arguments.results.get(place).copied());
            let buffer = buffer.ok_or_else(lost)?;
            let indices = self.dims(&write.indices())?;
            let value = self.value(write.value()?)?;
            let (access, partial) = (write.access()?, write.partial());
            let write = WriteOp::build(op.location(), value, buffer, &indices, access, partial)?;
            self.b.insert(write);
            return Ok(());
        }
        if let Some(reduce) = ReduceOp::from_op(op) {
            if self.program.combines(reduce) {
                return self.combine(reduce);
            }
            let values = reduce.values().into_iter().map(|value| self.value(value));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            let dims = self.dims(&reduce.dims())?;
            let copy = self.b.insert(Operation::clone(&op));
            set_operands(&self.b, copy, &values, &dims, None);
            return self.define(op, copy);
        }
        let operands = op.operands().map(|operand| self.value(operand));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let copy = self.b.rebuild(op, &operands, &result_types(op));
        self.define(op, copy)
    }

    /// Emits an op on the states of one device.
    fn op_of(&mut self, op: OperationRef<'c, 'a>, device: i64) -> PassResult<'c> {
        if ReduceOp::from_op(op).is_some() {
            return Err(lost());
        }
        let operands = values_of(op)
            .into_iter()
            .map(|value| self.value_of(value, device));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let copy = self.b.rebuild(op, &operands, &result_types(op));
        for (old, new) in op.results().zip(copy.results()) {
            self.of_each.insert((key(old.into()), device), new.into());
        }
        Ok(())
    }

    /// Emits a reduction over the devices, in their order, so that every device gets the same bits.
    fn combine(&mut self, reduce: ReduceOp<'c, 'a>) -> PassResult<'c> {
        let values = reduce.values();
        let mut combined = Vec::new();
        for device in 0..self.devices {
            let of_device = values.iter().map(|value| self.value_of(*value, device));
            let of_device = of_device.collect::<Result<Vec<_>, _>>()?;
            combined = match combined.is_empty() {
                true => of_device,
                false => combine(&self.b, reduce, &[combined, of_device].concat())?,
            };
        }
        for (result, value) in reduce.results().into_iter().zip(combined) {
            self.local.insert(key(result), value);
        }
        Ok(())
    }

    /// Writes this device's states of an exchange, each at all points of the tensor's dims.
    fn tell(&mut self, result: usize, exchange: &Exchange<'c>) -> PassResult<'c> {
        let space = &self.program.space;
        let buffer = self.arguments.results.get(result).copied().ok_or_else(lost)?;
        let indices = self.indices(exchange)?;
        for (row, (position, index)) in exchange.states.iter().enumerate() {
            let state = Value::from(space.ops[*position].result(*index)?);
            let access = access(&self.b, &[row as i64], indices.len());
            let value = self.value(state)?;
            let value = converted(&self.b, value, exchange.element);
            let location = space.ops[*position].location();
            let write = WriteOp::build(location, value, buffer, &indices, access, false)?;
            self.b.insert(write);
        }
        Ok(())
    }

    /// The compute's dims for those that an exchange's states vary over.
    fn indices(&self, exchange: &Exchange<'c>) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let space = &self.program.space;
        let dims = exchange.dims.iter().map(|dim| space.dims[*dim]);
        self.dims(&dims.collect::<Vec<_>>())
    }

    fn define(&mut self, old: OperationRef<'c, 'a>, new: OperationRef<'c, 'a>) -> PassResult<'c> {
        for (old, new) in old.results().zip(new.results()) {
            self.local.insert(key(old.into()), new.into());
        }
        Ok(())
    }

    fn value(&self, value: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        self.local.get(&key(value)).copied().ok_or_else(lost)
    }

    /// A value as it is for one device, read from the exchanged states if it is one of them.
    fn value_of(&mut self, value: Value<'c, 'a>, device: i64) -> Result<Value<'c, 'a>, PassError<'c>> {
        if let Some(known) = self.of_each.get(&(key(value), device)) {
            return Ok(*known);
        }
        let space = &self.program.space;
        let definition = space.definition(value);
        let Some(definition) = definition.filter(|definition| self.program.facts[*definition].is_of_each)
        else {
            return self.value(value);
        };
        let state = self
            .needs
            .gathered
            .iter()
            .enumerate()
            .find_map(|(place, exchange)| {
                let exchange = &self.exchanges[*exchange];
                Some((place, exchange, exchange.row(space, definition, value)?))
            });
        let (place, exchange, row) = state.ok_or_else(lost)?;
        let buffer = self.arguments.tensors.get(self.needs.tensors.len() + place);
        let buffer = buffer.copied().ok_or_else(lost)?;
        let indices = self.indices(exchange)?;
        let access = access(&self.b, &[device, row as i64], indices.len());
        let read = ReadOp::build(self.b.location(), buffer, &indices, access)?;
        let read = Value::from(self.b.insert(read).result(0)?);
        let read = converted(&self.b, read, value.r#type());
        self.of_each.insert((key(value), device), read);
        Ok(read)
    }

    /// The compute's dims for dims of the program.
    fn dims(&self, dims: &[Value<'c, 'a>]) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let find = |dim: &Value<'c, 'a>| {
            let position = self.program.space.dim_position(*dim)?;
            let place = self.needs.dims.iter().position(|known| *known == position)?;
            self.arguments.dims.get(place).copied()
        };
        dims.iter().map(find).collect::<Option<_>>().ok_or_else(lost)
    }

    fn position(&self, buffer: Value<'c, 'a>) -> Result<usize, PassError<'c>> {
        let mut buffers = self.program.space.buffers.iter();
        buffers.position(|known| *known == buffer).ok_or_else(lost)
    }
}

/// Converts a state to the type in which it is exchanged, or back.
fn converted<'c: 'a, 'a>(b: &Builder<'c, 'a>, value: Value<'c, 'a>, to: Type<'c>) -> Value<'c, 'a> {
    let from = value.r#type();
    if from == to {
        return value;
    }
    let name = if types::is_index(from) || types::is_index(to) {
        "arith.index_cast"
    } else if types::bit_width(from) < types::bit_width(to) {
        "arith.extui"
    } else {
        "arith.trunci"
    };
    b.value(name, &[value], to)
}

fn lost<'c>() -> PassError<'c> {
    PassError::Internal("a run needs a value that it does not compute".to_owned())
}

fn result_types<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<Type<'c>> {
    op.results().map(|result| result.r#type()).collect()
}

/// An access at the constants `first`, followed by `dims` dims.
fn access<'c>(b: &Builder<'c, '_>, first: &[i64], dims: usize) -> AffineMap<'c> {
    let first = first
        .iter()
        .map(|place| AffineExpr::constant(b.context(), *place));
    let dims_of = (0..dims).map(|dim| AffineExpr::dim(b.context(), dim));
    let coordinates = first.chain(dims_of).collect::<Vec<_>>();
    AffineMap::new(b.context(), dims, 0, &coordinates)
}
