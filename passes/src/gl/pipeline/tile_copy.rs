//! `gl.copy_to_shared` and `gl.copy_from_shared` as one: a tile, and where it lies on either side.

use melior::ir::{AffineMap, OperationRef, Value};
use norma_dialects::gl::{CopyFromSharedOp, CopyToSharedOp};

/// A copy of a tile between a buffer and shared memory.
#[derive(Clone, Copy)]
pub(super) enum TileCopy<'c, 'a> {
    /// From the buffer to shared memory.
    ToShared(CopyToSharedOp<'c, 'a>),
    /// From shared memory to the buffer.
    FromShared(CopyFromSharedOp<'c, 'a>),
}

impl<'c, 'a> From<CopyToSharedOp<'c, 'a>> for TileCopy<'c, 'a> {
    fn from(copy: CopyToSharedOp<'c, 'a>) -> Self {
        Self::ToShared(copy)
    }
}

impl<'c, 'a> From<CopyFromSharedOp<'c, 'a>> for TileCopy<'c, 'a> {
    fn from(copy: CopyFromSharedOp<'c, 'a>) -> Self {
        Self::FromShared(copy)
    }
}

impl<'c: 'a, 'a> TileCopy<'c, 'a> {
    /// The op.
    pub fn op(self) -> OperationRef<'c, 'a> {
        match self {
            Self::ToShared(copy) => copy.op(),
            Self::FromShared(copy) => copy.op(),
        }
    }

    /// The buffer in global memory.
    pub fn buffer(self) -> Result<Value<'c, 'a>, melior::Error> {
        match self {
            Self::ToShared(copy) => copy.buffer(),
            Self::FromShared(copy) => copy.buffer(),
        }
    }

    /// The shared memory.
    pub fn memory(self) -> Result<Value<'c, 'a>, melior::Error> {
        match self {
            Self::ToShared(copy) => copy.memory(),
            Self::FromShared(copy) => copy.memory(),
        }
    }

    /// The scalars that the access is over.
    pub fn indices(self) -> Vec<Value<'c, 'a>> {
        match self {
            Self::ToShared(copy) => copy.indices(),
            Self::FromShared(copy) => copy.indices(),
        }
    }

    /// The symbols of the guards.
    pub fn limits(self) -> Vec<Value<'c, 'a>> {
        match self {
            Self::ToShared(copy) => copy.limits(),
            Self::FromShared(copy) => copy.limits(),
        }
    }

    /// Where in the buffer each element of the memory lies.
    pub fn access(self) -> Result<AffineMap<'c>, melior::Error> {
        match self {
            Self::ToShared(copy) => copy.access(),
            Self::FromShared(copy) => copy.access(),
        }
    }

    /// What is copied.
    pub fn guards(self) -> Option<AffineMap<'c>> {
        match self {
            Self::ToShared(copy) => copy.guards(),
            Self::FromShared(copy) => copy.guards(),
        }
    }
}
