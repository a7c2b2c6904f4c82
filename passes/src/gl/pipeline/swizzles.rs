//! Chooses the swizzles of tiles that travel by tensor maps.
//!
//! Threads that access one column of a tile's rows meet in the same banks of shared memory, because the copy engine lays out a tile row by
//! row. With a swizzle it spreads the rows over the banks. The swizzle is the one with which the threads' loads and stores of the tile
//! take the fewest wavefronts; memory stays plain unless one takes fewer than without. Of two that are equally good it is the wider, with
//! which a tile consists of fewer boxes.
//!
//! All copies of one access have memory of one type, because the loops of a chain share a ring.

use melior::ir::{AffineMap, OperationRef, Type, Value, ValueLike};
use norma_dialects::{
    gl::{
        CopyEngine, CopyFromSharedOp, CopyToSharedOp, LocalAllocOp, LocalLoadOp, LocalStoreOp, MemDescType,
    },
    layout,
};
use norma_layout::{LinearLayout, SharedLayout};
use norma_targets::{ACCESS_BYTES, SWIZZLE_SPANS};

use crate::{
    gl::shared_memory,
    mlir::{
        builder::Builder,
        pass::PassError,
        types,
        values::{definition, users},
        walk,
    },
};

use super::{boxes, tile_copy::TileCopy};

/// The copies of one access, all of which have memory of type `memory`.
struct Copies<'c, 'a> {
    buffer: Value<'c, 'a>,
    access: AffineMap<'c>,
    memory: MemDescType<'c>,
    copies: Vec<TileCopy<'c, 'a>>,
}

/// Gives the memories that tensor maps fill or read the swizzles with the fewest bank conflicts.
pub(super) fn choose<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Result<(), PassError<'c>> {
    for loop_op in copies_of_accesses(function)? {
        if let Some(memory) = best(&loop_op)? {
            for copy in &loop_op.copies {
                retype(copy.memory, memory);
            }
        }
    }
    Ok(())
}

/// The copies by tensor maps, those of the same access together.
fn copies_of_accesses<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
) -> Result<Vec<Copies<'c, 'a>>, PassError<'c>> {
    let brought = walk::all(function, CopyToSharedOp::from_op).into_iter();
    let sent = walk::all(function, CopyFromSharedOp::from_op).into_iter();
    let copies = brought
        .map(TileCopy::to_shared)
        .chain(sent.map(TileCopy::from_shared))
        .collect::<Result<Vec<_>, _>>()?;
    let mut groups: Vec<Copies<'c, 'a>> = Vec::new();
    for copy in copies
        .into_iter()
        .filter(|copy| copy.engine == CopyEngine::Tensor)
    {
        let memory = shared_memory::type_of(copy.memory, copy.op)?;
        let is_of = |group: &&mut Copies<'c, 'a>| {
            (group.buffer, group.access, group.memory) == (copy.buffer, copy.access, memory)
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.copies.push(copy),
            None => groups.push(Copies {
                buffer: copy.buffer,
                access: copy.access,
                memory,
                copies: vec![copy],
            }),
        }
    }
    Ok(groups)
}

/// The memory with the swizzle that saves the most wavefronts; `None` if none saves any.
fn best<'c: 'a, 'a>(loop_op: &Copies<'c, 'a>) -> Result<Option<MemDescType<'c>>, PassError<'c>> {
    let mut tiles = Vec::new();
    for copy in &loop_op.copies {
        match tiles_in(copy)? {
            Some(some) => tiles.extend(some),
            None => return Ok(None),
        }
    }
    let Some(mut least) = wavefronts(loop_op.memory, &tiles) else {
        return Ok(None);
    };
    let mut best = None;
    for span in SWIZZLE_SPANS.into_iter().rev() {
        // The copies differ in their guards alone, and so have the same boxes.
        let first = loop_op.copies.first();
        let Some(memory) = first.and_then(|copy| boxes::with_swizzle(copy, loop_op.memory, span)) else {
            continue;
        };
        if let Some(taken) = wavefronts(memory, &tiles).filter(|taken| *taken < least) {
            (least, best) = (taken, Some(memory));
        }
    }
    Ok(best)
}

/// The types of the tiles that threads load from or store to the memory of a copy; `None` if the memory is no allocation of its own, or
/// other ops use it.
fn tiles_in<'c: 'a, 'a>(copy: &TileCopy<'c, 'a>) -> Result<Option<Vec<Type<'c>>>, PassError<'c>> {
    if definition(copy.memory).and_then(LocalAllocOp::from_op).is_none() {
        return Ok(None);
    }
    let mut tiles = Vec::new();
    for user in users(copy.memory).into_iter().filter(|user| *user != copy.op) {
        if let Some(load) = LocalLoadOp::from_op(user) {
            tiles.push(load.tile()?.r#type());
        } else if let Some(store) = LocalStoreOp::from_op(user) {
            tiles.push(store.tile()?.r#type());
        } else {
            return Ok(None);
        }
    }
    Ok(Some(tiles))
}

/// The wavefronts of a warp that loads or stores all of `tiles`; `None` if the layout of the memory or of a tile is none that is counted.
fn wavefronts(memory: MemDescType<'_>, tiles: &[Type<'_>]) -> Option<usize> {
    let shared = layout::of_memory(memory.into()).ok()?;
    let bytes = usize::try_from(types::element_bytes(memory.element_type())?).ok()?;
    let of_tile = |tile: &Type<'_>| {
        let tile = layout::of_tile(*tile).ok()?;
        of_part(&shared, &tile.within_block().ok()?, bytes)
    };
    tiles.iter().map(of_tile).sum()
}

/// The wavefronts of a warp that accesses its elements of a CTA's part of a tile, in vectors as long as both layouts have them.
fn of_part(shared: &SharedLayout, part: &LinearLayout, bytes: usize) -> Option<usize> {
    let runs = part.compose(&shared.offset_map()?).ok()?;
    let vector = runs
        .contiguous_elements(&[0])
        .min((ACCESS_BYTES as usize / bytes).max(1));
    let report = shared.bank_conflicts(part, 8 * bytes as u32, vector).ok()?;
    Some(report.wavefronts * part.num_registers() / vector)
}

/// Makes an allocation one of type `memory`.
fn retype<'c: 'a, 'a>(old: Value<'c, 'a>, memory: MemDescType<'c>) {
    if let Some(alloc) = definition(old) {
        let b = Builder::before(alloc);
        let new = b.value(LocalAllocOp::NAME, &[], memory.into());
        b.replace(alloc, &[new]);
    }
}
