//! Random choices, reproducible from a seed.

use norma_oracle::fill::Random;

/// A sequence of choices.
pub struct Draw(pub Random);

impl Draw {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Random::new(seed))
    }

    /// One of the choices, all equally likely; there must be at least one.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len() as u64) as usize]
    }

    /// True with probability 1 / `count`.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.0.below(count) == 0
    }

    /// A number from 1 to `most`.
    pub fn up_to(&mut self, most: u64) -> i64 {
        1 + self.0.below(most) as i64
    }

    /// A number below `bound`, which is positive.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound as u64) as usize
    }

    /// Shuffles (Fisher and Yates).
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}
