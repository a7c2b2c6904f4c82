//! Ops of the NVVM dialect. Each is one PTX instruction, whose meaning the PTX ISA gives.

mod barrier;
mod bulk;
mod convert;
mod copy;
mod fence;
pub(super) mod mbarrier;
pub(super) mod special;
mod tensor;
mod warp;

use super::{
    asm,
    body::Body,
    error::{Result, unsupported},
    op::Op,
};
use crate::program::{Guard, Instruction, MemoryOrder};

/// Decodes one op.
pub(super) fn decode(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    match op.name {
        "nvvm.shfl.sync" => warp::shuffle(op, body),
        "nvvm.vote.sync" => warp::vote(op, body),
        "nvvm.match.sync" => warp::matching(op, body),
        "nvvm.elect.sync" => warp::elect(op, body),
        "nvvm.redux.sync" => warp::reduce(op, body),
        "nvvm.bar.warp.sync" => warp::barrier(op, body),

        "nvvm.barrier0" => barrier::barrier_zero(body),
        "nvvm.barrier" => barrier::barrier(op, body),
        "nvvm.barrier.arrive" => barrier::arrive(op, body),
        "nvvm.cluster.arrive" => barrier::cluster_arrive(op, body, true),
        "nvvm.cluster.arrive.relaxed" => barrier::cluster_arrive(op, body, false),
        "nvvm.cluster.wait" => barrier::cluster_wait(op, body),

        "nvvm.mbarrier.init" => mbarrier::init(op, body),
        "nvvm.mbarrier.inval" => mbarrier::invalidate(op, body),
        "nvvm.mbarrier.expect_tx" => mbarrier::expect(op, body),
        "nvvm.mbarrier.complete_tx" => mbarrier::complete(op, body),
        "nvvm.mbarrier.arrive" | "nvvm.mbarrier.arrive.nocomplete" => mbarrier::arrive(op, body, false),
        "nvvm.mbarrier.arrive_drop" | "nvvm.mbarrier.arrive_drop.nocomplete" => {
            mbarrier::arrive(op, body, true)
        }
        "nvvm.mbarrier.arrive.expect_tx" => mbarrier::arrive_expecting(op, body, false),
        "nvvm.mbarrier.arrive_drop.expect_tx" => mbarrier::arrive_expecting(op, body, true),
        "nvvm.mbarrier.test.wait" => mbarrier::test(op, body),
        "nvvm.mbarrier.try_wait" => mbarrier::try_wait(op, body),
        "nvvm.mbarrier.try_wait.parity" => mbarrier::wait(op, body),

        "nvvm.cp.async.shared.global" => copy::copy(op, body),
        "nvvm.cp.async.commit.group" => push(body, Instruction::CopyAsyncCommit),
        "nvvm.cp.async.wait.group" => copy::wait(op, body),
        "nvvm.cp.async.mbarrier.arrive" => copy::arrive(op, body),

        "nvvm.cp.async.bulk.shared.cluster.global" => bulk::global_to_shared(op, body),
        "nvvm.cp.async.bulk.global.shared.cta" => bulk::shared_to_global(op, body),
        "nvvm.cp.async.bulk.shared.cluster.shared.cta" => bulk::shared_to_cluster(op, body),
        "nvvm.cp.async.bulk.prefetch" => bulk::prefetch(op, body),
        "nvvm.cp.async.bulk.commit.group" => push(body, Instruction::BulkCommit),
        "nvvm.cp.async.bulk.wait_group" => bulk::wait(op, body),
        "nvvm.cp.async.bulk.tensor.shared.cluster.global" => tensor::load(op, body),
        "nvvm.cp.async.bulk.tensor.global.shared.cta" => tensor::store(op, body),
        "nvvm.cp.async.bulk.tensor.prefetch" => tensor::prefetch(op, body),

        "nvvm.memory.barrier" => fence::membar(op, body),
        "nvvm.fence.sc.cluster" => fence::sequential(body),
        "nvvm.fence.mbarrier.init" => fence::mbarrier_init(body),
        "nvvm.fence.proxy" => fence::proxy(op, body),
        "nvvm.fence.proxy.acquire" | "nvvm.fence.proxy.release" => fence::tensor_map(op, body),

        "nvvm.prmt" => convert::permute(op, body),
        "nvvm.rcp.approx.ftz.f" => convert::reciprocal(op, body),
        "nvvm.convert.f32x2.to.bf16x2" | "nvvm.convert.f32x2.to.f16x2" => convert::to_halves(op, body),
        "nvvm.convert.f32x2.to.f8x2" => convert::floats_to_bytes(op, body),
        "nvvm.convert.f16x2.to.f8x2" => convert::halves_to_bytes(op, body),
        "nvvm.convert.f8x2.to.f16x2" => convert::bytes_to_halves(op, body),

        "nvvm.mapa" => special::map_to_cta(op, body),
        "nvvm.setmaxregister" => special::set_max_registers(op, body),
        "nvvm.griddepcontrol" => special::grid_dependency(op, body),
        "nvvm.prefetch" => special::prefetch(op, body),
        "nvvm.exit" => push(body, Instruction::Return),
        // Sleeping only delays a thread, and no program may rely on that.
        "nvvm.nanosleep" => Ok(()),
        "nvvm.inline_ptx" => asm::inline_ptx(op, body),

        name => match name.strip_prefix("nvvm.read.ptx.sreg.") {
            Some(register) => special::read(op, body, register),
            None => Err(unsupported("is not modelled")),
        },
    }
}

fn push(body: &mut Body<'_>, instruction: Instruction) -> Result<()> {
    body.push(instruction);
    Ok(())
}

/// The guard of an op with a predicate.
fn guard(op: &Op<'_, '_>, body: &Body<'_>, predicate: Option<usize>) -> Result<Option<Guard>> {
    Ok(body.maybe(op, predicate)?.map(|register| Guard {
        register,
        negated: false,
    }))
}

/// Whether an op's scope is the CTA, which it is if none is stated.
fn is_cta_scope(op: &Op<'_, '_>) -> Result<bool> {
    match op.keyword("scope").as_deref() {
        None | Some("cta") => Ok(true),
        Some("cluster" | "gpu" | "sys") => Ok(false),
        Some(other) => Err(unsupported(format!("has scope {other}, which is not modelled"))),
    }
}

/// A strong operation of the op's scope, without acquire or release.
fn relaxed(op: &Op<'_, '_>) -> Result<MemoryOrder> {
    Ok(MemoryOrder {
        release: false,
        acquire: false,
        strong: true,
        cta: is_cta_scope(op)?,
    })
}
