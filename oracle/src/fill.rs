//! Generated inputs: reproducible from a seed, and fast enough for gigabytes.

use norma_bundle::Element;
use rayon::prelude::*;

/// The values that inputs are filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Fill {
    /// The standard normal distribution
    Normal,
    /// Ones
    Ones,
    /// 1000 plus the standard normal distribution: sums cancel
    Offset,
    /// The standard normal distribution times 0.001: an eps of 1e-6 weighs as much as the squares
    Small,
    /// The standard normal distribution times 10000; integers up to 8192, at all scales
    Large,
    /// Normal, with scattered NaN, infinities, zeros of both signs and subnormals, and with runs of each
    Special,
    /// Whole numbers of both signs, three quarters of them 0: sums of rows are exact, whatever their order
    Exact,
    /// The standard normal distribution; integers ascend from 0, as the offsets of segments do, and some are equal
    Ascending,
    /// The least finite number, the greatest one, 0 and -1, a quarter of the elements each, so that rows hold one of them alone: what
    /// a reduction begins with, or takes lanes without elements for, shows
    Identities,
}

impl Fill {
    /// Every fill that any op may be run on; on [`Fill::Identities`] sums and products overflow.
    pub const GENERAL: [Fill; 7] = [
        Fill::Normal,
        Fill::Ones,
        Fill::Offset,
        Fill::Small,
        Fill::Large,
        Fill::Special,
        Fill::Exact,
    ];
}

/// What SplitMix64 adds to its state for each number: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator of 64 random bits at a time (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
pub struct Random(u64);

impl Random {
    /// Starts a sequence; different seeds give unrelated ones.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The sequence after `count` calls of [`Random::bits`].
    fn after(&self, count: usize) -> Self {
        Random(self.0.wrapping_add(STEP.wrapping_mul(count as u64)))
    }

    /// A number below `bound`, which is positive. The bias is below 2^-32 for the bounds used here.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (
            (-2.0 * self.unit().ln()).sqrt(),
            std::f64::consts::TAU * self.unit(),
        );
        radius * angle.cos()
    }
}

/// The most distinct numbers that a tensor is drawn from: 16 random bits choose one.
const TABLE: usize = 1 << 16;
/// How many elements 64 random bits choose.
const CHOICES: usize = 4;
/// How many elements one thread chooses at a time: some hundred microseconds of work, and a multiple of [`CHOICES`].
const PART: usize = 1 << 16;
/// One element in this many is special under [`Fill::Special`], so that most rows have none and some have a few; a small tensor
/// gets about eight.
const SPECIAL_RATE: u64 = 1 << 13;
/// The length of a run of one special value. A short row within it holds nothing else, as a test of a maximum of minus infinity
/// needs.
const SPECIAL_RUN: usize = 64;
/// The exclusive bound of integers of more than 8 bits: small enough that they serve as labels of few classes.
const INTEGER_BOUND: u64 = 64;
/// How many times [`Fill::Large`] may double this bound, so that labels of many classes occur.
const INTEGER_DOUBLINGS: u64 = 7;

/// The bits of 1 as f8E8M0FNU.
const E8M0_ONE: u64 = 127;
/// How many times a number of f8E8M0FNU is doubled or halved at most, but under [`Fill::Large`].
const E8M0_SPREAD: u64 = 8;

/// Generates `count` elements, little-endian.
pub fn generate(element: Element, count: usize, fill: Fill, random: &mut Random) -> Vec<u8> {
    let size = count.next_power_of_two().min(TABLE);
    let table: Vec<u64> = (0..size).map(|_| pattern(element, fill, random)).collect();
    let mut bytes = vec![0; count * element.bytes()];
    let parts = bytes.par_chunks_mut(PART * element.bytes()).enumerate();
    parts.for_each(|(part, bytes)| choose(element, &table, random.after(part * PART / CHOICES), bytes));
    *random = random.after(count.div_ceil(CHOICES));
    if fill == Fill::Special && element.is_float() {
        scatter_specials(element, count, random, &mut bytes);
    }
    if let (Fill::Ascending, Some(bits)) = (fill, element.integer_bits()) {
        ascend(element, bits, count, random, &mut bytes);
    }
    if fill == Fill::Identities {
        let numbers = identities(element);
        let run = count.div_ceil(numbers.len());
        bytes.clear();
        (0..count).for_each(|index| element.store(numbers[index / run], &mut bytes));
    }
    bytes
}

/// Fills `bytes` with elements of `table`, whose length is a power of two of at most [`TABLE`].
fn choose(element: Element, table: &[u64], mut random: Random, bytes: &mut [u8]) {
    let size = element.bytes();
    for elements in bytes.chunks_mut(CHOICES * size) {
        let mut bits = random.bits();
        for stored in elements.chunks_exact_mut(size) {
            stored.copy_from_slice(&table[bits as usize & (table.len() - 1)].to_le_bytes()[..size]);
            bits >>= TABLE.ilog2();
        }
    }
}

/// Integers from 0 on, each at most [`LONGEST_STEP`] above the one before it, a third of them equal to it.
fn ascend(element: Element, bits: u32, count: usize, random: &mut Random, bytes: &mut Vec<u8>) {
    let most = i64::MAX >> (64 - bits);
    let mut next = 0_i64;
    bytes.clear();
    for _ in 0..count {
        element.store(element.wrap_integer(next) as u64, bytes);
        let step = match random.below(3) {
            0 => 0,
            _ => random.below(LONGEST_STEP) as i64 + 1,
        };
        next = (next + step).min(most);
    }
}

/// The longest step of [`Fill::Ascending`].
const LONGEST_STEP: u64 = 40;

/// The numbers of [`Fill::Identities`].
fn identities(element: Element) -> [u64; 4] {
    match element.integer_bits() {
        None => {
            let largest = element.largest_finite();
            [-largest, largest, 0.0, -1.0].map(|value| element.encode_float(value))
        }
        Some(bits) => {
            let least = i64::MIN >> (64 - bits);
            [least, !least, 0, -1].map(|value| element.wrap_integer(value) as u64)
        }
    }
}

fn pattern(element: Element, fill: Fill, random: &mut Random) -> u64 {
    // Not all of its powers of two: squares of what the largest scale overflow in f32, as kernels compute, but not in the f64 reference.
    if element == Element::F8E8M0FNU && !matches!(fill, Fill::Large | Fill::Identities) {
        return match fill {
            Fill::Special if random.below(64) == 0 => u64::from(u8::MAX),
            Fill::Ones => E8M0_ONE,
            // Sums of such multiples of whole numbers are still exact.
            Fill::Exact => E8M0_ONE + random.below(2),
            _ => E8M0_ONE - E8M0_SPREAD + random.below(2 * E8M0_SPREAD + 1),
        };
    }
    if let Some(bits) = element.integer_bits() {
        let bound = match fill {
            Fill::Ones => return 1,
            Fill::Exact => return element.wrap_integer(whole(random)) as u64,
            // 8 bits are too few for labels; all patterns are drawn, so that both signs occur.
            _ if bits <= 8 => 1 << bits,
            Fill::Large => INTEGER_BOUND << random.below(INTEGER_DOUBLINGS + 1),
            _ => INTEGER_BOUND,
        };
        return random.below(bound.min(1 << bits.min(32)));
    }
    // A number beyond the range of an 8-bit float becomes its largest, not NaN.
    element.encode_float(element.narrow(match fill {
        // The last two fills overwrite some or all of these numbers.
        Fill::Normal | Fill::Special | Fill::Ascending | Fill::Identities => random.normal(),
        Fill::Ones => 1.0,
        Fill::Offset => 1000.0 + random.normal(),
        Fill::Small => 1e-3 * random.normal(),
        Fill::Large => 1e4 * random.normal(),
        Fill::Exact => whole(random) as f64,
    }))
}

/// A number of [`Fill::Exact`]. Few are large, so that a row's sum of squares is exact in f32 as well; odd ones among the large
/// lie between two bf16 numbers.
fn whole(random: &mut Random) -> i64 {
    let magnitude = match random.below(64) {
        0..48 => return 0,
        48..63 => 1 + random.below(15),
        _ => 256 + random.below(768),
    } as i64;
    match random.below(2) {
        0 => magnitude,
        _ => -magnitude,
    }
}

fn scatter_specials(element: Element, count: usize, random: &mut Random, bytes: &mut [u8]) {
    // No huge finite numbers: their squares overflow in f32, as kernels compute, but not in the f64 reference. Nor the smallest
    // subnormal: a product with it may be 0 in f32, and then infinity times that is NaN, but not in the reference.
    let subnormal = element.ulp(0.0) / element.ulp(1.0) / 2.0;
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, subnormal];
    let mut put = |at: usize, special: f64| {
        let size = element.bytes();
        let pattern = element.encode_float(special).to_le_bytes();
        bytes[at * size..(at + 1) * size].copy_from_slice(&pattern[..size]);
    };
    let rate = SPECIAL_RATE.min(count as u64 / 8).max(1);
    let mut at = random.below(2 * rate) as usize;
    while at < count {
        put(at, specials[random.below(specials.len() as u64) as usize]);
        at += 1 + random.below(2 * rate) as usize;
    }
    // One run of each, far apart.
    let apart = count / specials.len();
    if apart >= SPECIAL_RUN * 4 {
        for (index, special) in specials.into_iter().enumerate() {
            (0..SPECIAL_RUN).for_each(|offset| put(index * apart + offset, special));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(element: Element, fill: Fill, count: usize) -> Vec<f64> {
        let bytes = generate(element, count, fill, &mut Random::new(1));
        assert_eq!(bytes.len(), count * element.bytes());
        (0..count)
            .map(|index| element.decode_float(element.load(&bytes, index).unwrap()))
            .collect()
    }

    #[test]
    fn ascending_integers_are_offsets_of_segments() {
        let bytes = generate(Element::I32, 100, Fill::Ascending, &mut Random::new(1));
        let offsets: Vec<i64> = bytes
            .chunks_exact(4)
            .map(|bytes| i64::from(i32::from_le_bytes(bytes.try_into().unwrap())))
            .collect();
        assert_eq!(offsets[0], 0);
        let steps: Vec<i64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| (0..=LONGEST_STEP as i64).contains(step)));
        assert!(steps.contains(&0) && steps.iter().any(|step| *step > 0));
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let numbers = values(Element::F32, Fill::Normal, 100_000);
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(
            mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03,
            "{mean} {variance}"
        );
    }

    #[test]
    fn elements_that_several_threads_choose_are_those_of_one_sequence() {
        let count = 2 * PART + 5;
        let mut random = Random::new(1);
        let bytes = generate(Element::I64, count, Fill::Normal, &mut random);
        let mut one = Random::new(1);
        let table: Vec<u64> = (0..TABLE)
            .map(|_| pattern(Element::I64, Fill::Normal, &mut one))
            .collect();
        let mut expected = vec![0; count * 8];
        choose(Element::I64, &table, one.after(0), &mut expected);
        (0..count.div_ceil(CHOICES)).for_each(|_| _ = one.bits());
        assert!(bytes == expected);
        assert_eq!(random.bits(), one.bits());
    }

    #[test]
    fn a_seed_gives_one_sequence() {
        let bytes = |seed| generate(Element::BF16, 100, Fill::Normal, &mut Random::new(seed));
        assert_eq!(bytes(3), bytes(3));
        assert_ne!(bytes(3), bytes(4));
    }

    #[test]
    fn specials_are_rare_but_there() {
        let numbers = values(Element::BF16, Fill::Special, 1 << 20);
        let specials = numbers.iter().filter(|x| !x.is_finite()).count();
        assert!((10..1000).contains(&specials), "{specials}");
    }

    #[test]
    fn small_tensors_get_specials_too() {
        let with_specials = (0..50).filter(|seed| {
            let bytes = generate(Element::F32, 33, Fill::Special, &mut Random::new(*seed));
            (0..33).any(|index| {
                !Element::F32
                    .decode_float(Element::F32.load(&bytes, index).unwrap())
                    .is_finite()
            })
        });
        assert!(with_specials.count() > 40);
        assert!(generate(Element::F32, 0, Fill::Special, &mut Random::new(1)).is_empty());
    }

    #[test]
    fn short_rows_of_larger_tensors_hold_one_special_value_alone() {
        let numbers = values(Element::F32, Fill::Special, 20 * 100);
        for special in [f64::NEG_INFINITY, -0.0] {
            let is_it = |x: &f64| x.to_bits() == special.to_bits();
            assert!(numbers.chunks(31).any(|row| row.iter().all(is_it)), "{special}");
        }
    }

    #[test]
    fn exact_numbers_are_whole_and_some_lie_between_two_bf16() {
        let numbers = values(Element::F32, Fill::Exact, 10_000);
        assert!(numbers.iter().all(|x| x.fract() == 0.0 && x.abs() < 1024.0));
        assert!(numbers.iter().filter(|x| **x == 0.0).count() > 7000);
        assert!(numbers.iter().any(|x| Element::BF16.round(*x) != *x));
        let integers = generate(Element::I32, 1000, Fill::Exact, &mut Random::new(1));
        assert!((0..1000).any(|index| Element::I32.load(&integers, index).unwrap() >> 31 == 1));
    }

    #[test]
    fn rows_of_identities_hold_one_number_alone() {
        let numbers = values(Element::BF16, Fill::Identities, 16 * 100);
        let rows = numbers.chunks(100).map(|row| {
            let first = row[0].to_bits();
            row.iter().all(|x| x.to_bits() == first).then_some(row[0])
        });
        let rows = rows.collect::<Option<Vec<f64>>>().unwrap();
        let largest = Element::BF16.largest_finite();
        assert_eq!((rows[0], rows[4]), (-largest, largest));
        assert_eq!((rows[8], rows[12]), (0.0, -1.0));
        let integers = generate(Element::I32, 4, Fill::Identities, &mut Random::new(1));
        let integer = |index| Element::I32.load(&integers, index).map(|bits| bits as u32 as i32);
        assert_eq!([0, 1, 2, 3].map(integer), [i32::MIN, i32::MAX, 0, -1].map(Some));
    }

    #[test]
    fn large_integers_are_labels_of_many_classes() {
        let bytes = generate(Element::I64, 1000, Fill::Large, &mut Random::new(1));
        let labels: Vec<u64> = (0..1000)
            .filter_map(|index| Element::I64.load(&bytes, index))
            .collect();
        for bound in [64, 128, 512, 1024, 4096] {
            assert!(
                labels.iter().any(|label| (bound / 2..bound).contains(label)),
                "{bound}"
            );
        }
        assert!(labels.iter().all(|label| *label < 8192));
    }

    #[test]
    fn bytes_are_of_both_signs() {
        let bytes = generate(Element::I8, 1000, Fill::Normal, &mut Random::new(1));
        assert!(bytes.contains(&0x80) && bytes.contains(&0x7f));
    }

    #[test]
    fn scales_are_moderate_unless_large_ones_are_asked_for() {
        let bytes = |fill| generate(Element::F8E8M0FNU, 4096, fill, &mut Random::new(1));
        let moderate = 119..=135;
        assert!(bytes(Fill::Normal).iter().all(|bits| moderate.contains(bits)));
        assert!(bytes(Fill::Large).contains(&0) && bytes(Fill::Large).contains(&255));
        let special = bytes(Fill::Special);
        assert!(special.contains(&255) && special.iter().all(|bits| moderate.contains(bits) || *bits == 255));
    }

    #[test]
    fn integers_stay_small() {
        let bytes = generate(Element::I64, 1000, Fill::Normal, &mut Random::new(1));
        assert!((0..1000).all(|index| Element::I64.load(&bytes, index).unwrap() < INTEGER_BOUND));
        let truths = generate(Element::I1, 1000, Fill::Normal, &mut Random::new(1));
        assert!(truths.iter().all(|truth| *truth <= 1) && truths.contains(&0) && truths.contains(&1));
    }
}
