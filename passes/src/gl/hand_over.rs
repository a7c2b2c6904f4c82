//! The arithmetic of handing registers from producer warps to consumer warps (`setmaxnreg`).
//!
//! All threads of a CTA start with the same number of registers. Producers give up all but a few, and consumers share these among
//! them. What the threads hold together never exceeds what they started with, so that every request is granted in the end; numbers
//! of registers are multiples of 8 from 24 on (PTX ISA, `setmaxnreg`).

/// Warps of a warpgroup, all of which execute `setmaxnreg` (PTX ISA).
pub const WARPGROUP: i64 = 4;

/// Registers of an SM: 65536 on every target that has `setmaxnreg`, from sm_90a on (CUDA C++ Programming Guide, technical
/// specifications per compute capability).
const REGISTERS_OF_SM: i64 = 1 << 16;
/// Numbers of registers are multiples of this.
const UNIT: i64 = 8;
/// The most registers that a thread starts with or takes: 255 can be named, and 240 is the largest number that the dialect knows.
const MOST: i64 = 240;

/// Returns the registers that each of `warps` warps of a CTA starts with if an SM is to hold `ctas` such CTAs.
pub fn at_start(warps: i64, ctas: i64) -> i64 {
    let warps = warps.saturating_mul(ctas).max(1);
    let of_thread = REGISTERS_OF_SM / norma_targets::WARP_SIZE / warps;
    (of_thread / UNIT * UNIT).min(MOST)
}

/// Returns the registers that a thread of `consumers` warps has once each thread of `producers` warps keeps `kept` of the `start` that it
/// started with.
pub fn of_consumer(start: i64, consumers: i64, producers: i64, kept: i64) -> i64 {
    let given = (start - kept).max(0) * producers / consumers.max(1);
    ((start + given) / UNIT * UNIT).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cta_of_three_warpgroups_gives_two_of_them_240_registers() {
        let start = at_start(12, 1);
        assert_eq!((start, of_consumer(start, 8, 4, 24)), (168, 240));
    }

    #[test]
    fn threads_never_hold_more_than_they_started_with() {
        for (consumers, producers, ctas) in [(4, 4, 1), (4, 4, 4), (8, 4, 2), (16, 4, 1), (12, 4, 2)] {
            let start = at_start(consumers + producers, ctas);
            let taken = of_consumer(start, consumers, producers, 24);
            assert!(taken * consumers + 24 * producers <= start * (consumers + producers));
            assert!(start * 32 * (consumers + producers) * ctas <= REGISTERS_OF_SM);
        }
    }
}
