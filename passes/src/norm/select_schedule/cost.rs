//! What a schedule is expected to cost: a sum of losses, each a known way to fall short of a copy's speed.
//!
//! The unit is per cent of the copy roof. Every coefficient is fitted to measurements on an H200 and the kernels of a
//! memory-bound row reduction; docs/schedule.md has the figures and what is left out. Only differences between candidates
//! for the same kernel mean anything.

use norma_targets::{ACCESS_BYTES, SM_90A, Target, WARP_SIZE};

/// The most elements of a row that one thread may hold: beyond 64 f32 registers of row, occupancy falls to one CTA of 512
/// threads for each SM and spilling is near.
const ELEMENTS_PER_THREAD: u64 = 64;
/// The fewest threads of a CTA, one warp.
const WARP: u64 = WARP_SIZE as u64;
/// DRAM is read and written in sectors of 32 bytes.
const SECTOR: f64 = 32.0;
/// The widest access of one thread, in bytes.
const ACCESS: f64 = ACCESS_BYTES as f64;
/// One 16-byte access by each of an SM's 2048 threads: with these bytes in flight a copy on an H200 loses what
/// `LOADS_IN_FLIGHT` says.
const BYTES_IN_FLIGHT: f64 = 2048.0 * ACCESS;
/// Latency that a thread's single 16-byte load does not hide: RMSNorm with 2 vectors per thread beats 1.
const LOADS_IN_FLIGHT: f64 = 4.8;
/// Each further 16 bytes per thread: copies with 4 vectors per thread reach 4080 GB/s, with 1 vector 4230.
const SERIAL_LOADS: f64 = 1.2;
/// A CTA alone on its SM, whose barriers nothing covers; n CTAs lose an n-th. At 16384 columns, CTAs of 1024 threads
/// reach 3665 to 3956 GB/s, smaller ones 4230.
const LONE_CTA: f64 = 7.2;
/// The same where a row stays within a warp: no barrier, but a CTA gives its registers back only when its last warp ends.
const LONE_CTA_OF_WARPS: f64 = 3.6;
/// Launching a CTA, for each thread: fits CTAs of 128 and 256 threads for short rows.
const LAUNCH: f64 = 80.0;
/// Bytes that a CTA must read lest launching CTAs be what takes the time: rows of 512 columns in CTAs of one row each, 1
/// KB, reach 3150 GB/s, that is 0.65 ns for each CTA.
const LAUNCH_BYTES: f64 = 1300.0;
/// Lanes that hold no element of the row, if all did, in a CTA of 512 threads; with the cube of the threads. Rows of 7168
/// columns reach 4015 GB/s with 512 threads and 4154 with 256, of 8192 columns 4098 and 4044.
const DEAD_LANES: f64 = 37.0;
/// Rows of one CTA that wait at one barrier. Two rows of 256 threads lose half a per cent, and guards cost more.
const SHARED_BARRIER: f64 = 1.0;
/// SMs that fill up with new CTAs while others run dry, for one of so many waves; nothing where one wave holds all. 32768
/// rows of 128 columns reach 3060 GB/s in one wave, 2909 in 1.3 and 2904 in 1.9.
const WAVES: f64 = 8.0;
/// Rows that the choice is made for where only the run knows: as many as the shortest rows were measured with.
const NOMINAL_ROWS: u64 = 32768;
/// Each doubling of the number of accesses, less one: rows of 4095 columns, read 2 bytes at a time, reach 3019 GB/s, rows
/// of 4096 columns 4130.
const NARROW_ACCESSES: f64 = 3.6;
/// Sectors moved twice as often as their bytes are used. Not measured; L1 catches part of it.
const PARTIAL_SECTORS: f64 = 30.0;
/// SMs without a CTA, if all were.
const IDLE_SMS: f64 = 100.0;
/// Registers of a kernel besides the row and what is read early: addresses, the reduction, the second phase. ptxas takes
/// 32, 40, 48 and 63 for 1, 2, 3 and 4 vectors of bf16 row and weight.
const BASE_REGISTERS: u64 = 24;
/// Registers are handed out to a warp in units of 8 for each thread.
const REGISTER_UNIT: u64 = 8;
/// An SM's registers and warps are dealt to four sub-partitions.
const SUB_PARTITIONS: u64 = 4;

/// Along what an input's neighbouring addresses lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contiguous {
    /// The reduced dim.
    Row,
    /// The innermost kept dim.
    AcrossRows,
    /// Neither.
    Nowhere,
}

/// What a choice depends on: the row, and how its widest reused input is accessed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Elements of a row.
    pub extent: u64,
    /// Rows in all, where static.
    pub rows: Option<u64>,
    /// The most elements that one access may move, a power of two.
    pub vector: u64,
    /// Bytes of an element of that input.
    pub element_bytes: u64,
    /// Bytes that must come from memory, for each element of a row, before the first reduction.
    pub streamed_bytes: u64,
    /// Bytes of an element of each reused input.
    pub cached: Vec<u64>,
    /// Bytes of an element of each other input along the row, which may be read early.
    pub late: Vec<u64>,
    /// How that input lies in memory.
    pub contiguous: Contiguous,
}

/// A schedule to be judged. The fields are those of `#norm.schedule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub rows_per_cta: u64,
    pub threads_per_row: u64,
    pub vector: u64,
    pub chunk: u64,
    /// Hints for the caches, which pay where each access moves whole sectors: `streaming` loses 5 to 10% at 4095, 5125
    /// and 769 columns, whose sectors several accesses share, and gains up to 1% elsewhere, 5% at 128 columns.
    pub streaming: bool,
    /// Issue the reads of later phases early: gains 1 to 2% from 1024 to 7168 columns. Needs the hints, without which
    /// ptxas moves the loads back behind the barrier.
    pub early_reads: bool,
}

impl Candidate {
    /// Threads of a CTA.
    pub(super) fn threads(&self) -> u64 {
        self.threads_per_row * self.rows_per_cta
    }

    /// Whether threads of several warps share a row.
    pub(super) fn crosses_warps(&self) -> bool {
        self.threads_per_row > WARP
    }
}

/// The expected cost of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cost {
    /// Each loss by name, in per cent of the copy roof.
    pub losses: [(&'static str, f64); 10],
    /// Registers of a thread.
    pub registers: u64,
    /// CTAs that an SM holds at a time.
    pub resident: u64,
}

impl Cost {
    /// All losses together.
    pub(super) fn total(&self) -> f64 {
        self.losses.iter().map(|(_, loss)| loss).sum()
    }
}

/// Every schedule that holds whole rows in registers, in a fixed order.
pub(super) fn candidates(row: &Row, target: &Target) -> Vec<Candidate> {
    let chunk = row.extent.next_power_of_two();
    let threads = u64::from(target.threads_per_cta);
    let whole_accesses = (row.vector * row.element_bytes) as f64 >= ACCESS;
    let powers = |most: u64| (0..=most.ilog2()).map(|power| 1_u64 << power);
    powers(threads)
        .filter(|per_row| per_row * row.vector <= chunk && chunk <= per_row * ELEMENTS_PER_THREAD)
        .flat_map(|per_row| powers(threads / per_row).map(move |rows| (per_row, rows)))
        .filter(|(per_row, rows)| per_row * rows >= WARP)
        .map(|(threads_per_row, rows_per_cta)| Candidate {
            rows_per_cta,
            threads_per_row,
            vector: row.vector,
            chunk,
            streaming: whole_accesses,
            early_reads: whole_accesses,
        })
        .collect()
}

/// Judges a candidate; `None` if an SM cannot hold one CTA of it.
pub(super) fn cost(row: &Row, candidate: Candidate, target: &Target) -> Option<Cost> {
    let threads = candidate.threads();
    let step = candidate.threads_per_row * candidate.vector;
    // Registers that are dead in every thread fold away; in a group that is live at all, each thread has its registers.
    let groups = row.extent.div_ceil(step);
    let elements = groups * candidate.vector;
    let access_bytes = candidate.vector * row.element_bytes;

    let held = |bytes: &u64| {
        // Two elements share a register only where one access moves both.
        let bytes = if candidate.vector * bytes < 4 { 4 } else { *bytes };
        elements * bytes / 4
    };
    let row_registers = row
        .cached
        .iter()
        .map(held)
        .sum::<u64>()
        .max(held(&row.streamed_bytes));
    let early = if candidate.early_reads {
        row.late.iter().map(held).sum()
    } else {
        candidate.vector
    };
    let registers = (BASE_REGISTERS + row_registers + early).next_multiple_of(REGISTER_UNIT);
    let resident = (u64::from(target.threads_per_sm) / threads)
        .min(warps_by_registers(registers, target) / threads.div_ceil(WARP))
        .min(u64::from(target.ctas_per_sm));
    if resident == 0 || registers > u64::from(target.registers_per_thread) {
        return None;
    }

    let live_bytes = (row.extent * row.streamed_bytes) as f64 / candidate.threads_per_row as f64;
    let in_flight = (resident * threads) as f64 * live_bytes;
    let needed = BYTES_IN_FLIGHT * bandwidth_per_sm(target) / bandwidth_per_sm(&SM_90A);
    let serial = (elements * row.streamed_bytes) as f64 / ACCESS - 1.0;
    let live_lanes = row.extent as f64 / (groups * step) as f64;
    let crosses_warps = candidate.crosses_warps();
    let lone_cta = if crosses_warps {
        LONE_CTA
    } else {
        LONE_CTA_OF_WARPS
    };
    let cta_bytes = (row.extent * row.streamed_bytes * candidate.rows_per_cta) as f64;
    let shares_barrier = crosses_warps && candidate.rows_per_cta > 1;
    let sms = f64::from(target.part.sms);
    let ctas = |rows: u64| rows.div_ceil(candidate.rows_per_cta) as f64;
    let busy_sms = row.rows.map_or(1.0, |rows| (ctas(rows) / sms).min(1.0));
    let waves = ctas(row.rows.unwrap_or(NOMINAL_ROWS)) / (resident as f64 * sms);
    Some(Cost {
        losses: [
            ("loads in flight", LOADS_IN_FLIGHT * needed / in_flight),
            ("loads in a row", SERIAL_LOADS * serial.max(0.0)),
            ("barriers", lone_cta / resident as f64),
            (
                "shared barriers",
                if shares_barrier { SHARED_BARRIER } else { 0.0 },
            ),
            ("waves", WAVES * (waves - 1.0).clamp(0.0, 1.0) / waves),
            (
                "CTA launches",
                LAUNCH / threads as f64 + 100.0 * (1.0 - cta_bytes / LAUNCH_BYTES).max(0.0) * waves.min(1.0),
            ),
            (
                "dead lanes",
                DEAD_LANES * (threads as f64 / 512.0).powi(3) * (1.0 - live_lanes),
            ),
            (
                "narrow accesses",
                NARROW_ACCESSES * (ACCESS / access_bytes as f64 - 1.0),
            ),
            (
                "partial sectors",
                PARTIAL_SECTORS * (1.0 / sector_use(row, candidate, groups) - 1.0),
            ),
            ("idle SMs", IDLE_SMS * (1.0 - busy_sms)),
        ],
        registers,
        resident,
    })
}

/// The warps that an SM has registers for.
fn warps_by_registers(registers: u64, target: &Target) -> u64 {
    let of_partition = u64::from(target.registers_per_sm) / SUB_PARTITIONS;
    of_partition / (registers * WARP) * SUB_PARTITIONS
}

/// The share of a sector's bytes that one access of a warp uses.
fn sector_use(row: &Row, candidate: Candidate, groups: u64) -> f64 {
    let elements = match row.contiguous {
        // The rows of a CTA lie one behind the other, so that whole rows leave no gap.
        Contiguous::Row if groups == 1 => return 1.0,
        Contiguous::Row => candidate.threads_per_row * candidate.vector,
        Contiguous::AcrossRows => candidate.rows_per_cta,
        Contiguous::Nowhere => 1,
    };
    let bytes = (elements * row.element_bytes) as f64;
    bytes / (SECTOR * (bytes / SECTOR).ceil())
}

fn bandwidth_per_sm(target: &Target) -> f64 {
    target.part.bandwidth * target.part.copy_efficiency / f64::from(target.part.sms)
}

/// Whether to bound a kernel's registers by what the model expects. With up to three accesses per thread ptxas takes
/// registers for a few instructions' gain and halves the CTAs on an SM; with more, the row leaves it no choice, and a bound
/// that is a little too low spills.
pub(super) fn bounds_registers(row: &Row, candidate: Candidate) -> bool {
    let accesses = row.extent.div_ceil(candidate.threads_per_row * candidate.vector);
    candidate.early_reads && candidate.crosses_warps() && accesses <= 3
}

/// The candidates with their costs, cheapest first; equal ones keep their order.
pub(super) fn ranked(row: &Row, target: &Target) -> Vec<(Candidate, Cost)> {
    let mut ranked = candidates(row, target)
        .into_iter()
        .filter_map(|candidate| Some((candidate, cost(row, candidate, target)?)))
        .collect::<Vec<_>>();
    ranked.sort_by(|(_, a), (_, b)| a.total().total_cmp(&b.total()));
    ranked
}

/// The most elements that a row like `row` may have for a CTA's registers to hold it.
pub(super) fn longest(row: &Row, target: &Target) -> u64 {
    let fits = |vectors: u64| {
        let extent = vectors * row.vector;
        let row = Row {
            extent,
            ..row.clone()
        };
        !ranked(&row, target).is_empty()
    };
    // Halving, as longer rows take no fewer registers.
    let (mut fitting, mut too_long) = (0, u64::from(target.threads_per_cta) * ELEMENTS_PER_THREAD + 1);
    while too_long - fitting > 1 {
        let middle = fitting.midpoint(too_long);
        *(if fits(middle) { &mut fitting } else { &mut too_long }) = middle;
    }
    fitting * row.vector
}

#[cfg(test)]
mod tests {
    use norma_targets::{SM_90A, TARGETS};

    use super::{Candidate, Contiguous, ELEMENTS_PER_THREAD, Row, longest, ranked};

    /// A contiguous row that one input of `bytes` per element makes up, as in RMSNorm.
    fn row(extent: u64, bytes: u64) -> Row {
        let widest = 16 / bytes;
        let vector = (1 << extent.trailing_zeros()).min(widest);
        Row {
            extent,
            rows: None,
            vector,
            element_bytes: bytes,
            streamed_bytes: bytes,
            cached: vec![bytes],
            late: vec![bytes],
            contiguous: Contiguous::Row,
        }
    }

    fn best(row: &Row) -> Option<Candidate> {
        ranked(row, &SM_90A).first().map(|(candidate, _)| *candidate)
    }

    /// (rows per CTA, threads per row, vectors per thread) for a bf16 row.
    fn shape(extent: u64) -> Option<(u64, u64, u64)> {
        let best = best(&row(extent, 2))?;
        let vectors = extent.div_ceil(best.threads_per_row * best.vector);
        Some((best.rows_per_cta, best.threads_per_row, vectors))
    }

    #[test]
    fn the_measured_winners_are_chosen() {
        assert_eq!(shape(1024), Some((1, 128, 1)));
        assert_eq!(shape(2048), Some((1, 128, 2)));
        assert_eq!(shape(4096), Some((1, 256, 2)));
        assert_eq!(shape(8192), Some((1, 512, 2)));
        assert_eq!(shape(16384), Some((1, 512, 4)));
    }

    #[test]
    fn short_rows_are_packed_into_ctas_of_128_or_256_threads() {
        assert_eq!(shape(128), Some((32, 4, 4)));
        assert_eq!(shape(256), Some((8, 32, 1)));
        assert_eq!(shape(512), Some((8, 32, 2)));
    }

    #[test]
    fn rows_between_powers_of_two_leave_few_lanes_dead() {
        assert_eq!(shape(5120), Some((1, 256, 3)));
        assert_eq!(shape(6144), Some((1, 256, 3)));
        assert_eq!(shape(7168), Some((1, 256, 4)));
    }

    #[test]
    fn as_many_bytes_of_f32_get_as_many_threads() {
        for extent in [1024, 4096, 8192] {
            let (f32, bf16) = (best(&row(extent / 2, 4)), best(&row(extent, 2)));
            assert_eq!(
                f32.map(|c| c.threads_per_row),
                bf16.map(|c| c.threads_per_row),
                "{extent}"
            );
        }
    }

    #[test]
    fn every_width_up_to_16384_has_a_schedule_on_every_target() {
        for target in TARGETS {
            for extent in (1..=130).chain([769, 1000, 4095, 5125, 12289, 16383, 16384]) {
                for bytes in [2, 4] {
                    let row = row(extent, bytes);
                    let ranked = ranked(&row, target);
                    let Some((best, cost)) = ranked.first() else {
                        unreachable!("{extent} elements of {bytes} bytes on {}", target.name)
                    };
                    assert!(best.chunk >= extent && best.chunk <= best.threads_per_row * ELEMENTS_PER_THREAD);
                    assert!(best.vector * bytes <= 16 && extent % best.vector == 0);
                    assert!(best.threads_per_row * best.vector <= best.chunk);
                    assert!(best.threads_per_row * best.rows_per_cta <= 1024);
                    assert!(
                        cost.losses
                            .iter()
                            .all(|(_, loss)| loss.is_finite() && *loss >= 0.0)
                    );
                }
            }
        }
    }

    #[test]
    fn few_rows_are_spread_over_more_ctas() {
        let few = Row {
            rows: Some(64),
            ..row(128, 2)
        };
        assert_eq!(best(&few).map(|c| c.rows_per_cta * c.threads_per_row), Some(32));
    }

    #[test]
    fn rows_side_by_side_in_memory_share_a_cta() {
        let columns = Row {
            vector: 1,
            contiguous: Contiguous::AcrossRows,
            ..row(1024, 4)
        };
        assert!(best(&columns).is_some_and(|c| c.rows_per_cta * 4 >= 32));
    }

    #[test]
    fn a_row_beyond_the_registers_has_no_candidate() {
        assert_eq!(best(&row(131_072, 2)), None);
    }

    #[test]
    fn the_longest_row_has_a_candidate_and_a_longer_one_has_none() {
        for (extent, bytes) in [(131_072, 2), (131_072, 4), (50_257, 2), (70_001, 4)] {
            let row = row(extent, bytes);
            let longest = longest(&row, &SM_90A);
            let with = |extent| Row {
                extent,
                ..row.clone()
            };
            assert!(best(&with(longest)).is_some());
            assert_eq!(best(&with(longest + row.vector)), None);
        }
    }
}
