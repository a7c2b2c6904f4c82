//! The arithmetic of instructions: pure functions on the registers of a warp.
//!
//! An operand is a [`Lanes`]: one 64-bit register per lane, whose value lies in the low bits with zeros above, as
//! results do. A function computes the lanes of its `mask` and leaves the others of `to` as they were. The match on
//! operation and format is outside of the loop over lanes, so that each loop is simple enough to be vectorised.
//!
//! Where the PTX ISA leaves a result open, the functions give that of an H200. So with NaNs: operations on f32, f16 and
//! bf16 return the canonical NaN `0x7fffffff` or `0x7fff`, whatever NaN an operand is (which the ISA promises for some
//! of them, "Half Precision Floating Point Instructions"); operations on f64 propagate the NaN of an operand.

mod approximate;
mod bytes;
mod compare;
mod convert;
mod float;
mod format;
mod integer;
mod lanes;
mod nan;
mod number;
mod round_to_odd;
mod rounding;
mod sign;
mod sixteen_bits;

pub use approximate::approximate;
pub use bytes::{permute_bytes, repack};
pub use compare::{compare_float, compare_integer};
pub use convert::convert;
pub use float::{float, float_once, fused_multiply_add};
pub use integer::{address, integer, select};
pub use lanes::{LANES, Lanes, lanes, lanes_where};
