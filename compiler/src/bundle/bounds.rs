//! Bounds of sizes, which functions promise and kernels rely on, as conditions of the manifest.

use norma_bundle::Expression;
use norma_bundle::condition::Condition;
use norma_passes::mlir::interval::Interval;

use super::conditions::{at_least, in_manifest};
use super::host::{Buffer, HostFunction, Launch, dim_symbol};
use super::kernel::{self, Kernels};
use super::sizes::Sizes;
use crate::error::Result;

/// Returns the bounds that the attributes of a function's tensors state, and, where its kernels are lowered, those that the
/// kernels assume beyond these.
pub(super) fn conditions(
    host: &HostFunction,
    sizes: &Sizes,
    kernels: Option<&Kernels>,
) -> Result<Vec<Condition>> {
    let mut all = Vec::new();
    let mut add = |condition: Condition| {
        if !condition.is_trivial() && !all.contains(&condition) {
            all.push(condition);
        }
    };
    for (tensor, host_tensor) in host.tensors.iter().enumerate() {
        for (axis, bounds) in host_tensor.bounds.iter().enumerate() {
            let size = extent(host, tensor, axis);
            sides(&size, *bounds).for_each(|[left, right]| add(at_least(host, sizes, &left, &right)));
        }
    }
    let Some(kernels) = kernels else { return Ok(all) };
    for launch in &host.launches {
        for (buffer, axis, bounds) in kernel::assumptions(kernels, launch)?.bounds {
            let Some(buffer) = launch.buffers.get(buffer) else {
                continue;
            };
            let Some(size) = size_of(host, buffer, axis) else {
                continue;
            };
            let promised = promised(host, buffer, axis);
            for [left, right] in sides(&size, bounds) {
                let is_promised = match left {
                    Expression::Integer(most) => promised.most <= most,
                    _ => right.as_integer().is_some_and(|least| promised.least >= least),
                };
                if !is_promised && !is_implied(launch, sizes, &left, &right) {
                    add(at_least(host, sizes, &left, &right));
                }
            }
        }
    }
    Ok(all)
}

/// States each finite bound of a size as a pair `left >= right`.
fn sides(size: &Expression, bounds: Interval) -> impl Iterator<Item = [Expression; 2]> {
    let least = (bounds.least > 0).then(|| [size.clone(), Expression::Integer(bounds.least)]);
    let most = bounds
        .bound()
        .map(|most| [Expression::Integer(most), size.clone()]);
    least.into_iter().chain(most)
}

fn extent(host: &HostFunction, tensor: usize, axis: usize) -> Expression {
    match host.tensors[tensor].shape.get(axis) {
        Some(Some(extent)) => Expression::Integer(*extent),
        _ => Expression::symbol(dim_symbol(tensor, axis)),
    }
}

fn size_of(host: &HostFunction, buffer: &Buffer, axis: usize) -> Option<Expression> {
    let dims = buffer.groups.get(axis)?.iter();
    dims.map(|dim| extent(host, buffer.tensor, *dim))
        .reduce(|a, b| a * b)
}

/// The interval of the size of a buffer's axis, by the attributes of its tensor.
fn promised(host: &HostFunction, buffer: &Buffer, axis: usize) -> Interval {
    let tensor = &host.tensors[buffer.tensor];
    let of_dim = |dim: &usize| match tensor.shape.get(*dim) {
        Some(Some(extent)) => Interval::exactly(*extent),
        _ => tensor.bounds.get(*dim).copied().unwrap_or(Interval::SIZE),
    };
    let dims = buffer.groups.get(axis).into_iter().flatten();
    dims.map(of_dim).fold(Interval::exactly(1), Interval::times)
}

/// Whether the condition of a launch implies `left >= right`, one side of which is a number. Sizes are compared as the manifest has them:
/// that of scratch may be the size of an argument.
fn is_implied(launch: &Launch, sizes: &Sizes, left: &Expression, right: &Expression) -> bool {
    launch.when.iter().any(|[more, less]| {
        let bounds = |stated: &Expression, needed: &Expression, by: fn(i64, i64) -> bool| {
            in_manifest(sizes, stated) == in_manifest(sizes, needed)
                || stated
                    .as_integer()
                    .zip(needed.as_integer())
                    .is_some_and(|(stated, needed)| by(stated, needed))
        };
        bounds(more, left, |stated, needed| stated <= needed)
            && bounds(less, right, |stated, needed| stated >= needed)
    })
}
