//! Results of a dim's reductions that are needed at the dim's points again: the writes that need them become a kernel of their
//! own.
//!
//! A row that is scaled by the result of its reduction can be written only once that result is known, and the CTAs that share the row
//! know it only when all of them have ended. So the writes at the dim's points, and what they depend on, move to a kernel of their
//! own. The original kernel keeps the reductions, and writes their results, one value for each point of the other dims, to scratch.
//! A write over memory that the new kernel reads moves with it: the original kernel would overwrite what is still needed.

use std::collections::BTreeSet;

use melior::ir::{Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::KernelOp;

use super::{Made, add_launches, divide_writes, respread, scratch::Scratch};
use crate::{
    kernel::{
        positions::Positions,
        signature::{drop_dead, drop_unused},
        space::{Access, Space, is_write},
    },
    mlir::{builder::Builder, pass::PassError, types},
    norm::kernel_copy::copy_kernel,
    schedule::mapping::Mapping,
};

/// Which of the writes that vary over a dim are taken out, if one depends on reductions over it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::norm) enum Writes {
    /// Those that depend on reductions over the dim.
    Waiting,
    /// All of them.
    All,
}

/// If some write that varies over `dim` depends on a reduction over it, moves the writes that `taken` selects to a new kernel, together
/// with the writes over memory that this kernel reads. Returns the new kernel; `None` if no write depends on such a reduction. Values that
/// it needs are passed in scratch, with an element for each point of the dims that the value varies over and of the dims `also`.
pub(in crate::norm) fn take_out<'c: 'a, 'a>(
    kernel: KernelOp<'c, 'a>,
    dim: usize,
    taken: Writes,
    also: &[usize],
    made: &mut Made<'c, 'a>,
) -> Result<Option<KernelOp<'c, 'a>>, PassError<'c>> {
    let space = Space::of(kernel)?;
    let coming_back = ComingBack {
        space: &space,
        dim,
        reductions: space.reductions_over(dim).into_iter().collect(),
    };
    let writes = coming_back.writes(taken);
    if writes.is_empty() {
        return Ok(None);
    }
    let (writes, slice) = coming_back.with_overwriting(writes)?;
    divide_writes(&space, |position| writes.contains(&position))?;
    let results = slice.stored;
    let mut scratch = Vec::new();
    for (position, result) in &results {
        let value = Value::from(space.ops[*position].result(*result)?);
        let varies = space.dims_of(value).into_iter();
        let dims = varies.chain(also.iter().copied()).collect::<BTreeSet<_>>();
        scratch.push(Scratch::of(&space, value, dims.into_iter().collect()));
    }

    let name = made.names.like(&format!("{}_apply", kernel.sym_name()?));
    let beside = Builder::after(kernel.op());
    let copy = copy_kernel(&beside, kernel, &name)?;
    beside.remove_attribute(copy.op(), "schedule");
    let of_copy = Space::of(copy)?;
    for ((position, result), scratch) in results.iter().zip(&scratch) {
        let op = of_copy.ops[*position];
        let value = scratch.read(copy, op)?;
        beside.replace_all_uses(op.result(*result)?.into(), value);
    }
    let is_other = |position: &usize| is_write(of_copy.ops[*position]) && !writes.contains(position);
    for position in (0..of_copy.ops.len()).filter(is_other) {
        beside.erase(of_copy.ops[position]);
    }
    drop_dead(copy)?;
    let kept_by_copy = drop_unused(copy)?;

    for ((position, result), scratch) in results.iter().zip(&scratch) {
        scratch.write(kernel, space.ops[*position].result(*result)?.into())?;
    }
    for position in writes.into_iter().rev() {
        beside.erase(space.ops[position]);
    }
    drop_dead(kernel)?;
    let kept = match kernel.schedule() {
        Some(schedule) => respread(kernel, Mapping::of(schedule)?)?,
        None => drop_unused(kernel)?,
    };
    let kernels = [(kernel.sym_name()?.to_owned(), kept), (name, kept_by_copy)];
    add_launches(made, kernel, space.buffers.len(), &scratch, &kernels)?;
    Ok(Some(copy))
}

/// What the writes that are taken out depend on.
struct Slice {
    /// The values that go through scratch: those that are the same along the whole dim, if memory can hold their type. Each is the
    /// position of an op and that of its result.
    stored: BTreeSet<(usize, usize)>,
    /// The positions of the ops that are computed again.
    computed: Positions,
}

/// What comes back to a dim: results of reductions over it that are needed at its points.
struct ComingBack<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    dim: usize,
    /// The positions of the reductions over the dim.
    reductions: Positions,
}

impl<'c, 'a> ComingBack<'_, 'c, 'a> {
    fn waits(&self, value: Value<'c, 'a>) -> bool {
        let reductions = self.space.waits_for(value);
        reductions.shared(&self.reductions).next().is_some()
    }

    /// The positions of the writes to take out; none if none of those that vary over the dim depends on a reduction over it.
    fn writes(&self, taken: Writes) -> BTreeSet<usize> {
        let space = self.space;
        let is_at_points = |position: &usize| {
            let mut operands = space.ops[*position].operands();
            let varies = |operand| space.dims_of(operand).contains(&self.dim);
            is_write(space.ops[*position]) && operands.any(varies)
        };
        let at_points = (0..space.ops.len()).filter(is_at_points);
        let comes_back = |position: &usize| {
            let mut operands = space.ops[*position].operands();
            operands.any(|operand| self.waits(operand))
        };
        let (mut writes, others) = at_points.partition::<BTreeSet<_>, _>(comes_back);
        if taken == Writes::All && !writes.is_empty() {
            writes.extend(others);
        }
        writes
    }

    /// Adds to the writes that are taken out those over memory that they read, and over what those read in turn. Returns them, and what
    /// they depend on.
    fn with_overwriting(
        &self,
        mut writes: BTreeSet<usize>,
    ) -> Result<(BTreeSet<usize>, Slice), PassError<'c>> {
        let space = self.space;
        let aliases = space.aliases();
        loop {
            let slice = self.slice_of(&writes);
            let mut read = BTreeSet::new();
            for position in slice.computed.iter() {
                read.extend(space.access(space.ops[position])?.map(|access| access.buffer));
            }
            let overwrites = |access: &Access<'c, 'a>| {
                let mut aliases = aliases.iter();
                access.is_write
                    && aliases.any(|(output, input)| *output == access.buffer && read.contains(input))
            };
            let before = writes.len();
            for (position, op) in space.ops.iter().enumerate() {
                writes.extend(space.access(*op)?.filter(overwrites).map(|_| position));
            }
            if writes.len() == before {
                return Ok((writes, slice));
            }
        }
    }

    /// What writes depend on.
    fn slice_of(&self, writes: &BTreeSet<usize>) -> Slice {
        let space = self.space;
        let is_stored = |value: Value<'c, 'a>| {
            self.waits(value)
                && !space.dims_of(value).contains(&self.dim)
                && types::bit_width(value.r#type()).is_some_and(|bits| bits >= 8)
        };
        let mut stored = BTreeSet::new();
        let mut seen = Positions::default();
        let mut open = writes.iter().copied().collect::<Vec<_>>();
        while let Some(position) = open.pop() {
            for operand in space.ops[position].operands() {
                let Some(definition) = space.definition(operand) else {
                    continue;
                };
                if is_stored(operand) {
                    let mut of_op = space.ops[definition].results();
                    let result = of_op.position(|result| Value::from(result) == operand);
                    stored.insert((definition, result.unwrap_or(0)));
                } else if !seen.contains(definition) {
                    seen.insert(definition);
                    open.push(definition);
                }
            }
        }
        Slice {
            stored,
            computed: seen,
        }
    }
}
