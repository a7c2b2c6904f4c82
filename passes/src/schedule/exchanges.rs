//! Partial results that the warps of a CTA exchange through shared memory, and the mappings that leave room for them.
//!
//! Where warps share what is reduced or scanned, each warp leaves a partial result for each point of the tile that is kept, and each thread
//! loads those of all warps for its own points (`gl-expand-reductions`). A scan leaves one for each of a thread's registers along it too,
//! as what a register holds continues what all lanes hold in the one before. In a loop two steps have memory of their own.

use melior::ir::{Value, ValueLike};
use norma_dialects::{
    MOST_REGISTERS,
    norm::{CachePlace, Level, ScanOp},
};
use norma_targets::Target;

use super::{
    facts::{Facts, Reduction},
    mapping::{Factor, Mapping, points_of_cta},
    plan::UNROLLED_ELEMENTS,
    rows_in_shared_memory,
};
use crate::{kernel::space::Space, mlir::types};

/// What the warps of a CTA exchange for one reduction or scan.
struct Exchange {
    /// Bytes of shared memory.
    bytes: u64,
    /// Partial results that a thread loads.
    of_thread: u64,
}

/// Whether a CTA has shared memory, and each thread registers, for the partial results of a mapping. Reductions that wait for each other
/// share memory, and others need theirs at once.
pub fn fit(space: &Space<'_, '_>, facts: &Facts, mapping: &Mapping, target: &Target) -> bool {
    let mut depths = Vec::<usize>::new();
    let mut by_depth = Vec::new();
    for reduction in &facts.reductions {
        let before = reduction.waits_for.iter().filter_map(|other| depths.get(*other));
        let depth = before.max().map_or(0, |depth| depth + 1);
        depths.push(depth);
        by_depth.resize(by_depth.len().max(depth + 1), 0);
        let exchange = of_reduction(reduction, mapping);
        if exchange.of_thread > MOST_REGISTERS as u64 {
            return false;
        }
        by_depth[depth] += exchange.bytes;
    }
    let scans = space.scans().into_iter().filter_map(|scan| {
        let result: Value<'_, '_> = scan.op().result(0).ok()?.into();
        let bytes = types::element_bytes(result.r#type()).unwrap_or(0).unsigned_abs();
        Some(of_scan(&scanned(space, scan), bytes, mapping))
    });
    let scans = scans.collect::<Vec<_>>();
    let tiles = rows_in_shared_memory::bytes(facts, mapping) * mapping.stages.max(1).unsigned_abs();
    let largest = by_depth
        .into_iter()
        .chain(scans.iter().map(|scan| scan.bytes))
        .max();
    // All of them are unrolled, and combined in order.
    let is_short = scans
        .iter()
        .all(|scan| scan.of_thread <= UNROLLED_ELEMENTS.unsigned_abs());
    is_short && tiles + largest.unwrap_or(0) <= u64::from(target.shared_per_cta)
}

/// Whether the CTAs of a mapping take shared memory: for tiles, or for what warps or the CTAs of a cluster exchange. A tile that is
/// accessed by other lanes than those that hold it may go through shared memory besides.
pub fn takes_shared_memory(space: &Space<'_, '_>, facts: &Facts, mapping: &Mapping) -> bool {
    let has_warps = |over: &[bool]| product(mapping.spread.iter().zip(over), true, Level::Warp) > 1;
    let mut scans = space.scans().into_iter();
    mapping.keep.contains(&CachePlace::Shared)
        || mapping.ctas_per_cluster() > 1
        || facts
            .reductions
            .iter()
            .any(|reduction| has_warps(&reduction.over))
        || scans.any(|scan| has_warps(&scanned(space, scan)))
}

/// By dim, whether a scan is along it.
fn scanned<'c: 'a, 'a>(space: &Space<'c, 'a>, scan: ScanOp<'c, 'a>) -> Vec<bool> {
    let along = space.dims_scanned_by(scan);
    (0..space.dims.len()).map(|dim| along.contains(&dim)).collect()
}

fn of_reduction(reduction: &Reduction, mapping: &Mapping) -> Exchange {
    let is_looped = |factors: &Vec<Factor>| factors.iter().any(|factor| factor.level == Level::Loop);
    let dims = mapping.spread.iter().zip(&reduction.over);
    let is_repeated = dims.clone().any(|(factors, over)| !over && is_looped(factors));
    let warps = product(dims, true, Level::Warp);
    exchange(&reduction.over, warps, reduction.bytes, is_repeated, mapping)
}

fn of_scan(over: &[bool], bytes: u64, mapping: &Mapping) -> Exchange {
    let dims = mapping.spread.iter().zip(over);
    let partials = product(dims.clone(), true, Level::Warp) * product(dims.clone(), true, Level::Register);
    let has_warps = product(dims, true, Level::Warp) > 1;
    let partials = if has_warps { partials } else { 1 };
    exchange(over, partials, bytes, mapping.looped_dims() > 0, mapping)
}

/// The exchange of `partials` results for each point that is kept; none where one warp has all.
fn exchange(over: &[bool], partials: u64, bytes: u64, is_repeated: bool, mapping: &Mapping) -> Exchange {
    if partials <= 1 {
        return Exchange {
            bytes: 0,
            of_thread: 0,
        };
    }
    let dims = mapping.spread.iter().zip(over);
    let kept = dims.clone().filter(|(_, over)| !**over);
    let kept = kept.map(|(factors, _)| points_of_cta(factors).unsigned_abs());
    let times = if is_repeated { 2 } else { 1 };
    let kept_by_thread = product(dims.clone(), false, Level::Register) * product(dims, false, Level::Vector);
    Exchange {
        bytes: times * kept.product::<u64>() * partials * bytes,
        of_thread: kept_by_thread * partials,
    }
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

    /// Whether the sums of columns, or their running sums, fit under a mapping whose warps and registers lie along the rows.
    fn fits(op: &str, ty: &str, [registers, warps, lanes]: [i64; 3], columns: i64, target: &Target) -> bool {
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
        let rows = [
            Factor::rest(Level::Loop),
            Factor::new(Level::Register, registers),
            Factor::new(Level::Warp, warps),
        ];
        let along = [
            Factor::rest(Level::Grid),
            Factor::new(Level::Register, columns / lanes),
            Factor::new(Level::Lane, lanes),
        ];
        let mapping = Mapping::new(vec![rows.to_vec(), along.to_vec()]);
        in_first_kernel(&text, |space| {
            Some(fit(space, &Facts::of(space).ok()?, &mapping, target))
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

    #[test]
    fn scans_leave_partial_sums_of_registers_too_and_those_of_two_steps() {
        let scan = "norm.scan add %0 along(%m)";
        assert!(fits(scan, "f32", [8, 32, 32], 32, &SM_90A));
        let small = Target::parse("sm_89").unwrap();
        assert!(fits(scan, "f64", [4, 16, 32], 64, small));
        assert!(!fits(scan, "f64", [8, 16, 32], 64, small));
        // A thread would load 32 columns of 2 by 32 partial sums.
        assert!(!fits(scan, "f32", [2, 32, 4], 128, &SM_90A));
    }
}
