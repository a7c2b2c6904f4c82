//! `norm-cache-inputs`: reused inputs stay where the schedule says, and what depends on them is rematerialized.
//!
//! Matches a use, after a reduction, of a value that depends on a read which contributes to that reduction. The read gets a
//! `norm.cache` for each later phase, and the ops between the read and the use are cloned from the cached value, once for each phase,
//! right before the phase's first use. All of them are pure, so the clones equal the originals. That costs their arithmetic again and
//! saves registers: a bf16 row stays 16 bits wide from one phase to the next, or in shared memory.
//!
//! A value that is rounded to as few bits as a read in registers takes the read's place where nothing later needs the read itself: the
//! normalized row that is quantized takes no more registers than the row, none for its weights, and is not computed again.
//!
//! A reduction over a loop of terms that depend on values kept in shared memory accumulates them in the last phase, where these values
//! pass through registers again: a norm's gradient adds up dy * x * rstd where it computes dx.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use melior::{
    Error,
    ir::{Operation, OperationRef, Value, ValueLike, operation::OperationLike},
};
use norma_dialects::{
    norm::{CacheOp, CachePlace, DimRole, KernelOp, ReduceOp},
    op_name,
};

use crate::{
    kernel::{positions::Positions, space::Space},
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

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormCacheInputs>) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op) {
        let location = kernel.op().location();
        let Some(schedule) = kernel.schedule() else {
            let message = "expected a kernel with a schedule, got none";
            return Err(Diagnostic::user(location, message).into());
        };
        let cached = cache_in(&Space::of(kernel)?, &Mapping::of(schedule)?)?;
        cx.count(NormCacheInputsStatistic::NumCached, cached as u64);
    }
    Ok(())
}

/// Caches every reused read that the schedule keeps in registers or in shared memory; returns their number.
fn cache_in(space: &Space<'_, '_>, mapping: &Mapping) -> Result<usize, Error> {
    let mut places = HashMap::new();
    for read in space.reused_reads() {
        let access = space.access(space.ops[read])?;
        match access.map(|access| mapping.place(access.buffer)) {
            Some(place @ (CachePlace::Register | CachePlace::Shared)) => places.insert(read, place),
            _ => None,
        };
    }
    let count = places.len();
    let mut narrow = places.keys().copied().collect::<Positions>();
    narrow.join(&rounded_values(space, &places));
    let mut recomputation = Recomputation {
        space,
        kept: kept(space, narrow),
        places,
        operands: space.ops.iter().map(|op| op.operands().collect()).collect(),
        caches: HashMap::new(),
        clones: HashMap::new(),
        cloned: BTreeSet::new(),
    };
    for position in 0..space.ops.len() {
        recomputation.uses_of(position)?;
    }
    recomputation.erase_dead();
    Ok(count)
}

/// Positions of the roundings to floats of fewer bits whose results stay in place of the reads in registers that they are computed from.
/// Each has as many elements as one of these reads, of no more bits, and later phases need none of the reads but through it.
fn rounded_values(space: &Space<'_, '_>, places: &HashMap<usize, CachePlace>) -> Positions {
    let mut found = Positions::default();
    for (position, op) in space.ops.iter().enumerate() {
        let Some(Ok(value)) = (op_name(*op) == "arith.truncf").then(|| op.result(0)) else {
            continue;
        };
        let value: Value = value.into();
        let leaves = space.leaves(value);
        let reads = leaves
            .iter()
            .filter(|leaf| places.contains_key(leaf))
            .collect::<Vec<_>>();
        let is_in_register = |read: &usize| places.get(read) == Some(&CachePlace::Register);
        let is_as_wide = |read: &usize| {
            let read = space.ops[*read].result(0).map(Value::from);
            read.is_ok_and(|read| {
                space.dims_of(read) == space.dims_of(value)
                    && types::bit_width(value.r#type()) <= types::bit_width(read.r#type())
            })
        };
        if reads.iter().all(is_in_register) && reads.iter().any(is_as_wide) {
            found.insert(position);
            if needs_reads_after(space, &reads, space.phase_of(value), &found) {
                found.remove(position);
            }
        }
    }
    found
}

/// Whether an op of a later phase than `phase` needs one of `reads` other than through the results of `kept`.
fn needs_reads_after(space: &Space<'_, '_>, reads: &[usize], phase: usize, kept: &Positions) -> bool {
    let mut hangs_on_read = vec![false; space.ops.len()];
    for (position, op) in space.ops.iter().enumerate() {
        let of_operands = |operand: Value<'_, '_>| {
            let definition = space.definition(operand);
            definition.is_some_and(|definition| hangs_on_read[definition])
        };
        let is_later = space.phase_of_op(*op) > phase;
        let is_cut = kept.contains(position) || ReduceOp::from_op(*op).is_some();
        let hangs = reads.contains(&position) || op.operands().any(of_operands);
        if is_later && hangs {
            return true;
        }
        hangs_on_read[position] = hangs && !is_cut;
    }
    false
}

/// The longest chain of ops that is computed again for each phase. A value at the end of a longer one, as of a row from which one
/// reduction after another is subtracted, is kept itself: were all of it computed again, kernels would grow with the square of the
/// number of their phases.
const LONGEST_CHAIN: usize = 64;

/// Positions of the ops whose results stay from one phase to the next: those of `narrow`, and one op of each [`LONGEST_CHAIN`].
fn kept(space: &Space<'_, '_>, narrow: Positions) -> Positions {
    let mut kept = narrow;
    let mut lengths = vec![0; space.ops.len()];
    for (position, op) in space.ops.iter().enumerate() {
        let hangs_on_kept = |value: Value<'_, '_>| space.leaves(value).shared(&kept).next().is_some();
        if kept.contains(position) || !op.results().any(|result| hangs_on_kept(result.into())) {
            continue;
        }
        let before = op.operands().filter_map(|operand| space.definition(operand));
        lengths[position] = before.map(|operand| lengths[operand] + 1).max().unwrap_or(0);
        if lengths[position] >= LONGEST_CHAIN {
            lengths[position] = 0;
            kept.insert(position);
        }
    }
    kept
}

/// Clones values from those that are kept, phase by phase.
struct Recomputation<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    /// Each op's original operands, to which the analysis refers.
    operands: Vec<Vec<Value<'c, 'a>>>,
    /// Where each reused read lives, by the read's position. All else that is kept lives in registers.
    places: HashMap<usize, CachePlace>,
    /// Positions of the ops whose results are kept from one phase to the next: reused reads, and what takes long to compute again.
    kept: Positions,
    /// The cache of each kept result, by the op's position, in each phase that asked for it. A phase's cache is made
    /// from that of the phase before: were it the same, clones of two phases would be equal, and merging them would
    /// carry what they compute from one to the other.
    caches: HashMap<usize, BTreeMap<usize, OperationRef<'c, 'a>>>,
    /// By value and phase: the clone that replaces the value in that phase.
    clones: HashMap<(usize, usize), Value<'c, 'a>>,
    /// Positions of the ops that have been cloned.
    cloned: BTreeSet<usize>,
}

impl<'c, 'a> Recomputation<'_, 'c, 'a> {
    /// Replaces the operands of one op that come from an earlier phase by clones.
    fn uses_of(&mut self, position: usize) -> Result<(), Error> {
        let user = self.space.ops[position];
        let late = self.late_phase(position);
        let phase = late.unwrap_or_else(|| self.space.phase_of_op(user));
        let operands = self.operands[position].clone();
        let mut renewed = operands.clone();
        for (operand, renewed) in operands.iter().zip(&mut renewed) {
            if late.is_some() || self.space.carries_reads(position, *operand) {
                *renewed = self.again(*operand, phase, user)?;
            }
        }
        if renewed != operands {
            Builder::before(user).set_operands(user, &renewed);
        }
        Ok(())
    }

    /// The phase to which a reduction over a loop is deferred: the last one that has a cache so far. `None` for an op that is no such
    /// reduction or depends on no read kept in shared memory, and where there is no later phase.
    fn late_phase(&self, position: usize) -> Option<usize> {
        let reduce = ReduceOp::from_op(self.space.ops[position])?;
        let roles = self.space.roles.as_ref()?;
        let reduced = self.space.dims_reduced_by(reduce);
        let is_over_loops = reduced.iter().any(|dim| roles[*dim] == DimRole::Loop);
        let is_shared = |leaf: usize| self.places.get(&leaf) == Some(&CachePlace::Shared);
        let hangs_on_shared = |operand: &Value<'c, 'a>| self.space.leaves(*operand).iter().any(is_shared);
        let last = self
            .caches
            .values()
            .filter_map(|caches| caches.keys().max())
            .max()?;
        let is_late = is_over_loops
            && *last > self.space.phase_of_op(reduce.op())
            && self.operands[position].iter().any(hangs_on_shared);
        is_late.then_some(*last)
    }

    /// The value that replaces `value` in `phase`. Missing clones are built before `user`.
    fn again(
        &mut self,
        value: Value<'c, 'a>,
        phase: usize,
        user: OperationRef<'c, 'a>,
    ) -> Result<Value<'c, 'a>, Error> {
        let mut needed = Positions::default();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if let Some(position) = self.comes_again(value, phase)
                && !needed.contains(position)
                && !self.clones.contains_key(&(key(value), phase))
            {
                needed.insert(position);
                if !self.kept.contains(position) {
                    open.extend(&self.operands[position]);
                }
            }
        }
        for position in needed.iter() {
            if self.kept.contains(position) {
                let cache = self.cache(position, phase, user)?;
                let original = key(self.space.ops[position].result(0)?.into());
                self.clones.insert((original, phase), cache);
            } else {
                self.clone_before(user, position, phase)?;
            }
        }
        Ok(self.in_phase(value, phase))
    }

    /// The position of the op that defines `value`, if that has to be computed again in `phase`: it is available in an earlier phase, and
    /// depends on a value that is kept.
    fn comes_again(&self, value: Value<'c, 'a>, phase: usize) -> Option<usize> {
        let position = self.space.definition(value)?;
        let is_carried = self.space.phase_of(value) < phase
            && self.space.leaves(value).shared(&self.kept).next().is_some();
        is_carried.then_some(position)
    }

    /// The clone of `value` in `phase`, or `value` itself where there is none.
    fn in_phase(&self, value: Value<'c, 'a>, phase: usize) -> Value<'c, 'a> {
        self.clones.get(&(key(value), phase)).copied().unwrap_or(value)
    }

    /// Clones the op at `position` for a phase. Its operands have been cloned.
    fn clone_before(
        &mut self,
        user: OperationRef<'c, 'a>,
        position: usize,
        phase: usize,
    ) -> Result<(), Error> {
        let original = self.space.ops[position];
        let operands = self.operands[position].iter();
        let operands = operands
            .map(|operand| self.in_phase(*operand, phase))
            .collect::<Vec<_>>();
        let builder = Builder::before(user);
        let clone = builder.insert(Operation::clone(&original));
        builder.set_operands(clone, &operands);
        self.cloned.insert(position);
        for index in 0..original.result_count() {
            let result = key(original.result(index)?.into());
            self.clones.insert((result, phase), clone.result(index)?.into());
        }
        Ok(())
    }

    /// The cached result of the op at `position` in `phase`, whose first use is `user`. A value in registers is kept from
    /// where it was computed on, one in shared memory is loaded where it is used.
    fn cache(
        &mut self,
        position: usize,
        phase: usize,
        user: OperationRef<'c, 'a>,
    ) -> Result<Value<'c, 'a>, Error> {
        let original = self.space.ops[position];
        let place = self
            .places
            .get(&position)
            .copied()
            .unwrap_or(CachePlace::Register);
        let caches = self.caches.entry(position).or_default();
        let cache = match caches.get(&phase) {
            Some(cache) => *cache,
            None => {
                let source = caches
                    .range(..phase)
                    .next_back()
                    .map_or(original, |(_, cache)| *cache);
                let cache = CacheOp::build(original.location(), source.result(0)?.into(), place)?;
                let builder = match place {
                    CachePlace::Shared => Builder::before(user),
                    _ => Builder::after(source),
                };
                let cache = builder.insert(cache);
                caches.insert(phase, cache);
                cache
            }
        };
        Ok(cache.result(0)?.into())
    }

    /// Erases originals all of whose uses were replaced by clones.
    fn erase_dead(self) {
        let cloned = self.cloned.into_iter();
        Builder::before(self.space.program).erase_unused(cloned.map(|position| self.space.ops[position]));
    }
}
