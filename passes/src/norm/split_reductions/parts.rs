//! The space in which the split factor of a dim is a dim of its own.

use melior::ir::AffineExpr;
use norma_dialects::norm::Level;

use super::Split;
use crate::{
    kernel::{
        space::Space,
        space_rewrite::{NewDim, NewSpace},
    },
    mlir::{context, diagnostic::Diagnostic, pass::PassError},
    schedule::mapping::Factor,
};

/// A space whose split dim has become up to three dims: the factors outside of the split factor, the part (the split factor itself),
/// and the factors within it.
pub(super) struct Parts<'c> {
    pub(super) new: NewSpace<'c>,
    /// The part's position among the new dims.
    pub(super) part: usize,
    /// The factors of the dims that the split dim has become.
    pub(super) factors: Vec<Vec<Factor>>,
}

impl<'c> Parts<'c> {
    pub(super) fn of(split: &Split<'c, '_>, space: &Space<'c, '_>) -> Result<Self, PassError<'c>> {
        let location = space.location();
        let context = context::of(location);
        let (outer, inner) = split.around();
        let constant = |value: i64| AffineExpr::constant(context, value);
        let extent = space.extents[split.dim];
        let known = extent.is_constant().then(|| extent.constant_value().max(0));
        let product = |factors: &[Factor]| {
            factors
                .iter()
                .filter_map(|factor| factor.size)
                .fold(1, i64::saturating_mul)
        };
        let has_rest = |factors: &[Factor]| factors.iter().any(|factor| factor.size.is_none());
        let ceil = |dividend: i64, divisor: i64| (dividend as u64).div_ceil(divisor.max(1) as u64) as i64;
        let inner_size = if has_rest(inner) {
            // That the mapping can be applied has been checked.
            let known = known.ok_or_else(|| Diagnostic::internal(location, "expected a static extent"))?;
            let other = split
                .parts
                .saturating_mul(product(outer))
                .saturating_mul(product(inner));
            product(inner) * ceil(known, other)
        } else {
            product(inner)
        };
        let step = split.parts.saturating_mul(inner_size);
        let most = space.extent_bounds(split.dim).bound();
        let outer_size = match (has_rest(outer), known) {
            (false, _) => constant(product(outer)),
            (true, Some(known)) => constant(ceil(known, step)),
            // A bounded dim may have no more points than the parts have room for.
            (true, None) if most.is_some_and(|most| most <= step) => constant(1),
            (true, None) => AffineExpr::ceil_div(extent, constant(step)),
        };
        let is_one = |size: AffineExpr<'c>| size.is_constant() && size.constant_value() <= 1;
        let has_outer = !is_one(outer_size);
        let part = split.dim + usize::from(has_outer);
        let has_inner = inner_size > 1;
        let mut new = NewSpace::default();
        let mut add = |extent: AffineExpr<'c>| {
            new.dims.push(NewDim { extent, role: None });
            AffineExpr::dim(context, new.dims.len() - 1)
        };
        let mut old_dims = Vec::new();
        let mut guard = None;
        for dim in 0..space.dims.len() {
            if dim != split.dim {
                old_dims.push(add(space.extents[dim]));
                continue;
            }
            let mut whole = constant(0);
            if has_outer {
                whole = whole + add(outer_size) * constant(step);
            }
            whole = whole + add(constant(split.parts)) * constant(inner_size);
            if has_inner {
                whole = whole + add(constant(inner_size));
            }
            let covers = known.is_some_and(|known| {
                outer_size.is_constant() && outer_size.constant_value().saturating_mul(step) == known
            });
            if !covers {
                guard = Some([whole, extent]);
            }
            old_dims.push(whole);
        }
        new.old_dims = old_dims;
        new.guards.extend(guard);
        let mut factors = Vec::new();
        if has_outer {
            factors.push(outer.to_vec());
        }
        factors.push(vec![Factor::rest(Level::Grid)]);
        if has_inner {
            factors.push(inner.to_vec());
        }
        Ok(Self { new, part, factors })
    }
}
