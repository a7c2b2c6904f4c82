//! `norm-split-reductions`: a reduction whose dim is split over CTAs becomes partial results and a second kernel.
//!
//! Matches a kernel whose schedule has a `split` factor, as in split-K matrix products. In the first kernel that factor is a dim of its
//! own, which the reductions no longer range over: each writes a partial result for each point of the new dim to scratch memory. The
//! second kernel reads the partial results, reduces them in an order that its schedule fixes, and computes what depends on them. The
//! two compute what the one did, because a combiner is associative and commutative up to rounding.
//!
//! A reduction that depends on another over the same dim is merged with it first, where the schedule's `merge_reductions` has `split`
//! and [`crate::kernel::homomorphism`] allows it: each part is reduced with a reference of its own, and the parts are combined by one
//! reduction of tuples. Where results are needed at points of the dim again, a third kernel computes what needs them (`come_back`).
//!
//! Splitting costs a write and a read of the partial results, and a launch; a third kernel costs another pass over the dim and another
//! launch.

pub(super) mod come_back;
pub(super) mod partials;
mod parts;
pub(super) mod scratch;

use melior::ir::{Attribute, OperationRef, attribute::FlatSymbolRefAttribute, operation::OperationLike};
use norma_dialects::{
    attributes,
    norm::{KernelOp, LaunchOp, Level, WriteOp},
};
use partials::Partial;
use parts::Parts;
use scratch::Scratch;

use super::{kernel_names::KernelNames, launches::Launches, scratch_names::ScratchNames};
use crate::{
    kernel::{
        signature::{Kept, drop_unused},
        space::{DimSet, Space},
        space_rewrite::replace_space,
    },
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        values::uses,
        walk,
    },
    schedule::{
        mapping::{Factor, Mapping},
        plan,
    },
    table::{NormSplitReductions, NormSplitReductionsStatistic},
};

pub(crate) fn run<'c>(
    module: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormSplitReductions>,
) -> PassResult<'c> {
    let mut made = Made::of(module)?;
    for kernel in walk::all(module, KernelOp::from_op) {
        // Each round splits one dim; the kernel that is left may have another.
        while let Some(split) = Split::of(kernel)? {
            split.apply(&mut made)?;
            cx.count(NormSplitReductionsStatistic::NumSplit, 1);
        }
    }
    Ok(())
}

/// The names and launches of the module, which the pass keeps up to date while it adds kernels.
pub(super) struct Made<'c, 'a> {
    names: KernelNames,
    scratch_names: ScratchNames,
    launches: Launches<'c, 'a>,
}

impl<'c: 'a, 'a> Made<'c, 'a> {
    pub(super) fn of(module: OperationRef<'c, 'a>) -> Result<Self, PassError<'c>> {
        Ok(Self {
            names: KernelNames::new(module),
            scratch_names: ScratchNames::of_module("partial", module)?,
            launches: Launches::of(module)?,
        })
    }
}

/// A kernel with a dim that is to be split.
struct Split<'c, 'a> {
    kernel: KernelOp<'c, 'a>,
    mapping: Mapping,
    dim: usize,
    /// The position of the split factor among the dim's.
    factor: usize,
    /// How many parts there are.
    parts: i64,
}

impl<'c: 'a, 'a> Split<'c, 'a> {
    fn of(kernel: KernelOp<'c, 'a>) -> Result<Option<Self>, PassError<'c>> {
        let Some(schedule) = kernel.schedule().filter(|_| kernel.roles().is_none()) else {
            return Ok(None);
        };
        let mapping = Mapping::of(schedule)?;
        let position = |factors: &Vec<Factor>| factors.iter().position(|factor| factor.level == Level::Split);
        let Some((dim, factor)) = mapping
            .spread
            .iter()
            .enumerate()
            .find_map(|(dim, factors)| Some((dim, position(factors)?)))
        else {
            return Ok(None);
        };
        let location = kernel.op().location();
        let Some(parts) = mapping.spread[dim][factor].size else {
            let message = format!("a split of dim {dim} without a size; supported: a number of parts");
            return Err(Diagnostic::unsupported(location, message).into());
        };
        let space = Space::of(kernel)?;
        if dim >= space.dims.len() {
            let message = format!("expected factors for {} dims, got more", space.dims.len());
            return Err(Diagnostic::user(location, message).into());
        }
        Ok(Some(Self {
            kernel,
            mapping,
            dim,
            factor,
            parts,
        }))
    }

    /// The dim's factors outside of the split one, and those within it.
    fn around(&self) -> (&[Factor], &[Factor]) {
        let factors = &self.mapping.spread[self.dim];
        (&factors[..self.factor], &factors[self.factor + 1..])
    }

    fn apply(self, made: &mut Made<'c, 'a>) -> PassResult<'c> {
        let location = self.kernel.op().location();
        let space = Space::of(self.kernel)?;
        if space.reductions_over(self.dim).is_empty() {
            let message = format!(
                "expected a reduction over dim {}, which the schedule splits",
                self.dim
            );
            return Err(Diagnostic::user(location, message).into());
        }
        plan::check(&space, &self.mapping).map_err(|reason| reason.at(location))?;
        mark(self.kernel);
        come_back::take_out(self.kernel, self.dim, come_back::Writes::Waiting, &[], made)?;
        // The kernel that is left may have lost dims before the split one.
        match Self::of(self.kernel)? {
            Some(split) => split.take_apart(made),
            None => Err(Diagnostic::internal(location, "expected a split factor").into()),
        }
    }

    /// Turns the kernel into the one that reduces parts, and adds the one that combines them.
    fn take_apart(self, made: &mut Made<'c, 'a>) -> PassResult<'c> {
        let space = Space::of(self.kernel)?;
        let Parts { new, part, factors } = Parts::of(&self, &space)?;
        replace_space(&space, &new)?;
        mark(self.kernel);
        let parts = [part].into();
        if self.mapping.merges_at(Level::Split) {
            partials::merge(self.kernel, &parts)?;
        }
        let space = Space::of(self.kernel)?;
        let partials = partials::of(&space, &parts, partials::Order::PartsFirst)?;
        let finish = partials::finish(self.kernel, &partials, &parts, made)?;
        let partial = self.partial_kernel(&partials, &parts, factors)?;
        let scratch = partials.into_iter().flat_map(|partial| partial.scratch);
        let kernels = [(self.kernel.sym_name()?.to_owned(), partial), finish];
        add_launches(
            made,
            self.kernel,
            space.buffers.len(),
            &scratch.collect::<Vec<_>>(),
            &kernels,
        )
    }

    /// Turns the kernel into the one that writes partial results.
    fn partial_kernel(
        &self,
        partials: &[Partial<'c>],
        parts: &DimSet,
        factors: Vec<Vec<Factor>>,
    ) -> Result<Kept, PassError<'c>> {
        partials::leave(self.kernel, partials, parts)?;
        let mut mapping = self.mapping.clone();
        let more = factors.len() - 1;
        mapping.aligned_dim = mapping.aligned_dim.map(|aligned| {
            if aligned > self.dim {
                aligned + more
            } else {
                aligned
            }
        });
        mapping.spread.splice(self.dim..=self.dim, factors);
        // The split factor of another dim, over which this kernel no longer reduces, only spreads it over CTAs.
        let space = Space::of(self.kernel)?;
        let reduced = space.reduced_dims();
        for (dim, factors) in mapping.spread.iter_mut().enumerate() {
            for factor in factors.iter_mut() {
                if factor.level == Level::Split && !reduced.contains(&dim) {
                    factor.level = Level::Grid;
                }
            }
        }
        respread(self.kernel, mapping)
    }
}

/// Marks as partial the writes to buffers that both kernels write, since neither then writes all of such a buffer. `moves` says by position
/// which writes move to the second kernel.
fn divide_writes<'c>(space: &Space<'c, '_>, moves: impl Fn(usize) -> bool) -> PassResult<'c> {
    let mut writes = Vec::new();
    for (position, op) in space.ops.iter().enumerate() {
        let write = WriteOp::from_op(*op).zip(space.access(*op)?);
        writes.extend(write.map(|(write, access)| (write, access.buffer, moves(position))));
    }
    for (write, buffer, moved) in &writes {
        if writes
            .iter()
            .any(|(_, other, other_moved)| other == buffer && other_moved != moved)
        {
            let b = Builder::before(write.op());
            b.set_attribute(write.op(), "partial", Attribute::unit(b.context()));
        }
    }
    Ok(())
}

/// Marks a kernel with guards as one whose accesses were checked before it was split.
pub(super) fn mark(kernel: KernelOp<'_, '_>) {
    if kernel.guards().is_some() {
        let b = Builder::before(kernel.op());
        b.set_attribute(
            kernel.op(),
            attributes::kernel::PART,
            Attribute::unit(b.context()),
        );
    }
}

/// Drops the dims and arguments that a kernel no longer uses, and sets what is left of `mapping` as its schedule.
fn respread<'c>(kernel: KernelOp<'c, '_>, mut mapping: Mapping) -> Result<Kept, PassError<'c>> {
    let location = kernel.op().location();
    let space = Space::of(kernel)?;
    let used = (0..space.dims.len()).filter(|dim| uses(space.dims[*dim]) > 0);
    mapping.keep_dims(&used.collect::<Vec<_>>());
    let is_split = |factor: &Factor| factor.level == Level::Split;
    if !mapping.spread.iter().flatten().any(is_split) {
        mapping.merge_reductions.retain(|level| *level != Level::Split);
    }
    let kept = drop_unused(kernel)?;
    if mapping.keep.len() > 1 {
        // Scratch is only written here, so that no place is given for it.
        let places = kept.buffers.iter().map(|buffer| mapping.place(*buffer));
        mapping.keep = places.collect();
    }
    let schedule = mapping.attribute(location).ok_or(PassError::Reported)?;
    Builder::before(kernel.op()).set_attribute(kernel.op(), "schedule", schedule.into());
    Ok(kept)
}

/// Replaces each launch of `kernel` by launches of `kernels`, one after the other, before which it allocates the scratch between them.
/// The arguments were `num_buffers` buffers and the scalars; those of each of `kernels` are what it has left of these buffers, of the
/// scratch and of the scalars.
pub(super) fn add_launches<'c: 'a, 'a>(
    made: &mut Made<'c, 'a>,
    kernel: KernelOp<'c, 'a>,
    num_buffers: usize,
    scratch: &[Scratch<'c>],
    kernels: &[(String, Kept)],
) -> PassResult<'c> {
    for launch in made.launches.take(kernel) {
        let b = Builder::before(launch.op());
        let arguments = launch.arguments();
        let (buffers, scalars) = arguments.split_at(num_buffers.min(arguments.len()));
        let mut all = buffers.to_vec();
        for scratch in scratch {
            all.push(scratch.allocate(&b, buffers, &made.scratch_names.next())?);
        }
        for (name, kept) in kernels {
            let buffers = kept.buffers.iter().filter_map(|buffer| all.get(*buffer));
            let scalars = kept.scalars.iter().filter_map(|scalar| scalars.get(*scalar));
            let operands = buffers.chain(scalars).copied().collect::<Vec<_>>();
            let callee = FlatSymbolRefAttribute::new(b.context(), name).into();
            let launch = b.insert(LaunchOp::build(launch.op().location(), &operands, callee)?);
            if let Some(launch) = LaunchOp::from_op(launch) {
                made.launches.add(name, launch);
            }
        }
        b.erase(launch.op());
    }
    Ok(())
}
