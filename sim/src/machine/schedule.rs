//! Which warp runs next, for how long, and when copies land: every choice that hardware leaves open, derived from the
//! seed of a run.
//!
//! Races are found by happens-before and not by luck, so a schedule need not hit the bad moment. It decides what values
//! a racing read sees, which waits are tested early, and whether results depend on any of that. So schedules are not
//! merely random but include the extremes: one warp as far ahead as it gets, copies as late as possible, one
//! instruction at a time.

use crate::splitmix;

/// A generator of choices.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    state: u64,
}

/// The order in which warps that can run are picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOrder {
    /// All in turn.
    RoundRobin,
    /// At random.
    Random,
    /// The first that can, so that low warps run ahead.
    LowestFirst,
    /// The last that can, so that high warps run ahead.
    HighestFirst,
}

/// When copies land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    /// As soon as they are issued.
    Eager,
    /// Only when nothing else can run.
    Late,
    /// At any time.
    Random,
}

/// How a run is scheduled.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub order: WarpOrder,
    pub landing: Landing,
    /// Warp instructions before another warp may run.
    pub quantum: u32,
    /// Whether groups of a diverged warp are picked at random, rather than such that they reconverge early.
    pub scatter: bool,
    /// Whether `try_wait` may return false although it could wait.
    pub impatient: bool,
    /// Which thread `elect.sync` picks of a mask; 0 for the lowest.
    pub elected: u64,
    /// The cluster that is admitted first; the others follow cyclically.
    pub first_cluster: u64,
    /// Whether clusters are admitted in descending order.
    pub descending: bool,
    pub choices: Choices,
}

impl Choices {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(splitmix::STEP);
        splitmix::mix(self.state)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of the product's upper half is below 2^-32 for the bounds used here.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of the values, each equally likely.
    pub fn pick<T: Copy, const N: usize>(&mut self, values: [T; N]) -> T {
        values[self.below(N as u64) as usize]
    }
}

impl Schedule {
    /// The schedule of a seed. Seed 0 is the plain one: warps in turn, copies at once, threads of a warp together.
    pub fn new(seed: u64, clusters: u64) -> Self {
        let mut choices = Choices::new(seed);
        if seed == 0 {
            return Self {
                order: WarpOrder::RoundRobin,
                landing: Landing::Eager,
                quantum: 4096,
                scatter: false,
                impatient: false,
                elected: 0,
                first_cluster: 0,
                descending: false,
                choices,
            };
        }
        Self {
            order: choices.pick([
                WarpOrder::RoundRobin,
                WarpOrder::Random,
                WarpOrder::LowestFirst,
                WarpOrder::HighestFirst,
            ]),
            landing: choices.pick([Landing::Eager, Landing::Late, Landing::Late, Landing::Random]),
            quantum: choices.pick([1, 7, 64, 4096]),
            scatter: choices.once_in(2),
            impatient: choices.once_in(2),
            elected: choices.next(),
            first_cluster: choices.below(clusters),
            descending: choices.once_in(2),
            choices,
        }
    }

    /// The cluster that is admitted as number `index` of `count`.
    pub fn cluster(&self, index: u64, count: u64) -> u64 {
        let cyclic = (self.first_cluster + index) % count;
        match self.descending {
            true => count - 1 - cyclic,
            false => cyclic,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_is_let_in_once() {
        for seed in 0..50 {
            let schedule = Schedule::new(seed, 7);
            let mut seen: Vec<u64> = (0..7).map(|index| schedule.cluster(index, 7)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..7).collect::<Vec<_>>());
        }
    }

    #[test]
    fn choices_stay_below_their_bound_and_reach_all_of_it() {
        let mut choices = Choices::new(3);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[choices.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(choices.below(0), 0);
    }
}
