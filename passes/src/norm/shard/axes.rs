//! Finds the axes along which a function's tensors are sharded: those that the caller names, and all that the same dims index.
//!
//! The analysis is a fixpoint. A dim that indexes a sharded axis is shared by the devices, and every axis that a shared dim indexes is
//! sharded. A shared dim must be the whole coordinate of each axis that it indexes, and pass over all of the axis: then a device needs
//! exactly its shard of the tensor, and the device's share of the dim begins and ends where the shard does.

use std::collections::HashMap;

use melior::ir::{
    Attribute, BlockLike, BlockRef, Location, OperationRef, Type, Value, ValueLike,
    attribute::{DenseI64ArrayAttribute, DictionaryAttribute},
    operation::OperationLike,
};
use norma_dialects::{attributes::tensor, norm::ComputeOp};

use crate::{
    kernel::{
        compute,
        space::{Access, Space},
    },
    mlir::{
        affine,
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        types,
        values::key,
    },
    norm::host_function::{Body, Tensors, entries},
};

/// The largest number of devices: the GPUs of the largest NVLink domain (NVIDIA GB200 NVL72). A kernel has separate instructions for the
/// states of each device.
const MOST_DEVICES: i64 = 72;

/// An axis that the caller says is sharded.
pub(super) struct Asked {
    /// The position of the argument.
    argument: usize,
    axis: usize,
}

/// Parses the axes that are to be sharded and the number of devices; `None` if no argument has `norm.devices`.
///
/// # Errors
///
/// User: `norm.devices` is malformed, or differs between arguments.
pub(super) fn asked<'c>(function: OperationRef<'c, '_>) -> Result<Option<(i64, Vec<Asked>)>, PassError<'c>> {
    let tensors = Tensors::of(function)?;
    let user = |message: String| PassError::from(Diagnostic::user(function.location(), message));
    for (index, result) in tensors.results.iter().enumerate() {
        if devices_of(result.attributes).is_some() {
            let message = format!(
                "expected {} on arguments, got it on result {index}; the axes of results follow from those of the arguments",
                tensor::DEVICES
            );
            return Err(user(message));
        }
    }
    let mut found = None;
    for (argument, tensor) in tensors.arguments.iter().enumerate() {
        let Some(value) = devices_of(tensor.attributes) else {
            continue;
        };
        let name = &tensor.name;
        let rank = types::shape(tensor.ty).map_or(0, |shape| shape.len());
        let numbers = numbers(value).filter(|numbers| {
            let shared = numbers.iter().filter(|number| **number != 1).count();
            numbers.len() == rank && shared == 1 && numbers.iter().all(|number| *number >= 1)
        });
        let Some(numbers) = numbers else {
            return Err(user(format!(
                "expected {} of '{name}' to hold a number for each of {rank} axes, more than 1 for the one that is sharded and 1 for \
                 the others, got {value}",
                tensor::DEVICES
            )));
        };
        for (axis, devices) in numbers.into_iter().enumerate().filter(|(_, number)| *number > 1) {
            if devices > MOST_DEVICES {
                return Err(user(format!(
                    "expected at most {MOST_DEVICES} devices, got {devices} for '{name}'"
                )));
            }
            let (known, asked) = found.get_or_insert_with(|| (devices, Vec::new()));
            if *known != devices {
                return Err(user(format!(
                    "expected one number of devices in a function, got {known} and, for '{name}', {devices}"
                )));
            }
            asked.push(Asked { argument, axis });
        }
    }
    Ok(found)
}

fn devices_of(attributes: DictionaryAttribute<'_>) -> Option<Attribute<'_>> {
    let mut entries = entries(attributes);
    let found = entries.find(|(name, _)| name.as_string_ref().as_str() == Ok(tensor::DEVICES));
    found.map(|(_, value)| value)
}

fn numbers(value: Attribute<'_>) -> Option<Vec<i64>> {
    let array = DenseI64ArrayAttribute::try_from(value).ok()?;
    (0..array.len()).map(|index| array.element(index).ok()).collect()
}

/// How the tensors of a function are sharded over devices.
pub(super) struct Axes {
    pub(super) devices: i64,
    /// The sharded axis of each tensor of the function, by the tensor's key.
    of_tensor: HashMap<usize, usize>,
    /// The dim of each compute that the devices share.
    pub(super) dims: Vec<Option<usize>>,
}

impl Axes {
    /// Propagates sharding from the axes that the caller names to all others.
    ///
    /// # Errors
    ///
    /// User: the devices cannot share an extent equally. Unsupported: an access of a sharded axis at a coordinate other than one dim, an
    /// access at a scalar that a launch passes or at a computed place, two shared dims of one compute, or a shared dim that does not pass
    /// over all of an axis.
    pub(super) fn of<'c: 'a, 'a>(
        function: OperationRef<'c, 'a>,
        body: &Body<'c, 'a>,
        devices: i64,
        asked: &[Asked],
    ) -> Result<Self, PassError<'c>> {
        let mut axes = Self {
            devices,
            of_tensor: HashMap::new(),
            dims: vec![None; body.computes.len()],
        };
        for Asked { argument, axis } in asked {
            let value = Value::from(body.block.argument(*argument)?);
            axes.of_tensor.insert(key(value), *axis);
        }
        let spaces = body.computes.iter().map(|compute| Space::of_compute(*compute));
        let spaces = spaces.collect::<Result<Vec<_>, _>>()?;
        if let Some(space) = spaces.iter().find(|space| !space.guards.is_empty()) {
            let message = "a program with guards in a function that devices share; supported: programs over all points of their dims, as \
                           blocks that divide their axes";
            return Err(Diagnostic::unsupported(space.location(), message).into());
        }
        loop {
            let known = (axes.of_tensor.len(), axes.dims.iter().flatten().count());
            for (compute, space) in spaces.iter().enumerate() {
                let outside = outside(body.computes[compute]);
                for access in space.accesses()? {
                    check_indices(&access)?;
                    axes.dim_of(compute, space, &access, outside[access.buffer])?;
                }
                for access in space.accesses()? {
                    axes.axis_of(compute, space, &access, outside[access.buffer])?;
                }
            }
            if known == (axes.of_tensor.len(), axes.dims.iter().flatten().count()) {
                break;
            }
        }
        for (compute, space) in spaces.iter().enumerate() {
            axes.check_extents(compute, space, &outside(body.computes[compute]))?;
        }
        axes.check_shapes(function, body.block, &body.end.operands().collect::<Vec<_>>())?;
        Ok(axes)
    }

    /// The axis along which a tensor of the function is sharded.
    pub(super) fn of_tensor(&self, tensor: Value<'_, '_>) -> Option<usize> {
        self.of_tensor.get(&key(tensor)).copied()
    }

    /// The type of a device's shard of a tensor; the tensor's own type if it is not sharded.
    pub(super) fn local<'c>(&self, ty: Type<'c>, axis: Option<usize>) -> Result<Type<'c>, PassError<'c>> {
        let Some(axis) = axis else { return Ok(ty) };
        let mut shape = types::shape(ty).unwrap_or_default();
        shape[axis] = shape[axis].map(|extent| extent / self.devices);
        types::tensor(&shape, types::element(ty), None).ok_or(PassError::Reported)
    }

    /// Marks the dim that indexes a sharded axis as shared.
    fn dim_of<'c>(
        &mut self,
        compute: usize,
        space: &Space<'c, '_>,
        access: &Access<'c, '_>,
        tensor: Value<'c, '_>,
    ) -> PassResult<'c> {
        let Some(axis) = self.of_tensor(tensor) else {
            return Ok(());
        };
        let coordinate = access.coordinates[axis];
        if !coordinate.is_dim() {
            let message = format!(
                "an access of a sharded axis that is not at one dim alone, but at {coordinate}; supported: each axis that devices \
                 share at a dim of its own"
            );
            return Err(Diagnostic::unsupported(access.op.location(), message).into());
        }
        let dim = coordinate.dim_position();
        match self.dims[compute].replace(dim) {
            Some(other) if other != dim => {
                let message = format!(
                    "devices share the dims {} and {} of one program; supported: one",
                    space.dim_name(other),
                    space.dim_name(dim)
                );
                Err(Diagnostic::unsupported(access.op.location(), message).into())
            }
            _ => Ok(()),
        }
    }

    /// Marks the axis that a shared dim indexes as sharded.
    fn axis_of<'c>(
        &mut self,
        compute: usize,
        space: &Space<'c, '_>,
        access: &Access<'c, '_>,
        tensor: Value<'c, '_>,
    ) -> PassResult<'c> {
        let Some(dim) = self.dims[compute] else {
            return Ok(());
        };
        let name = space.dim_name(dim);
        for (axis, coordinate) in access.coordinates.iter().enumerate() {
            if !coordinate.is_function_of_dim(dim) {
                continue;
            }
            if !coordinate.is_dim() {
                let message = format!(
                    "an access at {coordinate}, where devices share {name}; supported: each axis that devices share at a dim of its own"
                );
                return Err(Diagnostic::unsupported(access.op.location(), message).into());
            }
            if self
                .of_tensor
                .insert(key(tensor), axis)
                .is_some_and(|other| other != axis)
            {
                let message = format!(
                    "an access at {name}, which devices share, along two axes of one tensor; supported: one"
                );
                return Err(Diagnostic::unsupported(access.op.location(), message).into());
            }
        }
        Ok(())
    }

    /// Checks that a shared dim passes over all of an axis, and that no other dim has the extent of a sharded axis.
    fn check_extents<'c>(
        &self,
        compute: usize,
        space: &Space<'c, '_>,
        outside: &[Value<'c, '_>],
    ) -> PassResult<'c> {
        let location = space.location();
        let is_sharded = |symbol: usize| {
            let (buffer, axis) = space.sizes[symbol];
            self.of_tensor(outside[buffer]) == Some(axis)
        };
        for (dim, extent) in space.extents.iter().enumerate() {
            let name = space.dim_name(dim);
            if self.dims[compute] != Some(dim) {
                if affine::symbols(*extent).into_iter().any(is_sharded) {
                    let message = format!(
                        "{name} is as long as an axis that devices share, but is not that axis; supported: sizes that each device has whole"
                    );
                    return Err(Diagnostic::unsupported(location, message).into());
                }
                continue;
            }
            let is_whole = match extent.is_symbol() {
                true => is_sharded(extent.symbol_position()),
                false => extent.is_constant(),
            };
            if !is_whole {
                let message = format!(
                    "devices share {name}, of extent {extent}; supported: the extent of a sharded axis"
                );
                return Err(Diagnostic::unsupported(location, message).into());
            }
            if extent.is_constant() {
                self.check_divides(location, extent.constant_value(), &name)?;
            }
            for access in space.accesses()? {
                for (axis, coordinate) in access.coordinates.iter().enumerate() {
                    let shape = types::shape(outside[access.buffer].r#type()).unwrap_or_default();
                    let is_part = coordinate.is_dim()
                        && coordinate.dim_position() == dim
                        && extent.is_constant()
                        && shape[axis] != Some(extent.constant_value());
                    if is_part {
                        let message = format!(
                            "devices share {name}, which passes over a part of a sharded axis; supported: the whole axis"
                        );
                        return Err(Diagnostic::unsupported(access.op.location(), message).into());
                    }
                }
            }
        }
        Ok(())
    }

    fn check_divides<'c>(&self, location: Location<'c>, extent: i64, what: &str) -> PassResult<'c> {
        let devices = self.devices;
        if extent % devices == 0 {
            return Ok(());
        }
        let message = format!(
            "expected an extent that {devices} devices share equally, got {extent} of {what}; shards of a \
             dynamic extent may differ"
        );
        Err(Diagnostic::user(location, message).into())
    }

    /// Checks that devices share the axes of arguments and results equally.
    fn check_shapes<'c>(
        &self,
        function: OperationRef<'c, '_>,
        block: BlockRef<'c, '_>,
        returned: &[Value<'c, '_>],
    ) -> PassResult<'c> {
        let tensors = Tensors::of(function)?;
        let arguments = (0..tensors.arguments.len()).map(|index| block.argument(index).map(Value::from));
        let values = arguments.collect::<Result<Vec<_>, _>>()?;
        let values = values.iter().chain(returned);
        for (tensor, value) in tensors.arguments.iter().chain(&tensors.results).zip(values) {
            let Some(axis) = self.of_tensor(*value) else {
                continue;
            };
            let shape = types::shape(tensor.ty).unwrap_or_default();
            if let Some(extent) = shape[axis] {
                let what = format!("axis {axis} of '{}'", tensor.name);
                self.check_divides(function.location(), extent, &what)?;
            }
        }
        Ok(())
    }
}

/// The tensors of the function that a compute's buffers stand for: its inputs, and then its results.
pub(super) fn outside<'c: 'a, 'a>(program: ComputeOp<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let (mut tensors, _) = compute::inputs(program);
    tensors.extend(program.outputs());
    tensors
}

/// Refuses an access whose coordinates depend on a scalar that a launch passes, or on a value of the body.
fn check_indices<'c>(access: &Access<'c, '_>) -> PassResult<'c> {
    if !access.uses_symbols() {
        return Ok(());
    }
    let message = "an access at a number that a launch passes or the program computes, in a function that devices share; supported: accesses at dims";
    Err(Diagnostic::unsupported(access.op.location(), message).into())
}
