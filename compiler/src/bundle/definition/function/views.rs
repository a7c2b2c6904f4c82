//! Views of tensors (reshapes, casts and slices) as programs that copy each element from its source coordinates to its view
//! coordinates.

use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value as IrValue, ValueLike};
use norma_bundle::Expression;
use norma_bundle::program::{Program, Step};
use norma_dialects::op_name;
use norma_passes::mlir::types;

use super::tensors::dims;
use super::{Reader, scalar};
use crate::bundle::views::{Number, Slice, groups};

impl Reader<'_, '_> {
    /// The program of a view.
    pub(super) fn view(&mut self, op: OperationRef, result: IrValue) -> Option<Program> {
        let source = op.operand(0).ok()?;
        let (space, read, write);
        match op_name(op) {
            "tensor.cast" => {
                space = self.extents(source)?;
                (read, write) = (dims(space.len()), dims(space.len()));
            }
            "tensor.collapse_shape" => {
                space = self.extents(source)?;
                read = dims(space.len());
                write = joined(&groups(op)?, &space);
            }
            "tensor.expand_shape" => {
                let groups = groups(op)?;
                space = self.expanded(source, result, &groups)?;
                read = joined(&groups, &space);
                write = dims(space.len());
            }
            _ => {
                space = self.extents(result)?;
                read = sliced(op, result)?;
                write = dims(space.len());
            }
        }
        let mut program = Program {
            space,
            ..Program::default()
        };
        let value = program.push(Step::Read {
            tensor: self.tensor(source)?,
            access: read,
            element: scalar::element(result.r#type())?,
        });
        program.push(Step::Write {
            value: value.start,
            tensor: self.tensor(result)?,
            access: write,
            partial: false,
        });
        Some(program)
    }

    /// The extents of an expanded tensor, whose groups of axes are the source's: a dynamic extent is the source's divided by
    /// the static ones of its group.
    fn expanded(
        &mut self,
        source: IrValue,
        result: IrValue,
        groups: &[Vec<usize>],
    ) -> Option<Vec<Expression>> {
        let shape = types::shape(result.r#type())?;
        let mut extents = Vec::new();
        for (of, group) in groups.iter().enumerate() {
            for axis in group {
                extents.push(match shape[*axis] {
                    Some(extent) => Expression::Integer(extent),
                    None => {
                        let others = group.iter().filter(|other| *other != axis);
                        let others = others.map(|other| shape[*other]).product::<Option<i64>>()?;
                        self.extent(source, of)?.floor_divide(Expression::Integer(others))
                    }
                });
            }
        }
        Some(extents)
    }
}

/// The row-major linear index of each group of dims, given the dims' extents.
fn joined(groups: &[Vec<usize>], extents: &[Expression]) -> Vec<Expression> {
    let at = dims(extents.len());
    let number = |group: &Vec<usize>| {
        group.iter().fold(Expression::Integer(0), |number, dim| {
            number * extents[*dim].clone() + at[*dim].clone()
        })
    };
    groups.iter().map(number).collect()
}

/// The source coordinates of each element of a slice.
fn sliced(op: OperationRef, result: IrValue) -> Option<Vec<Expression>> {
    let Slice {
        offsets,
        sizes,
        strides,
    } = Slice::of(op)?;
    let shape = types::shape(result.r#type())?;
    let mut seen = dims(shape.len()).into_iter().zip(shape).peekable();
    let mut at = Vec::new();
    for ((offset, size), stride) in offsets.iter().zip(&sizes).zip(&strides) {
        let offset = offset.expression()?;
        // A rank-reducing slice drops axes of one element.
        let is_seen = *size != Number::Static(1) || seen.peek().is_some_and(|(_, extent)| *extent == Some(1));
        at.push(match is_seen {
            true => seen.next()?.0 * Expression::Integer(stride.known()?) + offset,
            false => offset,
        });
    }
    Some(at)
}
