//! Mappings of a program's single kernel onto the machine, drawn at random, and their text.
//!
//! A mapping is over the dims of the kernel. These may be fewer than the program's, because the compiler merges dims that are
//! contiguous in every access; they are read from the kernel as the compiler prints it.

use std::fmt;

use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::target::SM_90A;
use norma_compiler::{CompileOptions, Level};

use super::program::Program;
use super::text::text;
use crate::case::UNROLLED_BYTES;
use crate::draw::Draw;

/// The bits of a lane index.
const LANE_BITS: u32 = 5;
/// The most bits drawn for the number of warps, and for the elements of a thread.
const WARP_BITS: u64 = 4;
const REGISTER_BITS: u64 = 5;
/// The most bits drawn for the rank of a CTA in its cluster: clusters have up to 16 CTAs.
const CLUSTER_BITS: u64 = 4;

/// A schedule: how the dims of a kernel are mapped, and its other parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// For each dim its factors, from the outermost to the innermost.
    pub spread: Vec<Vec<Factor>>,
    /// Where values that are read again are kept.
    pub keep: Option<&'static str>,
    /// As in `#norm.schedule`.
    pub early_reads: bool,
    /// Whether loops load the tiles of their next step ahead.
    pub prefetches: bool,
    /// As in `#norm.schedule`.
    pub unroll_bytes: i64,
    /// As in `#norm.schedule`.
    pub held_steps: i64,
    /// As in `#norm.schedule`.
    pub min_ctas_per_sm: i64,
}

/// A factor of a dim and the level that takes it; without a size, it is what the other factors leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The level's name.
    pub level: &'static str,
    /// Its size.
    pub size: Option<i64>,
}

/// A dim of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dim {
    name: String,
    /// `None` if it is dynamic.
    extent: Option<i64>,
    is_reduced: bool,
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let factor = |factor: &Factor| match factor.size {
            Some(size) => format!("{}({size})", factor.level),
            None => factor.level.to_owned(),
        };
        let dim = |factors: &Vec<Factor>| {
            let factors: Vec<String> = factors.iter().map(factor).collect();
            format!("[{}]", factors.join(", "))
        };
        let dims: Vec<String> = self.spread.iter().map(dim).collect();
        write!(f, "#norm.schedule<spread = [{}]", dims.join(", "))?;
        if let Some(keep) = self.keep {
            write!(f, ", keep = [{keep}]")?;
        }
        if self.early_reads {
            f.write_str(", early_reads = true")?;
        }
        if self.prefetches {
            f.write_str(", stages = 2")?;
        }
        if self.unroll_bytes > 0 {
            write!(f, ", unroll_bytes = {}", self.unroll_bytes)?;
        }
        if self.held_steps > 0 {
            write!(f, ", held_steps = {}", self.held_steps)?;
        }
        if self.min_ctas_per_sm > 0 {
            write!(f, ", min_ctas_per_sm = {}", self.min_ctas_per_sm)?;
        }
        f.write_str(">")
    }
}

/// A mapping of the program's kernel; `None` if there is not exactly one.
pub fn draw(random: &mut Draw, program: &Program) -> Option<Mapping> {
    let text = text(program);
    let input = Input {
        name: "case.mlir",
        text: &text,
    };
    let options = CompileOptions::new(&SM_90A);
    let kernel = compile::lower(input, Level::Kernel, &options, &mut Outcome::default()).ok()?;
    let dims = dims_of_the_kernel(&String::from_utf8_lossy(&kernel))?;
    Some(over(random, &dims))
}

/// The dims of a module's kernel; `None` if there is not exactly one.
fn dims_of_the_kernel(module: &str) -> Option<Vec<Dim>> {
    let mut kernels = module.split("norm.kernel @").skip(1);
    let kernel = kernels.next().filter(|_| kernels.next().is_none())?;
    let Some((_, space)) = kernel.split_once(" space(") else {
        return Some(Vec::new());
    };
    let (space, _) = space.split_once(" {\n")?;
    let mut depth = 1;
    let end = space.find(|letter| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let is_reduced = |name: &str| {
        kernel.split(" over(").skip(1).any(|over| {
            let over = over.split(')').next().unwrap_or_default();
            over.split(", ").any(|dim| dim == name)
        })
    };
    let dim = |text: &str| {
        let (name, extent) = text.split_once(" = ")?;
        let name = format!("%{}", name.trim_start_matches('%'));
        Some(Dim {
            extent: extent.parse().ok(),
            is_reduced: is_reduced(&name),
            name,
        })
    };
    space[..end].split(", %").map(dim).collect()
}

/// The bits that are left for the remaining dims.
struct Left {
    lanes: u32,
    warps: u32,
    registers: u32,
    ctas: u32,
}

fn over(random: &mut Draw, dims: &[Dim]) -> Mapping {
    let mut left = Left {
        lanes: LANE_BITS,
        warps: random.0.below(WARP_BITS) as u32,
        registers: random.0.below(REGISTER_BITS) as u32,
        ctas: match random.one_in(3) {
            true => 1 + random.0.below(CLUSTER_BITS) as u32,
            false => 0,
        },
    };

    let mut order: Vec<usize> = (0..dims.len()).collect();
    random.shuffle(&mut order);
    let mut spread = vec![Vec::new(); dims.len()];
    for dim in order {
        spread[dim] = factors(random, &dims[dim], &mut left);
    }
    let is_looped = spread.iter().flatten().any(|factor| factor.level == "loop");
    let places = [None, None, Some("register"), Some("l1"), Some("l2"), Some("none")];
    // A read that passes in a loop is not kept in registers.
    let keep = random.of(&places[if is_looped { 3 } else { 0 }..]);
    let early_reads = random.one_in(4);
    let prefetches = is_looped && random.one_in(4);
    let min_ctas_per_sm = if random.one_in(6) { random.up_to(3) } else { 0 };
    let unrolls = is_looped && !prefetches && random.one_in(2);
    // Steps are held of one loop, over a dim whose parts no other kernel has.
    let of_level = |name: &str| {
        spread
            .iter()
            .flatten()
            .filter(|factor| factor.level == name)
            .count()
    };
    let reduces_in_loop = spread
        .iter()
        .zip(dims)
        .any(|(factors, dim)| dim.is_reduced && factors.iter().any(|factor| factor.level == "loop"));
    let holds = reduces_in_loop && of_level("loop") == 1 && of_level("split") == 0 && random.one_in(4);
    Mapping {
        spread,
        keep,
        early_reads,
        prefetches,
        unroll_bytes: if unrolls { random.of(&UNROLLED_BYTES) } else { 0 },
        held_steps: if holds { random.up_to(3) } else { 0 },
        min_ctas_per_sm,
    }
}

/// The factors of a dim, out of the bits that are left.
fn factors(random: &mut Draw, dim: &Dim, left: &mut Left) -> Vec<Factor> {
    // At most twice the dim's extent: lanes and registers without elements are of interest, tiles without elements are not.
    let mut bits = dim.extent.map_or(6, |extent| {
        extent.max(1).unsigned_abs().next_power_of_two().ilog2() + u32::from(random.one_in(4))
    });
    let mut take = |random: &mut Draw, left: &mut u32| {
        let taken = random.0.below(u64::from(bits.min(*left)) + 1) as u32;
        bits -= taken;
        *left -= taken;
        1_i64 << taken
    };
    let vector = match random.one_in(2) {
        true => take(random, &mut left.registers).min(16),
        false => 1,
    };
    let lane = take(random, &mut left.lanes);
    let warp = take(random, &mut left.warps);
    let register = take(random, &mut left.registers);
    let cluster = take(random, &mut left.ctas);
    let sized = |level: &'static str, size: i64| {
        (size > 1).then_some(Factor {
            level,
            size: Some(size),
        })
    };
    let rest = |level: &'static str| Some(Factor { level, size: None });
    let mut inside: Vec<Option<Factor>> = vec![
        sized("cluster", cluster),
        sized("register", register),
        sized("warp", warp),
        sized("lane", lane),
    ];
    if random.one_in(3) {
        random.shuffle(&mut inside);
    }
    let tile = vector * lane * warp * register * cluster;
    let is_whole = dim.extent.is_some_and(|extent| extent <= tile);
    let few = random.up_to(5);
    let mut outside = match (dim.is_reduced, is_whole) {
        (_, true) if !random.one_in(8) => vec![],
        (true, _) => match random.below(5) {
            0 => vec![rest("loop"), sized("split", few)],
            1 => vec![rest("loop"), sized("split", 2 * few)],
            _ => vec![rest("loop")],
        },
        (false, _) => match random.below(6) {
            0 => vec![rest("loop")],
            1 => vec![rest("grid"), sized("loop", few)],
            2 => vec![rest("loop"), sized("grid", few)],
            _ => vec![rest("grid")],
        },
    };
    if dim.extent.is_some() && random.one_in(8) && !outside.is_empty() {
        // A loop or CTAs between the threads' factors spread a thread's registers further apart.
        let moved = outside.pop().flatten();
        inside.insert(random.below(inside.len() + 1), moved);
    }
    let vector = sized("vector", vector);
    outside
        .into_iter()
        .chain(inside)
        .chain([vector])
        .flatten()
        .collect()
}

/// The levels that dims are spread over, of which a schedule names each factor's.
pub const LEVELS: [&str; 8] = [
    "grid", "split", "cluster", "loop", "warp", "lane", "register", "vector",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dims_are_those_of_the_printed_kernel() {
        let module = "norm.kernel @f_0(%x: memref<?xf32>) space(%a = dim(%x, 0), %b = 7, %c = (dim(%x, 0)) ceildiv 2) align(4) {\n\
                      %1 = norm.reduce add %0 over(%b, %c) : f32\n";
        let Some(dims) = dims_of_the_kernel(module) else {
            unreachable!("there is one kernel")
        };
        let extents: Vec<Option<i64>> = dims.iter().map(|dim| dim.extent).collect();
        assert_eq!(extents, [None, Some(7), None]);
        let reduced: Vec<bool> = dims.iter().map(|dim| dim.is_reduced).collect();
        assert_eq!(reduced, [false, true, true]);
        assert_eq!(dims_of_the_kernel("norm.kernel @a norm.kernel @b"), None);
    }

    #[test]
    fn every_level_is_drawn() {
        let dims: Vec<Dim> = [(Some(33), true), (None, false), (Some(64), false)]
            .into_iter()
            .map(|(extent, is_reduced)| Dim {
                name: String::new(),
                extent,
                is_reduced,
            })
            .collect();
        let drawn: Vec<Mapping> = (0..200).map(|seed| over(&mut Draw::new(seed), &dims)).collect();
        for level in LEVELS {
            let has = |mapping: &&Mapping| {
                mapping
                    .spread
                    .iter()
                    .flatten()
                    .any(|factor| factor.level == level)
            };
            assert!(drawn.iter().filter(has).count() > 20, "{level}");
        }
    }
}
