//! How well accesses use the memories: bank conflicts of shared memory, coalescing of global memory.
//!
//! Counts are per site and warp access. Shared memory has 32 banks of 4 bytes: an access takes as many wavefronts as
//! the largest number of different words in one bank; a word that several lanes access is broadcast. Accesses of 8
//! bytes per lane go by halves of the warp, of 16 bytes by quarters (CUDA C++ Programming Guide, "Compute Capability
//! 5.x: Shared Memory", which later capabilities keep). Global memory moves in sectors of 32 bytes, four to a line.
//! Loads, stores and asynchronous copies are counted, a bulk copy as one access; atomics are not.
//!
//! Requested sectors are what warps ask the L2 cache for; distinct ones are what memory must deliver or take at least
//! once, whatever caches keep. The count of a cost model should lie between the two.

use std::collections::{BTreeMap, HashSet};

use crate::arithmetic::{LANES, Lanes, lanes};
use crate::program::SiteId;

const BANKS: usize = 32;
const BANK_BYTES: u64 = 4;
const SECTOR_BYTES: u64 = 32;
const LINE_BYTES: u64 = 128;

/// Counts of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Shared memory, by site.
    pub shared: BTreeMap<SiteId, SharedTraffic>,
    /// Global memory, by site.
    pub global: BTreeMap<SiteId, GlobalTraffic>,
}

/// The accesses of a site to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedTraffic {
    /// Accesses by warps.
    pub accesses: u64,
    /// Passes over the banks that they took.
    pub wavefronts: u64,
    /// Passes that they would take without conflicts.
    pub ideal_wavefronts: u64,
}

/// The accesses of a site to global memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlobalTraffic {
    /// Whether it writes.
    pub writes: bool,
    /// Accesses by warps.
    pub accesses: u64,
    /// Lines of 128 bytes that they touched.
    pub lines: u64,
    /// Sectors of 32 bytes that they touched.
    pub sectors: u64,
    /// Sectors that the different bytes of each access would fill if they were contiguous.
    pub ideal_sectors: u64,
    /// The sectors, by their address divided by 32.
    touched: HashSet<u64>,
}

/// Sectors of 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sectors {
    /// Counted once for each access.
    pub requested: u64,
    /// Counted once in all.
    pub distinct: u64,
}

/// Global memory traffic of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// By loads, and by copies from global memory.
    pub read: Sectors,
    /// By stores, and by copies to global memory.
    pub written: Sectors,
}

impl GlobalTraffic {
    /// The site's sectors.
    pub fn of_sectors(&self) -> Sectors {
        Sectors {
            requested: self.sectors,
            distinct: self.touched.len() as u64,
        }
    }

    fn count(&mut self, writes: bool, spans: &[(u64, u64)]) {
        self.writes |= writes;
        self.accesses += 1;
        self.lines += units(spans, LINE_BYTES);
        self.sectors += units(spans, SECTOR_BYTES);
        let different: u64 = spans.iter().map(|(start, end)| end - start).sum();
        self.ideal_sectors += different.div_ceil(SECTOR_BYTES);
        let sectors = |(start, end): &(u64, u64)| start / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES);
        self.touched.extend(spans.iter().flat_map(sectors));
    }
}

impl Traffic {
    /// Counts an access to shared memory: the lanes of `mask`, each `bytes` at its address.
    pub fn count_shared(&mut self, site: SiteId, mask: u32, addresses: &Lanes, bytes: u32) {
        let (wavefronts, ideal_wavefronts) = wavefronts(mask, addresses, u64::from(bytes));
        let counts = self.shared.entry(site).or_default();
        counts.accesses += 1;
        counts.wavefronts += wavefronts;
        counts.ideal_wavefronts += ideal_wavefronts;
    }

    /// Counts an access to global memory: the lanes of `mask`, each `bytes` at its address.
    pub fn count_global(&mut self, site: SiteId, writes: bool, mask: u32, addresses: &Lanes, bytes: u32) {
        let spans = merged_spans(lanes(mask).map(|lane| (addresses[lane], u64::from(bytes))));
        self.global.entry(site).or_default().count(writes, &spans);
    }

    /// Counts a bulk copy's pieces in global memory, given by address and bytes, as one access.
    pub fn count_bulk(&mut self, site: SiteId, writes: bool, pieces: impl Iterator<Item = (u64, u64)>) {
        let spans = merged_spans(pieces);
        self.global.entry(site).or_default().count(writes, &spans);
    }

    /// Global memory traffic of all sites together.
    pub fn totals(&self) -> Totals {
        totals(self.global.values())
    }

    /// Adds the counts of another run of the same program.
    pub fn add(&mut self, other: &Self) {
        for (site, counts) in &other.shared {
            let sum = self.shared.entry(*site).or_default();
            sum.accesses += counts.accesses;
            sum.wavefronts += counts.wavefronts;
            sum.ideal_wavefronts += counts.ideal_wavefronts;
        }
        for (site, counts) in &other.global {
            let sum = self.global.entry(*site).or_default();
            sum.writes |= counts.writes;
            sum.touched.extend(&counts.touched);
            sum.accesses += counts.accesses;
            sum.lines += counts.lines;
            sum.sectors += counts.sectors;
            sum.ideal_sectors += counts.ideal_sectors;
        }
    }
}

/// The traffic of some sites together; a sector that several of them read, or write, is distinct once.
pub fn totals<'a>(sites: impl Iterator<Item = &'a GlobalTraffic> + Clone) -> Totals {
    let sum = |writes: bool| {
        let sites = sites.clone().filter(|site| site.writes == writes);
        let touched: HashSet<u64> = sites.clone().flat_map(|site| &site.touched).copied().collect();
        Sectors {
            requested: sites.map(|site| site.sectors).sum(),
            distinct: touched.len() as u64,
        }
    };
    Totals {
        read: sum(false),
        written: sum(true),
    }
}

/// Wavefronts that an access takes, and would take without conflicts.
fn wavefronts(mask: u32, addresses: &Lanes, bytes: u64) -> (u64, u64) {
    let group = match bytes {
        0..=4 => LANES,
        5..=8 => LANES / 2,
        _ => LANES / 4,
    };
    let (mut taken, mut ideal) = (0, 0);
    for first in (0..LANES).step_by(group) {
        let mut words: Vec<u64> = (first..first + group)
            .filter(|lane| mask >> lane & 1 == 1)
            .flat_map(|lane| addresses[lane] / BANK_BYTES..(addresses[lane] + bytes).div_ceil(BANK_BYTES))
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut per_bank = [0u64; BANKS];
        for word in &words {
            per_bank[*word as usize % BANKS] += 1;
        }
        taken += per_bank.into_iter().max().unwrap_or(0);
        ideal += u64::from(!words.is_empty());
    }
    (taken, ideal)
}

/// The byte ranges that an access touches, given by address and size, in order and disjoint.
fn merged_spans(pieces: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut pieces: Vec<(u64, u64)> = pieces.collect();
    pieces.sort_unstable();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for (start, bytes) in pieces {
        match spans.last_mut() {
            Some((_, end)) if start <= *end => *end = (start + bytes).max(*end),
            _ => spans.push((start, start + bytes)),
        }
    }
    spans
}

/// How many aligned units of a size the ranges touch.
fn units(spans: &[(u64, u64)], size: u64) -> u64 {
    let mut count = 0;
    let mut next = 0;
    for (start, end) in spans {
        let first = (start / size).max(next);
        let past = end.div_ceil(size);
        count += past.saturating_sub(first);
        next = next.max(past);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u32 = u32::MAX;

    fn at(address: impl Fn(u64) -> u64) -> Lanes {
        std::array::from_fn(|lane| address(lane as u64))
    }

    fn shared(mask: u32, bytes: u32, address: impl Fn(u64) -> u64) -> (u64, u64) {
        let mut traffic = Traffic::default();
        traffic.count_shared(0, mask, &at(address), bytes);
        (traffic.shared[&0].wavefronts, traffic.shared[&0].ideal_wavefronts)
    }

    fn global(mask: u32, bytes: u32, address: impl Fn(u64) -> u64) -> (u64, u64, u64) {
        let mut traffic = Traffic::default();
        traffic.count_global(0, false, mask, &at(address), bytes);
        let counts = &traffic.global[&0];
        (counts.sectors, counts.ideal_sectors, counts.lines)
    }

    #[test]
    fn neighbouring_words_have_no_conflict() {
        assert_eq!(shared(FULL, 4, |lane| lane * 4), (1, 1));
        assert_eq!(shared(FULL, 2, |lane| lane * 2), (1, 1));
        assert_eq!(shared(FULL, 4, |lane| (31 - lane) * 4), (1, 1), "in any order");
    }

    #[test]
    fn a_stride_conflicts_by_its_common_factor_with_the_banks() {
        assert_eq!(shared(FULL, 4, |lane| lane * 8), (2, 1));
        assert_eq!(shared(FULL, 4, |lane| lane * 12), (1, 1));
        assert_eq!(shared(FULL, 4, |lane| lane * 128), (32, 1));
        assert_eq!(shared(FULL, 4, |lane| lane * 132), (1, 1), "padded by a word");
        assert_eq!(
            shared(0xf, 4, |lane| lane * 128),
            (4, 1),
            "only lanes that take part"
        );
    }

    #[test]
    fn a_word_is_broadcast() {
        assert_eq!(shared(FULL, 4, |_| 64), (1, 1));
        assert_eq!(shared(FULL, 4, |lane| lane / 8 * 4), (1, 1));
    }

    #[test]
    fn wide_accesses_go_in_parts_of_the_warp() {
        assert_eq!(shared(FULL, 8, |lane| lane * 8), (2, 2));
        assert_eq!(shared(FULL, 16, |lane| lane * 16), (4, 4));
        assert_eq!(shared(FULL, 16, |lane| lane * 32), (8, 4));
        assert_eq!(shared(0xff, 16, |lane| lane * 16), (1, 1));
        assert_eq!(
            shared(FULL, 16, |lane| lane * 144),
            (4, 4),
            "rows padded by a chunk"
        );
        assert_eq!(shared(FULL, 16, |lane| lane * 128), (32, 4));
    }

    #[test]
    fn consecutive_global_accesses_fill_their_sectors() {
        assert_eq!(global(FULL, 4, |lane| lane * 4), (4, 4, 1));
        assert_eq!(global(FULL, 16, |lane| lane * 16), (16, 16, 4));
        assert_eq!(global(FULL, 2, |lane| lane * 2), (2, 2, 1));
        assert_eq!(global(FULL, 4, |_| 64), (1, 1, 1));
    }

    #[test]
    fn an_offset_costs_a_sector_and_a_stride_costs_many() {
        assert_eq!(global(FULL, 4, |lane| lane * 4 + 4), (5, 4, 2));
        assert_eq!(global(FULL, 4, |lane| lane * 8), (8, 4, 2));
        assert_eq!(global(FULL, 4, |lane| lane * 4096), (32, 4, 32));
        assert_eq!(global(1, 4, |lane| lane * 4), (1, 1, 1));
        assert_eq!(global(0, 4, |lane| lane), (0, 0, 0));
    }

    #[test]
    fn counts_add_up() {
        let mut sum = Traffic::default();
        let mut one = Traffic::default();
        one.count_shared(3, FULL, &at(|lane| lane * 8), 4);
        one.count_global(5, false, FULL, &at(|lane| lane * 8), 4);
        sum.add(&one);
        sum.add(&one);
        assert_eq!(
            sum.shared[&3],
            SharedTraffic {
                accesses: 2,
                wavefronts: 4,
                ideal_wavefronts: 2
            }
        );
        assert_eq!(
            sum.global[&5],
            GlobalTraffic {
                writes: false,
                accesses: 2,
                lines: 4,
                sectors: 16,
                ideal_sectors: 8,
                touched: (0..8).collect(),
            }
        );
    }

    #[test]
    fn what_is_read_twice_is_requested_twice_and_distinct_once() {
        let mut traffic = Traffic::default();
        let row = |row: u64| at(move |lane| row * 128 + lane * 4);
        for site in [1, 2] {
            traffic.count_global(site, false, FULL, &row(0), 4);
            traffic.count_global(site, false, FULL, &row(u64::from(site)), 4);
        }
        traffic.count_global(3, true, FULL, &row(0), 4);
        traffic.count_bulk(4, true, [(112, 16), (96, 16), (128, 64)].into_iter());
        let sectors = |requested, distinct| Sectors { requested, distinct };
        assert_eq!(traffic.global[&1].of_sectors(), sectors(8, 8));
        let totals = traffic.totals();
        assert_eq!(totals.read, sectors(16, 12));
        assert_eq!(
            totals.written,
            sectors(7, 6),
            "a bulk copy of three sectors, one of which was stored"
        );
    }
}
