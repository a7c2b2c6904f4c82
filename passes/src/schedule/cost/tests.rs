//! The choices of the cost model, held to what was measured.

mod search;
mod short_launches;
mod specialized;
mod squeezed;
mod terms;

use std::collections::BTreeSet;

use norma_dialects::norm::{CachePlace, CopyMechanism, HandOut, Level};
use norma_targets::{SM_90A, TARGETS, THREADS_PER_CTA};

use super::{super::candidates::candidates, measured::RUN, rereads::passes, rounds, sectors::SectorUse, *};
use crate::schedule::{
    facts::{Access, Dim, Need, Reduction, Use},
    mapping::Factor,
    rings::ringed,
    spread::{Spread, spreads},
};

fn dim(extent: u64, usage: Use, is_revisited: bool) -> Dim {
    Dim {
        extent,
        is_known: true,
        is_assumed: false,
        usage,
        is_whole: false,
        is_counting: false,
        is_revisited,
    }
}

fn access(buffer: usize, is_write: bool, bytes: u64, strides: &[i64], vector: u64) -> Access {
    Access {
        is_indirect: false,
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
            weighs_by_count: false,
        }],
        scans: Vec::new(),
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
            weighs_by_count: false,
        }],
        scans: Vec::new(),
        buffers: 2,
        work: (3 * rows * columns) as f64,
    }
}

/// RMSNorm's gradient: two inputs are reduced along each row and needed again, and the sums over the rows are the weight's gradient.
fn rms_norm_grad(rows: u64, extent: u64) -> Facts {
    let row = [extent as i64, 1];
    let again = |buffer| Access {
        contributes: true,
        is_reused: true,
        needed_by: vec![need(Some(0), &[]), need(Some(1), &[]), need(None, &[0])],
        ..access(buffer, false, 2, &row, widest(extent, 2))
    };
    let along = |reduced: usize| Reduction {
        over: (0..2).map(|dim| dim == reduced).collect(),
        keeps: (0..2).map(|dim| dim != reduced).collect(),
        bytes: 4,
        waits_for: BTreeSet::new(),
        follows: None,
        weighs_by_count: false,
    };
    Facts {
        dims: vec![dim(rows, Use::Both, false), dim(extent, Use::Both, true)],
        accesses: vec![
            again(0),
            again(1),
            Access {
                contributes: true,
                ..access(2, false, 2, &[0, 1], 8)
            },
            access(3, true, 2, &row, 8),
            access(4, true, 2, &[0, 1], 8),
        ],
        reductions: vec![along(1), along(0)],
        scans: Vec::new(),
        buffers: 5,
        work: (18 * rows * extent) as f64,
    }
}

fn best(facts: &Facts) -> Option<(Mapping, Cost)> {
    ranked(facts, candidates(facts, &SM_90A), &SM_90A, &Assembled::default())
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
    // 4150 GB/s, and 4171 by 128 threads.
    assert_eq!(shape(1024), Some((1, 64, 2)));
    assert_eq!(shape(2048), Some((1, 128, 2)));
    // 4143 GB/s held in registers by 128 threads, 4236 so, and 4267 by 256 threads that load no step ahead.
    let chosen = best(&rms_norm(32768, 4096, 2)).map(|(mapping, _)| mapping.to_string());
    let looped = "[[grid], [loop, warp(4), lane(32), vector(8)]] keep [l1] stages 2 min_ctas_per_sm 12";
    assert_eq!(chosen.as_deref(), Some(looped));
}

#[test]
fn short_rows_are_packed_into_ctas_of_128_or_256_threads() {
    // 512 columns: 4000 GB/s by CTAs of 256 threads, 3978 by CTAs of 128.
    assert_eq!((shape(256), shape(512)), (Some((8, 32, 1)), Some((4, 32, 2))));
}

#[test]
fn rows_between_powers_of_two_leave_few_lanes_dead() {
    assert_eq!((shape(2560), shape(3072)), (Some((1, 128, 3)), Some((1, 128, 3))));
}

#[test]
fn rows_that_begin_anywhere_are_aligned_unless_they_share_what_is_read_element_by_element() {
    let shared = rms_norm(16384, 4095, 2);
    let mut alone = shared.clone();
    alone.accesses.remove(1);
    // The kernel writes the weight's buffer too, so that nothing beside its elements may be read.
    let mut written = shared.clone();
    written.accesses.push(access(1, true, 2, &[0, 1], 1));
    let aligned = |facts: &Facts| best(facts).map(|(mapping, _)| mapping.aligned_dim);
    assert_eq!(aligned(&shared), Some(Some(1)));
    assert_eq!(aligned(&alone), Some(Some(1)));
    assert_eq!(aligned(&written), Some(None));
    // The ends of short rows are too much of them.
    assert_eq!(aligned(&rms_norm(32768, 769, 2)), Some(None));
    let Some((mapping, _)) = best(&rms_norm(16384, 4096, 2)) else {
        unreachable!("there is a candidate")
    };
    assert_eq!(mapping.aligned_dim, None, "{mapping}");
}

#[test]
fn long_rows_are_held_by_clusters_or_read_again() {
    let of = |extent| best(&rms_norm(8192, extent, 2)).map(|(mapping, _)| mapping);
    let is_fast = |mapping: &Mapping| mapping.ctas_per_cluster() > 1 || mapping.keep == [CachePlace::L1];
    for extent in [16384, 32768, 65536] {
        assert!(
            of(extent).as_ref().is_some_and(is_fast),
            "{extent}: {:?}",
            of(extent)
        );
    }
    let is_walked = |mapping: &Mapping| !mapping.keep.is_empty();
    assert!(of(1 << 20).as_ref().is_some_and(is_walked), "{:?}", of(1 << 20));
}

#[test]
fn rows_that_no_l1_holds_are_shared_by_the_ctas_of_clusters() {
    let ctas = |rows, extent| best(&rms_norm(rows, extent, 2)).map(|(mapping, _)| mapping.ctas_per_cluster());
    assert_eq!(ctas(8192, 8192), Some(1));
    assert!(ctas(4096, 262_144) > Some(1));
    // A CTA for each row would leave most SMs idle.
    assert!(ctas(4, 131_072) > Some(1));
}

#[test]
fn clusters_load_the_longest_rows_rather_than_have_them_copied_where_nothing_is_read_beside_them() {
    let mut facts = rms_norm(8192, 131_072, 2);
    let of_results_alone = facts.accesses.iter().map(|access| facts.is_late(access));
    let mut of_results_alone = of_results_alone.collect::<Vec<_>>().into_iter();
    facts.accesses.retain(|_| of_results_alone.next() != Some(true));
    let Some((mapping, _)) = best(&facts) else {
        unreachable!("there is a candidate")
    };
    let is_held = mapping.place(0) == CachePlace::Register && mapping.ctas_per_cluster() > 1;
    assert!(is_held && mapping.early_reads, "{mapping}");
}

#[test]
fn rings_leave_room_for_what_warps_combine_behind_the_walk() {
    let factor = |(level, size): (Level, Option<i64>)| Factor { level, size };
    let rows = [
        (Level::Loop, None),
        (Level::Split, Some(132)),
        (Level::Warp, Some(2)),
    ];
    let columns = [
        (Level::Register, 8),
        (Level::Warp, 4),
        (Level::Lane, 32),
        (Level::Vector, 8),
    ];
    let columns = columns.map(|(level, size)| factor((level, Some(size))));
    let mapping = Mapping::new(vec![rows.map(factor).to_vec(), columns.to_vec()]);
    let mut facts = rms_norm_grad(65_536, 5120);
    assert!(ringed(&facts, &mapping, &SM_90A).is_some());
    let other_result = facts.reductions[1].clone();
    facts.reductions.push(other_result);
    assert_eq!(ringed(&facts, &mapping, &SM_90A), None);
}

#[test]
fn walks_of_rows_too_wide_for_the_ring_of_one_cta_are_those_of_clusters() {
    let of = |extent| {
        let best = best(&rms_norm_grad(8192, extent));
        best.map(|(mapping, _)| (mapping.place(0), mapping.ctas_per_cluster() > 1))
    };
    assert_eq!(of(4096), Some((CachePlace::Shared, false)));
    assert_eq!(of(8192), Some((CachePlace::Shared, false)));
    assert_eq!(of(16384), Some((CachePlace::Shared, true)));
    assert_eq!(of(32768), Some((CachePlace::Shared, true)));
}

#[test]
fn walks_bring_rows_by_bulk_copies_wherever_they_begin_or_by_thread_or_hold_them() {
    let of = |extent, target| {
        let facts = rms_norm_grad(16384, extent);
        let ranked = ranked(&facts, candidates(&facts, target), target, &Assembled::default());
        let best = ranked.into_iter().next();
        best.map(|(mapping, _)| (mapping.bring, mapping.producer_warps, mapping.looped_dims()))
    };
    assert_eq!(of(4096, &SM_90A), Some((CopyMechanism::Bulk, 1, 1)));
    assert_eq!(of(4092, &SM_90A), Some((CopyMechanism::CpAsync, 0, 1)));
    assert_eq!(of(4095, &SM_90A), Some((CopyMechanism::Bulk, 1, 1)));
    let Ok(ampere) = Target::parse("sm_80") else {
        unreachable!("there is such a target")
    };
    assert_eq!(of(4092, ampere), Some((CopyMechanism::CpAsync, 0, 1)));
    assert_eq!(of(4095, ampere), Some((CopyMechanism::Load, 0, 1)));
}

#[test]
fn walks_that_hold_wide_rows_load_the_next_one_ahead_with_the_registers_there_are() {
    let walk = |extent| {
        let facts = rms_norm_grad(16384, extent);
        let mut held = candidates(&facts, &SM_90A);
        held.retain(|mapping| mapping.keep.is_empty());
        let ranked = ranked(&facts, held, &SM_90A, &Assembled::default());
        ranked.into_iter().next().map(|(mapping, _)| mapping)
    };
    let loads_ahead =
        |extent| walk(extent).map(|mapping| mapping.prefetches() && mapping.min_ctas_per_sm > 0);
    assert_eq!(loads_ahead(8001), Some(true));
    assert_eq!(loads_ahead(15001), Some(true));
    // Two CTAs on an SM hide each other's waiting.
    assert_eq!(loads_ahead(4097), Some(false));
}

/// LayerNorm's gradient over 20001 columns takes 1.7 times as long with 31 clusters of four as with 30 (H200).
#[test]
fn all_clusters_of_a_walk_that_holds_its_rows_are_resident() {
    for (extent, ctas) in [(20001, 4), (40001, 8)] {
        let candidates = candidates(&rms_norm_grad(8192, extent), &SM_90A);
        let ahead = candidates.iter().filter(|mapping| {
            mapping.prefetches() && mapping.looped_dims() == 1 && mapping.ctas_per_cluster() == ctas
        });
        let resident = ahead.filter(|mapping| mapping.min_ctas_per_sm == 1);
        let most = resident.map(|mapping| mapping.extent(Level::Split)).max();
        assert_eq!(most, Some(120 / ctas), "{extent}");
    }
}

#[test]
fn values_that_a_step_uses_again_take_a_register_each_however_they_were_read() {
    let registers = |vector: i64| {
        let columns = [
            (Level::Register, 16 / vector),
            (Level::Warp, 8),
            (Level::Lane, 32),
            (Level::Vector, vector),
        ];
        let rows = vec![Factor::rest(Level::Loop), Factor::new(Level::Split, 264)];
        let columns = columns.map(|(level, size)| Factor::new(level, size));
        let mapping = Mapping::new(vec![rows, columns.to_vec()]);
        cost(
            &rms_norm_grad(16384, 4096 - 8 + vector.unsigned_abs()),
            &mapping,
            &SM_90A,
        )
        .map(|cost| cost.registers)
    };
    // ptxas takes 80 for elements and 78 for vectors.
    assert!(
        registers(1).is_some_and(|registers| registers <= 128),
        "{:?}",
        registers(1)
    );
    assert!(
        registers(1) <= registers(8),
        "{:?} and {:?}",
        registers(1),
        registers(8)
    );
}

/// RMSNorm's gradient over 32768 columns takes 1.3 times as long with 66 clusters of four CTAs, two on an SM, as with 60 (H200).
#[test]
fn all_clusters_of_a_walk_through_rings_are_resident() {
    let sms = i64::from(SM_90A.part.sms);
    let candidates = candidates(&rms_norm_grad(8192, 16384), &SM_90A);
    let rings = candidates.iter().filter(|mapping| mapping.producer_warps > 0);
    let of_clusters = rings
        .filter(|mapping| mapping.ctas_per_cluster() > 1)
        .collect::<Vec<_>>();
    assert!(!of_clusters.is_empty());
    for mapping in of_clusters {
        let ctas = mapping.extent(Level::Split) * mapping.ctas_per_cluster();
        let room = match mapping.ctas_per_cluster() {
            2 => sms,
            _ => 120,
        };
        let of_cluster = mapping.ctas_per_cluster();
        let whole = mapping.min_ctas_per_sm * room / of_cluster * of_cluster;
        assert_eq!(ctas, whole, "{mapping}");
    }
}

#[test]
fn targets_without_clusters_have_no_candidates_with_them() {
    for target in TARGETS {
        let candidates = candidates(&rms_norm(4, 131_072, 2), target);
        let most = candidates.iter().map(Mapping::ctas_per_cluster).max();
        let largest = i64::from(target.cluster_size_non_portable);
        assert_eq!(most, Some(largest), "{}", target.name);
    }
}

/// The facts of RMSNorm with a second reduction, which waits for the first and may be merged with it.
fn of_two_reductions(rows: u64, extent: u64) -> Facts {
    let mut facts = rms_norm(rows, extent, 2);
    facts.reductions.push(Reduction {
        waits_for: [0].into(),
        follows: Some(0),
        ..facts.reductions[0].clone()
    });
    facts.accesses[0].needed_by = vec![need(Some(0), &[]), need(Some(1), &[0]), need(None, &[0, 1])];
    facts
}

#[test]
fn a_dim_is_split_into_equal_parts_too() {
    let parts = |rows| {
        let all = candidates(&column_sum(rows, 4096), &SM_90A);
        let columns = |mapping: &Mapping| mapping.spread[1].last() == Some(&Factor::new(Level::Vector, 8));
        let of_rows = all.iter().filter(|mapping| columns(mapping));
        of_rows
            .filter_map(|mapping| match mapping.spread[0][..] {
                [_, split, register, warp] if (register.size, warp.size) == (Some(8), Some(4)) => split.size,
                _ => None,
            })
            .collect::<BTreeSet<_>>()
    };
    // Steps of 32 rows: 1024 of them are 32 for each of 32 parts.
    assert!(parts(32768).is_superset(&BTreeSet::from([32, 33])));
    assert!(!parts(32768 + 32).contains(&32));
}

#[test]
fn rows_that_clusters_hold_are_merged_where_means_are_combined_and_reads_are_early() {
    let mut facts = of_two_reductions(1024, 1 << 15);
    let merged = |facts: &Facts| {
        let mut all = candidates(facts, &SM_90A);
        all.retain(|mapping| mapping.merges_at(Level::Cluster));
        all
    };
    assert_eq!(merged(&facts), []);
    facts.reductions[1].weighs_by_count = true;
    let merged = merged(&facts);
    assert!(!merged.is_empty());
    assert!(merged.iter().all(|mapping| mapping.ctas_per_cluster() > 1));
    let is_held = |mapping: &Mapping| mapping.looped_dims() == 0 && mapping.early_reads;
    let is_drawn = |mapping: &Mapping| mapping.hand_out == HandOut::Dynamic;
    assert!(merged.iter().all(|mapping| is_held(mapping) || is_drawn(mapping)));
    assert!(merged.iter().any(is_held));
    assert!(merged.iter().any(is_drawn));
}

#[test]
fn rows_that_share_a_weight_are_drawn_by_persistent_clusters() {
    let drawn = |facts: &Facts| {
        let mut all = candidates(facts, &SM_90A);
        all.retain(|mapping| mapping.hand_out == HandOut::Dynamic);
        all
    };
    let mut facts = rms_norm(4096, 1 << 16, 2);
    let all = drawn(&facts);
    assert!(!all.is_empty());
    assert!(
        all.iter()
            .all(|mapping| mapping.ctas_per_cluster() > 1 && mapping.producer_warps > 0)
    );
    // With fewer rows than a few for each cluster there is nothing to walk over.
    assert_eq!(drawn(&rms_norm(16, 1 << 16, 2)), []);
    facts.accesses.retain(|access| access.uses[0]);
    assert_eq!(drawn(&facts), []);
}

#[test]
fn rows_that_begin_anywhere_and_share_two_reads_are_walked_over_by_resident_ctas() {
    let walks = |facts: &Facts| {
        let mut all = candidates(facts, &SM_90A);
        all.retain(|mapping| {
            mapping.aligned_dim.is_some() && mapping.prefetches() && mapping.looped_dims() == 1
        });
        all.retain(|mapping| mapping.spread[0].len() == 3);
        all
    };
    let one = rms_norm(16384, 5125, 2);
    assert_eq!(walks(&one), []);
    let mut two = one;
    two.accesses.push(two.accesses[1].clone());
    let all = walks(&two);
    assert!(!all.is_empty());
    for mapping in &all {
        let [_, groups, alike] = &mapping.spread[0][..] else {
            unreachable!("{mapping} walks over rows")
        };
        // Rows that are 8 apart have the same alignment.
        assert_eq!(*alike, Factor::new(Level::Grid, 8));
        assert_eq!(groups.size, Some(132 * mapping.min_ctas_per_sm / 8));
        assert_eq!(mapping.extent(Level::Cluster), 1);
    }
    // Ranked are those of which an SM holds as many CTAs as it is asked to.
    let ranked = ranked(&two, all, &SM_90A, &Assembled::default());
    assert!(!ranked.is_empty());
    for (mapping, cost) in ranked {
        assert!(
            cost.resident >= mapping.min_ctas_per_sm.unsigned_abs(),
            "{mapping}"
        );
    }
    // With few rows there is nothing to walk over.
    two.dims[0].extent = 64;
    assert_eq!(walks(&two), []);
}

#[test]
fn clusters_whose_rows_begin_alike_follow_one_another_where_one_wave_leaves_places_empty() {
    let numbers = |facts: &Facts, level: Level, ctas: i64| {
        let mut all = candidates(facts, &SM_90A);
        all.retain(|mapping| {
            let is_ring = mapping.aligned_dim.is_some() && mapping.hand_out == HandOut::Static;
            is_ring
                && mapping.producer_warps > 0
                && mapping.ctas_per_cluster() == ctas
                && mapping.min_ctas_per_sm == 1
        });
        let parts = |mapping: &Mapping| {
            let factors = mapping.spread[0].iter().filter(|factor| factor.level == level);
            factors.filter_map(|factor| factor.size).product::<i64>()
        };
        all.iter().map(parts).collect::<BTreeSet<_>>()
    };
    // There are places for 15 clusters, and 8 of them begin alike; four waves have places for 60.
    let both = BTreeSet::from([8, 56]);
    let mut norm = rms_norm(1024, 131_073, 2);
    norm.accesses.push(norm.accesses[1].clone());
    assert_eq!(numbers(&norm, Level::Grid, 8), both);
    assert_eq!(numbers(&rms_norm_grad(1024, 65537), Level::Split, 8), both);
    // There are places for 7 clusters of 16, fewer than there are alignments; five waves have places for 35.
    assert_eq!(numbers(&norm, Level::Grid, 16), BTreeSet::from([32]));
    // Few rows are not enough for so many.
    norm.dims[0].extent = 128;
    assert_eq!(numbers(&norm, Level::Grid, 8), BTreeSet::from([8]));
}

#[test]
fn sums_over_rows_that_begin_anywhere_are_carried_by_walks_over_rows_that_begin_alike() {
    let walks = |facts: &Facts| {
        let mut all = candidates(facts, &SM_90A);
        all.retain(|mapping| mapping.aligned_dim.is_some() && mapping.extent(Level::Split) > 1);
        all
    };
    let period = |extent: u64| match extent % 8 {
        0 => 1,
        4 => 2,
        2 | 6 => 4,
        _ => 8,
    };
    for extent in [4095, 4094, 4092] {
        let all = walks(&rms_norm_grad(16384, extent));
        assert!(!all.is_empty());
        for mapping in &all {
            let [loops, parts] = mapping.spread[0][..] else {
                unreachable!("{mapping} walks over rows")
            };
            assert_eq!((loops.level, parts.level), (Level::Loop, Level::Split));
            assert!(
                parts.size.is_some_and(|parts| parts % period(extent) == 0),
                "{mapping}"
            );
            assert!(mapping.producer_warps > 0, "{mapping}");
        }
    }
    // Rows that all begin at aligned places need no shift, and few rows no walk.
    assert_eq!(walks(&rms_norm_grad(16384, 4096)), []);
    assert_eq!(walks(&rms_norm_grad(16, 4095)), []);
}

#[test]
fn only_loops_that_combine_means_are_unrolled() {
    let mut facts = of_two_reductions(16, 1 << 16);
    let unrolled = |facts: &Facts| {
        let mut all = candidates(facts, &SM_90A);
        all.retain(|mapping| mapping.unroll_bytes > 0);
        all
    };
    assert_eq!(unrolled(&facts), []);
    facts.reductions[1].weighs_by_count = true;
    let unrolled = unrolled(&facts);
    assert!(!unrolled.is_empty());
    assert!(unrolled.iter().all(|mapping| mapping.merges_at(Level::Loop)));
}

#[test]
fn threads_hold_most_of_a_row_in_clusters() {
    let all = candidates(&rms_norm(16, 1 << 17, 2), &SM_90A);
    let held = |mapping: &&Mapping| mapping.spread[1].contains(&Factor::new(Level::Register, 16));
    let held = all.iter().filter(held).map(Mapping::ctas_per_cluster);
    assert_eq!(held.collect::<BTreeSet<_>>(), [2, 4, 8, 16].into());
}

#[test]
fn an_sm_has_one_cta_of_a_cluster_beyond_the_portable_size_that_holds_the_rows_of_a_walk() {
    let mut all = candidates(&rms_norm_grad(1024, 65537), &SM_90A);
    all.retain(|mapping| mapping.keep.is_empty() && mapping.min_ctas_per_sm > 0);
    let on_sm = |ctas: i64| {
        let walks = all
            .iter()
            .filter(move |mapping| mapping.ctas_per_cluster() == ctas);
        walks
            .map(|mapping| mapping.min_ctas_per_sm)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(on_sm(8), [1, 2].into());
    assert_eq!(on_sm(16), [1].into());
}

#[test]
fn loops_over_rows_that_l1_holds_load_ahead_but_in_clusters_only_where_they_write_between_loads() {
    let mut facts = rms_norm(16, 1 << 16, 2);
    let ahead = |facts: &Facts| {
        let mut all = candidates(facts, &SM_90A);
        all.retain(|mapping| mapping.prefetches());
        all
    };
    let alone = ahead(&facts);
    assert!(!alone.is_empty());
    assert!(alone.iter().all(|mapping| mapping.ctas_per_cluster() == 1));
    facts.accesses[0].needed_by.push(need(None, &[]));
    assert!(ahead(&facts).iter().any(|mapping| mapping.ctas_per_cluster() > 1));
    assert_eq!(ahead(&rms_norm(16, 1 << 17, 2)), []);
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
    // A variance: the mean that its terms need waits for the number of points too.
    let number = facts.reductions[0].clone();
    facts.reductions.insert(1, number);
    facts.reductions[2].waits_for = [0, 1].into();
    facts.accesses[0].needed_by = vec![need(Some(0), &[]), need(Some(2), &[0, 1]), need(None, &[0, 1, 2])];
    assert_eq!(count(&facts, false), 3);
    assert_eq!(count(&facts, true), 2);
    assert_eq!(
        passes(&facts, &facts.accesses[0], true, &|_: &Reduction| false),
        1
    );
    let all = |_: &Reduction| true;
    assert_eq!(rounds::of_each(&facts, false, &all), [[0, 1], [0, 1], [1, 2]]);
    assert_eq!(rounds::of_each(&facts, true, &all), [[0, 1], [0, 1], [0, 1]]);
}

#[test]
fn what_hints_alone_tell_apart_takes_the_same_registers() {
    let facts = rms_norm(16384, 8192, 2);
    let ranked = |assembled: &Assembled| ranked(&facts, candidates(&facts, &SM_90A), &SM_90A, assembled);
    let expected = ranked(&Assembled::default());
    let kept_in = |place: CachePlace| expected.iter().find(|(mapping, _)| mapping.keep == [place]);
    let (in_l1, _) = kept_in(CachePlace::L1).unwrap();
    let mut in_l2 = in_l1.clone();
    in_l2.keep = vec![CachePlace::L2];
    let found = ranked(&Assembled::from_iter([(in_l1.clone(), Some(200))]));
    let (_, cost) = found.iter().find(|(mapping, _)| *mapping == in_l2).unwrap();
    assert_eq!(cost.registers, 200);
}

#[test]
fn what_the_number_of_threads_alone_tells_apart_takes_about_as_many_registers() {
    let facts = rms_norm(16384, 8192, 2);
    let ranked = |assembled: &Assembled| ranked(&facts, candidates(&facts, &SM_90A), &SM_90A, assembled);
    let expected = ranked(&Assembled::default());
    let of_thread = |mapping: &Mapping| {
        let mut mapping = mapping.clone();
        for factors in &mut mapping.spread {
            factors.retain(|factor| {
                !matches!(
                    factor.level,
                    Level::Grid | Level::Cluster | Level::Warp | Level::Lane
                )
            });
        }
        mapping
    };
    let unbounded = expected
        .iter()
        .filter(|(mapping, _)| mapping.min_ctas_per_sm == 0 && mapping.keep.is_empty());
    let (asked, others) = unbounded
        .map(|(mapping, _)| {
            let is_alike = |other: &&Mapping| *other != mapping && of_thread(other) == of_thread(mapping);
            let others = expected.iter().map(|(other, _)| other).filter(is_alike);
            (mapping, others.collect::<Vec<_>>())
        })
        .find(|(_, others)| !others.is_empty())
        .unwrap();
    let found = ranked(&Assembled::from_iter([(asked.clone(), Some(120))]));
    let registers = |mapping: &Mapping| {
        let found = found.iter().find(|(other, _)| other == mapping);
        found.map(|(_, cost)| cost.registers)
    };
    for other in &others {
        // 1024 threads have 64 registers each, so that they do not take 120.
        let is_possible = other.threads() <= 512;
        assert_eq!(registers(other) == Some(120), is_possible, "{other}");
    }
    // With as many threads or more, which have no more registers each, they spill if it does.
    let left = ranked(&Assembled::from_iter([(asked.clone(), None)]));
    for other in others {
        let spills = asked.threads() <= other.threads().max(256);
        assert_eq!(
            left.iter().all(|(mapping, _)| mapping != other),
            spills,
            "{other}"
        );
    }
}

#[test]
fn threads_that_hold_more_elements_take_no_fewer_registers() {
    let facts = rms_norm(16384, 8192, 2);
    let of_rows = |rows: i64| {
        let mut mapping = Mapping::new(vec![
            vec![Factor::rest(Level::Grid), Factor::new(Level::Register, rows)],
            vec![
                Factor::rest(Level::Loop),
                Factor::new(Level::Warp, 4),
                Factor::new(Level::Lane, 32),
                Factor::new(Level::Vector, 8),
            ],
        ]);
        mapping.keep = vec![CachePlace::L2];
        mapping
    };
    let all = || [1, 2, 4].map(of_rows).to_vec();
    let registers = |registers| {
        let assembled = Assembled::from_iter([(of_rows(2), registers)]);
        let found = ranked(&facts, all(), &SM_90A, &assembled);
        [1, 2, 4].map(|rows| {
            let of_rows = found.iter().find(|(mapping, _)| *mapping == of_rows(rows));
            of_rows.map(|(_, cost)| cost.registers)
        })
    };
    let [few, most, more] = registers(Some(200));
    assert_eq!([most, more], [Some(200), Some(200)]);
    assert!(few.is_some_and(|few| few < 200), "{few:?}");
    assert_eq!(registers(None), [few, None, None]);
}

#[test]
fn what_the_assembler_found_decides() {
    let facts = rms_norm(16384, 4096, 2);
    let all = || candidates(&facts, &SM_90A);
    let ranked = |assembled: &Assembled| ranked(&facts, all(), &SM_90A, assembled);
    let expected = ranked(&Assembled::default());
    let (first, second) = (&expected[0], &expected[1]);
    let spilled = Assembled::from_iter([(first.0.clone(), None)]);
    assert_eq!(ranked(&spilled)[0].0, second.0);
    let as_expected = Assembled::from_iter([(first.0.clone(), Some(first.1.registers))]);
    assert_eq!(ranked(&as_expected)[0], *first);
    let heavy = Assembled::from_iter([(first.0.clone(), Some(200))]);
    let again = ranked(&heavy);
    assert_eq!(again[0].0, second.0);
    let with_200 = again.iter().find(|(mapping, _)| *mapping == first.0);
    let fit = SM_90A.resident_ctas(first.0.threads() as u64, 200);
    assert_eq!(with_200.map(|(_, cost)| cost.resident), Some(fit));
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
        scans: Vec::new(),
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

/// Blocks of 32 columns scaled to 8-bit floats, of an input that is stored column by column.
fn quantise_transposed(rows: u64, blocks: u64) -> Facts {
    let (m, n) = (rows as i64, 32 * blocks as i64);
    Facts {
        dims: vec![
            dim(rows, Use::Kept, false),
            dim(blocks, Use::Kept, false),
            dim(32, Use::Reduced, true),
        ],
        accesses: vec![
            Access {
                contributes: true,
                is_reused: true,
                needed_by: vec![need(Some(0), &[]), need(None, &[0])],
                ..access(0, false, 2, &[1, 32 * m, m], 8)
            },
            access(1, true, 4, &[n / 32, 1, 0], 4),
            access(2, true, 1, &[n, 32, 1], 16),
        ],
        reductions: vec![Reduction {
            over: vec![false, false, true],
            keeps: vec![true, true, false],
            bytes: 4,
            waits_for: BTreeSet::new(),
            follows: None,
            weighs_by_count: false,
        }],
        scans: Vec::new(),
        buffers: 3,
        work: (5 * m * n) as f64,
    }
}

#[test]
fn blocks_of_a_transposed_input_are_written_in_whole_runs() {
    let facts = quantise_transposed(16384, 256);
    let Some((mapping, cost)) = best(&facts) else {
        unreachable!("there is a candidate")
    };
    let [rows, blocks, block] = [16384, 256, 32].map(|extent| {
        let at = facts
            .dims
            .iter()
            .position(|dim| dim.extent == extent)
            .unwrap_or(0);
        Spread::of(&mapping.spread[at], extent, 0)
    });
    assert_eq!((block.registers, block.threads()), (32, 1), "{mapping}");
    assert!(rows.tile * 2 >= 128 && blocks.tile * 32 >= 64, "{mapping}");
    let loss = |name: &str| {
        cost.losses
            .iter()
            .find(|loss| loss.0 == name)
            .map_or(0.0, |loss| loss.1)
    };
    assert!(loss("exchanges") > 0.0, "{cost:?}");
}

/// The time that L2 takes for pieces of lines, in microseconds, where a CTA of 128 threads has 256 rows of one or two blocks.
#[test]
fn pieces_of_lines_take_as_long_as_measured() {
    let facts = quantise_transposed(16384, 256);
    let expected = |registers: i64| {
        let rows = vec![
            Factor::rest(Level::Grid),
            Factor::new(Level::Warp, 4),
            Factor::new(Level::Lane, 32),
            Factor::new(Level::Vector, 2),
        ];
        let blocks = vec![Factor::rest(Level::Grid), Factor::new(Level::Register, registers)];
        let block = vec![Factor::new(Level::Register, 32)];
        let dims = spreads(&facts, &Mapping::new(vec![rows, blocks, block]));
        let cycles = facts.accesses.iter().map(|access| {
            let sectors = SectorUse::of(access, &dims, false);
            access.total_bytes(&facts.dims) * sectors.l2_cycles(access.is_write, false)
        });
        // Each SM issues its share.
        cycles.sum::<f64>() / f64::from(SM_90A.part.sms) / 1.755e3
    };
    let is_near = |value: f64, measured: f64| (value / measured - 1.0).abs() < 0.06;
    assert!(is_near(expected(1), 216.7), "{}", expected(1));
    assert!(is_near(expected(2), 175.7), "{}", expected(2));
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
        false,
    );
    assert_eq!((beside.request, beside.tile, beside.run), (1.0, 1.0, RUN));
    let narrow = access(0, true, 1, &[8192, 64, 1], 8);
    let apart = SectorUse::of(&narrow, &spread(&[Factor::new(Level::Loop, 256)]), false);
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
fn few_long_rows_are_shared_by_ctas_and_many_are_not_split() {
    let of = |rows, columns| best(&rms_norm(rows, columns, 2)).map(|(mapping, _)| mapping);
    let parts = |mapping: Mapping| mapping.extent(Level::Split) * mapping.ctas_per_cluster();
    let few = of(8, 1 << 18).map(parts);
    assert!(few >= Some(8), "{few:?}");
    let splits = |mapping: Mapping| mapping.extent(Level::Split);
    assert_eq!(of(1024, 1 << 18).map(splits), Some(1));
    assert_eq!(of(8, 4096).map(splits), Some(1));
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
                let ranked = ranked(&facts, candidates(&facts, target), target, &Assembled::default());
                let Some((mapping, cost)) = ranked.first() else {
                    unreachable!("{extent} elements of {bytes} bytes on {}", target.name)
                };
                assert!(mapping.threads() <= THREADS_PER_CTA);
                let is_fine = |loss: &(&str, f64)| loss.1.is_finite() && loss.1 >= 0.0;
                assert!(cost.losses.iter().all(is_fine), "{mapping}: {cost:?}");
            }
        }
    }
}
