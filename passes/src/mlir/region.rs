//! Regions of ops that are about to be built, with one block or with the contents of another region; and moving ops to another block.

use melior::ir::{Block, BlockLike, BlockRef, Location, OperationRef, Region, RegionLike, RegionRef, Type};
use mlir_sys::{mlirBlockAppendOwnedOperation, mlirOperationRemoveFromParent, mlirRegionTakeBody};

/// A region of one empty block with these arguments.
pub fn of_block<'c>(arguments: &[(Type<'c>, Location<'c>)]) -> Region<'c> {
    let region = Region::new();
    region.append_block(Block::new(arguments));
    region
}

/// A region with the contents of another one, which is left empty.
pub fn taken_from<'c>(region: RegionRef<'c, '_>) -> Region<'c> {
    let taken = Region::new();
    // SAFETY: both regions are alive, and they differ.
    unsafe { mlirRegionTakeBody(taken.to_raw(), region.to_raw()) };
    taken
}

/// Moves an op to the end of a block.
pub fn move_to_end<'c>(op: OperationRef<'c, '_>, block: BlockRef<'c, '_>) {
    // SAFETY: both are alive; the block owns the op from here on.
    unsafe {
        mlirOperationRemoveFromParent(op.to_raw());
        mlirBlockAppendOwnedOperation(block.to_raw(), op.to_raw());
    }
}
