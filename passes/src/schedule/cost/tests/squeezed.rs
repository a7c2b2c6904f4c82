//! Walks for which ptxas may manage with fewer registers than the model expects, where these decide about one more CTA.

use super::*;
use crate::schedule::cost::measured::SQUEEZED;
use norma_targets::REGISTER_UNIT;

/// The registers of a thread with which the model expects `registers` to do at least.
fn squeezed(registers: u64) -> u64 {
    (registers as f64 * SQUEEZED) as u64 / REGISTER_UNIT * REGISTER_UNIT
}

/// What `SQUEEZED` was measured by: LayerNorm's gradient over 4097 columns, with 256 threads.
#[test]
fn the_measured_walk_has_two_ctas_by_the_share_and_one_without() {
    let expected = 133_u64.next_multiple_of(REGISTER_UNIT);
    assert_eq!(SM_90A.resident_ctas(256, expected), 1);
    assert!(squeezed(expected) >= 117, "ptxas took 117");
    assert_eq!(SM_90A.resident_ctas(256, squeezed(expected)), 2);
}

#[test]
fn one_more_cta_is_asked_for_where_the_share_of_the_registers_allows_it() {
    let (mut more, mut no_more) = (0, 0);
    for columns in [4097, 5125] {
        let facts = rms_norm_grad(16384, columns);
        let kernel = Kernel::of(&facts, &SM_90A);
        for mapping in candidates(&facts, &SM_90A) {
            let Some(expected) = kernel.candidate(&mapping, None) else {
                continue;
            };
            let mapped = &expected.mapped;
            let is_walk = mapped.reduces_in_steps() && !mapped.is_ringed() && !mapping.prefetches();
            if !is_walk || expected.resident != 1 || mapping.min_ctas_per_sm != 0 {
                continue;
            }
            let fits = SM_90A.resident_ctas(mapped.all_threads(), squeezed(expected.registers)) >= 2;
            let of_two = Mapping {
                min_ctas_per_sm: 2,
                ..mapping.clone()
            };
            let resident = |assembled| kernel.candidate(&of_two, assembled).map(|found| found.resident);
            assert_eq!(resident(None), Some(if fits { 2 } else { 1 }), "{of_two}");
            // What the assembler found is not squeezed.
            assert_eq!(resident(Some(expected.registers)), Some(1), "{of_two}");
            match fits {
                true => more += 1,
                false => no_more += 1,
            }
        }
    }
    assert!(more > 0 && no_more > 0, "{more} and {no_more}");
}
