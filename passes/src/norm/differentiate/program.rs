//! The gradient of one compute: a copy of its program, followed by the adjoints, from its results back to its inputs.
//!
//! The adjoint of a value varies over the dims that the value varies over. Where a value is used at more points, its adjoint is summed over
//! the additional dims: the adjoint of a broadcast is a reduction, and that of a sum a broadcast. Adjoints are f32, or f64 if the program
//! has any f64, whatever types the values have. A conversion between floats passes them on unchanged, so gradients are rounded once, where
//! they are written.

use std::collections::{BTreeMap, HashMap, HashSet};

use melior::ir::{
    AffineExpr, BlockRef, Operation, OperationRef, Type, Value, ValueLike, operation::OperationLike,
};
use norma_bundle::{ScalarOp, derivative::Derivative, scalar_op};
use norma_dialects::{
    norm::{ComputeOp, ReadOp, ReduceOp, ScanOp, WriteOp},
    op_name,
};

use super::{
    activity::{self, is_of_floats},
    partial::Applied,
    places::{self, Place},
    prune::prune,
    sum::Sum,
    values::{DimSet, Facts, Values, constant},
};
use crate::{
    kernel::compute::{self, Arguments, Signature},
    mlir::{
        builder::Builder,
        comparison::Predicate,
        context,
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        types,
        values::{definition, key},
        walk,
    },
};

/// By the key of a tensor, the gradient with respect to it so far.
pub(super) type Adjoints<'c, 'a> = HashMap<usize, Value<'c, 'a>>;

/// Inserts the gradient of `compute`, whose results have `adjoints`, with respect to the inputs for which `is_wanted` holds. If an input
/// has an adjoint already, this compute's contribution is added to it. Returns these inputs with their adjoints.
pub(super) fn differentiate<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    compute: ComputeOp<'c, 'a>,
    adjoints: &Adjoints<'c, 'a>,
    is_wanted: impl Fn(Value<'c, 'a>) -> bool,
) -> Result<Vec<(Value<'c, 'a>, Value<'c, 'a>)>, PassError<'c>> {
    if compute.guards().is_some() {
        // The adjoint of a value that dims are left out of counts their points, which a guard changes.
        let message = "a gradient of a program with guards; supported: programs over all points of their dims, as blocks that divide \
                       their axes";
        return Err(Diagnostic::unsupported(compute.op().location(), message).into());
    }
    let source = Source::of(compute)?;
    let mut wanted = Vec::new();
    for read in source.ops.iter().filter_map(|op| ReadOp::from_op(*op)) {
        let tensor = source.outside(read.buffer()?)?;
        if is_of_floats(tensor) && is_wanted(tensor) && !wanted.contains(&tensor) {
            wanted.push(tensor);
        }
    }
    let gradient = insert(b, &source, adjoints, &wanted)?;
    let mut sweep = Sweep::begin(&source, gradient)?;
    for op in &source.ops {
        sweep.copy(*op)?;
    }
    let forward = walk::in_block(sweep.block);
    let inside = sweep.inputs_inside(&wanted);
    sweep.active = activity::active(&forward, |buffer| inside.contains(&key(buffer)))?;
    for write in source.ops.iter().filter_map(|op| WriteOp::from_op(*op)) {
        sweep.seed(write, &source, adjoints)?;
    }
    for op in forward.iter().rev() {
        sweep.pass_back(*op)?;
    }
    for (result, tensor) in wanted.iter().enumerate() {
        sweep.write(result, *tensor, &forward, adjoints.get(&key(*tensor)).copied())?;
    }
    prune(gradient)?;
    Ok(wanted.into_iter().zip(gradient.outputs()).collect())
}

/// The compute to differentiate.
struct Source<'c, 'a> {
    compute: ComputeOp<'c, 'a>,
    tensors: Vec<Value<'c, 'a>>,
    scalars: Vec<Value<'c, 'a>>,
    arguments: Arguments<'c, 'a>,
    ops: Vec<OperationRef<'c, 'a>>,
}

impl<'c: 'a, 'a> Source<'c, 'a> {
    fn of(compute: ComputeOp<'c, 'a>) -> Result<Self, PassError<'c>> {
        let (tensors, scalars) = compute::inputs(compute);
        Ok(Self {
            compute,
            tensors,
            scalars,
            arguments: compute::arguments(compute)?,
            ops: walk::in_block(compute::block(compute)?),
        })
    }

    /// The tensor that a block argument stands for.
    fn outside(&self, buffer: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let position = |buffers: &[Value<'c, 'a>]| buffers.iter().position(|known| *known == buffer);
        let found = match position(&self.arguments.tensors) {
            Some(input) => self.tensors.get(input).copied(),
            None => position(&self.arguments.results)
                .and_then(|result| self.compute.outputs().get(result).copied()),
        };
        found.ok_or_else(|| PassError::Internal("an access is to no tensor of its compute".to_owned()))
    }

    /// The type of adjoints: f64 if any value or tensor is f64, and f32 otherwise.
    fn arithmetic(&self) -> Type<'c> {
        let context = context::of(self.compute.op().location());
        let f64 = Type::float64(context);
        let results = self.ops.iter().flat_map(|op| op.results().map(Value::from));
        let mut values = results
            .chain(self.tensors.iter().copied())
            .chain(self.compute.outputs());
        match values.any(|value| types::element(value.r#type()) == f64) {
            true => f64,
            false => Type::float32(context),
        }
    }
}

/// Inserts the compute for the gradient: over the same dims, with the same inputs and the known adjoints of tensors as further inputs.
fn insert<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    source: &Source<'c, 'a>,
    adjoints: &Adjoints<'c, 'a>,
    wanted: &[Value<'c, 'a>],
) -> Result<ComputeOp<'c, 'a>, PassError<'c>> {
    let mut tensors = source.tensors.clone();
    let outputs = source.compute.outputs();
    for tensor in outputs.iter().chain(wanted) {
        if let Some(adjoint) = adjoints
            .get(&key(*tensor))
            .filter(|adjoint| !tensors.contains(adjoint))
        {
            tensors.push(*adjoint);
        }
    }
    let mut sizes = Vec::new();
    for pair in source.compute.sizes()?.chunks_exact(2) {
        let (buffer, axis) = (pair[0] as usize, pair[1] as usize);
        let result = buffer.checked_sub(source.tensors.len());
        let buffer = match result.map(|result| adjoints.get(&key(outputs[result]))) {
            None => Some(buffer),
            Some(adjoint) => adjoint.and_then(|adjoint| tensors.iter().position(|known| known == adjoint)),
        };
        let buffer = buffer.ok_or_else(|| {
            let message = "a gradient over the size of a result that has none; supported: sizes of inputs, and of results of floats";
            PassError::from(Diagnostic::unsupported(source.compute.op().location(), message))
        })?;
        sizes.push((buffer, axis));
    }
    let extents = source.compute.extents()?;
    let extents = (0..extents.result_count()).map(|dim| extents.result(dim));
    let results = wanted.iter().map(ValueLike::r#type).collect::<Vec<_>>();
    compute::insert(
        b,
        &Signature {
            tensors: &tensors,
            scalars: &source.scalars,
            results: &results,
            extents: &extents.collect::<Result<Vec<_>, _>>()?,
            sizes: &sizes,
            guards: &[],
        },
    )
}

/// A gradient under construction.
struct Sweep<'c, 'a> {
    values: Values<'c, 'a>,
    block: BlockRef<'c, 'a>,
    compute: ComputeOp<'c, 'a>,
    arguments: Arguments<'c, 'a>,
    extents: Vec<AffineExpr<'c>>,
    /// By the key of a tensor outside, the gradient's block argument.
    buffers: HashMap<usize, Value<'c, 'a>>,
    /// By the key of a value of the forward program, its copy in the gradient.
    copies: HashMap<usize, Value<'c, 'a>>,
    /// Values that depend on the tensors that the gradient is with respect to.
    active: HashSet<usize>,
    /// By value and by the dims to sum over, the contributions to the adjoint so far.
    pending: HashMap<usize, BTreeMap<DimSet, Sum>>,
    /// The adjoints of the results of reads.
    read: HashMap<usize, Sum>,
}

impl<'c: 'a, 'a> Sweep<'c, 'a> {
    fn begin(source: &Source<'c, 'a>, gradient: ComputeOp<'c, 'a>) -> Result<Self, PassError<'c>> {
        let block = compute::block(gradient)?;
        let arguments = compute::arguments(gradient)?;
        let location = source.compute.op().location();
        let extents = gradient.extents()?;
        let extents = (0..extents.result_count()).map(|dim| extents.result(dim));
        let extents = extents.collect::<Result<Vec<_>, _>>()?;
        let points = extents
            .iter()
            .map(|extent| extent.is_constant().then(|| extent.constant_value()));
        let values = Values::new(
            Builder::at_end(block, location),
            source.arithmetic(),
            &arguments.dims,
            points.collect(),
        );
        let (tensors, _) = compute::inputs(gradient);
        let outside = &source.arguments;
        let before = outside
            .tensors
            .iter()
            .chain(&outside.scalars)
            .chain(&outside.dims);
        let after = arguments.tensors[..source.tensors.len()]
            .iter()
            .chain(&arguments.scalars)
            .chain(&arguments.dims);
        Ok(Self {
            values,
            block,
            compute: gradient,
            extents,
            buffers: tensors
                .iter()
                .map(|tensor| key(*tensor))
                .zip(arguments.tensors.clone())
                .collect(),
            copies: before.map(|value| key(*value)).zip(after.copied()).collect(),
            arguments,
            active: HashSet::new(),
            pending: HashMap::new(),
            read: HashMap::new(),
        })
    }

    /// The gradient's block arguments for some tensors.
    fn inputs_inside(&self, tensors: &[Value<'c, 'a>]) -> HashSet<usize> {
        let (inputs, _) = compute::inputs(self.compute);
        let inputs = inputs.iter().zip(&self.arguments.tensors);
        let inside = inputs.filter(|(outside, _)| tensors.contains(outside));
        inside.map(|(_, inside)| key(*inside)).collect()
    }

    fn copied(&self, value: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let copy = self.copies.get(&key(value)).copied();
        copy.ok_or_else(|| PassError::Internal("a value is not of its program".to_owned()))
    }

    /// The coordinates of an access whose indices are values of the gradient, and the dims that they use.
    fn coordinates(
        &self,
        indices: &[Value<'c, 'a>],
        access: melior::ir::AffineMap<'c>,
    ) -> Result<(Vec<AffineExpr<'c>>, DimSet), PassError<'c>> {
        let (dims, numbers) = (&self.arguments.dims, &self.arguments.scalars);
        let context = self.values.b.context();
        let expression = |index: &Value<'c, 'a>| {
            let dim = dims.iter().position(|dim| dim == index);
            let number = || numbers.iter().position(|number| number == index);
            dim.map(|dim| AffineExpr::dim(context, dim))
                .or_else(|| Some(AffineExpr::symbol(context, number()?)))
        };
        let indices = indices.iter().map(expression).collect::<Option<Vec<_>>>();
        let indices =
            indices.ok_or_else(|| PassError::Internal("an index is neither dim nor number".to_owned()))?;
        let at = places::coordinates(access, &indices, [dims.len(), numbers.len()], context)?;
        let uses = |dim: &usize| at.iter().any(|at| at.is_function_of_dim(*dim));
        let used = (0..dims.len()).filter(uses).collect();
        Ok((at, used))
    }

    /// Copies an op of the forward program, except for writes.
    fn copy(&mut self, op: OperationRef<'c, 'a>) -> PassResult<'c> {
        if WriteOp::from_op(op).is_some() {
            return Ok(());
        }
        let name = op_name(op);
        let operands = op.operands().map(|operand| self.copied(operand));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let attribute = match name {
            "arith.constant" => melior::ir::AttributeLike::to_raw(&op.attribute("value")?).ptr as usize,
            _ => 0,
        };
        if attribute != 0
            && let Some(known) = self.values.known(name, attribute, &operands)
        {
            self.copies.insert(key(op.result(0)?.into()), known);
            return Ok(());
        }
        self.values.b.set_location(op.location());
        // SAFETY: the op is alive, and the copy is the builder's from here on.
        let copy = unsafe { Operation::from_raw(mlir_sys::mlirOperationClone(op.to_raw())) };
        let copy = self.values.b.insert(copy);
        self.values.b.set_operands(copy, &operands);
        for (before, after) in op.results().zip(copy.results()) {
            self.copies.insert(key(before.into()), after.into());
        }
        if let Some(read) = ReadOp::from_op(copy) {
            let (_, dims) = self.coordinates(&read.indices(), read.access()?)?;
            let is_reduced = false;
            self.values.note(read.result()?, Facts { dims, is_reduced });
        } else if let Some(reduce) = ReduceOp::from_op(copy) {
            self.note_reduction(reduce);
        } else if let Some(scan) = ScanOp::from_op(copy) {
            self.values.note_scan(scan)?;
        } else {
            let result = Value::from(copy.result(0)?);
            // An op whose result is of the arithmetic's type is identified by its name and operands, a constant by its value: equal ops are
            // shared.
            match result.r#type() == self.values.float {
                true => self.values.take(name, attribute, &operands, result),
                false => {
                    let facts = self.values.joined(&operands);
                    self.values.note(result, facts);
                }
            }
        }
        Ok(())
    }

    fn note_reduction(&mut self, reduce: ReduceOp<'c, 'a>) {
        let over = self.reduced(reduce);
        let mut facts = self.values.joined(&reduce.values());
        facts.dims = &facts.dims - &over;
        let nth = |dim: &&Value<'c, 'a>| reduce.nth().is_some_and(|nth| nth == **dim);
        facts
            .dims
            .extend(self.arguments.dims.iter().position(|dim| nth(&dim)));
        facts.is_reduced = true;
        for result in reduce.results() {
            self.values.note(result, facts.clone());
        }
        if let (Some(kind), [value], [result]) = (
            reduce.kind(),
            reduce.values().as_slice(),
            reduce.results().as_slice(),
        ) && value.r#type() == self.values.float
        {
            self.values.take_reduction(kind, *value, &over, *result);
        }
    }

    /// The dims that a reduction ranges over.
    fn reduced(&self, reduce: ReduceOp<'c, 'a>) -> DimSet {
        let dims = reduce.dims();
        let over = self.arguments.dims.iter().enumerate();
        over.filter(|(_, dim)| dims.contains(dim))
            .map(|(position, _)| position)
            .collect()
    }

    /// Starts the sweep at a write: the adjoint of the written value is that of the result's element.
    fn seed(
        &mut self,
        write: WriteOp<'c, 'a>,
        source: &Source<'c, 'a>,
        adjoints: &Adjoints<'c, 'a>,
    ) -> PassResult<'c> {
        let value = self.copied(write.value()?)?;
        let tensor = source.outside(write.buffer()?)?;
        let adjoint = adjoints
            .get(&key(tensor))
            .and_then(|adjoint| self.buffers.get(&key(*adjoint)));
        let Some(adjoint) = adjoint.copied().filter(|_| self.active.contains(&key(value))) else {
            return Ok(());
        };
        let indices = write.indices().into_iter().map(|index| self.copied(index));
        let indices = indices.collect::<Result<Vec<_>, _>>()?;
        self.values.b.set_location(write.op().location());
        let (read, dims) = self.read_at(adjoint, &indices, write.access()?)?;
        let adjoint = self.values.sum(read);
        self.contribute(value, &adjoint, &dims);
        Ok(())
    }

    /// Reads an element; returns it and the dims that its coordinates use.
    fn read_at(
        &mut self,
        buffer: Value<'c, 'a>,
        indices: &[Value<'c, 'a>],
        access: melior::ir::AffineMap<'c>,
    ) -> Result<(Value<'c, 'a>, DimSet), PassError<'c>> {
        let (_, dims) = self.coordinates(indices, access)?;
        let read = ReadOp::build(self.values.b.location(), buffer, indices, access)?;
        let read = Value::from(self.values.b.insert(read).result(0)?);
        let is_reduced = false;
        let facts = Facts {
            dims: dims.clone(),
            is_reduced,
        };
        self.values.note(read, facts);
        Ok((read, dims))
    }

    /// Adds a contribution to a value's adjoint, one that varies over `dims`.
    fn contribute(&mut self, value: Value<'c, 'a>, adjoint: &Sum, dims: &DimSet) {
        if adjoint.is_zero() || !self.active.contains(&key(value)) {
            return;
        }
        let over = dims - &self.values.facts(value).dims;
        let pending = self.pending.entry(key(value)).or_default();
        let sum = pending.entry(over).or_insert_with(|| self.values.zero());
        sum.add(adjoint, 1.0);
    }

    /// The adjoint of a value, after all of its uses have contributed.
    fn adjoint(&mut self, value: Value<'c, 'a>) -> Result<Sum, PassError<'c>> {
        let mut total = self.values.zero();
        for (over, sum) in self.pending.remove(&key(value)).unwrap_or_default() {
            total.add(&self.values.summed(&sum, &over)?, 1.0);
        }
        Ok(self.values.emitted_if_long(total))
    }

    /// Propagates the adjoints of an op's results to its operands.
    fn pass_back(&mut self, op: OperationRef<'c, 'a>) -> PassResult<'c> {
        self.values.b.set_location(op.location());
        for result in op.results().map(Value::from) {
            let adjoint = self.adjoint(result)?;
            if adjoint.is_zero() {
                continue;
            }
            if ReadOp::from_op(op).is_some() {
                self.read.insert(key(result), adjoint);
            } else if let Some(reduce) = ReduceOp::from_op(op) {
                let over = self.reduced(reduce);
                let passed = self.values.passed_by_reduction(&adjoint, reduce, &over)?;
                let dims = &self.values.facts(result).dims | &over;
                for value in reduce.values() {
                    self.contribute(value, &passed, &dims);
                }
            } else if let Some(scan) = ScanOp::from_op(op) {
                let passed = self.values.passed_by_scan(&adjoint, scan)?;
                let dims = self.values.facts(result).dims;
                self.contribute(scan.value()?, &passed, &dims);
            } else {
                self.pass_back_through(op, &adjoint, result)?;
            }
        }
        Ok(())
    }

    fn pass_back_through(
        &mut self,
        op: OperationRef<'c, 'a>,
        adjoint: &Sum,
        result: Value<'c, 'a>,
    ) -> PassResult<'c> {
        let dims = self.values.facts(result).dims;
        if let Some(finite) = chosen_where_finite(op)? {
            self.contribute(finite, adjoint, &dims);
            return Ok(());
        }
        let derivative = ScalarOp::from_name(op_name(op)).map(|op| op.row().derivative);
        let Some(Derivative::Partial(partials)) = derivative else {
            let message = format!(
                "a gradient through '{}', which has no derivative; supported: {}",
                op_name(op),
                scalar_op::names_of(|row| matches!(row.derivative, Derivative::Partial(_)))
            );
            return Err(Diagnostic::unsupported(op.location(), message).into());
        };
        for (operand, partial) in op.operands().zip(partials) {
            if self.active.contains(&key(operand)) {
                let passed = self.values.passed(adjoint, Applied::new(op)?, partial)?;
                self.contribute(operand, &passed, &dims);
            }
        }
        Ok(())
    }

    /// Writes the gradient with respect to a tensor.
    fn write(
        &mut self,
        result: usize,
        tensor: Value<'c, 'a>,
        forward: &[OperationRef<'c, 'a>],
        so_far: Option<Value<'c, 'a>>,
    ) -> PassResult<'c> {
        let inside = self.inputs_inside(&[tensor]);
        let mut found = Vec::<Place<'c, 'a>>::new();
        for read in forward.iter().filter_map(|op| ReadOp::from_op(*op)) {
            if inside.contains(&key(read.buffer()?)) {
                let (at, _) = self.coordinates(&read.indices(), read.access()?)?;
                places::add(&mut found, read, at);
            }
        }
        places::check(self.compute.op(), &found, tensor.r#type(), &self.extents)?;
        for place in found {
            let mut sum = self.values.zero();
            for read in &place.reads {
                if let Some(adjoint) = self.read.get(&key(read.result()?)) {
                    sum.add(adjoint, 1.0);
                }
            }
            let [read, ..] = place.reads.as_slice() else {
                continue;
            };
            self.values.b.set_location(read.op().location());
            if let Some(so_far) = so_far.and_then(|so_far| self.buffers.get(&key(so_far)).copied()) {
                let (so_far, _) = self.read_at(so_far, &read.indices(), read.access()?)?;
                sum.add(&self.values.sum(so_far), 1.0);
            }
            let value = self.values.value(&sum);
            let element = types::element(tensor.r#type());
            let value = match element == self.values.float {
                true => value,
                false => self.values.b.value("arith.truncf", &[value], element),
            };
            let buffer = self.arguments.results[result];
            let write = WriteOp::build(
                self.values.b.location(),
                value,
                buffer,
                &read.indices(),
                read.access()?,
                false,
            )?;
            self.values.b.insert(write);
        }
        Ok(())
    }
}

/// Recognizes `|v| = inf ? v : w` and returns `w`; `None` for other ops. The adjoint passes to `w` alone: an infinite `v` has no
/// derivative, and where `v` is finite it is not chosen.
fn chosen_where_finite<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<Option<Value<'c, 'a>>, PassError<'c>> {
    if op_name(op) != "arith.select" {
        return Ok(None);
    }
    let Some(comparison) = definition(op.operand(0)?).filter(|op| walk::has_name(*op, "arith.cmpf")) else {
        return Ok(None);
    };
    let is_equality = norma_dialects::integer_of(comparison, "predicate") == Some(Predicate::Equal as i64);
    let is_infinity = constant(comparison.operand(1)?) == Some(f64::INFINITY);
    let magnitude = definition(comparison.operand(0)?).filter(|op| walk::has_name(*op, "math.absf"));
    let Some(magnitude) = magnitude.filter(|_| is_equality && is_infinity) else {
        return Ok(None);
    };
    Ok((magnitude.operand(0)? == op.operand(1)?)
        .then(|| op.operand(2))
        .transpose()?)
}
