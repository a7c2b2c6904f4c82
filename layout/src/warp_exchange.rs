//! Conversions within a warp: registers permuted by thread, shuffles, registers permuted by thread again.
//!
//! Let `X` map a destination (register, lane) to the source (register, lane) that holds its element. A shuffle gives
//! each lane one value of another lane that sends one. So destinations are dealt into rounds, one per register: round
//! `p` fills register `p ^ P(lane)` of each lane, for a linear map `P`. Its sources are one register of each sending lane
//! exactly when no two destinations of a round want different registers of one lane, that is when the graph `G` of `P`
//! meets `Z`, the destinations whose source is lane 0, only in places that hold the same as (0, 0). `G` is a common
//! complement of the registers and of as much of `Z`: over GF(2), two subspaces of one dimension always have one, spanned by sums
//! of their basis vectors and what lies outside of both. With `P` linear, what a lane sends and what it receives are
//! selected by parities of thread bits, the same in all rounds but for a constant: two permutations of its registers.
//!
//! As in Zhou et al., arXiv:2505.23819, section 5.4, where the exchange of bits between lanes and registers is the case
//! in which every basis is a unit vector.

use crate::bits::{Span, combine, kernel, set_bits};
use crate::linear::{HardwareDim, LinearLayout};

/// Exchanges registers whose numbers differ by `registers`, in threads where the bits in `lanes` and `warps` of their lane and warp
/// have odd parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swap {
    /// The XOR of the numbers of two exchanged registers.
    pub registers: usize,
    /// Bits of the lane that enter the parity.
    pub lanes: usize,
    /// Bits of the warp that enter the parity.
    pub warps: usize,
}

impl Swap {
    /// Whether a thread exchanges.
    pub fn applies(&self, lane: usize, warp: usize) -> bool {
        ((lane & self.lanes).count_ones() + (warp & self.warps).count_ones()) % 2 == 1
    }
}

/// One shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Round {
    /// The register that every lane sends, after the swaps of [`WarpExchange::before`].
    pub register: usize,
    /// A mask by which the source lane is XORed.
    pub lane: usize,
}

/// How to convert a tile from one layout to another within each warp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarpExchange {
    /// Swaps of the source registers before the shuffles.
    pub before: Vec<Swap>,
    /// For each bit of the receiving lane, the mask that it XORs into the source lane.
    pub lanes: Vec<usize>,
    /// For each bit of the warp, the mask that it XORs into the source lane.
    pub warps: Vec<usize>,
    /// For each destination register the shuffle that fills it, before the swaps of `after`.
    pub rounds: Vec<Round>,
    /// Swaps of the received registers behind the shuffles.
    pub after: Vec<Swap>,
    /// Registers of the source.
    registers: usize,
}

impl WarpExchange {
    /// Whether a round moves data between lanes; otherwise each lane receives what it sends.
    pub fn moves(&self, round: Round) -> bool {
        let identity = self.lanes.iter().enumerate().all(|(bit, &lane)| lane == 1 << bit);
        !identity || round.lane != 0 || self.warps.iter().any(|&lane| lane != 0)
    }

    /// The exchange of groups of `2^bits` neighbouring registers, if they stay together and in order.
    pub fn by_groups(&self, bits: u32) -> Option<Self> {
        let size = 1 << bits;
        let together = |group: &[Round]| {
            let first = group[0];
            let follows = |(i, round): (usize, &Round)| {
                (round.register, round.lane) == (first.register + i, first.lane)
            };
            first.register.is_multiple_of(size) && group.iter().enumerate().all(follows)
        };
        let groups = self.rounds.chunks_exact(size);
        let whole = self.registers.is_multiple_of(size)
            && groups.remainder().is_empty()
            && groups.clone().all(together)
            && self
                .before
                .iter()
                .chain(&self.after)
                .all(|swap| swap.registers % size == 0);
        let of_groups = |swaps: &[Swap]| {
            let swaps = swaps.iter().map(|swap| Swap {
                registers: swap.registers / size,
                ..*swap
            });
            swaps.collect()
        };
        whole.then(|| Self {
            before: of_groups(&self.before),
            after: of_groups(&self.after),
            rounds: groups
                .map(|group| Round {
                    register: group[0].register / size,
                    lane: group[0].lane,
                })
                .collect(),
            registers: self.registers / size,
            ..self.clone()
        })
    }

    /// How many shuffles there are.
    pub fn shuffles(&self) -> usize {
        let mut moving: Vec<Round> = Vec::new();
        for &round in &self.rounds {
            if self.moves(round) && !moving.contains(&round) {
                moving.push(round);
            }
        }
        moving.len()
    }

    /// How many selects of a register there are.
    pub fn selects(&self) -> usize {
        self.before.len() * self.registers + self.after.len() * self.rounds.len()
    }
}

impl LinearLayout {
    /// Returns how to convert a tile of this layout to `to` within each warp; `None` where data crosses warps, or where a lane
    /// would have to send more than one value in a round. The tiles have to be of one shape and over the same threads.
    pub fn warp_exchange_to(&self, to: &Self) -> Option<WarpExchange> {
        let from_registers = self.dim_columns(HardwareDim::Register);
        let from_lanes = self.dim_columns(HardwareDim::Lane);
        let within_thread = Span::of(from_registers.iter().copied());
        let within_warp = Span::of(from_registers.iter().chain(&from_lanes).copied());
        let register_bits = from_registers.len();
        // Sources are (register, lane) packed with the register lowest, as tags of `within_warp` are. A source in the
        // same lane is preferred: it needs no shuffle.
        let source_of = |wanted: u64, held: u64, lane: usize| {
            let same_lane = within_thread
                .express(wanted ^ held)
                .map(|register| register | (lane as u64) << register_bits);
            same_lane.or_else(|| within_warp.express(wanted))
        };
        let registers = to
            .dim_columns(HardwareDim::Register)
            .into_iter()
            .map(|wanted| source_of(wanted, 0, 0))
            .collect::<Option<Vec<_>>>()?;
        let lanes = to
            .dim_columns(HardwareDim::Lane)
            .into_iter()
            .enumerate()
            .map(|(bit, wanted)| source_of(wanted, from_lanes[bit], 1 << bit))
            .collect::<Option<Vec<_>>>()?;
        // Data does not leave its warp: what a bit of the warp changes is made up for by registers and lanes.
        let warps = to
            .dim_columns(HardwareDim::Warp)
            .into_iter()
            .zip(self.dim_columns(HardwareDim::Warp))
            .map(|(wanted, held)| source_of(wanted ^ held, 0, 0))
            .collect::<Option<Vec<_>>>()?;
        if self.dim_columns(HardwareDim::Block) != to.dim_columns(HardwareDim::Block) {
            return None;
        }
        let lane_of = |source: u64| source >> register_bits;
        let register_of = |source: u64| source & ((1 << register_bits) - 1);

        // Destinations are packed as sources are.
        let sources = registers.iter().chain(&lanes).copied().collect::<Vec<_>>();
        let graph = rounds_of_one_register_per_lane(&sources, registers.len(), lane_of)?;
        // P, as the register that each lane bit adds.
        let count = registers.len();
        let by_lane = Span::of_tagged(
            graph
                .iter()
                .map(|&place| (place >> count, place & ((1 << count) - 1))),
        );
        let added = (0..lanes.len())
            .map(|bit| by_lane.express(1 << bit))
            .collect::<Option<Vec<u64>>>()?;
        let of_lanes = lanes
            .iter()
            .zip(&added)
            .map(|(&source, &register)| source ^ combine(&registers, register))
            .collect::<Vec<_>>();

        // The register that a lane sends in round 0, as a linear function of the lane. It matters only for lanes that are sources.
        let mut sent = Span::of_tagged(
            of_lanes
                .iter()
                .map(|&source| (lane_of(source), register_of(source))),
        );
        for bit in 0..lanes.len() {
            sent.insert(1 << bit, 0);
        }
        let sent_by = |lane: u64| sent.express(lane).unwrap_or(0);
        let sent_of_lanes = (0..lanes.len()).map(|bit| sent_by(1 << bit)).collect::<Vec<_>>();
        let correction = |&source: &u64| sent_by(lane_of(source)) ^ register_of(source);
        let sent_of_warps = warps.iter().map(correction).collect::<Vec<_>>();
        let rounds = (0..1_u64 << count)
            .map(|round| {
                let source = combine(&registers, round);
                Round {
                    register: correction(&source) as usize,
                    lane: lane_of(source) as usize,
                }
            })
            .collect();
        Some(WarpExchange {
            before: swaps(&sent_of_lanes, &sent_of_warps),
            lanes: of_lanes.iter().map(|&source| lane_of(source) as usize).collect(),
            warps: warps.iter().map(|&source| lane_of(source) as usize).collect(),
            rounds,
            after: swaps(&added, &[]),
            registers: 1 << register_bits,
        })
    }
}

/// Returns a complement of the first `registers` destinations in which no two members have different registers of one lane as their
/// sources. `sources` holds the sources of the destinations' unit vectors.
fn rounds_of_one_register_per_lane(
    sources: &[u64],
    registers: usize,
    lane_of: impl Fn(u64) -> u64,
) -> Option<Vec<u64>> {
    let units = |range: std::ops::Range<usize>| range.map(|bit| 1_u64 << bit).collect::<Vec<_>>();
    let (register_units, lane_units) = (units(0..registers), units(registers..sources.len()));
    let from_lane_0 = kernel(sources.iter().map(|&source| lane_of(source)));
    let copies_of_first = kernel(sources.iter().copied());
    let mut seen = Span::of(register_units.iter().copied());
    let mut graph = Vec::new();
    // Copies of what (0, 0) holds may stay as they are.
    for place in copies_of_first {
        if seen.insert(place, 0).is_none() {
            graph.push(place);
        }
    }
    // Others that lane 0 sends are combined with registers that it does not send.
    let mut sent_by_lane_0 = Span::of(from_lane_0.iter().copied());
    let mut elsewhere = register_units
        .into_iter()
        .filter(|&unit| sent_by_lane_0.insert(unit, 0).is_none())
        .collect::<Vec<_>>()
        .into_iter();
    for place in from_lane_0 {
        if seen.insert(place, 0).is_none() {
            graph.push(place ^ elsewhere.next()?);
        }
    }
    for unit in lane_units {
        if seen.insert(unit, 0).is_none() {
            graph.push(unit);
        }
    }
    Some(graph)
}

/// Returns the swaps that move register r to `r ^ lanes(lane) ^ warps(warp)`. Both linear maps are given by what each bit adds.
fn swaps(lanes: &[u64], warps: &[u64]) -> Vec<Swap> {
    let mut span = Span::default();
    let mut swaps = Vec::new();
    for &register in lanes.iter().chain(warps) {
        if span.insert(register, 1 << swaps.len()).is_none() {
            swaps.push(Swap {
                registers: register as usize,
                ..Swap::default()
            });
        }
    }
    for (bit, &register) in lanes.iter().enumerate() {
        for swap in set_bits(span.express(register).unwrap_or(0)) {
            swaps[swap].lanes |= 1 << bit;
        }
    }
    for (bit, &register) in warps.iter().enumerate() {
        for swap in set_bits(span.express(register).unwrap_or(0)) {
            swaps[swap].warps |= 1 << bit;
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversion::ConversionLevel;
    use crate::linear::HardwareIndex;
    use crate::sampling::{any_layout_pair, pair_of_blocked};
    use proptest::prelude::*;

    fn permuted(registers: &[Vec<i64>], swaps: &[Swap], lane: usize, warp: usize) -> Vec<Vec<i64>> {
        let by = swaps
            .iter()
            .filter(|swap| swap.applies(lane, warp))
            .fold(0, |sum, swap| sum ^ swap.registers);
        (0..registers.len())
            .map(|register| registers[register ^ by].clone())
            .collect()
    }

    /// Runs the exchange on coordinates and compares each thread's registers with the layout's.
    fn check(from: &LinearLayout, to: &LinearLayout, exchange: &WarpExchange) {
        for (warp, block) in
            (0..from.num_warps()).flat_map(|warp| (0..from.num_blocks()).map(move |block| (warp, block)))
        {
            let held = |layout: &LinearLayout, lane: usize| {
                (0..layout.num_registers())
                    .map(|register| {
                        layout.apply(HardwareIndex {
                            register,
                            lane,
                            warp,
                            block,
                        })
                    })
                    .collect::<Vec<_>>()
            };
            let sent = (0..from.num_lanes())
                .map(|lane| permuted(&held(from, lane), &exchange.before, lane, warp))
                .collect::<Vec<_>>();
            for lane in 0..to.num_lanes() {
                let part = |columns: &[usize], index: usize| {
                    set_bits(index as u64).fold(0, |sum, bit| sum ^ columns[bit])
                };
                let source = part(&exchange.lanes, lane) ^ part(&exchange.warps, warp);
                let received = exchange
                    .rounds
                    .iter()
                    .map(|round| {
                        assert!(exchange.moves(*round) || source ^ round.lane == lane);
                        sent[source ^ round.lane][round.register].clone()
                    })
                    .collect::<Vec<_>>();
                assert_eq!(
                    permuted(&received, &exchange.after, lane, warp),
                    held(to, lane),
                    "{from} to {to}"
                );
            }
        }
    }

    fn line(register: &[i32], lane: &[i32]) -> LinearLayout {
        let bases = |values: &[i32]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
        LinearLayout::new([bases(register), bases(lane), vec![], vec![]], vec![16]).unwrap()
    }

    #[test]
    fn a_transposition_shuffles_each_register_once() {
        let (from, to) = (line(&[1, 2], &[4, 8]), line(&[4, 8], &[1, 2]));
        let exchange = from.warp_exchange_to(&to).unwrap();
        check(&from, &to, &exchange);
        // In one of the four rounds each lane receives what it sends.
        assert_eq!(
            (exchange.shuffles(), exchange.before.len(), exchange.after.len()),
            (3, 2, 2)
        );
    }

    #[test]
    fn a_register_picked_by_lane_needs_no_shuffle() {
        let (from, to) = (line(&[1, 2], &[4, 8, 0]), line(&[2], &[4, 8, 1]));
        let exchange = from.warp_exchange_to(&to).unwrap();
        check(&from, &to, &exchange);
        assert_eq!((exchange.shuffles(), exchange.selects()), (0, 4));
    }

    #[test]
    fn lanes_that_swap_do_it_by_one_shuffle_a_register() {
        let (from, to) = (line(&[1, 2], &[4, 8]), line(&[1, 2], &[8, 4]));
        let exchange = from.warp_exchange_to(&to).unwrap();
        check(&from, &to, &exchange);
        assert_eq!((exchange.shuffles(), exchange.selects()), (4, 0));
    }

    #[test]
    fn neighbours_that_stay_together_travel_together() {
        let (from, to) = (line(&[1, 2], &[4, 8]), line(&[1, 4], &[2, 8]));
        let exchange = from.warp_exchange_to(&to).unwrap();
        check(&from, &to, &exchange);
        let pairs = exchange.by_groups(1).unwrap();
        assert_eq!((exchange.shuffles(), pairs.shuffles()), (2, 1));
        assert_eq!(exchange.by_groups(2), None);
        assert_eq!(
            line(&[1, 2], &[4, 8])
                .warp_exchange_to(&line(&[2, 1], &[8, 4]))
                .unwrap()
                .by_groups(1),
            None
        );
    }

    #[test]
    fn copies_are_sent_once() {
        let (from, to) = (line(&[1, 2], &[4, 8]), line(&[1, 2, 0], &[8, 4]));
        let exchange = from.warp_exchange_to(&to).unwrap();
        check(&from, &to, &exchange);
        assert_eq!((exchange.rounds.len(), exchange.shuffles()), (8, 4));
    }

    proptest! {
        #[test]
        fn each_lane_ends_with_its_registers((from, to) in pair_of_blocked()) {
            let level = from.conversion_to(&to).unwrap().level;
            match from.warp_exchange_to(&to) {
                Some(exchange) => check(&from, &to, &exchange),
                // A lane has only one element for each place where nothing is held twice.
                None => prop_assert!(level > ConversionLevel::Lane || !from.is_injective() || !to.is_injective()),
            }
        }

        #[test]
        fn each_lane_ends_with_its_registers_in_any_layout((from, to) in any_layout_pair()) {
            if let Some(exchange) = from.warp_exchange_to(&to) {
                check(&from, &to, &exchange);
            }
        }
    }
}
