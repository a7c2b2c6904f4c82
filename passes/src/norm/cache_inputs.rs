//! `norm-cache-inputs`: reused inputs live where the schedule says, and what hangs on them is computed again, or kept.
//!
//! Matches a use, behind a reduction, of a value that comes from a read which contributes to that reduction. What lives on is
//! what takes the fewest registers: the reads, or values computed from them for a reduction ([`cut`]). A bf16 row stays 16 bits
//! wide from one phase to the next, and the conversion is done again; the f32 product of a bf16 row and a bf16 weight takes the
//! registers of the two, and is kept. So is what a special function computes, an exponential, as long as a thread has the registers to
//! spare. A read that lives on gets a `norm.cache` for each later phase, and the ops between what lives on and
//! the use are cloned, once for each phase, right before the phase's first use. All of them are pure, so the clones equal the
//! originals.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use melior::{
    Error,
    ir::{Operation, OperationRef, Value, ValueLike, operation::OperationLike},
};
use norma_bundle::{ScalarOp, scalar_op::Accuracy};
use norma_dialects::{
    norm::{CacheOp, CachePlace, DimRole, KernelOp, ReduceOp},
    op_name,
};

use crate::{
    kernel::space::{DimSet, Space},
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassResult},
        types,
        values::key,
        walk,
    },
    schedule::mapping::Mapping,
    table::{NormCacheInputs, NormCacheInputsStatistic},
};
use cut::{Graph, Node};

mod cut;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormCacheInputs>) -> PassResult<'c> {
    for kernel in walk::named(op, KernelOp::NAME)
        .into_iter()
        .filter_map(KernelOp::from_op)
    {
        let location = kernel.op().location();
        let Some(schedule) = kernel.schedule() else {
            let message = "expected a kernel with a schedule, got none";
            return Err(Diagnostic::user(location, message).into());
        };
        let (cached, kept) = cache_in(&Space::of(kernel)?, &Mapping::of(schedule))?;
        cx.count(NormCacheInputsStatistic::NumCached, cached as u64);
        cx.count(NormCacheInputsStatistic::NumKept, kept as u64);
    }
    Ok(())
}

/// Caches every reused read that the schedule keeps in registers; gives their number, and that of the values kept in their place.
fn cache_in(space: &Space<'_, '_>, mapping: &Mapping) -> Result<(usize, usize), Error> {
    let mut reused = BTreeSet::new();
    for read in space.reused_reads() {
        let buffer = space.access(space.ops[read])?.map(|access| access.buffer);
        if buffer.is_some_and(|buffer| mapping.place(buffer) == CachePlace::Register) {
            reused.insert(read);
        }
    }
    let kept = Keeping::of(space, &reused)?.kept();
    let count = kept.values().map(BTreeSet::len).sum();
    let mut recomputation = Recomputation {
        space,
        kept,
        place: CachePlace::Register,
        operands: space.ops.iter().map(|op| op.operands().collect()).collect(),
        caches: reused.iter().map(|read| (*read, BTreeMap::new())).collect(),
        clones: HashMap::new(),
        cloned: BTreeSet::new(),
    };
    for position in 0..space.ops.len() {
        recomputation.uses_of(position)?;
    }
    recomputation.erase_dead();
    Ok((reused.len(), count))
}

/// What a thread may keep without fewer threads fitting an SM: of 2048 threads each has 32 registers, of which kernels of this kind
/// take 24.
const SPARE_BYTES: u64 = 32;

/// Decides what lives on from one phase to the next.
struct Keeping<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    reused: &'s BTreeSet<usize>,
    /// Positions of the reused reads that the schedule keeps elsewhere.
    elsewhere: BTreeSet<usize>,
    /// By position of an op, the phases of the reductions that it contributes to.
    contributes: Vec<BTreeSet<usize>>,
    /// By position of an op, whether it computes on what is cached already.
    is_of_cache: Vec<bool>,
    /// Dims that a CTA walks in loops.
    loops: DimSet,
    /// By dim, how many points of it a thread holds in registers of their own.
    held: Vec<u64>,
}

impl<'s, 'c, 'a> Keeping<'s, 'c, 'a> {
    fn of(space: &'s Space<'c, 'a>, reused: &'s BTreeSet<usize>) -> Result<Self, Error> {
        let role = |dim: usize| space.roles.as_ref().and_then(|roles| roles.get(dim).copied());
        let held = |dim: usize| {
            let extent = space.extents[dim];
            match role(dim) == Some(DimRole::Register) && extent.is_constant() {
                true => u64::try_from(extent.constant_value()).unwrap_or(1).max(1),
                false => 1,
            }
        };
        let count = space.dims.len();
        let mut is_of_cache = vec![false; space.ops.len()];
        for (position, op) in space.ops.iter().enumerate() {
            let mut operands = op.operands().filter_map(|operand| space.definition(operand));
            is_of_cache[position] = CacheOp::from_op(*op).is_some()
                || ReduceOp::from_op(*op).is_none() && operands.any(|operand| is_of_cache[operand]);
        }
        let mut contributes = vec![BTreeSet::new(); space.ops.len()];
        for position in (0..space.ops.len()).rev() {
            let op = space.ops[position];
            let mut phases = contributes[position].clone();
            if ReduceOp::from_op(op).is_some() {
                phases = [space.phase_of_op(op)].into();
            }
            for operand in op.operands().filter_map(|operand| space.definition(operand)) {
                contributes[operand].extend(&phases);
            }
        }
        Ok(Self {
            space,
            reused,
            elsewhere: &space.reused_reads() - reused,
            contributes,
            is_of_cache,
            loops: (0..count)
                .filter(|dim| role(*dim) == Some(DimRole::Loop))
                .collect(),
            held: (0..count).map(held).collect(),
        })
    }

    /// For each phase the positions of the ops, other than cached reads, whose results it finds kept. The last phase is asked first:
    /// what it needs lives through the others.
    fn kept(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let phases = self.space.ops.iter().map(|op| self.space.phase_of_op(*op));
        let last = phases.max().unwrap_or(0);
        let mut living = BTreeSet::new();
        let mut kept = BTreeMap::new();
        for phase in (1..=last).rev() {
            let cut = self.cut(phase, &living);
            living.extend(&cut);
            kept.insert(phase, cut.difference(self.reused).copied().collect());
        }
        kept
    }

    /// Positions of the ops whose results live on into `phase`, where those of `living` do in any case.
    fn cut(&self, phase: usize, living: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut graph = Graph::default();
        let mut nodes = BTreeMap::new();
        for op in &self.space.ops {
            if self.space.phase_of_op(*op) != phase {
                continue;
            }
            for operand in op.operands() {
                if self.space.reads_carried(*op, operand).is_empty() {
                    continue;
                }
                if let Some(node) = self.add(operand, phase, living, &mut graph, &mut nodes) {
                    graph.add_sink(node);
                }
            }
        }
        let is_cut = graph.cheapest_cut();
        nodes
            .into_iter()
            .filter(|(_, node)| is_cut[*node])
            .map(|(position, _)| position)
            .collect()
    }

    /// The node of a value that comes of cached reads, with those of its operands, as far as they would be computed again in
    /// `phase`; `None` for one that costs nothing there.
    fn add(
        &self,
        value: Value<'c, 'a>,
        phase: usize,
        living: &BTreeSet<usize>,
        graph: &mut Graph,
        nodes: &mut BTreeMap<usize, Node>,
    ) -> Option<Node> {
        let position = self.space.definition(value)?;
        let is_cached = |leaf: &usize| self.reused.contains(leaf);
        let is_again = self.space.leaves(value).iter().any(is_cached);
        if self.space.phase_of(value) >= phase || !is_again && !self.is_of_cache[position] {
            return None;
        }
        if let Some(node) = nodes.get(&position) {
            return Some(*node);
        }
        let is_read = self.reused.contains(&position);
        let leaves = self.space.leaves(value);
        let is_computed_before = leaves.is_disjoint(&self.elsewhere)
            && self.contributes[position]
                .iter()
                .any(|reduction| *reduction < phase);
        let cost = self.cost(value);
        let has_room = self.loops.is_empty() && cost <= SPARE_BYTES;
        let is_kept = has_room && is_computed_before && self.is_dear(value, phase);
        let node = graph.add(match living.contains(&position) || is_kept {
            true => Some(0),
            false => (is_read || is_computed_before || !is_again).then_some(cost),
        });
        nodes.insert(position, node);
        if is_read || !is_again {
            graph.add_source(node);
        } else {
            for operand in self.space.ops[position].operands() {
                if let Some(operand) = self.add(operand, phase, living, graph, nodes) {
                    graph.add_use(operand, node);
                }
            }
        }
        Some(node)
    }

    /// Whether a value that would be computed again in `phase` takes an op for it that is more than one instruction: one that the
    /// table of scalar ops does not hold to be rounded once.
    fn is_dear(&self, value: Value<'c, 'a>, phase: usize) -> bool {
        let Some(position) = self.space.definition(value) else {
            return false;
        };
        let is_cached = |leaf: &usize| self.reused.contains(leaf);
        if is_cached(&position)
            || self.space.phase_of(value) >= phase
            || !self.space.leaves(value).iter().any(is_cached)
        {
            return false;
        }
        let op = self.space.ops[position];
        let is_approximate = ScalarOp::from_name(op_name(op))
            .is_some_and(|op| !matches!(op.row().accuracy, Accuracy::Rounded));
        is_approximate || op.operands().any(|operand| self.is_dear(operand, phase))
    }

    /// Bytes of a thread that keeps a value. What varies over fewer loops than what it is kept beside lives in any case.
    fn cost(&self, value: Value<'c, 'a>) -> u64 {
        let dims = self.space.dims_of(value);
        if !self.loops.is_subset(&dims) {
            return 0;
        }
        let bytes = types::element_bytes(value.r#type()).unwrap_or(8).unsigned_abs();
        bytes * dims.iter().map(|dim| self.held[*dim]).product::<u64>()
    }
}

/// Clones values from the cached reads, phase by phase.
struct Recomputation<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    /// For each phase the positions of the ops whose results it finds kept.
    kept: BTreeMap<usize, BTreeSet<usize>>,
    /// Each op's operands as they were, which is what the analysis speaks of.
    operands: Vec<Vec<Value<'c, 'a>>>,
    place: CachePlace,
    /// The cache of each reused read, by the read's position, in each phase that asked for it. A phase's cache is made
    /// from that of the phase before: were it the same, clones of two phases would be equal, and merging them would
    /// carry what they compute from one to the other.
    caches: HashMap<usize, BTreeMap<usize, OperationRef<'c, 'a>>>,
    /// What stands for a value in a phase.
    clones: HashMap<(usize, usize), Value<'c, 'a>>,
    /// Positions of the ops that have been cloned.
    cloned: BTreeSet<usize>,
}

impl<'c, 'a> Recomputation<'_, 'c, 'a> {
    /// Puts clones in the place of the operands of one op that cross into its phase.
    fn uses_of(&mut self, position: usize) -> Result<(), Error> {
        let user = self.space.ops[position];
        let phase = self.space.phase_of_op(user);
        let operands = self.operands[position].clone();
        let mut renewed = operands.clone();
        for (operand, renewed) in operands.iter().zip(&mut renewed) {
            if !self.space.reads_carried(user, *operand).is_empty() {
                *renewed = self.again(*operand, phase, user)?;
            }
        }
        if renewed != operands {
            Builder::before(user).set_operands(user, &renewed);
        }
        Ok(())
    }

    /// What stands for `value` in `phase`, built before `user` if it is not there yet.
    fn again(
        &mut self,
        value: Value<'c, 'a>,
        phase: usize,
        user: OperationRef<'c, 'a>,
    ) -> Result<Value<'c, 'a>, Error> {
        let is_cached = |leaf: &usize| self.caches.contains_key(leaf);
        let Some(position) = self.space.definition(value) else {
            return Ok(value);
        };
        let is_kept = self.kept.get(&phase).is_some_and(|kept| kept.contains(&position));
        if is_kept || self.space.phase_of(value) >= phase || !self.space.leaves(value).iter().any(is_cached) {
            return Ok(value);
        }
        if self.caches.contains_key(&position) {
            return self.cache(position, phase);
        }
        if let Some(clone) = self.clones.get(&(key(value), phase)) {
            return Ok(*clone);
        }
        let operands = self.operands[position]
            .clone()
            .into_iter()
            .map(|operand| self.again(operand, phase, user))
            .collect::<Result<Vec<_>, _>>()?;
        let original = self.space.ops[position];
        let builder = Builder::before(user);
        let clone = builder.insert(Operation::clone(&original));
        builder.set_operands(clone, &operands);
        self.cloned.insert(position);
        for index in 0..original.result_count() {
            let result = key(original.result(index)?.into());
            self.clones.insert((result, phase), clone.result(index)?.into());
        }
        Ok(self.clones.get(&(key(value), phase)).copied().unwrap_or(value))
    }

    /// The cached value of the read at `position` in `phase`.
    fn cache(&mut self, position: usize, phase: usize) -> Result<Value<'c, 'a>, Error> {
        let read = self.space.ops[position];
        let caches = self.caches.entry(position).or_default();
        let cache = match caches.get(&phase) {
            Some(cache) => *cache,
            None => {
                let source = caches
                    .range(..phase)
                    .next_back()
                    .map_or(read, |(_, cache)| *cache);
                let cache = CacheOp::build(read.location(), source.result(0)?.into(), self.place)?;
                let cache = Builder::after(source).insert(cache);
                caches.insert(phase, cache);
                cache
            }
        };
        Ok(cache.result(0)?.into())
    }

    /// Erases originals that only had uses behind a reduction.
    fn erase_dead(self) {
        for position in self.cloned.into_iter().rev() {
            let original = self.space.ops[position];
            let is_used = |value: Value<'_, '_>| {
                // SAFETY: the value is alive; a null use means that there is none.
                unsafe { !mlir_sys::mlirValueGetFirstUse(value.to_raw()).ptr.is_null() }
            };
            if !original.results().any(|result| is_used(result.into())) {
                Builder::before(original).erase(original);
            }
        }
    }
}
