//! Gives each load and store that the tile's layout does not suit a layout of its own.
//!
//! Two layouts are tried beside the tile's. The first has the same elements in the same threads, with registers numbered so
//! that vectors are runs of them. Renumbering costs nothing where each element fills a register, so it is placed where elements
//! are wide: behind the op that widens a load, and before the op that narrows a store. The second layout follows the order of
//! memory, and its conversion moves data between threads. It is taken where it saves more than it costs, by the sectors that a
//! warp requests. Data that is exchanged through shared memory is exchanged while it is narrow, as vectors whose registers are
//! renumbered while it is wide.

use melior::ir::{OperationRef, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    gl::{ConvertLayoutOp, LoadOp, OptimizationBarrierOp, StoreOp},
    layout, op_name,
};
use norma_layout::{ConversionPlan, LinearLayout, coalesce::Sectors};
use norma_targets::ACCESS_BYTES;

use crate::{
    gl::{
        access::Access,
        tile_layouts::{in_layout, tile_type},
    },
    memory_cycles::{DRAM_SECTOR, EXCHANGED_BYTES, L1_SECTOR, L2_LINE, REQUEST},
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        types,
        values::{definition, users, uses},
        walk,
    },
};

/// Gives every load and store in `op` that has no vector yet the layout that suits it, and returns how many layouts have
/// changed.
pub(super) fn run<'c>(op: OperationRef<'c, '_>) -> Result<u64, PassError<'c>> {
    let mut placed = 0;
    // Collected first, as other ops may be erased while layouts change.
    let mut accesses = walk::named(op, LoadOp::NAME);
    accesses.extend(walk::named(op, StoreOp::NAME));
    for op in accesses {
        let Some((tile, access)) = Access::of(op)? else {
            continue;
        };
        let held = layout::of_tile(tile.r#type()).map_err(|error| Diagnostic::user(op.location(), error))?;
        let Some(wanted) = suitable(&access, &held, StoreOp::from_op(op).is_some()) else {
            continue;
        };
        let bytes = access.element_bytes().unwrap_or(1).unsigned_abs();
        let is_store = StoreOp::from_op(op).is_some();
        let (from, to) = if is_store {
            (&held, &wanted)
        } else {
            (&wanted, &held)
        };
        // The layout of the tile while its elements are wide: its threads keep their elements, in the order of the access or
        // the exchange.
        let wide = match from.conversion_plan(to, bytes) {
            Ok(ConversionPlan::Registers(_)) => Some(wanted.clone()),
            Ok(ConversionPlan::Memory(exchange)) if is_store => Some(exchange.stored),
            Ok(ConversionPlan::Memory(exchange)) => Some(exchange.loaded),
            Ok(ConversionPlan::Warp(_)) | Err(_) => None,
        };
        match is_store {
            true => place_store(op, tile, &wanted, wide.as_ref())?,
            false => place_load(op, &wanted, wide.as_ref())?,
        }
        placed += 1;
    }
    Ok(placed)
}

/// The layout that suits an access of a tile in layout `held`; `None` if that is `held` itself.
fn suitable(access: &Access<'_, '_>, held: &LinearLayout, is_store: bool) -> Option<LinearLayout> {
    let bytes = access.element_bytes()?;
    let strides = access.strides()?;
    let (vector, _) = access.vector(held);
    let mut best = (held.clone(), vector);
    if let Some(axis) = strides.iter().position(|stride| *stride == Some(bytes)) {
        let renumbered = held.with_runs_lowest(axis);
        let (vector, _) = access.vector(&renumbered);
        if vector > best.1 {
            best = (renumbered, vector);
        }
    }
    let sectors =
        |(layout, vector): &(LinearLayout, i64)| layout.sectors(&strides, *vector as usize, bytes).ok();
    let cycles = |(layout, vector): &(LinearLayout, i64), sectors: &Sectors| {
        let requests = (layout.num_registers() as i64 / vector) as f64;
        let moved = match is_store {
            // L1 keeps no stored data, so each request goes on to L2.
            true => sectors.lines * L2_LINE,
            false => sectors.asked * L1_SECTOR,
        };
        moved.max(sectors.distinct * DRAM_SECTOR) + requests * REQUEST
    };
    let of_best = sectors(&best)?;
    let mut least = cycles(&best, &of_best);
    let elements = held.shape().iter().product::<i64>();
    // No layout costs less than this: all touch the same distinct sectors, with at least as many requests as the widest
    // accesses need.
    let threads = (held.num_lanes() * held.num_warps()) as i64;
    let fewest_requests = (elements / threads / (ACCESS_BYTES / bytes).max(1)).max(1) as f64;
    if least <= of_best.distinct * DRAM_SECTOR + fewest_requests * REQUEST {
        return (best.0 != *held).then_some(best.0);
    }
    for moved in along_memory(access, held, &strides, bytes) {
        let (from, to) = match is_store {
            true => (held, &moved.0),
            false => (&moved.0, held),
        };
        let plan = from.conversion_plan(to, bytes.unsigned_abs()).ok()?;
        if matches!(plan, ConversionPlan::Memory(_)) && elements * bytes > EXCHANGED_BYTES {
            continue;
        }
        let cost = cycles(&moved, &sectors(&moved)?) + plan.cost(bytes.unsigned_abs()) as f64;
        if cost < least {
            (best, least) = (moved, cost);
        }
    }
    (best.0 != *held).then_some(best.0)
}

/// Layouts that follow the order of memory, each with the length of its vectors. None leaves threads idle that could have an
/// element.
fn along_memory(
    access: &Access<'_, '_>,
    held: &LinearLayout,
    strides: &[Option<i64>],
    bytes: i64,
) -> Vec<(LinearLayout, i64)> {
    let elements = held.shape().iter().product::<i64>();
    let threads = (held.num_lanes() * held.num_warps()) as i64;
    let most = (ACCESS_BYTES / bytes).min(elements / threads).max(1);
    let layout = |vector: i64| {
        let layout = held.along_memory(strides, vector as usize).ok()?;
        let (vector, _) = access.vector(&layout);
        Some((layout, vector))
    };
    std::iter::successors(Some(most), |vector| (*vector > 1).then_some(vector / 2))
        .filter_map(layout)
        .collect()
}

/// Rebuilds a store in layout `wanted`, and the op that narrows the stored tile, if there is one, in layout `narrowed`.
fn place_store<'c>(
    op: OperationRef<'c, '_>,
    tile: Value<'c, '_>,
    wanted: &LinearLayout,
    narrowed: Option<&LinearLayout>,
) -> PassResult<'c> {
    let b = Builder::before(op);
    let narrowing = definition(tile).filter(|made| uses(tile) == 1 && is_narrowing(*made));
    let held = match narrowing.zip(narrowed) {
        Some((narrowing, layout)) => {
            let wide = narrowing.operand(0)?;
            let renumbered = in_layout(&b, wide, layout)?;
            let result = tile_type(&b, tile.r#type(), layout)?;
            b.rebuild(narrowing, &[renumbered], &[result]).result(0)?.into()
        }
        None => tile,
    };
    let converted = in_layout(&b, held, wanted)?;
    let operands = op.operands().enumerate();
    let operands = operands.map(|(index, operand)| if index == 0 { converted } else { operand });
    b.rebuild(op, &operands.collect::<Vec<_>>(), &[]);
    b.erase(op);
    if narrowed.is_some() {
        narrowing.into_iter().for_each(|narrowing| b.erase(narrowing));
    }
    Ok(())
}

/// Rebuilds a load in layout `wanted`, and the ops that widen the loaded tile in layout `widened`.
fn place_load<'c>(
    op: OperationRef<'c, '_>,
    wanted: &LinearLayout,
    widened: Option<&LinearLayout>,
) -> PassResult<'c> {
    let b = Builder::before(op);
    let ty = tile_type(&b, op.result(0)?.r#type(), wanted)?;
    let load = b.rebuild(op, &op.operands().collect::<Vec<_>>(), &[ty]);
    let loaded = load.result(0)?.into();
    let carried = match widened {
        Some(layout) => in_layout(&Builder::after(load), loaded, layout)?,
        None => loaded,
    };
    replace(op, carried, widened.is_some())
}

/// Replaces the result of `old` by `new`, the same tile in another layout. If `is_carried`, the ops that widen the tile are
/// rebuilt in that layout too; whatever else uses the tile, or the widened one, reads a converted tile.
fn replace<'c>(old: OperationRef<'c, '_>, new: Value<'c, '_>, is_carried: bool) -> PassResult<'c> {
    let from: Value<'c, '_> = old.result(0)?.into();
    if is_carried {
        let layout =
            layout::of_tile(new.r#type()).map_err(|error| Diagnostic::user(old.location(), error))?;
        for user in users(from).into_iter().filter(|user| is_carried_on(*user)) {
            let b = Builder::before(user);
            let ty = tile_type(&b, user.result(0)?.r#type(), &layout)?;
            replace(user, b.rebuild(user, &[new], &[ty]).result(0)?.into(), is_carried)?;
        }
    }
    if uses(from) > 0 {
        let b = Builder::before(old);
        let converted = b.value(ConvertLayoutOp::NAME, &[new], from.r#type());
        b.replace_all_uses(from, converted);
    }
    Builder::before(old).erase(old);
    Ok(())
}

/// Whether an op leaves each element in its register and does not narrow it: an optimization barrier, or a conversion to a
/// wider type.
fn is_carried_on(op: OperationRef<'_, '_>) -> bool {
    OptimizationBarrierOp::from_op(op).is_some() || converts(op).is_some_and(|(from, to)| from < to)
}

/// Whether an op makes elements narrower.
fn is_narrowing(op: OperationRef<'_, '_>) -> bool {
    converts(op).is_some_and(|(from, to)| from > to)
}

/// The bits of the operand's and of the result's elements, for an `arith` op on one tile.
fn converts(op: OperationRef<'_, '_>) -> Option<(usize, usize)> {
    let is_unary = op_name(op).starts_with("arith.") && op.operand_count() == 1 && op.result_count() == 1;
    let bits = |ty: Type<'_>| types::bit_width(types::element(ty));
    is_unary.then_some(())?;
    Some((
        bits(op.operand(0).ok()?.r#type())?,
        bits(op.result(0).ok()?.r#type())?,
    ))
}
