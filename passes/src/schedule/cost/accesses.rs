//! Terms of how memory is accessed, in per cent of a copy's time, and the bytes that warps request. Most are sums over the accesses
//! that move a good part of all bytes, each weighted by its share of them.

use norma_dialects::norm::CopyMechanism;
use norma_layout::coalesce::LINE_BYTES;
use norma_targets::REGISTER_BYTES;

use crate::memory_cycles::{DRAM_SECTOR, beside_dram};

use super::{
    super::facts::Access,
    candidate::Candidate,
    mapped::Mapped,
    measured::*,
    sectors::{SectorUse, l2_cycles},
    waiting::has_late_reads,
};

/// One access, and the sectors that it takes.
pub(super) struct AccessUse<'a> {
    access: &'a Access,
    /// Its share of all bytes.
    share: f64,
    /// Whether the share is a good part ([`Mapped::streams`]).
    pub(super) streams: bool,
    sectors: SectorUse,
    /// The dim along which its tile is moved between threads before the access; `None` if it is not moved.
    moved_along: Option<usize>,
    /// Whether it is moved so that all of it is accessed as one run.
    is_run: bool,
}

impl<'a> AccessUse<'a> {
    /// Returns the accesses of a kernel.
    pub(super) fn of(mapped: &Mapped<'a>) -> Vec<Self> {
        // The copy engine runs ahead of the steps.
        let by_engine = matches!(mapped.mapping.bring, CopyMechanism::Bulk | CopyMechanism::Tensor);
        let in_step = mapped.reduces_in_steps() && !(mapped.is_ringed() && by_engine);
        let of_access = |access: &'a Access| {
            let sectors = SectorUse::of(access, &mapped.dims, in_step);
            let is_run = mapped.takes_runs(access);
            let is_moved = is_run || sectors.is_moved(access.is_write);
            Self {
                access,
                share: mapped.share(access),
                streams: mapped.streams(access),
                moved_along: access.contiguous().filter(|_| is_moved),
                is_run,
                sectors,
            }
        };
        mapped.facts.accesses.iter().map(of_access).collect()
    }

    /// The share of the sectors' bytes that one request of a warp uses; for a tile that is moved first, the share that the tile
    /// uses.
    fn request(&self) -> f64 {
        match self.moved_along {
            Some(_) => self.sectors.tile,
            None => self.sectors.request,
        }
    }
}

/// Dead lanes: lanes beyond a dim's end in accesses that other lanes make, in large CTAs.
pub(super) fn dead_lanes(candidate: &Candidate<'_>) -> f64 {
    let threads = candidate.mapped.threads() as f64;
    DEAD_LANES * (threads / 512.0).powi(3) * (1.0 - candidate.mapped.live_lanes())
}

/// Narrow accesses: instructions for the same bytes.
pub(super) fn narrow_accesses(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let of = |streaming: &AccessUse<'_>| {
        let access = streaming.access;
        let width = match streaming.moved_along {
            Some(_) if streaming.is_run => return 0.0,
            Some(dim) => mapped.dims[dim].tile.min(access.vector),
            None => mapped.width(access),
        };
        let bytes = (width * access.bytes) as f64;
        streaming.share * NARROW_ACCESSES * (ACCESS / bytes.min(ACCESS) - 1.0)
    };
    candidate.streaming().map(of).sum::<f64>() + late_elements(candidate)
}

/// The loss by reads that only results need, such as a weight, where a thread that holds a row reads many elements of them one by one behind
/// the reductions.
fn late_elements(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    if mapped.is_looped() || mapped.is_ringed() {
        return 0.0;
    }
    let is_late = |access: &&Access| {
        mapped.facts.is_late(access) && mapped.width(access) == 1 && access.bytes < REGISTER_BYTES as u64
    };
    let of = |access: &Access| (mapped.held(access) as f64 / FEW_LATE_ELEMENTS - 1.0).max(0.0);
    LATE_ELEMENTS * mapped.facts.accesses.iter().filter(is_late).map(of).sum::<f64>()
}

/// Aligned rows: the ends of rows, which are accessed element by element, and reads that are aligned differently from the tile,
/// counted once for the rows of a thread that share them. The instructions of both count as such. Rings have a loss of their own
/// ([`ODD_RING_COPIES`]).
pub(super) fn aligned_rows(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let Mapped { facts, dims, .. } = mapped;
    let Some(aligned) = mapped
        .mapping
        .aligned_dim
        .filter(|_| !mapped.walks_odd_rows_through_rings())
    else {
        return 0.0;
    };
    let reads = facts.accesses.iter();
    let is_read = |access: &&Access| access.uses[aligned] && !access.is_write;
    let reads = reads.filter(|access| is_read(access) && !mapped.is_same_in_all_steps(access));
    let covered = reads
        .clone()
        .filter(|access| facts.covers(access, aligned))
        .count();
    let of_access = |access: &Access| {
        let loss = if facts.covers(access, aligned) {
            COVERED_READS * covered as f64
        } else if facts.vector(access, Some(aligned)) < access.vector_if_aligned {
            UNALIGNED_READS
        } else {
            return 0.0;
        };
        loss / mapped.sharing(access) as f64
    };
    let walked = match covered {
        0 => WALKED_ALIGNED_ROWS,
        _ => WALKED_ALIGNED_ROWS + WALKED_COVERED_READS,
    };
    let of_way = match (mapped.is_looped(), has_late_reads(candidate)) {
        (true, _) if covered > 0 && dims[aligned].registers == dims[aligned].vector => {
            walked + SINGLE_COVERED_READS
        }
        (true, _) if mapped.loads_rows_ahead() => 0.0,
        (true, _) => walked,
        (false, false) if covered == 0 && facts.reductions.len() > 1 => match mapped.warps_of_row() {
            ..MANY_WARPS_OF_ROW => HELD_OVER_REDUCTIONS,
            _ => HELD_OVER_REDUCTIONS_BY_MANY_WARPS,
        },
        (false, false) => 0.0,
        (false, true) => LATE_READS_OF_ALIGNED_ROWS,
    };
    of_way + ROW_ENDS + reads.map(of_access).sum::<f64>() + rows_that_end_together(candidate, aligned)
}

/// Returns the loss of rows that one thread walks together and which end together: the larger, the fewer bytes of other rows the SM
/// has in flight.
fn rows_that_end_together(candidate: &Candidate<'_>, aligned: usize) -> f64 {
    let mapped = &candidate.mapped;
    let rows = mapped.rows_of_thread(aligned) as f64;
    if rows == 1.0 || !mapped.is_looped() {
        return 0.0;
    }
    let row = mapped.read / mapped.ctas() / rows;
    let under_way = candidate.resident_now() * rows * row;
    ROWS_WALKED_TOGETHER + ENDING_TOGETHER * (rows * BYTES_BESIDE_ENDING_ROW / under_way - 1.0).max(0.0)
}

/// Partial sectors: bytes of sectors that one request of a warp moves and does not use, and that L1 has for the next request.
pub(super) fn partial_sectors(candidate: &Candidate<'_>) -> f64 {
    let of =
        |streaming: &AccessUse<'_>| streaming.share * PARTIAL_SECTORS * (1.0 / streaming.request() - 1.0);
    candidate.streaming().map(of).sum()
}

/// Wasted bytes: bytes of sectors that a CTA does not use at all.
pub(super) fn wasted_bytes(candidate: &Candidate<'_>) -> f64 {
    let of =
        |streaming: &AccessUse<'_>| streaming.share * WASTED_BYTES * (1.0 / streaming.sectors.tile - 1.0);
    candidate.streaming().map(of).sum()
}

/// Short runs: few neighbouring elements that are accessed together, or in one request.
pub(super) fn short_runs(candidate: &Candidate<'_>) -> f64 {
    let of = |streaming: &AccessUse<'_>| {
        let of_kind = if streaming.access.is_write {
            SHORT_WRITES
        } else {
            1.0
        };
        let sectors = &streaming.sectors;
        let request = match streaming.is_run {
            true => sectors.run_of_tile,
            false => sectors.run_of_request,
        };
        let of_ctas = match (sectors.is_run_on, streaming.access.is_write) {
            (true, true) => {
                let halvings = (PART / sectors.run_of_tile.min(PART)).log2();
                SHORT_PARTS * halvings.powf(SHORT_PARTS_POWER)
            }
            (true, false) => SHORT_PIECES * (PIECE / request.min(PIECE)).log2(),
            (false, _) => 0.0,
        };
        let together = of_kind * SHORT_RUNS * (RUN / sectors.run.min(RUN)).log2() + of_ctas;
        let in_request = SHORT_REQUESTS * (RUN / request.min(RUN)).log2();
        streaming.share * (together + in_request)
    };
    candidate.streaming().map(of).sum()
}

/// Pieces of lines: the time that L2 takes to serve requests for pieces of lines, as far as DRAM does not hide it. Accesses that
/// move few bytes in small pieces count as well.
pub(super) fn pieces_of_lines(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let cycles = |of: &AccessUse<'_>| {
        let cycles = of.sectors.l2_cycles(of.access.is_write, of.moved_along.is_some());
        of.access.total_bytes(&mapped.facts.dims) * cycles
    };
    let dram = DRAM_SECTOR / SECTOR;
    let l2 = candidate.accesses().iter().map(cycles).sum::<f64>() / (mapped.bytes * dram);
    let of_whole_runs = l2_cycles(LINE_BYTES as f64) / dram;
    100.0 * (beside_dram(l2) - beside_dram(of_whole_runs)).max(0.0)
}

/// Exchanges: tiles that are moved between threads before they are accessed.
pub(super) fn exchanges(candidate: &Candidate<'_>) -> f64 {
    let of = |streaming: &AccessUse<'_>| {
        let exchange = if streaming.is_run { RUN_EXCHANGE } else { EXCHANGE };
        streaming.share * exchange
    };
    moved(candidate).map(of).sum()
}

/// Ops of all threads that move elements between threads, but for those of runs.
pub(super) fn exchange_ops(candidate: &Candidate<'_>) -> f64 {
    let dims = &candidate.mapped.facts.dims;
    let ops = |streaming: &AccessUse<'_>| {
        let access = streaming.access;
        access.total_elements(dims) * streaming.sectors.ops_of_exchange(access.bytes)
    };
    moved(candidate)
        .filter(|streaming| !streaming.is_run)
        .map(ops)
        .sum()
}

/// Whether tiles of accesses that move a good part of all bytes are moved between threads.
pub(super) fn is_exchanged(candidate: &Candidate<'_>) -> bool {
    moved(candidate).next().is_some()
}

fn moved<'c, 'a>(candidate: &'c Candidate<'a>) -> impl Iterator<Item = &'c AccessUse<'a>> {
    candidate
        .streaming()
        .filter(|streaming| streaming.moved_along.is_some())
}

/// Returns the bytes of the sectors that warps request: (read, written). Each pass over a row counts.
pub(super) fn requested(candidate: &Candidate<'_>) -> (f64, f64) {
    let mapped = &candidate.mapped;
    let mut requested = (0.0, 0.0);
    for streaming in candidate.streaming() {
        let access = streaming.access;
        let bytes = access.total_bytes(&mapped.facts.dims) / streaming.request();
        let of_kind = match access.is_write {
            true => &mut requested.1,
            false => &mut requested.0,
        };
        *of_kind += mapped.passes(access) * bytes;
    }
    requested
}
