//! Passes on `gl`, the program of one CTA on tiles. One file a pass, named after it. The other modules are what passes share:
//!
//! - `shared_memory`, `global_memory`: what each op does to either; `access`: the addresses of loads and stores.
//! - `quotient_form`: affine expressions as sums with quotients; `divisibility`: divisors of scalars, forms and addresses; `bounds`: ranges
//!   of scalars; `scalars`: how the latter two trace a scalar to its definition.
//! - `steps`: scalars of a loop body as they are in another step of the loop, and loads that an earlier step may issue.
//! - `steady`: along which axes a tile of computed numbers is the same; `tile_layouts`: tiles in other layouts.
//! - `exchanged`: tiles that threads exchange through shared memory without bank conflicts.
//! - `launch`: how a kernel is launched; `drawn`: rewriting of loops whose tiles CTAs draw dynamically; `mbarriers`: mbarriers set up
//!   at the start of a kernel.
//! - `hand_over`: the arithmetic of registers that producer warps hand to consumers.
//! - `constant_tiles`: operands of reductions that are known constants; `tensor_maps`: which buffers a tensor map can describe;
//!   `swizzled`: memory in the order of a tensor map's swizzle.

pub(crate) mod access;
pub(crate) mod allocate_shared;
pub(crate) mod bounds;
pub(crate) mod constant_tiles;
pub(crate) mod dependent_launch;
pub(crate) mod divisibility;
pub(crate) mod draw_tiles;
mod drawn;
mod exchanged;
pub(crate) mod expand_conversions;
pub(crate) mod expand_reductions;
pub(crate) mod global_memory;
pub(crate) mod hand_over;
pub(crate) mod insert_barriers;
pub(crate) mod launch;
mod mbarriers;
pub(crate) mod optimize_layouts;
mod own_elements;
pub(crate) mod pipeline;
pub(crate) mod prefetch_loads;
pub(crate) mod quotient_form;
mod scalars;
pub(crate) mod shared_memory;
pub(crate) mod sink_extensions;
pub(crate) mod specialize_warps;
mod steady;
pub(crate) mod steps;
pub(crate) mod swizzled;
pub(crate) mod tensor_maps;
mod tile_layouts;
pub(crate) mod unroll_loops;
pub(crate) mod vectorize_access;
