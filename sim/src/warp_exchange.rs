//! Exchanges between the lanes of a warp: shuffles, votes, reductions and election.
//!
//! Pure functions on the registers of the lanes that take part. Before it calls one, the machine ensures that these are
//! the lanes named by the member mask, and that all of them have arrived.

use crate::arithmetic::{Lanes, float_once, lanes, lanes_where};
use crate::program::{FloatOp, Format, ShuffleKind, VoteKind, WarpReduceOp};

/// The results of a shuffle besides its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffled {
    /// Lanes whose source was in range, a bit each; the others got their own value.
    pub in_range: u32,
    /// Lanes that read a lane outside of the mask, whose result is undefined; they got their own value.
    pub undefined: u32,
}

/// The lane that `lane` reads, and whether that was in range (PTX ISA, "Data Movement and Conversion Instructions:
/// shfl.sync"): bits 0 to 4 of `clamp` are the furthest lane of a segment, bits 8 to 12 the segment mask.
pub fn shuffle_source(kind: ShuffleKind, lane: u32, offset: u32, clamp: u32) -> (u32, bool) {
    let offset = offset & 31;
    let segment = clamp >> 8 & 31;
    let first = lane & segment;
    let limit = first | clamp & 31 & !segment;
    let (source, in_range) = match kind {
        ShuffleKind::Up => {
            let source = lane.wrapping_sub(offset);
            (source, source as i32 >= limit as i32)
        }
        ShuffleKind::Down => (lane + offset, lane + offset <= limit),
        ShuffleKind::Butterfly => (lane ^ offset, lane ^ offset <= limit),
        ShuffleKind::Index => {
            let source = first | offset & !segment;
            (source, source <= limit)
        }
    };
    (if in_range { source } else { lane }, in_range)
}

/// `shfl.sync` of the lanes of `mask`; the others keep their `to`.
pub fn shuffle(
    kind: ShuffleKind,
    mask: u32,
    to: &mut Lanes,
    value: &Lanes,
    offset: &Lanes,
    clamp: &Lanes,
) -> Shuffled {
    let mut shuffled = Shuffled {
        in_range: 0,
        undefined: 0,
    };
    for lane in lanes(mask) {
        let (source, in_range) = shuffle_source(kind, lane as u32, offset[lane] as u32, clamp[lane] as u32);
        shuffled.in_range |= u32::from(in_range) << lane;
        let there = mask >> source & 1 == 1;
        shuffled.undefined |= u32::from(!there) << lane;
        to[lane] = value[if there { source as usize } else { lane }];
    }
    shuffled
}

/// `vote.sync`, `match.sync` and `activemask` of the lanes of `mask`; the others keep their `to`.
///
/// [`VoteKind::MatchAll`] gives the mask if all values are equal and 0 otherwise; its predicate is whether that is not
/// 0.
pub fn vote(kind: VoteKind, mask: u32, to: &mut Lanes, value: &Lanes) {
    let holding = lanes_where(mask, |lane| value[lane] & 1 == 1);
    let same_as = |lane: usize| lanes_where(mask, |other| value[other] == value[lane]);
    for lane in lanes(mask) {
        to[lane] = match kind {
            VoteKind::All => u64::from(holding == mask),
            VoteKind::Any => u64::from(holding != 0),
            VoteKind::Uniform => u64::from(holding == 0 || holding == mask),
            VoteKind::Ballot => u64::from(holding),
            VoteKind::MatchAny => u64::from(same_as(lane)),
            VoteKind::MatchAll => u64::from(if same_as(lane) == mask { mask } else { 0 }),
            VoteKind::ActiveMask => u64::from(mask),
        };
    }
}

/// `redux.sync` of the lanes of `mask`, on 32 bits; the others keep their `to`.
pub fn reduce(op: WarpReduceOp, mask: u32, to: &mut Lanes, value: &Lanes) {
    // Subnormals are not flushed: `redux.sync` has no `.ftz`.
    let of_floats =
        |op, a: u32, b: u32| float_once(op, Format::F32, false, u64::from(a), u64::from(b)) as u32;
    let combine = |a: u32, b: u32| match op {
        WarpReduceOp::Add => a.wrapping_add(b),
        WarpReduceOp::MinSigned => (a as i32).min(b as i32) as u32,
        WarpReduceOp::MaxSigned => (a as i32).max(b as i32) as u32,
        WarpReduceOp::MinUnsigned => a.min(b),
        WarpReduceOp::MaxUnsigned => a.max(b),
        WarpReduceOp::And => a & b,
        WarpReduceOp::Or => a | b,
        WarpReduceOp::Xor => a ^ b,
        WarpReduceOp::MinNum => of_floats(FloatOp::MinNum, a, b),
        WarpReduceOp::MaxNum => of_floats(FloatOp::MaxNum, a, b),
        WarpReduceOp::Minimum => of_floats(FloatOp::Minimum, a, b),
        WarpReduceOp::Maximum => of_floats(FloatOp::Maximum, a, b),
    };
    if let Some(result) = lanes(mask).map(|lane| value[lane] as u32).reduce(combine) {
        lanes(mask).for_each(|lane| to[lane] = u64::from(result));
    }
}

/// The lane that `elect.sync` elects among those of a mask; `None` if the mask is empty.
///
/// The PTX ISA ("Parallel Synchronization and Communication Instructions: elect.sync") promises only that equal masks
/// elect the same lane. `choice` 0 elects the lowest lane, as hardware does; any other elects one by a hash of itself
/// and the mask.
pub fn elect(mask: u32, choice: u64) -> Option<u32> {
    let count = mask.count_ones();
    let skipped = match (choice, count) {
        (_, 0) => return None,
        (0, _) => 0,
        _ => (choice ^ u64::from(mask)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40,
    };
    lanes(mask)
        .nth((skipped % u64::from(count)) as usize)
        .map(|lane| lane as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::LANES;

    const FULL: u32 = u32::MAX;

    fn sources(kind: ShuffleKind, offset: u32, clamp: u32) -> Vec<(u32, bool)> {
        (0..32)
            .map(|lane| shuffle_source(kind, lane, offset, clamp))
            .collect()
    }

    #[test]
    fn a_butterfly_pairs_lanes() {
        for (lane, (source, in_range)) in sources(ShuffleKind::Butterfly, 16, 31).into_iter().enumerate() {
            assert_eq!((source, in_range), (lane as u32 ^ 16, true));
        }
    }

    #[test]
    fn shifting_out_of_the_warp_gives_the_own_lane() {
        let down = sources(ShuffleKind::Down, 4, 31);
        assert_eq!(down[3], (7, true));
        assert_eq!(down[28], (28, false));
        let up = sources(ShuffleKind::Up, 4, 0);
        assert_eq!(up[4], (0, true));
        assert_eq!(up[3], (3, false));
    }

    #[test]
    fn segments_bound_what_is_read() {
        // Segments of 8 lanes, as `width = 8` of CUDA's shuffles makes them.
        let clamp = 0x18 << 8 | 7;
        let down = sources(ShuffleKind::Down, 2, clamp);
        assert_eq!(down[5], (7, true));
        assert_eq!(down[6], (6, false));
        assert_eq!(down[8], (10, true));
        let up = sources(ShuffleKind::Up, 2, 0x18 << 8);
        assert_eq!(up[9], (9, false));
        assert_eq!(up[10], (8, true));
        let index = sources(ShuffleKind::Index, 3, clamp);
        assert_eq!(index[0], (3, true));
        assert_eq!(index[30], (27, true));
        let across = sources(ShuffleKind::Butterfly, 8, clamp);
        assert_eq!(
            across[0],
            (0, false),
            "a partner in a later segment is out of range"
        );
        assert_eq!(across[8], (0, true), "one in an earlier segment is not");
    }

    #[test]
    fn reading_a_lane_outside_of_the_mask_is_undefined() {
        let value: Lanes = std::array::from_fn(|lane| lane as u64 + 100);
        let mut to = [0; LANES];
        let shuffled = shuffle(
            ShuffleKind::Down,
            0x0f,
            &mut to,
            &value,
            &[2; LANES],
            &[31; LANES],
        );
        assert_eq!(shuffled.in_range, 0x0f);
        assert_eq!(shuffled.undefined, 0x0c);
        assert_eq!(to[..5], [102, 103, 102, 103, 0]);
    }

    #[test]
    fn votes_count_only_members() {
        let value: Lanes = std::array::from_fn(|lane| u64::from(lane < 4));
        let once = |kind, mask: u32| {
            let mut to = [99; LANES];
            vote(kind, mask, &mut to, &value);
            assert!(mask == FULL || to[31] == 99);
            to[mask.trailing_zeros() as usize]
        };
        assert_eq!(once(VoteKind::All, 0x0f), 1);
        assert_eq!(once(VoteKind::All, 0x1f), 0);
        assert_eq!(once(VoteKind::Any, 0xf0), 0);
        assert_eq!(once(VoteKind::Uniform, 0xf0), 1);
        assert_eq!(once(VoteKind::Uniform, 0xff), 0);
        assert_eq!(once(VoteKind::Ballot, FULL), 0xf);
        assert_eq!(once(VoteKind::ActiveMask, 0xff), 0xff);
        assert_eq!(once(VoteKind::MatchAny, 0x3e), 0x0e);
        assert_eq!(once(VoteKind::MatchAll, 0x0f), 0x0f);
        assert_eq!(once(VoteKind::MatchAll, 0x3e), 0);
    }

    #[test]
    fn reductions_combine_members() {
        let value: Lanes = std::array::from_fn(|lane| (lane as u64).wrapping_sub(3) & 0xffff_ffff);
        let once = |op| {
            let mut to = [0; LANES];
            reduce(op, 0x1f, &mut to, &value);
            assert_eq!(to[5], 0);
            to[4] as u32
        };
        assert_eq!(once(WarpReduceOp::Add), -5i32 as u32);
        assert_eq!(once(WarpReduceOp::MinSigned), -3i32 as u32);
        assert_eq!(once(WarpReduceOp::MaxSigned), 1);
        assert_eq!(once(WarpReduceOp::MinUnsigned), 0);
        assert_eq!(once(WarpReduceOp::MaxUnsigned), u32::MAX);
        assert_eq!(once(WarpReduceOp::And), 0);
        assert_eq!(once(WarpReduceOp::Or), u32::MAX);
    }

    #[test]
    fn reductions_of_floats_order_zeros_and_take_or_leave_nan() {
        let once = |op, values: &[f32]| {
            let value =
                std::array::from_fn(|lane| values.get(lane).map_or(0, |value| u64::from(value.to_bits())));
            let mut to = [0; LANES];
            reduce(op, (1 << values.len()) - 1, &mut to, &value);
            to[0] as u32
        };
        let bits = f32::to_bits;
        assert_eq!(once(WarpReduceOp::Maximum, &[-2.0, -0.0, 0.0]), bits(0.0));
        assert_eq!(once(WarpReduceOp::Minimum, &[0.0, -0.0, 2.0]), bits(-0.0));
        assert_eq!(once(WarpReduceOp::Maximum, &[1.0, -f32::NAN, 2.0]), 0x7fff_ffff);
        assert_eq!(once(WarpReduceOp::Minimum, &[1.0, -f32::NAN, 2.0]), 0x7fff_ffff);
        assert_eq!(once(WarpReduceOp::MaxNum, &[1.0, f32::NAN, 2.0]), bits(2.0));
        assert_eq!(once(WarpReduceOp::MinNum, &[f32::NAN, 1.0, 2.0]), bits(1.0));
        assert_eq!(once(WarpReduceOp::MaxNum, &[f32::NAN, -f32::NAN]), 0x7fff_ffff);
        let tiny = f32::from_bits(1);
        assert_eq!(once(WarpReduceOp::Maximum, &[0.0, tiny]), bits(tiny));
    }

    #[test]
    fn election_is_deterministic_and_of_a_member() {
        assert_eq!(elect(0b1010_0000, 0), Some(5));
        assert_eq!(elect(0, 1), None);
        for choice in 1..200 {
            let lane = elect(0b1010_0000, choice);
            assert!(matches!(lane, Some(5 | 7)));
            assert_eq!(lane, elect(0b1010_0000, choice));
        }
        assert!((1..200).any(|choice| elect(0b1010_0000, choice) == Some(7)));
    }
}
