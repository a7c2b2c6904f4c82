//! A common view of `gl.copy_to_shared` and `gl.copy_from_shared`: a tile, and where it lies on either side.

use melior::{
    Error,
    ir::{AffineMap, OperationRef, Value},
};
use norma_dialects::gl::{CopyEngine, CopyFromSharedOp, CopyToSharedOp};

/// A copy of a tile between a buffer in global memory and shared memory, in either direction.
pub(super) struct TileCopy<'c, 'a> {
    /// The op.
    pub op: OperationRef<'c, 'a>,
    /// The engine that copies.
    pub engine: CopyEngine,
    /// The buffer.
    pub buffer: Value<'c, 'a>,
    /// The shared memory.
    pub memory: Value<'c, 'a>,
    /// The scalars that the access is over.
    pub indices: Vec<Value<'c, 'a>>,
    /// The symbols of the guards.
    pub limits: Vec<Value<'c, 'a>>,
    /// Where in the buffer each element of the memory lies.
    pub access: AffineMap<'c>,
    /// Which elements are copied; without guards, all of them.
    pub guards: Option<AffineMap<'c>>,
}

impl<'c: 'a, 'a> TileCopy<'c, 'a> {
    /// A copy from the buffer.
    ///
    /// # Errors
    ///
    /// If the op lacks operands that its verifier asks for.
    pub fn to_shared(copy: CopyToSharedOp<'c, 'a>) -> Result<Self, Error> {
        Ok(Self {
            op: copy.op(),
            engine: copy.engine()?,
            buffer: copy.buffer()?,
            memory: copy.memory()?,
            indices: copy.indices(),
            limits: copy.limits(),
            access: copy.access()?,
            guards: copy.guards(),
        })
    }

    /// A copy to the buffer.
    ///
    /// # Errors
    ///
    /// As [`Self::to_shared`].
    pub fn from_shared(copy: CopyFromSharedOp<'c, 'a>) -> Result<Self, Error> {
        Ok(Self {
            op: copy.op(),
            engine: copy.engine()?,
            buffer: copy.buffer()?,
            memory: copy.memory()?,
            indices: copy.indices(),
            limits: copy.limits(),
            access: copy.access()?,
            guards: copy.guards(),
        })
    }
}
