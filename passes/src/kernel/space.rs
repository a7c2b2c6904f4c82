//! The iteration space of a kernel or a compute, and what follows from it for values and accesses: dims, phases, reuse, strides, traffic.
//!
//! A value varies over the dims that its operands vary over, less those that a reduction removes. The dims that a scan is along, and the
//! dim that counts a reduction's results, are among its operands. The phase of a value is 0 before any reduction, and the result of a
//! reduction is one phase after its operands: phase p can start when every reduction of the phases before it is complete.

mod access;
mod crossings;
mod traffic;

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use melior::{
    Error,
    ir::{
        AffineExpr, AffineMap, BlockLike, Location, OperationRef, RegionLike, Value, ValueLike,
        operation::OperationLike,
    },
};
use norma_dialects::norm::{CacheOp, ComputeOp, DimRole, GatherOp, KernelOp, ReduceOp, ScanOp, ScatterOp};

use super::{
    guards::{self, Guard},
    nests,
    positions::{Positions, join},
};
use crate::mlir::{
    context, types,
    values::{self, key},
    walk,
};

pub use access::{Access, Divisors, Strides, is_write};
pub use crossings::Crossing;
pub use traffic::Traffic;

/// Positions of dims in a kernel's space.
pub type DimSet = BTreeSet<usize>;

/// A kernel's space, and what follows from the data flow of its body. Ops are identified by their positions in the body.
#[derive(Debug)]
pub struct Space<'c, 'a> {
    /// The kernel, or a compute, which has not become a kernel yet.
    pub program: OperationRef<'c, 'a>,
    /// The buffers, the first of the block's arguments; for a compute, its tensor inputs and then its results.
    pub buffers: Vec<Value<'c, 'a>>,
    /// The scalars that a launch passes, which come after the buffers among the block's arguments.
    pub scalars: Vec<Value<'c, 'a>>,
    /// The dims, the last of the block's arguments.
    pub dims: Vec<Value<'c, 'a>>,
    /// The extent of each dim, over the kernel's sizes.
    pub extents: Vec<AffineExpr<'c>>,
    /// The level that each dim is mapped to, once the kernel is tiled.
    pub roles: Option<Vec<DimRole>>,
    /// Guards `lhs < rhs`, over the dims and sizes.
    pub guards: Vec<Guard<'c>>,
    /// The sizes, as (buffer, axis).
    pub sizes: Vec<(usize, usize)>,
    /// Upper bounds of sizes that are assumed beside those of the kernel, as (buffer, axis, most).
    assumed: Vec<(usize, usize, i64)>,
    /// The ops of the body, in order.
    pub ops: Vec<OperationRef<'c, 'a>>,
    /// The values of the body at which anything is accessed, in the order of their first use.
    places: Vec<Value<'c, 'a>>,
    facts: HashMap<usize, Facts>,
    definitions: HashMap<usize, usize>,
    /// Properties of each reduction, by position.
    reduced: HashMap<usize, Reduced>,
    /// The results of [`Self::met_by`] by position, computed on first use.
    met: OnceCell<Vec<Rc<Positions>>>,
    /// The result of [`Self::crossings`], computed on first use.
    crossings: OnceCell<BTreeSet<Crossing>>,
    /// Results of [`nests::count`], by the dims that are loops and the limit.
    pub(super) nested: RefCell<HashMap<(DimSet, usize), Result<usize, nests::Refused>>>,
}

/// Properties of a reduction.
#[derive(Debug)]
struct Reduced {
    /// Positions of the reads that contribute to it.
    contributors: Rc<Positions>,
    /// The dims that it removes.
    dims: DimSet,
    /// The first phase in which its result is available.
    phase: usize,
}

/// Properties of a value. Sets are shared, because most values depend on exactly what one of their operands depends on.
#[derive(Clone, Debug, Default)]
struct Facts {
    dims: DimSet,
    phase: usize,
    /// Positions of the reads that it depends on without a reduction or a cache in between.
    leaves: Rc<Positions>,
    /// Positions of all reads that it depends on.
    reads: Rc<Positions>,
    /// Positions of all reductions that it depends on.
    reductions: Rc<Positions>,
    /// Positions of the reductions that it depends on without another reduction in between.
    last_reductions: Rc<Positions>,
}

impl Facts {
    fn join(&mut self, other: &Self) {
        self.dims.extend(&other.dims);
        self.phase = self.phase.max(other.phase);
        join(&mut self.leaves, &other.leaves);
        join(&mut self.reads, &other.reads);
        join(&mut self.reductions, &other.reductions);
        join(&mut self.last_reductions, &other.last_reductions);
    }
}

impl<'c, 'a> Space<'c, 'a> {
    /// Analyses a kernel.
    ///
    /// # Errors
    ///
    /// The kernel is not one that its verifier accepts.
    pub fn of(kernel: KernelOp<'c, 'a>) -> Result<Self, Error> {
        let mut space = Self::read(kernel.op(), kernel.extents()?, &kernel.sizes()?)?;
        space.guards = kernel
            .guards()
            .map(guards::of_map)
            .transpose()?
            .unwrap_or_default();
        space.roles = kernel.roles().map(decode).transpose()?;
        Ok(space)
    }

    /// Analyses a compute.
    ///
    /// # Errors
    ///
    /// The compute is not one that its verifier accepts.
    pub fn of_compute(compute: ComputeOp<'c, 'a>) -> Result<Self, Error> {
        let mut space = Self::read(compute.op(), compute.extents()?, &compute.sizes()?)?;
        space.guards = compute
            .guards()
            .map(guards::of_map)
            .transpose()?
            .unwrap_or_default();
        Ok(space)
    }

    fn read(program: OperationRef<'c, 'a>, extents: AffineMap<'c>, sizes: &[i64]) -> Result<Self, Error> {
        let extents = results(extents)?;
        let block = program
            .region(0)?
            .first_block()
            .ok_or(Error::BlockArgumentExpected("a kernel without a body".to_owned()))?;
        let mut arguments = (0..block.argument_count())
            .map(|index| block.argument(index).map(Value::from))
            .collect::<Result<Vec<_>, _>>()?;
        let dims = arguments.split_off(arguments.len().saturating_sub(extents.len()));
        let is_scalar = |argument: &Value<'c, 'a>| types::shape(argument.r#type()).is_none();
        let buffers = arguments.iter().position(is_scalar).unwrap_or(arguments.len());
        let scalars = arguments.split_off(buffers);
        let mut space = Self {
            program,
            buffers: arguments,
            scalars,
            dims,
            extents,
            roles: None,
            guards: Vec::new(),
            sizes: sizes
                .chunks_exact(2)
                .map(|pair| (pair[0] as usize, pair[1] as usize))
                .collect(),
            assumed: Vec::new(),
            ops: Vec::new(),
            places: Vec::new(),
            facts: HashMap::new(),
            definitions: HashMap::new(),
            reduced: HashMap::new(),
            met: OnceCell::new(),
            crossings: OnceCell::new(),
            nested: RefCell::default(),
        };
        for (position, dim) in space.dims.iter().enumerate() {
            let facts = Facts {
                dims: [position].into(),
                ..Facts::default()
            };
            space.facts.insert(key(*dim), facts);
        }
        for op in walk::in_block(block) {
            space.add(op)?;
        }
        Ok(space)
    }

    /// Forgets the extents of some dims: each is a size of its own, of which nothing is known, as that of a dynamic axis.
    pub fn forget_extents(&mut self, dims: &[usize]) {
        let context = context::of(self.location());
        for (number, dim) in dims.iter().enumerate() {
            self.extents[*dim] = AffineExpr::symbol(context, self.sizes.len());
            // No buffer has this axis.
            self.sizes.push((self.buffers.len(), number));
        }
    }

    /// Assumes that a dynamic size is at most `most`, as in a copy of the kernel that is launched for such sizes alone.
    pub fn assume_at_most(&mut self, buffer: usize, axis: usize, most: i64) {
        self.assumed.push((buffer, axis, most));
    }

    /// Returns the program as a kernel.
    ///
    /// # Errors
    ///
    /// The program is a compute.
    pub fn kernel(&self) -> Result<KernelOp<'c, 'a>, Error> {
        KernelOp::from_op(self.program).ok_or_else(|| Error::OperationExpected {
            expected: KernelOp::NAME,
            actual: self.program.to_string(),
        })
    }

    /// Pairs (output, input) of buffers that may be the same memory.
    pub fn aliases(&self) -> Vec<(usize, usize)> {
        let aliases = self.kernel().ok().and_then(|kernel| kernel.aliases());
        let aliases = aliases.unwrap_or_default();
        let pairs = aliases.chunks_exact(2);
        pairs.map(|pair| (pair[0] as usize, pair[1] as usize)).collect()
    }

    /// Where the program stands in the source.
    pub fn location(&self) -> Location<'c> {
        self.program.location()
    }

    /// Derives the properties of an op's results from its operands.
    fn add(&mut self, op: OperationRef<'c, 'a>) -> Result<(), Error> {
        let position = self.ops.len();
        let mut facts = self.joined(op.operands());
        let indices = match (GatherOp::from_op(op), ScatterOp::from_op(op)) {
            (Some(gather), _) => gather.indices(),
            (_, Some(scatter)) => scatter.indices(),
            _ => Vec::new(),
        };
        for index in indices {
            if self.definitions.contains_key(&key(index)) && !self.places.contains(&index) {
                self.places.push(index);
            }
        }
        let mut whether_read = None;
        if let Some(access) = self.access(op)?.filter(|access| !access.is_write) {
            facts.dims = access.dims();
            facts.dims.extend(
                access
                    .condition
                    .iter()
                    .flat_map(|condition| self.dims_of(*condition)),
            );
            // Whether an element is read does not depend on the element.
            whether_read = Some(facts.clone());
            Rc::make_mut(&mut facts.leaves).insert(position);
            Rc::make_mut(&mut facts.reads).insert(position);
        }
        if let Some(reduce) = ReduceOp::from_op(op) {
            facts = self.joined(reduce.values());
            let dims = self.dims_reduced_by(reduce);
            facts.dims = &facts.dims - &dims;
            facts.dims.extend(self.dim_of_nth(reduce));
            facts.phase += 1;
            facts.leaves = Rc::default();
            Rc::make_mut(&mut facts.reductions).insert(position);
            facts.last_reductions = Rc::new([position].into_iter().collect());
            let reduced = Reduced {
                contributors: facts.reads.clone(),
                dims,
                phase: facts.phase,
            };
            self.reduced.insert(position, reduced);
        }
        if CacheOp::from_op(op).is_some() {
            facts.leaves = Rc::default();
        }
        for index in 0..op.result_count() {
            let result = key(op.result(index)?.into());
            let facts = match (index, &whether_read) {
                (1, Some(of_flag)) => of_flag,
                _ => &facts,
            };
            self.facts.insert(result, facts.clone());
            self.definitions.insert(result, position);
        }
        self.ops.push(op);
        Ok(())
    }

    fn joined(&self, values: impl IntoIterator<Item = Value<'c, 'a>>) -> Facts {
        let mut facts = Facts::default();
        for value in values {
            if let Some(other) = self.facts.get(&key(value)) {
                facts.join(other);
            }
        }
        facts
    }

    /// The position of a value among the dims, if it is one.
    pub fn dim_position(&self, value: Value<'c, 'a>) -> Option<usize> {
        self.dims.iter().position(|dim| *dim == value)
    }

    /// The user's name for a dim, from the source, or `dim <position>` if it has none.
    pub fn dim_name(&self, position: usize) -> String {
        self.dims
            .get(position)
            .and_then(|dim| values::name_in_source(*dim))
            .unwrap_or_else(|| format!("dim {position}"))
    }

    /// The dims that a value varies over.
    pub fn dims_of(&self, value: Value<'c, 'a>) -> DimSet {
        self.facts
            .get(&key(value))
            .map(|facts| facts.dims.clone())
            .unwrap_or_default()
    }

    /// The first phase in which a value is available.
    pub fn phase_of(&self, value: Value<'c, 'a>) -> usize {
        self.facts.get(&key(value)).map_or(0, |facts| facts.phase)
    }

    /// Positions of all reductions that a value depends on.
    pub fn waits_for(&self, value: Value<'c, 'a>) -> Rc<Positions> {
        self.facts
            .get(&key(value))
            .map(|facts| facts.reductions.clone())
            .unwrap_or_default()
    }

    /// Positions of the reductions that a value depends on without another one in between.
    pub fn waits_for_last(&self, value: Value<'c, 'a>) -> Rc<Positions> {
        self.facts
            .get(&key(value))
            .map(|facts| facts.last_reductions.clone())
            .unwrap_or_default()
    }

    /// The first phase in which an op can run: the latest phase of its operands.
    pub fn phase_of_op(&self, op: OperationRef<'c, 'a>) -> usize {
        op.operands()
            .map(|operand| self.phase_of(operand))
            .max()
            .unwrap_or(0)
    }

    /// Every reduction of the body.
    pub fn reductions(&self) -> Vec<ReduceOp<'c, 'a>> {
        self.ops.iter().filter_map(|op| ReduceOp::from_op(*op)).collect()
    }

    /// The dims that a reduction removes.
    pub fn dims_reduced_by(&self, reduce: ReduceOp<'c, 'a>) -> DimSet {
        reduce
            .dims()
            .into_iter()
            .filter_map(|dim| self.dim_position(dim))
            .collect()
    }

    /// The dims that some reduction removes.
    pub fn reduced_dims(&self) -> DimSet {
        let reductions = self.reductions().into_iter();
        reductions
            .flat_map(|reduce| self.dims_reduced_by(reduce))
            .collect()
    }

    /// Whether a reduction removes `dim`.
    pub fn reduces_over(&self, reduce: ReduceOp<'c, 'a>, dim: usize) -> bool {
        self.dims_reduced_by(reduce).contains(&dim)
    }

    /// The positions of the reductions that remove `dim`.
    pub fn reductions_over(&self, dim: usize) -> Vec<usize> {
        let is_over = |position: &usize| {
            ReduceOp::from_op(self.ops[*position]).is_some_and(|reduce| self.reduces_over(reduce, dim))
        };
        (0..self.ops.len()).filter(is_over).collect()
    }

    /// The dim that counts the results of a reduction that has several (`nth`).
    pub fn dim_of_nth(&self, reduce: ReduceOp<'c, 'a>) -> Option<usize> {
        self.dim_position(reduce.nth()?)
    }

    /// The dims that count the results of reductions.
    pub fn dims_of_nth(&self) -> DimSet {
        let reductions = self.reductions().into_iter();
        reductions.filter_map(|reduce| self.dim_of_nth(reduce)).collect()
    }

    /// Every scan of the body.
    pub fn scans(&self) -> Vec<ScanOp<'c, 'a>> {
        self.ops.iter().filter_map(|op| ScanOp::from_op(*op)).collect()
    }

    /// The dims that a scan is along.
    pub fn dims_scanned_by(&self, scan: ScanOp<'c, 'a>) -> DimSet {
        scan.dims()
            .into_iter()
            .filter_map(|dim| self.dim_position(dim))
            .collect()
    }

    /// The position of the op that a value is a result of; `None` for a buffer or a dim.
    pub fn definition(&self, value: Value<'c, 'a>) -> Option<usize> {
        self.definitions.get(&key(value)).copied()
    }

    /// Positions of the reads that a value depends on without a reduction or a cache in between.
    pub fn leaves(&self, value: Value<'c, 'a>) -> Rc<Positions> {
        self.facts
            .get(&key(value))
            .map(|facts| facts.leaves.clone())
            .unwrap_or_default()
    }

    /// Positions of all reads that a value depends on.
    pub fn reads(&self, value: Value<'c, 'a>) -> Rc<Positions> {
        self.facts
            .get(&key(value))
            .map(|facts| facts.reads.clone())
            .unwrap_or_default()
    }

    /// Positions of all reads that contribute to a reduction.
    pub fn contributing_reads(&self) -> Positions {
        let mut reads = Positions::default();
        for reduced in self.reduced.values() {
            reads.join(&reduced.contributors);
        }
        reads
    }
}

fn results<'c>(map: AffineMap<'c>) -> Result<Vec<AffineExpr<'c>>, Error> {
    (0..map.result_count()).map(|index| map.result(index)).collect()
}

fn decode(roles: Vec<i32>) -> Result<Vec<DimRole>, Error> {
    let decode = |role: i32| u32::try_from(role).ok().and_then(DimRole::from_u32);
    roles
        .into_iter()
        .map(|role| decode(role).ok_or_else(|| Error::AttributeExpected("role of a dim", role.to_string())))
        .collect()
}
