//! Where a thread stands in a layout: its coordinate along a tile's axes.
//!
//! CTAs are one-dimensional. A coordinate is `thread part + register constant`: the bases of a blocked layout have
//! disjoint bits along each axis, so that exclusive or is addition.

use norma_layout::{HardwareDim, LinearLayout, StridedTerm};
use norma_targets::WARP_SIZE;

use crate::mlir::diagnostic::Diagnostic;

use super::emit::{Emit, Value};

/// What a thread's registers hold along one axis of a tile.
pub(super) struct AxisCoordinates<'c, 'a> {
    /// The part that depends on the thread, i32; `None` where it is zero for every thread.
    pub thread: Option<Value<'c, 'a>>,
    /// The largest value of that part.
    pub thread_max: i64,
    /// The part of each register.
    pub registers: Vec<i64>,
}

/// The coordinates of a thread's registers along each axis.
///
/// # Errors
///
/// Unsupported if the layout's bases overlap, so that its coordinates are no sums.
pub(super) fn coordinates<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    layout: &LinearLayout,
) -> Result<Vec<AxisCoordinates<'c, 'a>>, Diagnostic<'c>> {
    (0..layout.rank()).map(|axis| along(e, layout, axis)).collect()
}

/// The coordinates along one axis.
pub(super) fn along<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    layout: &LinearLayout,
    axis: usize,
) -> Result<AxisCoordinates<'c, 'a>, Diagnostic<'c>> {
    let split = layout.offset_split(axis).map_err(|error| e.internal(error))?;
    if !split.additive {
        return Err(e.unsupported(format!(
            "expected a layout whose bases have disjoint bits along axis {axis}, got {layout}"
        )));
    }
    let bits = |dim| layout.bits(dim);
    let mut thread = None;
    let mut thread_max = 0;
    for term in merge_lanes_and_warps(&split.thread_terms, bits(HardwareDim::Lane)) {
        let (id, ids) = match term.source {
            Source::Thread => (
                e.thread_id(),
                1_i64 << (bits(HardwareDim::Lane) + bits(HardwareDim::Warp)),
            ),
            Source::Part(HardwareDim::Lane) => (e.lane_id(), WARP_SIZE),
            Source::Part(HardwareDim::Warp) => (e.warp_id(), 1_i64 << bits(HardwareDim::Warp)),
            Source::Part(dim) => {
                return Err(e.unsupported(format!(
                    "expected a tile within one CTA, got {dim:?} bases in {layout}"
                )));
            }
        };
        let shifted = match term.shift {
            0 => id,
            shift => e.shrui(id, e.i32(i64::from(shift))),
        };
        let masked = match term.mask {
            None => shifted,
            Some(mask) => e.andi(shifted, e.i32(i64::from(mask))),
        };
        let part = match term.multiplier {
            1 => masked,
            multiplier => e.muli(masked, e.i32(multiplier)),
        };
        thread_max += term.mask.map_or((ids - 1) >> term.shift, i64::from) * term.multiplier;
        thread = Some(match thread {
            None => part,
            Some(sum) => e.addi(sum, part),
        });
    }
    Ok(AxisCoordinates {
        thread,
        thread_max,
        registers: split.register_offsets,
    })
}

enum Source {
    Thread,
    Part(HardwareDim),
}

struct Term {
    source: Source,
    shift: u32,
    mask: Option<u32>,
    multiplier: i64,
}

/// Lanes that are followed by warps at the same distance are one multiple of the thread id.
fn merge_lanes_and_warps(terms: &[StridedTerm], lane_bits: usize) -> Vec<Term> {
    if let [lane, warp] = terms
        && lane.dim == HardwareDim::Lane
        && warp.dim == HardwareDim::Warp
        && (lane.shift, lane.mask, warp.shift, warp.mask) == (0, None, 0, None)
        && warp.multiplier == lane.multiplier << lane_bits
    {
        return vec![Term {
            source: Source::Thread,
            shift: 0,
            mask: None,
            multiplier: lane.multiplier,
        }];
    }
    terms
        .iter()
        .map(|term| Term {
            source: Source::Part(term.dim),
            shift: term.shift,
            mask: term.mask,
            multiplier: term.multiplier,
        })
        .collect()
}

/// A predicate that holds for one thread of each set that holds the same elements; `None` where no two do.
pub(super) fn first_holder<'c, 'a>(e: &Emit<'_, 'c, 'a>, layout: &LinearLayout) -> Option<Value<'c, 'a>> {
    let mut predicate = None;
    for dim in [HardwareDim::Lane, HardwareDim::Warp] {
        let free = layout.free_mask(dim);
        if free == 0 {
            continue;
        }
        let id = if dim == HardwareDim::Lane {
            e.lane_id()
        } else {
            e.warp_id()
        };
        let bits = e.andi(id, e.i32(free as i64));
        let is_first = e.compare("eq", bits, e.i32(0));
        predicate = Some(match predicate {
            None => is_first,
            Some(other) => e.andi(other, is_first),
        });
    }
    predicate
}
