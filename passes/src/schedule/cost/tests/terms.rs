//! Each term of the cost model alone: what makes it larger, and where it is zero.

use norma_dialects::norm::{
    CachePlace, CopyMechanism,
    Level::{Cluster, Grid, Lane, Loop, Register, Split, Vector, Warp},
};

use super::{
    super::measured::{BURSTS_OF_CLUSTER, BURSTS_OF_HELD_ROWS, IDLE_SMS, SERIAL_LOADS_OF_SUMS},
    *,
};

/// A term of a mapping on an H200 after `change` was made to it, in per cent of the copy's time.
fn term(name: &str, facts: &Facts, spread: &[&[(Level, i64)]], change: impl Fn(&mut Mapping)) -> f64 {
    let factor = |(level, size): &(Level, i64)| match size {
        0 => Factor::rest(*level),
        size => Factor::new(*level, *size),
    };
    let factors = |dim: &&[(Level, i64)]| dim.iter().map(factor).collect();
    let mut mapping = Mapping::new(spread.iter().map(factors).collect());
    change(&mut mapping);
    let Some(cost) = cost(facts, &mapping, &SM_90A) else {
        unreachable!("{mapping} fits an SM")
    };
    let loss = cost.losses.iter().find(|(other, _)| *other == name);
    let Some((_, loss)) = loss else {
        unreachable!("there is a term {name}")
    };
    100.0 * loss / cost.ideal
}

fn of(name: &str, facts: &Facts, spread: &[&[(Level, i64)]]) -> f64 {
    term(name, facts, spread, |_| {})
}

/// 16384 rows of 4096 bf16.
fn rows() -> Facts {
    rms_norm(16384, 4096, 2)
}

const ROW: &[(Level, i64)] = &[(Grid, 0)];
const HELD: &[(Level, i64)] = &[(Register, 2), (Warp, 8), (Lane, 32), (Vector, 8)];
const HELD_BY_512: &[(Level, i64)] = &[(Warp, 16), (Lane, 32), (Vector, 8)];
const WALKED: &[(Level, i64)] = &[(Loop, 0), (Warp, 8), (Lane, 32), (Vector, 8)];

/// Brings rows through a ring of `stages` tiles.
fn ring(stages: i64) -> impl Fn(&mut Mapping) {
    move |mapping| {
        mapping.keep = vec![CachePlace::Shared, CachePlace::None, CachePlace::None];
        mapping.bring = CopyMechanism::Bulk;
        mapping.stages = stages;
        mapping.producer_warps = 1;
    }
}

/// Whether two terms are the same up to rounding.
fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-6
}

#[test]
fn fewer_bytes_in_flight_lose_more() {
    let narrow = &[(Register, 16), (Warp, 1), (Lane, 32), (Vector, 8)];
    let one_cta = |mapping: &mut Mapping| mapping.min_ctas_per_sm = 1;
    let few = term("loads in flight", &rows(), &[ROW, narrow], one_cta);
    assert!(few > 4.0 * of("loads in flight", &rows(), &[ROW, HELD]));
}

/// CTAs that an SM holds of a kernel over rows of 4096 columns.
fn resident(spread: &[&[(Level, i64)]]) -> f64 {
    let factor = |(level, size): &(Level, i64)| Factor {
        level: *level,
        size: (*size > 0).then_some(*size),
    };
    let spread = spread.iter().map(|dim| dim.iter().map(factor).collect());
    let cost = cost(&rows(), &Mapping::new(spread.collect()), &SM_90A);
    cost.map_or(0.0, |cost| cost.resident as f64)
}

#[test]
fn each_further_load_of_a_thread_is_in_a_row_with_the_first() {
    assert!(is_near(of("loads in a row", &rows(), &[ROW, HELD]), 0.71));
    let mut copies = rows();
    copies.reductions.clear();
    assert!(is_near(of("loads in a row", &copies, &[ROW, HELD]), 1.2));
    assert!(is_near(of("loads in a row", &rows(), &[ROW, HELD_BY_512]), 0.0));
    let walked = &[(Loop, 0), (Register, 2), (Warp, 4), (Lane, 32), (Vector, 8)];
    assert!(is_near(of("loads in a row", &rows(), &[ROW, walked]), 1.12));
}

#[test]
fn loops_that_load_ahead_need_32_warps_for_their_second_pass() {
    let lost = |stages, ctas| {
        let bounded = |mapping: &mut Mapping| (mapping.stages, mapping.min_ctas_per_sm) = (stages, ctas);
        term("loads in a row", &rows(), &[ROW, WALKED], bounded)
    };
    assert!(is_near(lost(2, 4), lost(1, 4) + 0.8));
    assert!(is_near(lost(2, 2), lost(2, 4) + 8.0));
    assert!(is_near(lost(1, 2), lost(1, 4)));
}

/// The loop's steps hold 16 elements in each thread, two to a register.
#[test]
fn a_tile_that_is_loaded_ahead_takes_its_registers() {
    let registers = |stages| {
        let looped = [
            (Loop, None),
            (Register, Some(2)),
            (Warp, Some(4)),
            (Lane, Some(32)),
            (Vector, Some(8)),
        ];
        let factor = |(level, size)| Factor { level, size };
        let mut mapping = Mapping::new(vec![vec![Factor::rest(Grid)], looped.map(factor).to_vec()]);
        mapping.stages = stages;
        cost(&rows(), &mapping, &SM_90A).map(|cost| cost.registers)
    };
    assert_eq!(registers(2), registers(1).map(|registers| registers + 8));
}

/// 4 KB are in flight: a seventh of what a kernel that only reads needs, more than a quarter of it with 8 CTAs on the SM, 7 of
/// which may write meanwhile.
#[test]
fn what_a_cta_reads_in_a_loop_is_covered_by_what_the_others_write() {
    let lost = |ctas| {
        let bounded = |mapping: &mut Mapping| mapping.min_ctas_per_sm = ctas;
        term("loads in flight", &rows(), &[ROW, WALKED], bounded)
    };
    assert!((500.0..700.0).contains(&lost(1)), "{}", lost(1));
    assert!(lost(8) < 10.0, "{}", lost(8));
}

#[test]
fn what_is_loaded_ahead_is_in_flight_beside_the_step() {
    let lost = |stages| {
        let one_cta = |mapping: &mut Mapping| (mapping.stages, mapping.min_ctas_per_sm) = (stages, 1);
        term("loads in flight", &rows(), &[ROW, WALKED], one_cta)
    };
    // Beyond what is inversely proportional to it, so few bytes do not cover the latency of reads.
    assert!(lost(1) > 2.0 * lost(2) && lost(2) > 0.0);
}

#[test]
fn loads_wait_for_the_stores_of_the_step_before_unless_they_are_ahead_of_them() {
    let lost = |facts: &Facts, change: &dyn Fn(&mut Mapping)| {
        term("stores between loads", facts, &[ROW, WALKED], change)
    };
    let mut facts = rows();
    assert!(is_near(lost(&facts, &|_| {}), 0.0));
    facts.accesses[0].needed_by.push(need(None, &[]));
    assert!(is_near(lost(&facts, &|_| {}), 9.0));
    assert!(is_near(lost(&facts, &|mapping| mapping.stages = 2), 0.0));
    assert!(is_near(of("stores between loads", &facts, &[ROW, HELD]), 0.0));
}

#[test]
fn what_reads_next_to_nothing_waits_for_no_loads() {
    let mut facts = rows();
    for access in facts.accesses.iter_mut().filter(|access| !access.is_write) {
        access.uses.fill(false);
    }
    assert_eq!(of("loads in flight", &facts, &[ROW, HELD]), 0.0);
    assert!(of("loads in flight", &rows(), &[ROW, HELD]) > 0.0);
}

#[test]
fn rings_keep_in_flight_what_their_stages_hold() {
    let two_ctas = |mapping: &mut Mapping| mapping.min_ctas_per_sm = 2;
    let few_loads = term("loads in flight", &rows(), &[ROW, WALKED], two_ctas);
    let in_flight = |stages| {
        term("loads in flight", &rows(), &[ROW, WALKED], |mapping| {
            ring(stages)(mapping);
            two_ctas(mapping);
        })
    };
    // One stage is the tile of one step: the 4 KB that 256 threads would load.
    assert!(is_near(in_flight(1), few_loads));
    assert!(in_flight(8) < in_flight(4));
    let two_vectors = &[(Loop, 0), (Register, 2), (Warp, 4), (Lane, 32), (Vector, 8)];
    let in_a_row = term("loads in a row", &rows(), &[ROW, two_vectors], ring(4));
    assert!(is_near(in_a_row, 0.0));
}

#[test]
fn shared_memory_bounds_the_ctas_with_rings() {
    let ctas = |stages| {
        let factor = |(level, size): &(Level, i64)| Factor {
            level: *level,
            size: (*size > 0).then_some(*size),
        };
        let factors = [ROW, WALKED].map(|dim| dim.iter().map(factor).collect());
        let mut mapping = Mapping::new(factors.to_vec());
        ring(stages)(&mut mapping);
        cost(&rows(), &mapping, &SM_90A).map(|cost| cost.resident)
    };
    let fit = |bytes: u64| u64::from(SM_90A.shared_per_sm) / bytes;
    // Each CTA takes 1 KB besides its ring.
    assert_eq!(ctas(24), Some(fit(97 << 10)));
    assert_eq!(ctas(12), Some(fit(49 << 10)));
    assert_eq!(ctas(64), None);
}

#[test]
fn memory_idles_where_the_lifetimes_of_ctas_are_longer_than_what_they_move() {
    let ctas = |count| move |mapping: &mut Mapping| mapping.min_ctas_per_sm = count;
    let lost = |row, count| term("lifetimes", &rows(), &[ROW, row], ctas(count));
    let [one, two, four, eight] = [1, 2, 4, 8].map(|count| lost(HELD, count));
    assert!(one > 2.0 * two && two > 2.0 * four, "{one} {two} {four}");
    assert!(four > 5.0 * eight, "{four} {eight}");
    let late = |early: bool| {
        let change = |mapping: &mut Mapping| {
            mapping.min_ctas_per_sm = 4;
            mapping.early_reads = early;
        };
        term("lifetimes", &rows(), &[ROW, HELD], change)
    };
    assert!(late(false) > late(true));
}

#[test]
fn ctas_that_walk_through_rings_hide_each_others_steps() {
    let lost = |resident| {
        term("lifetimes", &rows(), &[ROW, WALKED], |mapping| {
            ring(4)(mapping);
            mapping.min_ctas_per_sm = resident;
        })
    };
    assert!(lost(1) > lost(2) && lost(2) > 0.0, "{} {}", lost(1), lost(2));
}

#[test]
fn kernels_without_reductions_wait_for_nothing() {
    let mut copies = rows();
    copies.reductions.clear();
    assert!(is_near(of("lifetimes", &copies, &[ROW, HELD]), 0.0));
}

#[test]
fn clusters_beyond_the_portable_size_lose() {
    let clusters = |ctas, columns| {
        let row: &[_] = &[(Register, 4), (Cluster, ctas), (Warp, 4), (Lane, 32), (Vector, 8)];
        let facts = rms_norm(8192, columns, 2);
        term("clusters", &facts, &[ROW, row], |mapping| {
            mapping.early_reads = true
        })
    };
    // The CTAs of both have as many bytes.
    assert!(is_near(clusters(16, 65536), clusters(8, 32768) + 3.0));
}

#[test]
fn rows_that_copies_bring_are_held_by_many_threads_rather_than_by_few() {
    let facts = rms_norm(8192, 32768, 2);
    let clusters = |registers, warps| {
        let row: &[_] = &[
            (Register, registers),
            (Cluster, 2),
            (Warp, warps),
            (Lane, 32),
            (Vector, 8),
        ];
        term("clusters", &facts, &[ROW, row], |mapping| {
            mapping.keep = vec![CachePlace::Shared, CachePlace::None, CachePlace::None];
            mapping.bring = CopyMechanism::Bulk;
        })
    };
    assert!(is_near(clusters(16, 4), clusters(8, 8) + 1.0));
    assert!(is_near(clusters(8, 8), clusters(4, 16)));
}

#[test]
fn clusters_are_launched_slowly_and_read_late_slowly() {
    let facts = rms_norm(8192, 16384, 2);
    let clusters = |ctas, registers, early| {
        let row: &[_] = &[
            (Register, registers),
            (Cluster, ctas),
            (Warp, 4),
            (Lane, 32),
            (Vector, 8),
        ];
        term("clusters", &facts, &[ROW, row], |mapping| {
            mapping.early_reads = early
        })
    };
    assert!(is_near(clusters(1, 16, true), 0.0));
    let early = clusters(4, 4, true);
    assert!((1.0..10.0).contains(&early), "{early}");
    assert!(is_near(clusters(4, 4, false), early + 11.0));
    // The weight is read behind the copies of the row.
    let copied_row: &[_] = &[(Register, 4), (Cluster, 4), (Warp, 4), (Lane, 32), (Vector, 8)];
    let by_copies = |mapping: &mut Mapping| {
        mapping.keep = vec![CachePlace::Shared, CachePlace::None, CachePlace::None];
        mapping.bring = CopyMechanism::Bulk;
    };
    let copied = term("clusters", &facts, &[ROW, copied_row], by_copies);
    assert!((copied - early - 13.75).abs() < 0.01, "{copied}");
    // Where nothing is written, no write waits for the last of the copies.
    let mut loss = facts.clone();
    loss.accesses.retain(|access| !access.is_write);
    let early = term("clusters", &loss, &[ROW, copied_row], |mapping| {
        mapping.early_reads = true
    });
    let copied = term("clusters", &loss, &[ROW, copied_row], by_copies);
    assert!((copied - early - 7.25).abs() < 0.01, "{copied}");
    // Each CTA has bytes for 0.25 us.
    let short = clusters(8, 2, true);
    assert!((30.0..40.0).contains(&short), "{short}");
}

#[test]
fn few_warps_walk_merged_reductions_slowly() {
    let few = |warps, merged: &[Level]| {
        let row: &[_] = &[(Loop, 0), (Warp, warps), (Lane, 32), (Vector, 8)];
        let merge = |mapping: &mut Mapping| mapping.merge_reductions = merged.to_vec();
        term("few warps", &rows(), &[ROW, row], merge)
    };
    assert!(is_near(few(1, &[Loop]), 6.0));
    assert!(is_near(few(2, &[Loop]), 4.0));
    assert!(is_near(few(4, &[Loop]), 0.0));
    assert!(is_near(few(1, &[]), 0.0));
}

#[test]
fn threads_load_what_all_warps_leave_of_their_columns() {
    let sums = |warps, lanes| {
        let rows: &[_] = &[(Loop, 0), (Register, 4), (Warp, warps), (Lane, lanes)];
        let columns: &[_] = &[(Grid, 0), (Lane, 32 / lanes), (Vector, 8)];
        of("partial results", &column_sum(256, 1 << 19), &[rows, columns])
    };
    // Eight times as many threads load eight times as many words.
    assert!((sums(32, 1) / sums(4, 1) - 64.0).abs() < 0.01);
    // Twice as many CTAs have half as many columns, which lanes along the rows load together.
    assert!(is_near(sums(8, 1), sums(8, 2)));
    assert!(is_near(sums(1, 1), 0.0));
    assert!(is_near(of("partial results", &rows(), &[ROW, HELD]), 0.0));
}

#[test]
fn rows_of_one_cta_wait_for_each_other_where_they_cross_warps() {
    let shared = |rows_of_cta, row| {
        of(
            "shared barriers",
            &rows(),
            &[&[(Grid, 0), (Warp, rows_of_cta)], row],
        )
    };
    let two_warps = &[(Loop, 0), (Warp, 2), (Lane, 32), (Vector, 8)];
    let one_warp = &[(Loop, 0), (Lane, 32), (Vector, 8)];
    assert!(is_near(shared(2, two_warps), 1.0));
    assert!(is_near(shared(1, two_warps), 0.0));
    assert!(is_near(shared(2, one_warp), 0.0));
}

#[test]
fn sms_run_dry_between_few_waves() {
    let waves = |count: u64| of("waves", &rms_norm(count * 132, 4096, 2), &[ROW, HELD]);
    let resident = resident(&[ROW, HELD]) as u64;
    assert!(is_near(waves(2 * resident), 5.25));
    assert!(waves(20 * resident) < 1.0);
}

#[test]
fn ctas_that_read_little_are_launched_too_slowly() {
    let launches = |columns| of("CTA launches", &rms_norm(1 << 16, columns, 2), &[ROW, WALKED]);
    assert!(is_near(launches(4096), 80.0 / 256.0));
    assert!(launches(128) > 50.0);
}

#[test]
fn lanes_beyond_a_row_are_dead() {
    let dead = |columns| of("dead lanes", &rms_norm(16384, columns, 2), &[ROW, HELD_BY_512]);
    assert!(is_near(dead(4096), 0.0));
    assert!(is_near(dead(3072), 9.0 / 4.0));
}

#[test]
fn accesses_of_fewer_than_16_bytes_take_more_instructions() {
    let narrow = |vector| {
        let row: &[_] = &[(Loop, 0), (Warp, 8), (Lane, 32), (Vector, vector)];
        of("narrow accesses", &rows(), &[ROW, row])
    };
    assert!(is_near(narrow(8), 0.0));
    // The weight, which all rows share, moves next to nothing.
    assert!((narrow(4) - 2.4).abs() < 0.01);
    assert!((narrow(2) - 3.0 * 2.4).abs() < 0.01);
}

#[test]
fn what_rows_share_is_read_once_for_the_rows_of_a_cta_where_tiles_are_aligned() {
    let facts = rms_norm(16384, 4095, 2);
    let align = |mapping: &mut Mapping| {
        mapping.aligned_dim = Some(1);
        mapping.early_reads = true;
    };
    // The weight's buffer is written too, so that nothing beside its elements may be read.
    let mut written = facts.clone();
    written.accesses.push(access(1, true, 2, &[0, 1], 1));
    let held = 3.2;
    let aligned = |facts: &Facts, rows_of_cta, columns: &[(Level, i64)]| {
        let rows: &[_] = &[(Grid, 0), (Register, rows_of_cta), (Grid, 8)];
        term("aligned rows", facts, &[rows, columns], align)
    };
    assert!(is_near(aligned(&facts, 1, HELD_BY_512), held + 5.2));
    assert!(is_near(aligned(&facts, 2, HELD_BY_512), held + 2.6));
    assert!(is_near(aligned(&written, 1, HELD_BY_512), held + 31.0));
    assert!(is_near(aligned(&written, 2, HELD_BY_512), held + 15.5));
    assert!(is_near(of("aligned rows", &facts, &[ROW, HELD_BY_512]), 0.0));
    let late = |mapping: &mut Mapping| mapping.aligned_dim = Some(1);
    let rows: &[_] = &[(Grid, 0), (Grid, 8)];
    let late = term("aligned rows", &facts, &[rows, HELD_BY_512], late);
    assert!(is_near(late, held + 5.2 + 15.0));
    // Rows that a thread walks together end together, and others of the SM have to go on meanwhile.
    let walked: &[_] = &[(Loop, 0), (Warp, 8), (Lane, 32), (Vector, 8)];
    let ends = held + 2.0 + 4.0;
    assert!(is_near(aligned(&facts, 1, walked), ends + 5.2 + 3.5));
    let two_vectors: &[_] = &[(Loop, 0), (Register, 2), (Warp, 8), (Lane, 32), (Vector, 8)];
    assert!(is_near(aligned(&facts, 1, two_vectors), ends + 5.2));
    assert!(aligned(&facts, 4, walked) > ends + 1.3 + 6.0 + 26.0);
}

#[test]
fn aligned_rows_that_are_held_over_several_reductions_wait_for_each() {
    let mut facts = rms_norm(16384, 4095, 2);
    // Without the weight, which all rows share.
    facts.accesses.retain(|access| access.uses[0]);
    let align = |mapping: &mut Mapping| {
        mapping.aligned_dim = Some(1);
        mapping.early_reads = true;
    };
    let aligned = |facts: &Facts, columns| term("aligned rows", facts, &[ROW, columns], align);
    assert!(is_near(aligned(&facts, HELD_BY_512), 3.2));
    facts.reductions.push(facts.reductions[0].clone());
    let held_by_two: &[_] = &[(Register, 8), (Warp, 2), (Lane, 32), (Vector, 8)];
    assert!(is_near(aligned(&facts, held_by_two), 3.2 + 6.0));
    assert!(is_near(aligned(&facts, HELD_BY_512), 3.2 + 8.5));
    let walked: &[_] = &[(Loop, 0), (Warp, 8), (Lane, 32), (Vector, 8)];
    assert!(is_near(aligned(&facts, walked), 3.2 + 2.0));
}

#[test]
fn what_rows_share_is_shifted_once_for_a_walk_that_loads_its_rows_ahead() {
    let facts = rms_norm(16384, 5125, 2);
    let ahead = |mapping: &mut Mapping| {
        mapping.aligned_dim = Some(1);
        mapping.stages = 2;
    };
    let rows = |groups| [(Loop, 0), (Grid, groups), (Grid, 8)];
    let columns: &[_] = &[(Register, 4), (Warp, 8), (Lane, 32), (Vector, 8)];
    let of = |name: &str, groups| term(name, &facts, &[&rows(groups), columns], ahead);
    assert!(is_near(of("aligned rows", 16), 3.2));
    for name in ["loads in flight", "loads in a row", "instructions"] {
        assert!(is_near(of(name, 16), 0.0), "{name}");
    }
    // A step waits as long with one CTA on an SM as with two, which do so beside one another.
    let (one, two) = (of("lifetimes", 16), of("lifetimes", 32));
    assert!((one / two - 2.0).abs() < 0.05, "{one} and {two}");
}

#[test]
fn many_elements_that_are_read_one_by_one_behind_the_reductions_lose() {
    let held = |warps| {
        let facts = rms_norm(16384, 4096, 2);
        let columns: &[_] = &[(Register, 4096 / 32 / warps), (Warp, warps), (Lane, 32)];
        of("narrow accesses", &facts, &[ROW, columns])
    };
    assert!(is_near(held(4), held(8)));
    assert!(is_near(held(2) - held(4), 22.0));
}

#[test]
fn what_one_request_does_not_use_of_its_sectors_is_partial_and_what_no_cta_uses_is_wasted() {
    let facts = column_sum(32768, 4096);
    let over = |name, rows: &[(Level, i64)], columns: &[(Level, i64)]| of(name, &facts, &[rows, columns]);
    let along = [&[(Loop, 0), (Warp, 8)][..], &[(Grid, 0), (Lane, 32)]];
    assert!(is_near(over("partial sectors", along[0], along[1]), 0.0));
    let across = [&[(Loop, 0), (Lane, 32)][..], &[(Grid, 0), (Warp, 8)]];
    // Eight columns are half of a sector, once they are moved between threads.
    assert!((over("partial sectors", across[0], across[1]) - 30.0).abs() < 0.1);
    assert!((over("wasted bytes", across[0], across[1]) - 100.0).abs() < 0.1);
}

#[test]
fn short_runs_lose_with_each_halving() {
    let runs = |lanes| {
        let rows: &[_] = &[(Grid, 0), (Lane, 32 / lanes)];
        let row: &[_] = &[(Loop, 0), (Lane, lanes), (Vector, 8)];
        of("short runs", &rms_norm(16384, 1 << 16, 2), &[rows, row])
    };
    assert!(is_near(runs(32), 0.0));
    assert!(runs(16) > 10.0);
    assert!(runs(8) - runs(16) > 10.0);
}

#[test]
fn loops_read_pieces_of_64_bytes_as_fast_where_the_next_cta_reads_on() {
    let runs = |lanes| {
        let rows: &[_] = &[(Loop, 0), (Warp, 8), (Lane, 32 / lanes)];
        let columns: &[_] = &[(Grid, 0), (Lane, lanes), (Vector, 8)];
        of("short runs", &column_sum(32768, 4096), &[rows, columns])
    };
    assert!(is_near(runs(32), 0.0));
    assert!((0.0..4.0).contains(&runs(4)), "{}", runs(4));
    assert!(runs(2) > 20.0);
}

/// Reductions along rows hold the warps of a CTA in the same step, so that they access a row together.
#[test]
fn runs_are_those_of_a_cta_where_its_steps_are_reduced() {
    let facts = rms_norm_grad(16384, 4095);
    let rows: &[_] = &[(Loop, 0), (Split, 264)];
    let row: &[_] = &[(Register, 16), (Warp, 8), (Lane, 32)];
    // What is left is that of one request, 64 bytes.
    assert!(of("short runs", &facts, &[rows, row]) < 4.0);
}

/// The assembler does with the registers that there are, and loads the next step later.
#[test]
fn a_walk_that_takes_all_registers_is_taken_to_need_as_many_as_expected() {
    let mut facts = rms_norm_grad(16384, 8191);
    let of_columns = facts.reductions[1].clone();
    facts.reductions.extend([of_columns.clone(), of_columns]);
    let walk = |stages| {
        let rows = vec![Factor::rest(Loop), Factor::new(Split, 132)];
        let row = [(Register, 16), (Warp, 16), (Lane, 32)].map(|(level, size)| Factor::new(level, size));
        let mut mapping = Mapping::new(vec![rows, row.to_vec()]);
        (mapping.stages, mapping.min_ctas_per_sm) = (stages, 1);
        mapping
    };
    let few = |mapping: &Mapping, registers| {
        let assembled = Assembled::from_iter([(mapping.clone(), Some(registers))]);
        let found = ranked(&facts, vec![mapping.clone()], &SM_90A, &assembled);
        let losses = found
            .first()
            .map(|(_, cost)| cost.losses.clone())
            .unwrap_or_default();
        let loss = losses.into_iter().find(|(name, _)| *name == "few registers");
        loss.map(|(_, loss)| loss)
    };
    let ahead = walk(2);
    assert!(few(&ahead, 128) > few(&ahead, 112), "{:?}", few(&ahead, 128));
    assert_eq!(few(&ahead, 112), Some(0.0));
    assert_eq!(few(&walk(1), 128), Some(0.0));
}

#[test]
fn writes_in_short_parts_lose_even_where_the_next_cta_goes_on() {
    let parts = |warps| {
        let columns: &[_] = &[(Grid, 0), (Lane, 32), (Vector, 2)];
        let blocks: &[_] = &[(Grid, 0), (Warp, warps)];
        of(
            "short runs",
            &quantise_transposed(16384, 256),
            &[columns, blocks, &[(Register, 32)]],
        )
    };
    // About a third of the bytes are written, 32 by each warp of a row.
    assert!((parts(4) - parts(8) - 1.9).abs() < 0.2);
    assert!((parts(2) - parts(4) - 4.6).abs() < 0.2);
    assert!(is_near(parts(8), parts(16)));
}

#[test]
fn a_tile_that_is_written_across_its_lanes_is_exchanged() {
    let tile: [&[_]; 2] = [
        &[(Grid, 0), (Warp, 8), (Lane, 4)],
        &[(Grid, 0), (Lane, 8), (Vector, 8)],
    ];
    assert!(is_near(of("exchanges", &transpose(16384, 16384), &tile), 5.0));
    assert!(is_near(of("exchanges", &rows(), &[ROW, HELD]), 0.0));
}

#[test]
fn what_comes_from_dram_again_costs_its_bytes() {
    let again = |place| {
        let keep = move |mapping: &mut Mapping| mapping.keep = vec![place];
        term("reading again", &rows(), &[ROW, WALKED], keep)
    };
    // The row is one of two streams.
    assert!((again(CachePlace::None) - 50.0).abs() < 1.0);
    assert!(again(CachePlace::L2) < 10.0);
    assert!(again(CachePlace::L1) < again(CachePlace::L2));
}

#[test]
fn held_steps_are_not_read_again_and_take_registers() {
    // A row of two steps: half of it, or all of it, is held.
    let again = |place, steps| {
        let change = move |mapping: &mut Mapping| {
            mapping.keep = vec![place];
            mapping.held_steps = steps;
        };
        term("reading again", &rows(), &[ROW, WALKED], change)
    };
    let none = CachePlace::None;
    assert!(is_near(again(none, 1), again(none, 0) / 2.0));
    assert!(is_near(again(none, 2), 0.0));
    assert!(is_near(again(none, 3), 0.0));
    // Of a row that is longer than L1 the part that is left may fit.
    let long = rms_norm(512, 1 << 18, 2);
    let of_long = |steps| {
        let change = move |mapping: &mut Mapping| {
            mapping.keep = vec![CachePlace::L1];
            mapping.held_steps = steps;
        };
        term("reading again", &long, &[ROW, WALKED], change)
    };
    assert!(of_long(8) < of_long(0) * 15.0 / 16.0);

    let registers = |steps| {
        let factors = |dim: &[(Level, i64)]| {
            dim.iter()
                .map(|(level, size)| match size {
                    0 => Factor::rest(*level),
                    size => Factor::new(*level, *size),
                })
                .collect()
        };
        let mapping = Mapping {
            keep: vec![CachePlace::L1],
            held_steps: steps,
            ..Mapping::new(vec![factors(ROW), factors(WALKED)])
        };
        cost(&long, &mapping, &SM_90A).map(|cost| cost.registers)
    };
    // Eight bf16 are four registers.
    assert_eq!(registers(6), registers(0).map(|registers| registers + 24));
}

#[test]
fn instructions_count_the_more_the_nearer_they_come_to_the_time_of_the_bytes() {
    let loss = |work: f64| {
        let mut facts = rows();
        facts.work *= work;
        of("instructions", &facts, &[ROW, HELD])
    };
    assert!(loss(1.0) < 0.5);
    assert!(loss(3.0) > 2.0);
    assert!(loss(100.0) > 100.0);
}

#[test]
fn an_access_is_an_instruction_for_all_elements_that_it_moves() {
    let loss = |columns: &[(Level, i64)]| {
        let mut facts = rows();
        facts.work *= 2.0;
        of("instructions", &facts, &[ROW, columns])
    };
    let by_vectors = loss(&[(Register, 4), (Warp, 4), (Lane, 32), (Vector, 8)]);
    let by_elements = loss(&[(Register, 32), (Warp, 4), (Lane, 32)]);
    assert!(by_elements > 2.0 * by_vectors);
}

#[test]
fn all_threads_of_a_row_compute_the_ends_of_rows_with_alignment_peeling() {
    let facts = rms_norm(16384, 4095, 2);
    let loss = |warps| {
        let columns: &[_] = &[(Register, 32 / warps), (Warp, warps), (Lane, 32), (Vector, 8)];
        term("instructions", &facts, &[ROW, columns], |mapping| {
            mapping.aligned_dim = Some(1);
            mapping.early_reads = true;
        })
    };
    assert!(loss(4) < 5.0);
    assert!(loss(8) > 3.0 * loss(4));
    assert!(loss(16) > 50.0);
}

#[test]
fn sms_without_a_cta_are_idle() {
    let idle = |rows| of("idle SMs", &rms_norm(rows, 1 << 18, 2), &[ROW, WALKED]);
    assert!(is_near(idle(66), 100.0 * IDLE_SMS));
    assert!(is_near(idle(132), 0.0));
}

#[test]
fn a_split_takes_a_second_kernel_and_its_partial_results() {
    let facts = column_sum(32768, 4096);
    let second = |parts| {
        let rows: &[_] = &[(Loop, 0), (Split, parts), (Warp, 8)];
        of(
            "a second kernel",
            &facts,
            &[rows, &[(Grid, 0), (Lane, 32), (Vector, 8)]],
        )
    };
    assert!(is_near(second(1), 0.0));
    assert!(second(64) > 0.0);
    // Four bytes for each column and part, there and back.
    let scratch = |parts: f64| 100.0 * 2.0 * parts * 4.0 * 4096.0 / (32768.0 * 4096.0 * 2.0 + 4.0 * 4096.0);
    assert!((second(128) - second(64) - scratch(64.0)).abs() < 1e-6);
}

#[test]
fn loads_in_a_row_cost_half_where_columns_are_summed_up() {
    let rows: &[_] = &[(Loop, 0), (Register, 8), (Warp, 4)];
    let columns: &[_] = &[(Grid, 0), (Lane, 32), (Vector, 8)];
    let of_columns = of("loads in a row", &column_sum(32768, 4096), &[rows, columns]);
    assert!(is_near(of_columns, 7.0 * SERIAL_LOADS_OF_SUMS), "{of_columns}");
    let walked: &[_] = &[(Loop, 0), (Register, 8), (Warp, 8), (Lane, 32), (Vector, 8)];
    let of_rows = of("loads in a row", &rms_norm(16384, 1 << 18, 2), &[ROW, walked]);
    assert!(of_rows > 1.9 * of_columns, "{of_rows}");
}

/// Variances of columns need their rows a second time, unless partial results are merged; a normalization of them writes the rows too.
#[test]
fn a_split_takes_a_third_kernel_only_where_rows_are_needed_again() {
    let kernels = |is_merged: bool, is_written: bool| {
        let mut facts = column_sum(32768, 4096);
        facts.dims[0].is_revisited = true;
        let mut again = facts.accesses[0].clone();
        again.is_write = true;
        facts.accesses.extend(is_written.then_some(again));
        let rows: &[_] = &[(Loop, 0), (Split, 64), (Warp, 8)];
        let columns: &[_] = &[(Grid, 0), (Lane, 32), (Vector, 8)];
        let loss = term("a second kernel", &facts, &[rows, columns], |mapping| {
            mapping.keep = vec![CachePlace::L2];
            if is_merged {
                mapping.merge_reductions = vec![Split, Loop];
            }
        });
        // As the bytes that are copied in the same time.
        let (read, written) = facts.traffic();
        loss * (read + written)
    };
    let (once, again) = (kernels(true, false), kernels(false, false));
    let of_kernel = again - once;
    assert!(of_kernel > 0.0);
    let (merged, apart) = (kernels(true, true), kernels(false, true));
    assert!((merged - apart).abs() < 0.01 * of_kernel);
}

#[test]
fn parts_of_different_length_take_a_step_in_which_most_have_nothing() {
    let uneven = |parts| {
        let rows: &[_] = &[(Loop, 0), (Split, parts), (Register, 8), (Warp, 4)];
        of(
            "uneven parts",
            &column_sum(32768, 4096),
            &[rows, &[(Grid, 0), (Lane, 32), (Vector, 8)]],
        )
    };
    assert!(is_near(uneven(32), 0.0));
    // 32 steps of 33 tiles of 32 rows.
    assert!(is_near(uneven(33), 100.0 * (32.0 * 33.0 * 32.0 / 32768.0 - 1.0)));
}

#[test]
fn rows_that_begin_at_multiples_of_8_kb_lose_where_they_are_requested_at_once() {
    let bursts = |extent, row| of("bursts", &rms_norm(16384, extent, 2), &[ROW, row]);
    assert!(is_near(bursts(4096, HELD), BURSTS_OF_HELD_ROWS));
    assert_eq!(
        (bursts(4096, WALKED), bursts(3072, HELD), bursts(4095, HELD)),
        (0.0, 0.0, 0.0)
    );
    let walk: &[(Level, i64)] = &[(Loop, 0), (Grid, 60)];
    let drawn = |ctas| {
        let row: &[(Level, i64)] = &[(Register, 2), (Cluster, ctas), (Warp, 8), (Lane, 32), (Vector, 8)];
        term(
            "bursts",
            &rms_norm(16384, 4096 * ctas as u64, 2),
            &[walk, row],
            ring(3),
        )
    };
    assert!(is_near(drawn(4), BURSTS_OF_CLUSTER));
    assert_eq!(drawn(1), 0.0);
}
