//! Computes a thread's coordinates along a tile's axes from the tile's layout.
//!
//! CTAs and clusters are one-dimensional. A coordinate is `place + register constant`, where the place depends on the thread. A
//! layout combines the bits of a register and of a thread by exclusive or, which is a sum only where no bit belongs to both.
//! Registers that share bits with the thread, as in a swizzle, get places of their own.

use norma_layout::{HardwareDim, LinearLayout, StridedTerm};

use crate::mlir::diagnostic::Diagnostic;

use crate::mlir::comparison::IntegerPredicate;

use super::emit::{Emit, Value};

/// The coordinates of a thread's registers along one axis of a tile.
pub(super) struct AxisCoordinates<'c, 'a> {
    /// The parts that depend on the thread, i32 and not negative: one value for each set of registers that have it in common.
    /// `None` where it is zero for every thread.
    pub places: Vec<Option<Value<'c, 'a>>>,
    /// For each register the index of its place.
    pub place_of: Vec<usize>,
    /// The constant that each register adds to its place.
    pub constants: Vec<i64>,
    /// The largest value of any place.
    pub max: i64,
    /// A divisor of every place.
    pub divisor: i64,
}

/// The coordinates of a thread's registers along each axis.
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
    let bits = |dim| layout.bits(dim);
    let mut thread: Option<Value<'c, 'a>> = None;
    // The bits that the terms so far may set.
    let mut reach = 0;
    for term in merge_lanes_and_warps(&split.thread_terms, bits(HardwareDim::Lane)) {
        let (id, id_bits) = match term.source {
            Source::Thread => (e.thread_id(), bits(HardwareDim::Lane) + bits(HardwareDim::Warp)),
            Source::Part(HardwareDim::Lane) => (e.lane_id(), bits(HardwareDim::Lane)),
            Source::Part(HardwareDim::Warp) => (e.warp_id(), bits(HardwareDim::Warp)),
            Source::Part(HardwareDim::Block) => (e.cluster_rank(), bits(HardwareDim::Block)),
            Source::Part(HardwareDim::Register) => {
                return Err(e.internal(format!("expected no registers among the threads of {layout}")));
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
        // A term of several bits has a power of two as its multiplier, so this is also the bits that it may set.
        let part_reach = term.mask.map_or((1_i64 << id_bits >> term.shift) - 1, i64::from) * term.multiplier;
        thread = Some(match thread {
            None => part,
            Some(sum) if reach & part_reach == 0 => e.addi(sum, part),
            Some(sum) => e.xori(sum, part),
        });
        reach |= part_reach;
    }
    let mut variants: Vec<i64> = Vec::new();
    let place_of = split
        .register_offsets
        .iter()
        .map(|offset| {
            let variant = offset & reach;
            variants
                .iter()
                .position(|known| *known == variant)
                .unwrap_or_else(|| {
                    variants.push(variant);
                    variants.len() - 1
                })
        })
        .collect();
    let place = |&variant: &i64| match (thread, variant) {
        (thread, 0) => thread,
        (Some(thread), variant) => Some(e.xori(thread, e.i32(variant))),
        (None, variant) => Some(e.i32(variant)),
    };
    Ok(AxisCoordinates {
        places: variants.iter().map(place).collect(),
        place_of,
        constants: split
            .register_offsets
            .iter()
            .map(|offset| offset & !reach)
            .collect(),
        max: reach,
        divisor: reach & reach.wrapping_neg(),
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

/// Merges terms of lanes and warps into one multiple of the thread id, if the warps continue at the distance of the lanes.
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

/// A predicate that holds for one of each set of threads in the cluster that hold the same elements; `None` if no two threads
/// do. That thread may still hold an element in several registers ([`LinearLayout::copies`]).
pub(super) fn first_holder<'c, 'a>(e: &Emit<'_, 'c, 'a>, layout: &LinearLayout) -> Option<Value<'c, 'a>> {
    let dims = [HardwareDim::Lane, HardwareDim::Warp, HardwareDim::Block];
    without_bits(e, dims.map(|dim| (dim, layout.copies(dim))))
}

/// As [`first_holder`], for the threads of a CTA.
pub(super) fn first_holder_in_cta<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    layout: &LinearLayout,
) -> Option<Value<'c, 'a>> {
    let dims = [HardwareDim::Lane, HardwareDim::Warp];
    without_bits(e, dims.map(|dim| (dim, layout.copies(dim))))
}

/// Whether the bits of a thread's lane, warp and CTA that the masks name are all 0; `None` where they name none.
pub(super) fn without_bits<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    masks: impl IntoIterator<Item = (HardwareDim, usize)>,
) -> Option<Value<'c, 'a>> {
    let mut predicate = None;
    for (dim, mask) in masks {
        let id = match dim {
            _ if mask == 0 => continue,
            HardwareDim::Register => continue,
            HardwareDim::Lane => e.lane_id(),
            HardwareDim::Warp => e.warp_id(),
            HardwareDim::Block => e.cluster_rank(),
        };
        let bits = e.andi(id, e.i32(mask as i64));
        let is_first = e.compare(IntegerPredicate::Equal, bits, e.i32(0));
        predicate = Some(match predicate {
            None => is_first,
            Some(other) => e.andi(other, is_first),
        });
    }
    predicate
}
