//! Fences.

use super::{
    super::{
        body::Body,
        error::{Result, unsupported},
        op::Op,
    },
    is_cta_scope, push,
};
use crate::program::{Fence, Instruction};

pub(super) fn membar(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let cta = is_cta_scope(op)?;
    push(body, Instruction::Fence(Fence::AcquireRelease { cta }))
}

pub(super) fn sequential(body: &mut Body<'_>) -> Result<()> {
    push(body, Instruction::Fence(Fence::AcquireRelease { cta: false }))
}

pub(super) fn mbarrier_init(body: &mut Body<'_>) -> Result<()> {
    push(body, Instruction::Fence(Fence::MbarrierInit))
}

pub(super) fn proxy(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let fence = match op.need_keyword("kind")?.as_str() {
        "alias" | "tensormap" => Fence::OtherProxy,
        "async" => Fence::ProxyAsync {
            shared: true,
            global: true,
        },
        "async.global" => Fence::ProxyAsync {
            shared: false,
            global: true,
        },
        "async.shared" => Fence::ProxyAsync {
            shared: true,
            global: false,
        },
        other => return Err(unsupported(format!("has kind {other}, which is not modelled"))),
    };
    push(body, Instruction::Fence(fence))
}

/// `fence.proxy.tensormap::generic`. It matters only to kernels that change tensor maps, which is not modelled.
pub(super) fn tensor_map(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    op.only("fromProxy", "generic")?;
    op.only("toProxy", "tensormap")?;
    push(body, Instruction::Fence(Fence::OtherProxy))
}
