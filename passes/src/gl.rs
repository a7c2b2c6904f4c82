//! Passes on `gl`, one CTA's program on tiles. One file a pass, named after it; `shared_memory` says what ops of `gl` do
//! to shared memory, `access` what loads and stores do to global memory, `quotient_form` takes affine expressions apart,
//! `divisibility` says what divides them, and `bounds` where scalars lie; `scalars` is what these two follow scalars by.
//! `steps` gives scalars of loops as they are in other steps, `drawn` is what passes do to loops whose tiles CTAs draw, and
//! `mbarriers` sets up mbarriers, `constant_tiles` says what of a reduction is known before the run.

pub(crate) mod access;
pub(crate) mod allocate_shared;
pub(crate) mod bounds;
pub(crate) mod constant_tiles;
pub(crate) mod dependent_launch;
pub(crate) mod divisibility;
pub(crate) mod draw_tiles;
mod drawn;
pub(crate) mod expand_conversions;
pub(crate) mod expand_reductions;
pub(crate) mod insert_barriers;
mod mbarriers;
pub(crate) mod optimize_layouts;
pub(crate) mod pipeline;
pub(crate) mod prefetch_loads;
pub(crate) mod quotient_form;
mod scalars;
pub(crate) mod shared_memory;
pub(crate) mod specialize_warps;
pub(crate) mod steps;
pub(crate) mod tensor_maps;
pub(crate) mod vectorize_access;
