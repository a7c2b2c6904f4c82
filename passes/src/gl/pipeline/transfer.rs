//! The copies by the copy engine that implement a `gl.copy_to_shared` or a `gl.copy_from_shared`: runs of bytes, or boxes of a
//! tensor map.

use melior::ir::{Type, Value, operation::OperationLike};
use norma_dialects::gl::{CopyEngine, MBarrierExpectOp};

use crate::mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError};

use super::{
    boxes::Boxes,
    bulk::{Copies, Part},
    ring::Issue,
    step_bounds::StepBounds,
    tile_copy::TileCopy,
};

/// A copy of a tile, split up for the engine.
pub(super) enum Transfer<'c, 'a> {
    /// Runs of contiguous bytes, and the number of elements to copy of each.
    Runs(Copies<'c, 'a>, Vec<Part<'c, 'a>>),
    /// Boxes, which the engine itself cuts off where the buffer ends.
    Boxes(Boxes<'c, 'a>),
}

impl<'c: 'a, 'a> Transfer<'c, 'a> {
    /// Splits a copy up, with these indices and limits.
    ///
    /// # Errors
    ///
    /// Unsupported where its engine cannot copy the tile.
    pub fn of(
        b: &Builder<'c, 'a>,
        copy: TileCopy<'c, 'a>,
        indices: &[Value<'c, 'a>],
        limits: &[Value<'c, 'a>],
    ) -> Result<Self, PassError<'c>> {
        match copy.engine {
            CopyEngine::Bulk => {
                let bounds = StepBounds::of(indices, limits);
                let copies = Copies::of(copy, bounds)?;
                let parts = copies.parts(b, indices, limits)?;
                Ok(Self::Runs(copies, parts))
            }
            CopyEngine::Tensor => Ok(Self::Boxes(Boxes::of(copy)?)),
            CopyEngine::CpAsync => {
                let message = "expected a copy by bulk or by tensor, got cp_async";
                Err(Diagnostic::unsupported(copy.op.location(), message).into())
            }
        }
    }

    /// The number of bytes that arrive through a copy to shared memory, of type index.
    fn bytes(&self, b: &Builder<'c, 'a>) -> Value<'c, 'a> {
        match self {
            Self::Runs(copies, parts) => copies.bytes(b, parts),
            Self::Boxes(boxes) => boxes.bytes(b),
        }
    }

    /// Loads what the engine does not bring, before the bytes are expected.
    fn load_tails(
        &self,
        b: &Builder<'c, 'a>,
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        match self {
            Self::Runs(copies, parts) => copies.load_tails(b, parts, indices, memory),
            Self::Boxes(_) => Ok(()),
        }
    }

    /// Issues the copies to `memory`, which complete on the mbarrier `full[stage]`.
    fn load(
        &self,
        b: &Builder<'c, 'a>,
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
        full: Value<'c, 'a>,
        stage: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        match self {
            Self::Runs(copies, parts) => copies.load(b, parts, indices, memory, full, stage),
            Self::Boxes(boxes) => boxes.load(b, indices, memory, full, stage),
        }
    }

    /// Issues the copies from `memory`, which belong to the group that is committed next.
    pub fn store(
        &self,
        b: &Builder<'c, 'a>,
        indices: &[Value<'c, 'a>],
        memory: Value<'c, 'a>,
    ) -> Result<(), PassError<'c>> {
        match self {
            Self::Runs(copies, parts) => copies.store(b, parts, indices, memory),
            Self::Boxes(boxes) => boxes.store(b, indices, memory),
        }
    }
}

/// Issues copies to shared memory that complete on the mbarrier `full[stage]`. The bytes of all of them are expected before the
/// first copy is issued.
pub(super) fn bring<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    issues: Vec<Issue<'c, 'a>>,
    full: Value<'c, 'a>,
    stage: Value<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let mut expected: Option<Value<'c, 'a>> = None;
    let mut transfers = Vec::with_capacity(issues.len());
    for issue in issues {
        let copy = TileCopy::to_shared(issue.copy)?;
        let transfer = Transfer::of(b, copy, &issue.indices, &issue.limits)?;
        transfer.load_tails(b, &issue.indices, issue.slot)?;
        let bytes = transfer.bytes(b);
        expected = Some(match expected {
            None => bytes,
            Some(other) => b.value("arith.addi", &[other, bytes], Type::index(b.context())),
        });
        transfers.push((transfer, issue));
    }
    if let Some(bytes) = expected {
        b.insert(MBarrierExpectOp::build(b.location(), full, stage, bytes)?);
    }
    for (transfer, issue) in transfers {
        transfer.load(b, &issue.indices, issue.slot, full, stage)?;
    }
    Ok(())
}
