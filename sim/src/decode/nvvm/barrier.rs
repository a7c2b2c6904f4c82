//! Barriers of a CTA and of a cluster.

use super::{
    super::{
        body::Body,
        error::{Result, internal, unsupported},
        op::Op,
    },
    push,
};
use crate::program::{BarrierKind, BarrierReduceOp, Instruction, IntegerPredicate};

pub(super) fn barrier_zero(body: &mut Body<'_>) -> Result<()> {
    push(
        body,
        Instruction::Barrier {
            kind: BarrierKind::Sync,
            id: None,
            threads: None,
            aligned: true,
        },
    )
}

/// `nvvm.barrier`, which is `barrier.cta.sync.aligned` or `.red`.
pub(super) fn barrier(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let kind = match op.keyword("reductionOp") {
        None => BarrierKind::Sync,
        Some(kind) => {
            let kind = match kind.as_str() {
                "popc" => BarrierReduceOp::PopulationCount,
                "and" => BarrierReduceOp::And,
                "or" => BarrierReduceOp::Or,
                other => {
                    return Err(unsupported(format!(
                        "has reduction {other}, which is not modelled"
                    )));
                }
            };
            let index = op
                .optional(2)?
                .ok_or_else(|| internal("reduces without a predicate"))?;
            let number = body.scalar(op, index)?;
            let zero = body.constant(0);
            let predicate = body.compare(IntegerPredicate::Ne, 32, number, zero);
            BarrierKind::Reduce {
                op: kind,
                to: body.scalar_result(op)?,
                predicate,
            }
        }
    };
    let instruction = Instruction::Barrier {
        kind,
        id: body.maybe(op, op.optional(0)?)?,
        threads: body.maybe(op, op.optional(1)?)?,
        aligned: true,
    };
    push(body, instruction)
}

/// `nvvm.barrier.arrive`, which is `bar.arrive`, another name of `barrier.cta.arrive.aligned`.
pub(super) fn arrive(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let last = op.operands() - 1;
    let instruction = Instruction::Barrier {
        kind: BarrierKind::Arrive,
        id: body.maybe(op, (last > 0).then_some(0))?,
        threads: Some(body.scalar(op, last)?),
        aligned: true,
    };
    push(body, instruction)
}

pub(super) fn cluster_arrive(op: &Op<'_, '_>, body: &mut Body<'_>, release: bool) -> Result<()> {
    let aligned = op.flag("aligned");
    push(body, Instruction::ClusterArrive { release, aligned })
}

pub(super) fn cluster_wait(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let aligned = op.flag("aligned");
    push(
        body,
        Instruction::ClusterWait {
            acquire: true,
            aligned,
        },
    )
}
