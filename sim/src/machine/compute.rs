//! Instructions that access nothing but a group's own registers.

use super::warp::{LANES, Lanes, lanes};
use crate::arithmetic;
use crate::options::Approximation;
use crate::program::{Instruction, Register, SpecialRegister};

/// The values from which special registers are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Environment {
    pub block: [u32; 3],
    pub grid: [u32; 3],
    pub cluster: [u32; 3],
    pub cta: [u32; 3],
    pub rank: u32,
    pub warp: u32,
    pub multiprocessors: u32,
    pub multiprocessor: u32,
    pub dynamic_shared_bytes: u32,
    pub clock: u64,
    pub approximation: Approximation,
}

/// Executes the instruction in the lanes of `mask` if it is of this kind, and says whether it is.
#[inline]
pub(super) fn compute(
    instruction: &Instruction,
    registers: &mut [Lanes],
    mask: u32,
    environment: &Environment,
) -> bool {
    match instruction {
        Instruction::Constant { to, value } => set(registers, *to, mask, &[*value; LANES]),
        // Any value is allowed here. One that differs between lanes shows best that it is used.
        Instruction::Undefined { to } => {
            let garbage = std::array::from_fn(|lane| 0xdead_beef_0bad_f00d ^ (lane as u64) << 3);
            set(registers, *to, mask, &garbage);
        }
        Instruction::Copy { to, from } => {
            let value = registers[*from as usize];
            set(registers, *to, mask, &value);
        }
        Instruction::Select {
            to,
            condition,
            yes,
            no,
        } => {
            let [condition, yes, no] = [*condition, *yes, *no].map(|register| registers[register as usize]);
            arithmetic::select(mask, &mut registers[*to as usize], &condition, &yes, &no);
        }
        Instruction::Integer { op, bits, to, a, b } => {
            let [a, b] = [registers[*a as usize], registers[*b as usize]];
            arithmetic::integer(*op, *bits, mask, &mut registers[*to as usize], &a, &b);
        }
        Instruction::Address {
            to,
            a,
            b,
            bits,
            scale,
        } => {
            let [a, b] = [registers[*a as usize], registers[*b as usize]];
            arithmetic::address(*bits, *scale, mask, &mut registers[*to as usize], &a, &b);
        }
        Instruction::CompareInteger {
            predicate,
            bits,
            to,
            a,
            b,
        } => {
            let [a, b] = [registers[*a as usize], registers[*b as usize]];
            arithmetic::compare_integer(*predicate, *bits, mask, &mut registers[*to as usize], &a, &b);
        }
        Instruction::Float {
            op,
            format,
            flush,
            to,
            a,
            b,
        } => {
            let [a, b] = [registers[*a as usize], registers[*b as usize]];
            arithmetic::float(*op, *format, *flush, mask, &mut registers[*to as usize], &a, &b);
        }
        Instruction::FusedMultiplyAdd {
            format,
            flush,
            to,
            a,
            b,
            c,
        } => {
            let [a, b, c] = [*a, *b, *c].map(|register| registers[register as usize]);
            arithmetic::fused_multiply_add(*format, *flush, mask, &mut registers[*to as usize], [&a, &b, &c]);
        }
        Instruction::CompareFloat {
            predicate,
            format,
            to,
            a,
            b,
        } => {
            let [a, b] = [registers[*a as usize], registers[*b as usize]];
            arithmetic::compare_float(*predicate, *format, mask, &mut registers[*to as usize], &a, &b);
        }
        Instruction::Approximate {
            function,
            flush,
            to,
            a,
            b,
        } => {
            let [a, b] = [registers[*a as usize], registers[*b as usize]];
            let to = &mut registers[*to as usize];
            arithmetic::approximate(*function, *flush, environment.approximation, mask, to, &a, &b);
        }
        Instruction::Convert { conversion, to, from } => {
            let from = registers[*from as usize];
            arithmetic::convert(*conversion, mask, &mut registers[*to as usize], &from);
        }
        Instruction::Repack {
            to,
            to_bits,
            from,
            from_bits,
        } => arithmetic::repack(registers, mask, (to, *to_bits), (from, *from_bits)),
        Instruction::PermuteBytes { to, a, b, selector } => {
            let [a, b, selector] = [*a, *b, *selector].map(|register| registers[register as usize]);
            arithmetic::permute_bytes(mask, &mut registers[*to as usize], &a, &b, &selector);
        }
        Instruction::Special { register, to } => {
            let value = special(*register, environment);
            set(registers, *to, mask, &value);
        }
        Instruction::MapToCta { to, address, rank } => {
            let [address, rank] = [&registers[*address as usize], &registers[*rank as usize]];
            let value =
                std::array::from_fn(|lane| crate::address::map_to_cta(address[lane], rank[lane] as u32));
            set(registers, *to, mask, &value);
        }
        _ => return false,
    }
    true
}

#[inline]
fn set(registers: &mut [Lanes], to: Register, mask: u32, value: &Lanes) {
    let to = &mut registers[to as usize];
    if mask == u32::MAX {
        *to = *value;
    } else {
        lanes(mask).for_each(|lane| to[lane] = value[lane]);
    }
}

fn special(register: SpecialRegister, environment: &Environment) -> Lanes {
    let Environment {
        block,
        grid,
        cluster,
        cta,
        ..
    } = environment;
    let axis = |axis: u8| usize::from(axis.min(2));
    let count = |shape: &[u32; 3]| shape.iter().product::<u32>();
    let uniform = |value: u32| [u64::from(value); LANES];
    match register {
        SpecialRegister::ThreadId(of) => std::array::from_fn(|lane| {
            let linear = environment.warp * LANES as u32 + lane as u32;
            let place = [
                linear % block[0],
                linear / block[0] % block[1],
                linear / block[0] / block[1],
            ];
            u64::from(place[axis(of)])
        }),
        SpecialRegister::ThreadCount(of) => uniform(block[axis(of)]),
        SpecialRegister::CtaId(of) => uniform(cta[axis(of)]),
        SpecialRegister::CtaCount(of) => uniform(grid[axis(of)]),
        SpecialRegister::ClusterId(of) => uniform(cta[axis(of)] / cluster[axis(of)]),
        SpecialRegister::ClusterCount(of) => uniform(grid[axis(of)] / cluster[axis(of)]),
        SpecialRegister::ClusterCtaId(of) => uniform(cta[axis(of)] % cluster[axis(of)]),
        SpecialRegister::ClusterCtaCount(of) => uniform(cluster[axis(of)]),
        SpecialRegister::ClusterCtaRank => uniform(environment.rank),
        SpecialRegister::ClusterCtaRankCount => uniform(count(cluster)),
        SpecialRegister::LaneId => std::array::from_fn(|lane| lane as u64),
        SpecialRegister::WarpId => uniform(environment.warp),
        SpecialRegister::WarpCount => uniform(count(block).div_ceil(LANES as u32)),
        SpecialRegister::WarpSize => uniform(LANES as u32),
        SpecialRegister::MultiprocessorId => uniform(environment.multiprocessor),
        SpecialRegister::MultiprocessorCount => uniform(environment.multiprocessors),
        SpecialRegister::DynamicSharedBytes => uniform(environment.dynamic_shared_bytes),
        SpecialRegister::LaneMask(which) => std::array::from_fn(|lane| {
            let equal = 1u32 << lane;
            let less = equal - 1;
            u64::from(match which {
                0 => equal,
                1 => less | equal,
                2 => less,
                3 => !less,
                _ => !(less | equal),
            })
        }),
        SpecialRegister::Clock => [environment.clock; LANES],
    }
}
