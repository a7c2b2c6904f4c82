//! `norm-name-sizes`: notes what the user's programs call the axes of a function's tensors, while these programs are as they were written.
//!
//! A dim's name is in the location of its value, which the parser of a space keeps. An axis has the name of the first dim that is of its
//! size, or that it is accessed at. Only names are noted: two axes of one name may differ in size.

use melior::{
    Context,
    ir::{
        Attribute, BlockLike, Identifier, OperationRef, Value, ValueLike,
        attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute},
        operation::OperationLike,
    },
};
use norma_bundle::manifest::is_size_name;
use norma_dialects::{
    attributes::tensor,
    norm::{ComputeOp, ReadOp, WriteOp},
};

use super::host_function::{Tensor, Tensors, entries};
use crate::{
    kernel::compute,
    mlir::{
        context,
        pass::{PassContext, PassError, PassResult},
        types,
        values::{key, name_in_source},
        walk,
    },
    table::{NormNameSizes, NormNameSizesStatistic},
};

pub(crate) fn run<'c>(module: OperationRef<'c, '_>, cx: &PassContext<'c, NormNameSizes>) -> PassResult<'c> {
    for function in walk::named(module, "func.func") {
        let computes = walk::named(function, ComputeOp::NAME).into_iter();
        let computes = computes.filter_map(ComputeOp::from_op).collect::<Vec<_>>();
        if computes.is_empty() {
            continue;
        }
        let mut axes = Axes::of(function)?;
        for compute in computes {
            axes.read(compute)?;
        }
        cx.count(NormNameSizesStatistic::NumNamed, axes.write(function)?);
    }
    Ok(())
}

/// What the axes of a function's tensors are called.
struct Axes<'c, 'a> {
    /// The arguments, and behind them the results: the value, and by axis its name, which is empty for none.
    tensors: Vec<(Value<'c, 'a>, Vec<String>)>,
}

impl<'c: 'a, 'a> Axes<'c, 'a> {
    /// The axes of a function, without names.
    fn of(function: OperationRef<'c, 'a>) -> Result<Self, PassError<'c>> {
        let block = walk::entry_block(function)?;
        let arguments = (0..block.argument_count()).map(|index| block.argument(index).map(Value::from));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        let ops = walk::in_block(block).into_iter();
        let end = ops.filter(|op| walk::has_name(*op, "func.return")).last();
        let results = end.map(|end| end.operands().collect::<Vec<_>>());
        let without_names = |value: Value<'c, 'a>| {
            let rank = types::shape(value.r#type()).map_or(0, |shape| shape.len());
            (value, vec![String::new(); rank])
        };
        let values = arguments.into_iter().chain(results.unwrap_or_default());
        Ok(Self {
            tensors: values.map(without_names).collect(),
        })
    }

    /// Names axes after the dims of a compute.
    fn read(&mut self, compute: ComputeOp<'c, 'a>) -> PassResult<'c> {
        let arguments = compute::arguments(compute)?;
        let (mut outside, _) = compute::inputs(compute);
        outside.extend(compute.outputs());
        let extents = compute.extents()?;
        let sizes = compute.sizes()?;
        for (position, dim) in arguments.dims.iter().enumerate() {
            let extent = extents.result(position)?;
            if extent.is_symbol() {
                let symbol = 2 * extent.symbol_position();
                let (buffer, axis) = (sizes[symbol] as usize, sizes[symbol + 1] as usize);
                self.name(&outside, buffer, axis, *dim);
            }
        }
        let buffers = [&arguments.tensors[..], &arguments.results[..]].concat();
        for op in walk::in_block(compute::block(compute)?) {
            let (buffer, indices, access) = if let Some(read) = ReadOp::from_op(op) {
                (read.buffer()?, read.indices(), read.access()?)
            } else if let Some(write) = WriteOp::from_op(op) {
                (write.buffer()?, write.indices(), write.access()?)
            } else {
                continue;
            };
            let Some(buffer) = buffers.iter().position(|own| key(*own) == key(buffer)) else {
                continue;
            };
            for axis in 0..access.result_count() {
                let coordinate = access.result(axis)?;
                if !coordinate.is_dim() {
                    continue;
                }
                let index = indices[coordinate.dim_position()];
                let dim = arguments.dims.iter().position(|dim| key(*dim) == key(index));
                // A number is no dim, and the axis may be longer than a known number of points.
                if dim.is_some_and(|dim| extents.result(dim).is_ok_and(|extent| !extent.is_constant())) {
                    self.name(&outside, buffer, axis, index);
                }
            }
        }
        Ok(())
    }

    /// Names an axis of a compute's tensor after a dim, wherever that tensor is the function's and nothing names the axis yet.
    fn name(&mut self, outside: &[Value<'c, 'a>], buffer: usize, axis: usize, dim: Value<'c, 'a>) {
        let Some(name) = name_in_source(dim).filter(|name| is_size_name(name)) else {
            return;
        };
        let Some(value) = outside.get(buffer) else { return };
        for (_, names) in self
            .tensors
            .iter_mut()
            .filter(|(own, _)| key(*own) == key(*value))
        {
            let shape = types::shape(value.r#type()).unwrap_or_default();
            let is_dynamic = shape.get(axis).is_some_and(Option::is_none);
            if let Some(own) = names.get_mut(axis).filter(|own| is_dynamic && own.is_empty()) {
                own.clone_from(&name);
            }
        }
    }

    /// Writes the names to the function's arguments and results, where the function does not say them itself; returns the number of
    /// tensors that got names.
    fn write(&self, function: OperationRef<'c, 'a>) -> Result<u64, PassError<'c>> {
        let context = context::of(function.location());
        let mut of_function = Tensors::of(function)?;
        let tensors = of_function.arguments.iter_mut().chain(&mut of_function.results);
        let mut named = 0;
        for (tensor, (_, names)) in tensors.zip(&self.tensors) {
            let is_said =
                entries(tensor.attributes).any(|(key, _)| key.as_string_ref().as_str() == Ok(tensor::DIMS));
            if !is_said && names.iter().any(|name| !name.is_empty()) {
                add(context, tensor, names);
                named += 1;
            }
        }
        if named > 0 {
            of_function.set(function);
        }
        Ok(named)
    }
}

/// Adds names to a tensor's attributes.
fn add<'c>(context: &'c Context, tensor: &mut Tensor<'c>, names: &[String]) {
    let names = names
        .iter()
        .map(|name| StringAttribute::new(context, name).into());
    let names: Attribute<'c> = ArrayAttribute::new(context, &names.collect::<Vec<_>>()).into();
    let own = (Identifier::new(context, tensor::DIMS), names);
    let attributes = entries(tensor.attributes).chain([own]).collect::<Vec<_>>();
    tensor.attributes = DictionaryAttribute::new(context, &attributes);
}
