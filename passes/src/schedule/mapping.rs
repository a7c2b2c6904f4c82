//! A `#norm.schedule` as data: factors of dims by level, places of reused reads, how the kernel is launched.

use std::fmt;

use melior::{
    Error,
    ir::{
        Attribute, Location,
        attribute::{ArrayAttribute, DenseI64ArrayAttribute},
    },
};
use norma_dialects::norm::{CachePlace, CopyMechanism, DimRole, HandOut, Level, ScheduleAttr};

use crate::{gl::hand_over, kernel::space::Access};

/// A factor of a dim, and the level of the machine that it is assigned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Factor {
    /// The level that takes it.
    pub level: Level,
    /// Its size; `None` for what the dim's other factors leave, rounded up.
    pub size: Option<i64>,
}

impl Factor {
    /// A factor of a known size.
    pub fn new(level: Level, size: i64) -> Self {
        Self {
            level,
            size: Some(size),
        }
    }

    /// The factor that takes what the others leave.
    pub fn rest(level: Level) -> Self {
        Self { level, size: None }
    }

    /// The role of the dim that the factor becomes; `None` for a split, which becomes a kernel of its own.
    pub fn role(self) -> Option<DimRole> {
        match self.level {
            Level::Grid => Some(DimRole::Grid),
            Level::Cluster => Some(DimRole::Cluster),
            Level::Loop => Some(DimRole::Loop),
            Level::Warp | Level::Lane => Some(DimRole::Thread),
            Level::Register | Level::Vector => Some(DimRole::Register),
            Level::Split => None,
        }
    }

    /// Whether it is part of the tile that the CTAs of a cluster hold at a time.
    pub fn is_in_tile(self) -> bool {
        matches!(
            self.role(),
            Some(DimRole::Cluster | DimRole::Thread | DimRole::Register)
        )
    }

    /// Whether it is part of the tile that a CTA holds at a time.
    pub fn is_in_cta(self) -> bool {
        self.is_in_tile() && self.level != Level::Cluster
    }
}

/// The points of a dim with these factors that a CTA holds at a time.
pub fn points_of_cta(factors: &[Factor]) -> i64 {
    let factors = factors.iter().filter(|factor| factor.is_in_cta());
    factors
        .filter_map(|factor| factor.size)
        .fold(1, i64::saturating_mul)
}

/// The parameters of a schedule; the attribute's documentation says what each means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// For each dim its factors, from the outermost to the innermost.
    pub spread: Vec<Vec<Factor>>,
    /// The place of each buffer's reused reads; one entry stands for all, none for registers.
    pub keep: Vec<CachePlace>,
    /// How tiles travel to shared memory.
    pub bring: CopyMechanism,
    /// Pipelining stages: those of a ring in shared memory, or, for tiles in registers, 2 if a loop loads the next step's tile
    /// ahead.
    pub stages: i64,
    /// Bytes of loads that a thread issues together in loops over memory, which are unrolled for it; 0 for those of one step.
    pub unroll_bytes: i64,
    /// Steps of the loop over a row whose tiles stay in registers until the row is needed again, from the first one on.
    pub held_steps: i64,
    /// Warps that only copy.
    pub producer_warps: i64,
    /// Registers that each thread of the producer warps keeps, while the others are handed to consumers; 0 for an equal share.
    pub producer_registers: i64,
    /// Groups of warps that take the steps of the loop in turns, each as large as the tile asks for.
    pub consumer_groups: i64,
    /// How CTAs get their tiles: each a fixed share, or drawn from a counter.
    pub hand_out: HandOut,
    /// Programmatic dependent launch.
    pub dependent_launch: bool,
    /// Whether all reads are issued before the first reduction.
    pub early_reads: bool,
    /// Levels, from the outermost to the innermost, at which a reduction is combined together with the one that it waits for, where
    /// partial results of both can be combined (as in online softmax).
    pub merge_reductions: Vec<Level>,
    /// CTAs that an SM should hold, 0 for no bound.
    pub min_ctas_per_sm: i64,
    /// The dim along which tiles begin where vectors are aligned.
    pub aligned_dim: Option<usize>,
}

impl Mapping {
    /// A mapping with nothing but factors: reused reads stay in registers.
    pub fn new(spread: Vec<Vec<Factor>>) -> Self {
        Self {
            spread,
            keep: Vec::new(),
            bring: CopyMechanism::Load,
            stages: 1,
            unroll_bytes: 0,
            held_steps: 0,
            producer_warps: 0,
            producer_registers: 0,
            consumer_groups: 1,
            hand_out: HandOut::Static,
            dependent_launch: false,
            early_reads: false,
            merge_reductions: Vec::new(),
            min_ctas_per_sm: 0,
            aligned_dim: None,
        }
    }

    /// Reads a mapping off the attribute.
    ///
    /// # Errors
    ///
    /// The attribute is not one that its verifier accepts.
    pub fn of(schedule: ScheduleAttr<'_>) -> Result<Self, Error> {
        Ok(Self {
            spread: factors(schedule.spread())?,
            keep: cases("place", schedule.keep(), CachePlace::from_u32)?,
            bring: schedule.bring()?,
            stages: schedule.stages(),
            unroll_bytes: schedule.unroll_bytes(),
            held_steps: schedule.held_steps(),
            producer_warps: schedule.producer_warps(),
            producer_registers: schedule.producer_registers(),
            consumer_groups: schedule.consumer_groups(),
            hand_out: schedule.hand_out()?,
            dependent_launch: schedule.dependent_launch(),
            early_reads: schedule.early_reads(),
            merge_reductions: cases("level", schedule.merge_reductions(), Level::from_u32)?,
            min_ctas_per_sm: schedule.min_ctas_per_sm(),
            aligned_dim: usize::try_from(schedule.aligned_dim()).ok(),
        })
    }

    /// The attribute; `None` where its verifier refuses, with the reason emitted at `location`.
    pub fn attribute<'c>(&self, location: Location<'c>) -> Option<ScheduleAttr<'c>> {
        let context = crate::mlir::context::of(location);
        let dims = self
            .spread
            .iter()
            .map(|dim| {
                let pairs = dim
                    .iter()
                    .flat_map(|factor| [factor.level as i64, factor.size.unwrap_or(0)])
                    .collect::<Vec<_>>();
                DenseI64ArrayAttribute::new(context, &pairs).into()
            })
            .collect::<Vec<Attribute<'c>>>();
        let places = self.keep.iter().map(|place| *place as i64).collect::<Vec<_>>();
        let merged = self.merge_reductions.iter().map(|level| *level as i64);
        let merged = merged.collect::<Vec<_>>();
        ScheduleAttr::get_checked(
            location,
            ArrayAttribute::new(context, &dims).into(),
            &places,
            self.bring,
            self.stages,
            self.unroll_bytes,
            self.held_steps,
            self.producer_warps,
            self.producer_registers,
            self.consumer_groups,
            self.hand_out,
            self.dependent_launch,
            self.early_reads,
            &merged,
            self.min_ctas_per_sm,
            self.aligned_dim.map_or(-1, |dim| dim as i64),
        )
    }

    /// Where the reused reads of a buffer live.
    pub fn place(&self, buffer: usize) -> CachePlace {
        match self.keep[..] {
            [] => CachePlace::Register,
            [all] => all,
            _ => self.keep.get(buffer).copied().unwrap_or(CachePlace::None),
        }
    }

    /// Whether the results in `buffer` go to memory through shared memory, which is so if `keep` gives this buffer a place of its
    /// own.
    pub fn sends(&self, buffer: usize) -> bool {
        self.keep.len() > 1 && self.place(buffer) == CachePlace::Shared
    }

    /// Whether the tiles that are read from a buffer, or written to it, go through shared memory.
    fn copies(&self, buffer: usize, is_write: bool) -> bool {
        match is_write {
            true => self.sends(buffer),
            false => self.place(buffer) == CachePlace::Shared,
        }
    }

    /// Whether the tiles of an access go through shared memory. A read that varies over no dim has none.
    pub fn copies_tiles_of(&self, access: &Access<'_, '_>) -> bool {
        self.copies(access.buffer, access.is_write) && (access.is_write || !access.dims().is_empty())
    }

    /// Whether the tiles that are read from a buffer, or written to it, go through shared memory as one run of memory each.
    pub fn takes_runs(&self, buffer: usize, is_write: bool) -> bool {
        self.copies(buffer, is_write) && self.bring == CopyMechanism::Load
    }

    /// Whether reductions are merged at `level` with those that they wait for.
    pub fn merges_at(&self, level: Level) -> bool {
        self.merge_reductions.contains(&level)
    }

    /// The product of all factors of a level; those without a size count as 1.
    pub fn extent(&self, level: Level) -> i64 {
        self.spread
            .iter()
            .flatten()
            .filter(|factor| factor.level == level)
            .filter_map(|factor| factor.size)
            .fold(1, i64::saturating_mul)
    }

    /// Whether loops load the tiles of their next step ahead, to registers.
    pub fn prefetches(&self) -> bool {
        self.bring == CopyMechanism::Load && self.stages > 1
    }

    /// Keeps those dims that are left of a kernel, given in their order. Without a loop there is no next step to load ahead,
    /// nothing to unroll or to hold and nothing to take in turns: `stages` and `consumer_groups` become 1, `unroll_bytes` and
    /// `held_steps` 0.
    pub fn keep_dims(&mut self, left: &[usize]) {
        let spread = left.iter().filter_map(|dim| self.spread.get(*dim).cloned());
        self.spread = spread.collect();
        let position = |aligned: usize| left.iter().position(|dim| *dim == aligned);
        self.aligned_dim = self.aligned_dim.and_then(position);
        if self.looped_dims() == 0 {
            self.unroll_bytes = 0;
            self.held_steps = 0;
            self.consumer_groups = 1;
            if self.prefetches() {
                self.stages = 1;
            }
        }
    }

    /// Whether each step of a loop takes one point of the dim that it walks.
    pub fn takes_single_steps(&self) -> bool {
        let mut factors = self.looped().flatten();
        factors.all(|factor| matches!(factor.level, Level::Loop | Level::Split))
    }

    /// How many dims pass in a loop.
    pub fn looped_dims(&self) -> usize {
        self.looped().count()
    }

    /// The factors of the dims that pass in a loop.
    fn looped(&self) -> impl Iterator<Item = &Vec<Factor>> {
        let is_looped = |dim: &&Vec<Factor>| dim.iter().any(|factor| factor.level == Level::Loop);
        self.spread.iter().filter(is_looped)
    }

    /// How many dims are split.
    pub fn split_dims(&self) -> usize {
        let is_split = |dim: &&Vec<Factor>| dim.iter().any(|factor| factor.level == Level::Split);
        self.spread.iter().filter(is_split).count()
    }

    /// Threads of a CTA that hold parts of the tile: at least one warp.
    pub fn threads(&self) -> i64 {
        self.extent(Level::Warp).saturating_mul(norma_targets::WARP_SIZE)
    }

    /// Warps of a CTA that compute: those of all groups that take steps in turns.
    pub fn consumer_warps(&self) -> i64 {
        self.extent(Level::Warp).saturating_mul(self.consumer_groups)
    }

    /// Warps of a CTA, with those that only copy.
    pub fn all_warps(&self) -> i64 {
        self.consumer_warps().saturating_add(self.producer_warps)
    }

    /// The most CTAs that an SM is meant to hold at a time; those beyond follow once others have ended.
    pub fn most_ctas_per_sm(&self) -> u64 {
        match self.min_ctas_per_sm {
            0 => u64::MAX,
            ctas => ctas.unsigned_abs(),
        }
    }

    /// The registers of each thread when the kernel starts, where some are handed over then; `None` where none are.
    pub fn start_registers(&self) -> Option<i64> {
        (self.producer_registers > 0).then(|| hand_over::at_start(self.all_warps(), self.min_ctas_per_sm))
    }

    /// CTAs of a cluster.
    pub fn ctas_per_cluster(&self) -> i64 {
        self.extent(Level::Cluster)
    }

    /// The elements of one access along a dim.
    pub fn vector(&self, dim: usize) -> i64 {
        let innermost = self.spread.get(dim).and_then(|factors| factors.last());
        innermost
            .filter(|factor| factor.level == Level::Vector)
            .and_then(|factor| factor.size)
            .unwrap_or(1)
    }

    /// Elements of the tile that one thread holds.
    pub fn registers(&self) -> i64 {
        self.extent(Level::Register)
            .saturating_mul(self.extent(Level::Vector))
    }

    /// Elements of the tile that one thread holds, with those of the tiles of the held steps.
    pub fn registers_with_held_steps(&self) -> i64 {
        self.registers().saturating_mul(self.held_steps.saturating_add(1))
    }
}

/// The cases of an enum that numbers stand for.
fn cases<T>(what: &'static str, numbers: &[i64], from_u32: fn(u32) -> Option<T>) -> Result<Vec<T>, Error> {
    numbers
        .iter()
        .map(|number| case(what, *number, from_u32))
        .collect()
}

fn case<T>(what: &'static str, number: i64, from_u32: fn(u32) -> Option<T>) -> Result<T, Error> {
    let known = u32::try_from(number).ok().and_then(from_u32);
    known.ok_or_else(|| Error::AttributeExpected(what, number.to_string()))
}

/// The factors of each dim, from pairs of level and size.
fn factors(spread: Attribute<'_>) -> Result<Vec<Vec<Factor>>, Error> {
    let dims = ArrayAttribute::try_from(spread)?;
    let dim = |index| {
        let pairs = DenseI64ArrayAttribute::try_from(dims.element(index)?)?;
        let factor = |position| {
            let size = pairs.element(2 * position + 1)?;
            Ok(Factor {
                level: case("level", pairs.element(2 * position)?, Level::from_u32)?,
                size: (size > 0).then_some(size),
            })
        };
        (0..pairs.len() / 2).map(factor).collect()
    };
    (0..dims.len()).map(dim).collect()
}

impl fmt::Display for Factor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            Some(size) => write!(formatter, "{}({size})", self.level.keyword()),
            None => formatter.write_str(self.level.keyword()),
        }
    }
}

/// Prints the spread, and those parameters that are not at their defaults, so that different mappings print differently.
impl fmt::Display for Mapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dim = |factors: &Vec<Factor>| {
            let factors = factors.iter().map(Factor::to_string).collect::<Vec<_>>();
            format!("[{}]", factors.join(", "))
        };
        write!(
            formatter,
            "[{}]",
            self.spread.iter().map(dim).collect::<Vec<_>>().join(", ")
        )?;
        if !self.keep.is_empty() {
            let places = self.keep.iter().map(|place| place.keyword()).collect::<Vec<_>>();
            write!(formatter, " keep [{}]", places.join(", "))?;
        }
        if !self.merge_reductions.is_empty() {
            let levels = self.merge_reductions.iter().map(|level| level.keyword());
            let levels = levels.collect::<Vec<_>>();
            write!(formatter, " merge_reductions [{}]", levels.join(", "))?;
        }
        if self.bring != CopyMechanism::Load {
            write!(
                formatter,
                " bring {} stages {} producer_warps {}",
                self.bring.keyword(),
                self.stages,
                self.producer_warps
            )?;
        }
        if self.producer_registers != 0 {
            write!(formatter, " producer_registers {}", self.producer_registers)?;
        }
        if self.consumer_groups != 1 {
            write!(formatter, " consumer_groups {}", self.consumer_groups)?;
        }
        if self.prefetches() {
            write!(formatter, " stages {}", self.stages)?;
        }
        if self.unroll_bytes != 0 {
            write!(formatter, " unroll_bytes {}", self.unroll_bytes)?;
        }
        if self.held_steps != 0 {
            write!(formatter, " held_steps {}", self.held_steps)?;
        }
        if self.hand_out != HandOut::default() {
            write!(formatter, " hand_out {}", self.hand_out.keyword())?;
        }
        if self.dependent_launch {
            formatter.write_str(" dependent_launch")?;
        }
        if self.early_reads {
            formatter.write_str(" early_reads")?;
        }
        if self.min_ctas_per_sm != 0 {
            write!(formatter, " min_ctas_per_sm {}", self.min_ctas_per_sm)?;
        }
        if let Some(dim) = self.aligned_dim {
            write!(formatter, " aligned_dim {dim}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use melior::Context;

    use super::*;

    #[test]
    fn mappings_that_differ_print_differently() {
        let plain = || {
            Mapping::new(vec![
                vec![Factor::rest(Level::Grid)],
                vec![Factor::new(Level::Lane, 32)],
            ])
        };
        let mut all = vec![plain(); 15];
        all[1].spread[1].push(Factor::new(Level::Vector, 4));
        all[2].keep = vec![CachePlace::L1];
        all[3].bring = CopyMechanism::Bulk;
        all[4].stages = 2;
        all[5].hand_out = HandOut::Dynamic;
        all[6].dependent_launch = true;
        all[7].early_reads = true;
        all[8].merge_reductions = vec![Level::Lane];
        all[9].min_ctas_per_sm = 4;
        all[10].aligned_dim = Some(1);
        all[11].unroll_bytes = 64;
        all[12].producer_registers = 24;
        all[13].consumer_groups = 2;
        all[14].held_steps = 2;
        for (index, mapping) in all.iter().enumerate() {
            let text = mapping.to_string();
            let same = all.iter().position(|other| other.to_string() == text);
            assert_eq!(same, Some(index), "{text}");
        }
    }

    #[test]
    fn a_number_without_a_case_is_an_error() {
        let places = |numbers: &[i64]| cases("place", numbers, CachePlace::from_u32);
        let known = [CachePlace::Shared as i64, CachePlace::L2 as i64];
        assert_eq!(places(&known), Ok(vec![CachePlace::Shared, CachePlace::L2]));
        assert!(places(&[known[0], 9, known[1]]).is_err());
        assert!(places(&[-1]).is_err());
    }

    #[test]
    fn a_spread_of_an_unknown_level_is_an_error() {
        let context = Context::new();
        let spread = |pairs: &[i64]| {
            let dim = DenseI64ArrayAttribute::new(&context, pairs).into();
            factors(ArrayAttribute::new(&context, &[dim]).into())
        };
        let lanes = [Level::Lane as i64, 32];
        assert_eq!(spread(&lanes), Ok(vec![vec![Factor::new(Level::Lane, 32)]]));
        assert!(spread(&[99, 32]).is_err());
    }
}
