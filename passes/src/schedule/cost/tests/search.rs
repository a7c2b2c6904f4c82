//! The search for the cheapest candidate: it finds the first one in the order of all candidates, and evaluates few of them in
//! full.

use super::*;
use crate::schedule::cost::kernel::bound;

/// Kernels of several kinds.
fn kernels() -> Vec<Facts> {
    vec![
        rms_norm(16384, 4096, 2),
        rms_norm(16384, 4095, 2),
        rms_norm(32768, 128, 4),
        rms_norm(1000, 1 << 20, 2),
        column_sum(32768, 4096),
        rms_norm_grad(16384, 4096),
        transpose(16384, 16384),
        quantise_transposed(16384, 256),
    ]
}

#[test]
fn the_cheapest_is_the_first_in_order_that_may_be_chosen() {
    for facts in kernels() {
        let all = || candidates(&facts, &SM_90A);
        let first = ranked(&facts, all(), &SM_90A, &Assembled::default())[0].0.clone();
        let unknown = Assembled::default();
        let spilled = Assembled::from_iter([(first.clone(), None)]);
        let heavy = Assembled::from_iter([(first, Some(128))]);
        for assembled in [unknown, spilled, heavy] {
            let order = ranked(&facts, all(), &SM_90A, &assembled);
            for refused in [0, 1, 20] {
                let may_be_chosen =
                    |mapping: &Mapping| order[..refused].iter().all(|(other, _)| other != mapping);
                let expected = order.iter().find(|(mapping, _)| may_be_chosen(mapping));
                let found = cheapest(&facts, all(), &SM_90A, &assembled, may_be_chosen);
                assert_eq!(found.as_ref(), expected, "{refused} of {facts:?}");
            }
        }
    }
}

#[test]
fn nothing_is_the_cheapest_where_nothing_may_be_chosen() {
    let facts = rms_norm(16384, 4096, 2);
    let all = candidates(&facts, &SM_90A);
    assert_eq!(
        cheapest(&facts, all, &SM_90A, &Assembled::default(), |_| false),
        None
    );
}

#[test]
fn no_bound_is_above_the_cost() {
    for facts in kernels() {
        let kernel = Kernel::of(&facts, &SM_90A);
        for mapping in candidates(&facts, &SM_90A) {
            let Some(candidate) = kernel.candidate(&mapping, None) else {
                continue;
            };
            let (bound, total) = (bound(&candidate), kernel::cost(&candidate).total());
            assert!(bound <= total, "{bound} us of {total} us: {mapping}");
        }
    }
}

/// The search evaluates those candidates in full whose bound is no higher than the best cost. If accesses go along other dims
/// than the tile, their sectors decide, which bounds do not consider.
#[test]
fn few_candidates_are_judged_in_full_where_accesses_go_along_the_tile() {
    let goes_along = |facts: &Facts| facts.accesses.iter().all(|access| access.contiguous() == Some(1));
    for facts in kernels().into_iter().filter(goes_along) {
        let kernel = Kernel::of(&facts, &SM_90A);
        let all = candidates(&facts, &SM_90A);
        let Some((_, best)) = best(&facts) else {
            unreachable!("there is a candidate")
        };
        let bounds = all.iter().filter_map(|mapping| kernel.candidate(mapping, None));
        let judged = bounds
            .filter(|candidate| bound(candidate) <= best.total())
            .count();
        assert!(8 * judged <= all.len(), "{judged} of {}: {facts:?}", all.len());
    }
}
