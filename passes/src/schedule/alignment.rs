//! Tiles that begin at aligned addresses in rows that begin anywhere: alignment peeling in which one tile covers head, body and
//! tail.
//!
//! An element of the leading access lies `offset + sum of strides * dims` elements behind the buffer's base, and the base is aligned. Let s
//! be this sum at the first point of the aligned dim, modulo the vector. If the dim is the tile's coordinate less s, then the address is a
//! multiple of the vector plus the tile's coordinate. Another dim changes s only by its stride modulo the vector. A part of a dim whose
//! steps move the address by whole vectors does not change s.

use melior::ir::{AffineExpr, AffineMap};
use norma_dialects::norm::{DimRole, ReduceOp};

use super::{facts::Facts, reason::Reason};
use crate::{
    kernel::{
        space::{DimSet, Space},
        space_rewrite::{NewSpace, Shift},
    },
    mlir::{context, linear_form::LinearForm},
};

/// The shift that aligns the tiles of one dim, as a function of the other dims.
pub(super) struct Alignment {
    dim: usize,
    /// Elements of a vector.
    vector: i64,
    /// For each dim of the kernel its stride modulo the vector; 0 for `dim` itself.
    strides: Vec<i64>,
    /// The offset modulo the vector.
    offset: i64,
}

impl Alignment {
    /// Returns the alignment of tiles along `dim`, in vectors of `vector` elements.
    ///
    /// # Errors
    ///
    /// No access is contiguous along the dim, or a stride or the offset of the leading access is known only at run time.
    pub fn of(space: &Space<'_, '_>, dim: usize, vector: i64) -> Result<Self, Reason> {
        let facts = Facts::of(space).map_err(Reason::wrong)?;
        let lead = facts.lead_along(dim).ok_or_else(|| {
            Reason::wrong(format!(
                "expected aligned_dim to be a dim along which an access is contiguous, got {dim}"
            ))
        })?;
        let rest = |stride: i64| stride.rem_euclid(vector);
        let strides = lead
            .strides
            .iter()
            .enumerate()
            .map(|(other, stride)| match stride {
                _ if other == dim => Some(0),
                stride => stride.map(rest),
            });
        let (Some(strides), Some(offset)) = (strides.collect::<Option<Vec<_>>>(), lead.offset) else {
            return Err(Reason::unsupported(format!(
                "aligned_dim = {dim}, along which rows begin at dynamic places; supported: static strides"
            )));
        };
        Ok(Self {
            dim,
            vector,
            strides,
            offset: rest(offset),
        })
    }

    /// Returns the most points by which a tile may begin before the first point of `dim`.
    pub fn most_before(&self, dim: usize) -> i64 {
        if dim != self.dim {
            return 0;
        }
        // The vector is a power of two, so its greatest common divisor with the strides is the smallest power of two that divides
        // one of them.
        let steps = self.strides.iter().chain([&self.vector]);
        let step = steps.fold(self.vector, |step, stride| match stride {
            0 => step,
            stride => step.min(1 << stride.trailing_zeros()),
        });
        self.vector - step + self.offset % step
    }

    /// Shifts the dim, and adds guards against the points before and behind it.
    ///
    /// # Errors
    ///
    /// Rows of one CTA begin at different alignments, or the kernel uses the dim in a way that a shift does not allow.
    pub fn shift<'c>(&self, space: &Space<'c, '_>, new: &mut NewSpace<'c>) -> Result<(), Reason> {
        if self.most_before(self.dim) == 0 {
            return Ok(());
        }
        let context = context::of(space.location());
        let constant = |value: i64| AffineExpr::constant(context, value);
        let mut factors = vec![0_i64; new.dims.len()];
        for (old, stride) in new.old_dims.iter().zip(&self.strides) {
            let form = LinearForm::of(*old, new.dims.len(), 0)
                .ok_or_else(|| Reason::wrong(format!("expected a sum of dims, got {old}")))?;
            for (sum, factor) in factors.iter_mut().zip(form.dims) {
                *sum = (*sum + factor.rem_euclid(self.vector) * stride).rem_euclid(self.vector);
            }
        }
        let shifting = (0..factors.len())
            .filter(|dim| factors[*dim] != 0)
            .collect::<DimSet>();
        let is_scalar = |dim: &usize| matches!(new.dims[*dim].role, Some(DimRole::Grid | DimRole::Loop));
        if !shifting.iter().all(is_scalar) {
            return Err(Reason::unsupported(format!(
                "aligned_dim = {} for rows of one CTA that begin differently; supported: rows that are multiples of {} \
                 apart, as in [grid, register(4), grid({})]",
                self.dim, self.vector, self.vector
            )));
        }
        self.check_uses(space, new, &shifting)?;
        let row = shifting.iter().fold(constant(self.offset), |row, dim| {
            AffineExpr::dim(context, *dim) * constant(factors[*dim]) + row
        });
        let before = AffineExpr::modulo(row, constant(self.vector));
        let shift = Shift {
            dim: self.dim,
            by: before * constant(-1),
        };
        let shifted = new.old_dims[self.dim] + shift.by;
        new.shift = Some(shift);
        new.guards.push([shifted * constant(-1), constant(1)]);
        new.guards.push([shifted, space.extents[self.dim]]);
        Ok(())
    }

    /// Refuses a reduction or scan that keeps the dim while it ranges over dims that shift it, an access that uses only a part of
    /// the dim, for which there is no guard, and a write that does not vary over all dims that shift it. A reduction over a grid dim is
    /// one over parts, each of which its CTA reduces for itself; what depends on it is written by another kernel.
    fn check_uses<'c>(
        &self,
        space: &Space<'c, '_>,
        new: &NewSpace<'c>,
        shifting: &DimSet,
    ) -> Result<(), Reason> {
        let context = context::of(space.location());
        let composed = AffineMap::new(context, new.dims.len(), 0, &new.old_dims);
        let parts = |old: usize| {
            let parts = (0..new.dims.len()).filter(move |dim| new.old_dims[old].is_function_of_dim(*dim));
            parts.collect::<DimSet>()
        };
        let own = parts(self.dim);
        let is_grid = |dim: &usize| new.dims[*dim].role == Some(DimRole::Grid);
        // For each reduction and scan the dims that it ranges over, and its results.
        let reductions = space.reductions().into_iter();
        let reductions = reductions.map(|reduce| (space.dims_reduced_by(reduce), reduce.results()));
        let scans = space.scans().into_iter();
        let scans = scans.map(|scan| (space.dims_scanned_by(scan), scan.result().into_iter().collect()));
        for (over, results) in reductions.chain(scans) {
            let keeps = results
                .first()
                .is_some_and(|result| space.dims_of(*result).contains(&self.dim))
                && !over.contains(&self.dim);
            let is_shifting = |old: &usize| {
                let mut parts = parts(*old).into_iter();
                parts.any(|dim| shifting.contains(&dim) && !is_grid(&dim))
            };
            if keeps && over.iter().any(is_shifting) {
                return Err(Reason::unsupported(format!(
                    "aligned_dim = {} where a reduction over rows keeps it; supported: reductions along it",
                    self.dim
                )));
            }
        }
        let waits_for_parts = |value| {
            let waited = space.waits_for(value);
            let mut reductions = waited
                .iter()
                .filter_map(|position| ReduceOp::from_op(space.ops[position]));
            reductions.any(|reduce| {
                let mut reduced = space.dims_reduced_by(reduce).into_iter();
                reduced.any(|old| parts(old).iter().any(is_grid))
            })
        };
        for access in space.accesses().map_err(Reason::wrong)? {
            let used = (0..new.dims.len())
                .filter(|dim| {
                    let coordinates = access.coordinates.iter();
                    let mut composed = coordinates.map(|coordinate| coordinate.compose(composed));
                    composed.any(|coordinate| coordinate.is_function_of_dim(*dim))
                })
                .collect::<DimSet>();
            if used.is_disjoint(&own) {
                continue;
            }
            if access.is_indirect() {
                return Err(Reason::unsupported(format!(
                    "aligned_dim = {} along which a computed place is accessed; supported: accesses at dims and numbers",
                    self.dim
                )));
            }
            if !used.is_superset(&own) {
                return Err(Reason::unsupported(format!(
                    "aligned_dim = {} where an access uses a part of the dim; supported: accesses by all of it",
                    self.dim
                )));
            }
            if access.is_write && !used.is_superset(shifting) && !waits_for_parts(access.value) {
                return Err(Reason::unsupported(format!(
                    "aligned_dim = {} where a result is the same for rows that begin differently; supported: results \
                     for each row",
                    self.dim
                )));
            }
        }
        Ok(())
    }
}
