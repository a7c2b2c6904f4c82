//! What a schedule is expected to take, in microseconds: the time that a copy of the kernel's bytes takes, and the ways to
//! fall short of it.
//!
//! Each term is a known loss, fitted to measurements on an H200; docs/schedule.md has the figures and what is left out. Only
//! differences between candidates for the same kernel mean anything.

use std::collections::{BTreeSet, HashMap};

use norma_dialects::norm::{CachePlace, Level};
use norma_targets::{ACCESS_BYTES, SM_90A, Target, WARP_SIZE};

use super::{
    facts::{Access, Facts, Reduction, Use},
    mapping::{Factor, Mapping},
};

/// The fewest threads of a CTA, one warp.
const WARP: u64 = WARP_SIZE as u64;
/// DRAM is read and written in sectors of 32 bytes.
const SECTOR: f64 = 32.0;
/// The widest access of one thread, in bytes.
const ACCESS: f64 = ACCESS_BYTES as f64;
/// What is accessed along other lanes than it is held goes through shared memory, in per cent of a copy of its bytes: 18.6 bytes a
/// cycle of an SM go to DRAM, and 128 into shared memory and out of it again. Not measured; a part of it is hidden.
const EXCHANGE: f64 = 10.0;
/// One 16-byte access by each of an SM's 2048 threads: with these bytes in flight a copy on an H200 loses what
/// `LOADS_IN_FLIGHT` says.
const BYTES_IN_FLIGHT: f64 = 2048.0 * ACCESS;
/// Bytes that an SM must have in flight lest latency alone bound it: a sum over rows with 8, 16 and 32 KB in flight on an SM
/// reaches 1900, 3120 and 3280 GB/s.
const LATENCY_BYTES: f64 = 20.0 * 1024.0;
/// A row that a CTA alone on its SM holds: nothing is read while it reduces and writes, in per cent. RMSNorm at 16384 columns
/// with 1024 threads: 2962 GB/s, with two CTAs of 512 threads 4237.
const ALONE: f64 = 35.0;
/// A walk that reduces within each step, over rows or by merged reductions: its loads wait for the step before. RMSNorm's
/// gradient at 4096 columns with one CTA of 256 threads for each SM 2363 GB/s, with two 3436. LayerNorm at 16384 columns, merged,
/// with 32 KB in flight 3744, with 48 KB 4256.
const WALK: f64 = 3.0;
/// Latency that a thread's single 16-byte load does not hide, in per cent: RMSNorm with 2 vectors per thread beats 1.
const LOADS_IN_FLIGHT: f64 = 4.8;
/// Each further 16 bytes per thread: copies with 4 vectors per thread reach 4080 GB/s, with 1 vector 4230.
const SERIAL_LOADS: f64 = 1.2;
/// The same in a loop, where other CTAs are in another step.
const SERIAL_LOADS_IN_LOOP: f64 = 1.0;
/// A CTA alone on its SM that holds a row: it reads nothing while it reduces and writes, with the square of the reductions that
/// wait for one another; n CTAs lose an n-th. RMSNorm at 8192 columns: 4098 GB/s held by three CTAs of 512 threads, 4161 read again from L1 by
/// CTAs of 256. LayerNorm at 4096 columns, two reductions: 3896 held by five CTAs of 256 threads, 4133 by ten of 128.
const LONE_CTA: f64 = 10.0;
/// The same of a CTA that walks its row in a loop, and reads most of the time: with the square of the CTAs. Cross-entropy at
/// 32768 columns: 1981 GB/s with one CTA of 1024 threads, 3365 with three of 512.
const LONE_WALKING_CTA: f64 = 18.0;
/// The same where a row stays within a warp: no barrier, but a CTA gives its registers back only when its last warp ends.
const LONE_CTA_OF_WARPS: f64 = 3.6;
/// Rows that fewer than four warps walk with merged reductions, less a quarter of it for each warp: more rows are under way, and each takes shorter pieces of
/// memory. Cross-entropy at 32768 columns, the same loop: 3910 GB/s with one warp for a row, 3973 with two, 4202 with four.
const FEW_WARPS: f64 = 8.0;
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
const WAVES: f64 = 12.0;
/// Each doubling of the number of accesses, less one: rows of 4095 columns, read 2 bytes at a time, reach 3465 GB/s, rows
/// of 4096 columns 4168.
const NARROW_ACCESSES: f64 = 2.4;
/// The ends of rows that begin anywhere, element by element. Softmax over 50257 columns reaches 4034 GB/s of 4297.
const ROW_ENDS: f64 = 6.0;
/// What all rows share, a weight, and is read at other places than where vectors are aligned, once for the rows of a CTA. RMSNorm over
/// 4095 columns with one, two and four rows for each CTA: 2456, 3161 and 3344 GB/s, against 3465 where nothing is aligned.
const UNALIGNED_READS: f64 = 48.0;
/// Sectors that one request of a warp moves twice as often as it uses their bytes; what is left of them is in L1 for the next.
/// Not measured.
const PARTIAL_SECTORS: f64 = 30.0;
/// Bytes read from DRAM that nobody uses, as a share of those that are.
const WASTED_BYTES: f64 = 100.0;
/// Bytes of neighbours that one request of a warp takes, from which on DRAM serves it best, and what each halving loses, in per
/// cent. A sum over rows of bf16 reaches 4163 GB/s with runs of 512 bytes and 3340 with 256; batch statistics 4298 with 512 and
/// 3016 with 32.
const RUN: f64 = 512.0;
const SHORT_RUNS: f64 = 12.0;
/// The same of writes, times so much. GroupNorm over neighbouring channels reaches 1984 GB/s with runs of 32 bytes, 2551 with 64.
const SHORT_WRITES: f64 = 2.5;
/// The same for each halving of the run that one request takes, where others of the CTA take what lies beside it at the same time:
/// 128 columns reach 2840 GB/s with requests of 8 pieces of 64 bytes, 2893 with whole ones.
const SHORT_REQUESTS: f64 = 1.0;
/// What is read again from L1, and from L2, as a share of all bytes. RMSNorm at 16384 columns: 4278 GB/s from L1, 4238 from L2,
/// 4237 from registers; LayerNorm there 4255, 4068 and 4105. At 4096 columns, where nothing else is lost, 4164 and 4142 from L1 and
/// 4168 from registers.
const AGAIN_FROM_L1: f64 = 1.0;
/// The same for all of L1, with the square of the share that rows take of it: the fuller it is, the more of it is gone when it is
/// read again. RMSNorm at 16384 columns, three CTAs of 512 threads for each SM, 37% of L1: 4278 GB/s, five or six of 256, 63 to 75%:
/// 4171; softmax, which reads twice again, 4230 and 3996.
const FULL_L1: f64 = 25.0;
const AGAIN_FROM_L2: f64 = 12.0;
/// The same of rows that lie within a warp, besides: 128 columns reach 2920 GB/s read again, 3020 held.
const AGAIN_WITHIN_WARP: f64 = 8.0;
/// Rows kept in an L1 that is too small for them, as a share of all bytes. Not measured.
const MISPLACED: f64 = 1.0;
/// The share of L1 that rows to be read again may take: streams of weights and results need the rest.
const L1_SHARE: f64 = 0.85;
/// The shares of L2 at which rows to be read again begin to be evicted, and at which all are. RMSNorm from L2 with two rows
/// on each SM of 132: 4167 GB/s at 32768 columns (17 MB), 3704 at 65536 (35 MB), 2934 at 131072 (69 MB).
const L2_FULL: [f64; 2] = [0.4, 1.2];
/// The same of a kernel that reads its row again in a loop: ptxas takes 32 and 38 for 1 and 2 vectors at a time.
const BASE_REGISTERS_OF_LOOP: u64 = 22;
/// The same of a walk over rows that reduces within each step, and computes on what it read before and after that: RMSNorm's
/// gradient with one access of each input needs 78.
const BASE_REGISTERS_OF_WALK: u64 = 48;
/// Registers of a kernel besides the row and what is read early: addresses, the reduction, the second phase. ptxas takes
/// 32, 40, 48 and 63 for 1, 2, 3 and 4 vectors of bf16 row and weight.
const BASE_REGISTERS: u64 = 24;
/// The same of rows that begin anywhere, whose ends have addresses and predicates of their own: ptxas takes 8 more than expected
/// otherwise for RMSNorm at 4095, 4097 and 5125 columns.
const REGISTERS_OF_ALIGNED_ROWS: u64 = 8;
/// Registers are handed out to a warp in units of 8 for each thread.
const REGISTER_UNIT: u64 = 8;
/// Microseconds of one kernel beyond its bytes: launch and drain. A copy of 16 MB takes 2.3 us longer than its share of one
/// of 2 GB.
pub const KERNEL_US: f64 = 2.3;
/// What the warps of a part of a split reduction exchange at its end, for each doubling of the warps, in microseconds: parts are of
/// one wave and end together, so that nothing hides it. A sum over 32768 rows of 4096 columns takes 72 us with 8 warps, 66 with 4
/// and 65 with 2.
const END_OF_PART_US: f64 = 2.0;
/// Instructions that an SM issues in a second: four schedulers, the H200's boost clock, and the share of issue slots that
/// kernels of this kind fill.
const ISSUE_PER_SM: f64 = 4.0 * 1.755e9 * 0.7;
/// Instructions of one op of the body on one element: conversions, addresses and predicates included.
const INSTRUCTIONS_PER_OP: f64 = 1.2;

/// Ops that combine two partial results of merged reductions: two exponentials, or the weights of two means, and selects.
const OPS_PER_MERGE: f64 = 24.0;

/// Ops that move one element through shared memory, out of one thread and into another. Not measured alone: a transposed
/// quantisation that moves its result so reaches 882 GB/s, one whose threads hold whole blocks 2387.
const OPS_PER_EXCHANGE: f64 = 6.0;
/// Ops of one step of a reduction within a warp, a shuffle and its combination; and of what follows it between warps, a store, a
/// barrier, a load, and the shuffles of the warps' results. Cross-entropy over 32768 columns takes 96 instructions of a thread
/// behind its loop, three reductions.
const OPS_PER_SHUFFLE: f64 = 2.0;
const OPS_BETWEEN_WARPS: f64 = 20.0;

/// The expected cost of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The time of a copy of the same bytes, in microseconds.
    pub ideal: f64,
    /// Each loss by name, in microseconds.
    pub losses: Vec<(&'static str, f64)>,
    /// Registers of a thread.
    pub registers: u64,
    /// CTAs that an SM holds at a time.
    pub resident: u64,
    /// Bytes of the sectors that warps ask for, of accesses that move a good part of all bytes: (read, written). What later
    /// passes over a row read again counts again.
    pub requested: (f64, f64),
}

impl Cost {
    /// The expected time, in microseconds.
    pub fn total(&self) -> f64 {
        self.ideal + self.losses.iter().map(|(_, loss)| loss).sum::<f64>()
    }

    /// The share of a copy's speed that is reached.
    pub fn roof_share(&self) -> f64 {
        self.ideal / self.total()
    }
}

/// How a mapping spreads one dim.
struct Spread {
    extent: u64,
    /// Elements of a thread, as far as any thread has one.
    registers: u64,
    vector: u64,
    lanes: u64,
    warps: u64,
    /// Points that a CTA holds at a time.
    tile: u64,
    is_looped: bool,
    /// CTAs along the dim.
    ctas: u64,
    /// The share of the points in live registers that exist.
    live: f64,
}

impl Spread {
    /// That of a dim whose tiles begin up to `before` points before it.
    fn of(factors: &[Factor], extent: u64, before: u64) -> Self {
        let of = |level: Level| {
            factors
                .iter()
                .filter(|factor| factor.level == level)
                .filter_map(|factor| factor.size)
                .product::<i64>() as u64
        };
        let vector = of(Level::Vector);
        let (lanes, warps) = (of(Level::Lane), of(Level::Warp));
        let whole = of(Level::Register) * vector;
        let tile = whole * lanes * warps;
        let has = |level: Level| factors.iter().any(|factor| factor.level == level);
        let rest = |level: Level| {
            factors
                .iter()
                .any(|factor| factor.level == level && factor.size.is_none())
        };
        let is_looped = has(Level::Loop);
        let split = of(Level::Split);
        let outer = extent.div_ceil(tile).max(1);
        let held_whole = !is_looped && !has(Level::Grid);
        // Registers that are dead in every thread fold away; in a group that is live at all, each thread has its registers.
        let registers = if held_whole {
            ((extent + before).div_ceil(lanes * warps * vector).max(1) * vector).min(whole)
        } else {
            whole
        };
        let covered = if held_whole {
            registers * lanes * warps
        } else {
            outer * tile
        };
        Self {
            extent,
            registers,
            vector,
            lanes,
            warps,
            tile,
            is_looped,
            ctas: if rest(Level::Grid) { outer } else { of(Level::Grid) } * split,
            live: (extent as f64 / covered as f64).min(1.0),
        }
    }

    fn threads(&self) -> u64 {
        self.lanes * self.warps
    }

    /// Steps of the dim's loop.
    fn steps(&self) -> f64 {
        (self.extent as f64 / (self.tile * self.ctas) as f64).ceil()
    }

    /// Neighbouring points that neighbouring registers of a thread hold.
    fn run(&self) -> u64 {
        if self.vector > 1 || self.threads() > 1 {
            self.vector
        } else {
            self.registers
        }
    }
}

/// Judges a candidate; `None` if an SM cannot hold one CTA of it.
pub fn cost(facts: &Facts, mapping: &Mapping, target: &Target) -> Option<Cost> {
    cost_with(facts, mapping, target, None)
}

/// As [`cost`], with the registers of a thread that the assembler took, if they are known.
fn cost_with(facts: &Facts, mapping: &Mapping, target: &Target, assembled: Option<u64>) -> Option<Cost> {
    let dims = spreads(facts, mapping);
    let threads = mapping.threads() as u64;
    let (read, written) = facts.traffic();
    let bytes = (read + written).max(1.0);
    let streams = |access: &Access| access.total_bytes(&facts.dims) >= 0.1 * bytes;
    let used = |access: &Access| access.uses.clone();
    let held = |access: &Access| {
        let uses = used(access);
        dims.iter()
            .zip(uses)
            .filter(|(_, uses)| *uses)
            .map(|(dim, _)| dim.registers)
            .product::<u64>()
    };
    let width = |access: &Access| {
        access.contiguous().map_or(1, |dim| {
            dims[dim].run().min(facts.vector(access, mapping.aligned_dim))
        })
    };
    let registers_of = |access: &Access| {
        // Two elements share a register only where one access moves both.
        let size = if width(access) * access.bytes < 4 {
            4
        } else {
            access.bytes
        };
        held(access) * size / 4
    };
    let is_kept = |access: &Access| access.is_reused && mapping.place(access.buffer) == CachePlace::Register;
    let no_reduction = facts.reductions.is_empty();
    let streamed = facts
        .accesses
        .iter()
        .filter(|access| !access.is_write && (access.contributes || no_reduction) && streams(access))
        .collect::<Vec<_>>();

    let rows = facts
        .accesses
        .iter()
        .filter(|access| is_kept(access))
        .map(registers_of)
        .sum::<u64>();
    let streamed_registers = streamed.iter().map(|access| registers_of(access)).sum::<u64>();
    let late =
        |access: &&Access| !access.is_write && !access.is_reused && !access.contributes && !no_reduction;
    let is_looped = dims.iter().any(|dim| dim.is_looped);
    let vector = mapping.extent(Level::Vector) as u64;
    let late = if mapping.early_reads || is_looped {
        facts.accesses.iter().filter(late).map(registers_of).sum()
    } else {
        0
    };
    // What the last phase computes takes the registers of one access of 16-bit elements at least.
    let early = late.max(vector / 2);
    let carried = facts
        .reductions
        .iter()
        .filter(|reduction| (0..dims.len()).any(|dim| reduction.over[dim] && dims[dim].is_looped))
        .map(|reduction| {
            let kept = (0..dims.len()).filter(|dim| reduction.keeps[*dim]);
            reduction.bytes.div_ceil(4) * kept.map(|dim| dims[dim].registers).product::<u64>()
        })
        .sum::<u64>();
    // A reduction over dims that no loop walks, within a loop over others, is one within each step.
    let stays_in_step =
        |reduction: &Reduction| (0..dims.len()).all(|dim| !reduction.over[dim] || !dims[dim].is_looped);
    let reduces_in_steps = is_looped && facts.reductions.iter().any(stays_in_step);
    let is_merged = |reduction: &Reduction| {
        let is_looped = (0..dims.len()).any(|dim| reduction.over[dim] && dims[dim].is_looped);
        mapping.merge_reductions && reduction.follows.is_some() && is_looped
    };
    // What is computed on before and after a reduction of what one step holds stays in f32.
    let reduces_what_a_step_holds = reduces_in_steps || facts.reductions.iter().any(is_merged);
    let wide = if reduces_what_a_step_holds { 2 } else { 1 };
    let base = match (is_looped, reduces_in_steps) {
        (_, true) => BASE_REGISTERS_OF_WALK,
        (true, false) => BASE_REGISTERS_OF_LOOP,
        (false, _) => BASE_REGISTERS,
    };
    let base = base + mapping.aligned_dim.map_or(0, |_| REGISTERS_OF_ALIGNED_ROWS);
    let estimated = base + wide * rows.max(streamed_registers) + early + carried;
    let registers = assembled.unwrap_or(estimated).next_multiple_of(REGISTER_UNIT);
    let by_registers = target.resident_ctas(threads, registers);
    // A bound on registers may ask for fewer CTAs than the estimate allows.
    let resident = match u64::try_from(mapping.min_ctas_per_sm) {
        Ok(bound) if bound > 0 => by_registers.min(bound),
        _ => by_registers,
    };
    if resident == 0 || registers > u64::from(target.registers_per_thread) {
        return None;
    }

    let sms = f64::from(target.part.sms);
    let ctas = dims.iter().map(|dim| dim.ctas).product::<u64>().max(1) as f64;
    // Fewer CTAs than fit leave SMs with fewer.
    let resident_now = (resident as f64).min((ctas / sms).ceil().max(1.0));
    let live_lanes = dims.iter().map(|dim| dim.live).product::<f64>();
    let step_bytes = streamed
        .iter()
        .map(|access| (held(access) * access.bytes) as f64)
        .sum::<f64>();
    let needed = BYTES_IN_FLIGHT * bandwidth_per_sm(target) / bandwidth_per_sm(&SM_90A);
    let in_flight = (resident_now * threads as f64 * step_bytes * live_lanes).max(1.0);
    let crosses_warps = facts
        .reductions
        .iter()
        .any(|reduction| (0..dims.len()).any(|dim| reduction.over[dim] && dims[dim].warps > 1));
    let lone_cta = match (crosses_warps, is_looped) {
        (true, false) => LONE_CTA * (rounds_between_warps(facts, &dims) as f64).powi(2) / resident_now,
        (true, true) => LONE_WALKING_CTA / (resident_now * resident_now),
        (false, _) => LONE_CTA_OF_WARPS / resident_now,
    };
    let warps_of_row = facts
        .reductions
        .iter()
        .map(|reduction| {
            let over = (0..dims.len()).filter(|dim| reduction.over[*dim]);
            over.map(|dim| dims[dim].warps).product::<u64>()
        })
        .max()
        .unwrap_or(1);
    let few_warps = match is_looped && mapping.merge_reductions {
        true => FEW_WARPS * (1.0 - warps_of_row as f64 / 4.0).max(0.0),
        false => 0.0,
    };
    // What an SM asks for all at once waits for one latency, however little it is.
    let rounds = (read / (sms * (ctas / sms).min(1.0) * in_flight)).max(1.0);
    let latency = 100.0
        * (1.0 - 1.0 / rounds)
        * (LATENCY_BYTES * needed / (BYTES_IN_FLIGHT * in_flight) - 1.0).max(0.0);
    let serial = if is_looped {
        SERIAL_LOADS_IN_LOOP
    } else {
        SERIAL_LOADS
    };
    let waits = if reduces_what_a_step_holds { WALK } else { 1.0 };
    let alone = if crosses_warps && !is_looped && resident == 1 {
        ALONE
    } else {
        0.0
    };
    let beside = (0..dims.len())
        .filter(|dim| facts.dims[*dim].usage == Use::Kept)
        .map(|dim| dims[dim].tile)
        .product::<u64>();
    let cta_bytes = read / ctas;
    let waves = ctas / (resident as f64 * sms);
    let busy = (ctas / sms).min(1.0);
    let share = |access: &Access| access.total_bytes(&facts.dims) / bytes;
    let mut narrow = 0.0;
    let mut partial = 0.0;
    let mut wasted = 0.0;
    let mut short = 0.0;
    let (mut exchanged, mut exchanged_points) = (0.0, 0.0);
    let mut requested = (0.0, 0.0);
    for access in facts.accesses.iter().filter(|access| streams(access)) {
        let sectors = SectorUse::of(access, &dims);
        let (width, request) = match access.contiguous().filter(|_| sectors.is_moved()) {
            Some(dim) => {
                exchanged += share(access) * EXCHANGE;
                exchanged_points += access.total_bytes(&facts.dims) / access.bytes as f64;
                (dims[dim].tile.min(access.vector), sectors.tile)
            }
            None => (width(access), sectors.request),
        };
        let bytes_of_one = (width * access.bytes) as f64;
        narrow += share(access) * NARROW_ACCESSES * (ACCESS / bytes_of_one.min(ACCESS) - 1.0);
        let of_kind = if access.is_write { SHORT_WRITES } else { 1.0 };
        short += share(access) * of_kind * SHORT_RUNS * (RUN / sectors.run.min(RUN)).log2();
        short += share(access) * SHORT_REQUESTS * (RUN / sectors.run_of_request.min(RUN)).log2();
        partial += share(access) * PARTIAL_SECTORS * (1.0 / request - 1.0);
        wasted += share(access) * WASTED_BYTES * (1.0 / sectors.tile - 1.0);
        let passes = match access.is_reused && !is_kept(access) {
            true => passes(
                facts,
                access,
                mapping.merge_reductions,
                &|reduction: &Reduction| passes_in_loop(facts, &dims, reduction),
            ),
            false => 1,
        };
        *(if access.is_write {
            &mut requested.1
        } else {
            &mut requested.0
        }) += passes as f64 * access.total_bytes(&facts.dims) / request;
    }

    let ideal = 1e6 * bytes / (target.part.bandwidth * target.part.copy_efficiency);
    let percent = |loss: f64| ideal * loss / 100.0;
    let again = again(
        facts,
        mapping,
        &dims,
        resident_now * sms,
        resident_now,
        target,
        bytes,
    );
    let work = facts.work
        + merging_work(facts, mapping, &dims)
        + exchange_work(facts, &dims, ctas * threads as f64)
        + exchanged_points * OPS_PER_EXCHANGE;
    let issue = 1e6 * work * INSTRUCTIONS_PER_OP
        / (f64::from(WARP as u32) * ISSUE_PER_SM * sms * busy * live_lanes.max(0.01));
    let parts = mapping.extent(Level::Split) as f64;
    let scratch = facts
        .reductions
        .iter()
        .map(|reduction| {
            let kept = (0..dims.len()).filter(|dim| reduction.keeps[*dim]);
            kept.map(|dim| dims[dim].extent as f64).product::<f64>() * reduction.bytes as f64
        })
        .sum::<f64>();
    let second = if parts > 1.0 {
        // Partial results are written and read again.
        KERNEL_US
            + END_OF_PART_US * (warps_of_row as f64).log2()
            + percent(100.0 * 2.0 * parts * scratch / bytes)
    } else {
        0.0
    };
    Some(Cost {
        ideal,
        losses: vec![
            (
                "loads in flight",
                percent(waits * (LOADS_IN_FLIGHT * needed / in_flight + latency)),
            ),
            (
                "loads in a row",
                percent(serial * (step_bytes / ACCESS - 1.0).max(0.0)),
            ),
            ("barriers", percent(lone_cta + alone)),
            ("few warps", percent(few_warps)),
            (
                "shared barriers",
                percent(if crosses_warps && beside > 1 {
                    SHARED_BARRIER
                } else {
                    0.0
                }),
            ),
            ("waves", percent(WAVES * (waves - 1.0).clamp(0.0, 1.0) / waves)),
            (
                "CTA launches",
                percent(
                    LAUNCH / threads as f64
                        + 100.0 * (1.0 - cta_bytes / LAUNCH_BYTES).max(0.0) * waves.min(1.0),
                ),
            ),
            (
                "dead lanes",
                percent(DEAD_LANES * (threads as f64 / 512.0).powi(3) * (1.0 - live_lanes)),
            ),
            ("narrow accesses", percent(narrow)),
            ("aligned rows", percent(aligned_rows(facts, mapping, &dims))),
            ("partial sectors", percent(partial)),
            ("wasted bytes", percent(wasted)),
            ("short runs", percent(short)),
            ("exchanges", percent(exchanged)),
            ("reading again", percent(again)),
            ("instructions", (issue - ideal).max(0.0)),
            ("idle SMs", percent(100.0 * (1.0 / busy - 1.0))),
            ("a second kernel", second),
        ],
        registers,
        resident,
        requested,
    })
}

/// Whether a reduction passes over its dims in a loop, so that what comes back to them has to be read again.
fn passes_in_loop(facts: &Facts, dims: &[Spread], reduction: &Reduction) -> bool {
    let is_looped = |dim: usize| dims[dim].is_looped && facts.dims[dim].is_revisited;
    (0..dims.len()).any(|dim| reduction.over[dim] && is_looped(dim))
}

/// How a mapping spreads each dim.
fn spreads(facts: &Facts, mapping: &Mapping) -> Vec<Spread> {
    let spread = |(position, (dim, factors)): (usize, (&super::facts::Dim, &Vec<Factor>))| {
        let before = match mapping.aligned_dim {
            Some(aligned) if aligned == position => mapping.vector(position) as u64 - 1,
            _ => 0,
        };
        Spread::of(factors, dim.extent, before)
    };
    let dims = facts.dims.iter().zip(&mapping.spread);
    dims.enumerate().map(spread).collect()
}

/// What tiles that begin before their rows cost, in per cent.
fn aligned_rows(facts: &Facts, mapping: &Mapping, dims: &[Spread]) -> f64 {
    let Some(aligned) = mapping.aligned_dim else {
        return 0.0;
    };
    // What all rows share is read element by element, once for the rows of a CTA.
    let is_shared = |access: &&Access| {
        let is_needed = access.uses[aligned] && !access.is_write;
        is_needed && facts.vector(access, Some(aligned)) < access.vector_if_aligned
    };
    let shared = facts.accesses.iter().filter(is_shared).count() as f64;
    let rows = (0..dims.len()).filter(|dim| *dim != aligned);
    let rows = rows.map(|dim| dims[dim].registers).product::<u64>() as f64;
    ROW_ENDS + UNALIGNED_READS * shared / rows
}

/// What reading again costs where a loop passes over its dim more than once, in per cent.
fn again(
    facts: &Facts,
    mapping: &Mapping,
    dims: &[Spread],
    ctas_at_once: f64,
    ctas_on_sm: f64,
    target: &Target,
    bytes: f64,
) -> f64 {
    let is_looped = |dim: usize| dims[dim].is_looped && facts.dims[dim].is_revisited;
    if !(0..dims.len()).any(is_looped) {
        return 0.0;
    }
    let crosses_warps = (0..dims.len()).any(|dim| is_looped(dim) && dims[dim].warps > 1);
    let within_warp = if crosses_warps { 0.0 } else { AGAIN_WITHIN_WARP };
    let in_loop = |reduction: &Reduction| passes_in_loop(facts, dims, reduction);
    let mut lost = 0.0;
    for access in facts.accesses.iter().filter(|access| access.is_reused) {
        let passes = passes(facts, access, mapping.merge_reductions, &in_loop);
        let share = passes.saturating_sub(1) as f64 * access.total_bytes(&facts.dims) / bytes;
        let row = dims
            .iter()
            .zip(&access.uses)
            .filter(|(_, uses)| **uses)
            .map(|(dim, _)| if dim.is_looped { dim.extent } else { dim.tile.min(dim.extent) } as f64)
            .product::<f64>()
            * access.bytes as f64;
        let fits_l1 = row * ctas_on_sm <= L1_SHARE * f64::from(target.l1_and_shared);
        let l2 = target.part.l2_bytes as f64;
        let evicted = ((row * ctas_at_once / l2 - L2_FULL[0]) / (L2_FULL[1] - L2_FULL[0])).clamp(0.0, 1.0);
        lost += share
            * match mapping.place(access.buffer) {
                CachePlace::L1 if fits_l1 => {
                    AGAIN_FROM_L1
                        + within_warp
                        + FULL_L1 * (row * ctas_on_sm / f64::from(target.l1_and_shared)).powi(2)
                }
                // Hints for a cache that does not hold the row only displace other lines.
                CachePlace::L1 => MISPLACED + AGAIN_FROM_L2 + 100.0 * evicted,
                CachePlace::L2 => AGAIN_FROM_L2 + 100.0 * evicted,
                _ => 100.0,
            };
    }
    lost
}

/// Ops that combining partial results of merged reductions takes beyond the reductions themselves, in all threads and steps.
fn merging_work(facts: &Facts, mapping: &Mapping, dims: &[Spread]) -> f64 {
    let is_merged = |reduction: &&Reduction| {
        let is_looped = (0..dims.len()).any(|dim| reduction.over[dim] && dims[dim].is_looped);
        mapping.merge_reductions && reduction.follows.is_some() && is_looped
    };
    let combinations = |reduction: &Reduction| {
        (0..dims.len())
            .map(|dim| match (reduction.over[dim], reduction.keeps[dim]) {
                (true, _) => dims[dim].extent as f64 / dims[dim].registers as f64,
                (false, true) => dims[dim].extent as f64,
                (false, false) => 1.0,
            })
            .product::<f64>()
    };
    let merged = facts.reductions.iter().filter(is_merged);
    merged.map(combinations).sum::<f64>() * OPS_PER_MERGE
}

/// Ops of all threads for what they tell each other: each reduction once for each step of the loops that its result varies over.
fn exchange_work(facts: &Facts, dims: &[Spread], all_threads: f64) -> f64 {
    let of = |reduction: &Reduction| {
        let over = || (0..dims.len()).filter(|dim| reduction.over[*dim]);
        let lanes = over().map(|dim| dims[dim].lanes).product::<u64>() as f64;
        let crosses_warps = over().any(|dim| dims[dim].warps > 1);
        let times = (0..dims.len())
            .filter(|dim| !reduction.over[*dim] && dims[*dim].is_looped)
            .map(|dim| dims[dim].steps())
            .product::<f64>();
        let between_warps = if crosses_warps { OPS_BETWEEN_WARPS } else { 0.0 };
        let kept = (0..dims.len()).filter(|dim| reduction.keeps[*dim]);
        let results = kept.map(|dim| dims[dim].registers).product::<u64>() * reduction.bytes.div_ceil(4);
        times * results as f64 * (OPS_PER_SHUFFLE * lanes.log2() + between_warps)
    };
    all_threads * facts.reductions.iter().map(of).sum::<f64>()
}

/// How often warps wait for each other: reductions across warps that wait for one another.
fn rounds_between_warps(facts: &Facts, dims: &[Spread]) -> usize {
    let mut ends = Vec::<usize>::new();
    for reduction in &facts.reductions {
        let crosses = (0..dims.len()).any(|dim| reduction.over[dim] && dims[dim].warps > 1);
        let waits = reduction.waits_for.iter().filter_map(|waited| ends.get(*waited));
        ends.push(waits.copied().max().unwrap_or(0) + usize::from(crosses));
    }
    ends.into_iter().max().unwrap_or(0)
}

/// How many loops over reduced dims read an access, one after the other: as many as there are different numbers of loops that
/// what needs it has to wait for.
fn passes(facts: &Facts, access: &Access, is_merged: bool, in_loop: &impl Fn(&Reduction) -> bool) -> usize {
    // A reduction waits for earlier ones alone, so that their numbers of loops are known.
    let mut ends = Vec::<usize>::new();
    let starts = |waits_for: &BTreeSet<usize>, follows: Option<usize>, ends: &[usize]| {
        let follows = follows.filter(|_| is_merged);
        let waits = waits_for.iter().filter(|reduction| Some(**reduction) != follows);
        waits
            .filter_map(|reduction| ends.get(*reduction))
            .copied()
            .max()
            .unwrap_or(0)
    };
    for reduction in &facts.reductions {
        let start = starts(&reduction.waits_for, reduction.follows, &ends);
        ends.push(start + usize::from(in_loop(reduction)));
    }
    let needs = access.needed_by.iter().map(|need| {
        let follows = need
            .reduction
            .and_then(|reduction| facts.reductions.get(reduction)?.follows);
        starts(&need.waits_for, follows, &ends)
    });
    needs.collect::<BTreeSet<_>>().len()
}

/// How an access uses sectors.
struct SectorUse {
    /// The share of the sectors' bytes that one request of a warp uses.
    request: f64,
    /// The share that the CTA uses while it holds a tile.
    tile: f64,
    /// Bytes of neighbours that are taken together: by one request of a warp where loops bring others in between, else by a CTA.
    run: f64,
    /// Bytes of neighbours that one request of a warp takes.
    run_of_request: f64,
}

impl SectorUse {
    fn of(access: &Access, dims: &[Spread]) -> Self {
        let share = |points: u64| {
            let bytes = (points * access.bytes) as f64;
            bytes / (SECTOR * (bytes / SECTOR).ceil())
        };
        // Points that follow each other in memory: along the contiguous dim, and on along the dim whose points are as far apart
        // as what lies within is long.
        let (mut request, mut tile) = (Some(1), Some(1));
        let (mut of_request, mut of_tile) = (1, 1);
        let mut stride = 1;
        let mut is_run_on = false;
        while let Some(dim) = access.strides.iter().position(|other| *other == Some(stride)) {
            let along = &dims[dim];
            let held = if along.is_looped {
                along.extent
            } else {
                along.tile.min(along.extent)
            };
            if let Some(points) = request {
                of_request = points * if stride == 1 { along.run() } else { 1 } * along.lanes;
                request = (of_request >= points * along.extent).then_some(points * along.extent);
                of_request = of_request.min(points * along.extent);
            }
            if let Some(points) = tile {
                of_tile = points * held;
                // CTAs that run at the same time are neighbours along the last dim that has several, and those of a kernel
                // without loops stay side by side.
                is_run_on = held < along.extent
                    && dims.iter().all(|dim| !dim.is_looped)
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
            run: if is_run_on {
                RUN
            } else if dims.iter().any(|dim| dim.is_looped) {
                (of_request * access.bytes) as f64
            } else {
                (of_tile * access.bytes) as f64
            },
        }
    }

    /// Whether a tile is better moved between threads than accessed so, as `gl-optimize-layouts` finds: L2 would serve each sector
    /// more than twice.
    fn is_moved(&self) -> bool {
        self.request < 0.5 * self.tile
    }
}

fn bandwidth_per_sm(target: &Target) -> f64 {
    target.part.bandwidth * target.part.copy_efficiency / f64::from(target.part.sms)
}

/// Whether to bound a kernel's registers by what the model expects. With up to three accesses per thread ptxas takes
/// registers for a few instructions' gain and halves the CTAs on an SM; with more, the row leaves it no choice, and a bound
/// that is a little too low spills.
pub fn bounds_registers(facts: &Facts, mapping: &Mapping) -> bool {
    let crosses_warps = facts.reductions.iter().any(|reduction| {
        let warps = |factors: &Vec<Factor>| factors.iter().any(|factor| factor.level == Level::Warp);
        mapping
            .spread
            .iter()
            .zip(&reduction.over)
            .any(|(factors, over)| *over && warps(factors))
    });
    let spreads = spreads(facts, mapping);
    let accesses = spreads.iter().map(|spread| spread.registers / spread.vector);
    let held = accesses.product::<u64>();
    mapping.early_reads && crosses_warps && held <= 3
}

/// How many bounds on registers are candidates: as many CTAs as the model expects, and fewer.
const BOUNDS_TRIED: u64 = 4;

/// What the assembler made of mappings: the registers of a thread, or `None` where some spilled.
pub type Assembled = HashMap<Mapping, Option<u64>>;

/// The candidates with their costs, cheapest first; equal ones keep their order. Registers are bounded as the model expects
/// them, and are those of the assembler where it has been asked; what spilled is no candidate.
pub fn ranked(
    facts: &Facts,
    candidates: Vec<Mapping>,
    target: &Target,
    assembled: &Assembled,
) -> Vec<(Mapping, Cost)> {
    let mut ranked = Vec::new();
    for mapping in candidates {
        let Some(expected) = cost(facts, &mapping, target) else {
            continue;
        };
        if !bounds_registers(facts, &mapping) {
            ranked.push((mapping, expected));
            continue;
        }
        // A bound that is too tight spills: the same schedule with fewer CTAs is a candidate of its own.
        for fewer in (0..BOUNDS_TRIED).filter(|fewer| expected.resident > *fewer) {
            let bounded = Mapping {
                min_ctas_per_sm: (expected.resident - fewer) as i64,
                ..mapping.clone()
            };
            ranked.extend(cost(facts, &bounded, target).map(|cost| (bounded, cost)));
        }
    }
    if !assembled.is_empty() {
        ranked = ranked
            .into_iter()
            .filter_map(|(mapping, cost)| {
                let cost = match assembled.get(&mapping) {
                    None => cost,
                    Some(registers) => cost_with(facts, &mapping, target, Some((*registers)?))?,
                };
                Some((mapping, cost))
            })
            .collect();
    }
    ranked.sort_by(|(_, a), (_, b)| a.total().total_cmp(&b.total()));
    ranked
}

#[cfg(test)]
mod tests {
    use norma_targets::{SM_90A, TARGETS};

    use super::{super::candidates::candidates, *};
    use crate::schedule::facts::{Dim, Need};

    fn dim(extent: u64, usage: Use, is_revisited: bool) -> Dim {
        Dim {
            extent,
            is_known: true,
            usage,
            is_revisited,
        }
    }

    fn access(buffer: usize, is_write: bool, bytes: u64, strides: &[i64], vector: u64) -> Access {
        Access {
            buffer,
            is_write,
            bytes,
            uses: strides.iter().map(|stride| *stride != 0).collect(),
            strides: strides.iter().map(|stride| Some(*stride)).collect(),
            offset: Some(0),
            vector,
            vector_if_aligned: 16 / bytes,
            contributes: false,
            is_reused: false,
            needed_by: Vec::new(),
        }
    }

    fn need(reduction: Option<usize>, waits_for: &[usize]) -> Need {
        Need {
            reduction,
            waits_for: waits_for.iter().copied().collect(),
        }
    }

    fn widest(extent: u64, bytes: u64) -> u64 {
        (1 << extent.trailing_zeros()).min(16 / bytes)
    }

    /// RMSNorm: a row is read, reduced, and read again beside a weight.
    fn rms_norm(rows: u64, extent: u64, bytes: u64) -> Facts {
        let vector = widest(extent, bytes);
        let row = [extent as i64, 1];
        Facts {
            dims: vec![dim(rows, Use::Kept, false), dim(extent, Use::Reduced, true)],
            accesses: vec![
                Access {
                    contributes: true,
                    is_reused: true,
                    needed_by: vec![need(Some(0), &[]), need(None, &[0])],
                    ..access(0, false, bytes, &row, vector)
                },
                access(1, false, bytes, &[0, 1], vector),
                access(2, true, bytes, &row, vector),
            ],
            reductions: vec![Reduction {
                over: vec![false, true],
                keeps: vec![true, false],
                bytes: 4,
                waits_for: BTreeSet::new(),
                follows: None,
            }],
            buffers: 3,
            work: (9 * rows * extent) as f64,
        }
    }

    /// A sum over the leading axis of a row-major matrix.
    fn column_sum(rows: u64, columns: u64) -> Facts {
        Facts {
            dims: vec![dim(rows, Use::Reduced, false), dim(columns, Use::Kept, false)],
            accesses: vec![
                Access {
                    contributes: true,
                    ..access(0, false, 2, &[columns as i64, 1], 8)
                },
                access(1, true, 4, &[0, 1], 4),
            ],
            reductions: vec![Reduction {
                over: vec![true, false],
                keeps: vec![false, true],
                bytes: 4,
                waits_for: BTreeSet::new(),
                follows: None,
            }],
            buffers: 2,
            work: (3 * rows * columns) as f64,
        }
    }

    fn best(facts: &Facts) -> Option<(Mapping, Cost)> {
        ranked(facts, candidates(facts, &SM_90A), &SM_90A, &Assembled::new())
            .into_iter()
            .next()
    }

    /// (rows per CTA, threads per row, vectors per thread) for bf16 rows held in registers.
    fn shape(extent: u64) -> Option<(u64, u64, u64)> {
        let facts = rms_norm(32768, extent, 2);
        let (mapping, _) = best(&facts)?;
        let [rows, row] = [&mapping.spread[0], &mapping.spread[1]];
        let (rows, row) = (Spread::of(rows, 32768, 0), Spread::of(row, extent, 0));
        (!row.is_looped).then(|| {
            (
                rows.tile,
                row.threads(),
                extent.div_ceil(row.threads() * row.vector),
            )
        })
    }

    #[test]
    fn the_measured_winners_are_chosen() {
        assert_eq!(shape(1024), Some((1, 128, 1)));
        assert_eq!(shape(2048), Some((1, 128, 2)));
        assert_eq!(shape(4096), Some((1, 256, 2)));
    }

    #[test]
    fn short_rows_are_packed_into_ctas_of_128_or_256_threads() {
        assert_eq!(shape(256), Some((8, 32, 1)));
        assert_eq!(shape(512), Some((8, 32, 2)));
    }

    #[test]
    fn rows_between_powers_of_two_leave_few_lanes_dead() {
        assert_eq!(shape(2560), Some((1, 128, 3)));
        assert_eq!(shape(3072), Some((1, 128, 3)));
    }

    #[test]
    fn rows_that_begin_anywhere_are_aligned_where_they_share_no_weight() {
        let shared = rms_norm(16384, 4095, 2);
        let mut alone = shared.clone();
        alone.accesses.remove(1);
        let aligned = |facts: &Facts| best(facts).map(|(mapping, _)| mapping.aligned_dim);
        assert_eq!(aligned(&shared), Some(None));
        assert_eq!(aligned(&alone), Some(Some(1)));
        let Some((mapping, _)) = best(&rms_norm(16384, 4096, 2)) else {
            unreachable!("there is a candidate")
        };
        assert_eq!(mapping.aligned_dim, None, "{mapping}");
    }

    #[test]
    fn long_rows_are_read_again_from_l1_and_then_from_l2() {
        let place = |extent| best(&rms_norm(8192, extent, 2)).map(|(mapping, _)| mapping.keep);
        assert_eq!(place(8192), Some(vec![CachePlace::L1]));
        assert_eq!(place(16384), Some(vec![CachePlace::L1]));
        assert_eq!(place(32768), Some(vec![CachePlace::L1]));
        assert_eq!(place(65536), Some(vec![CachePlace::L1]));
        assert_eq!(place(1 << 20), Some(vec![CachePlace::L2]));
    }

    #[test]
    fn a_row_is_passed_over_once_for_each_reduction_that_has_to_be_waited_for() {
        let mut facts = rms_norm(16, 1 << 16, 2);
        let in_loop = |_: &Reduction| true;
        let count = |facts: &Facts, is_merged| passes(facts, &facts.accesses[0], is_merged, &in_loop);
        assert_eq!(count(&facts, false), 2);
        // Softmax: a sum that follows a maximum, and a write behind both.
        facts.reductions.push(Reduction {
            waits_for: [0].into(),
            follows: Some(0),
            ..facts.reductions[0].clone()
        });
        facts.accesses[0].needed_by = vec![need(Some(0), &[]), need(Some(1), &[0]), need(None, &[0, 1])];
        assert_eq!(count(&facts, false), 3);
        assert_eq!(count(&facts, true), 2);
        assert_eq!(
            passes(&facts, &facts.accesses[0], true, &|_: &Reduction| false),
            1
        );
    }

    #[test]
    fn what_the_assembler_found_decides() {
        let facts = rms_norm(16384, 4096, 2);
        let all = || candidates(&facts, &SM_90A);
        let ranked = |assembled: &Assembled| ranked(&facts, all(), &SM_90A, assembled);
        let expected = ranked(&Assembled::new());
        let (first, second) = (&expected[0], &expected[1]);
        let spilled = Assembled::from([(first.0.clone(), None)]);
        assert_eq!(ranked(&spilled)[0].0, second.0);
        let as_expected = Assembled::from([(first.0.clone(), Some(first.1.registers))]);
        assert_eq!(ranked(&as_expected)[0], *first);
        let heavy = Assembled::from([(first.0.clone(), Some(200))]);
        let again = ranked(&heavy);
        assert_eq!(again[0].0, second.0);
        let one_cta = again.iter().find(|(mapping, _)| *mapping == first.0);
        assert_eq!(one_cta.map(|(_, cost)| cost.resident), Some(1));
    }

    #[test]
    fn lanes_lie_along_the_dim_of_neighbouring_elements() {
        let Some((mapping, _)) = best(&column_sum(32768, 4096)) else {
            unreachable!("there is a candidate")
        };
        let columns = Spread::of(&mapping.spread[1], 4096, 0);
        assert!(columns.lanes * columns.vector * 2 >= 128, "{mapping}");
        assert_eq!(columns.vector, 8, "{mapping}");
    }

    /// A matrix read row by row and written column by column.
    fn transpose(rows: u64, columns: u64) -> Facts {
        Facts {
            dims: vec![dim(rows, Use::Kept, false), dim(columns, Use::Kept, false)],
            accesses: vec![
                access(0, false, 2, &[columns as i64, 1], 8),
                access(1, true, 2, &[1, rows as i64], 8),
            ],
            reductions: Vec::new(),
            buffers: 2,
            work: 0.0,
        }
    }

    #[test]
    fn a_tile_holds_whole_sectors_along_the_dim_of_each_access() {
        let Some((mapping, _)) = best(&transpose(16384, 16384)) else {
            unreachable!("there is a candidate")
        };
        for factors in &mapping.spread {
            assert!(Spread::of(factors, 16384, 0).tile * 2 >= 64, "{mapping}");
        }
    }

    #[test]
    fn runs_go_on_along_the_dim_behind() {
        let strides = [8192, 32, 1];
        let values = access(0, false, 2, &strides, 8);
        let spread = |blocks: &[Factor]| {
            let lanes = [Factor::new(Level::Lane, 4), Factor::new(Level::Vector, 8)];
            [
                Spread::of(&[Factor::rest(Level::Grid)], 4096, 0),
                Spread::of(blocks, 256, 0),
                Spread::of(&lanes, 32, 0),
            ]
        };
        let beside = SectorUse::of(
            &values,
            &spread(&[Factor::rest(Level::Grid), Factor::new(Level::Lane, 8)]),
        );
        assert_eq!((beside.request, beside.tile, beside.run), (1.0, 1.0, RUN));
        let narrow = access(0, true, 1, &[8192, 64, 1], 8);
        let apart = SectorUse::of(&narrow, &spread(&[Factor::new(Level::Loop, 256)]));
        assert_eq!(apart.run, 32.0);
    }

    #[test]
    fn a_sum_with_too_few_results_for_the_sms_is_split() {
        let Some((mapping, _)) = best(&column_sum(32768, 4096)) else {
            unreachable!("there is a candidate")
        };
        assert!(mapping.extent(Level::Split) > 8, "{mapping}");
        let Some((mapping, _)) = best(&column_sum(64, 1 << 22)) else {
            unreachable!("there is a candidate")
        };
        assert_eq!(mapping.extent(Level::Split), 1, "{mapping}");
    }

    #[test]
    fn few_rows_are_spread_over_more_ctas() {
        let Some((mapping, _)) = best(&rms_norm(64, 128, 2)) else {
            unreachable!("there is a candidate")
        };
        assert_eq!(mapping.threads(), 32, "{mapping}");
    }

    #[test]
    fn every_width_has_a_schedule_on_every_target() {
        for target in TARGETS {
            for extent in [1, 2, 3, 7, 32, 33, 128, 130, 769, 4095, 16384, 50257, 1 << 20] {
                for bytes in [2, 4] {
                    let facts = rms_norm(1000, extent, bytes);
                    let ranked = ranked(&facts, candidates(&facts, target), target, &Assembled::new());
                    let Some((mapping, cost)) = ranked.first() else {
                        unreachable!("{extent} elements of {bytes} bytes on {}", target.name)
                    };
                    assert!(mapping.threads() <= i64::from(target.threads_per_cta));
                    let is_fine = |loss: &(&str, f64)| loss.1.is_finite() && loss.1 >= 0.0;
                    assert!(cost.losses.iter().all(is_fine), "{mapping}: {cost:?}");
                }
            }
        }
    }
}
