//! Comparisons, giving an `i1`.

use super::lanes::{Lanes, map2};
use super::rounding;
use crate::program::{FloatPredicate, Format, IntegerPredicate};

/// [`crate::program::Instruction::CompareInteger`] on the low `bits` bits.
pub fn compare_integer(
    predicate: IntegerPredicate,
    bits: u8,
    mask: u32,
    to: &mut Lanes,
    a: &Lanes,
    b: &Lanes,
) {
    let unused = 64 - u32::from(bits.clamp(1, 64));
    // Moved to the top, numbers of any width compare as 64-bit numbers.
    let signed = |x: u64| (x << unused) as i64;
    match predicate {
        IntegerPredicate::Eq => map2(mask, to, a, b, |x, y| u64::from(x == y)),
        IntegerPredicate::Ne => map2(mask, to, a, b, |x, y| u64::from(x != y)),
        IntegerPredicate::Slt => map2(mask, to, a, b, |x, y| u64::from(signed(x) < signed(y))),
        IntegerPredicate::Sle => map2(mask, to, a, b, |x, y| u64::from(signed(x) <= signed(y))),
        IntegerPredicate::Sgt => map2(mask, to, a, b, |x, y| u64::from(signed(x) > signed(y))),
        IntegerPredicate::Sge => map2(mask, to, a, b, |x, y| u64::from(signed(x) >= signed(y))),
        IntegerPredicate::Ult => map2(mask, to, a, b, |x, y| u64::from(x < y)),
        IntegerPredicate::Ule => map2(mask, to, a, b, |x, y| u64::from(x <= y)),
        IntegerPredicate::Ugt => map2(mask, to, a, b, |x, y| u64::from(x > y)),
        IntegerPredicate::Uge => map2(mask, to, a, b, |x, y| u64::from(x >= y)),
    }
}

/// [`crate::program::Instruction::CompareFloat`].
pub fn compare_float(
    predicate: FloatPredicate,
    format: Format,
    mask: u32,
    to: &mut Lanes,
    a: &Lanes,
    b: &Lanes,
) {
    match format {
        Format::F32 => compare(predicate, mask, to, a, b, |x| f32::from_bits(x as u32)),
        _ => compare(predicate, mask, to, a, b, |x| rounding::widen(format, x)),
    }
}

#[inline(always)]
fn compare<N: PartialOrd>(
    predicate: FloatPredicate,
    mask: u32,
    to: &mut Lanes,
    a: &Lanes,
    b: &Lanes,
    load: impl Fn(u64) -> N,
) {
    // Whether the predicate holds in each of the four outcomes of a comparison.
    let (less, equal, greater, unordered) = match predicate {
        FloatPredicate::False => (false, false, false, false),
        FloatPredicate::Oeq => (false, true, false, false),
        FloatPredicate::Ogt => (false, false, true, false),
        FloatPredicate::Oge => (false, true, true, false),
        FloatPredicate::Olt => (true, false, false, false),
        FloatPredicate::Ole => (true, true, false, false),
        FloatPredicate::One => (true, false, true, false),
        FloatPredicate::Ord => (true, true, true, false),
        FloatPredicate::Ueq => (false, true, false, true),
        FloatPredicate::Ugt => (false, false, true, true),
        FloatPredicate::Uge => (false, true, true, true),
        FloatPredicate::Ult => (true, false, false, true),
        FloatPredicate::Ule => (true, true, false, true),
        FloatPredicate::Une => (true, false, true, true),
        FloatPredicate::Uno => (false, false, false, true),
        FloatPredicate::True => (true, true, true, true),
    };
    map2(mask, to, a, b, |x, y| {
        let (x, y) = (load(x), load(y));
        let outcomes = [(x < y, less), (x == y, equal), (x > y, greater)];
        let ordered = outcomes.iter().any(|(outcome, _)| *outcome);
        // Without branches, so that the loop can be vectorised.
        let holds = outcomes
            .iter()
            .fold(!ordered & unordered, |holds, (outcome, wanted)| {
                holds | outcome & wanted
            });
        u64::from(holds)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::LANES;

    fn float_once(predicate: FloatPredicate, a: f32, b: f32) -> bool {
        let (a, b) = (u64::from(a.to_bits()), u64::from(b.to_bits()));
        let mut to = [9; LANES];
        compare_float(
            predicate,
            Format::F32,
            u32::MAX,
            &mut to,
            &[a; LANES],
            &[b; LANES],
        );
        to[31] == 1
    }

    #[test]
    fn unordered_predicates_hold_for_nan_and_ordered_ones_do_not() {
        use FloatPredicate::*;
        for ordered in [False, Oeq, Ogt, Oge, Olt, Ole, One, Ord] {
            assert!(!float_once(ordered, f32::NAN, 1.0), "{ordered:?}");
            assert!(!float_once(ordered, 1.0, f32::NAN), "{ordered:?}");
        }
        for unordered in [Ueq, Ugt, Uge, Ult, Ule, Une, Uno, True] {
            assert!(float_once(unordered, f32::NAN, 1.0), "{unordered:?}");
        }
    }

    #[test]
    fn predicates_hold_as_named() {
        use FloatPredicate::*;
        for (a, b, holding) in [
            (1.0, 2.0, [Olt, Ole, One, Ord, Ult, Ule, Une, True].as_slice()),
            (2.0, 1.0, &[Ogt, Oge, One, Ord, Ugt, Uge, Une, True]),
            (0.0, -0.0, &[Oeq, Oge, Ole, Ord, Ueq, Uge, Ule, True]),
        ] {
            for predicate in [
                False, Oeq, Ogt, Oge, Olt, Ole, One, Ord, Ueq, Ugt, Uge, Ult, Ule, Une, Uno, True,
            ] {
                assert_eq!(
                    float_once(predicate, a, b),
                    holding.contains(&predicate),
                    "{predicate:?} {a} {b}"
                );
            }
        }
    }

    #[test]
    fn signed_comparisons_take_the_sign_of_their_width() {
        let once = |predicate, bits, a, b| {
            let mut to = [9; LANES];
            compare_integer(predicate, bits, 1, &mut to, &[a; LANES], &[b; LANES]);
            to[0] == 1
        };
        assert!(once(IntegerPredicate::Slt, 32, 0xffff_ffff, 0));
        assert!(!once(IntegerPredicate::Ult, 32, 0xffff_ffff, 0));
        assert!(once(IntegerPredicate::Slt, 8, 0x80, 0x7f));
        assert!(!once(IntegerPredicate::Slt, 16, 0x80, 0x7f));
        assert!(once(IntegerPredicate::Sge, 64, 5, u64::MAX));
    }
}
