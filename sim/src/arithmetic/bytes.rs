//! Moving bits between registers without regard to what they mean.

use super::lanes::{LANES, Lanes, map3};

/// Component `index` of [`crate::program::Instruction::Repack`]: the bits of the operands `from`, lowest first, cut anew.
///
/// Components are computed one at a time, so that no vector of results is needed; bits past the last operand are zero.
pub fn repack(index: usize, to_bits: u8, from_bits: u8, mask: u32, to: &mut Lanes, from: &[&Lanes]) {
    let (to_bits, from_bits) = (usize::from(to_bits), usize::from(from_bits));
    let keep = u64::MAX >> (64 - to_bits.clamp(1, 64));
    let first = index * to_bits;
    let mut results = [0; LANES];
    // The operands that hold bits `first..first + to_bits`.
    let operands = first / from_bits..(first + to_bits).div_ceil(from_bits);
    for (number, operand) in from.iter().enumerate().take(operands.end).skip(operands.start) {
        let start = number * from_bits;
        if start <= first {
            results
                .iter_mut()
                .zip(*operand)
                .for_each(|(result, bits)| *result |= bits >> (first - start));
        } else {
            results
                .iter_mut()
                .zip(*operand)
                .for_each(|(result, bits)| *result |= bits << (start - first));
        }
    }
    map3(mask, to, &results, &results, &results, |bits, _, _| bits & keep);
}

/// [`crate::program::Instruction::PermuteBytes`] (PTX ISA, "Data Movement and Conversion Instructions: prmt", default
/// mode).
pub fn permute_bytes(mask: u32, to: &mut Lanes, a: &Lanes, b: &Lanes, selector: &Lanes) {
    map3(mask, to, a, b, selector, |a, b, selector| {
        let source = b << 32 | a & 0xffff_ffff;
        (0..4).fold(0, |word, byte| {
            let nibble = selector >> (4 * byte);
            let picked = (source >> (8 * (nibble & 7))) as u8;
            let picked = if nibble & 8 == 0 {
                picked
            } else {
                ((picked as i8) >> 7) as u8
            };
            word | u64::from(picked) << (8 * byte)
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repack_once(to_bits: u8, from_bits: u8, from: &[u64]) -> Vec<u64> {
        let lanes: Vec<Lanes> = from.iter().map(|bits| [*bits; LANES]).collect();
        let from: Vec<&Lanes> = lanes.iter().collect();
        (0..from.len() * usize::from(from_bits) / usize::from(to_bits))
            .map(|index| {
                let mut to = [0; LANES];
                repack(index, to_bits, from_bits, 1 << 7, &mut to, &from);
                to[7]
            })
            .collect()
    }

    #[test]
    fn the_lowest_bits_come_first() {
        assert_eq!(
            repack_once(16, 32, &[0xaabb_ccdd, 0x1122_3344]),
            [0xccdd, 0xaabb, 0x3344, 0x1122]
        );
        assert_eq!(repack_once(32, 16, &[0xccdd, 0xaabb]), [0xaabb_ccdd]);
        assert_eq!(repack_once(64, 32, &[1, 2]), [0x2_0000_0001]);
        assert_eq!(repack_once(8, 1, &[1, 0, 1, 1, 0, 0, 0, 1]), [0x8d]);
        assert_eq!(repack_once(32, 32, &[5, 6]), [5, 6]);
    }

    #[test]
    fn permuting_picks_bytes_or_their_signs() {
        let once = |selector: u64| {
            let mut to = [0; LANES];
            permute_bytes(
                1,
                &mut to,
                &[0x8322_1100; LANES],
                &[0x7766_5544; LANES],
                &[selector; LANES],
            );
            to[0]
        };
        assert_eq!(once(0x3210), 0x8322_1100);
        assert_eq!(once(0x7654), 0x7766_5544);
        assert_eq!(once(0x5410), 0x5544_1100);
        assert_eq!(once(0xb0b8), 0xff00_ff00, "signs of bytes 3 and 0");
    }

    proptest! {
        #[test]
        fn repacking_there_and_back_changes_nothing(from in any::<[u32; 4]>()) {
            let from = from.map(u64::from);
            for bits in [1, 8, 16, 64] {
                prop_assert_eq!(repack_once(32, bits, &repack_once(bits, 32, &from)), from);
            }
        }
    }
}
