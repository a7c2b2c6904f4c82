//! Everything that is known of schedules: what a `#norm.schedule` says, which dims, guards and layout follow from it for a kernel, and
//! whether the passes can apply it.
//!
//! The selector asks here before it proposes a schedule, and the passes ask here when they apply one, so that both get the same answer.

mod alignment;
pub mod candidates;
pub mod cost;
mod extents;
pub mod facts;
pub mod given;
mod hand_out;
pub mod kind;
pub mod mapping;
pub mod plan;
pub mod reason;
pub mod rings;
pub mod shared_rows;
mod spread;
mod tensor_maps;
pub mod tile;
