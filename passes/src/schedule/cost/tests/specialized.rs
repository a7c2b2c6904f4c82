//! Candidates with specialised warps beyond one producer: where they are tried, and where not.

use norma_targets::Target;

use super::*;
use crate::schedule::rings;

/// RMSNorm's gradient over rows of elements of 2 bytes, or of 4.
fn gradients() -> Vec<Facts> {
    let narrow = [1024, 2048, 4096, 5120, 8192, 12288].map(|extent| rms_norm_grad(16384, extent));
    let wide = [4096, 8192].map(|extent| {
        let mut facts = rms_norm_grad(16384, extent);
        for access in &mut facts.accesses {
            (access.bytes, access.vector, access.vector_if_aligned) = (4, access.vector.min(4), 4);
        }
        facts
    });
    narrow.into_iter().chain(wide).collect()
}

fn of_interest<'f>(
    all: &'f [Facts],
    target: &Target,
    is_meant: impl Fn(&Mapping) -> bool,
) -> Vec<(&'f Facts, Mapping)> {
    let mut found = Vec::new();
    for facts in all {
        let ranked = ranked(facts, candidates(facts, target), target, &Assembled::default());
        let meant = ranked.into_iter().map(|(mapping, _)| mapping).filter(&is_meant);
        found.extend(meant.map(|mapping| (facts, mapping)));
    }
    found
}

#[test]
fn groups_take_turns_where_two_rings_do_not_fit() {
    let in_turns = |extent: u64, stages: i64| {
        let rows = vec![Factor::rest(Level::Loop), Factor::new(Level::Split, 132)];
        let columns = [
            (Level::Register, extent as i64 / 2048),
            (Level::Warp, 8),
            (Level::Lane, 32),
            (Level::Vector, 8),
        ];
        let columns = columns.map(|(level, size)| Factor::new(level, size));
        let mut mapping = Mapping::new(vec![rows, columns.to_vec()]);
        mapping.keep = vec![CachePlace::Shared, CachePlace::Shared];
        mapping.keep.extend([CachePlace::None; 4]);
        (mapping.bring, mapping.stages, mapping.producer_warps) = (CopyMechanism::Bulk, stages, 1);
        let turns = rings::in_turns(&rms_norm_grad(16384, extent), &mapping, &SM_90A);
        turns.map(|turns| (turns.consumer_groups, turns.stages))
    };
    // A stage has 16 and 64 KB.
    assert_eq!(in_turns(4096, 3), None);
    assert_eq!(in_turns(4096, 9), Some((2, 10)));
    assert_eq!(in_turns(16384, 2), Some((2, 2)));
    assert_eq!(in_turns(16384, 3), None);
}

#[test]
fn registers_are_handed_over_where_an_sm_gains_ctas() {
    let all = gradients();
    let found = of_interest(&all, &SM_90A, |mapping| mapping.producer_registers > 0);
    assert!(!found.is_empty());
    for (facts, mapping) in found {
        let equal = Mapping {
            producer_warps: 1,
            producer_registers: 0,
            min_ctas_per_sm: 0,
            ..mapping.clone()
        };
        let kernel = Kernel::of(facts, &SM_90A);
        let resident = |mapping: &Mapping| kernel.candidate(mapping, None).map(|held| held.resident);
        let (shared, handed) = (resident(&equal), resident(&mapping));
        assert!(shared < handed, "{mapping}: {shared:?} and {handed:?} CTAs");
    }
}

#[test]
fn registers_are_handed_over_where_the_warps_that_share_a_row_spill() {
    let facts = rms_norm_grad(4096, 49152);
    let of = |warps: i64, assembled: &Assembled| {
        let mut all = ranked(&facts, candidates(&facts, &SM_90A), &SM_90A, assembled);
        all.retain(|(mapping, _)| {
            mapping.place(0) == CachePlace::Shared && mapping.consumer_warps() == warps
        });
        all.into_iter().map(|(mapping, _)| mapping).collect::<Vec<_>>()
    };
    let hands_over = |mapping: &Mapping| mapping.producer_registers > 0;
    for (warps, hand_over) in [(8, true), (16, false)] {
        let expected = of(warps, &Assembled::default());
        let equal = expected.iter().filter(|mapping| !hands_over(mapping)).cloned();
        let spilled = equal.map(|mapping| (mapping, None)).collect::<Assembled>();
        assert!(spilled.iter().next().is_some());
        let left = of(warps, &spilled);
        assert_eq!(left.iter().any(hands_over), hand_over, "{warps} warps");
        assert!(left.iter().all(hands_over));
    }
}

#[test]
fn registers_are_handed_over_only_by_targets_that_can() {
    let cannot = TARGETS
        .iter()
        .filter(|target| !target.has(norma_targets::Feature::SetMaxRegisters));
    let all = gradients();
    for target in cannot {
        assert!(of_interest(&all, target, |mapping| mapping.producer_registers > 0).is_empty());
    }
}
