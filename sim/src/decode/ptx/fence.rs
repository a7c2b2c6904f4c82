//! `fence` and `membar`.

use super::{
    super::error::{Result, unsupported},
    assembly::{Assembly, operands},
    qualifiers::Qualifiers,
    statement::Operand,
};
use crate::program::{Fence, Instruction};

pub(super) fn fence(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
    root: &str,
) -> Result<()> {
    let fence = if root == "membar" && !q.take("proxy") {
        let cta = q
            .one_of(&[("cta", true), ("gl", false), ("sys", false)])
            .ok_or_else(|| unsupported("has no level that is modelled"))?;
        Fence::AcquireRelease { cta }
    } else if q.take("proxy") || root == "membar" {
        proxy(q)?
    } else if q.take("mbarrier_init") {
        q.take("release");
        q.take("cluster");
        Fence::MbarrierInit
    } else {
        // Without an order it is `.acq_rel`.
        let _order = q.take("sc") || q.take("acq_rel");
        let cta = q
            .scope()
            .ok_or_else(|| unsupported("has no scope that is modelled"))?;
        Fence::AcquireRelease { cta }
    };
    q.done()?;
    if !found.is_empty() {
        return Err(operands(found));
    }
    asm.push(Instruction::Fence(fence))
}

fn proxy(q: &mut Qualifiers<'_>) -> Result<Fence> {
    if q.take("alias") || q.take("tensormap") {
        return Ok(Fence::OtherProxy);
    }
    if !q.take("async") {
        return Err(unsupported("has no proxy that is modelled"));
    }
    let (shared, global) = q
        .one_of(&[
            ("global", (false, true)),
            ("shared::cta", (true, false)),
            ("shared::cluster", (true, false)),
        ])
        .unwrap_or((true, true));
    Ok(Fence::ProxyAsync { shared, global })
}
