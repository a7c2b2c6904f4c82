//! `gl.reduce` and `gl.warp_reduce`: registers in a few chains, then lanes by butterfly shuffles, or by `redux.sync` where there is
//! one for all lanes of a warp.
//!
//! A thread's registers are combined in up to four independent chains, so that four operations are in flight and a
//! multiplication before an addition can still fuse with it; the chains and then the lanes are combined pairwise. Reductions
//! across warps have been taken apart by `gl-expand-reductions`.

use melior::ir::{BlockRef, OperationRef, ValueLike, operation::OperationLike};
use norma_dialects::gl::{ReduceOp, WarpReduceOp};
use norma_layout::{HardwareDim, LinearLayout, ReductionPlan};
use norma_targets::{Target, WARP_SIZE};

use crate::gl::constant_tiles;
use crate::mlir::{builder::Builder, combiner, conversion::Rejection, diagnostic::Diagnostic, walk};

use super::{
    emit::{Emit, Value},
    packed, redux,
    shuffle::{self, Source},
    tile::Tile,
};

/// Chains in flight while a thread's registers are combined. An FADD takes 4 cycles on Hopper.
const CHAINS: usize = 4;

/// The fewest registers of a chain, if there are as many. All of a chain but the first fuse with a multiplication: eight squares in two
/// chains are 2 multiplications, 6 fma and an addition, and in four chains 4, 4 and 3.
const LENGTH: usize = 4;

/// Bits of a lane's number: as many shuffles reduce all lanes.
const LANE_BITS: usize = WARP_SIZE.ilog2() as usize;

/// Lowers `gl.reduce`.
pub(super) fn reduce<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
    target: &Target,
) -> Result<(), Rejection<'c>> {
    let reduce = ReduceOp::from_op(op).ok_or("expected gl.reduce")?;
    let (layout, plan) = plan(&Emit::new(b), reduce.tiles(), reduce.axis()?)?;
    if !plan.warp_masks.is_empty() || !plan.block_masks.is_empty() {
        return Err(Diagnostic::user(
            op.location(),
            format!(
                "expected a reduction within a warp, got one over {layout}; run gl-expand-reductions first"
            ),
        )
        .into());
    }
    lower(op, operands, b, &plan, target)
}

/// Lowers `gl.warp_reduce`.
pub(super) fn warp_reduce<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
    target: &Target,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let reduce = WarpReduceOp::from_op(op).ok_or("expected gl.warp_reduce")?;
    let axis = reduce.axis()?;
    let (layout, plan) = plan(&e, reduce.tiles(), axis)?;
    let partial = layout
        .partial_layout(axis as usize, HardwareDim::Warp)
        .map_err(|error| e.internal(error))?;
    for result in reduce.results() {
        let found = Tile::of(&e, result.r#type())?.layout;
        if found != partial {
            return Err(Diagnostic::user(
                op.location(),
                format!("expected one partial per warp in layout {partial}, got {found}"),
            )
            .into());
        }
    }
    lower(op, operands, b, &plan, target)
}

fn plan<'c>(
    e: &Emit<'_, 'c, '_>,
    tiles: Vec<Value<'c, '_>>,
    axis: i64,
) -> Result<(LinearLayout, ReductionPlan), Diagnostic<'c>> {
    let first = tiles.first().ok_or_else(|| e.internal("expected a tile"))?;
    let layout = Tile::of(e, first.r#type())?.layout;
    let plan = layout
        .reduction(axis as usize)
        .map_err(|error| e.unsupported(error))?;
    Ok((layout, plan))
}

fn lower<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
    plan: &ReductionPlan,
    target: &Target,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let block = walk::entry_block(op)?;
    let combiner = Combiner { e: &e, block };
    // A tile that is one constant is the same in all lanes, and needs no shuffle.
    let originals = op.operands().collect::<Vec<_>>();
    let are_constant = constant_tiles::are_constant(&originals, block);
    let tiles = operands
        .iter()
        .map(|operand| e.elements(*operand))
        .collect::<Result<Vec<_>, _>>()?;
    let redux = match (tiles.as_slice(), are_constant.as_slice()) {
        ([tile], [false]) if plan.lane_shuffles.len() == LANE_BITS => tile
            .first()
            .and_then(|value| redux::kind(block, value.r#type(), target)),
        _ => None,
    };
    let packed = match operands {
        [tile] => packed::reduce(&e, block, *tile, &plan.registers)?,
        _ => None,
    };
    let packed = match packed {
        Some(tile) if plan.lane_shuffles.is_empty() => {
            b.replace(op, &[tile]);
            return Ok(());
        }
        Some(tile) => Some(e.elements(tile)?),
        None => None,
    };
    // For each result register, one scalar per tile.
    let mut results = Vec::with_capacity(plan.registers.len());
    for (index, group) in plan.registers.iter().enumerate() {
        let scalars = |register: &usize| tiles.iter().map(|tile| tile[*register]).collect::<Vec<_>>();
        let mut partials = match &packed {
            Some(packed) => vec![packed[index]],
            None => combiner.registers(group.iter().map(scalars).collect())?,
        };
        if let (Some(kind), [partial]) = (redux, partials.as_mut_slice()) {
            *partial = redux::of_lanes(&e, *partial, kind)?;
            results.push(partials);
            continue;
        }
        for &mask in &plan.lane_shuffles {
            let others = partials
                .iter()
                .zip(&are_constant)
                .map(|(partial, is_constant)| match is_constant {
                    true => Ok(*partial),
                    false => shuffle::from_lane(&e, *partial, Source::Xor(mask)),
                })
                .collect::<Result<Vec<_>, _>>()?;
            partials = combiner.apply(&partials, &others)?;
        }
        results.push(partials);
    }
    let vectors = (0..tiles.len())
        .map(|tile| e.pack(&results.iter().map(|partials| partials[tile]).collect::<Vec<_>>()))
        .collect::<Result<Vec<_>, _>>()?;
    b.replace(op, &vectors);
    Ok(())
}

/// Combines values: in chains first, then the chains pairwise. `None` of no values.
pub(super) fn in_chains<T, E>(
    values: Vec<T>,
    combine: impl Fn(&T, &T) -> Result<T, E>,
) -> Result<Option<T>, E> {
    let chains = (values.len() / LENGTH).clamp(1, CHAINS);
    let mut partials: Vec<T> = Vec::with_capacity(chains);
    for (index, value) in values.into_iter().enumerate() {
        match partials.get_mut(index % chains) {
            Some(partial) => *partial = combine(partial, &value)?,
            None => partials.push(value),
        }
    }
    while partials.len() > 1 {
        let upper = partials.split_off(partials.len().div_ceil(2));
        for (partial, other) in partials.iter_mut().zip(&upper) {
            *partial = combine(partial, other)?;
        }
    }
    Ok(partials.pop())
}

/// A combiner region: two tuples of scalars to one.
struct Combiner<'e, 'b, 'c, 'a> {
    e: &'e Emit<'b, 'c, 'a>,
    block: BlockRef<'c, 'a>,
}

impl<'c, 'a> Combiner<'_, '_, 'c, 'a> {
    /// Combines all tuples of a thread.
    fn registers(&self, tuples: Vec<Vec<Value<'c, 'a>>>) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
        in_chains(tuples, |one, other| self.apply(one, other))?
            .ok_or_else(|| self.e.internal("expected a register"))
    }

    fn apply(
        &self,
        lhs: &[Value<'c, 'a>],
        rhs: &[Value<'c, 'a>],
    ) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
        combiner::inline(self.e.b, self.block, &[lhs, rhs].concat())
    }
}
