//! What memory takes to serve requests, in cycles of an SM of an H200 of which DRAM, L2 and L1 serve all.

/// A sector of 32 bytes of DRAM: 4300 GB/s for 132 SMs at 1.755 GHz.
pub const DRAM_SECTOR: f64 = 1.7;
/// A request for a line of 128 bytes of L2, however little of it: as long as four sectors take of which L2 serves twice as many as
/// DRAM. A quantisation that writes 8-bit results 16 bytes at a time and its scales 4 bytes at a time takes 217 us of an H200, with
/// scales 8 bytes at a time 176 us; their requests come to 216 us and 185 us.
pub const L2_LINE: f64 = 3.4;
/// A sector of L1, which serves 128 bytes a cycle.
pub const L1_SECTOR: f64 = 0.25;
/// What each further request for the same bytes costs: 3.6% of a copy's time for four times as many, see docs/schedule.md.
pub const REQUEST: f64 = 1.0;
/// The most bytes of a tile that goes through shared memory: what a CTA has on every target without asking for more, and
/// what leaves room for other CTAs on an SM.
pub const EXCHANGED_BYTES: i64 = 48 << 10;

/// How long L2 and DRAM take together, as a multiple of what DRAM takes alone, where L2 alone takes `l2` of that: each hides the
/// other but where they are nearly equal. The two quantisations of
/// [`L2_LINE`], of 2.2 and 1.9, come to 218 us and 189 us.
pub fn beside_dram(l2: f64) -> f64 {
    (1.0 + l2.powi(4)).powf(0.25)
}
