//! Translates `norm.scatter` to `gl.scatter`, with the mask that keeps it within the buffer.

use melior::ir::BlockLike;
use norma_dialects::{gl, norm::ScatterOp};

use crate::mlir::pass::PassError;

use super::{Body, access::Visit};

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    pub(super) fn scatter(&mut self, scatter: ScatterOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let value = self.value(scatter.value()?)?;
        let access = self.access(self.space.access(scatter.op())?)?;
        let inside = self.inside(&access)?;
        let dims = access.dims();
        let axes = self.placement.axes(&dims) | value.axes | inside.axes;
        let sides = self.sides_of_write(&dims);
        let local = self.localize(&access.coordinates, &sides, axes)?;
        self.b.insert(gl::ScatterOp::build(
            self.b.location(),
            self.as_tile(value, axes)?,
            self.entry.argument(access.buffer)?.into(),
            &local.indices,
            &local.places,
            &local.limits,
            Some(self.as_tile(inside, axes)?),
            local.access,
            local.guards,
            self.cache_hints(&access, Visit::ONLY, self.moves_whole_sectors(&access)),
            None,
        )?);
        Ok(())
    }
}
