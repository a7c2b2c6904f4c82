//! Launches with few bytes: what their threads wait for, and the choices that follow, held to what was measured.

use norma_dialects::norm::Level::{Cluster, Grid, Lane, Loop, Register, Vector, Warp};

use super::*;
use crate::schedule::cost::measured::{SHORT_LAUNCH_BYTES, SHORT_LAUNCH_ROWS};

type Spreads<'a> = [&'a [(Level, i64)]; 2];

const ROW: &[(Level, i64)] = &[(Grid, 0)];

fn mapping(spread: Spreads<'_>) -> Mapping {
    let factor = |(level, size): &(Level, i64)| match size {
        0 => Factor::rest(*level),
        size => Factor::new(*level, *size),
    };
    let mut mapping = Mapping::new(
        spread
            .iter()
            .map(|dim| dim.iter().map(factor).collect())
            .collect(),
    );
    mapping.early_reads = spread[1].iter().all(|(level, _)| *level != Loop);
    if !mapping.early_reads {
        mapping.keep = vec![CachePlace::L1, CachePlace::None, CachePlace::None];
    }
    mapping
}

fn cost_of(facts: &Facts, spread: Spreads<'_>) -> Cost {
    match cost(facts, &mapping(spread), &SM_90A) {
        Some(cost) => cost,
        None => unreachable!("{spread:?} fits an SM"),
    }
}

/// The names of the terms that a kernel is judged by.
fn terms(facts: &Facts) -> Vec<&'static str> {
    let cost = cost_of(facts, [ROW, &[(Register, 2), (Warp, 8), (Lane, 32), (Vector, 8)]]);
    cost.losses.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_launch_is_short_up_to_its_rows_and_bytes_for_each_sm() {
    let sms = f64::from(SM_90A.part.sms);
    let rows = (SHORT_LAUNCH_ROWS * sms) as u64;
    // Each row of 65536 bf16 is read and written, and a weight is read.
    let long_rows = ((SHORT_LAUNCH_BYTES * sms) as u64 - 2 * 65536) / (2 * 2 * 65536);
    for (columns, most) in [(4096, rows), (65536, long_rows)] {
        for (rows, is_short) in [(1, true), (most, true), (most + 1, false)] {
            let terms = terms(&rms_norm(rows, columns, 2));
            assert_eq!(terms.contains(&"reads before writes"), is_short, "{rows} rows");
            assert_eq!(terms.contains(&"lifetimes"), !is_short, "{rows} rows");
        }
    }
}

#[test]
fn rows_of_which_no_number_is_known_are_many() {
    let mut facts = rms_norm(16, 4096, 2);
    facts.dims[0].is_known = false;
    assert!(terms(&facts).contains(&"reads before writes"));
    facts.dims[0].is_assumed = true;
    assert!(terms(&facts).contains(&"lifetimes"));
}

#[test]
fn rows_that_are_read_across_memory_are_judged_by_throughput() {
    let mut facts = rms_norm(64, 4096, 2);
    facts.accesses[0].strides = vec![Some(1), Some(64)];
    assert!(terms(&facts).contains(&"lifetimes"));
}

#[test]
fn sums_over_rows_and_walks_are_judged_by_throughput_however_few_their_bytes() {
    let columns: &[_] = &[(Grid, 0), (Lane, 32), (Vector, 8)];
    let sum = cost_of(&column_sum(64, 4096), [&[(Loop, 0), (Warp, 8)], columns]);
    assert!(sum.losses.iter().any(|(name, _)| *name == "lifetimes"));
    assert!(terms(&rms_norm_grad(64, 4096)).contains(&"lifetimes"));
}

/// RMSNorm over 16384 columns with four vectors in a thread: 16 rows take 2.23 us in clusters of four and 2.85 us by one CTA for each row, 128
/// rows 4.15 and 4.49 us (H200).
#[test]
fn few_long_rows_are_shared_by_the_ctas_of_clusters() {
    for rows in [16, 128] {
        let facts = rms_norm(rows, 16384, 2);
        let total = |ctas: i64, registers: i64, warps: i64| {
            let row: &[_] = &[
                (Register, registers),
                (Cluster, ctas),
                (Warp, warps),
                (Lane, 32),
                (Vector, 8),
            ];
            let alone: &[_] = &[(Register, registers), (Warp, warps), (Lane, 32), (Vector, 8)];
            cost_of(&facts, [ROW, if ctas > 1 { row } else { alone }]).total()
        };
        let (alone, shared) = (total(1, 4, 16), total(4, 4, 4));
        assert!(shared < alone, "{rows} rows: {shared} and {alone}");
    }
}

/// Softmax of 33 rows of 2048 columns takes 1.58 us by four warps with two vectors in a thread, and 2.04 us by one warp with eight (H200).
#[test]
fn a_short_row_takes_longer_by_one_warp_than_by_four() {
    let facts = rms_norm(33, 2048, 2);
    let [one, four] = [(8, 1), (2, 4)].map(|(registers, warps)| {
        let row: &[_] = &[(Register, registers), (Warp, warps), (Lane, 32), (Vector, 8)];
        cost_of(&facts, [ROW, row]).total()
    });
    assert!(four < one, "{four} and {one}");
}

#[test]
fn each_further_step_of_a_loop_is_waited_for() {
    let steps = |warps: i64| {
        let row: &[_] = &[(Loop, 0), (Warp, warps), (Lane, 32), (Vector, 8)];
        let cost = cost_of(&rms_norm(16, 32768, 2), [ROW, row]);
        let found = cost.losses.into_iter().find(|(name, _)| *name == "steps");
        found.map_or(0.0, |(_, us)| us)
    };
    // 16 and 8 steps, twice each.
    let ratio = steps(8) / steps(16);
    assert!((ratio - 31.0 / 15.0).abs() < 1e-6, "{ratio}");
}
