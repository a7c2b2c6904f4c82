//! Where scalars lie, as far as a kernel's launch says it: the guards that hold for a whole tile follow from it.

use melior::ir::{Value, ValueLike, attribute::DenseI64ArrayAttribute, operation::OperationLike};
use norma_dialects::op_name;

use crate::mlir::{interval::Interval, types, values::definition};

use super::divisibility::{constant, launch_of};

/// Where a scalar lies: a constant, or the size of a buffer.
pub fn of_scalar(value: Value<'_, '_>) -> Interval {
    let Some(op) = definition(value) else {
        return Interval::ANY;
    };
    match op_name(op) {
        "arith.constant" => constant(value).map_or(Interval::ANY, Interval::exactly),
        "memref.dim" => {
            let axis = op.operand(1).ok().and_then(constant);
            match (op.operand(0), axis.and_then(|axis| usize::try_from(axis).ok())) {
                (Ok(buffer), Some(axis)) => of_size(buffer, axis),
                _ => Interval::SIZE,
            }
        }
        _ => Interval::ANY,
    }
}

/// Where a buffer's size along an axis lies: a static size, or what the kernel's launch says of a dynamic one.
fn of_size(buffer: Value<'_, '_>, axis: usize) -> Interval {
    let shape = types::shape(buffer.r#type()).unwrap_or_default();
    if let Some(Some(size)) = shape.get(axis) {
        return Interval::exactly(*size);
    }
    promised(buffer, axis).unwrap_or(Interval::SIZE)
}

fn promised(buffer: Value<'_, '_>, axis: usize) -> Option<Interval> {
    let (launch, argument) = launch_of(buffer)?;
    let bounds = DenseI64ArrayAttribute::try_from(launch.bounds()?).ok()?;
    let number = |index: usize| bounds.element(index).ok();
    let mut all = (0..bounds.len()).step_by(4);
    let found =
        all.find(|first| number(*first) == Some(argument as i64) && number(first + 1) == Some(axis as i64))?;
    Some(Interval {
        least: number(found + 2)?,
        most: number(found + 3)?,
    })
}
