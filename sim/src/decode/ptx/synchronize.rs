//! Barriers of a warp, a CTA and a cluster, dependent launches, register counts and sleep.

use super::{
    super::error::{Result, unsupported},
    assembly::{Assembly, B32, PREDICATE, operands},
    qualifiers::Qualifiers,
    statement::Operand,
};
use crate::program::{BarrierKind, BarrierReduceOp, Instruction, Register};

/// `bar` and `barrier`. `bar` is `barrier.cta` with `.aligned`.
pub(super) fn barrier(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
    root: &str,
) -> Result<()> {
    if q.take("warp") {
        q.take("sync");
        q.done()?;
        let [mask] = found else {
            return Err(operands(found));
        };
        let mask = asm.source(mask, B32)?;
        return asm.push(Instruction::WarpBarrier { mask });
    }
    let aligned = q.take("aligned") || root == "bar";
    if q.take("cluster") {
        return cluster(asm, q, found, aligned);
    }
    q.take("cta");
    let number = |asm: &mut Assembly<'_, '_>, operand: Option<&Operand>| -> Result<Option<Register>> {
        operand.map(|operand| asm.source(operand, B32)).transpose()
    };
    if q.take("red") {
        let op = q
            .one_of(&[
                ("popc", BarrierReduceOp::PopulationCount),
                ("and", BarrierReduceOp::And),
                ("or", BarrierReduceOp::Or),
            ])
            .ok_or_else(|| unsupported("has no reduction that is modelled"))?;
        q.ty()?;
        q.done()?;
        let (to, id, threads, predicate) = match found {
            [to, id, predicate] => (to, id, None, predicate),
            [to, id, threads, predicate] => (to, id, Some(threads), predicate),
            _ => return Err(operands(found)),
        };
        let kind = BarrierKind::Reduce {
            op,
            to: asm.destination(to)?,
            predicate: asm.source(predicate, PREDICATE)?,
        };
        let (id, threads) = (number(asm, Some(id))?, number(asm, threads)?);
        return asm.push(Instruction::Barrier {
            kind,
            id,
            threads,
            aligned,
        });
    }
    let kind = q
        .one_of(&[("sync", BarrierKind::Sync), ("arrive", BarrierKind::Arrive)])
        .ok_or_else(|| unsupported("is not modelled"))?;
    q.done()?;
    if found.len() > 2 || (kind == BarrierKind::Arrive && found.len() != 2) || found.is_empty() {
        return Err(operands(found));
    }
    let (id, threads) = (number(asm, found.first())?, number(asm, found.get(1))?);
    asm.push(Instruction::Barrier {
        kind,
        id,
        threads,
        aligned,
    })
}

fn cluster(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
    aligned: bool,
) -> Result<()> {
    let (arrives, waits) = (q.take("arrive"), q.take("wait"));
    let relaxed = q.take("relaxed");
    q.take("release");
    q.take("acquire");
    q.done()?;
    if !found.is_empty() || arrives == waits {
        return Err(operands(found));
    }
    asm.push(if arrives {
        Instruction::ClusterArrive {
            release: !relaxed,
            aligned,
        }
    } else {
        Instruction::ClusterWait {
            acquire: !relaxed,
            aligned,
        }
    })
}

pub(super) fn grid_dependency(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
) -> Result<()> {
    let (waits, launches) = (q.take("wait"), q.take("launch_dependents"));
    q.done()?;
    match (waits, launches, found) {
        (true, false, []) => asm.push(Instruction::GridDependencyWait),
        (false, true, []) => asm.push(Instruction::GridDependencyLaunch),
        _ => Err(operands(found)),
    }
}

pub(super) fn set_max_registers(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
) -> Result<()> {
    let (increases, decreases) = (q.take("inc"), q.take("dec"));
    q.take("sync");
    q.take("aligned");
    q.ty()?;
    q.done()?;
    match found {
        [Operand::Integer(registers @ 0..=256)] if increases != decreases => {
            asm.push(Instruction::SetMaxRegisters {
                registers: *registers as u32,
                increase: increases,
            })
        }
        _ => Err(operands(found)),
    }
}

/// `nanosleep`, which only delays the thread.
pub(super) fn sleep(q: &mut Qualifiers<'_>) -> Result<()> {
    q.ty()?;
    q.done()
}
