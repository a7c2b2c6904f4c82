//! Special registers, cluster addresses, register counts, dependent launches and prefetches.

use super::{
    super::{
        body::Body,
        error::{Result, internal, unsupported},
        llvm::memory::pointee,
        op::Op,
        shape::Scalar,
    },
    mbarrier::from_generic,
    push,
};
use crate::{
    address::SHARED_WINDOW,
    program::{Conversion, Instruction, IntegerOp, Space, SpecialRegister},
};

/// A special register by its name in the NVVM dialect and in PTX, with dots for underscores.
pub(in super::super) fn register(name: &str) -> Option<SpecialRegister> {
    use SpecialRegister::*;
    if let Some((stem, axis)) = name.rsplit_once('.') {
        let axis = match axis {
            "x" => Some(0),
            "y" => Some(1),
            "z" => Some(2),
            _ => None,
        };
        let along: Option<fn(u8) -> SpecialRegister> = match stem {
            "tid" => Some(ThreadId),
            "ntid" => Some(ThreadCount),
            "ctaid" => Some(CtaId),
            "nctaid" => Some(CtaCount),
            "clusterid" => Some(ClusterId),
            "nclusterid" => Some(ClusterCount),
            "cluster.ctaid" => Some(ClusterCtaId),
            "cluster.nctaid" => Some(ClusterCtaCount),
            _ => None,
        };
        if let (Some(axis), Some(along)) = (axis, along) {
            return Some(along(axis));
        }
    }
    Some(match name {
        "cluster.ctarank" => ClusterCtaRank,
        "cluster.nctarank" => ClusterCtaRankCount,
        "laneid" => LaneId,
        "warpid" => WarpId,
        "nwarpid" => WarpCount,
        "warpsize" => WarpSize,
        "smid" => MultiprocessorId,
        "nsmid" => MultiprocessorCount,
        "dynamic.smem.size" => DynamicSharedBytes,
        "lanemask.eq" => LaneMask(0),
        "lanemask.le" => LaneMask(1),
        "lanemask.lt" => LaneMask(2),
        "lanemask.ge" => LaneMask(3),
        "lanemask.gt" => LaneMask(4),
        "clock" | "clock64" | "globaltimer" | "globaltimer.lo" => Clock,
        _ => return None,
    })
}

pub(super) fn read(op: &Op<'_, '_>, body: &mut Body<'_>, name: &str) -> Result<()> {
    let register = register(name).ok_or_else(|| unsupported("is not modelled"))?;
    let bits = Scalar::of(op.result_type(0)?)?.bits();
    let mut to = body.fresh();
    body.push(Instruction::Special { register, to });
    if register == SpecialRegister::Clock && bits < 64 {
        to = body.convert(Conversion::Truncate { to: bits }, to);
    }
    body.result(op, vec![to])
}

/// `nvvm.mapa`, on shared or generic addresses.
pub(super) fn map_to_cta(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let generic = pointee(op.operand_type(0)?)? == Space::Generic;
    let mut address = body.scalar(op, 0)?;
    let rank = body.scalar(op, 1)?;
    if generic {
        address = from_generic(body, address);
    }
    let mut to = body.fresh();
    body.push(Instruction::MapToCta { to, address, rank });
    if generic {
        let window = body.constant(SHARED_WINDOW);
        to = body.integer(IntegerOp::Add, 64, to, window);
    }
    body.result(op, vec![to])
}

pub(super) fn set_max_registers(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let increase = match op.need_keyword("action")?.as_str() {
        "increase" => true,
        "decrease" => false,
        other => return Err(unsupported(format!("has action {other}, which is not modelled"))),
    };
    let registers = u32::try_from(op.need_integer("regCount")?).map_err(internal)?;
    push(body, Instruction::SetMaxRegisters { registers, increase })
}

pub(super) fn grid_dependency(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    match op.need_keyword("kind")?.as_str() {
        "wait" => push(body, Instruction::GridDependencyWait),
        "launch_dependents" => push(body, Instruction::GridDependencyLaunch),
        other => Err(unsupported(format!("has kind {other}, which is not modelled"))),
    }
}

/// `nvvm.prefetch` of a tensor map or of a cache line. One under a predicate is left out: a prefetch has no effect.
pub(super) fn prefetch(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    if op.operands() > 1 {
        return Ok(());
    }
    let address = body.scalar(op, 0)?;
    push(body, Instruction::Prefetch { address })
}
