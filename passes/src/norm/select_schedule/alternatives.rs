//! Writes schedules for some sizes to a kernel.

use melior::ir::{
    AffineExpr, AffineMap, Location, ValueLike,
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
            sides.push(affine(side, location, &mut size)?);
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

/// An expression over sizes.
///
/// # Errors
///
/// At `location`: a name that `size` does not know, a minimum or maximum, a divisor that is not positive, or unsupported: a quotient or
/// remainder by a size, which has no value where that size is 0.
fn affine<'c>(
    expression: &Expression,
    location: Location<'c>,
    size: &mut impl FnMut(&str) -> Option<AffineExpr<'c>>,
) -> Result<AffineExpr<'c>, Diagnostic<'c>> {
    let context = context::of(location);
    let unknown = || {
        let message = format!(
            "expected sums, products and quotients of integers and sizes such as {}, got '{expression}'",
            size_name(0, 0)
        );
        Diagnostic::user(location, message)
    };
    let (operation, a, b) = match expression {
        Expression::Integer(value) => return Ok(AffineExpr::constant(context, *value)),
        Expression::Symbol(name) => return size(name).ok_or_else(unknown),
        Expression::Binary(operation, a, b) => {
            (*operation, affine(a, location, size)?, affine(b, location, size)?)
        }
    };
    let divide = |quotient: fn(AffineExpr<'c>, AffineExpr<'c>) -> AffineExpr<'c>| {
        if !b.is_constant() {
            let message = format!(
                "'{expression}', which divides by a size, in a condition; supported: quotients and remainders by integers"
            );
            return Err(Diagnostic::unsupported(location, message));
        }
        match b.constant_value() {
            1.. => Ok(quotient(a, b)),
            divisor => {
                let message = format!("expected a positive divisor, got {divisor} in '{expression}'");
                Err(Diagnostic::user(location, message))
            }
        }
    };
    match operation {
        Operation::Add => Ok(a + b),
        Operation::Subtract => Ok(a + b * AffineExpr::constant(context, -1)),
        Operation::Multiply => Ok(a * b),
        Operation::FloorDivide => divide(AffineExpr::floor_div),
        Operation::CeilDivide => divide(AffineExpr::ceil_div),
        Operation::Modulo => divide(AffineExpr::modulo),
        Operation::Minimum | Operation::Maximum => Err(unknown()),
    }
}
