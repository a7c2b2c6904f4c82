//! Moving bits between registers without regard to what they mean.

use super::lanes::{LANES, Lanes, map3};
use crate::program::Register;

/// [`crate::program::Instruction::Repack`]: the bits of the registers `from`, lowest first, split again into the
/// registers `to`, none of which is among `from`. Bits past the last operand are zero.
pub fn repack(registers: &mut [Lanes], mask: u32, to: (&[Register], u8), from: (&[Register], u8)) {
    let ((to, to_bits), (from, from_bits)) = (to, from);
    let keep = |bits: u8| u64::MAX >> (64 - u32::from(bits.clamp(1, 64)));
    let (mut held, mut bits) = ([0u128; LANES], 0u32);
    let mut sources = from.iter();
    for target in to {
        while bits < u32::from(to_bits)
            && let Some(source) = sources.next()
        {
            for (held, source) in held.iter_mut().zip(&registers[*source as usize]) {
                *held |= u128::from(source & keep(from_bits)) << bits;
            }
            bits += u32::from(from_bits);
        }
        let mut results = [0; LANES];
        for (result, held) in results.iter_mut().zip(&mut held) {
            *result = *held as u64 & keep(to_bits);
            *held >>= to_bits;
        }
        bits = bits.saturating_sub(u32::from(to_bits));
        map3(
            mask,
            &mut registers[*target as usize],
            &results,
            &results,
            &results,
            |bits, _, _| bits,
        );
    }
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
        let count = from.len() * usize::from(from_bits) / usize::from(to_bits);
        let mut registers: Vec<Lanes> = from.iter().map(|bits| [*bits; LANES]).collect();
        registers.resize(from.len() + count, [0; LANES]);
        let numbers: Vec<Register> = (0..registers.len() as Register).collect();
        let (operands, results) = numbers.split_at(from.len());
        repack(&mut registers, 1 << 7, (results, to_bits), (operands, from_bits));
        registers[from.len()..].iter().map(|lanes| lanes[7]).collect()
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
