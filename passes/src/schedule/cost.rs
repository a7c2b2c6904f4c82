//! What a schedule is expected to take, in microseconds: the time that a copy of the kernel's bytes takes, and the ways to
//! fall short of it.
//!
//! Each term is a known loss, fitted to measurements on an H200; docs/schedule.md has the figures and what is left out. Only
//! differences between candidates for the same kernel mean anything.

mod instructions;
mod measured;
mod rereads;
mod sectors;
mod spread;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use norma_dialects::norm::{CachePlace, CopyMechanism, Level};
use norma_targets::{SM_90A, Target};

use super::{
    facts::{Access, Facts, Reduction, Use},
    mapping::{Factor, Mapping},
    rings::stage_bytes,
};
use instructions::{exchange_work, merging_work, rounds_between_ctas, rounds_between_warps};
pub use measured::KERNEL_US;
use measured::*;
use rereads::{again, passes, passes_in_loop};
use sectors::SectorUse;
use spread::{Spread, spreads};

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
    let ring = match mapping.bring {
        CopyMechanism::Load => None,
        _ => Some(stage_bytes(facts, mapping) * mapping.stages.unsigned_abs()),
    };
    // What comes through a ring is loaded again in each phase.
    let wide = if reduces_what_a_step_holds && ring.is_none() {
        2
    } else {
        1
    };
    let base = match (is_looped, reduces_in_steps) {
        _ if ring.is_some() => BASE_REGISTERS_OF_RING,
        (_, true) => BASE_REGISTERS_OF_WALK,
        (true, false) => BASE_REGISTERS_OF_LOOP,
        (false, _) => BASE_REGISTERS,
    };
    let base = base + mapping.aligned_dim.map_or(0, |_| REGISTERS_OF_ALIGNED_ROWS);
    let estimated = base + wide * rows.max(streamed_registers) + early + carried;
    let registers = assembled.unwrap_or(estimated).next_multiple_of(REGISTER_UNIT);
    let producers = mapping.producer_warps.unsigned_abs() * WARP;
    let by_registers = target.resident_ctas(threads + producers, registers);
    let by_registers = match ring {
        None => by_registers,
        Some(bytes) => by_registers.min(u64::from(target.shared_per_sm) / (bytes + SHARED_OF_CTA)),
    };
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
    let in_flight = match ring {
        None => (resident_now * threads as f64 * step_bytes * live_lanes).max(1.0),
        Some(bytes) => resident_now * bytes as f64,
    };
    let crosses_warps = facts
        .reductions
        .iter()
        .any(|reduction| (0..dims.len()).any(|dim| reduction.over[dim] && dims[dim].warps > 1));
    let lone_cta = match (crosses_warps, is_looped) {
        (true, true) if ring.is_some() => LONE_RING_CTA / (resident_now * resident_now),
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
    let waits = if reduces_what_a_step_holds && ring.is_none() {
        WALK
    } else {
        1.0
    };
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
    let clusters = match mapping.ctas_per_cluster() {
        1 => 0.0,
        // What a CTA waits for others hide that are on its SM, as far as they do not wait themselves.
        _ => {
            let cta_us = 1e6 * bytes / ctas / bandwidth_per_sm(target);
            let stalled = rounds_between_ctas(facts, &dims) * EXCHANGE_US / cta_us;
            CLUSTER + 100.0 * stalled / (resident_now * resident_now)
        }
    };
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
    let is_split = |dim: usize| {
        mapping.spread[dim]
            .iter()
            .any(|factor| factor.level == Level::Split)
    };
    let scratch = facts
        .reductions
        .iter()
        .filter(|reduction| (0..dims.len()).any(|dim| reduction.over[dim] && is_split(dim)))
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
                match ring {
                    None => percent(serial * (step_bytes / ACCESS - 1.0).max(0.0)),
                    Some(_) => 0.0,
                },
            ),
            ("barriers", percent(lone_cta + alone)),
            ("few warps", percent(few_warps)),
            ("clusters", percent(clusters)),
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
