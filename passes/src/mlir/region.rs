//! Regions of ops that are about to be built: with one block, or with what another op held.

use melior::ir::{Block, Location, Region, RegionLike, RegionRef, Type};
use mlir_sys::mlirRegionTakeBody;

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
