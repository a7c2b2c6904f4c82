//! `norm-merge-reductions`: a reduction that depends on another is computed together with it, so that one loop, or one round of
//! synchronization between warps or CTAs, serves both. Online softmax and Chan's update of variances are special cases.
//!
//! Matches, in a tiled kernel whose schedule has `merge_reductions`, a group of [`crate::kernel::homomorphism`] whose first reduction
//! ranges over a dim of one of the levels that the parameter names. Within the innermost of these levels the two reductions stay
//! apart, but the second one takes as its reference what the first one gives for these elements alone, such as their maximum or their
//! mean. At the named levels partial results of both are combined as tuples, by the rule that the group's dependence declares
//! ([`Combination::AsTuples`]). At the other levels, between and outside of the named ones, only one value for each thread or CTA is left
//! to be reduced, and one reduction follows the other: each partial result is first changed to the common reference
//! ([`Combination::OneByOne`]). The module [`crate::kernel::homomorphism`] says why the results are equal up to rounding.
//!
//! Merging costs arithmetic for each partial result, and saves a second pass over memory, or a second round of synchronization. Tuples
//! take a combination for each step of a reduction within a warp, and for each warp in every thread, so that they pay where rounds are
//! long: in loops, where a second pass would read memory again, and between the CTAs of a cluster, whose exchange takes microseconds.

mod count;
mod exponential;
mod squares;

use std::collections::{BTreeSet, HashMap};

use melior::{
    Error,
    ir::{Operation, Type, Value, ValueLike, operation::OperationLike},
};
use mlir_sys::mlirOperationMoveBefore;
use norma_dialects::norm::{DimRole, KernelOp, Level, ReduceKind, ReduceOp};

use crate::{
    kernel::{
        homomorphism::{self, Follower, Group},
        signature::drop_dead,
        space::Space,
    },
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        values::key,
        walk,
    },
    schedule::mapping::Mapping,
    table::{NormMergeReductions, NormMergeReductionsStatistic},
};

pub(crate) fn run<'c>(
    op: melior::ir::OperationRef<'c, '_>,
    cx: &PassContext<'c, NormMergeReductions>,
) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op) {
        let Some(schedule) = kernel.schedule() else {
            continue;
        };
        let mapping = Mapping::of(schedule)?;
        if mapping.merge_reductions.is_empty() {
            continue;
        }
        if kernel.roles().is_none() {
            let message = "expected a kernel with roles, as norm-tile leaves it";
            return Err(Diagnostic::user(kernel.op().location(), message).into());
        }
        let merged = merge_groups(
            || Space::of(kernel),
            |space, lead| by_level(&mapping, space, lead),
        )?;
        cx.count(NormMergeReductionsStatistic::NumMerged, merged as u64);
        drop_dead(kernel)?;
    }
    Ok(())
}

/// How the dims that a group reduces are combined, from the innermost level to the outermost.
pub(super) struct Partition<'c, 'a> {
    /// The dims that both reductions range over as before, with a reference taken from these elements alone.
    pub(super) within: Vec<Value<'c, 'a>>,
    /// How the partial results of that are combined, one step after the other.
    pub(super) combinations: Vec<Combination<'c, 'a>>,
}

/// How partial results of a group are combined over some dims.
pub(super) enum Combination<'c, 'a> {
    /// By one reduction of tuples.
    AsTuples(Vec<Value<'c, 'a>>),
    /// By one reduction after the other: each partial result is changed to the common reference before it is reduced.
    OneByOne(Vec<Value<'c, 'a>>),
}

impl<'c, 'a> Combination<'c, 'a> {
    fn dims(&self) -> &[Value<'c, 'a>] {
        match self {
            Self::AsTuples(dims) | Self::OneByOne(dims) => dims,
        }
    }
}

impl<'c, 'a> Partition<'c, 'a> {
    /// The partition of `levels`, from the innermost to the outermost: the dims of each, and whether partial results are combined as
    /// tuples there. `None` if they are nowhere.
    fn of(levels: Vec<(Vec<Value<'c, 'a>>, bool)>) -> Option<Self> {
        let mut partition = Self {
            within: Vec::new(),
            combinations: Vec::new(),
        };
        for (dims, is_together) in levels.into_iter().filter(|(dims, _)| !dims.is_empty()) {
            match (partition.combinations.last_mut(), is_together) {
                (None, false) => partition.within.extend(dims),
                (Some(Combination::AsTuples(last)), true) | (Some(Combination::OneByOne(last)), false) => {
                    last.extend(dims)
                }
                (_, true) => partition.combinations.push(Combination::AsTuples(dims)),
                (_, false) => partition.combinations.push(Combination::OneByOne(dims)),
            }
        }
        (!partition.combinations.is_empty()).then_some(partition)
    }
}

/// Merges the groups of a program for whose first reduction there is a partition, and returns how many reductions no longer wait for
/// another. The merged ops are left without uses. `read` analyses the program in its current state, once for each group.
pub(super) fn merge_groups<'c: 'a, 'a>(
    read: impl Fn() -> Result<Space<'c, 'a>, Error>,
    partition: impl Fn(&Space<'c, 'a>, ReduceOp<'c, 'a>) -> Option<Partition<'c, 'a>>,
) -> Result<usize, PassError<'c>> {
    let mut merged = 0;
    // A merged group is no longer found, so that each round has one group fewer.
    loop {
        let space = read()?;
        let found = homomorphism::groups(&space).into_iter().find_map(|group| {
            let partition = partition(&space, ReduceOp::from_op(space.ops[group.lead])?)?;
            Some((group, partition))
        });
        let Some((group, partition)) = found else {
            return Ok(merged);
        };
        merged += group.followers.len();
        Merge::of(&space, group, partition)?.apply()?;
    }
}

fn role(space: &Space<'_, '_>, dim: usize) -> Option<DimRole> {
    space.roles.as_ref()?.get(dim).copied()
}

/// The partition of a reduction's dims by level: the registers of a thread, the steps of loops, the threads of a CTA, and the CTAs of
/// a cluster. `None` for a reduction that ranges over none of the levels at which the mapping merges reductions.
fn by_level<'c, 'a>(
    mapping: &Mapping,
    space: &Space<'c, 'a>,
    lead: ReduceOp<'c, 'a>,
) -> Option<Partition<'c, 'a>> {
    let of = |wanted: DimRole| {
        let is_of =
            |dim: &Value<'c, 'a>| space.dim_position(*dim).and_then(|dim| role(space, dim)) == Some(wanted);
        lead.dims().into_iter().filter(is_of).collect::<Vec<_>>()
    };
    // Lanes and warps are one dim where their factors are neighbours; a schedule merges at both of these levels or at neither.
    Partition::of(vec![
        (of(DimRole::Register), false),
        (of(DimRole::Loop), mapping.merges_at(Level::Loop)),
        (of(DimRole::Thread), mapping.merges_at(Level::Lane)),
        (of(DimRole::Cluster), mapping.merges_at(Level::Cluster)),
    ])
}

/// A group to be merged.
struct Merge<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    group: Group<'c, 'a>,
    lead: ReduceOp<'c, 'a>,
    kind: ReduceKind,
    /// The value that the first reduction reduces.
    source: Value<'c, 'a>,
    dims: Partition<'c, 'a>,
}

impl<'s, 'c: 'a, 'a> Merge<'s, 'c, 'a> {
    fn of(
        space: &'s Space<'c, 'a>,
        group: Group<'c, 'a>,
        dims: Partition<'c, 'a>,
    ) -> Result<Self, PassError<'c>> {
        let op = space.ops[group.lead];
        let broken = || Diagnostic::internal(op.location(), "expected a reduction by a named combiner");
        let lead = ReduceOp::from_op(op).ok_or_else(broken)?;
        let kind = lead.kind().ok_or_else(broken)?;
        let source = *lead.values().first().ok_or_else(broken)?;
        Ok(Self {
            space,
            group,
            lead,
            kind,
            source,
            dims,
        })
    }

    fn apply(&self) -> PassResult<'c> {
        self.hoist();
        match self.kind {
            ReduceKind::Add => squares::merge(self),
            _ => exponential::merge(self),
        }
    }

    fn waits(&self, value: Value<'c, 'a>) -> bool {
        self.space.waits_for(value).contains(self.group.lead)
    }

    /// Moves the ops that the followers' terms need and that do not depend on the first reduction before that reduction.
    fn hoist(&self) {
        let mut open = self
            .group
            .followers
            .iter()
            .map(|follower| follower.position)
            .collect::<Vec<_>>();
        let mut seen = BTreeSet::new();
        let mut needed = BTreeSet::new();
        while let Some(position) = open.pop() {
            if position <= self.group.lead || !seen.insert(position) {
                continue;
            }
            let op = self.space.ops[position];
            if op.results().all(|result| !self.waits(result.into())) {
                needed.insert(position);
            }
            open.extend(op.operands().filter_map(|operand| self.space.definition(operand)));
        }
        for position in needed {
            // SAFETY: both ops are alive and stand in one block; what the moved op needs has been moved before it.
            unsafe {
                mlirOperationMoveBefore(self.space.ops[position].to_raw(), self.lead.op().to_raw());
            }
        }
    }

    /// A builder that inserts before the first reduction, for the ops that replace it.
    fn builder(&self) -> Builder<'c, 'a> {
        Builder::before(self.lead.op())
    }

    /// Builds the term of a follower with another value in the place of its reference.
    fn term_with(
        &self,
        b: &Builder<'c, 'a>,
        follower: &Follower<'c, 'a>,
        reference: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, Error> {
        let mut copies = HashMap::from([(key(follower.reference), reference)]);
        let term = self.space.ops[follower.position].operand(0)?;
        self.copy(b, term, &mut copies)
    }

    fn copy(
        &self,
        b: &Builder<'c, 'a>,
        value: Value<'c, 'a>,
        copies: &mut HashMap<usize, Value<'c, 'a>>,
    ) -> Result<Value<'c, 'a>, Error> {
        if let Some(copy) = copies.get(&key(value)) {
            return Ok(*copy);
        }
        let Some(position) = self.space.definition(value).filter(|_| self.waits(value)) else {
            return Ok(value);
        };
        let original = self.space.ops[position];
        let operands = original
            .operands()
            .map(|operand| self.copy(b, operand, copies))
            .collect::<Result<Vec<_>, _>>()?;
        let copy = b.insert(Operation::clone(&original));
        b.set_operands(copy, &operands);
        let copy = Value::from(copy.result(0)?);
        copies.insert(key(value), copy);
        Ok(copy)
    }

    /// A follower's reference, given that `result` replaces the first reduction's.
    fn reference_now(&self, follower: &Follower<'c, 'a>, result: Value<'c, 'a>) -> Value<'c, 'a> {
        match self.space.definition(follower.reference) == Some(self.group.lead) {
            true => result,
            false => follower.reference,
        }
    }

    /// Replaces the first reduction's result by `result`. The reduction stays, without uses, until dead ops are erased.
    fn replace_lead(&self, b: &Builder<'c, 'a>, result: Value<'c, 'a>) -> Result<(), Error> {
        b.replace_all_uses(self.lead.op().result(0)?.into(), result);
        Ok(())
    }
}

/// Extends a float to a type that is no narrower.
fn widened<'c: 'a, 'a>(b: &Builder<'c, 'a>, value: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
    if value.r#type() == ty {
        return value;
    }
    b.value("arith.extf", &[value], ty)
}
