//! How accesses use sectors of memory, and how long the runs of neighbouring bytes are that they access.

use norma_layout::{
    coalesce::{LINE_BYTES, SECTOR_BYTES},
    conversion::{BARRIERS_COST, WAVEFRONT_COST},
    shared::{WAVEFRONT_BYTES, WORD_BYTES},
};

use super::{
    super::{facts::Access, spread::Spread},
    measured::*,
};
use crate::memory_cycles::{DRAM_SECTOR, EXCHANGED_BYTES, L2_LINE};

/// How an access uses sectors.
pub(super) struct SectorUse {
    /// The share of the sectors' bytes that one request of a warp uses.
    pub(super) request: f64,
    /// The share that the CTA uses while it holds a tile.
    pub(super) tile: f64,
    /// Bytes of the runs of neighbours that are accessed at about the same time: `run_of_tile`, or `run_of_request` in a loop whose steps
    /// the warps of a CTA do not take together, or [`RUN`] where the next CTA continues the run.
    pub(super) run: f64,
    /// Neighbouring bytes in one request of a warp.
    pub(super) run_of_request: f64,
    /// Neighbouring bytes that a CTA holds at a time.
    pub(super) run_of_tile: f64,
    /// Whether the next CTA, which runs at the same time, continues the run.
    pub(super) is_run_on: bool,
    /// How the tile would be exchanged through shared memory; `None` if it is too large for that.
    exchange: Option<Exchange>,
}

/// A tile that is exchanged through shared memory.
struct Exchange {
    /// Neighbouring bytes that both sides hold in registers of one thread.
    vector: f64,
    /// Bytes of the tile for each warp.
    bytes_of_warp: f64,
}

impl SectorUse {
    /// Returns how `access` uses sectors of a tile that is spread over `dims`; `in_step` is whether the warps of a CTA wait for one another in
    /// each step of its loops.
    pub(super) fn of(access: &Access, dims: &[Spread], in_step: bool) -> Self {
        let share = |points: u64| {
            let bytes = (points * access.bytes) as f64;
            bytes / (SECTOR * (bytes / SECTOR).ceil())
        };
        // The points that follow each other in memory: along the contiguous dim, and on along each dim whose stride is the length
        // of what lies within.
        let (mut request, mut tile) = (Some(1), Some(1));
        let (mut of_request, mut of_tile) = (1, 1);
        let mut stride = 1;
        let mut is_run_on = false;
        // Whether one thread holds the request so far, which it makes in one access if that is long enough.
        let mut is_of_thread = true;
        while let Some(dim) = access.strides.iter().position(|other| *other == Some(stride)) {
            let along = &dims[dim];
            // Rows that end within a sector share it with the next row, which another CTA reads soon if not this one.
            let held = match stride {
                1 => along.run_of_cta(),
                _ => along.of_cta(),
            };
            if let Some(points) = request {
                // A run continues from lane to lane; a thread by itself makes one access at a time.
                let run = match (is_of_thread, along.lanes) {
                    (false, _) => 1,
                    (true, 1) => along.run().min((ACCESS as u64 / access.bytes / points).max(1)),
                    (true, _) => along.run(),
                };
                of_request = points * run * along.lanes;
                is_of_thread &= along.lanes == 1;
                request = (of_request >= points * along.extent).then_some(points * along.extent);
                of_request = of_request.min(points * along.extent);
            }
            if let Some(points) = tile {
                of_tile = points * held;
                // CTAs that run at the same time are neighbours along the last dim that has several, so that the next CTA continues the
                // run. In loops they do not stay side by side for long: what they write of a line may leave L2 in parts, but what they
                // read of one is still there.
                is_run_on = held < along.extent
                    && (!access.is_write || dims.iter().all(|dim| !dim.is_looped))
                    && dims[dim + 1..].iter().all(|dim| dim.ctas <= 1);
                tile = (held == along.extent).then_some(of_tile);
            }
            let Some(next) = i64::try_from(along.extent)
                .ok()
                .and_then(|extent| stride.checked_mul(extent))
                .filter(|next| *next != stride)
            else {
                break;
            };
            stride = next;
        }
        Self {
            request: share(of_request),
            tile: share(of_tile),
            run_of_request: (of_request * access.bytes) as f64,
            run_of_tile: (of_tile * access.bytes) as f64,
            is_run_on,
            exchange: Exchange::of(access, dims),
            run: if is_run_on {
                RUN
            } else if !in_step && dims.iter().any(|dim| dim.is_looped) {
                (of_request * access.bytes) as f64
            } else {
                (of_tile * access.bytes) as f64
            },
        }
    }

    /// Whether a tile is better moved between threads than accessed directly, by the criterion of `gl-optimize-layouts`: L2 would
    /// serve each sector more than twice, or take longer for pieces of what is written than DRAM and the exchange together.
    pub(super) fn is_moved(&self, is_write: bool) -> bool {
        self.request < 0.5 * self.tile || (is_write && self.is_in_pieces())
    }

    fn is_in_pieces(&self) -> bool {
        let Some(exchange) = &self.exchange else {
            return false;
        };
        let dram = DRAM_SECTOR / SECTOR_BYTES as f64 / self.tile;
        let (held, moved) = (l2_cycles(self.run_of_request), l2_cycles(self.run_of_tile));
        held.max(dram) > moved.max(dram) + exchange.cycles()
    }

    /// Ops of a thread for each element that is moved.
    pub(super) fn ops_of_exchange(&self, element_bytes: u64) -> f64 {
        let vector = self.exchange.as_ref().map_or(1.0, |exchange| exchange.vector);
        OPS_PER_EXCHANGE * (element_bytes as f64 / vector).min(1.0)
    }

    /// Cycles of an SM that L2 takes to serve a byte of an access. Reads come through L1, which requests a tile's sectors once;
    /// writes do not.
    pub(super) fn l2_cycles(&self, is_write: bool, is_moved: bool) -> f64 {
        match is_write && !is_moved {
            true => l2_cycles(self.run_of_request),
            false => l2_cycles(self.run_of_tile),
        }
    }
}

/// Cycles that L2 takes to serve a byte of runs of `run` bytes. It serves lines by halves, but a piece of less than a half takes as
/// long as a whole line.
pub(super) fn l2_cycles(run: f64) -> f64 {
    let half = LINE_BYTES as f64 / 2.0;
    let lines = if run < half {
        1.0
    } else {
        (run / half).ceil() / 2.0
    };
    lines * L2_LINE / run
}

impl Exchange {
    /// Returns the exchange of an access's tile, if it goes through shared memory as a whole.
    fn of(access: &Access, dims: &[Spread]) -> Option<Self> {
        let along = &dims[access.contiguous()?];
        let used = || {
            dims.iter()
                .zip(&access.uses)
                .filter(|(_, uses)| **uses)
                .map(|(dim, _)| dim)
        };
        let bytes = used().map(|dim| dim.tile).product::<u64>() * access.bytes;
        let warps = dims.iter().map(|dim| dim.warps).product::<u64>();
        (bytes <= EXCHANGED_BYTES.unsigned_abs()).then(|| Self {
            vector: ((along.run() * access.bytes) as f64).min(ACCESS),
            bytes_of_warp: bytes as f64 / warps as f64,
        })
    }

    /// Cycles of an SM for each byte, by the costs of a layout conversion's plan: each byte is written to shared memory and read
    /// again.
    fn cycles(&self) -> f64 {
        let wavefront = WAVEFRONT_BYTES as f64 * (self.vector / WORD_BYTES as f64).min(1.0);
        2.0 * WAVEFRONT_COST as f64 / wavefront + BARRIERS_COST as f64 / self.bytes_of_warp
    }
}
