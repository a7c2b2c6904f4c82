//! Which kernel parameters point to memory that LLVM loads with `ld.global.nc`.
//!
//! NVPTX makes a load invariant if it goes through a `noalias` parameter whose memory the function only reads
//! (`NVPTXDAGToDAGISel`, `canLowerToLDG`). An attribute states that (`llvm.readonly`), or LLVM infers it; here it is
//! inferred if nothing but loads uses the pointer; a masked one becomes plain loads before LLVM looks. ptxas may then move the load across anything, even a
//! `griddepcontrol.wait`.

use std::collections::HashMap;

use melior::ir::{BlockLike, BlockRef, ValueLike, operation::OperationLike};

use super::{error::Result, kernel};

/// For each argument of the entry block, whether loads through it are invariant. `states` says whether argument `index`
/// has an attribute.
pub(super) fn arguments(
    blocks: &[BlockRef<'_, '_>],
    states: impl Fn(usize, &str) -> bool,
) -> Result<Vec<bool>> {
    let Some(entry) = blocks.first() else {
        return Ok(Vec::new());
    };
    let count = entry.argument_count();
    let mut only_read = vec![true; count];
    let mut root = HashMap::new();
    for index in 0..count {
        root.insert(entry.argument(index)?.to_raw().ptr as usize, index);
    }
    for op in blocks.iter().flat_map(kernel::ops_of) {
        for (position, operand) in op.raw.operands().enumerate() {
            let Some(&index) = root.get(&(operand.to_raw().ptr as usize)) else {
                continue;
            };
            match (op.name, position) {
                ("llvm.load" | "llvm.intr.masked.load", 0) => {}
                ("llvm.getelementptr" | "llvm.addrspacecast", 0) => {
                    root.insert(op.raw.result(0)?.to_raw().ptr as usize, index);
                }
                _ => only_read[index] = false,
            }
        }
    }
    Ok((0..count)
        .map(|index| states(index, "llvm.noalias") && (only_read[index] || states(index, "llvm.readonly")))
        .collect())
}
