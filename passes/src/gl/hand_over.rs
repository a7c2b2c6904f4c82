//! The arithmetic of handing registers from producer warps to consumer warps (`setmaxnreg`).
//!
//! All threads of a CTA start with the same number of registers. Producers give up all but a few, and consumers share these among
//! them. What the threads hold together never exceeds what they started with, so that every request is granted in the end.

use norma_targets::{MOST_SET_REGISTERS, SET_REGISTERS_UNIT, SM_90A, WARP_SIZE};

/// Registers of an SM, of which all targets that have `setmaxnreg` have the same number.
const REGISTERS_PER_SM: i64 = SM_90A.registers_per_sm as i64;

/// Returns the registers that each of `warps` warps of a CTA starts with if an SM is to hold `ctas` such CTAs.
pub fn at_start(warps: i64, ctas: i64) -> i64 {
    let warps = warps.saturating_mul(ctas).max(1);
    granted(REGISTERS_PER_SM / WARP_SIZE / warps)
}

/// Returns the registers that a thread of `consumers` warps has once each thread of `producers` warps keeps `kept` of the `start` that it
/// started with.
pub fn of_consumer(start: i64, consumers: i64, producers: i64, kept: i64) -> i64 {
    let given = (start - kept).max(0) * producers / consumers.max(1);
    granted(start + given)
}

/// Returns the largest number of registers, at most `available`, that a thread can have by `setmaxnreg`.
fn granted(available: i64) -> i64 {
    (available / SET_REGISTERS_UNIT * SET_REGISTERS_UNIT).min(MOST_SET_REGISTERS)
}

#[cfg(test)]
mod tests {
    use norma_targets::FEWEST_SET_REGISTERS;

    use super::*;

    #[test]
    fn a_cta_of_three_warpgroups_gives_two_of_them_240_registers() {
        let start = at_start(12, 1);
        assert_eq!(
            (start, of_consumer(start, 8, 4, FEWEST_SET_REGISTERS)),
            (168, 240)
        );
    }

    #[test]
    fn threads_never_hold_more_than_they_started_with() {
        for (consumers, producers, ctas) in [(4, 4, 1), (4, 4, 4), (8, 4, 2), (16, 4, 1), (12, 4, 2)] {
            let start = at_start(consumers + producers, ctas);
            let kept = FEWEST_SET_REGISTERS;
            let taken = of_consumer(start, consumers, producers, kept);
            assert!(taken * consumers + kept * producers <= start * (consumers + producers));
            assert!(start * WARP_SIZE * (consumers + producers) * ctas <= REGISTERS_PER_SM);
        }
    }
}
