//! How a mapping spreads one dim over the machine, in numbers.

use norma_dialects::norm::Level;

use super::{
    facts::{Dim, Facts},
    mapping::{Factor, Mapping},
};

/// How a mapping spreads one dim.
pub(super) struct Spread {
    pub(super) extent: u64,
    /// Elements of each thread; registers that are dead in all threads do not count.
    pub(super) registers: u64,
    pub(super) vector: u64,
    pub(super) lanes: u64,
    pub(super) warps: u64,
    /// CTAs of a cluster.
    pub(super) cluster: u64,
    /// Points that a CTA holds at a time.
    pub(super) tile: u64,
    pub(super) is_looped: bool,
    /// The parts that CTAs take in turns, a tile each, in every step of a loop.
    parts: u64,
    /// CTAs along the dim.
    pub(super) ctas: u64,
    /// The share of the points in live registers that lie within the dim.
    pub(super) live: f64,
}

impl Spread {
    /// Returns the spread of a dim whose tiles begin up to `before` points before it.
    pub(super) fn of(factors: &[Factor], extent: u64, before: u64) -> Self {
        let (mut registers, mut vector, mut lanes, mut warps) = (1, 1, 1, 1);
        let (mut cluster, mut split, mut grid) = (1, 1, 1);
        let (mut is_looped, mut is_in_grid, mut is_rest_in_grid) = (false, false, false);
        for factor in factors {
            let size = factor.size.unwrap_or(1) as u64;
            match factor.level {
                Level::Register => registers *= size,
                Level::Vector => vector *= size,
                Level::Lane => lanes *= size,
                Level::Warp => warps *= size,
                Level::Cluster => cluster *= size,
                Level::Split => split *= size,
                Level::Loop => is_looped = true,
                Level::Grid => {
                    grid *= size;
                    is_in_grid = true;
                    is_rest_in_grid |= factor.size.is_none();
                }
            }
        }
        let whole = registers * vector;
        let tile = whole * lanes * warps;
        // The steps of a loop over a row with alignment peeling cover up to `before` points more.
        let walked = if is_looped { extent + before } else { extent };
        let outer = walked.div_ceil(tile * cluster).max(1);
        let held_whole = !is_looped && !is_in_grid;
        // A group of registers that is dead in every thread folds away; one that is live in any thread takes registers in all of
        // them.
        let registers = if held_whole {
            let access = cluster * lanes * warps * vector;
            ((extent + before).div_ceil(access).max(1) * vector).min(whole)
        } else {
            whole
        };
        let covered = if held_whole {
            registers * lanes * warps * cluster
        } else {
            outer * tile * cluster
        };
        Self {
            extent,
            registers,
            vector,
            lanes,
            warps,
            cluster,
            tile,
            is_looped,
            parts: split,
            ctas: if is_rest_in_grid { outer } else { grid } * split * cluster,
            live: (extent as f64 / covered as f64).min(1.0),
        }
    }

    pub(super) fn threads(&self) -> u64 {
        self.lanes * self.warps
    }

    /// Points that a CTA holds, or passes over in a loop.
    pub(super) fn of_cta(&self) -> u64 {
        match self.is_looped {
            true => self.extent.div_ceil(self.cluster),
            false => self.tile.min(self.extent),
        }
    }

    /// Neighbouring points that a CTA holds, or passes over in a loop.
    pub(super) fn run_of_cta(&self) -> u64 {
        match self.is_looped && self.parts == 1 {
            true => self.of_cta(),
            false => self.tile.min(self.extent),
        }
    }

    /// The share of the tile's points that lie within the dim, where the tile holds all of it.
    pub(super) fn filled(&self) -> f64 {
        match self.is_looped {
            true => 1.0,
            false => (self.extent as f64 / (self.tile * self.cluster) as f64).min(1.0),
        }
    }

    /// Steps of the dim's loop.
    pub(super) fn steps(&self) -> f64 {
        (self.extent as f64 / (self.tile * self.ctas) as f64).ceil()
    }

    /// Neighbouring points that neighbouring registers of a thread hold.
    pub(super) fn run(&self) -> u64 {
        if self.vector > 1 || self.threads() > 1 {
            self.vector
        } else {
            self.registers
        }
    }
}

/// How a mapping spreads each dim.
pub(super) fn spreads(facts: &Facts, mapping: &Mapping) -> Vec<Spread> {
    let spread = |(position, (dim, factors)): (usize, (&Dim, &Vec<Factor>))| {
        let before = match mapping.aligned_dim {
            Some(aligned) if aligned == position => mapping.vector(position) as u64 - 1,
            _ => 0,
        };
        Spread::of(factors, dim.extent, before)
    };
    let dims = facts.dims.iter().zip(&mapping.spread);
    dims.enumerate().map(spread).collect()
}
