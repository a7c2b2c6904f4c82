//! Reads computes into the graph.
//!
//! Sizes are expressed by the sizes of tensors that no program makes, so that equal extents compare equal whichever tensor they were
//! written over. A dim of extent 1 is replaced by 0, unless it may count rows whose number nothing may depend on.

use std::collections::HashMap;

use melior::ir::{AffineExpr, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::{ComputeOp, ReadOp, ReduceOp, ScanOp, WriteOp};

use super::{
    graph::{
        Dim, DimSet, Dims, Graph, Kind, Program, Symbol, Use, Write, dims_of, replace, replace_in_guard,
    },
    stop::Stop,
};
use crate::{
    kernel::{
        compute::{self, Arguments},
        guards,
    },
    mlir::{
        affine::{Leaf, substitute},
        pass::{PassError, PassResult},
        types,
        values::key,
        walk,
    },
};

/// By tensor of a function: its sizes, as expressions over the sizes of tensors that no program makes.
pub(super) type Shapes<'c> = HashMap<usize, Vec<AffineExpr<'c>>>;

/// Reads a compute, and adds the sizes of its results to `shapes`; returns the reason for one that cannot be fused with any other. With
/// `any_rows` the dims that no reduction ranges over or counts its results by remain dims even if they have one point.
pub(super) fn read<'c: 'a, 'a>(
    graph: &mut Graph<'c, 'a>,
    shapes: &mut Shapes<'c>,
    compute: ComputeOp<'c, 'a>,
    any_rows: bool,
) -> Result<Result<Program<'c, 'a>, Stop>, PassError<'c>> {
    let (tensors, scalars) = compute::inputs(compute);
    let results = compute.outputs();
    let arguments = compute::arguments(compute)?;
    let mut symbols = Vec::new();
    for pair in compute.sizes()?.chunks_exact(2) {
        let (buffer, axis) = (pair[0] as usize, pair[1] as usize);
        // The extent is the size of a result, so that the program depends on memory that is given from outside.
        let Some(tensor) = tensors.get(buffer) else {
            return Ok(Err(Stop::Sized));
        };
        symbols.push(shape_of(graph, shapes, *tensor)[axis]);
    }
    let context = crate::mlir::context::of(compute.op().location());
    let of_function = |extent: AffineExpr<'c>| {
        substitute(extent, &mut |leaf| match leaf {
            Leaf::Symbol(symbol) => symbols[symbol],
            Leaf::Dim(dim) => AffineExpr::dim(context, dim),
        })
    };
    if let Err(stop) = add_result_sizes(graph, shapes, compute, of_function)? {
        return Ok(Err(stop));
    }
    let mut reader = Reader {
        graph,
        tensors: &tensors,
        results: &results,
        arguments: &arguments,
        dims: Dims::new(),
        positions: HashMap::new(),
        numbers: HashMap::new(),
        values: HashMap::new(),
        program: Program::default(),
    };
    reader.add_dims(compute, of_function, any_rows)?;
    reader.add_scalars(compute, &scalars);
    reader.add_guards(compute, of_function)?;
    let read = reader.body(compute)?;
    Ok(read.map(|()| reader.program))
}

/// Adds the sizes of a compute's results: how far its writes reach. Returns the reason if that does not follow from its extents, which
/// `of_function` puts in terms of the function's sizes.
fn add_result_sizes<'c: 'a, 'a>(
    graph: &Graph<'c, 'a>,
    shapes: &mut Shapes<'c>,
    compute: ComputeOp<'c, 'a>,
    of_function: impl Fn(AffineExpr<'c>) -> AffineExpr<'c>,
) -> Result<Result<(), Stop>, PassError<'c>> {
    for (position, result) in compute.outputs().iter().enumerate() {
        let shape = types::shape(result.r#type()).unwrap_or_default();
        let reached = compute::reached(compute, position)?;
        // Writes of several parts that reach differently far do not determine a dynamic size.
        let is_dynamic = |axis: &usize| shape[*axis].is_none();
        let reach_alike = |axis: usize| reached.windows(2).all(|pair| pair[0][axis] == pair[1][axis]);
        let Some(first) = reached.first() else {
            return Ok(Err(Stop::Reach));
        };
        if !(0..shape.len()).filter(is_dynamic).all(reach_alike) {
            return Ok(Err(Stop::Reach));
        }
        let extents = shape.iter().zip(first).map(|(extent, reached)| match extent {
            Some(extent) => AffineExpr::constant(graph.context, *extent),
            None => of_function(*reached),
        });
        shapes.insert(key(*result), extents.collect());
    }
    Ok(Ok(()))
}

/// The sizes of a tensor. The dynamic ones of a tensor that no program makes are symbols of its own.
pub(super) fn shape_of<'c: 'a, 'a>(
    graph: &mut Graph<'c, 'a>,
    shapes: &mut Shapes<'c>,
    tensor: Value<'c, 'a>,
) -> Vec<AffineExpr<'c>> {
    if let Some(shape) = shapes.get(&key(tensor)) {
        return shape.clone();
    }
    let shape = types::shape(tensor.r#type()).unwrap_or_default();
    let sizes = shape.iter().enumerate().map(|(axis, extent)| match extent {
        Some(extent) => AffineExpr::constant(graph.context, *extent),
        None => graph.symbol(Symbol::Size(tensor, axis)),
    });
    let sizes = sizes.collect::<Vec<_>>();
    shapes.insert(key(tensor), sizes.clone());
    sizes
}

struct Reader<'r, 'c, 'a> {
    graph: &'r mut Graph<'c, 'a>,
    tensors: &'r [Value<'c, 'a>],
    results: &'r [Value<'c, 'a>],
    arguments: &'r Arguments<'c, 'a>,
    /// By position of a dim of the block: a dim of the graph, or 0.
    dims: Dims<'c>,
    /// By value that is a dim of the block: its position among the dims.
    positions: HashMap<usize, usize>,
    /// By scalar of the block that may index an access: its symbol.
    numbers: HashMap<usize, AffineExpr<'c>>,
    values: HashMap<usize, Use>,
    program: Program<'c, 'a>,
}

impl<'c: 'a, 'a> Reader<'_, 'c, 'a> {
    /// Adds the dims. With `any_rows` those that no reduction ranges over or counts its results by may count rows.
    fn add_dims(
        &mut self,
        compute: ComputeOp<'c, 'a>,
        of_function: impl Fn(AffineExpr<'c>) -> AffineExpr<'c>,
        any_rows: bool,
    ) -> PassResult<'c> {
        let extents = compute.extents()?;
        let ops = walk::in_block(compute::block(compute)?);
        let reductions = ops.into_iter().filter_map(ReduceOp::from_op);
        let combined = reductions
            .flat_map(|reduce| reduce.dims().into_iter().chain(reduce.nth()))
            .collect::<Vec<_>>();
        for (position, dim) in self.arguments.dims.iter().enumerate() {
            let may_count_rows = any_rows && !combined.contains(dim);
            self.add_dim(*dim, of_function(extents.result(position)?), may_count_rows);
        }
        Ok(())
    }

    /// Adds the scalars of the function that the compute takes.
    fn add_scalars(&mut self, compute: ComputeOp<'c, 'a>, scalars: &[Value<'c, 'a>]) {
        for (inside, outside) in self.arguments.scalars.iter().zip(scalars) {
            let node = self.graph.add(Kind::Scalar(*outside), compute.op().location());
            self.values.insert(key(*inside), Use { node, result: 0 });
            if types::is_index(inside.r#type()) {
                let number = self.graph.symbol(Symbol::Number(*outside));
                self.numbers.insert(key(*inside), number);
            }
        }
    }

    /// Adds the guards that do not always hold.
    fn add_guards(
        &mut self,
        compute: ComputeOp<'c, 'a>,
        of_function: impl Fn(AffineExpr<'c>) -> AffineExpr<'c>,
    ) -> PassResult<'c> {
        let Some(map) = compute.guards() else {
            return Ok(());
        };
        for guard in guards::of_map(map)? {
            let guard = guard.map(&of_function);
            let guard = replace_in_guard(&guard, &self.dims, self.graph.context);
            let [lhs, limit] = guard;
            let always_holds =
                lhs.is_constant() && limit.is_constant() && lhs.constant_value() < limit.constant_value();
            if !always_holds {
                self.program.guards.push(guard);
            }
        }
        Ok(())
    }

    fn add_dim(&mut self, dim: Value<'c, 'a>, extent: AffineExpr<'c>, may_count_rows: bool) {
        let position = self.positions.len();
        self.positions.insert(key(dim), position);
        let one = AffineExpr::constant(self.graph.context, 1);
        let stands_for = if extent == one && !may_count_rows {
            AffineExpr::constant(self.graph.context, 0)
        } else {
            // SAFETY: the value is alive, and the context keeps its location.
            let location =
                unsafe { melior::ir::Location::from_raw(mlir_sys::mlirValueGetLocation(dim.to_raw())) };
            let number = self.graph.add_dim(extent, location);
            self.program.dims.push(number);
            self.graph.dim(number)
        };
        self.dims.insert(position, stands_for);
    }

    /// Reads the ops; returns the reason if the graph cannot represent one of them.
    fn body(&mut self, compute: ComputeOp<'c, 'a>) -> Result<Result<(), Stop>, PassError<'c>> {
        for op in walk::in_block(compute::block(compute)?) {
            let location = op.location();
            if let Some(read) = ReadOp::from_op(op) {
                let position = self
                    .arguments
                    .tensors
                    .iter()
                    .position(|tensor| read.buffer().is_ok_and(|buffer| buffer == *tensor));
                let Some(position) = position else {
                    return Ok(Err(Stop::Unread));
                };
                let at = self.access(&read.indices(), read.access()?)?;
                self.define(op, Kind::Read(self.tensors[position], at));
            } else if let Some(write) = WriteOp::from_op(op) {
                let position = self
                    .arguments
                    .results
                    .iter()
                    .position(|tensor| write.buffer().is_ok_and(|buffer| buffer == *tensor));
                let Some(position) = position else {
                    return Ok(Err(Stop::Unread));
                };
                let at = self.access(&write.indices(), write.access()?)?;
                let shape = types::shape(self.results[position].r#type()).unwrap_or_default();
                // Only a result without padding is written in whole runs.
                let dynamic = at.iter().zip(shape).filter(|(_, extent)| extent.is_none());
                for (at, _) in dynamic.filter(|_| !write.partial()) {
                    self.graph.note_written(*at);
                }
                let value = self.value(write.value()?)?;
                self.program.writes.push(Write {
                    tensor: self.results[position],
                    at,
                    value,
                    is_partial: write.partial(),
                    location,
                });
            } else if let Some(reduce) = ReduceOp::from_op(op) {
                let values = reduce.values().into_iter().map(|value| self.value(value));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                let dims = reduce
                    .dims()
                    .into_iter()
                    .filter_map(|dim| self.positions.get(&key(dim)));
                let dims = dims
                    .flat_map(|position| dims_of(self.dims[position]))
                    .collect::<DimSet>();
                let nth = reduce.nth().and_then(|nth| self.positions.get(&key(nth)));
                // At the only point of a dim of extent 1 the result is that of a reduction without `nth`.
                let nth = nth.and_then(|position| dims_of(self.dims[position]).pop_first());
                // A reduction of a single value has a result only at the first point of `nth`, for which the graph has
                // no node.
                if dims.is_empty() && nth.is_some() {
                    return Ok(Err(Stop::Unread));
                }
                self.reduce(reduce, values, dims, nth);
            } else if ScanOp::from_op(op).is_some() {
                return Ok(Err(Stop::Scan));
            } else {
                if op.region_count() > 0 || op.result_count() != 1 {
                    return Ok(Err(Stop::Unread));
                }
                let operands = op.operands().map(|operand| self.value(operand));
                let operands = operands.collect::<Result<Vec<_>, _>>()?;
                self.define(op, Kind::Op(op, operands));
            }
        }
        Ok(Ok(()))
    }

    /// Adds a reduction. The results of one over a single point are its operands.
    fn reduce(&mut self, reduce: ReduceOp<'c, 'a>, values: Vec<Use>, dims: DimSet, nth: Option<Dim>) {
        if dims.is_empty() {
            for (result, value) in reduce.results().into_iter().zip(values) {
                self.values.insert(key(result), value);
            }
            return;
        }
        self.define(reduce.op(), Kind::Reduce(reduce, values, dims, nth));
    }

    fn define(&mut self, op: melior::ir::OperationRef<'c, 'a>, kind: Kind<'c, 'a>) {
        let node = self.graph.add(kind, op.location());
        for (result, value) in op.results().enumerate() {
            self.values.insert(key(value.into()), Use { node, result });
        }
    }

    /// The node of a value of the body. A dim that an op computes with becomes a coordinate.
    fn value(&mut self, value: Value<'c, 'a>) -> Result<Use, PassError<'c>> {
        if let Some(known) = self.values.get(&key(value)) {
            return Ok(*known);
        }
        let position = self.positions.get(&key(value));
        let position =
            position.ok_or_else(|| PassError::Internal("a value is not of its program".to_owned()))?;
        let location = crate::mlir::values::owner(value).map(|op| op.location());
        let location =
            location.ok_or_else(|| PassError::Internal("a dim is not of its program".to_owned()))?;
        let node = self.graph.add(Kind::Index(self.dims[position]), location);
        let index = Use { node, result: 0 };
        self.values.insert(key(value), index);
        Ok(index)
    }

    fn access(
        &self,
        indices: &[Value<'c, 'a>],
        access: melior::ir::AffineMap<'c>,
    ) -> Result<Vec<AffineExpr<'c>>, PassError<'c>> {
        let at = |index: &Value<'c, 'a>| match self.positions.get(&key(*index)) {
            Some(position) => Some(self.dims[position]),
            None => self.numbers.get(&key(*index)).copied(),
        };
        let at = indices.iter().map(at).collect::<Option<Vec<_>>>();
        let at = at.ok_or_else(|| PassError::Internal("an index is neither dim nor number".to_owned()))?;
        let at = at.into_iter().enumerate().collect::<Dims<'c>>();
        let coordinates = (0..access.result_count()).map(|axis| {
            let coordinate = access.result(axis)?;
            Ok(replace(coordinate, &at, self.graph.context))
        });
        coordinates.collect()
    }
}
