//! Ops on whole tensors as programs: elementwise `arith` and `math`, splats, views, and the structured ops of `linalg`.
//!
//! Each op is a statement of its own, whose result is rounded to its tensor's type, however the compiler fuses the op.

use std::collections::HashMap;

use melior::ir::attribute::{ArrayAttribute, DenseElementsAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::{AffineMap, Attribute, BlockLike, OperationRef, RegionLike, Value as IrValue, ValueLike};
use norma_bundle::Expression;
use norma_bundle::program::{Combiner, Program, Step, Value};
use norma_dialects::op_name;
use norma_passes::mlir::values::{definition, key};
use norma_passes::mlir::{types, walk};

use norma_passes::kernel::extremum::Extremum;

use super::{Reader, scalar, shape};
use crate::bundle::{affine, views};

/// A statement under construction.
#[derive(Default)]
pub(super) struct Statement {
    program: Program,
    values: HashMap<usize, Value>,
}

impl Statement {
    pub(super) fn push(&mut self, step: Step) -> Value {
        self.program.push(step).start
    }
}

impl Reader<'_, '_> {
    /// The program of an op on whole tensors; `None` for an op of another kind.
    pub(super) fn whole_tensors(&mut self, op: OperationRef) -> Option<Program> {
        let result = op.result(0).ok()?.into();
        let name = op_name(op);
        if name == "arith.constant" {
            return self.constant(op, result);
        }
        if name == "tensor.splat" {
            let extents = self.extents(result)?;
            let number = op.operand(0).ok()?;
            return self.elementwise(result, extents, |reader, statement, _| {
                reader.number(number, statement)
            });
        }
        if name.starts_with("arith.") || name.starts_with("math.") {
            let tensor = op.operands().find(|operand| types::is_tensor(operand.r#type()))?;
            let extents = self.extents(tensor)?;
            return self.elementwise(result, extents, |reader, statement, at| {
                let operands = op
                    .operands()
                    .map(|operand| reader.element(operand, at.to_vec(), statement));
                let operands = operands.collect::<Option<_>>()?;
                scalar::steps(op, operands, |step| statement.push(step))
            });
        }
        if views::is_view(op) {
            return self.view(op, result);
        }
        self.nest(op)
    }

    /// A program that writes a number into a tensor without axes.
    pub(super) fn number_alone(&mut self, number: IrValue) -> Option<Program> {
        self.elementwise(number, Vec::new(), |reader, statement, _| {
            reader.number(number, statement)
        })
    }

    /// A program that computes one value for each element of the result.
    fn elementwise(
        &mut self,
        result: IrValue,
        extents: Vec<Expression>,
        value: impl FnOnce(&mut Self, &mut Statement, &[Expression]) -> Option<Value>,
    ) -> Option<Program> {
        let mut statement = Statement::default();
        let at = dims(extents.len());
        statement.program.space = extents;
        let value = value(self, &mut statement, &at)?;
        statement.push(Step::Write {
            value,
            tensor: self.tensor(result)?,
            access: at,
            partial: false,
        });
        Some(statement.program)
    }

    fn constant(&mut self, op: OperationRef, result: IrValue) -> Option<Program> {
        let splat = splat(op)?;
        let extents = self.extents(result)?;
        let constant = Step::Constant {
            value: scalar::number(splat.splat_value())?,
            element: scalar::element(result.r#type())?,
        };
        self.elementwise(result, extents, |_, statement, _| Some(statement.push(constant)))
    }

    /// The program of a structured op of `linalg`, which is a loop nest.
    fn nest(&mut self, op: OperationRef) -> Option<Program> {
        let maps = indexing_maps(op)?;
        let body = op.region(0).ok()?.first_block()?;
        let inits = op.operand_count().checked_sub(op.result_count())?;
        let loops = maps.first()?.dim_count();
        let mut statement = Statement::default();
        statement.program.space = (0..loops)
            .map(|dim| self.extent_of_loop(op, &maps, dim))
            .collect::<Option<_>>()?;
        let accesses = maps
            .iter()
            .map(|map| affine::results(*map, &dims(loops), &[]))
            .collect::<Option<Vec<_>>>()?;
        let is_kept = |dim: &usize| {
            let uses = |map: &AffineMap| {
                (0..map.result_count())
                    .any(|axis| map.result(axis).is_ok_and(|at| at.is_function_of_dim(*dim)))
            };
            maps[inits..].iter().any(uses)
        };
        let over = (0..loops).filter(|dim| !is_kept(dim)).collect::<Vec<_>>();
        for (position, operand) in op.operands().enumerate() {
            let Ok(argument) = body.argument(position) else {
                continue;
            };
            let argument = IrValue::from(argument);
            let is_read = norma_passes::mlir::values::uses(argument) > 0;
            if is_read && (position < inits || over.is_empty()) {
                let value = self.element(operand, accesses[position].clone(), &mut statement)?;
                statement.values.insert(key(argument), value);
            }
        }
        let ops = walk::in_block(body);
        let end = *ops.iter().find(|op| walk::has_name(**op, "linalg.yield"))?;
        let yielded = end.operands().collect::<Vec<_>>();
        if let ([_], [one, other]) = (over.as_slice(), yielded.as_slice())
            && let Some(extremum) = Extremum::of(
                [
                    body.argument(inits).ok()?.into(),
                    body.argument(inits + 1).ok()?.into(),
                ],
                [*one, *other],
            )
        {
            self.extremum(op, &extremum, &accesses, &over, &mut statement)?;
            return Some(statement.program);
        }
        let accumulating = match over.is_empty() {
            true => Vec::new(),
            false => end.operands().map(definition).collect::<Option<Vec<_>>>()?,
        };
        for inner in ops
            .into_iter()
            .filter(|inner| *inner != end && !accumulating.contains(inner))
        {
            self.inner(inner, &mut statement)?;
        }
        for (result, yielded) in end.operands().enumerate() {
            let position = inits + result;
            let value = if over.is_empty() {
                self.number(yielded, &mut statement)?
            } else {
                let begin = (op.operand(position).ok()?, accesses[position].clone());
                let accumulator = body.argument(position).ok()?.into();
                self.accumulated(accumulating[result], accumulator, begin, &over, &mut statement)?
            };
            let tensor = self.tensor(op.result(result).ok()?.into())?;
            let access = accesses[position].clone();
            statement.push(Step::Write {
                value,
                tensor,
                access,
                partial: false,
            });
        }
        Some(statement.program)
    }

    /// The reduction over dims of `op(accumulator, value)`, which starts from the element `begin`.
    fn accumulated(
        &mut self,
        op: OperationRef,
        accumulator: IrValue,
        begin: (IrValue, Vec<Expression>),
        over: &[usize],
        statement: &mut Statement,
    ) -> Option<Value> {
        let value = op.operands().find(|operand| *operand != accumulator)?;
        if op.operand_count() != 2 || !op.operands().any(|operand| operand == accumulator) {
            return None;
        }
        let combiner = match op_name(op) {
            "arith.addf" | "arith.addi" => Combiner::Add,
            "arith.mulf" | "arith.muli" => Combiner::Mul,
            "arith.maximumf" | "arith.maxsi" => Combiner::Max,
            "arith.minimumf" | "arith.minsi" => Combiner::Min,
            "arith.andi" => Combiner::And,
            "arith.ori" => Combiner::Or,
            _ => return None,
        };
        let operand = self.number(value, statement)?;
        let reduced = statement.push(Step::Reduce {
            combiner,
            operands: vec![operand],
            over: over.to_vec(),
            types: vec![scalar::element(value.r#type())?],
        });
        let begin = self.element(begin.0, begin.1, statement)?;
        Some(statement.push(scalar::step(op, vec![begin, reduced])?))
    }

    /// Reads an op of the region.
    pub(super) fn inner(&mut self, op: OperationRef, statement: &mut Statement) -> Option<()> {
        let value = match op_name(op) {
            "linalg.index" => statement.push(Step::Index {
                dim: usize::try_from(norma_dialects::integer(op.attribute("dim").ok()?).ok()?).ok()?,
            }),
            _ => {
                let operands = op.operands().map(|operand| self.number(operand, statement));
                let operands = operands.collect::<Option<_>>()?;
                scalar::steps(op, operands, |step| statement.push(step))?
            }
        };
        statement.values.insert(key(op.result(0).ok()?.into()), value);
        Some(())
    }

    /// An element of a tensor operand, or a scalar operand itself.
    pub(super) fn element(
        &mut self,
        operand: IrValue,
        access: Vec<Expression>,
        statement: &mut Statement,
    ) -> Option<Value> {
        if !types::is_tensor(operand.r#type()) {
            return self.number(operand, statement);
        }
        let tensor = self.tensor(operand)?;
        let element = scalar::element(operand.r#type())?;
        Some(statement.push(Step::Read {
            tensor,
            access,
            element,
        }))
    }

    /// A scalar: one that the statement has already computed, an argument of the function, the size of a tensor, or the result of ops
    /// on such scalars.
    pub(super) fn number(&mut self, number: IrValue, statement: &mut Statement) -> Option<Value> {
        if let Some(value) = statement.values.get(&key(number)) {
            return Some(*value);
        }
        let size = self.size(number);
        let value = match (self.scalars.get(&key(number)), size) {
            (Some(scalar), _) => statement.push(scalar.step.clone()),
            (None, Some(value)) => statement.push(Step::Size { value }),
            (None, None) => {
                let op = definition(number)?;
                if walk::has_name(op, "tensor.extract") {
                    let value = self.extracted(op, statement)?;
                    statement.values.insert(key(number), value);
                    return Some(value);
                }
                let operands = op.operands().map(|operand| self.number(operand, statement));
                let operands = operands.collect::<Option<_>>()?;
                scalar::steps(op, operands, |step| statement.push(step))?
            }
        };
        statement.values.insert(key(number), value);
        Some(value)
    }

    /// The element that a `tensor.extract` takes from a tensor without axes, or the value of a tensor that has one.
    fn extracted(&mut self, op: OperationRef, statement: &mut Statement) -> Option<Value> {
        let tensor = op.operand(0).ok()?;
        if let Some(splat) = definition(tensor).and_then(splat) {
            return Some(statement.push(Step::Constant {
                value: scalar::number(splat.splat_value())?,
                element: scalar::element(tensor.r#type())?,
            }));
        }
        match types::shape(tensor.r#type())?.as_slice() {
            [] => self.element(tensor, Vec::new(), statement),
            _ => None,
        }
    }

    /// The extents of a tensor.
    pub(super) fn extents(&mut self, tensor: IrValue) -> Option<Vec<Expression>> {
        let rank = types::shape(tensor.r#type())?.len();
        (0..rank).map(|axis| self.extent(tensor, axis)).collect()
    }

    /// The extent of a tensor along an axis; for a tensor that is made with given sizes, the size that was given.
    pub(super) fn extent(&mut self, tensor: IrValue, axis: usize) -> Option<Expression> {
        let shape_of_type = types::shape(tensor.r#type())?;
        if let Some(extent) = *shape_of_type.get(axis)? {
            return Some(Expression::Integer(extent));
        }
        let Some(asked) = definition(tensor).and_then(asked_sizes) else {
            let name = self.tensor(tensor)?;
            return shape(&name, tensor)?.get(axis).cloned();
        };
        let dynamic = shape_of_type[..axis]
            .iter()
            .filter(|extent| extent.is_none())
            .count();
        self.size(*asked.get(dynamic)?)
    }

    /// The extent that a scalar is, if it is the size of a tensor.
    fn size(&mut self, number: IrValue) -> Option<Expression> {
        let (tensor, axis) = views::tensor_dim(number)?;
        self.extent(tensor, axis)
    }

    /// The extent of loop `dim`: that of an axis which is indexed by this loop alone.
    fn extent_of_loop(&mut self, op: OperationRef, maps: &[AffineMap], dim: usize) -> Option<Expression> {
        for (operand, map) in op.operands().zip(maps) {
            for axis in 0..map.result_count() {
                let at = map.result(axis).ok()?;
                if at.is_dim() && at.dim_position() == dim {
                    return self.extent(operand, axis);
                }
            }
        }
        None
    }
}

/// The value of an `arith.constant` that is a tensor of one value.
fn splat<'c>(op: OperationRef<'c, '_>) -> Option<DenseElementsAttribute<'c>> {
    let value = op
        .attribute("value")
        .ok()
        .filter(|_| walk::has_name(op, "arith.constant"))?;
    let splat = DenseElementsAttribute::try_from(value).ok()?;
    splat.is_splat().then_some(splat)
}

/// The operands that give the dynamic sizes of an op's result; `None` for an op that takes no sizes.
fn asked_sizes<'c, 'a>(op: OperationRef<'c, 'a>) -> Option<Vec<IrValue<'c, 'a>>> {
    match op_name(op) {
        "tensor.empty" | "tensor.splat" => {
            let numbers = op.operands().filter(|operand| types::is_index(operand.r#type()));
            Some(numbers.collect())
        }
        "tensor.extract_slice" => Some(views::Slice::of(op)?.asked_sizes()),
        _ => None,
    }
}

/// The symbols `d0`, `d1`, ... of a space's dims.
pub(super) fn dims(count: usize) -> Vec<Expression> {
    (0..count)
        .map(|dim| Expression::symbol(format!("d{dim}")))
        .collect()
}

/// The indexing maps of a `linalg` op, as MLIR's C API gives them.
fn indexing_maps<'c>(op: OperationRef<'c, '_>) -> Option<Vec<AffineMap<'c>>> {
    // SAFETY: the op is alive; the attribute, or null, lives in its context.
    let maps =
        unsafe { Attribute::from_option_raw(mlir_sys::mlirLinalgGetIndexingMapsAttribute(op.to_raw())) }?;
    let maps = ArrayAttribute::try_from(maps).ok()?;
    (0..maps.len())
        .map(|index| norma_dialects::affine_map(maps.element(index).ok()?).ok())
        .collect()
}
