//! `norm-stage-reductions`: reductions over the dims on both sides of a kept one become reductions of two stages, in kernels of their
//! own.
//!
//! GroupNorm with the channels last reduces pixels, which are far apart, and the few channels of a group, which are neighbours; the
//! groups between them are kept. One kernel reads pieces of memory no longer than a group, with vectors that have to divide it: 20
//! bytes in accesses of 4 for 10 channels of bf16. Where channels are kept while pixels are reduced, they and the groups are one dim
//! for that kernel, and a second one combines the channels. What needs the results at each point is a third kernel, over the same long
//! rows, for which the second one leaves the results in scratch, one for each channel.
//!
//! Rows are short beside the number of pixels, so that the first kernel would have few CTAs: it reduces the pixels in parts, each of which
//! is as long, and the second kernel combines the parts with the channels.
//!
//! That is worth it where one kernel is expected to take longer than three, which read the tensor twice.

use melior::ir::{AffineExpr, OperationRef, operation::OperationLike};
use norma_dialects::norm::KernelOp;
use norma_targets::Target;

use super::split_reductions::{
    Made, add_launches, come_back, mark,
    partials::{self, Order},
};
use crate::{
    kernel::{
        positions::Positions,
        signature::drop_unused,
        space::{DimSet, Space},
        space_rewrite::{NewDim, NewSpace, replace_space},
    },
    mlir::{
        context,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    schedule::{
        basis::Basis,
        cost::{Assembled, RUN, cheapest, parts_of_stage, staged_us},
        facts::{Access, Facts, Reduction, Use},
        given,
        mapping::Mapping,
    },
    table::{NormStageReductions, NormStageReductionsStatistic},
};

/// Reductions take one stage only if one kernel is expected to take at most this share of the three kernels' time: with short pieces it
/// takes a sixth longer than expected, over 14 sizes of images (docs/measurements/group-norm.md), and the three take as long as expected.
const LEAST_SHARE: f64 = 0.85;

pub(crate) fn run<'c>(
    module: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormStageReductions>,
) -> PassResult<'c> {
    let options = cx.options();
    let target =
        Target::parse(&options.target).map_err(|error| Diagnostic::user(module.location(), &error))?;
    let target = &*target.with_clusters(options.portable_clusters);
    let given = given::entries(&options.given);
    let mut made = Made::of(module)?;
    for kernel in walk::all(module, KernelOp::from_op) {
        let name = kernel.sym_name()?;
        let is_given = given
            .iter()
            .any(|entry| entry.kernel.is_none_or(|kernel| kernel == name));
        let is_scheduled = kernel.schedule().is_some() || kernel.alternatives().is_some();
        if is_given || is_scheduled || kernel.roles().is_some() {
            continue;
        }
        let basis = Basis::of(kernel, options.batch_invariant)?;
        let Some(stages) = Stages::of(&basis.facts) else {
            continue;
        };
        let parts = stages.parts(&basis, target);
        let staged = staged_us(&basis.facts, stages.inner, parts, target);
        let is_legal = |mapping: &Mapping| basis.is_legal(mapping, target);
        let offered = basis.candidates(target);
        let one = cheapest(&basis.facts, offered, target, &Assembled::default(), is_legal);
        let one = one.map(|(_, cost)| cost.total());
        if one.is_some_and(|one| one <= LEAST_SHARE * staged) {
            continue;
        }
        if options.explain {
            let one = one.map_or("none can be chosen".to_owned(), |one| format!("{one:.1} us"));
            let bytes = stages.run_bytes;
            let text = format!(
                "its reductions take two stages, in kernels of their own, {staged:.1} us; as one kernel, which reads pieces of {bytes} \
                 bytes, {one}"
            );
            cx.remark(kernel.op().location(), text);
        }
        stages.apply(kernel, parts, &mut made)?;
        cx.count(NormStageReductionsStatistic::NumStaged, 1);
    }
    Ok(())
}

/// The dims of reductions that can take two stages.
struct Stages {
    /// The reduced dim whose points are neighbours in memory.
    inner: usize,
    /// A reduced dim outside of the kept one that is beside the inner one.
    outer: usize,
    /// The kept dim between them.
    kept: usize,
    /// The bytes of the inner dim, as the reads that are reduced have them.
    run_bytes: u64,
}

impl Stages {
    /// Finds the dims: all reductions are over the same dims, none waits for another that it cannot be merged with, and what they read
    /// has a kept dim directly outside of the inner one, which is shorter than memory serves best, and the outer dim beyond that.
    fn of(facts: &Facts) -> Option<Self> {
        let over = &facts.reductions.first()?.over;
        let is_first = |number: &usize| facts.reductions[*number].waits_for.is_empty();
        let joins = |reduction: &Reduction| {
            let joined = |number: &usize| is_first(number) || reduction.follows == Some(*number);
            let can_join = reduction.waits_for.is_empty() || reduction.follows.is_some();
            reduction.over == *over && can_join && reduction.waits_for.iter().all(joined)
        };
        if !facts.reductions.iter().all(joins) || facts.dims.iter().any(|dim| dim.is_whole || dim.is_counting)
        {
            return None;
        }
        let reads = facts
            .accesses
            .iter()
            .filter(|access| !access.is_write && access.contributes);
        let bytes = |access: &Access| access.total_bytes(&facts.dims);
        let read = reads.max_by(|a, b| bytes(a).total_cmp(&bytes(b)))?;
        let inner = read.contiguous().filter(|dim| over[*dim])?;
        let extent = i64::try_from(facts.dims[inner].extent).ok()?;
        let kept = |dim: &usize| facts.dims[*dim].usage == Use::Kept && read.strides[*dim] == Some(extent);
        let kept = (0..facts.dims.len()).find(kept)?;
        let beyond = |dim: &usize| {
            over[*dim] && *dim != inner && read.strides[*dim].is_none_or(|stride| stride > extent)
        };
        let outer = (0..facts.dims.len())
            .filter(beyond)
            .max_by_key(|dim| facts.dims[*dim].extent)?;
        let run_bytes = facts.dims[inner].extent * read.bytes;
        // The dims are neighbours in the space, so that they can be merged.
        (kept + 1 == inner && (run_bytes as f64) < RUN).then_some(Self {
            inner,
            outer,
            kept,
            run_bytes,
        })
    }

    /// In how many parts the first kernel reduces the outer dim.
    fn parts(&self, basis: &Basis<'_, '_>, target: &Target) -> u64 {
        let dims = &basis.facts.dims;
        // Parts of equal length, so that each has a contiguous piece of memory, need an extent that is known.
        if !basis.space.extents[self.outer].is_constant() {
            return 1;
        }
        let is_beside = |dim: &usize| *dim != self.kept && dims[*dim].usage == Use::Kept;
        let beside = (0..dims.len()).filter(is_beside);
        let rows = beside.map(|dim| dims[dim].extent).product();
        let row_bytes = dims[self.kept].extent * self.run_bytes;
        parts_of_stage(rows, dims[self.outer].extent, row_bytes, target)
    }

    fn apply<'c: 'a, 'a>(
        &self,
        kernel: KernelOp<'c, 'a>,
        parts: u64,
        made: &mut Made<'c, 'a>,
    ) -> PassResult<'c> {
        mark(kernel);
        let writes = come_back::Writes::Waiting;
        come_back::take_out(kernel, self.outer, writes, &[self.inner], made)?;
        // The kernel that is left may have lost dims.
        let facts = Facts::of(&Space::of(kernel)?)?;
        let Some(left) = Self::of(&facts) else {
            let message = "expected reductions of two stages behind those that come back";
            return Err(Diagnostic::internal(kernel.op().location(), message).into());
        };
        let second = left.divide_outer(kernel, parts)?;
        mark(kernel);
        partials::merge(kernel, &second)?;
        let space = Space::of(kernel)?;
        let over_second = second.iter().flat_map(|dim| space.reductions_over(*dim));
        let over_second = over_second.collect::<Positions>();
        let waits = |position: usize| {
            let mut values = space.ops[position].operands();
            values.any(|value| space.waits_for(value).shared(&over_second).next().is_some())
        };
        if over_second.iter().any(waits) {
            let message = "expected reductions that have been merged, got one that waits for another";
            return Err(Diagnostic::internal(space.location(), message).into());
        }
        let partials = partials::of(&space, &second, Order::AsInSpace)?;
        let finish = partials::finish(kernel, &partials, &second, made)?;
        partials::leave(kernel, &partials, &second)?;
        let kernels = [(kernel.sym_name()?.to_owned(), drop_unused(kernel)?), finish];
        let scratch = partials.into_iter().flat_map(|partial| partial.scratch);
        add_launches(
            made,
            kernel,
            space.buffers.len(),
            &scratch.collect::<Vec<_>>(),
            &kernels,
        )
    }

    /// Makes the outer dim two: the parts, and the points of a part. Returns the dims that are left to the second stage.
    fn divide_outer<'c>(&self, kernel: KernelOp<'c, '_>, parts: u64) -> Result<DimSet, PassError<'c>> {
        if parts <= 1 {
            return Ok([self.inner].into());
        }
        let space = Space::of(kernel)?;
        let context = context::of(space.location());
        let extent = space.extents[self.outer];
        let points = u64::try_from(extent.constant_value()).unwrap_or(0);
        let of_part = points.div_ceil(parts);
        let [parts_extent, part_extent] =
            [parts, of_part].map(|extent| AffineExpr::constant(context, extent as i64));
        let mut new = NewSpace::default();
        let mut add = |extent: AffineExpr<'c>| {
            new.dims.push(NewDim { extent, role: None });
            AffineExpr::dim(context, new.dims.len() - 1)
        };
        for (dim, old) in space.extents.iter().enumerate() {
            let whole = match dim == self.outer {
                true => add(parts_extent) * part_extent + add(part_extent),
                false => add(*old),
            };
            if dim == self.outer && parts * of_part != points {
                new.guards.push([whole, extent]);
            }
            new.old_dims.push(whole);
        }
        replace_space(&space, &new)?;
        let inner = self.inner + usize::from(self.inner > self.outer);
        Ok([self.outer, inner].into())
    }
}
