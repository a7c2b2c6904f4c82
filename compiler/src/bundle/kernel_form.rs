//! Facts of the kernel form that the lowered kernel no longer has: which sizes are equal, and how far accesses reach.
//!
//! They are read before a schedule takes a kernel apart, together with the launches at that point, and kept independent of
//! the IR.

use std::collections::BTreeSet;

use melior::Context;
use melior::ir::operation::OperationLike;
use melior::ir::{AffineExpr, AffineMap, BlockLike, Module, RegionLike, Value};
use norma_bundle::Expression;
use norma_bundle::program::dim_of_symbol;
use norma_dialects::attributes;
use norma_dialects::norm::{KernelOp, LaunchOp, ReadOp, WriteOp};
use norma_passes::kernel::digits::digits;
use norma_passes::kernel::guards::{self, Guard};
use norma_passes::mlir::context;
use norma_passes::mlir::linear_form::LinearForm;
use norma_passes::mlir::values::argument_number;
use norma_passes::mlir::walk;

use super::affine;
use super::host::{self, HostFunction, Launch};
use crate::error::Result;

/// The host functions and the kernels of a module of level `kernel`, independent of the IR.
#[derive(Debug, Clone)]
pub struct KernelForms {
    functions: Vec<HostFunction>,
    forms: Vec<KernelForm>,
}

impl KernelForms {
    /// Reads them from a module.
    ///
    /// # Errors
    ///
    /// A host function that a manifest cannot describe.
    pub fn collect(module: &Module) -> Result<Self> {
        Ok(Self {
            functions: host::functions(module)?,
            forms: KernelForm::collect(module),
        })
    }

    /// The forms that a function launched, each with its launch. The launch's buffers are those of `host`, the same function
    /// at a later level, which may have additional scratch.
    pub(super) fn of<'a>(
        &'a self,
        host: &'a HostFunction,
    ) -> impl Iterator<Item = (Launch, &'a KernelForm)> + 'a {
        let before = self.functions.iter().find(|function| function.name == host.name);
        before.into_iter().flat_map(move |before| {
            before.launches.iter().filter_map(move |launch| {
                let form = self.forms.iter().find(|form| form.symbol == launch.kernel)?;
                let mut launch = launch.clone();
                for buffer in &mut launch.buffers {
                    let name = &before.tensors.get(buffer.tensor)?.name;
                    buffer.tensor = host.tensors.iter().position(|tensor| tensor.name == *name)?;
                }
                Some((launch, form))
            })
        })
    }
}

/// The facts of one `norm.kernel`.
#[derive(Debug, Clone)]
pub struct KernelForm {
    /// The kernel's symbol.
    pub symbol: String,
    /// By dim of its space: the size that is its extent, if the extent is exactly the size of a buffer.
    extents: Vec<Option<Size>>,
    /// The axes of buffers that are indexed by exactly one dim: (size, dim).
    plain_accesses: Vec<(Size, usize)>,
    /// By axis: the largest coordinate accessed plus one, over the symbols of `sizes`.
    reached: Vec<(Size, Expression)>,
    /// The axes that are accessed in whole runs of the elements along some size. `reached` leaves them out.
    whole_runs: Vec<WholeRuns>,
    /// The axes that are written up to a size, by which a guard limits them: (axis, size).
    written_up_to: Vec<(Size, Size)>,
    /// Each symbol in `reached`, and the size it stands for.
    sizes: Vec<(String, Option<Size>)>,
}

/// The extent of an axis of a kernel's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub buffer: usize,
    pub axis: usize,
}

/// An axis of a buffer that is accessed at all points of whole runs of `length` neighbours along the axis `of`.
#[derive(Debug, Clone, Copy)]
pub(super) struct WholeRuns {
    /// The axis that is accessed.
    pub accessed: Size,
    /// Whether it is written. All elements of a result without padding are, so its extent is then a multiple of the length.
    pub is_written: bool,
    /// The axis whose extent says how many runs there are.
    pub of: Size,
    /// The elements of a run.
    pub length: u64,
}

impl KernelForm {
    /// Reads every `norm.kernel` of a module.
    pub fn collect(module: &Module) -> Vec<Self> {
        walk::pre_order(module.as_operation())
            .into_iter()
            .filter_map(KernelOp::from_op)
            .filter_map(Self::read)
            .collect()
    }

    /// Pairs of sizes that the kernel assumes to be equal, because both are the extent of one dim, because one axis is written in whole
    /// runs of the other, or because it is written up to the other.
    pub(super) fn equal_sizes(&self) -> impl Iterator<Item = (Size, Size)> + '_ {
        let plain = self
            .plain_accesses
            .iter()
            .filter_map(|(size, dim)| Some((*size, (*self.extents.get(*dim)?)?)));
        let written = self.whole_runs.iter().filter(|runs| runs.is_written);
        let written = written.map(|runs| (runs.accessed, runs.of));
        plain.chain(written).chain(self.written_up_to.iter().copied())
    }

    /// Axes that are accessed in whole runs.
    pub(super) fn whole_runs(&self) -> &[WholeRuns] {
        &self.whole_runs
    }

    /// By axis: the largest coordinate accessed plus one, with each size replaced by `size`. Accesses that are not affine
    /// sums of dims are left out, and so are those that a guard limits in an unknown way, and all accesses of a kernel with guards
    /// that a schedule has been applied to.
    pub(super) fn reached(&self, size: &dyn Fn(Size) -> Option<Expression>) -> Vec<(Size, Expression)> {
        let value = |symbol: &str| {
            let (_, known) = self.sizes.iter().find(|(name, _)| name == symbol)?;
            size((*known)?)
        };
        let reached = self.reached.iter();
        reached
            .map(|(at, expression)| (*at, affine::substitute(expression, &value)))
            .collect()
    }

    fn read(kernel: KernelOp) -> Option<Self> {
        let block = kernel.body().ok()?.first_block()?;
        let symbols: Vec<_> = kernel
            .sizes()
            .ok()?
            .chunks_exact(2)
            .enumerate()
            .map(|(index, pair)| (format!("s{index}"), size(pair)))
            .collect();
        let names: Vec<_> = symbols
            .iter()
            .map(|(name, _)| Expression::symbol(name.clone()))
            .collect();
        let extents = affine::results(kernel.extents().ok()?, &[], &names)?;
        let plain_extents: Vec<_> = extents
            .iter()
            .map(|extent| match extent {
                Expression::Symbol(name) => symbols.iter().find(|(known, _)| known == name)?.1,
                _ => None,
            })
            .collect();
        let first_dim = block.argument_count().checked_sub(extents.len())?;
        let mut plain_accesses = Vec::new();
        let mut reached = Vec::new();
        let mut whole_runs = Vec::new();
        let mut written_up_to = Vec::new();
        let guards = kernel.guards().map(guards::of_map).transpose().ok()?;
        let guards = guards.unwrap_or_default();
        for op in walk::in_block(block) {
            let (buffer, indices, access) = if let Some(read) = ReadOp::from_op(op) {
                (read.buffer().ok()?, read.indices(), read.access().ok()?)
            } else if let Some(write) = WriteOp::from_op(op) {
                (write.buffer().ok()?, write.indices(), write.access().ok()?)
            } else {
                continue;
            };
            plain_accesses.extend(plain(first_dim, buffer, &indices, access).unwrap_or_default());
            let is_applied =
                kernel.roles().is_some() || kernel.op().attribute(attributes::kernel::PART).is_ok();
            if guards.is_empty() || !is_applied {
                let mut all = reach(first_dim, buffer, &indices, access, &extents).unwrap_or_default();
                let size_of = |symbol: usize| symbols.get(symbol)?.1;
                let affine_extents = kernel.extents().ok()?;
                let context = context::of(op.location());
                let runs = runs(
                    first_dim,
                    buffer,
                    &indices,
                    access,
                    affine_extents,
                    &size_of,
                    context,
                );
                let runs = runs.unwrap_or_default();
                let of_op = (buffer, &indices[..], access);
                let limits = limits(first_dim, of_op, affine_extents, &guards, context).unwrap_or_default();
                let is_limited = |size: &Size| limits.iter().any(|(limited, _)| limited == size);
                all.retain(|(size, _)| !runs.iter().any(|runs| runs.accessed == *size) && !is_limited(size));
                reached.extend(all);
                let is_written = WriteOp::from_op(op).is_some_and(|write| !write.partial());
                for (accessed, limit) in limits {
                    let Some(limit) = limit else { continue };
                    if is_written && limit.is_symbol() {
                        let size = size_of(limit.symbol_position());
                        written_up_to.extend(size.map(|size| (accessed, size)));
                    }
                    let limit = affine::expression(limit, &[], &names);
                    reached.extend(limit.map(|limit| (accessed, limit)));
                }
                whole_runs.extend(runs.into_iter().map(|runs| WholeRuns { is_written, ..runs }));
            }
        }
        Some(Self {
            symbol: kernel.sym_name().ok()?.to_owned(),
            extents: plain_extents,
            plain_accesses,
            reached,
            whole_runs,
            written_up_to,
            sizes: symbols,
        })
    }
}

/// The axes of an access whose coordinates guards limit, each with the number of coordinates from 0 on that the guards leave, or `None` if
/// that number is not known. `extents` are those of the dims.
fn limits<'c>(
    first_dim: usize,
    (buffer, indices, access): (Value, &[Value], AffineMap<'c>),
    extents: AffineMap<'c>,
    guards: &[Guard<'c>],
    context: &'c Context,
) -> Option<Vec<(Size, Option<AffineExpr<'c>>)>> {
    let buffer = argument_number(buffer)?;
    let extents = (0..extents.result_count()).map(|dim| extents.result(dim).ok());
    let extents = extents.collect::<Option<Vec<_>>>()?;
    // A number is no dim, and in no guard.
    let dim_of = |index: &Value| argument_number(*index)?.checked_sub(first_dim);
    let used = indices.iter().filter_map(dim_of).collect();
    let own = guards.iter().filter(|guard| guards::concerns(guard, &used));
    let own = own.copied().collect::<Vec<_>>();
    let limited = own.iter().flat_map(guards::dims_of).collect::<BTreeSet<_>>();
    let mut found = Vec::new();
    for axis in 0..access.result_count() {
        let coordinate = access.result(axis).ok()?;
        let of_axis = (0..indices.len()).filter(|index| coordinate.is_function_of_dim(*index));
        let of_axis = of_axis.map(|index| dim_of(&indices[index])).collect::<Vec<_>>();
        if !of_axis.iter().flatten().any(|dim| limited.contains(dim)) {
            continue;
        }
        let dims = indices
            .iter()
            .map(|index| AffineExpr::dim(context, dim_of(index).unwrap_or(0)));
        let dims = AffineMap::new(context, extents.len(), 0, &dims.collect::<Vec<_>>());
        let digits = digits(coordinate.compose(dims), &extents, &own, context);
        let is_whole = of_axis.iter().all(Option::is_some);
        let left = digits.filter(|digits| is_whole && digits.first == 0);
        found.push((Size { buffer, axis }, left.map(|digits| digits.extent)));
    }
    Some(found)
}

/// The axes along which an access goes over whole runs; `extents` are those of the dims.
fn runs<'c>(
    first_dim: usize,
    buffer: Value,
    indices: &[Value],
    access: AffineMap<'c>,
    extents: AffineMap<'c>,
    size_of: &dyn Fn(usize) -> Option<Size>,
    context: &'c Context,
) -> Option<Vec<WholeRuns>> {
    let buffer = argument_number(buffer)?;
    let all = (0..extents.result_count()).map(|dim| extents.result(dim).ok());
    let all = all.collect::<Option<Vec<_>>>()?;
    let dims = indices.iter().map(|index| {
        Some(AffineExpr::dim(
            context,
            argument_number(*index)?.checked_sub(first_dim)?,
        ))
    });
    let dims = AffineMap::new(context, all.len(), 0, &dims.collect::<Option<Vec<_>>>()?);
    let of_axis = |axis: usize| {
        let coordinate = access.result(axis).ok()?.compose(dims);
        let (of, length) = digits(coordinate, &all, &[], context)?.whole_runs()?;
        Some(WholeRuns {
            accessed: Size { buffer, axis },
            is_written: false,
            of: size_of(of.symbol_position())?,
            length: u64::try_from(length).ok()?,
        })
    };
    Some((0..access.result_count()).filter_map(of_axis).collect())
}

/// By axis: how far an access goes. Only for coordinates that are sums of dims alone, or the quotient of one by a constant; coordinates
/// with numbers become conditions.
fn reach(
    first_dim: usize,
    buffer: Value,
    indices: &[Value],
    access: AffineMap,
    extents: &[Expression],
) -> Option<Vec<(Size, Expression)>> {
    let buffer = argument_number(buffer)?;
    // `None` for a number, which has no extent.
    let dims = indices
        .iter()
        .map(|index| extents.get(argument_number(*index)?.checked_sub(first_dim)?))
        .collect::<Vec<_>>();
    let mut found = Vec::new();
    for axis in 0..access.result_count() {
        let coordinate = access.result(axis).ok()?;
        let is_quotient = coordinate.is_floor_div() && coordinate.rhs().is_constant();
        let (whole, divisor) = match is_quotient {
            true => (coordinate.lhs(), coordinate.rhs().constant_value()),
            false => (coordinate, 1),
        };
        let Some(form) = LinearForm::of(whole, dims.len(), access.symbol_count()) else {
            continue;
        };
        if form.symbols.iter().any(|factor| *factor != 0) {
            continue;
        }
        let mut numbers = form.dims.iter().zip(&dims).filter(|(_, extent)| extent.is_none());
        if numbers.any(|(factor, _)| *factor != 0) {
            continue;
        }
        let terms = form.dims.iter().zip(&dims);
        let terms = terms.filter_map(|(factor, extent)| Some((factor, (*extent)?)));
        let terms = terms.filter(|(factor, _)| **factor > 0);
        let end = terms.fold(Expression::Integer(form.constant + 1), |end, (factor, extent)| {
            (extent.clone() - 1) * *factor + end
        });
        let end = match divisor {
            1 => simplified(end),
            divisor => (simplified(end) - 1).floor_divide(divisor) + 1,
        };
        found.push((Size { buffer, axis }, end));
    }
    Some(found)
}

/// Simplifies `x - 1 + 1` to `x`, the reach of a coordinate that is one dim.
fn simplified(expression: Expression) -> Expression {
    use norma_bundle::expression::Operation::{Add, Subtract};
    if let Expression::Binary(Add, lhs, rhs) = &expression
        && let Expression::Binary(Subtract, whole, taken) = lhs.as_ref()
        && taken == rhs
    {
        return whole.as_ref().clone();
    }
    expression
}

/// The axes of an access whose coordinate is exactly one dim of the space; the first dim is argument `first_dim`.
fn plain(
    first_dim: usize,
    buffer: Value,
    indices: &[Value],
    access: AffineMap,
) -> Option<Vec<(Size, usize)>> {
    let buffer = argument_number(buffer)?;
    let dims = indices
        .iter()
        .map(|index| {
            let name = match argument_number(*index)?.checked_sub(first_dim) {
                Some(dim) => format!("d{dim}"),
                None => "number".to_owned(),
            };
            Some(Expression::symbol(name))
        })
        .collect::<Option<Vec<_>>>()?;
    // Sizes may occur in an access, but not in a coordinate that is one dim alone.
    let symbols = vec![Expression::symbol("size"); access.symbol_count()];
    let axes = affine::results(access, &dims, &symbols)?;
    let plain = axes.iter().enumerate().filter_map(|(axis, index)| match index {
        Expression::Symbol(name) => Some((Size { buffer, axis }, dim_of_symbol(name)?)),
        _ => None,
    });
    Some(plain.collect())
}

fn size(pair: &[i64]) -> Option<Size> {
    Some(Size {
        buffer: usize::try_from(pair[0]).ok()?,
        axis: usize::try_from(pair[1]).ok()?,
    })
}

/// The kernel that a launch calls, if it is in kernel form.
pub(super) fn callee<'c, 'a>(launch: LaunchOp, module: &'a Module<'c>) -> Option<KernelOp<'c, 'a>> {
    let path = norma_dialects::symbol_path(launch.callee().ok()?).ok()?;
    let [callee] = path.as_slice() else {
        return None;
    };
    walk::in_block(module.body())
        .into_iter()
        .filter_map(KernelOp::from_op)
        .find(|kernel| kernel.sym_name() == Ok(callee))
}
