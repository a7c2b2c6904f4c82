//! Partial results that the warps of a CTA leave in shared memory, where each thread keeps several points.

use norma_layout::shared::WAVEFRONT_BYTES;

use super::{
    super::{
        exchanges::{self, Exchange},
        facts::{Reduction, Use},
    },
    candidate::Candidate,
    measured::*,
    rounds,
};

/// Partial results: the time in which all threads load, from shared memory, those of the points that they keep beyond the first. Nothing
/// hides it, as all warps of the CTA wait for one another before it and need the results after it. Lanes along what is reduced load the
/// same words at once. Sums over a walk are exchanged once, at its end. In a loop a scan also waits for what it carries ([`SCAN_STEP_US`]).
pub(super) fn partial_results(candidate: &Candidate<'_>) -> f64 {
    let mapped = &candidate.mapped;
    let facts = mapped.facts;
    let loads = |exchange: Exchange, over: &[bool], bytes: u64, steps: f64| {
        let lanes = mapped.dims.iter().zip(over).filter(|(_, over)| **over);
        let lanes = lanes.map(|(dim, _)| dim.lanes).product::<u64>();
        let further = exchange.partials * (exchange.kept - 1);
        steps * (further * bytes) as f64 / lanes as f64
    };
    let is_of_walk = |reduction: &Reduction| {
        (0..facts.dims.len()).any(|dim| reduction.over[dim] && facts.dims[dim].usage == Use::Both)
    };
    let exchanged = facts.reductions.iter().filter(|reduction| !is_of_walk(reduction));
    let of_reductions = exchanged.map(|reduction| {
        let exchange = exchanges::of_reduction(reduction, mapped.mapping);
        let steps = rounds::steps(&mapped.dims, reduction);
        loads(exchange, &reduction.over, reduction.bytes, steps)
    });
    let looped = mapped.dims.iter().filter(|dim| dim.is_looped);
    let steps = looped.map(|dim| dim.steps()).product::<f64>();
    let of_scans = facts.scans.iter().map(|scan| {
        let exchange = exchanges::of_scan(scan, mapped.mapping);
        loads(exchange, &scan.over, scan.bytes, steps)
    });
    let bytes = of_reductions.chain(of_scans).sum::<f64>();
    let cycles = bytes * mapped.threads() as f64 / WAVEFRONT_BYTES as f64;
    let of_cta_us = 1e6 * cycles / CYCLES_PER_SECOND;
    let ctas_of_sm = mapped.ctas() / (candidate.sms() * candidate.busy());
    let waits = match facts.scans.is_empty() {
        true => 0.0,
        false => (steps - 1.0) * SCAN_STEP_US / candidate.resident_now(),
    };
    100.0 * ctas_of_sm * (of_cta_us + waits) / candidate.ideal_us()
}
