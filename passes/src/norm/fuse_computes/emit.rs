//! Writes a program of the graph as a `norm.compute`.

use std::collections::HashMap;

use melior::ir::{
    AffineExpr, AffineMap, Operation, OperationRef, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::norm::{ComputeOp, ReadOp, WriteOp};

use super::{
    graph::{Graph, Kind, Node, Program, Use},
    read::{Shapes, shape_of},
};
use crate::{
    kernel::{
        compute::{self, Arguments, Signature},
        guards::Guard,
        indices::indices_of,
        reductions::{self, combine},
    },
    mlir::{
        affine::{Leaf, substitute, symbols},
        affine_value::value_of,
        builder::Builder,
        pass::{PassError, PassResult},
        types,
        values::key,
    },
};

/// Builds the compute of a program, whose results are [`Program::results`].
pub(super) fn emit<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    graph: &mut Graph<'c, 'a>,
    shapes: &mut Shapes<'c>,
    program: &Program<'c, 'a>,
) -> Result<ComputeOp<'c, 'a>, PassError<'c>> {
    let mut tensors = graph.read_by(program);
    let OfSpace {
        extents,
        sizes,
        guards,
    } = space(graph, shapes, program, &mut tensors);
    let nodes = graph.nodes_of(program);
    let mut scalars = Vec::new();
    for node in &nodes {
        let used = match &graph.entry(*node).kind {
            Kind::Scalar(value) => vec![*value],
            Kind::Read(_, at) => values(&graph.numbers_of(at.iter().copied())),
            Kind::Index(at) => values(&graph.numbers_of([*at])),
            _ => Vec::new(),
        };
        for value in used {
            if !scalars.contains(&value) {
                scalars.push(value);
            }
        }
    }
    let made = program.results();
    let results = made.iter().map(ValueLike::r#type).collect::<Vec<_>>();
    let compute = compute::insert(
        b,
        &Signature {
            tensors: &tensors,
            scalars: &scalars,
            results: &results,
            extents: &extents,
            sizes: &sizes,
            guards: &guards,
        },
    )?;
    let arguments = compute::arguments(compute)?;
    let inside = tensors
        .iter()
        .zip(&arguments.tensors)
        .chain(scalars.iter().zip(&arguments.scalars));
    let mut emitter = Emitter {
        graph,
        program,
        b: Builder::at_end(compute::block(compute)?, b.location()),
        inside: inside.map(|(outside, inside)| (key(*outside), *inside)).collect(),
        arguments,
        values: HashMap::new(),
    };
    for node in nodes {
        emitter.node(node)?;
    }
    for write in &program.writes {
        let result = made.iter().position(|tensor| *tensor == write.tensor);
        let buffer = result.and_then(|result| emitter.arguments.results.get(result).copied());
        let buffer = buffer.ok_or_else(|| PassError::Internal("a write is to no result".to_owned()))?;
        emitter.b.set_location(write.location);
        let (dims, access) = emitter.access(&write.at)?;
        let (value, partial) = (emitter.value(write.value)?, write.is_partial);
        let write = WriteOp::build(emitter.b.location(), value, buffer, &dims, access, partial)?;
        emitter.b.insert(write);
    }
    Ok(compute)
}

/// The space of a program, over its dims by position.
struct OfSpace<'c> {
    extents: Vec<AffineExpr<'c>>,
    /// The sizes that symbols stand for, as (position among the tensors, axis).
    sizes: Vec<(usize, usize)>,
    guards: Vec<Guard<'c>>,
}

/// The space of a program. A size is taken off a tensor that the program reads, if one has it; otherwise the tensor that has it is added
/// to `tensors`.
fn space<'c: 'a, 'a>(
    graph: &mut Graph<'c, 'a>,
    shapes: &mut Shapes<'c>,
    program: &Program<'c, 'a>,
    tensors: &mut Vec<Value<'c, 'a>>,
) -> OfSpace<'c> {
    let extents_of_dims = graph.extents.clone();
    let mut sizes = Vec::new();
    let mut position = |size: (usize, usize)| {
        let known = sizes.iter().position(|known| *known == size);
        known.unwrap_or_else(|| {
            sizes.push(size);
            sizes.len() - 1
        })
    };
    let mut over_sizes = |expression: AffineExpr<'c>| {
        if let Some(size) = size_of(graph, shapes, tensors, expression) {
            return AffineExpr::symbol(graph.context, position(size));
        }
        let mut stands_for = HashMap::new();
        for symbol in symbols(expression) {
            let Some((tensor, axis)) = graph.size_of_symbol(symbol) else {
                continue;
            };
            let wanted = AffineExpr::symbol(graph.context, symbol);
            let size = size_of(graph, shapes, tensors, wanted);
            let size = size.unwrap_or_else(|| {
                tensors.push(tensor);
                (tensors.len() - 1, axis)
            });
            stands_for.insert(symbol, position(size));
        }
        substitute(expression, &mut |leaf| match leaf {
            Leaf::Symbol(symbol) => AffineExpr::symbol(graph.context, stands_for[&symbol]),
            Leaf::Dim(dim) => {
                // A guard that concerns a program is over its dims.
                let dim = program.dims.iter().position(|own| *own == dim);
                AffineExpr::dim(graph.context, dim.unwrap_or(0))
            }
        })
    };
    let extents = program.dims.iter().map(|dim| over_sizes(extents_of_dims[*dim]));
    let extents = extents.collect();
    let guards = program.guards.iter().map(|guard| guard.map(&mut over_sizes));
    let guards = guards.collect();
    OfSpace {
        extents,
        sizes,
        guards,
    }
}

/// The first of `tensors` with a dynamic axis whose size is `wanted`, by position, and that axis.
fn size_of<'c: 'a, 'a>(
    graph: &mut Graph<'c, 'a>,
    shapes: &mut Shapes<'c>,
    tensors: &[Value<'c, 'a>],
    wanted: AffineExpr<'c>,
) -> Option<(usize, usize)> {
    tensors.iter().enumerate().find_map(|(index, tensor)| {
        let shape = shape_of(graph, shapes, *tensor);
        let extents = types::shape(tensor.r#type()).unwrap_or_default();
        let is_wanted = |axis: &usize| shape[*axis] == wanted && extents[*axis].is_none();
        let axis = (0..shape.len()).find(is_wanted)?;
        Some((index, axis))
    })
}

struct Emitter<'s, 'c, 'a> {
    graph: &'s Graph<'c, 'a>,
    program: &'s Program<'c, 'a>,
    b: Builder<'c, 'a>,
    arguments: Arguments<'c, 'a>,
    /// By tensor or number outside of the compute: the value that stands for it inside.
    inside: HashMap<usize, Value<'c, 'a>>,
    values: HashMap<Use, Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Emitter<'_, 'c, 'a> {
    fn node(&mut self, node: Node) -> PassResult<'c> {
        let entry = self.graph.entry(node);
        self.b.set_location(entry.location);
        let values = match &entry.kind {
            Kind::Read(tensor, at) => {
                let (indices, access) = self.access(at)?;
                let read = ReadOp::build(self.b.location(), self.outside(*tensor)?, &indices, access)?;
                vec![self.b.insert(read).result(0)?.into()]
            }
            Kind::Scalar(value) => vec![self.outside(*value)?],
            Kind::Index(at) => {
                let (indices, access) = self.access(&[*at])?;
                vec![value_of(&self.b, access.result(0)?, &indices, &[])?]
            }
            Kind::Op(op, operands) => {
                let operands = self.operands(operands)?;
                let types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
                results(self.b.rebuild(*op, &operands, &types))
            }
            Kind::Combine(reduce, operands) => {
                let operands = self.operands(operands)?;
                combine(&self.b, *reduce, &operands)?
            }
            Kind::Reduce(reduce, operands, dims, nth) => {
                let operands = self.operands(operands)?;
                let own = self.program.dims.iter().zip(&self.arguments.dims);
                let over = own.clone().filter(|(dim, _)| dims.contains(dim));
                let over = over.map(|(_, dim)| *dim).collect::<Vec<_>>();
                let nth = own.clone().find(|(dim, _)| Some(**dim) == *nth);
                let nth = nth.map(|(_, dim)| *dim);
                let copy = self.b.insert(Operation::clone(&reduce.op()));
                reductions::set_operands(&self.b, copy, &operands, &over, nth);
                results(copy)
            }
        };
        for (result, value) in values.into_iter().enumerate() {
            self.values.insert(Use { node, result }, value);
        }
        Ok(())
    }

    fn value(&self, of: Use) -> Result<Value<'c, 'a>, PassError<'c>> {
        let value = self.values.get(&of).copied();
        value.ok_or_else(|| PassError::Internal("a value comes before what it uses".to_owned()))
    }

    fn operands(&self, operands: &[Use]) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        operands.iter().map(|operand| self.value(*operand)).collect()
    }

    fn outside(&self, value: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let inside = self.inside.get(&key(value)).copied();
        inside.ok_or_else(|| PassError::Internal("a program reads what is not its input".to_owned()))
    }

    /// The dims and numbers that coordinates use, and the access as a map of these alone.
    fn access(&self, at: &[AffineExpr<'c>]) -> Result<(Vec<Value<'c, 'a>>, AffineMap<'c>), PassError<'c>> {
        let dims = self.program.dims.iter().zip(&self.arguments.dims);
        let dims = dims.map(|(dim, value)| (*dim, *value)).collect::<Vec<_>>();
        let numbers = self.graph.numbers_of(at.iter().copied()).into_iter();
        let numbers = numbers.map(|(symbol, value)| Ok((symbol, self.outside(value)?)));
        let numbers = numbers.collect::<Result<Vec<_>, PassError<'c>>>()?;
        Ok(indices_of(self.graph.context, at, &dims, &numbers))
    }
}

fn values<'c, 'a>(numbered: &[(usize, Value<'c, 'a>)]) -> Vec<Value<'c, 'a>> {
    numbered.iter().map(|(_, value)| *value).collect()
}

fn results<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    op.results().map(Value::from).collect()
}
