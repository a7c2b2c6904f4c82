//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), the source of every pseudo-random choice of a run and of the
//! garbage in uninitialized memory.

/// The increment of the generator's state: 2^64 divided by the golden ratio, made odd.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator's finalizer: every bit of the result depends on every bit given.
pub(crate) fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
