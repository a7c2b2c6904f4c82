//! The host functions: their tensors, and which of them each kernel gets.

use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute};
use melior::ir::block::BlockArgument;
use melior::ir::operation::{OperationLike, OperationResult};
use melior::ir::{Attribute, BlockLike, Location, Module, OperationRef, RegionLike, Type, Value, ValueLike};
use norma_bundle::Element;
use norma_dialects::attributes::tensor;
use norma_dialects::norm::LaunchOp;
use norma_dialects::symbol_name;
use norma_passes::mlir::diagnostic::Diagnostic;
use norma_passes::mlir::{types, walk};

use crate::error::{Error, Result};

/// A function of the bundle.
pub(super) struct HostFunction {
    /// Its symbol.
    pub name: String,
    /// Its arguments, in order.
    pub arguments: Vec<HostArgument>,
    /// The launches, in order.
    pub launches: Vec<Launch>,
}

/// A tensor that the caller passes.
pub(super) struct HostArgument {
    /// `norm.name`, or `arg<i>`.
    pub name: String,
    /// Whether the kernels write it.
    pub is_output: bool,
    /// The element type.
    pub element: Element,
    /// The extents; nothing where dynamic.
    pub shape: Vec<Option<i64>>,
    /// The strides in elements, nothing where dynamic; nothing at all for row-major order without gaps.
    pub strides: Option<Vec<Option<i64>>>,
    /// `norm.align` in bytes, if given.
    pub align: Option<u64>,
}

/// One `norm.launch`.
pub(super) struct Launch {
    /// The `gpu.module`'s name, if the callee is in one.
    pub module: Option<String>,
    /// The kernel's name.
    pub kernel: String,
    /// What the kernel's buffers are.
    pub buffers: Vec<Buffer>,
}

/// An argument of the host function, some of whose neighbouring dims are taken as one.
pub(super) struct Buffer {
    /// Which argument.
    pub argument: usize,
    /// For each axis of the buffer, the dims of the argument.
    pub groups: Vec<Vec<usize>>,
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
    let launches = walk::pre_order(op)
        .into_iter()
        .filter_map(LaunchOp::from_op)
        .map(launch)
        .collect::<Result<Vec<_>>>()?;
    if launches.is_empty() {
        return Ok(None);
    }
    let attributes = op
        .attribute("arg_attrs")
        .ok()
        .and_then(|list| ArrayAttribute::try_from(list).ok());
    let arguments = (0..block.argument_count())
        .map(|index| {
            let value = block
                .argument(index)
                .map_err(|error| Error::internal(error.to_string()))?;
            let attributes = attributes.and_then(|list| list.element(index).ok());
            let attributes = attributes.and_then(|attributes| DictionaryAttribute::try_from(attributes).ok());
            argument(index, value.r#type(), attributes, op.location())
        })
        .collect::<Result<_>>()?;
    Ok(Some(HostFunction {
        name: symbol_name(op).unwrap_or_default().to_owned(),
        arguments,
        launches,
    }))
}

fn argument(
    index: usize,
    ty: Type,
    attributes: Option<DictionaryAttribute>,
    location: Location,
) -> Result<HostArgument> {
    let attribute = |name: &str| attributes.and_then(|attributes| attributes.element_by_name(name));
    let element = types::element(ty).to_string();
    let (Some(shape), Some(element)) = (types::shape(ty), Element::from_name(&element)) else {
        let message =
            format!("a bundle cannot pass argument {index} of type {ty}; it passes memrefs of numbers");
        Diagnostic::unsupported(location, message).emit(None);
        return Err(Error::unsupported("the function's type").diagnosed());
    };
    let strides = match types::is_contiguous(ty) {
        true => None,
        false => types::strides_and_offset(ty),
    };
    if strides.as_ref().is_some_and(|(_, offset)| *offset != Some(0)) {
        let message = format!("a bundle cannot pass argument {index} of type {ty}: its offset is not 0");
        Diagnostic::unsupported(location, message).emit(None);
        return Err(Error::unsupported("the function's type").diagnosed());
    }
    Ok(HostArgument {
        name: attribute(tensor::NAME)
            .and_then(|name| norma_dialects::string(name).ok())
            .map_or_else(|| format!("arg{index}"), str::to_owned),
        is_output: attribute(tensor::OUTPUT).is_some(),
        element,
        shape,
        strides: strides.map(|(strides, _)| strides),
        align: attribute(tensor::ALIGN)
            .and_then(|align| norma_dialects::integer(align).ok())
            .and_then(|align| u64::try_from(align).ok()),
    })
}

fn launch(launch: LaunchOp) -> Result<Launch> {
    // `@module::@kernel`, or `@kernel` alone before `convert-norm-to-gl`.
    let mut path = launch
        .callee()
        .and_then(norma_dialects::symbol_path)
        .map_err(|error| Error::internal(error.to_string()))?;
    let kernel = path.pop().unwrap_or_default().to_owned();
    let buffers = launch
        .buffers()
        .into_iter()
        .map(|value| {
            buffer(value).ok_or_else(|| {
                let message =
                    "a kernel's buffers must be the function's arguments, or those with dims collapsed";
                Diagnostic::unsupported(launch.op().location(), message).emit(None);
                Error::unsupported("the function's launches").diagnosed()
            })
        })
        .collect::<Result<_>>()?;
    Ok(Launch {
        module: path.first().map(|module| (*module).to_owned()),
        kernel,
        buffers,
    })
}

/// Follows a value back to the function's argument.
pub(super) fn buffer(value: Value) -> Option<Buffer> {
    if let Ok(argument) = BlockArgument::try_from(value) {
        let rank = types::shape(value.r#type())?.len();
        let groups = (0..rank).map(|dim| vec![dim]).collect();
        return Some(Buffer {
            argument: argument.argument_number(),
            groups,
        });
    }
    let op = OperationResult::try_from(value).ok()?.owner();
    let source = buffer(op.operand(0).ok()?)?;
    if walk::has_name(op, "memref.cast") {
        return Some(source);
    }
    if !walk::has_name(op, "memref.collapse_shape") {
        return None;
    }
    let groups = integers(op.attribute("reassociation").ok()?)?
        .into_iter()
        .map(|axes| {
            axes.into_iter()
                .filter_map(|axis| source.groups.get(axis))
                .flatten()
                .copied()
                .collect()
        })
        .collect();
    Some(Buffer {
        argument: source.argument,
        groups,
    })
}

/// A list of lists of indices.
fn integers(attribute: Attribute) -> Option<Vec<Vec<usize>>> {
    let outer = ArrayAttribute::try_from(attribute).ok()?;
    (0..outer.len())
        .map(|index| {
            let inner = ArrayAttribute::try_from(outer.element(index).ok()?).ok()?;
            (0..inner.len())
                .map(|index| usize::try_from(norma_dialects::integer(inner.element(index).ok()?).ok()?).ok())
                .collect()
        })
        .collect()
}
