//! Writes schedules for some sizes to a kernel.

use melior::ir::{
    AffineExpr, AffineMap, ValueLike,
    attribute::{ArrayAttribute, DenseI64ArrayAttribute},
    operation::OperationLike,
};
use norma_bundle::expression::{Expression, Operation};
use norma_dialects::{affine_map_attribute, norm::KernelOp};

use super::given::Alternative;
use crate::{
    kernel::space::Space,
    mlir::{builder::Builder, context, diagnostic::Diagnostic, pass::PassResult, types},
};

/// The name in conditions of a buffer's size along an axis, such as `size_0_1`.
pub(super) fn size_name(buffer: usize, axis: usize) -> String {
    format!("size_{buffer}_{axis}")
}

/// Gives a kernel schedules for the sizes that satisfy conditions over [`size_name`]s.
pub(super) fn set_alternatives<'c>(
    kernel: KernelOp<'c, '_>,
    alternatives: &[Alternative<'c>],
) -> PassResult<'c> {
    if alternatives.is_empty() {
        return Ok(());
    }
    let location = kernel.op().location();
    let context = context::of(location);
    let space = Space::of(kernel)?;
    let mut sizes = space.sizes.clone();
    let mut sides = Vec::new();
    for ([left, right], _) in alternatives {
        for side in [left, right] {
            let mut size = |name: &str| {
                let (buffer, axis) = name.strip_prefix("size_")?.split_once('_')?;
                let (buffer, axis) = (buffer.parse().ok()?, axis.parse().ok()?);
                let extent =
                    *types::shape(space.buffers.get::<usize>(buffer)?.r#type())?.get::<usize>(axis)?;
                if let Some(extent) = extent {
                    return Some(AffineExpr::constant(context, extent));
                }
                let known = sizes.iter().position(|size| *size == (buffer, axis));
                let symbol = known.unwrap_or_else(|| {
                    sizes.push((buffer, axis));
                    sizes.len() - 1
                });
                Some(AffineExpr::symbol(context, symbol))
            };
            sides.push(affine(side, context, &mut size).ok_or_else(|| {
                let message = format!(
                    "expected sums, products and quotients of integers and sizes such as {}, got '{side}'",
                    size_name(0, 0)
                );
                Diagnostic::user(location, message)
            })?);
        }
    }
    let b = Builder::before(kernel.op());
    let over_sizes =
        |results: &[AffineExpr<'c>]| affine_map_attribute(AffineMap::new(context, 0, sizes.len(), results));
    let numbers = sizes
        .iter()
        .flat_map(|(buffer, axis)| [*buffer as i64, *axis as i64]);
    let numbers = DenseI64ArrayAttribute::new(context, &numbers.collect::<Vec<_>>());
    let schedules = alternatives
        .iter()
        .map(|(_, schedule)| *schedule)
        .collect::<Vec<_>>();
    b.set_attribute(kernel.op(), "sizes", numbers.into());
    b.set_attribute(kernel.op(), "extents", over_sizes(&space.extents));
    b.set_attribute(kernel.op(), "conditions", over_sizes(&sides));
    b.set_attribute(
        kernel.op(),
        "alternatives",
        ArrayAttribute::new(context, &schedules).into(),
    );
    Ok(())
}

/// An expression over sizes; `None` for one that has a minimum or maximum, or a name that `size` does not know.
fn affine<'c>(
    expression: &Expression,
    context: &'c melior::Context,
    size: &mut impl FnMut(&str) -> Option<AffineExpr<'c>>,
) -> Option<AffineExpr<'c>> {
    Some(match expression {
        Expression::Integer(value) => AffineExpr::constant(context, *value),
        Expression::Symbol(name) => size(name)?,
        Expression::Binary(operation, a, b) => {
            let (a, b) = (affine(a, context, size)?, affine(b, context, size)?);
            match operation {
                Operation::Add => a + b,
                Operation::Subtract => a + b * AffineExpr::constant(context, -1),
                Operation::Multiply => a * b,
                Operation::FloorDivide => AffineExpr::floor_div(a, b),
                Operation::CeilDivide => AffineExpr::ceil_div(a, b),
                Operation::Modulo => AffineExpr::modulo(a, b),
                Operation::Minimum | Operation::Maximum => return None,
            }
        }
    })
}
