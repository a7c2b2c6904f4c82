//! Builds a kernel's entry in the manifest: its launch, its parameters, and the resources it uses.

use std::collections::HashMap;

use melior::ir::attribute::{ArrayAttribute, DenseI32ArrayAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, Module, OperationRef};
use norma_bundle::Expression;
use norma_bundle::manifest::{
    Argument, DEVICE_SYMBOLS, Kernel, ScalarType, ScalarValue, Symbol, WorkspaceInit,
};
use norma_dialects::attributes::kernel;
use norma_dialects::gl::{LaunchAttr, ParamAttr, ParamKind};
use norma_dialects::{integer_of, symbol_name};
use norma_passes::mlir::diagnostic::Diagnostic;
use norma_passes::mlir::interval::Interval;
use norma_passes::mlir::walk;

use super::conditions::at_least;
use super::host::{HostFunction, HostScalar, Launch, Role, integers};
use super::sizes::Sizes;
use super::{Emitted, affine, cubin_name, module_name, ptx_name, tensor_maps};
use crate::emit::ResourceUsage;
use crate::error::{Error, Result};
use crate::target::{Target, shared_taken};

/// The attribute that holds the threads of a lowered kernel along x, y and z.
const THREADS: &str = "nvvm.reqntid";
/// In `sizes` of `gl.launch`: stands for a buffer where the size is a symbol of the device, whose position is then the axis.
const DEVICE: i64 = -1;

/// The assumptions of a kernel about the buffers of its launch.
pub(super) struct Assumptions {
    /// By buffer, in bytes: the divisor of the base address and of the strides of a dynamic strided layout.
    pub alignments: Vec<u64>,
    /// Buffer, axis, and the divisor of its size.
    pub multiples: Vec<(usize, usize, u64)>,
    /// Buffer, axis, and the interval of its size.
    pub bounds: Vec<(usize, usize, Interval)>,
}

/// Reads the assumptions of the kernel of a launch.
pub(super) fn assumptions(kernels: &Kernels, launch: &Launch) -> Result<Assumptions> {
    let op = kernels.find(launch)?;
    let attribute = launch_attribute(op)?;
    let alignments = attribute.alignments();
    let multiples = attribute.multiples().map(integers).unwrap_or_default();
    let triples = multiples.chunks_exact(3);
    let bounds = attribute.bounds().map(integers).unwrap_or_default();
    let quadruples = bounds.chunks_exact(4);
    Ok(Assumptions {
        alignments: alignments
            .iter()
            .map(|bytes| u64::try_from(*bytes).unwrap_or(1))
            .collect(),
        multiples: triples
            .map(|triple| (triple[0] as usize, triple[1] as usize, triple[2]))
            .collect(),
        bounds: quadruples
            .map(|bound| {
                let number = |index: usize| i64::try_from(bound[index]).unwrap_or(i64::MAX);
                let (least, most) = (number(2), number(3));
                (bound[0] as usize, bound[1] as usize, Interval { least, most })
            })
            .chain(tensor_maps::bounds(op))
            .collect(),
    })
}

/// Describes one launch of a host function.
pub(super) fn describe(
    kernels: &Kernels,
    host: &HostFunction,
    launch: &Launch,
    sizes: &Sizes,
    emitted: &[Emitted],
    target: &Target,
) -> Result<Kernel> {
    let op = kernels.find(launch)?;
    let attribute = launch_attribute(op)?;
    let symbols = launch_symbols(op, attribute, launch, sizes)?;
    let map = |attribute: Attribute| {
        norma_dialects::affine_map(attribute)
            .ok()
            .and_then(|map| affine::results(map, &[], &symbols))
            .ok_or_else(|| broken(op, "gl.launch needs maps over its sizes"))
    };
    let grid = map(attribute.grid())?.into_iter().reduce(Expression::minimum);
    let grid = grid.ok_or_else(|| broken(op, "gl.launch needs a grid of at least one result"))?;
    // An extent such as a size minus a constant is negative for smaller sizes; the grid is empty then.
    let grid = match grid.least() {
        Some(least) if least >= 0 => grid,
        _ => grid.maximum(0),
    };
    let [bytes_read, bytes_written] = <[Expression; 2]>::try_from(map(attribute.traffic())?)
        .map_err(|_| broken(op, "gl.launch needs a traffic map of two results"))?;
    tensor_maps::check(op, host, launch)?;
    let args = arguments(op, host, launch, sizes)?;

    let module = launch.module.as_deref().unwrap_or_default();
    let emitted = emitted.iter().find(|emitted| emitted.module == module);
    let keeps_text = emitted.is_some_and(|emitted| emitted.text.is_some());
    let keeps_ptx = emitted.is_some_and(|emitted| emitted.ptx.is_some());
    let usage = emitted.and_then(|emitted| {
        let cubin = emitted.cubin.as_ref()?;
        cubin.kernels.iter().find(|usage| usage.symbol == launch.kernel)
    });
    let one = Expression::Integer(1);
    let mut kernel = Kernel {
        symbol: launch.kernel.clone(),
        cubin: cubin_name(module, target),
        module: keeps_text.then(|| module_name(module, target)),
        ptx: keeps_ptx.then(|| ptx_name(module, target)),
        target: target.architecture().to_owned(),
        symbols: Vec::new(),
        when: launch
            .when
            .iter()
            .map(|[left, right]| at_least(host, sizes, left, right))
            .collect(),
        grid: [grid, one.clone(), one],
        block: threads(op)?,
        cluster: [u32::try_from(attribute.cluster()).unwrap_or(1), 1, 1],
        shared_bytes: Expression::Integer(integer_of(op, kernel::DYNAMIC_SHARED).unwrap_or(0)),
        shared_carveout: u32::try_from(attribute.carveout())
            .ok()
            .map(|least| least.max(needed_carveout(op, usage, target))),
        programmatic_dependent_launch: attribute.dependent_launch(),
        args,
        registers: usage.map(|usage| usage.registers),
        static_shared_bytes: usage.map(|usage| usage.static_shared_bytes),
        spill_bytes: usage.map(|usage| usage.spill_bytes),
        schedule: op
            .attribute(kernel::SCHEDULE)
            .ok()
            .map(|schedule| schedule.to_string()),
        bytes_read,
        bytes_written,
    };
    kernel.symbols = symbols_of(&kernel, sizes);
    Ok(kernel)
}

/// The symbols of the maps of `gl.launch`, in order: sizes of buffers, and numbers of the device.
fn launch_symbols(
    op: OperationRef,
    attribute: LaunchAttr,
    launch: &Launch,
    sizes: &Sizes,
) -> Result<Vec<Expression>> {
    attribute
        .sizes()
        .chunks_exact(2)
        .map(|pair| {
            if pair[0] == DEVICE {
                let name = DEVICE_SYMBOLS.get(usize::try_from(pair[1]).ok()?)?;
                return Some(Expression::symbol(*name));
            }
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
        })
}

/// The smallest carve-out that holds any shared memory, in bytes: the driver's choice for 0 per cent (CUDA C++ Programming
/// Guide, compute capability 8.0 and later).
const LEAST_CARVEOUT: u64 = 8 << 10;

/// The least shared-memory carve-out, in per cent of an SM's, that lets all CTAs for which there are registers be resident:
/// even a CTA without shared memory of its own takes what the system reserves. 0 if the kernel was not assembled.
fn needed_carveout(op: OperationRef, usage: Option<&ResourceUsage>, target: &Target) -> u32 {
    let needed = usage.and_then(|usage| {
        let threads = threads(op).ok()?.iter().map(|count| u64::from(*count)).product();
        let resident = target.resident_ctas(threads, u64::from(usage.registers));
        let all = resident * shared_taken(u64::from(usage.static_shared_bytes));
        match all <= LEAST_CARVEOUT {
            true => None,
            false => u32::try_from((100 * all).div_ceil(u64::from(target.shared_per_sm))).ok(),
        }
    });
    needed.map_or(0, |percent| percent.min(100))
}

/// Describes each parameter by `gl.params`.
fn arguments(op: OperationRef, host: &HostFunction, launch: &Launch, sizes: &Sizes) -> Result<Vec<Argument>> {
    if !op.has_attribute(kernel::PARAMS) {
        return Err(broken(op, "a lowered kernel needs gl.params"));
    }
    let described = |(index, param)| {
        let argument = argument(param, host, launch, sizes);
        argument.ok_or_else(|| broken(op, &format!("gl.params[{index}] does not fit the launch")))
    };
    params(op).into_iter().enumerate().map(described).collect()
}

/// The `gl.params` of a lowered kernel; empty if the attribute is absent.
pub(super) fn params<'c>(op: OperationRef<'c, '_>) -> Vec<ParamAttr<'c>> {
    let list = op.attribute(kernel::PARAMS).ok();
    let list = list.and_then(|list| ArrayAttribute::try_from(list).ok());
    let elements = list
        .iter()
        .flat_map(|list| (0..list.len()).filter_map(|index| list.element(index).ok()));
    elements.filter_map(ParamAttr::from_attribute).collect()
}

fn argument(param: ParamAttr, host: &HostFunction, launch: &Launch, sizes: &Sizes) -> Option<Argument> {
    let position = usize::try_from(param.argument()).ok()?;
    if param.kind() == Ok(ParamKind::Scalar) {
        let scalar = launch.scalars.get(position.checked_sub(launch.buffers.len())?)?;
        let HostScalar {
            name,
            scalar,
            default,
            ..
        } = host.scalars.get(*scalar)?;
        return Some(Argument::Scalar {
            name: Some(name.clone()),
            scalar: *scalar,
            value: default.clone(),
        });
    }
    let buffer = launch.buffers.get(position)?;
    let axis = usize::try_from(param.axis()).ok()?;
    let scalar = |value: Expression| Argument::Scalar {
        name: None,
        scalar: ScalarType::I64,
        value: ScalarValue::Expression(value),
    };
    Some(match param.kind().ok()? {
        ParamKind::Pointer => {
            let tensor = host.tensors.get(buffer.tensor)?;
            let name = tensor.name.clone();
            match tensor.role {
                Role::Input(_) | Role::Output(_) => Argument::Pointer { tensor: name },
                Role::Scratch { zeroed, .. } => Argument::Workspace {
                    name,
                    bytes: sizes.bytes(buffer.tensor, tensor.element)?,
                    init: if zeroed {
                        WorkspaceInit::Zero
                    } else {
                        WorkspaceInit::None
                    },
                },
            }
        }
        ParamKind::TensorMap => Argument::TensorMap(tensor_maps::describe(param, host, buffer, sizes)?),
        ParamKind::Size => scalar(sizes.size(buffer, axis)?),
        ParamKind::Stride => scalar(sizes.stride(buffer, axis)?),
        ParamKind::Scalar => return None,
    })
}

/// The symbols that a kernel's expressions use, in the function's order of symbols.
fn symbols_of(kernel: &Kernel, sizes: &Sizes) -> Vec<Symbol> {
    let arguments = kernel.args.iter().flat_map(|argument| match argument {
        Argument::Scalar {
            value: ScalarValue::Expression(value),
            ..
        } => vec![value],
        Argument::Workspace { bytes, .. } => vec![bytes],
        Argument::TensorMap(map) => map.dims.iter().chain(&map.strides_bytes).collect(),
        Argument::Pointer { .. } | Argument::Scalar { .. } => Vec::new(),
    });
    let expressions: Vec<_> = kernel
        .grid
        .iter()
        .chain([&kernel.shared_bytes, &kernel.bytes_read, &kernel.bytes_written])
        .chain(arguments)
        .chain(
            kernel
                .when
                .iter()
                .flat_map(|condition| [&condition.left, &condition.right]),
        )
        .collect();
    let used = |symbol: &&Symbol| {
        expressions
            .iter()
            .any(|expression| expression.symbols().contains(symbol.name.as_str()))
    };
    sizes.symbols.iter().filter(used).cloned().collect()
}

/// The functions in `gpu.module`s, by the names of the module and the function.
pub(super) struct Kernels<'c, 'a>(HashMap<(Option<&'c str>, &'c str), OperationRef<'c, 'a>>);

impl<'c, 'a> Kernels<'c, 'a> {
    /// Collects those of a module at level `nvvm`.
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

/// Reports a kernel that lacks what a manifest needs, by the fault of a pass or of hand-written input.
fn broken(op: OperationRef, message: &str) -> Error {
    Diagnostic::user(op.location(), message).emit(None);
    Error::user("the kernel's launch cannot be described").diagnosed()
}
