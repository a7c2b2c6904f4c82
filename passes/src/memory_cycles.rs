//! Costs of memory requests on an H200, in cycles of one SM, with the bandwidth of DRAM and L2 shared evenly by all SMs.

/// A 32-byte sector of DRAM: 4300 GB/s for 132 SMs at 1.755 GHz.
pub const DRAM_SECTOR: f64 = 1.7;
/// A request for a 128-byte line of L2, however few of its bytes are used: the time of four sectors at twice the bandwidth of DRAM. A
/// quantisation that writes 8-bit results 16 bytes at a time and its scales 4 bytes at a time takes 217 us on an H200, and 176 us with
/// scales 8 bytes at a time; the estimates of their requests are 216 us and 185 us.
pub const L2_LINE: f64 = 3.4;
/// A sector of L1, which serves 128 bytes a cycle.
pub const L1_SECTOR: f64 = 0.25;
/// Each additional request for the same bytes. Four times as many requests cost a copy 3.6% of its time (H200).
pub const REQUEST: f64 = 1.0;
/// The most bytes of a tile that goes through shared memory: the limit of a CTA on every target without opting in to more, which also
/// leaves room for other CTAs on an SM.
pub const EXCHANGED_BYTES: i64 = 48 << 10;

/// Returns the time of L2 and DRAM together as a multiple of DRAM's alone, where L2 alone takes `l2` times as long as DRAM. The two
/// overlap, so the slower one decides unless they take nearly equal time. The two quantisations of [`L2_LINE`], whose `l2` is 2.2 and
/// 1.9, come to 218 us and 189 us.
pub fn beside_dram(l2: f64) -> f64 {
    (1.0 + l2.powi(4)).powf(0.25)
}
