//! Partial results that the warps of a CTA, its groups of consumers, and the CTAs of a cluster exchange through shared memory, and the
//! mappings that leave room for them.
//!
//! Where warps share what is reduced or scanned, each warp leaves a partial result for each point of the tile that is kept, and each thread
//! loads those of all warps for its own points (`gl-expand-reductions`). A scan leaves one for each of a thread's registers whose points
//! are further apart than those of warps too, as what such a register holds continues what all warps hold in the one before. In a loop two
//! steps have memory of their own.

use norma_dialects::{
    MOST_REGISTERS,
    norm::{CachePlace, Level},
};
use norma_targets::Target;

use super::{
    facts::{Facts, Reduction, Scan},
    mapping::{Factor, Mapping, points_of_cta},
    plan::UNROLLED_ELEMENTS,
    rows_in_shared_memory,
};

/// What the warps of a CTA, or the CTAs of a cluster, exchange for one reduction or scan.
pub(super) struct Exchange {
    /// Bytes of shared memory.
    bytes: u64,
    /// Partial results that a thread loads for each point that it keeps; none where one warp has all.
    pub(super) partials: u64,
    /// Points that a thread keeps.
    pub(super) kept: u64,
    /// Whether a loop repeats it.
    is_repeated: bool,
}

impl Exchange {
    /// Partial results that a thread loads.
    fn of_thread(&self) -> u64 {
        self.kept * self.partials
    }
}

/// Whether a CTA has shared memory, and each thread registers, for the partial results of a mapping. Reductions that wait for each other
/// share memory, but for those that a loop repeats, whose memory is live throughout the loop. Others need theirs at once, as do all those that
/// cross the CTAs of a cluster, and the sums that groups of consumers hand over. What is allocated in a partition is live as long as all
/// partitions, so that there the loop over whole steps and the one over the last steps share nothing either, nor do groups.
pub fn fit(facts: &Facts, mapping: &Mapping, target: &Target) -> bool {
    let mut depths = Vec::<usize>::new();
    let mut by_depth = Vec::new();
    let (mut of_clusters, mut of_loops) = (0, 0);
    for reduction in &facts.reductions {
        let before = reduction.waits_for.iter().filter_map(|other| depths.get(*other));
        let depth = before.max().map_or(0, |depth| depth + 1);
        depths.push(depth);
        by_depth.resize(by_depth.len().max(depth + 1), 0);
        let exchange = of_reduction(reduction, mapping);
        if exchange.of_thread() > MOST_REGISTERS as u64 {
            return false;
        }
        match exchange.is_repeated {
            true => of_loops += exchange.bytes,
            false => by_depth[depth] += exchange.bytes,
        }
        let exchange = between_ctas(reduction, mapping);
        if exchange.of_thread() > MOST_REGISTERS as u64 {
            return false;
        }
        of_clusters += exchange.bytes;
    }
    if mapping.producer_warps > 0 {
        of_loops *= 2 * mapping.consumer_groups.unsigned_abs();
    }
    let scans = facts.scans.iter().map(|scan| of_scan(scan, mapping));
    let scans = scans.collect::<Vec<_>>();
    let tiles = rows_in_shared_memory::bytes(facts, mapping) * mapping.stages.max(1).unsigned_abs();
    let largest = by_depth
        .into_iter()
        .chain(scans.iter().map(|scan| scan.bytes))
        .chain([of_loops])
        .max();
    // All of them are unrolled, and combined in order.
    let is_short = scans
        .iter()
        .all(|scan| scan.of_thread() <= UNROLLED_ELEMENTS.unsigned_abs());
    let taken = tiles + of_clusters + between_groups(facts, mapping) + largest.unwrap_or(0);
    is_short && taken <= u64::from(target.shared_per_cta)
}

/// Bytes of shared memory through which groups of consumers hand the sums of their steps to the first group: what each thread has of a
/// sum, before the lanes and warps that share a point add up theirs. None for a single group.
pub(super) fn between_groups(facts: &Facts, mapping: &Mapping) -> u64 {
    let handed = facts.reductions.iter().filter_map(|reduction| {
        let dims = || mapping.spread.iter().zip(&reduction.over);
        let accumulates = dims().any(|(factors, over)| *over && is_looped(factors));
        let kept = dims().filter(|(_, over)| !**over);
        let kept = kept.map(|(factors, _)| points_of_cta(factors).unsigned_abs());
        let sharing = product(dims(), true, Level::Warp) * product(dims(), true, Level::Lane);
        accumulates.then(|| kept.product::<u64>() * sharing * reduction.bytes)
    });
    (mapping.consumer_groups - 1).unsigned_abs() * handed.sum::<u64>()
}

/// Whether the CTAs of a mapping take shared memory: for tiles, or for what warps or the CTAs of a cluster exchange. A tile that is
/// accessed by other lanes than those that hold it may go through shared memory besides.
pub fn takes_shared_memory(facts: &Facts, mapping: &Mapping) -> bool {
    let has_warps = |over: &Vec<bool>| product(mapping.spread.iter().zip(over), true, Level::Warp) > 1;
    let reduced = facts.reductions.iter().map(|reduction| &reduction.over);
    let scanned = facts.scans.iter().map(|scan| &scan.over);
    mapping.keep.contains(&CachePlace::Shared)
        || mapping.ctas_per_cluster() > 1
        || reduced.chain(scanned).any(has_warps)
}

/// What warps exchange for a reduction.
pub(super) fn of_reduction(reduction: &Reduction, mapping: &Mapping) -> Exchange {
    of_level(reduction, Level::Warp, mapping)
}

/// What the CTAs of a cluster exchange for a reduction.
fn between_ctas(reduction: &Reduction, mapping: &Mapping) -> Exchange {
    of_level(reduction, Level::Cluster, mapping)
}

fn of_level(reduction: &Reduction, level: Level, mapping: &Mapping) -> Exchange {
    let dims = mapping.spread.iter().zip(&reduction.over);
    let is_repeated = dims.clone().any(|(factors, over)| !over && is_looped(factors));
    let partials = product(dims.clone(), true, level);
    // What warps exchange before the CTAs of a cluster do has room for the points of all these CTAs.
    let parts = match level {
        Level::Warp => product(dims, true, Level::Cluster),
        _ => 1,
    };
    let bytes = parts * reduction.bytes;
    exchange(&reduction.over, partials, bytes, is_repeated, mapping)
}

/// What warps exchange for a scan.
pub(super) fn of_scan(scan: &Scan, mapping: &Mapping) -> Exchange {
    let dims = mapping.spread.iter().zip(&scan.over);
    let along = dims.filter(|(_, over)| **over);
    let partials = along.map(|(factors, _)| partials_along(factors)).product();
    exchange(
        &scan.over,
        partials,
        scan.bytes,
        mapping.looped_dims() > 0,
        mapping,
    )
}

/// Partial results of a scan along a dim: one for each warp, and for each register outside of the warps.
fn partials_along(factors: &[Factor]) -> u64 {
    let innermost = factors.iter().rposition(|factor| factor.level == Level::Warp);
    let outer = &factors[..innermost.map_or(0, |position| position + 1)];
    let outer = outer
        .iter()
        .filter(|factor| matches!(factor.level, Level::Warp | Level::Register));
    outer
        .filter_map(|factor| factor.size)
        .map(i64::unsigned_abs)
        .product()
}

/// The exchange of `partials` results for each point that is kept.
fn exchange(over: &[bool], partials: u64, bytes: u64, is_repeated: bool, mapping: &Mapping) -> Exchange {
    let dims = mapping.spread.iter().zip(over);
    let kept_by_thread =
        product(dims.clone(), false, Level::Register) * product(dims.clone(), false, Level::Vector);
    if partials <= 1 {
        return Exchange {
            bytes: 0,
            partials: 0,
            kept: kept_by_thread,
            is_repeated,
        };
    }
    let kept = dims.filter(|(_, over)| !**over);
    let kept = kept.map(|(factors, _)| points_of_cta(factors).unsigned_abs());
    let times = if is_repeated { 2 } else { 1 };
    Exchange {
        bytes: times * kept.product::<u64>() * partials * bytes,
        partials,
        kept: kept_by_thread,
        is_repeated,
    }
}

/// Whether a dim passes in a loop.
fn is_looped(factors: &[Factor]) -> bool {
    factors.iter().any(|factor| factor.level == Level::Loop)
}

/// The product of the factors of a level, of the dims that are reduced or of those that are kept.
fn product<'m>(dims: impl Iterator<Item = (&'m Vec<Factor>, &'m bool)>, reduced: bool, level: Level) -> u64 {
    let factors = dims
        .filter(|(_, over)| **over == reduced)
        .flat_map(|(factors, _)| factors);
    let sizes = factors
        .filter(|factor| factor.level == level)
        .filter_map(|factor| factor.size);
    sizes.map(|size| size.unsigned_abs()).product()
}

#[cfg(test)]
mod tests {
    use norma_dialects::norm::Level;
    use norma_targets::{SM_90A, Target};

    use super::fit;
    use crate::{
        kernel::first_kernel::in_first_kernel,
        schedule::{
            facts::Facts,
            mapping::{Factor, Mapping},
        },
    };

    /// Whether the sums of columns, or their running sums, fit under a mapping whose registers lie outside of the warps along the rows.
    fn fits(op: &str, ty: &str, [registers, warps, lanes]: [i64; 3], columns: i64, target: &Target) -> bool {
        let rows = [
            Factor::rest(Level::Loop),
            Factor::new(Level::Register, registers),
            Factor::new(Level::Warp, warps),
        ];
        fits_along(op, ty, &rows, lanes, columns, target)
    }

    /// Whether they fit under a mapping with these factors along the rows, and so many lanes along the columns.
    fn fits_along(op: &str, ty: &str, rows: &[Factor], lanes: i64, columns: i64, target: &Target) -> bool {
        let (kept, at) = match op.starts_with("norm.scan") {
            true => (format!("memref<?x{columns}x{ty}>"), "%m, %n"),
            false => (format!("memref<{columns}x{ty}>"), "%n"),
        };
        let text = format!(
            "norm.kernel @k(%x: memref<?x{columns}x{ty}>, %y: {kept}) space(%m = dim(%x, 0), %n = {columns}) {{
               %0 = norm.read %x[%m, %n] : memref<?x{columns}x{ty}>
               %1 = {op} : {ty}
               norm.write %1, %y[{at}] : {kept}
             }}"
        );
        let along = [
            Factor::rest(Level::Grid),
            Factor::new(Level::Register, columns / lanes),
            Factor::new(Level::Lane, lanes),
        ];
        let mapping = Mapping::new(vec![rows.to_vec(), along.to_vec()]);
        in_first_kernel(&text, |space| {
            Some(fit(&Facts::of(space).ok()?, &mapping, target))
        })
        .unwrap()
    }

    #[test]
    fn partial_sums_of_all_warps_fit_in_shared_memory() {
        let sum = "norm.reduce add %0 over(%m)";
        // 32 warps leave 4 bytes for each of 512 columns.
        let small = Target::parse("sm_89").unwrap();
        assert!(fits(sum, "f32", [1, 32, 32], 512, small));
        assert!(!fits(sum, "f32", [1, 32, 32], 1024, small));
        assert!(fits(sum, "f32", [1, 32, 32], 1024, &SM_90A));
    }

    /// Whether variances of 16 rows fit under a mapping with eight warps along the rows, and tiles of 1024 columns at `level`.
    fn variances_fit(level: Level, ctas: i64, target: &Target) -> bool {
        let text = "norm.kernel @k(%x: memref<16x?xf32>, %y: memref<?xf32>) space(%m = 16, %n = dim(%x, 1)) {
               %0 = norm.read %x[%m, %n] : memref<16x?xf32>
               %1 = norm.reduce add %0 over(%m) : f32
               %2 = arith.subf %0, %1 : f32
               %3 = arith.mulf %2, %2 : f32
               %4 = norm.reduce add %3 over(%m) : f32
               norm.write %4, %y[%n] : memref<?xf32>
             }";
        let rows = [
            Factor::new(Level::Register, 2),
            Factor::new(Level::Cluster, ctas),
            Factor::new(Level::Warp, 8),
        ];
        let columns = [
            Factor::rest(level),
            Factor::new(Level::Warp, 4),
            Factor::new(Level::Lane, 32),
            Factor::new(Level::Vector, 8),
        ];
        let rows = rows.into_iter().filter(|factor| factor.size != Some(1));
        let mapping = Mapping::new(vec![rows.collect(), columns.to_vec()]);
        in_first_kernel(text, |space| Some(fit(&Facts::of(space).ok()?, &mapping, target))).unwrap()
    }

    #[test]
    fn exchanges_of_a_loop_share_no_memory() {
        let small = Target::parse("sm_89").unwrap();
        assert!(variances_fit(Level::Grid, 1, small));
        // Each of the two takes 64 KB, for two steps.
        assert!(!variances_fit(Level::Loop, 1, small));
        assert!(variances_fit(Level::Loop, 1, &SM_90A));
    }

    #[test]
    fn warps_of_a_cluster_have_room_for_the_points_of_all_its_ctas() {
        // Eight warps of eight CTAs leave 256 KB for 1024 columns.
        assert!(variances_fit(Level::Grid, 4, &SM_90A));
        assert!(!variances_fit(Level::Grid, 8, &SM_90A));
    }

    #[test]
    fn scans_leave_partial_sums_of_registers_too_and_those_of_two_steps() {
        let scan = "norm.scan add %0 along(%m)";
        assert!(fits(scan, "f32", [8, 32, 32], 32, &SM_90A));
        let small = Target::parse("sm_89").unwrap();
        assert!(fits(scan, "f64", [4, 16, 32], 64, small));
        assert!(!fits(scan, "f64", [8, 16, 32], 64, small));
        // A thread would load 32 columns of 2 by 32 partial sums.
        assert!(!fits(scan, "f32", [2, 32, 4], 128, &SM_90A));
        // Within warps registers leave none.
        let warps_outside = [
            Factor::rest(Level::Loop),
            Factor::new(Level::Warp, 16),
            Factor::new(Level::Register, 8),
        ];
        assert!(fits_along(scan, "f64", &warps_outside, 32, 64, small));
    }
}
