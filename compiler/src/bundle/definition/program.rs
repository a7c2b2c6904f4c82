//! The body of a kernel, or of a `norm.compute`, as a program.

use std::collections::HashMap;

use melior::ir::operation::OperationLike;
use melior::ir::{
    AffineExpr, AffineMap, Attribute, BlockLike, BlockRef, OperationRef, RegionLike, RegionRef,
    Value as IrValue, ValueLike,
};
use norma_bundle::program::{Combiner, Number, Operation, Program, Region, Step, Value};
use norma_bundle::{Element, Expression};
use norma_dialects::norm::{
    CacheOp, GatherOp, ReadOp, ReduceKind, ReduceOp, ScanOp, ScatterOp, WriteOp, YieldOp,
};
use norma_dialects::op_name;
use norma_passes::mlir::values::{argument_number, key};
use norma_passes::mlir::walk;

use super::scalar;
use crate::bundle::affine;

/// A tensor as a body sees it: neighbouring dims may be collapsed into one axis.
#[derive(Debug, Clone)]
pub(super) struct View {
    /// The tensor's name.
    pub tensor: String,
    /// The tensor's shape.
    pub shape: Vec<Expression>,
    /// For each axis of the view, the dims of the tensor that it covers.
    pub groups: Vec<Vec<usize>>,
}

/// A scalar argument of a body.
#[derive(Debug, Clone)]
pub(super) struct Scalar {
    /// The step that defines its value.
    pub step: Step,
    /// The symbol that represents it in coordinates.
    pub symbol: String,
}

/// Reads a body. Its arguments are `views`, then `scalars`, then the dims, whose extents are the results of the map `extents`
/// over the sizes that `sizes` lists as pairs (view, axis); `guards` holds the sides of guards over dims and the same sizes. Returns `None`
/// if an op has no form in a program.
pub(super) fn read(
    block: BlockRef,
    views: Vec<View>,
    scalars: Vec<Scalar>,
    extents: AffineMap,
    sizes: &[i64],
    guards: Option<AffineMap>,
) -> Option<Program> {
    let symbols = sizes
        .chunks_exact(2)
        .map(|pair| {
            let view = views.get(usize::try_from(pair[0]).ok()?)?;
            view.extent(usize::try_from(pair[1]).ok()?)
        })
        .collect::<Option<Vec<_>>>()?;
    let space = affine::results(extents, &[], &symbols)?;
    let dims = (0..space.len()).map(|dim| Expression::symbol(format!("d{dim}")));
    let dims = dims.collect::<Vec<_>>();
    let sides = match guards {
        Some(guards) => affine::results(guards, &dims, &symbols)?,
        None => Vec::new(),
    };
    let (guards, _) = sides.as_chunks::<2>();
    let mut reader = Reader {
        first_dim: views.len() + scalars.len(),
        views,
        symbols,
        ..Reader::default()
    };
    for (index, scalar) in scalars.into_iter().enumerate() {
        let argument = block.argument(reader.views.len() + index).ok()?;
        reader.define(scalar.step, &[argument.into()]);
        reader.numbers.push(Expression::symbol(scalar.symbol));
    }
    for op in walk::in_block(block) {
        reader.read_op(op)?;
    }
    Some(Program {
        space,
        guards: guards.to_vec(),
        steps: reader.steps,
    })
}

impl View {
    /// The view of a whole tensor, with one dim to each axis.
    pub fn whole(shape: Vec<Expression>, tensor: String) -> Self {
        View {
            groups: (0..shape.len()).map(|dim| vec![dim]).collect(),
            tensor,
            shape,
        }
    }

    fn extent(&self, axis: usize) -> Option<Expression> {
        let extents = self
            .groups
            .get(axis)?
            .iter()
            .map(|dim| self.shape.get(*dim).cloned());
        extents.reduce(|a, b| Some(a? * b?)).flatten()
    }

    /// Converts an access of the view to one of the tensor: delinearizes the index of each collapsed axis.
    fn expand(&self, access: &[Expression]) -> Option<Vec<Expression>> {
        let mut expanded = vec![Expression::Integer(0); self.shape.len()];
        for (index, group) in access.iter().zip(&self.groups) {
            let (outermost, rest) = group.split_first()?;
            let mut remaining = index.clone();
            for dim in rest.iter().rev() {
                let extent = self.shape.get(*dim)?.clone();
                *expanded.get_mut(*dim)? = remaining.clone().modulo(extent.clone());
                remaining = remaining.floor_divide(extent);
            }
            *expanded.get_mut(*outermost)? = remaining;
        }
        Some(expanded)
    }
}

/// Turns a body into steps.
#[derive(Default)]
struct Reader {
    views: Vec<View>,
    /// The position of the first dim among the block's arguments.
    first_dim: usize,
    /// The expressions that represent the scalar arguments, which lie between views and dims, in coordinates.
    numbers: Vec<Expression>,
    symbols: Vec<Expression>,
    steps: Vec<Step>,
    values: HashMap<usize, Value>,
    count: Value,
}

impl Reader {
    fn read_op(&mut self, op: OperationRef) -> Option<()> {
        if let Some(read) = ReadOp::from_op(op) {
            return self.read(read);
        }
        if let Some(write) = WriteOp::from_op(op) {
            return self.write(write);
        }
        if let Some(reduce) = ReduceOp::from_op(op) {
            return match reduce.nth() {
                Some(nth) => self.nth(reduce, nth),
                None => self.reduce(reduce),
            };
        }
        if let Some(scan) = ScanOp::from_op(op) {
            return self.scan(scan);
        }
        if let Some(gather) = GatherOp::from_op(op) {
            return self.gather(gather);
        }
        if let Some(scatter) = ScatterOp::from_op(op) {
            return self.scatter(scatter);
        }
        if let Some(cache) = CacheOp::from_op(op) {
            let value = self.value(cache.value().ok()?)?;
            self.values.insert(key(cache.result().ok()?), value);
            return Some(());
        }
        let operands = op
            .operands()
            .map(|operand| self.value(operand))
            .collect::<Option<Vec<_>>>()?;
        let value = scalar::steps(op, operands, |step| self.step(step))?;
        self.values.insert(key(op.result(0).ok()?.into()), value);
        Some(())
    }

    fn read(&mut self, read: ReadOp) -> Option<()> {
        let (tensor, access) = self.access(read.buffer().ok()?, &read.indices(), read.access().ok()?)?;
        let result = read.result().ok()?;
        let step = Step::Read {
            tensor,
            access,
            element: scalar::element(result.r#type())?,
        };
        self.define(step, &[result]);
        Some(())
    }

    fn write(&mut self, write: WriteOp) -> Option<()> {
        let (tensor, access) = self.access(write.buffer().ok()?, &write.indices(), write.access().ok()?)?;
        let step = Step::Write {
            value: self.value(write.value().ok()?)?,
            tensor,
            access,
            partial: write.partial(),
        };
        self.define(step, &[]);
        Some(())
    }

    fn reduce(&mut self, reduce: ReduceOp) -> Option<()> {
        let (values, results) = (reduce.values().into_iter(), reduce.results());
        let step = Step::Reduce {
            combiner: combiner(reduce)?,
            operands: values.map(|value| self.value(value)).collect::<Option<_>>()?,
            over: self.dims_of(&reduce.dims())?,
            types: results
                .iter()
                .map(|result| scalar::element(result.r#type()))
                .collect::<Option<_>>()?,
        };
        self.define(step, &results);
        Some(())
    }

    fn scan(&mut self, scan: ScanOp) -> Option<()> {
        let result = scan.result().ok()?;
        let step = Step::Scan {
            combiner: named_combiner(scan.kind().ok()?),
            exclusive: scan.exclusive(),
            reverse: scan.reverse(),
            operand: self.value(scan.value().ok()?)?,
            along: self.dims_of(&scan.dims())?,
            element: scalar::element(result.r#type())?,
        };
        self.define(step, &[result]);
        Some(())
    }

    fn gather(&mut self, gather: GatherOp) -> Option<()> {
        let (tensor, coordinates) =
            self.computed(gather.buffer().ok()?, &gather.indices(), gather.access().ok()?)?;
        let result = gather.result().ok()?;
        let step = Step::Gather {
            coordinates,
            condition: self.condition(gather.condition())?,
            tensor,
            element: scalar::element(result.r#type())?,
        };
        self.define(step, &[result, gather.inside().ok()?]);
        Some(())
    }

    fn scatter(&mut self, scatter: ScatterOp) -> Option<()> {
        let (tensor, coordinates) =
            self.computed(scatter.buffer().ok()?, &scatter.indices(), scatter.access().ok()?)?;
        let condition = self.condition(scatter.condition())?;
        let step = Step::Scatter {
            value: self.value(scatter.value().ok()?)?,
            tensor,
            coordinates,
            condition,
        };
        self.define(step, &[]);
        Some(())
    }

    /// The value of a condition, if there is one.
    fn condition(&mut self, condition: Option<IrValue>) -> Option<Option<Value>> {
        match condition {
            Some(condition) => self.value(condition).map(Some),
            None => Some(None),
        }
    }

    /// Reads a reduction with rank selection, whose results are counted by the dim `nth`.
    fn nth(&mut self, reduce: ReduceOp, nth: IrValue) -> Option<()> {
        let (values, results) = (reduce.values(), reduce.results());
        let step = Step::Nth {
            combiner: named_combiner(reduce.kind()?),
            operand: self.value(*values.first()?)?,
            over: self.dims_of(&reduce.dims())?,
            nth: self.dim(nth)?,
            element: scalar::element(results.first()?.r#type())?,
        };
        self.define(step, &results);
        Some(())
    }

    /// As [`View::expand`], for coordinates that are values. Where one is not within its axis, neither are those that it becomes.
    fn expanded(&mut self, view: &View, coordinates: Vec<Value>) -> Option<Vec<Value>> {
        let mut expanded = vec![0; view.shape.len()];
        for (mut remaining, group) in coordinates.into_iter().zip(&view.groups) {
            let (outermost, rest) = group.split_first()?;
            for dim in rest.iter().rev() {
                let extent = view.shape.get(*dim)?.clone();
                let extent = self.step(Step::Size { value: extent });
                *expanded.get_mut(*dim)? = self.arithmetic("arith.remui", [remaining, extent]);
                remaining = self.arithmetic("arith.divui", [remaining, extent]);
            }
            *expanded.get_mut(*outermost)? = remaining;
        }
        Some(expanded)
    }

    /// The tensor of an access at computed places, and its coordinates as values.
    fn computed(
        &mut self,
        buffer: IrValue,
        indices: &[IrValue],
        map: AffineMap,
    ) -> Option<(String, Vec<Value>)> {
        let buffer = argument_number(buffer)?;
        let view = self.views.get(buffer)?.clone();
        let indices = indices.iter().map(|index| self.value(*index));
        let indices = indices.collect::<Option<Vec<_>>>()?;
        let coordinates = (0..map.result_count())
            .map(|axis| self.affine(map.result(axis).ok()?, &indices))
            .collect::<Option<Vec<_>>>()?;
        Some((view.tensor.clone(), self.expanded(&view, coordinates)?))
    }

    /// The value of an affine expression, with `dims` in the place of its dims.
    fn affine(&mut self, expression: AffineExpr, dims: &[Value]) -> Option<Value> {
        if expression.is_constant() {
            return Some(self.step(Step::Constant {
                value: Number::Integer(expression.constant_value()),
                element: Element::I64,
            }));
        }
        if expression.is_dim() {
            return dims.get(expression.dim_position()).copied();
        }
        if !expression.is_binary() {
            return None;
        }
        let operands = [
            self.affine(expression.lhs(), dims)?,
            self.affine(expression.rhs(), dims)?,
        ];
        if expression.is_mod() {
            let quotient = self.arithmetic("arith.floordivsi", operands);
            let multiple = self.arithmetic("arith.muli", [quotient, operands[1]]);
            return Some(self.arithmetic("arith.subi", [operands[0], multiple]));
        }
        let name = if expression.is_add() {
            "arith.addi"
        } else if expression.is_mul() {
            "arith.muli"
        } else if expression.is_floor_div() {
            "arith.floordivsi"
        } else {
            "arith.ceildivsi"
        };
        Some(self.arithmetic(name, operands))
    }

    fn arithmetic(&mut self, name: &str, operands: [Value; 2]) -> Value {
        self.step(Step::Op(Operation {
            name: name.to_owned(),
            operands: operands.to_vec(),
            predicate: None,
            relaxed: false,
            element: Element::I64,
        }))
    }

    /// Adds a step that defines one value, and returns the value.
    fn step(&mut self, step: Step) -> Value {
        self.steps.push(step);
        self.count += 1;
        self.count - 1
    }

    fn define(&mut self, step: Step, results: &[IrValue]) {
        for result in results {
            self.values.insert(key(*result), self.count);
            self.count += 1;
        }
        self.steps.push(step);
    }

    /// The program's number for a value; a dim that is used as a value gets its `Index` step at the first use.
    fn value(&mut self, value: IrValue) -> Option<Value> {
        if let Some(number) = self.values.get(&key(value)) {
            return Some(*number);
        }
        let dim = self.dim(value)?;
        self.define(Step::Index { dim }, &[value]);
        Some(self.count - 1)
    }

    /// The positions of dims among the program's.
    fn dims_of(&self, dims: &[IrValue]) -> Option<Vec<usize>> {
        dims.iter().map(|dim| self.dim(*dim)).collect()
    }

    /// The position in the space of the dim that a block argument is.
    fn dim(&self, value: IrValue) -> Option<usize> {
        argument_number(value)?.checked_sub(self.first_dim)
    }

    /// The expression that represents a scalar argument in coordinates.
    fn number(&self, value: IrValue) -> Option<Expression> {
        let argument = argument_number(value)?;
        let number = argument.checked_sub(self.views.len())?;
        self.numbers.get(number).cloned()
    }

    fn access(
        &self,
        buffer: IrValue,
        indices: &[IrValue],
        map: AffineMap,
    ) -> Option<(String, Vec<Expression>)> {
        let buffer = argument_number(buffer)?;
        let view = self.views.get(buffer)?;
        let dims = indices
            .iter()
            .map(|index| match self.dim(*index) {
                Some(dim) => Some(Expression::symbol(format!("d{dim}"))),
                None => self.number(*index),
            })
            .collect::<Option<Vec<_>>>()?;
        let access = affine::results(map, &dims, &self.symbols)?;
        Some((view.tensor.clone(), view.expand(&access)?))
    }
}

fn combiner(reduce: ReduceOp) -> Option<Combiner> {
    Some(match reduce.kind() {
        Some(kind) => named_combiner(kind),
        None => Combiner::Region(region(reduce.combiner().ok()?, &reduce.identity()?)?),
    })
}

fn named_combiner(kind: ReduceKind) -> Combiner {
    match kind {
        ReduceKind::Add => Combiner::Add,
        ReduceKind::Mul => Combiner::Mul,
        ReduceKind::Max => Combiner::Max,
        ReduceKind::Min => Combiner::Min,
        ReduceKind::And => Combiner::And,
        ReduceKind::Or => Combiner::Or,
    }
}

fn region(region: RegionRef, identity: &[Attribute]) -> Option<Region> {
    let block = region.first_block()?;
    let mut reader = Reader::default();
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
                    .map(|value| scalar::number(*value))
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
