//! The programs of a function as one data-flow graph, over dims, sizes and scalars that all of them share.
//!
//! Every dim of every compute has a number of its own. Every dynamic size, and every scalar that indexes an access, is a symbol of its
//! own. Accesses and extents are affine expressions over these. Nodes that compute the same are one node, so that two programs share a
//! computation exactly if they share nodes. A node comes after its operands.

use std::collections::{BTreeSet, HashMap};

use melior::{
    Context,
    ir::{AffineExpr, Location, OperationRef, TypeLike, Value, ValueLike, operation::OperationLike},
};
use norma_dialects::{norm::ReduceOp, op_name};

use crate::{
    kernel::{
        digits::{Digits, digits},
        guards::{self, Guard},
    },
    mlir::{
        affine::{Leaf, substitute, symbols},
        values::key,
    },
};

/// A dim, by its number.
pub(super) type Dim = usize;
/// Dims.
pub(super) type DimSet = BTreeSet<Dim>;
/// A node, by its number.
pub(super) type Node = usize;
/// A substitution: expressions that replace dims.
pub(super) type Dims<'c> = HashMap<Dim, AffineExpr<'c>>;

/// What a symbol of the graph's expressions stands for: a number that is only known at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Symbol<'c, 'a> {
    /// The size of a tensor along an axis.
    Size(Value<'c, 'a>, usize),
    /// A number of the function.
    Number(Value<'c, 'a>),
}

/// A result of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Use {
    pub(super) node: Node,
    /// Which result: a reduction may have several.
    pub(super) result: usize,
}

/// What a node computes.
#[derive(Clone, Debug)]
pub(super) enum Kind<'c, 'a> {
    /// An element of a tensor, one coordinate for each axis.
    Read(Value<'c, 'a>, Vec<AffineExpr<'c>>),
    /// A number of the function.
    Scalar(Value<'c, 'a>),
    /// A coordinate as a value.
    Index(AffineExpr<'c>),
    /// A scalar op.
    Op(OperationRef<'c, 'a>, Vec<Use>),
    /// A reduction over dims. If a dim counts its results (`nth`), it varies over that dim too.
    Reduce(ReduceOp<'c, 'a>, Vec<Use>, DimSet, Option<Dim>),
    /// Two partial results of a reduction, combined: first those of one side, then those of the other.
    Combine(ReduceOp<'c, 'a>, Vec<Use>),
}

impl Kind<'_, '_> {
    /// The operands of the node.
    pub(super) fn operands(&self) -> &[Use] {
        match self {
            Kind::Op(_, operands) | Kind::Reduce(_, operands, ..) | Kind::Combine(_, operands) => operands,
            _ => &[],
        }
    }
}

/// A node, and what is derived from it.
#[derive(Clone, Debug)]
pub(super) struct Entry<'c, 'a> {
    pub(super) kind: Kind<'c, 'a>,
    pub(super) location: Location<'c>,
    /// The dims that it varies over.
    pub(super) dims: DimSet,
    /// The reductions that it depends on, itself among them.
    pub(super) reductions: BTreeSet<Node>,
}

/// A store of a program.
#[derive(Clone, Debug)]
pub(super) struct Write<'c, 'a> {
    /// The tensor.
    pub(super) tensor: Value<'c, 'a>,
    /// One coordinate for each axis.
    pub(super) at: Vec<AffineExpr<'c>>,
    pub(super) value: Use,
    /// Whether writes leave out elements of the tensor.
    pub(super) is_partial: bool,
    pub(super) location: Location<'c>,
}

impl<'c, 'a> Write<'c, 'a> {
    /// A write of `value` in the place of this one's, with `dims` substituted in its coordinates.
    pub(super) fn moved(&self, value: Use, dims: &Dims<'c>, context: &'c Context) -> Self {
        Self {
            tensor: self.tensor,
            at: self.at.iter().map(|at| replace(*at, dims, context)).collect(),
            value,
            is_partial: self.is_partial,
            location: self.location,
        }
    }
}

/// A program: its dims, outermost first, the guards of their points, and its stores.
#[derive(Clone, Debug, Default)]
pub(super) struct Program<'c, 'a> {
    pub(super) dims: Vec<Dim>,
    pub(super) guards: Vec<Guard<'c>>,
    pub(super) writes: Vec<Write<'c, 'a>>,
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The tensors that it makes, each once.
    pub(super) fn results(&self) -> Vec<Value<'c, 'a>> {
        let mut results = Vec::new();
        for write in &self.writes {
            if !results.contains(&write.tensor) {
                results.push(write.tensor);
            }
        }
        results
    }

    /// The dims that guards are over.
    pub(super) fn guarded(&self) -> DimSet {
        self.guards.iter().flat_map(guards::dims_of).collect()
    }

    /// The only write to a tensor; `None` where there is none, or several write parts of it.
    pub(super) fn write_of(&self, tensor: Value<'c, 'a>) -> Option<&Write<'c, 'a>> {
        let mut writes = self.writes.iter().filter(|write| write.tensor == tensor);
        writes.next().filter(|_| writes.next().is_none())
    }
}

/// The key of a node: nodes with equal keys are one. Expressions, types and attributes are unique in their context, so that their
/// addresses identify them.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Read(usize, Vec<usize>),
    Scalar(usize),
    Index(usize),
    Op(Signature, Vec<Use>),
    Reduce(Signature, Vec<Use>, DimSet, Option<Dim>),
    Combine(Signature, Vec<Use>),
}

/// An op without its operands.
#[derive(PartialEq, Eq, Hash)]
struct Signature {
    name: String,
    attributes: Vec<(String, usize)>,
    results: Vec<usize>,
    /// The op itself, where it has a region.
    op: Option<usize>,
}

/// The data flow of a function.
pub(super) struct Graph<'c, 'a> {
    pub(super) context: &'c Context,
    /// The extent of each dim, over the sizes.
    pub(super) extents: Vec<AffineExpr<'c>>,
    /// Where each dim comes from.
    pub(super) dim_locations: Vec<Location<'c>>,
    /// What the symbols stand for: extents are over sizes, and coordinates over numbers.
    pub(super) symbols: Vec<Symbol<'c, 'a>>,
    /// Numbers that sizes are multiples of, as (symbol, number): a launch checks it, because a result is written in whole runs.
    multiples: BTreeSet<(usize, i64)>,
    nodes: Vec<Entry<'c, 'a>>,
    known: HashMap<Identity, Node>,
}

impl<'c: 'a, 'a> Graph<'c, 'a> {
    pub(super) fn new(context: &'c Context) -> Self {
        Self {
            context,
            extents: Vec::new(),
            dim_locations: Vec::new(),
            symbols: Vec::new(),
            multiples: BTreeSet::new(),
            nodes: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// A new dim.
    pub(super) fn add_dim(&mut self, extent: AffineExpr<'c>, location: Location<'c>) -> Dim {
        self.extents.push(extent);
        self.dim_locations.push(location);
        self.extents.len() - 1
    }

    /// A dim as an expression.
    pub(super) fn dim(&self, dim: Dim) -> AffineExpr<'c> {
        AffineExpr::dim(self.context, dim)
    }

    /// The symbol of a number that is only known at run time, as an expression.
    pub(super) fn symbol(&mut self, symbol: Symbol<'c, 'a>) -> AffineExpr<'c> {
        let known = self.symbols.iter().position(|known| *known == symbol);
        let position = known.unwrap_or_else(|| {
            self.symbols.push(symbol);
            self.symbols.len() - 1
        });
        AffineExpr::symbol(self.context, position)
    }

    /// The tensor and the axis whose size a symbol stands for, if it stands for one.
    pub(super) fn size_of_symbol(&self, symbol: usize) -> Option<(Value<'c, 'a>, usize)> {
        match self.symbols.get(symbol)? {
            Symbol::Size(tensor, axis) => Some((*tensor, *axis)),
            Symbol::Number(_) => None,
        }
    }

    /// The scalars that expressions use, with the positions of their symbols, in order of these.
    pub(super) fn numbers_of(
        &self,
        expressions: impl IntoIterator<Item = AffineExpr<'c>>,
    ) -> Vec<(usize, Value<'c, 'a>)> {
        let used = expressions.into_iter().flat_map(symbols).collect::<BTreeSet<_>>();
        let numbers = used
            .into_iter()
            .filter_map(|symbol| match self.symbols.get(symbol)? {
                Symbol::Number(value) => Some((symbol, *value)),
                Symbol::Size(..) => None,
            });
        numbers.collect()
    }

    /// The points that a coordinate of a program with these guards linearizes; whole runs of a size that is a multiple of their length
    /// are all of it.
    pub(super) fn digits(&self, at: AffineExpr<'c>, guards: &[Guard<'c>]) -> Option<Digits<'c>> {
        let mut digits = digits(at, &self.extents, guards, self.context)?;
        if let Some((size, length)) = digits.whole_runs()
            && self.multiples.contains(&(size.symbol_position(), length))
        {
            digits.extent = size;
        }
        Some(digits)
    }

    /// Notes what a write at some coordinate of a result's axis of dynamic size says of sizes.
    pub(super) fn note_written(&mut self, at: AffineExpr<'c>) {
        let found = digits(at, &self.extents, &[], self.context).and_then(|digits| digits.whole_runs());
        self.multiples
            .extend(found.map(|(size, length)| (size.symbol_position(), length)));
    }

    /// A node.
    pub(super) fn entry(&self, node: Node) -> &Entry<'c, 'a> {
        &self.nodes[node]
    }

    /// The node that computes `kind`, which is added if it is new.
    pub(super) fn add(&mut self, kind: Kind<'c, 'a>, location: Location<'c>) -> Node {
        let identity = identity(&kind);
        if let Some(node) = self.known.get(&identity) {
            return *node;
        }
        let node = self.nodes.len();
        let mut entry = Entry {
            location,
            dims: DimSet::new(),
            reductions: BTreeSet::new(),
            kind,
        };
        for operand in entry.kind.operands() {
            entry.dims.extend(&self.nodes[operand.node].dims);
            entry.reductions.extend(&self.nodes[operand.node].reductions);
        }
        match &entry.kind {
            Kind::Read(_, at) => entry.dims = at.iter().flat_map(|at| dims_of(*at)).collect(),
            Kind::Index(at) => entry.dims = dims_of(*at),
            Kind::Reduce(_, _, dims, nth) => {
                entry.dims = &entry.dims - dims;
                entry.dims.extend(nth);
                entry.reductions.insert(node);
            }
            Kind::Scalar(_) | Kind::Op(..) | Kind::Combine(..) => {}
        }
        self.nodes.push(entry);
        self.known.insert(identity, node);
        node
    }

    /// The nodes that `roots` depend on, and `roots` themselves, in order.
    pub(super) fn reachable(&self, roots: impl IntoIterator<Item = Node>) -> BTreeSet<Node> {
        let mut found = BTreeSet::new();
        let mut open = roots.into_iter().collect::<Vec<_>>();
        while let Some(node) = open.pop() {
            if found.insert(node) {
                open.extend(
                    self.nodes[node]
                        .kind
                        .operands()
                        .iter()
                        .map(|operand| operand.node),
                );
            }
        }
        found
    }

    /// The nodes of a program, in order.
    pub(super) fn nodes_of(&self, program: &Program<'c, 'a>) -> BTreeSet<Node> {
        self.reachable(program.writes.iter().map(|write| write.value.node))
    }

    /// The dims that count the results of a program's reductions.
    pub(super) fn counting(&self, program: &Program<'c, 'a>) -> DimSet {
        let nodes = self.nodes_of(program).into_iter();
        let counting = nodes.filter_map(|node| match &self.nodes[node].kind {
            Kind::Reduce(.., nth) => *nth,
            _ => None,
        });
        counting.collect()
    }

    /// The tensors that a program reads, each once.
    pub(super) fn read_by(&self, program: &Program<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let mut tensors = Vec::new();
        for node in self.nodes_of(program) {
            if let Kind::Read(tensor, _) = &self.nodes[node].kind
                && !tensors.contains(tensor)
            {
                tensors.push(*tensor);
            }
        }
        tensors
    }
}

/// The dims of an expression.
pub(super) fn dims_of(expression: AffineExpr<'_>) -> DimSet {
    if expression.is_dim() {
        return [expression.dim_position()].into();
    }
    if expression.is_binary() {
        return &dims_of(expression.lhs()) | &dims_of(expression.rhs());
    }
    DimSet::new()
}

/// A guard with `dims` substituted in it.
pub(super) fn replace_in_guard<'c>(guard: &Guard<'c>, dims: &Dims<'c>, context: &'c Context) -> Guard<'c> {
    guard.map(|side| replace(side, dims, context))
}

/// Replaces dims of an expression; those without a substitute stay.
pub(super) fn replace<'c>(
    expression: AffineExpr<'c>,
    dims: &Dims<'c>,
    context: &'c Context,
) -> AffineExpr<'c> {
    substitute(expression, &mut |leaf| match leaf {
        Leaf::Dim(dim) => dims
            .get(&dim)
            .copied()
            .unwrap_or_else(|| AffineExpr::dim(context, dim)),
        Leaf::Symbol(symbol) => AffineExpr::symbol(context, symbol),
    })
}

fn identity(kind: &Kind<'_, '_>) -> Identity {
    let unique = |expression: &AffineExpr<'_>| expression.to_raw().ptr as usize;
    match kind {
        Kind::Read(tensor, at) => Identity::Read(key(*tensor), at.iter().map(unique).collect()),
        Kind::Scalar(value) => Identity::Scalar(key(*value)),
        Kind::Index(at) => Identity::Index(unique(at)),
        Kind::Op(op, operands) => Identity::Op(signature(*op), operands.clone()),
        Kind::Reduce(reduce, operands, dims, nth) => {
            Identity::Reduce(signature(reduce.op()), operands.clone(), dims.clone(), *nth)
        }
        Kind::Combine(reduce, operands) => Identity::Combine(signature(reduce.op()), operands.clone()),
    }
}

fn signature(op: OperationRef<'_, '_>) -> Signature {
    let attributes = op.attributes().map(|(name, attribute)| {
        let name = name.as_string_ref().as_str().unwrap_or_default().to_owned();
        (name, melior::ir::AttributeLike::to_raw(&attribute).ptr as usize)
    });
    let has_region = op
        .regions()
        .any(|region| melior::ir::RegionLike::first_block(&region).is_some());
    Signature {
        name: op_name(op).to_owned(),
        attributes: attributes.collect(),
        results: op
            .results()
            .map(|result| result.r#type().to_raw().ptr as usize)
            .collect(),
        op: has_region.then_some(op.to_raw().ptr as usize),
    }
}
