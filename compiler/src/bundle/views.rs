//! The reshapes, casts and slices of tensors, and what they say about sizes and offsets.

use melior::ir::attribute::ArrayAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Value};
use norma_bundle::Expression;
use norma_dialects::{dense_i64, op_name};
use norma_passes::mlir::values::{argument_number, definition};
use norma_passes::mlir::walk;

use super::host::number_symbol;

/// Whether an op is a view of a tensor.
pub(super) fn is_view(op: OperationRef) -> bool {
    [
        "tensor.cast",
        "tensor.collapse_shape",
        "tensor.expand_shape",
        "tensor.extract_slice",
    ]
    .contains(&op_name(op))
}

/// The reassociation groups of a reshape.
pub(super) fn groups(op: OperationRef) -> Option<Vec<Vec<usize>>> {
    fn list(attribute: Attribute) -> Option<Vec<Attribute>> {
        let array = ArrayAttribute::try_from(attribute).ok()?;
        (0..array.len()).map(|index| array.element(index).ok()).collect()
    }
    let axis = |attribute| usize::try_from(norma_dialects::integer(attribute).ok()?).ok();
    let group = |group| list(group)?.into_iter().map(axis).collect::<Option<Vec<_>>>();
    list(op.attribute("reassociation").ok()?)?
        .into_iter()
        .map(group)
        .collect()
}

/// The part of each axis that a slice selects.
pub(super) struct Slice<'c, 'a> {
    /// The first element.
    pub offsets: Vec<Number<'c, 'a>>,
    /// The number of elements.
    pub sizes: Vec<Number<'c, 'a>>,
    /// The distance between neighbouring elements.
    pub strides: Vec<Number<'c, 'a>>,
}

impl<'c, 'a> Slice<'c, 'a> {
    /// Reads the lists of a `tensor.extract_slice`.
    pub fn of(op: OperationRef<'c, 'a>) -> Option<Self> {
        let mut operands = Operands { op, next: 1 };
        Some(Self {
            offsets: operands.numbers("static_offsets")?,
            sizes: operands.numbers("static_sizes")?,
            strides: operands.numbers("static_strides")?,
        })
    }

    /// The operands that give the dynamic sizes of the result.
    pub fn asked_sizes(&self) -> Vec<Value<'c, 'a>> {
        let dynamic = self.sizes.iter().filter_map(|size| match size {
            Number::Static(_) => None,
            Number::Dynamic(value) => Some(*value),
        });
        dynamic.collect()
    }
}

/// A number that an op holds as an attribute or takes as an operand.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Number<'c, 'a> {
    /// As an attribute.
    Static(i64),
    /// As an operand.
    Dynamic(Value<'c, 'a>),
}

impl Number<'_, '_> {
    /// The number, if it is constant.
    pub fn known(&self) -> Option<i64> {
        self.expression()?.as_integer()
    }

    /// The number over the [`number_symbol`]s of the function's arguments, if it is computed from these by additions,
    /// subtractions and multiplications.
    pub fn expression(&self) -> Option<Expression> {
        match self {
            Number::Static(number) => Some(Expression::Integer(*number)),
            Number::Dynamic(value) => expression(*value),
        }
    }
}

fn expression(value: Value) -> Option<Expression> {
    let Some(op) = definition(value) else {
        return Some(Expression::symbol(number_symbol(argument_number(value)?)));
    };
    let operand = |index| expression(op.operand(index).ok()?);
    match op_name(op) {
        "arith.constant" => Some(Expression::Integer(norma_dialects::integer_of(op, "value")?)),
        "arith.addi" => Some(operand(0)? + operand(1)?),
        "arith.subi" => Some(operand(0)? - operand(1)?),
        "arith.muli" => Some(operand(0)? * operand(1)?),
        _ => None,
    }
}

/// The operands of a slice behind its source, which the lists of numbers consume one after the other.
struct Operands<'c, 'a> {
    op: OperationRef<'c, 'a>,
    next: usize,
}

impl<'c, 'a> Operands<'c, 'a> {
    /// Reads the next list. An entry is a number in the attribute, or a placeholder for the next operand.
    fn numbers(&mut self, name: &str) -> Option<Vec<Number<'c, 'a>>> {
        // SAFETY: the function takes no arguments.
        let dynamic = unsafe { mlir_sys::mlirShapedTypeGetDynamicSize() };
        let numbers = dense_i64(self.op.attribute(name).ok()?).ok()?.into_iter();
        let number = |number: i64| {
            if number != dynamic {
                return Some(Number::Static(number));
            }
            self.next += 1;
            Some(Number::Dynamic(self.op.operand(self.next - 1).ok()?))
        };
        numbers.map(number).collect()
    }
}

/// The tensor and the axis whose size a number is.
pub(super) fn tensor_dim<'c: 'a, 'a>(number: Value<'c, 'a>) -> Option<(Value<'c, 'a>, usize)> {
    let dim = definition(number).filter(|op| walk::has_name(*op, "tensor.dim"))?;
    let axis = norma_dialects::integer_of(definition(dim.operand(1).ok()?)?, "value")?;
    Some((dim.operand(0).ok()?, usize::try_from(axis).ok()?))
}
