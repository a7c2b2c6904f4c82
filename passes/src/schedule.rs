//! All that is known of schedules, in one place: what a `#norm.schedule` says, which dims, guards and layout follow from it for a
//! kernel, whether the passes can apply it, which schedules are candidates for a kernel, and what they should take.
//!
//! The selector asks before it proposes a schedule, and the passes ask when they apply one, so that both get the same answer.
//!
//! Words of this module: a *walk* is a loop in which a CTA passes over the points of a dim, such as the rows of a gradient. A
//! *ring* is the circular buffer in shared memory through which copies bring the tiles of a walk, some stages ahead. A *row* is the
//! part of the space that one result of a reduction depends on. *Results come back* to a dim where they are broadcast along it
//! again. *Late* reads are those that only results need, behind the reductions. *Merged* reductions are combined as tuples, as in
//! online softmax.

mod alignment;
pub mod basis;
pub mod candidates;
mod cluster_room;
pub mod cost;
mod dense_rows;
pub mod exchanges;
mod extents;
pub mod facts;
pub mod given;
mod hand_out;
pub mod kind;
pub mod mapping;
pub mod plan;
pub mod reason;
pub mod rings;
pub mod rows_in_shared_memory;
mod spread;
mod tensor_maps;
pub mod tile;
