//! The body of a kernel as the steps of a program.

use std::collections::HashMap;

use melior::ir::attribute::{FloatAttribute, IntegerAttribute};
use melior::ir::block::BlockArgument;
use melior::ir::operation::OperationLike;
use melior::ir::{
    Attribute, AttributeLike, BlockLike, BlockRef, OperationRef, RegionLike, RegionRef, Type,
    Value as IrValue, ValueLike,
};
use norma_bundle::program::{Combiner, Number, Operation, Region, Step, Value, dim_of_symbol};
use norma_bundle::{Element, Expression};
use norma_dialects::norm::{CacheOp, ReadOp, ReduceKind, ReduceOp, WriteOp, YieldOp};
use norma_dialects::op_name;
use norma_passes::support::space::key;
use norma_passes::support::{types, walk};

use super::{Size, dim_symbol};
use crate::bundle::affine;

/// Turns a kernel's body into steps.
pub(super) struct Reader {
    buffers: usize,
    symbols: Vec<Expression>,
    /// What has been read so far.
    pub steps: Vec<Step>,
    values: HashMap<usize, Value>,
    count: Value,
    /// Buffers' axes that are accessed at exactly one dim: (size, dim).
    pub plain_accesses: Vec<(Size, usize)>,
}

impl Reader {
    pub fn new(buffers: usize, symbols: Vec<Expression>) -> Self {
        Self {
            buffers,
            symbols,
            steps: Vec::new(),
            values: HashMap::new(),
            count: 0,
            plain_accesses: Vec::new(),
        }
    }

    /// Reads all ops of the body; nothing if one has no neutral form. Accesses are recorded all the same.
    pub fn read_block(&mut self, block: BlockRef) -> Option<()> {
        let mut whole = Some(());
        for op in walk::in_block(block) {
            whole = self.read_op(op).and(whole);
        }
        whole
    }

    fn read_op(&mut self, op: OperationRef) -> Option<()> {
        if let Some(read) = ReadOp::from_op(op) {
            let (tensor, access) = self.access(read.buffer().ok()?, &read.indices(), read.access().ok()?)?;
            let result = read.result().ok()?;
            let element = element(result.r#type())?;
            self.define(
                Step::Read {
                    tensor,
                    access,
                    element,
                },
                &[result],
            );
        } else if let Some(write) = WriteOp::from_op(op) {
            let (tensor, access) =
                self.access(write.buffer().ok()?, &write.indices(), write.access().ok()?)?;
            let value = self.value(write.value().ok()?)?;
            self.define(
                Step::Write {
                    value,
                    tensor,
                    access,
                },
                &[],
            );
        } else if let Some(reduce) = ReduceOp::from_op(op) {
            let step = Step::Reduce {
                combiner: combiner(reduce)?,
                operands: reduce
                    .values()
                    .into_iter()
                    .map(|value| self.value(value))
                    .collect::<Option<_>>()?,
                over: reduce
                    .dims()
                    .into_iter()
                    .map(|dim| self.dim(dim))
                    .collect::<Option<_>>()?,
                types: reduce
                    .results()
                    .iter()
                    .map(|result| element(result.r#type()))
                    .collect::<Option<_>>()?,
            };
            self.define(step, &reduce.results());
        } else if let Some(cache) = CacheOp::from_op(op) {
            let value = self.value(cache.value().ok()?)?;
            self.values.insert(key(cache.result().ok()?), value);
        } else {
            let operands = op
                .operands()
                .map(|operand| self.value(operand))
                .collect::<Option<Vec<_>>>()?;
            self.define(scalar_step(op, operands)?, &[op.result(0).ok()?.into()]);
        }
        Some(())
    }

    fn define(&mut self, step: Step, results: &[IrValue]) {
        for result in results {
            self.values.insert(key(*result), self.count);
            self.count += 1;
        }
        self.steps.push(step);
    }

    /// The number of a value; a dim that is used as one is given its step at the first use.
    fn value(&mut self, value: IrValue) -> Option<Value> {
        if let Some(number) = self.values.get(&key(value)) {
            return Some(*number);
        }
        let dim = self.dim(value)?;
        self.define(Step::Index { dim }, &[value]);
        Some(self.count - 1)
    }

    /// Which dim of the space a block argument is.
    fn dim(&self, value: IrValue) -> Option<usize> {
        BlockArgument::try_from(value)
            .ok()?
            .argument_number()
            .checked_sub(self.buffers)
    }

    fn access(
        &mut self,
        buffer: IrValue,
        indices: &[IrValue],
        map: melior::ir::AffineMap,
    ) -> Option<(String, Vec<Expression>)> {
        let buffer = BlockArgument::try_from(buffer).ok()?.argument_number();
        let dims = indices
            .iter()
            .map(|index| self.dim(*index).map(dim_symbol))
            .collect::<Option<Vec<_>>>()?;
        let access = affine::results(map, &dims, &self.symbols)?;
        for (axis, index) in access.iter().enumerate() {
            if let Expression::Symbol(name) = index
                && let Some(dim) = dim_of_symbol(name)
            {
                self.plain_accesses.push((Size { buffer, axis }, dim));
            }
        }
        Some((format!("b{buffer}"), access))
    }
}

/// An `arith` or `math` op, or a constant.
fn scalar_step(op: OperationRef, operands: Vec<Value>) -> Option<Step> {
    let element = element(op.result(0).ok()?.r#type())?;
    let name = op_name(op);
    if name == "arith.constant" {
        return Some(Step::Constant {
            value: number(op.attribute("value").ok()?)?,
            element,
        });
    }
    if op.region_count() > 0
        || op.result_count() != 1
        || !(name.starts_with("arith.") || name.starts_with("math."))
    {
        return None;
    }
    let predicate = match name {
        "arith.cmpf" => Some(predicate(op, FLOAT_PREDICATES)?),
        "arith.cmpi" => Some(predicate(op, INTEGER_PREDICATES)?),
        _ => None,
    };
    Some(Step::Op(Operation {
        name: name.to_owned(),
        operands,
        predicate,
        saturate: false,
        element,
    }))
}

fn combiner(reduce: ReduceOp) -> Option<Combiner> {
    Some(match reduce.kind() {
        Some(ReduceKind::Add) => Combiner::Add,
        Some(ReduceKind::Mul) => Combiner::Mul,
        Some(ReduceKind::Max) => Combiner::Max,
        Some(ReduceKind::Min) => Combiner::Min,
        Some(ReduceKind::And | ReduceKind::Or) => return None,
        None => Combiner::Region(region(reduce.combiner().ok()?, &reduce.identity()?)?),
    })
}

fn region(region: RegionRef, identity: &[Attribute]) -> Option<Region> {
    let block = region.first_block()?;
    let mut reader = Reader::new(0, Vec::new());
    for index in 0..block.argument_count() {
        reader
            .values
            .insert(key(block.argument(index).ok()?.into()), reader.count);
        reader.count += 1;
    }
    for op in walk::in_block(block) {
        if op_name(op) == YieldOp::NAME {
            return Some(Region {
                identities: identity
                    .iter()
                    .map(|value| number(*value))
                    .collect::<Option<_>>()?,
                results: op
                    .operands()
                    .map(|value| reader.value(value))
                    .collect::<Option<_>>()?,
                steps: reader.steps,
            });
        }
        reader.read_op(op)?;
    }
    None
}

/// In the order of MLIR's `CmpFPredicate`.
const FLOAT_PREDICATES: &[&str] = &[
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
];
/// In the order of MLIR's `CmpIPredicate`.
const INTEGER_PREDICATES: &[&str] = &["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

fn predicate(op: OperationRef, names: &[&str]) -> Option<String> {
    let index = IntegerAttribute::try_from(op.attribute("predicate").ok()?)
        .ok()?
        .value();
    names
        .get(usize::try_from(index).ok()?)
        .map(|name| (*name).to_owned())
}

fn number(attribute: Attribute) -> Option<Number> {
    if attribute.is_float() {
        return Some(Number::Float(FloatAttribute::try_from(attribute).ok()?.value()));
    }
    if attribute.is_bool() {
        return Some(Number::Integer(i64::from(attribute.to_string() == "true")));
    }
    Some(Number::Integer(
        IntegerAttribute::try_from(attribute).ok()?.value(),
    ))
}

fn element(ty: Type) -> Option<Element> {
    match types::element(ty).to_string().as_str() {
        "index" => Some(Element::I64),
        name => Element::from_name(name),
    }
}
