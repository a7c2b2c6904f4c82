//! A kernel's entry in the manifest: its launch, its parameters, and what it uses.

use std::collections::HashMap;

use melior::ir::attribute::{ArrayAttribute, DenseI32ArrayAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, Module, OperationRef};
use norma_bundle::Expression;
use norma_bundle::manifest::{Argument, Kernel, ScalarType, ScalarValue, Symbol};
use norma_dialects::attributes::kernel;
use norma_dialects::gl::{LaunchAttr, ParamAttr, ParamKind};
use norma_dialects::symbol_name;
use norma_passes::mlir::diagnostic::Diagnostic;
use norma_passes::mlir::walk;

use super::host::{Buffer, HostFunction, Launch};
use super::kernel_form::KernelForm;
use super::sizes::Sizes;
use super::{Emitted, affine, cubin_name, module_name};
use crate::error::{Error, Result};
use crate::target::Target;

/// The threads of a lowered kernel along x, y and z.
const THREADS: &str = "nvvm.reqntid";

/// What the base address and dynamic strides of each buffer of a launch are multiples of, in bytes.
pub(super) fn alignments(kernels: &Kernels, launch: &Launch) -> Result<Vec<u64>> {
    let attribute = launch_attribute(kernels.find(launch)?)?;
    Ok(attribute
        .alignments()
        .iter()
        .map(|bytes| u64::try_from(*bytes).unwrap_or(1))
        .collect())
}

/// Describes one launch of a host function.
pub(super) fn describe(
    kernels: &Kernels,
    host: &HostFunction,
    launch: &Launch,
    sizes: &Sizes,
    forms: &[KernelForm],
    emitted: &[Emitted],
    target: &Target,
) -> Result<Kernel> {
    let op = kernels.find(launch)?;
    let attribute = launch_attribute(op)?;
    let symbols = attribute
        .sizes()
        .chunks_exact(2)
        .map(|pair| {
            let buffer = usize::try_from(pair[0])
                .ok()
                .and_then(|buffer| launch.buffers.get(buffer))?;
            sizes.size(buffer, usize::try_from(pair[1]).ok()?)
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| {
            broken(
                op,
                "gl.launch names a buffer or an axis that the launch does not have",
            )
        })?;
    let map = |attribute: Attribute, count: usize| {
        norma_dialects::affine_map(attribute)
            .ok()
            .and_then(|map| affine::results(map, &[], &symbols))
            .filter(|results| results.len() == count)
            .ok_or_else(|| {
                broken(
                    op,
                    &format!("gl.launch needs a map of {count} results over its sizes"),
                )
            })
    };
    let grid = map(attribute.grid(), 1)?.remove(0);
    let mut traffic = map(attribute.traffic(), 2)?;
    let bytes_written = traffic.remove(1);
    let bytes_read = traffic.remove(0);
    let args = arguments(op, host, launch, sizes)?;

    let module = launch.module.as_deref().unwrap_or_default();
    let emitted = emitted.iter().find(|emitted| emitted.module == module);
    let is_kept = emitted.is_some_and(|emitted| emitted.text.is_some());
    let usage = emitted.and_then(|emitted| {
        let cubin = emitted.cubin.as_ref()?;
        cubin.kernels.iter().find(|usage| usage.symbol == launch.kernel)
    });
    let one = Expression::Integer(1);
    let mut kernel = Kernel {
        symbol: launch.kernel.clone(),
        cubin: cubin_name(module, target),
        module: is_kept.then(|| module_name(module, target)),
        target: target.name.to_owned(),
        symbols: Vec::new(),
        grid: [grid, one.clone(), one],
        block: threads(op)?,
        cluster: [u32::try_from(attribute.cluster()).unwrap_or(1), 1, 1],
        shared_bytes: Expression::Integer(integer(op, kernel::DYNAMIC_SHARED).unwrap_or(0)),
        shared_carveout: u32::try_from(attribute.carveout()).ok(),
        programmatic_dependent_launch: attribute.dependent_launch(),
        args,
        registers: usage.map(|usage| usage.registers),
        static_shared_bytes: usage.map(|usage| usage.static_shared_bytes),
        spill_bytes: usage.map(|usage| usage.spill_bytes),
        schedule: KernelForm::find(forms, &launch.kernel).and_then(|form| form.schedule.clone()),
        bytes_read,
        bytes_written,
    };
    kernel.symbols = symbols_of(&kernel, sizes);
    Ok(kernel)
}

/// What each parameter holds, by `gl.params`.
fn arguments(op: OperationRef, host: &HostFunction, launch: &Launch, sizes: &Sizes) -> Result<Vec<Argument>> {
    let list = op
        .attribute(kernel::PARAMS)
        .ok()
        .and_then(|list| ArrayAttribute::try_from(list).ok());
    let list = list.ok_or_else(|| broken(op, "a lowered kernel needs gl.params"))?;
    (0..list.len())
        .map(|index| {
            let param = list.element(index).ok().and_then(ParamAttr::from_attribute);
            let argument = param.and_then(|param| argument(param, host, &launch.buffers, sizes));
            argument.ok_or_else(|| broken(op, &format!("gl.params[{index}] does not fit the launch")))
        })
        .collect()
}

fn argument(param: ParamAttr, host: &HostFunction, buffers: &[Buffer], sizes: &Sizes) -> Option<Argument> {
    let buffer = buffers.get(usize::try_from(param.buffer()).ok()?)?;
    let axis = usize::try_from(param.axis()).ok()?;
    let scalar = |value: Expression| Argument::Scalar {
        name: None,
        scalar: ScalarType::I64,
        value: ScalarValue::Expression(value),
    };
    Some(match param.kind() {
        ParamKind::Pointer => Argument::Pointer {
            tensor: host.arguments.get(buffer.argument)?.name.clone(),
        },
        ParamKind::Size => scalar(sizes.size(buffer, axis)?),
        ParamKind::Stride => scalar(sizes.stride(buffer, axis)?),
    })
}

/// The symbols that a kernel's expressions use, in the order of the function's.
fn symbols_of(kernel: &Kernel, sizes: &Sizes) -> Vec<Symbol> {
    let scalars = kernel.args.iter().filter_map(|argument| match argument {
        Argument::Scalar {
            value: ScalarValue::Expression(value),
            ..
        } => Some(value),
        _ => None,
    });
    let expressions: Vec<_> = kernel
        .grid
        .iter()
        .chain([&kernel.shared_bytes, &kernel.bytes_read, &kernel.bytes_written])
        .chain(scalars)
        .collect();
    let used = |symbol: &&Symbol| {
        expressions
            .iter()
            .any(|expression| expression.symbols().contains(symbol.name.as_str()))
    };
    sizes.symbols.iter().filter(used).cloned().collect()
}

/// The functions in `gpu.module`s, by the names of module and function.
pub(super) struct Kernels<'c, 'a>(HashMap<(Option<&'c str>, &'c str), OperationRef<'c, 'a>>);

impl<'c, 'a> Kernels<'c, 'a> {
    /// Those of a module at level `nvvm`.
    pub fn of(module: &'a Module<'c>) -> Self {
        let functions = walk::named(module.as_operation(), "llvm.func").into_iter();
        let named = functions.filter_map(|op| {
            let module = op.parent_operation().and_then(symbol_name);
            Some(((module, symbol_name(op)?), op))
        });
        Self(named.collect())
    }

    /// The function that a launch calls.
    fn find(&self, launch: &Launch) -> Result<OperationRef<'c, 'a>> {
        let name = (launch.module.as_deref(), launch.kernel.as_str());
        self.0.get(&name).copied().ok_or_else(|| {
            Error::user(format!(
                "a launch calls '{}', which no gpu.module has as an llvm.func",
                launch.kernel
            ))
        })
    }
}

fn launch_attribute<'c>(op: OperationRef<'c, '_>) -> Result<LaunchAttr<'c>> {
    let attribute = op
        .attribute(kernel::LAUNCH)
        .ok()
        .and_then(LaunchAttr::from_attribute);
    attribute.ok_or_else(|| broken(op, "a lowered kernel needs gl.launch"))
}

fn threads(op: OperationRef) -> Result<[u32; 3]> {
    let threads = op
        .attribute(THREADS)
        .ok()
        .and_then(|threads| DenseI32ArrayAttribute::try_from(threads).ok());
    let threads = threads.ok_or_else(|| broken(op, "a lowered kernel needs nvvm.reqntid"))?;
    let along = |axis: usize| {
        threads
            .element(axis)
            .ok()
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(1)
    };
    Ok([along(0), along(1), along(2)])
}

fn integer(op: OperationRef, name: &str) -> Option<i64> {
    op.attribute(name).and_then(norma_dialects::integer).ok()
}

/// Reports a kernel that a pass, or whoever wrote this level by hand, left without what a manifest needs.
fn broken(op: OperationRef, message: &str) -> Error {
    Diagnostic::user(op.location(), message).emit(None);
    Error::user("the kernel's launch cannot be described").diagnosed()
}
