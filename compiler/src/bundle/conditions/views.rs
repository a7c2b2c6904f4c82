//! Conditions on the sizes of views of tensors, and of results that have the shape of an operand.
//!
//! A reshape keeps the number of elements, and a slice has as many as it asks for. Nothing else would refuse a result that is
//! larger than what its kernel writes, a reshape whose sizes do not divide evenly, or a slice that begins at a number and
//! leaves its tensor.

use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use norma_bundle::Expression;
use norma_bundle::condition::Relation;
use norma_dialects::named_op::{NamedOp, Shape};
use norma_dialects::op_name;
use norma_passes::mlir::types;

use super::{Names, Sides};
use crate::bundle::views::{Number, Slice, groups, is_view, tensor_dim};

impl Names {
    /// The conditions that an op states by the shapes of its operands and results.
    pub(super) fn of_shapes(&mut self, op: OperationRef) -> Option<Vec<Sides>> {
        let source = op.operands().find(|operand| types::is_tensor(operand.r#type()))?;
        if is_view(op) {
            return self.of_view(op, source, op.result(0).ok()?.into());
        }
        let rank = types::shape(source.r#type())?.len();
        let results = op.results().enumerate();
        let alike = results.filter(|(result, _)| is_as_large(op, *result));
        let mut all = Vec::new();
        for (_, result) in alike {
            for axis in 0..rank {
                let size = self.size(result.into(), axis)?;
                all.push((size, Relation::Equal, self.size(source, axis)?));
            }
        }
        Some(all)
    }

    fn of_view(&mut self, op: OperationRef, source: Value, result: Value) -> Option<Vec<Sides>> {
        let (from, to) = (types::shape(source.r#type())?, types::shape(result.r#type())?);
        let mut all = Vec::new();
        match op_name(op) {
            "tensor.cast" => {
                for axis in 0..from.len() {
                    all.push((
                        self.size(result, axis)?,
                        Relation::Equal,
                        self.size(source, axis)?,
                    ));
                }
            }
            "tensor.collapse_shape" => {
                for (axis, group) in groups(op)?.into_iter().enumerate() {
                    let product = self.product(source, &group)?;
                    all.push((self.size(result, axis)?, Relation::Equal, product));
                }
            }
            "tensor.expand_shape" => {
                for (of, group) in groups(op)?.into_iter().enumerate() {
                    let size = self.size(source, of)?;
                    let open = group.iter().find(|axis| to[**axis].is_none());
                    if let Some(axis) = open {
                        let others = group.iter().filter(|other| *other != axis);
                        let others = others.map(|other| to[*other]).product::<Option<i64>>()?;
                        let quotient = size.clone().floor_divide(Expression::Integer(others));
                        all.push((self.size(result, *axis)?, Relation::Equal, quotient));
                    }
                    all.push((self.product(result, &group)?, Relation::Equal, size));
                }
            }
            _ => {
                let slice = Slice::of(op)?;
                let open = (0..to.len()).filter(|axis| to[*axis].is_none());
                for (axis, asked) in open.zip(slice.asked_sizes()) {
                    let (of, of_axis) = tensor_dim(asked)?;
                    all.push((self.size(result, axis)?, Relation::Equal, self.size(of, of_axis)?));
                }
                self.within(source, &slice, &mut all)?;
            }
        }
        Some(all)
    }

    /// Adds the conditions that a slice which begins at a number lies within its tensor.
    fn within(&mut self, source: Value, slice: &Slice, all: &mut Vec<Sides>) -> Option<()> {
        let axes = slice
            .offsets
            .iter()
            .zip(&slice.sizes)
            .zip(&slice.strides)
            .enumerate();
        for (axis, ((offset, size), stride)) in axes {
            let offset = offset.expression()?;
            if offset.as_integer().is_some() {
                continue;
            }
            let size = match size {
                Number::Static(size) => Expression::Integer(*size),
                Number::Dynamic(asked) => {
                    let (of, of_axis) = tensor_dim(*asked)?;
                    self.size(of, of_axis)?
                }
            };
            let end = match stride.known()? {
                1 => offset.clone() + size,
                stride => offset.clone() + (size - 1) * stride + 1,
            };
            all.push((self.size(source, axis)?, Relation::AtLeast, end));
            all.push((offset, Relation::AtLeast, Expression::Integer(0)));
        }
        Some(())
    }

    /// The extent of a tensor along an axis.
    fn size(&mut self, tensor: Value, axis: usize) -> Option<Expression> {
        match types::shape(tensor.r#type())?.get(axis)? {
            Some(extent) => Some(Expression::Integer(*extent)),
            None => self.whole(tensor).size(axis),
        }
    }

    fn product(&mut self, tensor: Value, axes: &[usize]) -> Option<Expression> {
        axes.iter().try_fold(Expression::Integer(1), |product, axis| {
            Some(product * self.size(tensor, *axis)?)
        })
    }
}

/// Whether a result has the shape of the op's first tensor operand.
fn is_as_large(op: OperationRef, result: usize) -> bool {
    let name = op_name(op);
    match name.strip_prefix("norm.").and_then(NamedOp::find) {
        // Results with the shape of an operand come first, so an absent optional result does not shift them.
        Some(named) => {
            result == 0
                && named
                    .results
                    .first()
                    .is_some_and(|first| first.shape == Shape::Same)
        }
        None => name.starts_with("arith.") || name.starts_with("math."),
    }
}
