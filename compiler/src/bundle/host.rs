//! Reads the host functions: their tensors, scalars and scratch, and which of these each kernel gets.

mod choices;

use std::collections::BTreeSet;

use melior::ir::attribute::{ArrayAttribute, DenseI64ArrayAttribute, DictionaryAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, BlockLike, Location, Module, OperationRef, RegionLike, Type, Value, ValueLike};
use norma_bundle::manifest::{ScalarType, ScalarValue};
use norma_bundle::{Element, Expression};
use norma_dialects::attributes::{scratch, tensor};
use norma_dialects::norm::{LaunchOp, NumSmsOp};
use norma_dialects::symbol_name;
use norma_passes::mlir::diagnostic::Diagnostic;
use norma_passes::mlir::interval::Interval;
use norma_passes::mlir::values::{argument_number, definition, key};
use norma_passes::mlir::{types, walk};

use super::affine;
use super::definition::number;
use super::views;
use crate::error::{Error, Result};

/// A function of the bundle.
#[derive(Debug, Clone)]
pub(super) struct HostFunction {
    /// Its symbol.
    pub name: String,
    /// The tensors among its arguments, in order, followed by its scratch.
    pub tensors: Vec<HostTensor>,
    /// The scalars among its arguments, in order.
    pub scalars: Vec<HostScalar>,
    /// The launches, in order.
    pub launches: Vec<Launch>,
}

/// A tensor whose memory is passed to kernels.
#[derive(Debug, Clone)]
pub(super) struct HostTensor {
    /// `norm.name`, or `arg<i>`.
    pub name: String,
    /// Who provides it.
    pub role: Role,
    /// The element type.
    pub element: Element,
    /// The extents; `None` for a dynamic one.
    pub shape: Vec<Option<i64>>,
    /// The strides in elements, `None` for a dynamic one; `None` for the whole list means row-major order without gaps.
    pub strides: Option<Vec<Option<i64>>>,
    /// `norm.align` in bytes, if given.
    pub align: Option<u64>,
    /// `norm.multiples`, or empty.
    pub multiples: Vec<u64>,
    /// The interval of each extent by `norm.min` and `norm.max`, or empty.
    pub bounds: Vec<Interval>,
    /// `norm.sizes`, where an empty string stands for no name; or empty.
    pub sizes: Vec<String>,
    /// `norm.dims`, in the same form.
    pub dims: Vec<String>,
    /// `norm.may_alias`.
    pub may_alias: Option<String>,
}

/// Who provides a tensor's memory, and who writes it.
#[derive(Debug, Clone)]
pub(super) enum Role {
    /// The caller passes it as this argument, and the kernels only read it.
    Input(usize),
    /// The caller passes it as this argument, and the kernels write it.
    Output(usize),
    /// Scratch that kernels of one call pass to each other.
    Scratch {
        /// By axis: the extent, over [`dim_symbol`]s and the device's symbols.
        extents: Vec<Expression>,
        /// Whether it is zero before the first call, and every call leaves it zero.
        zeroed: bool,
    },
}

/// A scalar that the caller passes.
#[derive(Debug, Clone)]
pub(super) struct HostScalar {
    /// `norm.name`, or `arg<i>`.
    pub name: String,
    /// The position of the argument.
    pub argument: usize,
    /// Its type in a kernel's signature; an index is an i64.
    pub scalar: ScalarType,
    /// `norm.default`.
    pub default: ScalarValue,
}

/// One `norm.launch`.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    /// The `gpu.module`'s name, if the callee is in one.
    pub module: Option<String>,
    /// The kernel's name.
    pub kernel: String,
    /// The kernel's buffers, which are the first arguments of the launch.
    pub buffers: Vec<Buffer>,
    /// The launch's other arguments: positions among the function's scalars.
    pub scalars: Vec<usize>,
    /// The launch happens if `left >= right` holds for each pair, over [`dim_symbol`]s and `num_sms`.
    pub when: Vec<[Expression; 2]>,
}

/// A tensor of the host function, with neighbouring dims possibly collapsed.
#[derive(Debug, Clone)]
pub(super) struct Buffer {
    /// The position of the tensor.
    pub tensor: usize,
    /// For each axis of the buffer, the dims of the tensor.
    pub groups: Vec<Vec<usize>>,
}

/// The symbol for the extent of a tensor's dim while a function is read.
pub(super) fn dim_symbol(tensor: usize, dim: usize) -> String {
    format!("t{tensor}_{dim}")
}

/// The tensor and the dim of a [`dim_symbol`].
pub(super) fn dim_of_symbol(symbol: &str) -> Option<(usize, usize)> {
    let (tensor, dim) = symbol.strip_prefix('t')?.split_once('_')?;
    Some((tensor.parse().ok()?, dim.parse().ok()?))
}

/// The symbol for a scalar argument of the function while the function is read.
pub(super) fn number_symbol(argument: usize) -> String {
    format!("n{argument}")
}

/// The argument of a [`number_symbol`].
pub(super) fn number_of_symbol(symbol: &str) -> Option<usize> {
    symbol.strip_prefix('n')?.parse().ok()
}

impl HostFunction {
    /// The scalar at this argument position, and whether a kernel takes it.
    pub fn number(&self, argument: usize) -> Option<(&HostScalar, bool)> {
        let position = self
            .scalars
            .iter()
            .position(|scalar| scalar.argument == argument)?;
        let mut launches = self.launches.iter();
        let is_taken = launches.any(|launch| launch.scalars.contains(&position));
        Some((self.scalars.get(position)?, is_taken))
    }

    /// The number of the tensor whose memory a result may overwrite (`norm.may_alias`).
    pub fn overwritten_by(&self, result: &HostTensor) -> Option<usize> {
        let name = result.may_alias.as_ref()?;
        self.tensors.iter().position(|tensor| tensor.name == *name)
    }
}

impl HostTensor {
    /// The position of the argument that it is; `None` for scratch.
    pub fn argument(&self) -> Option<usize> {
        match self.role {
            Role::Input(argument) | Role::Output(argument) => Some(argument),
            Role::Scratch { .. } => None,
        }
    }
}

/// The functions of a module that launch kernels.
pub(super) fn functions(module: &Module) -> Result<Vec<HostFunction>> {
    let mut functions = Vec::new();
    for op in walk::named(module.as_operation(), "func.func") {
        functions.extend(function(op)?);
    }
    Ok(functions)
}

fn function(op: OperationRef) -> Result<Option<HostFunction>> {
    let Some(block) = op.region(0).ok().and_then(|region| region.first_block()) else {
        return Ok(None);
    };
    if walk::named(op, LaunchOp::NAME).is_empty() {
        return Ok(None);
    }
    let mut reader = Reader::default();
    for index in 0..block.argument_count() {
        let value = block
            .argument(index)
            .map_err(|error| Error::internal(error.to_string()))?;
        reader.argument(index, value.r#type(), attributes(op, index), op.location())?;
    }
    for allocation in walk::named(op, "memref.alloc") {
        reader.scratch(allocation)?;
    }
    reader.check_names(op)?;
    let mut launches = Vec::new();
    reader.launches(block, &[], &mut launches)?;
    Ok(Some(HostFunction {
        name: symbol_name(op).unwrap_or_default().to_owned(),
        tensors: reader.tensors,
        scalars: reader.scalars,
        launches,
    }))
}

/// The attributes of a function's argument.
pub(super) fn attributes<'c>(
    function: OperationRef<'c, '_>,
    argument: usize,
) -> Option<DictionaryAttribute<'c>> {
    let list = function.attribute("arg_attrs").ok()?;
    let attributes = ArrayAttribute::try_from(list).ok()?.element(argument).ok()?;
    DictionaryAttribute::try_from(attributes).ok()
}

/// Reads a scalar argument of a function; `None` if it has no scalar type or no default.
pub(super) fn scalar(index: usize, ty: Type, attributes: Option<DictionaryAttribute>) -> Option<HostScalar> {
    let scalar = match ty.to_string().as_str() {
        "f32" => ScalarType::F32,
        "f64" => ScalarType::F64,
        "i32" => ScalarType::I32,
        "i64" | "index" => ScalarType::I64,
        _ => return None,
    };
    let default = number(attributes?.element_by_name(tensor::DEFAULT)?)?;
    let default = match scalar.is_float() {
        true => ScalarValue::Float(default),
        false => ScalarValue::Expression(Expression::Integer(default.as_i64())),
    };
    Some(HostScalar {
        name: name(attributes).unwrap_or_else(|| tensor::argument_name(index)),
        argument: index,
        scalar,
        default,
    })
}

/// `norm.name` among the attributes of an argument or a result.
pub(super) fn name(attributes: Option<DictionaryAttribute>) -> Option<String> {
    let name = attributes?.element_by_name(tensor::NAME)?;
    norma_dialects::string(name).ok().map(str::to_owned)
}

fn unsupported(location: Location, message: String) -> Error {
    Diagnostic::unsupported(location, message).emit(None);
    Error::unsupported("the host function").diagnosed()
}

/// Collects the tensors, scalars and launches of a function.
#[derive(Default)]
struct Reader {
    tensors: Vec<HostTensor>,
    scalars: Vec<HostScalar>,
    /// The [`key`] of each allocation's result, and the position of its tensor.
    allocations: Vec<(usize, usize)>,
}

impl Reader {
    fn argument(
        &mut self,
        index: usize,
        ty: Type,
        attributes: Option<DictionaryAttribute>,
        location: Location,
    ) -> Result<()> {
        if let Some(scalar) = scalar(index, ty, attributes) {
            self.scalars.push(scalar);
            return Ok(());
        }
        let attribute = |name: &str| attributes.and_then(|attributes| attributes.element_by_name(name));
        let name = name(attributes).unwrap_or_else(|| tensor::argument_name(index));
        let is_output = attribute(tensor::OUTPUT).is_some();
        let role = if is_output {
            Role::Output(index)
        } else {
            Role::Input(index)
        };
        let Some(mut tensor) = memory(name, role, ty) else {
            let message = format!(
                "a bundle cannot pass argument {index} of type {ty}; it passes memrefs of numbers without offset, and \
                 numbers of 32 and 64 bits with norm.default"
            );
            return Err(unsupported(location, message));
        };
        tensor.align = attribute(tensor::ALIGN)
            .and_then(|align| norma_dialects::integer(align).ok())
            .and_then(|align| u64::try_from(align).ok());
        tensor.multiples = attribute(tensor::MULTIPLES).map(integers).unwrap_or_default();
        let least = attribute(tensor::MIN).map(numbers).unwrap_or_default();
        let most = attribute(tensor::MAX).map(numbers).unwrap_or_default();
        tensor.bounds = (0..least.len().max(most.len()))
            .map(|axis| Interval {
                least: least.get(axis).copied().unwrap_or(0),
                // A negative number stands for no bound.
                most: most
                    .get(axis)
                    .copied()
                    .filter(|most| *most >= 0)
                    .unwrap_or(i64::MAX),
            })
            .collect();
        tensor.sizes = attribute(tensor::SIZES).map(strings).unwrap_or_default();
        tensor.dims = attribute(tensor::DIMS).map(strings).unwrap_or_default();
        tensor.may_alias = attribute(tensor::MAY_ALIAS)
            .and_then(|name| norma_dialects::string(name).ok())
            .map(str::to_owned);
        self.tensors.push(tensor);
        Ok(())
    }

    fn scratch(&mut self, op: OperationRef) -> Result<()> {
        if op.attribute(scratch::SCRATCH).is_err() {
            let message =
                "an allocation without norm.scratch; supported: scratch that kernels hand to each other";
            return Err(unsupported(op.location(), message.to_owned()));
        }
        let broken = || {
            unsupported(
                op.location(),
                "scratch whose size no manifest can state".to_owned(),
            )
        };
        let value = Value::from(op.result(0).map_err(|error| Error::internal(error.to_string()))?);
        let mut dynamic = op.operands();
        let mut extents = Vec::new();
        for extent in types::shape(value.r#type()).ok_or_else(broken)? {
            extents.push(match extent {
                Some(extent) => Expression::Integer(extent),
                None => {
                    let size = self.size(dynamic.next().ok_or_else(broken)?);
                    size.ok_or_else(broken)?.at_least_0()
                }
            });
        }
        let role = Role::Scratch {
            extents,
            zeroed: op.attribute(scratch::ZEROED).is_ok(),
        };
        let given = op.attribute(tensor::NAME).and_then(norma_dialects::string);
        let name = match given {
            Ok(name) => name.to_owned(),
            Err(_) => format!("scratch{}", self.allocations.len()),
        };
        self.allocations.push((key(value), self.tensors.len()));
        self.tensors
            .push(memory(name, role, value.r#type()).ok_or_else(broken)?);
        Ok(())
    }

    /// Refuses a name that two tensors or numbers share, or a size and a number: a launcher could not tell them apart.
    fn check_names(&self, function: OperationRef) -> Result<()> {
        let refused = |message: String| {
            Diagnostic::user(function.location(), message).emit(None);
            Err(Error::user("the function's names").diagnosed())
        };
        let tensors = self.tensors.iter().map(|tensor| &tensor.name);
        let mut names = BTreeSet::new();
        for name in tensors.chain(self.scalars.iter().map(|scalar| &scalar.name)) {
            if !names.insert(name) {
                return refused(format!("expected names that differ, got '{name}' twice"));
            }
        }
        let mut sizes = self.tensors.iter().flat_map(|tensor| &tensor.sizes);
        let is_number = |name: &&String| self.scalars.iter().any(|scalar| scalar.name == **name);
        match sizes.find(is_number) {
            None => Ok(()),
            Some(name) => refused(format!(
                "expected names that differ, got '{name}' for a size and for a number"
            )),
        }
    }

    /// An index value of the host function as an expression.
    fn size(&self, value: Value) -> Option<Expression> {
        let op = definition(value)?;
        match norma_dialects::op_name(op) {
            NumSmsOp::NAME => Some(Expression::symbol("num_sms")),
            "arith.constant" => Some(Expression::Integer(constant(value)?)),
            "memref.dim" => {
                let buffer = self.buffer(op.operand(0).ok()?)?;
                let axis = usize::try_from(constant(op.operand(1).ok()?)?).ok()?;
                let shape = &self.tensors.get(buffer.tensor)?.shape;
                let extents = buffer.groups.get(axis)?.iter().map(|dim| match shape.get(*dim)? {
                    Some(extent) => Some(Expression::Integer(*extent)),
                    None => Some(Expression::symbol(dim_symbol(buffer.tensor, *dim))),
                });
                extents.reduce(|a, b| Some(a? * b?)).flatten()
            }
            name @ ("affine.apply" | "affine.min" | "affine.max") => {
                let map = norma_dialects::affine_map(op.attribute("map").ok()?).ok()?;
                let operands = op.operands().map(|operand| self.size(operand));
                let mut dims = operands.collect::<Option<Vec<_>>>()?;
                let symbols = dims.split_off(map.dim_count().min(dims.len()));
                let results = affine::results(map, &dims, &symbols)?;
                results.into_iter().reduce(|a, b| match name {
                    "affine.max" => a.maximum(b),
                    _ => a.minimum(b),
                })
            }
            _ => None,
        }
    }

    /// The tensor that a value refers to.
    fn buffer(&self, value: Value) -> Option<Buffer> {
        let View { root, groups } = view(value)?;
        let tensor = match root {
            Root::Argument(argument) => self
                .tensors
                .iter()
                .position(|tensor| tensor.argument() == Some(argument))?,
            Root::Allocation(value) => self.allocations.iter().find(|(known, _)| *known == value)?.1,
        };
        Some(Buffer { tensor, groups })
    }

    fn launch(&self, launch: LaunchOp) -> Result<Launch> {
        // `@module::@kernel`, or `@kernel` alone before `convert-norm-to-gl`.
        let mut path = launch
            .callee()
            .and_then(norma_dialects::symbol_path)
            .map_err(|error| Error::internal(error.to_string()))?;
        let kernel = path.pop().unwrap_or_default().to_owned();
        let refuse = |message: &str| unsupported(launch.op().location(), message.to_owned());
        let mut buffers = Vec::new();
        let mut scalars = Vec::new();
        for value in launch.arguments() {
            if types::is_memref(value.r#type()) {
                let message = "a kernel's buffers must be the function's arguments or its scratch, or those with dims collapsed";
                buffers.push(self.buffer(value).ok_or_else(|| refuse(message))?);
                continue;
            }
            let argument = argument_number(value);
            let scalar = self
                .scalars
                .iter()
                .position(|scalar| Some(scalar.argument) == argument);
            scalars
                .push(scalar.ok_or_else(|| refuse("a kernel's scalars must be the function's arguments"))?);
        }
        Ok(Launch {
            module: path.first().map(|module| (*module).to_owned()),
            kernel,
            buffers,
            scalars,
            when: Vec::new(),
        })
    }
}

/// A tensor of a memref's type; `None` if a manifest cannot describe the type.
fn memory(name: String, role: Role, ty: Type) -> Option<HostTensor> {
    if !types::is_memref(ty) {
        return None;
    }
    let strides = match types::is_contiguous(ty) {
        true => None,
        false => Some(types::strides_and_offset(ty)?),
    };
    if strides.as_ref().is_some_and(|(_, offset)| *offset != Some(0)) {
        return None;
    }
    Some(HostTensor {
        name,
        role,
        element: Element::from_name(&types::element(ty).to_string())?,
        shape: types::shape(ty)?,
        strides: strides.map(|(strides, _)| strides),
        align: None,
        multiples: Vec::new(),
        bounds: Vec::new(),
        sizes: Vec::new(),
        dims: Vec::new(),
        may_alias: None,
    })
}

/// The origin of a value's memory.
#[derive(Debug, Clone)]
pub(super) enum Root {
    /// An argument of the function.
    Argument(usize),
    /// The result of a `memref.alloc`, by its [`key`].
    Allocation(usize),
}

/// A memref of a host function, traced to its origin.
#[derive(Debug, Clone)]
pub(super) struct View {
    /// The origin.
    pub root: Root,
    /// For each axis, the dims of the origin.
    pub groups: Vec<Vec<usize>>,
}

/// Traces a value back to a function argument or to an allocation. It iterates rather than recurses, because a chain of casts
/// may be as long as the input.
pub(super) fn view(value: Value) -> Option<View> {
    let mut value = value;
    // In the order of the walk, from the last collapse to the first.
    let mut collapses = Vec::new();
    let root = loop {
        if let Some(argument) = argument_number(value) {
            break Root::Argument(argument);
        }
        let op = definition(value)?;
        if walk::has_name(op, "memref.alloc") {
            break Root::Allocation(key(value));
        }
        if walk::has_name(op, "memref.collapse_shape") {
            collapses.push(views::groups(op)?);
        } else if !walk::has_name(op, "memref.cast") {
            return None;
        }
        value = op.operand(0).ok()?;
    };
    let rank = types::shape(value.r#type())?.len();
    let mut groups: Vec<_> = (0..rank).map(|dim| vec![dim]).collect();
    for collapse in collapses.iter().rev() {
        groups = collapse
            .iter()
            .map(|axes| {
                let joined = axes.iter().filter_map(|axis| groups.get(*axis)).flatten();
                joined.copied().collect()
            })
            .collect();
    }
    Some(View { root, groups })
}

/// The value of an `arith.constant`.
fn constant(value: Value) -> Option<i64> {
    norma_dialects::integer(definition(value)?.attribute("value").ok()?).ok()
}

/// A dense array of i64 without its negative entries, which the verifiers refuse anyway.
pub(super) fn integers(attribute: Attribute) -> Vec<u64> {
    let numbers = numbers(attribute).into_iter();
    numbers.filter_map(|number| u64::try_from(number).ok()).collect()
}

/// A dense array of i64.
fn numbers(attribute: Attribute) -> Vec<i64> {
    let array = DenseI64ArrayAttribute::try_from(attribute).ok();
    let element = |index: usize| array?.element(index).ok();
    (0..array.map_or(0, |array| array.len()))
        .filter_map(element)
        .collect()
}

/// A list of strings.
fn strings(attribute: Attribute) -> Vec<String> {
    let array = ArrayAttribute::try_from(attribute).ok();
    let element = |index: usize| {
        norma_dialects::string(array?.element(index).ok()?)
            .ok()
            .map(str::to_owned)
    };
    (0..array.map_or(0, |array| array.len()))
        .filter_map(element)
        .collect()
}
