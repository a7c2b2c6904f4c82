//! Reads the facts off a kernel.

use std::collections::{BTreeMap, BTreeSet};

use melior::{
    Error,
    ir::{AffineExpr, OperationRef, RegionLike, Value, ValueLike, operation::OperationLike},
};
use norma_dialects::norm::{ReduceOp, ScanOp};
use norma_targets::ACCESS_BYTES;

use super::{Access, Facts, Need, Reduction, Scan, vectors::widest};
use crate::{
    gcd::gcd,
    kernel::{
        homomorphism::{self, Dependence},
        positions::Positions,
        space::{self, DimSet, Space, is_write},
    },
    mlir::{types, walk},
    schedule::extents,
};

impl Facts {
    /// Reads the facts with the extent `open` for the first kept dim, or else reduced dim, of dynamic extent, and without
    /// what depends on the number of points of the dims `rows`.
    pub(super) fn read(space: &Space<'_, '_>, open: Option<u64>, rows: &[usize]) -> Result<Self, Error> {
        let program = Program::of(space);
        let reductions = program.reductions();
        let accesses = program.accesses(rows)?;
        let contributes = |row: &&usize| {
            let mut accesses = accesses.iter();
            accesses.any(|access| access.contributes && access.uses[**row])
        };
        let carrier = rows.iter().rev().find(contributes).or(rows.last());
        let dims = extents::dims(space, &reductions, &accesses, open, carrier.copied())?;
        let points = |op: &OperationRef<'_, '_>| {
            let operands = op
                .operands()
                .flat_map(|operand| space.dims_of(operand))
                .collect::<DimSet>();
            match operands.is_empty() {
                true => 0.0,
                false => operands.iter().map(|dim| dims[*dim].extent as f64).product(),
            }
        };
        let mut work = 0.0;
        for op in &space.ops {
            work += points(op) * ops_at_a_point(*op)?;
        }
        Ok(Self {
            dims,
            accesses,
            reductions,
            scans: program.scans()?,
            buffers: space.buffers.len(),
            work,
        })
    }
}

/// Whether a reduction ranges over a dim.
fn is_reduced(space: &Space<'_, '_>, dim: usize) -> bool {
    let mut reductions = space.reductions().into_iter();
    reductions.any(|reduce| space.dims_reduced_by(reduce).contains(&dim))
}

/// Whether a dim may be short enough for a CTA, or a cluster, to hold all of it, or is guarded with others.
fn may_be_held(space: &Space<'_, '_>, dim: usize) -> bool {
    let is_guarded = space
        .guards
        .iter()
        .any(|guard| guard.iter().any(|side| side.is_function_of_dim(dim)));
    let bound = space.extent_bounds(dim).bound();
    is_guarded || bound.is_some_and(|bound| bound <= MOST_HELD)
}

/// Ops that one op of a kernel stands for at each of its points: a reduction of tuples executes its combiner.
fn ops_at_a_point(op: OperationRef<'_, '_>) -> Result<f64, Error> {
    if ReduceOp::from_op(op).is_none_or(|reduce| reduce.kind().is_some()) {
        return Ok(1.0);
    }
    let combiner = op.region(0)?.first_block();
    let combiner = combiner.map(walk::in_block).unwrap_or_default();
    let of_values = combiner
        .iter()
        .filter(|op| op.operand_count() > 0 && op.next_in_block().is_some());
    Ok(of_values.count().max(1) as f64)
}

/// A kernel's program, with what is asked of it for each access and each reduction.
struct Program<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    /// The position of each reduction among the reductions, by its position in the body.
    numbers: BTreeMap<usize, usize>,
    /// The reductions and the writes, each with its operands; a reduction by its position among the reductions.
    roots: Vec<(Option<usize>, Vec<Value<'c, 'a>>)>,
    /// The positions of reads that contribute to a reduction.
    contributing: Positions,
    /// The positions of reads that are needed again behind a reduction.
    reused: BTreeSet<usize>,
    /// By dim, its extent if it is static and no guard leaves out any of its points.
    whole_extents: Vec<Option<i64>>,
    /// By dim, a number that divides its extent and what guards leave of it, or, where it passes in loops, a whole step of these.
    vectorized: Vec<i64>,
}

/// The most points of a reduced dim that a cluster of 16 CTAs holds, 128 in each of 1024 threads.
const MOST_HELD: i64 = 16 * 1024 * 128;

impl<'s, 'c, 'a> Program<'s, 'c, 'a> {
    fn of(space: &'s Space<'c, 'a>) -> Self {
        let is_reduction = |op: OperationRef<'c, 'a>| ReduceOp::from_op(op).is_some();
        let numbers = (0..space.ops.len())
            .filter(|position| is_reduction(space.ops[*position]))
            .enumerate()
            .map(|(number, position)| (position, number))
            .collect::<BTreeMap<_, _>>();
        let ops = space.ops.iter().enumerate();
        let roots = ops
            .filter(|(_, op)| is_reduction(**op) || is_write(**op))
            .map(|(position, op)| (numbers.get(&position).copied(), op.operands().collect()))
            .collect();
        let multiples = (0..space.dims.len())
            .map(|dim| space.run_multiple(dim))
            .collect::<Vec<_>>();
        // A dim that is reduced passes in loops, unless it is held, and loops access whole steps by vectors: only the last step is guarded.
        let is_looped = |dim: usize| is_reduced(space, dim) && !may_be_held(space, dim);
        let vectorized = multiples.iter().enumerate();
        let vectorized = vectorized
            .map(|(dim, multiple)| if is_looped(dim) { ACCESS_BYTES } else { *multiple })
            .collect();
        let is_whole = |dim: usize, extent: &i64| *extent > 0 && multiples[dim] % extent == 0;
        let extents = space.extents.iter().map(static_extent).enumerate();
        let whole_extents = extents
            .map(|(dim, extent)| extent.filter(|extent| is_whole(dim, extent)))
            .collect();
        Self {
            space,
            numbers,
            roots,
            contributing: space.contributing_reads(),
            reused: space.reused_reads(),
            whole_extents,
            vectorized,
        }
    }

    /// By dim, whether a set contains it.
    fn by_dim(&self, dims: &DimSet) -> Vec<bool> {
        (0..self.space.dims.len())
            .map(|dim| dims.contains(&dim))
            .collect()
    }

    /// The reductions that have to be complete before values can be computed, without those that others of them wait for.
    fn waits_for(&self, values: &[Value<'c, 'a>]) -> BTreeSet<usize> {
        let mut waits = BTreeSet::new();
        for value in values {
            let positions = self.space.waits_for_last(*value);
            waits.extend(
                positions
                    .iter()
                    .filter_map(|position| self.numbers.get(&position)),
            );
        }
        waits
    }

    fn reductions(&self) -> Vec<Reduction> {
        let space = self.space;
        let groups = homomorphism::groups(space);
        let followed_by = |reduction: usize| {
            let of_group = |group: &homomorphism::Group<'_, '_>| {
                let mut followers = group.followers.iter();
                let is_this = |position: usize| self.numbers.get(&position) == Some(&reduction);
                let follower = followers.find(|follower| is_this(follower.position))?;
                Some((*self.numbers.get(&group.lead)?, follower.dependence))
            };
            groups.iter().find_map(of_group)
        };
        let reductions = space.reductions().into_iter().enumerate();
        let reduction = |(number, reduce): (usize, ReduceOp<'c, 'a>)| {
            let results = reduce.results();
            let kept = results.first().map(|result| space.dims_of(*result));
            let values = reduce.values();
            let element_bytes =
                |value: &Value<'_, '_>| types::element_bytes(value.r#type()).unwrap_or(8) as u64;
            let followed = followed_by(number);
            Reduction {
                over: self.by_dim(&space.dims_reduced_by(reduce)),
                keeps: self.by_dim(&kept.unwrap_or_default()),
                bytes: values.iter().map(element_bytes).sum(),
                waits_for: self.waits_for(&values),
                follows: followed.map(|(lead, _)| lead),
                weighs_by_count: matches!(followed, Some((_, Dependence::Squares { .. }))),
            }
        };
        reductions.map(reduction).collect()
    }

    fn scans(&self) -> Result<Vec<Scan>, Error> {
        let scan = |scan: ScanOp<'c, 'a>| {
            let result: Value<'_, '_> = scan.op().result(0)?.into();
            Ok(Scan {
                over: self.by_dim(&self.space.dims_scanned_by(scan)),
                bytes: types::element_bytes(result.r#type()).unwrap_or(8) as u64,
            })
        };
        self.space.scans().into_iter().map(scan).collect()
    }

    /// The accesses. Where an access moves along one of the dims `rows`, the strides of dims along axes outside of that are unknown.
    fn accesses(&self, rows: &[usize]) -> Result<Vec<Access>, Error> {
        let mut accesses = Vec::new();
        for (position, op) in self.space.ops.iter().enumerate() {
            if let Some(access) = self.space.access(*op)? {
                accesses.push(self.access(position, &access, rows));
            }
        }
        Ok(accesses)
    }

    fn access(&self, position: usize, access: &space::Access<'c, 'a>, rows: &[usize]) -> Access {
        let bytes = access.element_bytes();
        let alignment = self.space.alignment(access.buffer).unwrap_or(bytes);
        let mut strides = access.strides();
        let mut divisors = self.space.address_divisors(access);
        for (dim, row) in outside_of_rows(access, rows) {
            if let Some(strides) = &mut strides {
                strides.dims[dim] = None;
            }
            // Rows that follow each other do so at a multiple of their own stride.
            if let Some(divisors) = &mut divisors {
                divisors.dims[dim] = gcd(divisors.dims[dim], divisors.dims[row]);
            }
        }
        let vector = match (&strides, divisors) {
            (Some(strides), Some(divisors)) => {
                let (extents, multiples) = (&self.whole_extents, &self.vectorized);
                widest(strides, &divisors, extents, multiples, alignment, bytes)
            }
            _ => 1,
        };
        let is_static = strides.as_ref().is_some_and(|strides| {
            let is_contiguous = strides.dims.contains(&Some(1));
            is_contiguous && strides.offset.is_some() && strides.dims.iter().all(Option::is_some)
        });
        let vector_if_aligned = match is_static && alignment % ACCESS_BYTES == 0 {
            true => (ACCESS_BYTES / bytes).max(1),
            false => vector,
        };
        Access {
            buffer: access.buffer,
            is_write: access.is_write,
            is_indirect: access.is_indirect(),
            bytes: bytes as u64,
            uses: self.by_dim(&access.dims()),
            offset: strides.as_ref().and_then(|strides| strides.offset),
            strides: match strides {
                Some(strides) => strides.dims,
                None => vec![None; self.space.dims.len()],
            },
            vector: vector as u64,
            vector_if_aligned: vector_if_aligned as u64,
            contributes: self.contributing.contains(position),
            is_reused: self.reused.contains(&position),
            needed_by: self.needed_by(position),
        }
    }

    /// The writes and reductions that need the element that an access reads itself.
    fn needed_by(&self, read: usize) -> Vec<Need> {
        let needs = |operand: &Value<'c, 'a>| self.space.leaves(*operand).contains(read);
        let roots = self.roots.iter();
        roots
            .filter(|(_, operands)| operands.iter().any(needs))
            .map(|(reduction, operands)| Need {
                reduction: *reduction,
                waits_for: self.waits_for(operands),
            })
            .collect()
    }
}

/// Pairs (dim, row) of dims that an access has in an axis outside of that of a row: how far the dim's points are apart depends on the
/// number of rows.
fn outside_of_rows(access: &space::Access<'_, '_>, rows: &[usize]) -> Vec<(usize, usize)> {
    let axes = |dim: usize| (0..access.coordinates.len()).filter(move |axis| access.is_along(*axis, dim));
    let dims = access.dims();
    let pairs = dims.iter().flat_map(|dim| rows.iter().map(|row| (*dim, *row)));
    let is_outside = |(dim, row): &(usize, usize)| match (axes(*dim).next(), axes(*row).next_back()) {
        (Some(dim), Some(row)) => dim < row,
        _ => false,
    };
    pairs.filter(is_outside).collect()
}

/// Returns the extent of a dim if it is static.
fn static_extent(extent: &AffineExpr<'_>) -> Option<i64> {
    extent.is_constant().then(|| extent.constant_value())
}
