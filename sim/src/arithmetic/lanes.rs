//! Loops over the lanes of a warp.
//!
//! A loop always computes all 32 lanes, in registers as wide as the machine has, and then keeps those of the mask:
//! no operation here can trap, so what an inactive lane holds does not matter.

/// Lanes of a warp.
pub const LANES: usize = norma_targets::WARP_SIZE as usize;

/// One register of every lane of a warp.
pub type Lanes = [u64; LANES];

/// The lanes of a mask, lowest first.
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(lane)
    })
}

/// The lanes of a mask for which `holds` is true, as a mask.
pub fn lanes_where(mask: u32, holds: impl Fn(usize) -> bool) -> u32 {
    lanes(mask)
        .filter(|lane| holds(*lane))
        .fold(0, |mask, lane| mask | 1 << lane)
}

/// `to[i] = f(a[i])` for the lanes of `mask`.
#[inline(always)]
pub(super) fn map1(mask: u32, to: &mut Lanes, a: &Lanes, f: impl Fn(u64) -> u64) {
    map3(mask, to, a, a, a, |x, _, _| f(x));
}

/// `to[i] = f(a[i], b[i])` for the lanes of `mask`.
#[inline(always)]
pub(super) fn map2(mask: u32, to: &mut Lanes, a: &Lanes, b: &Lanes, f: impl Fn(u64, u64) -> u64) {
    map3(mask, to, a, b, b, |x, y, _| f(x, y));
}

/// `to[i] = f(a[i], b[i], c[i])` for the lanes of `mask`.
#[inline(always)]
pub(super) fn map3(
    mask: u32,
    to: &mut Lanes,
    a: &Lanes,
    b: &Lanes,
    c: &Lanes,
    f: impl Fn(u64, u64, u64) -> u64,
) {
    if mask == u32::MAX {
        every_lane(to, a, b, c, f);
    } else {
        let mut results = [0; LANES];
        every_lane(&mut results, a, b, c, f);
        keep(mask, to, &results);
    }
}

/// `to[i] = from[i]` for the lanes of `mask`.
#[inline]
pub(super) fn keep(mask: u32, to: &mut Lanes, from: &Lanes) {
    for lane in 0..LANES {
        if mask >> lane & 1 == 1 {
            to[lane] = from[lane];
        }
    }
}

#[inline(always)]
fn every_lane(to: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes, f: impl Fn(u64, u64, u64) -> u64) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the features that the function is compiled for.
        unsafe { every_lane_avx2(to, a, b, c, f) };
        return;
    }
    for lane in 0..LANES {
        to[lane] = f(a[lane], b[lane], c[lane]);
    }
}

/// The same loop for processors with AVX2 and FMA, where `mul_add` is an instruction rather than a call.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn every_lane_avx2(to: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes, f: impl Fn(u64, u64, u64) -> u64) {
    for lane in 0..LANES {
        to[lane] = f(a[lane], b[lane], c[lane]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_a_mask_come_lowest_first() {
        assert_eq!(lanes(0b1011).collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!(lanes(0).count(), 0);
        assert_eq!(lanes(u32::MAX).count(), LANES);
        assert_eq!(lanes_where(0b1011, |lane| lane != 1), 0b1001);
    }

    #[test]
    fn lanes_outside_of_the_mask_keep_their_value() {
        let a: Lanes = std::array::from_fn(|lane| lane as u64);
        let mut to = [99; LANES];
        map1(0x8000_0001, &mut to, &a, |x| x + 1);
        assert_eq!(to[0], 1);
        assert_eq!(to[31], 32);
        assert!(to[1..31].iter().all(|value| *value == 99));
    }
}
