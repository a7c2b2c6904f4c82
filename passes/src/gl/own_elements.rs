//! Accesses to memory in which each thread accesses elements of its own.
//!
//! Two such accesses to the same memory by tiles of the same layout need no barrier between them: whatever a thread reads or writes, it
//! alone has read or written before.

use melior::ir::{AffineMap, AttributeLike, OperationRef, Type, TypeLike, Value, ValueLike};
use norma_dialects::{
    gl::{LocalLoadOp, LocalStoreOp, MemDescType, PlainAttr},
    layout,
};

use super::quotient_form::QuotientForm;
use crate::mlir::types;

/// Which elements of a memory each thread accesses: the same for equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnElements {
    /// The type of the memory, by its address in the context.
    memory: usize,
    /// The tile's encoding, by its address in the context.
    encoding: usize,
}

impl OwnElements {
    /// The elements that `op` accesses, one of `warps` warps; `None` unless it loads or stores a tile of which no two threads have the same
    /// element, from or to a memory in which no two elements that are accessed overlap.
    pub(super) fn of(op: OperationRef<'_, '_>, warps: i64) -> Option<Self> {
        let (memory, tile, guards) = if let Some(load) = LocalLoadOp::from_op(op) {
            let is_of_tile = load.indices().is_empty() && load.limits().is_empty();
            let guards = load.guards().filter(|_| is_of_tile);
            (load.memory().ok()?, load.tile().ok()?, guards)
        } else {
            let store = LocalStoreOp::from_op(op)?;
            (store.memory().ok()?, store.tile().ok()?, store.guards())
        };
        Self::of_tile(memory, tile, warps).filter(|_| are_apart(memory, guards))
    }

    /// The elements of a tile, one of `warps` warps; `None` if two threads have the same element. `memory` is where the tile is loaded from
    /// or stored to, and no two elements overlap there.
    pub(super) fn of_tile(memory: Value<'_, '_>, tile: Value<'_, '_>, warps: i64) -> Option<Self> {
        let held = layout::of_tile(tile.r#type()).ok()?;
        let is_own = held.is_injective() && i64::try_from(held.num_warps()) == Ok(warps);
        is_own.then(|| Self {
            memory: address(memory.r#type()),
            encoding: types::encoding(tile.r#type()).map_or(0, |encoding| encoding.to_raw().ptr as usize),
        })
    }
}

fn address(ty: Type<'_>) -> usize {
    ty.to_raw().ptr as usize
}

/// Whether no two elements of a memory that `guards` admit lie at the same place. With a negative padding a run begins before the previous
/// one ends: then a guard has to admit only the first `interval + padding` elements of each run.
fn are_apart(memory: Value<'_, '_>, guards: Option<AffineMap<'_>>) -> bool {
    let Some(memory) = MemDescType::from_type(memory.r#type()) else {
        return false;
    };
    let Some(plain) = PlainAttr::from_attribute(memory.layout()) else {
        return true;
    };
    if plain.padding() >= 0 {
        return true;
    }
    let shape = memory.shape();
    let order = (0..shape.len() as i64).rev().collect::<Vec<_>>();
    let interval = match plain.interval() {
        0 => shape.last().copied().unwrap_or(1),
        interval => interval,
    };
    let run = interval + plain.padding();
    let in_run = |guards: AffineMap<'_>, pair: usize| {
        let limit = guards.result(pair + 1).ok()?;
        let place = QuotientForm::of(guards.result(pair).ok()?, shape.len(), 0)?;
        let mut within = QuotientForm::zero(shape.len(), 0);
        let mut unit = 1;
        for axis in (0..shape.len()).rev() {
            within.dims[axis] = if unit < interval && shape[axis] > 1 {
                unit
            } else {
                0
            };
            unit *= shape[axis];
        }
        (limit.is_constant() && limit.constant_value() <= run && place == within).then_some(())
    };
    let mut pairs = (0..guards.map_or(0, |guards| guards.result_count())).step_by(2);
    plain.order() == order && guards.is_some_and(|guards| pairs.any(|pair| in_run(guards, pair).is_some()))
}
