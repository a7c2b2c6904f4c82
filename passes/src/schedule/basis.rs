//! What a kernel's schedule is chosen from: all that is known of the kernel, or only what holds for any number of rows.

use melior::Error;
use norma_dialects::norm::{CachePlace, KernelOp, Level};
use norma_targets::Target;

use super::{candidates::candidates, exchanges, facts::Facts, mapping::Mapping, plan, reason::Reason};
use crate::kernel::{rows::rows, space::Space};

/// What a choice is made from.
pub struct Basis<'c, 'a> {
    /// The kernel, as far as the choice may know it.
    pub space: Space<'c, 'a>,
    /// Its facts.
    pub facts: Facts,
    /// The dims whose extents the choice must not depend on.
    pub rows: Vec<usize>,
}

impl<'c, 'a> Basis<'c, 'a> {
    /// All that is known of a kernel; with `any_rows` without the number of its rows, so that the order in which a row is reduced cannot
    /// depend on it.
    ///
    /// # Errors
    ///
    /// The kernel is not one that its verifier accepts.
    pub fn of(kernel: KernelOp<'c, 'a>, any_rows: bool) -> Result<Self, Error> {
        let mut space = Space::of(kernel)?;
        let rows = if any_rows { rows(&space)? } else { Vec::new() };
        space.forget_extents(&rows);
        let facts = Facts::of_any_rows(&space, &rows)?;
        Ok(Self { space, facts, rows })
    }

    /// The candidates, except for those in which the order of a row's elements depends on the place of the row in memory.
    pub fn candidates(&self, target: &Target) -> Vec<Mapping> {
        let mut all = candidates(&self.facts, target);
        if !self.rows.is_empty() {
            all.retain(|mapping| mapping.aligned_dim.is_none());
        }
        all
    }

    /// Whether the passes can apply a mapping, by what the choice may know, and a CTA of the target has room for what its warps exchange.
    pub fn is_legal(&self, mapping: &Mapping, target: &Target) -> bool {
        plan::check(&self.space, mapping).is_ok() && exchanges::fit(&self.facts, mapping, target)
    }

    /// The mapping with each split of a row dim of known extent reduced so that every part but the last has at least two rows; a split that
    /// would leave one part is dropped. This changes only how rows are added up, not how a row is reduced. Splits of dims that are also
    /// spread over CTAs or threads in other ways stay as they are.
    ///
    /// # Errors
    ///
    /// Unsupported, if a mapping that suits any number of rows does not suit the kernel's.
    pub fn fitted(&self, kernel: KernelOp<'c, 'a>, mapping: &Mapping) -> Result<Mapping, Reason> {
        if self.rows.is_empty() {
            return Ok(mapping.clone());
        }
        let space = Space::of(kernel).map_err(Reason::wrong)?;
        let mut fitted = mapping.clone();
        for row in &self.rows {
            let extent = space.extents[*row];
            let factors = &mut fitted.spread[*row];
            let Some(split) = factors.iter().position(|factor| factor.level == Level::Split) else {
                continue;
            };
            let others = factors
                .iter()
                .enumerate()
                .filter(|(position, _)| *position != split);
            let tile = others
                .filter_map(|(_, factor)| factor.size)
                .fold(1_i64, i64::saturating_mul);
            if tile != 1 || !extent.is_constant() {
                continue;
            }
            let most = extent.constant_value().max(0).unsigned_abs().div_ceil(2) as i64;
            match factors[split].size.map(|size| size.min(most)) {
                Some(size) if size > 1 => factors[split].size = Some(size),
                _ => drop(factors.remove(split)),
            }
        }
        plan::check(&space, &fitted).map(|()| fitted)
    }
}

/// Whether two mappings give each thread the same elements in the same order, so that a row's results are the same bits. They may
/// differ in where rows are read again, in when values are read that only results need, and in the bound of registers.
pub fn reduce_alike(one: &Mapping, other: &Mapping) -> bool {
    let of_order = |mapping: &Mapping| {
        let mut mapping = mapping.clone();
        for place in &mut mapping.keep {
            if *place == CachePlace::L2 {
                *place = CachePlace::L1;
            }
        }
        Mapping {
            early_reads: false,
            min_ctas_per_sm: 0,
            ..mapping
        }
    };
    of_order(one) == of_order(other)
}
