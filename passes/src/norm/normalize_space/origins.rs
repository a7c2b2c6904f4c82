//! Where the launches of a kernel have the sizes of its buffers from, which tells sizes that are equal whenever it runs.
//!
//! Scratch that is allocated with the sizes of a tensor has these sizes. Sizes of two tensors that the function is called with are equal
//! where one is the extent of a dim and an access has this dim alone as its coordinate along the other: a launch refuses tensors of which
//! it reads or writes but a part.

use melior::ir::{Value, ValueLike, operation::OperationLike};
use norma_dialects::{integer_of, norm::LaunchOp, op_name};

use crate::mlir::{
    types,
    values::{argument_number, definition},
};

/// Where a launch has a size from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is part of the buffer's type.
    Type(i64),
    /// It is the size of an argument of the function, along an axis.
    Argument(usize, usize),
    /// It is computed, or that of a view.
    Unknown,
}

/// The origins of a kernel's sizes: by launch, by buffer, and by axis.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins(Vec<Vec<Vec<Origin>>>);

impl Origins {
    /// Reads the launches of a kernel.
    pub(super) fn of<'c: 'a, 'a>(launches: impl Iterator<Item = LaunchOp<'c, 'a>>) -> Self {
        let of_launch = |launch: LaunchOp<'c, 'a>| launch.arguments().into_iter().map(of_buffer).collect();
        Self(launches.map(of_launch).collect())
    }

    /// Whether there is a launch, and every launch gives two buffers equal sizes along the axes `a` and `b`. To be asked only where a dim
    /// whose extent is the size along `a` is by itself the coordinate along `b`: a launch refuses unequal sizes of arguments there. Several
    /// axes stand for the one that they are collapsed into.
    pub(super) fn are_equal(&self, a: (usize, &[i64]), b: (usize, &[i64])) -> bool {
        let of_axes = |launch: &[Vec<Origin>], (buffer, axes): (usize, &[i64])| {
            let sizes = launch.get(buffer)?;
            axes.iter()
                .map(|axis| sizes.get(usize::try_from(*axis).ok()?).copied())
                .collect::<Option<Vec<_>>>()
        };
        let is_equal = |launch: &Vec<Vec<Origin>>| {
            let both = of_axes(launch, a).zip(of_axes(launch, b));
            both.is_some_and(|(a, b)| a.len() == b.len() && a.into_iter().zip(b).all(are_same))
        };
        !self.0.is_empty() && self.0.iter().all(is_equal)
    }
}

/// Whether two sizes are the same, if a launch makes sure that those of arguments are.
fn are_same((a, b): (Origin, Origin)) -> bool {
    match (a, b) {
        (Origin::Type(a), Origin::Type(b)) => a == b,
        (Origin::Argument(..), Origin::Argument(..)) => true,
        _ => false,
    }
}

/// The origins of the sizes of a buffer that a launch passes.
fn of_buffer(buffer: Value<'_, '_>) -> Vec<Origin> {
    let shape = types::shape(buffer.r#type()).unwrap_or_default();
    let mut dynamic = 0;
    let of_axis = |(axis, size): (usize, Option<i64>)| match size {
        Some(size) => Origin::Type(size),
        None => {
            dynamic += 1;
            of_size(buffer, axis, dynamic - 1)
        }
    };
    shape.into_iter().enumerate().map(of_axis).collect()
}

/// The origin of a buffer's size along an axis, the `number`-th of its dynamic ones.
fn of_size(buffer: Value<'_, '_>, axis: usize, number: usize) -> Origin {
    if let Some(argument) = argument_number(buffer) {
        return Origin::Argument(argument, axis);
    }
    let allocated = || {
        let alloc = definition(buffer).filter(|op| op_name(*op) == "memref.alloc")?;
        let dim = definition(alloc.operand(number).ok()?).filter(|op| op_name(*op) == "memref.dim")?;
        let argument = argument_number(dim.operand(0).ok()?)?;
        let axis = integer_of(definition(dim.operand(1).ok()?)?, "value")?;
        Some(Origin::Argument(argument, usize::try_from(axis).ok()?))
    };
    allocated().unwrap_or(Origin::Unknown)
}
