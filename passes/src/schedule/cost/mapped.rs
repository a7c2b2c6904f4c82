//! A kernel as a mapping spreads it: what each thread, step and CTA holds, whatever the target.

use norma_dialects::norm::{CachePlace, CopyMechanism, HandOut, Level};

use super::{
    super::{
        dense_rows,
        facts::{Access, Facts, Reduction},
        mapping::Mapping,
        rows_in_shared_memory,
        spread::{Spread, spreads},
    },
    measured::{ACCESS, WARP},
    rereads::{passes, passes_in_loop},
};

/// A kernel and a mapping of it.
pub(super) struct Mapped<'a> {
    pub(super) facts: &'a Facts,
    pub(super) mapping: &'a Mapping,
    /// By dim, how it is spread.
    pub(super) dims: Vec<Spread>,
    /// Bytes that one pass over the space reads.
    pub(super) read: f64,
    /// Bytes that it reads and writes, at least 1.
    pub(super) bytes: f64,
}

impl<'a> Mapped<'a> {
    /// Returns the mapped kernel; a pass over its space reads `read` bytes, and reads and writes `bytes`.
    pub(super) fn of(facts: &'a Facts, mapping: &'a Mapping, read: f64, bytes: f64) -> Self {
        Self {
            facts,
            mapping,
            dims: spreads(facts, mapping),
            read,
            bytes,
        }
    }

    /// Threads of a CTA that hold parts of one tile.
    pub(super) fn threads(&self) -> u64 {
        self.mapping.threads() as u64
    }

    /// Threads of a CTA that hold different parts of the tile. Where a tile has fewer points than a warp has lanes, the others hold copies.
    pub(super) fn distinct_threads(&self) -> f64 {
        self.dims
            .iter()
            .map(|dim| (dim.warps * dim.lanes) as f64)
            .product()
    }

    /// Threads of a CTA, of all groups of consumers and of producer warps.
    pub(super) fn all_threads(&self) -> u64 {
        self.mapping.all_warps().unsigned_abs() * WARP
    }

    /// Groups of threads that take steps in turns, each with a part of the tile for each of its threads.
    pub(super) fn groups(&self) -> f64 {
        self.mapping.consumer_groups as f64
    }

    /// Bytes of the rings in shared memory through which a CTA's tiles come; `None` where threads load them themselves.
    pub(super) fn ring_bytes(&self) -> Option<u64> {
        match self.mapping.bring {
            CopyMechanism::Load => None,
            _ => Some(
                rows_in_shared_memory::bytes(self.facts, self.mapping) * self.mapping.stages.unsigned_abs(),
            ),
        }
    }

    /// Bytes of shared memory that a CTA takes for tiles.
    pub(super) fn shared_bytes(&self) -> u64 {
        let of_runs = || dense_rows::bytes(self.facts, self.mapping);
        self.ring_bytes().unwrap_or_else(of_runs)
    }

    /// Whether a tile of an access goes through shared memory as one run.
    pub(super) fn takes_runs(&self, access: &Access) -> bool {
        self.mapping.takes_runs(access.buffer, access.is_write)
    }

    /// Whether tiles come through rings in shared memory.
    pub(super) fn is_ringed(&self) -> bool {
        self.ring_bytes().is_some()
    }

    /// Whether CTAs walk through rings, one tile after the other.
    pub(super) fn walks_through_rings(&self) -> bool {
        self.is_looped() && self.is_ringed()
    }

    /// CTAs of a launch, at least one.
    pub(super) fn ctas(&self) -> f64 {
        self.dims.iter().map(|dim| dim.ctas).product::<u64>().max(1) as f64
    }

    /// Whether a CTA takes steps along some dim.
    pub(super) fn is_looped(&self) -> bool {
        self.dims.iter().any(|dim| dim.is_looped)
    }

    /// Whether CTAs loop over what they reduce, and broadcast none of the results along it again.
    pub(super) fn sums_up(&self) -> bool {
        let dims = self.facts.dims.iter().zip(&self.dims);
        let mut walked = dims.filter(|(_, spread)| spread.is_looped);
        let comes_back = walked.any(|(dim, _)| dim.is_revisited);
        self.is_looped() && !comes_back && !self.reduces_in_steps()
    }

    /// The share of the points in live registers that lie within the dims.
    pub(super) fn live_lanes(&self) -> f64 {
        self.dims.iter().map(|dim| dim.live).product()
    }

    /// The vectors of a thread in a tile.
    pub(super) fn vectors(&self) -> u64 {
        self.dims.iter().map(|dim| dim.registers / dim.vector).product()
    }

    /// The share of a tile that lies within the dims.
    pub(super) fn filled(&self) -> f64 {
        self.dims.iter().map(Spread::filled).product()
    }

    /// The share of all bytes that an access moves.
    pub(super) fn share(&self, access: &Access) -> f64 {
        access.total_bytes(&self.facts.dims) / self.bytes
    }

    /// Whether an access moves a good part of all bytes.
    pub(super) fn streams(&self, access: &Access) -> bool {
        access.total_bytes(&self.facts.dims) >= 0.1 * self.bytes
    }

    /// Whether CTAs walk over rows that arrive while they compute: through rings, or in registers, a step ahead.
    pub(super) fn overlaps_steps(&self) -> bool {
        self.walks_through_rings() || self.reduces_in_steps() && self.mapping.prefetches()
    }

    /// Whether CTAs walk over rows that they hold in registers, and load each only when its turn comes.
    pub(super) fn walks_held_rows(&self) -> bool {
        self.reduces_in_steps() && !self.is_ringed() && !self.mapping.prefetches()
    }

    /// Whether CTAs walk over rows that they hold in registers, load each a step ahead, and carry no sums over the rows. What all rows share
    /// is in registers before the walk.
    pub(super) fn loads_rows_ahead(&self) -> bool {
        self.overlaps_steps() && !self.is_ringed() && !self.carries_sums()
    }

    /// Whether CTAs walk through rings over rows that begin anywhere, and carry no sums over them.
    pub(super) fn walks_odd_rows_through_rings(&self) -> bool {
        self.walks_through_rings() && self.mapping.aligned_dim.is_some() && !self.carries_sums()
    }

    /// Whether no step of a walk changes what an access moves. Rows that are drawn begin at different places, to which what they share is
    /// aligned again.
    pub(super) fn is_same_in_all_steps(&self, access: &Access) -> bool {
        let aligned = self
            .mapping
            .aligned_dim
            .filter(|_| self.mapping.hand_out == HandOut::Dynamic);
        if aligned.is_some_and(|aligned| access.uses[aligned]) {
            return false;
        }
        let looped = self.dims.iter().zip(&access.uses);
        self.reduces_in_steps() && looped.filter(|(dim, _)| dim.is_looped).all(|(_, uses)| !uses)
    }

    /// The reads that a step waits for and that move a good part of all bytes.
    pub(super) fn streamed(&self) -> impl Iterator<Item = &'a Access> {
        let no_reduction = self.facts.reductions.is_empty();
        let accesses = self.facts.accesses.iter();
        accesses.filter(move |access| {
            !access.is_write && (access.contributes || no_reduction) && self.streams(access)
        })
    }

    /// Elements of an access that a thread holds at a time.
    pub(super) fn held(&self, access: &Access) -> u64 {
        let dims = self.dims.iter().zip(&access.uses);
        dims.filter(|(_, uses)| **uses)
            .map(|(dim, _)| dim.registers)
            .product()
    }

    /// Points that a thread holds of the dims that an access does not use: so many points share each element that it moves.
    pub(super) fn sharing(&self, access: &Access) -> u64 {
        let dims = self.dims.iter().zip(&access.uses);
        dims.filter(|(_, uses)| !**uses)
            .map(|(dim, _)| dim.registers)
            .product()
    }

    /// Points that a thread holds of all dims but `along`: the number of its rows, if rows lie along that dim.
    pub(super) fn rows_of_thread(&self, along: usize) -> u64 {
        let others = (0..self.dims.len()).filter(|dim| *dim != along);
        others.map(|dim| self.dims[dim].registers).product()
    }

    /// Elements that one access of a thread moves. A vector continues along the next dim of the run where a thread holds all of the
    /// dim before it.
    pub(super) fn width(&self, access: &Access) -> u64 {
        let mut width = 1;
        for dim in access.run(&self.facts.dims) {
            let dim = &self.dims[dim];
            width *= dim.run();
            if dim.run() < dim.extent {
                break;
            }
        }
        width.min(self.facts.vector(access, self.mapping.aligned_dim))
    }

    /// Whether the value that an access reads stays in registers until it is needed again.
    pub(super) fn is_kept(&self, access: &Access) -> bool {
        access.is_reused && self.mapping.place(access.buffer) == CachePlace::Register
    }

    /// How often an access is made at each of its points, on average.
    pub(super) fn passes(&self, access: &Access) -> f64 {
        if !access.is_reused || self.is_kept(access) {
            return 1.0;
        }
        let in_loop = |reduction: &Reduction| passes_in_loop(self.facts, &self.dims, reduction);
        let passes = passes(self.facts, access, self.mapping.merges_at(Level::Loop), &in_loop);
        1.0 + passes.saturating_sub(1) as f64 * (1.0 - self.share_of_held_steps(access))
    }

    /// The steps of a loop whose tiles of an access stay in registers from the first pass over it to the later ones.
    pub(super) fn held_steps(&self, access: &Access) -> u64 {
        let mut looped = (0..self.dims.len()).filter(|dim| self.dims[*dim].is_looped);
        match access.is_reused && looped.any(|dim| access.uses[dim]) {
            true => self.mapping.held_steps.unsigned_abs().min(self.steps() as u64),
            false => 0,
        }
    }

    /// The share of the points of an access that are in the tiles of held steps.
    pub(super) fn share_of_held_steps(&self, access: &Access) -> f64 {
        self.held_steps(access) as f64 / self.steps().max(1.0)
    }

    /// Bytes that a thread requests before it waits for any: those of a step, or of the steps that are unrolled.
    pub(super) fn bytes_together(&self) -> f64 {
        let of = |access: &Access| (self.held(access) * access.bytes) as f64;
        let step = self.streamed().map(of).sum::<f64>();
        step * self.steps_together(step)
    }

    /// The steps of a CTA's loops.
    pub(super) fn steps(&self) -> f64 {
        let looped = self.dims.iter().filter(|dim| dim.is_looped);
        looped.map(Spread::steps).product()
    }

    /// Returns how many steps of a loop are unrolled, each of which requests `step` bytes.
    fn steps_together(&self, step: f64) -> f64 {
        let fit = (self.mapping.unroll_bytes as f64 / step.max(1.0)).floor();
        fit.min(self.steps()).max(1.0)
    }

    /// Accesses of 16 bytes that a thread makes before it waits for any, beyond the first.
    pub(super) fn further_loads(&self) -> f64 {
        (self.bytes_together() / ACCESS - 1.0).max(0.0)
    }

    /// Whether a reduction ranges over a dim that is walked in a loop.
    pub(super) fn is_carried(&self, reduction: &Reduction) -> bool {
        (0..self.dims.len()).any(|dim| reduction.over[dim] && self.dims[dim].is_looped)
    }

    /// Whether a walk carries results of reductions over its steps.
    pub(super) fn carries_sums(&self) -> bool {
        let mut reductions = self.facts.reductions.iter();
        reductions.any(|reduction| self.is_carried(reduction))
    }

    /// Whether a reduction is computed in the loop of the one that it follows.
    pub(super) fn is_merged(&self, reduction: &Reduction) -> bool {
        self.mapping.merges_at(Level::Loop) && reduction.follows.is_some() && self.is_carried(reduction)
    }

    /// Whether steps of a loop reduce what they hold: a reduction over dims that no loop walks, within a loop over others.
    pub(super) fn reduces_in_steps(&self) -> bool {
        let within_step = |reduction: &Reduction| {
            (0..self.dims.len()).all(|dim| !reduction.over[dim] || !self.dims[dim].is_looped)
        };
        self.is_looped() && self.facts.reductions.iter().any(within_step)
    }

    /// Whether steps of a loop reduce what they hold, be it by [`Self::reduces_in_steps`] or by merged reductions.
    pub(super) fn reduces_what_a_step_holds(&self) -> bool {
        let is_merged = |reduction: &Reduction| self.is_merged(reduction);
        self.reduces_in_steps() || self.facts.reductions.iter().any(is_merged)
    }

    /// Whether a reduction ranges over several warps.
    pub(super) fn crosses_warps(&self) -> bool {
        let crosses = |reduction: &Reduction| {
            (0..self.dims.len()).any(|dim| reduction.over[dim] && self.dims[dim].warps > 1)
        };
        self.facts.reductions.iter().any(crosses)
    }

    /// The most warps that a reduction ranges over.
    pub(super) fn warps_of_row(&self) -> u64 {
        let warps = |reduction: &Reduction| {
            let over = (0..self.dims.len()).filter(|dim| reduction.over[*dim]);
            over.map(|dim| self.dims[dim].warps).product::<u64>()
        };
        self.facts.reductions.iter().map(warps).max().unwrap_or(1)
    }

    /// CTAs that share the points of a reduced dim.
    pub(super) fn parts(&self) -> f64 {
        self.mapping.extent(Level::Split) as f64
    }
}
