//! What memory takes to serve requests, in cycles of an SM of an H200 of which DRAM, L2 and L1 serve all.

/// A sector of 32 bytes of DRAM: 4300 GB/s for 132 SMs at 1.755 GHz.
pub const DRAM_SECTOR: f64 = 1.7;
/// A pair of sectors that are neighbours in L2: 80 slices move 64 bytes a cycle, for 132 SMs.
pub const L2_PAIR: f64 = 1.65;
/// A sector of L1, which serves 128 bytes a cycle.
pub const L1_SECTOR: f64 = 0.25;
/// What each further request for the same bytes costs: 3.6% of a copy's time for four times as many, see docs/schedule.md.
pub const REQUEST: f64 = 1.0;
/// The most bytes of a tile that goes through shared memory: what a CTA has on every target without asking for more, and
/// what leaves room for other CTAs on an SM.
pub const EXCHANGED_BYTES: i64 = 48 << 10;

/// What L2 takes for writes of so many pairs of sectors, of which some are written in part: such a sector is read first, lest its
/// error correction be lost. A quantisation that writes 8-bit results 16 bytes at a time and 4 bytes of scales to each sector takes
/// 216 us of an H200, with 8 bytes of scales 175 us; this and its reads come to 209 us and 179 us.
pub fn l2_writes(pairs: f64, in_part: f64) -> f64 {
    (pairs + in_part) * L2_PAIR
}

/// How long L2 and DRAM take together, as a multiple of what DRAM takes alone, where L2 alone takes `l2` of that: each hides the
/// other but where they are nearly equal. The two quantisations of [`l2_writes`], of 2.1 and 1.8, come to 211 us and 183 us.
pub fn beside_dram(l2: f64) -> f64 {
    (1.0 + l2.powi(4)).powf(0.25)
}
