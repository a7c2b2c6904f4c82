//! Mistakes in the order of threads and copies: passes that insert barriers, or that make pipelines of asynchronous
//! copies, can leave out a barrier or a wait, order too little, or count wrong.

use norma_targets::{COPY_ENGINE_GRANULE, WARP_SIZE};

use super::context::Context;
use super::{Variant, after, with};
use crate::program::{
    AtomicFormat, AtomicOp, BarrierKind, Fence, Instruction, IntegerOp, MbarrierOp, MemoryOrder, Register,
};

const WARP: u32 = WARP_SIZE as u32;

pub(super) fn variants(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    match instruction {
        Instruction::Barrier {
            kind: BarrierKind::Sync | BarrierKind::Arrive,
            id,
            threads,
            ..
        } => barrier(context, instruction, *id, *threads),
        // An arrival without a wait is an error of its own, and so is the opposite. Relaxing the arrival shows the
        // effect of a missing barrier: it takes away the order.
        Instruction::ClusterArrive { release, .. } => {
            let mut variants = vec![Variant::dropped("drop the arrival")];
            if *release {
                variants.push(Variant::other("relax the arrival", with(instruction, relax)));
            }
            variants
        }
        Instruction::ClusterWait { .. } => vec![Variant::dropped("drop the wait")],
        Instruction::WarpBarrier { .. } => vec![Variant::dropped("drop the warp's barrier")],
        Instruction::Mbarrier { .. } => mbarrier(context, instruction),
        Instruction::MbarrierWait { .. } => mbarrier_wait(context, instruction),
        Instruction::CopyAsyncCommit | Instruction::BulkCommit => vec![Variant::dropped("drop the commit")],
        Instruction::CopyAsyncWait { .. } | Instruction::BulkWait { .. } => vec![
            Variant::dropped("drop the wait"),
            // A pipeline of the wrong depth.
            Variant::other("leave one more group pending", with(instruction, one_more_group)),
        ],
        Instruction::CopyAsyncArrive { .. } => vec![Variant::dropped("drop the arrival")],
        Instruction::BulkCopy { bytes, .. } => {
            // The size of a tile that was rounded down.
            let less = context.more(*bytes, -COPY_ENGINE_GRANULE, 32);
            let shorter = with(instruction, |copy| {
                if let Instruction::BulkCopy { bytes, .. } = copy {
                    *bytes = less.register;
                }
            });
            vec![Variant::new("copy 16 bytes less", after(less.code, shorter))]
        }
        Instruction::Fence(fence) if *fence != Fence::OtherProxy => {
            let mut variants = vec![Variant::dropped("drop the fence")];
            if let Fence::ProxyAsync { shared, global } = *fence {
                // The fence of another state space.
                let other = Fence::ProxyAsync {
                    shared: !shared,
                    global: !global,
                };
                let other = Instruction::Fence(other);
                variants.extend((shared != global).then(|| Variant::other("fence the other memory", other)));
            }
            variants
        }
        // A flag that is read or written like data.
        Instruction::Load { order, .. } | Instruction::Store { order, .. } if order.strong => {
            vec![Variant::other(
                "make it an ordinary access",
                with(instruction, relax),
            )]
        }
        Instruction::Atomic { .. } => atomic(context, instruction),
        Instruction::GridDependencyWait => vec![Variant::dropped("drop the wait")],
        // Without it others wait for registers. How many a thread needs is up to the assembler, which would spill where it may
        // not take more, so that an increase is no matter of order.
        Instruction::SetMaxRegisters { increase: false, .. } => vec![Variant::dropped("keep the registers")],
        _ => Vec::new(),
    }
}

/// Takes away the order that an instruction establishes.
fn relax(instruction: &mut Instruction) {
    match instruction {
        Instruction::ClusterArrive { release, .. } => *release = false,
        Instruction::Load { order, .. } | Instruction::Store { order, .. } => *order = MemoryOrder::default(),
        Instruction::Mbarrier { order, .. } => order.release = false,
        Instruction::Atomic { order, .. } => (order.acquire, order.release) = (false, false),
        _ => {}
    }
}

fn atomic(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    let &Instruction::Atomic {
        space,
        order,
        op,
        format,
        to,
        address,
        operand,
        guard,
        ..
    } = instruction
    else {
        return Vec::new();
    };
    let mut variants = Vec::new();
    if order.acquire || order.release {
        variants.push(Variant::other("relax the atomic", with(instruction, relax)));
    }
    if op == AtomicOp::Exchange {
        // The exchange that resets a counter.
        let nothing = to.map(|to| Instruction::Constant { to, value: 0 });
        variants.push(Variant::new("drop the exchange", nothing.into_iter().collect()));
    }
    if let (AtomicOp::Add | AtomicOp::Exchange, AtomicFormat::Unsigned(bits)) = (op, format) {
        // A counter that is read and written like data.
        let old = to.unwrap_or(context.fresh);
        let new = match op {
            AtomicOp::Exchange => operand,
            _ => context.fresh + 1,
        };
        let bytes = bits.div_ceil(8);
        let mut code = vec![Instruction::Load {
            space,
            order: MemoryOrder::default(),
            invariant: false,
            to: vec![old],
            bytes,
            address,
            align: bytes.into(),
            guard,
        }];
        if new != operand {
            code.push(Instruction::Integer {
                op: IntegerOp::Add,
                bits,
                to: new,
                a: old,
                b: operand,
            });
        }
        code.push(Instruction::Store {
            space,
            order: MemoryOrder::default(),
            from: vec![new],
            bytes,
            address,
            align: bytes.into(),
            guard,
        });
        variants.push(Variant::new("make it a read and a write", code));
    }
    variants
}

fn one_more_group(wait: &mut Instruction) {
    match wait {
        Instruction::CopyAsyncWait { pending } => *pending = Some(pending.unwrap_or(0) + 1),
        Instruction::BulkWait { pending, .. } => *pending += 1,
        _ => {}
    }
}

fn barrier(
    context: &Context,
    instruction: &Instruction,
    id: Option<Register>,
    threads: Option<Register>,
) -> Vec<Variant> {
    let mut variants = vec![Variant::dropped("drop the barrier")];
    let count = match threads {
        Some(register) => context.constant(register),
        None => context.threads.map(u64::from),
    };
    // A count of the threads that compute, where others take part too.
    if let Some(count) = count.filter(|count| *count > u64::from(WARP)) {
        let less = context.value(count - u64::from(WARP), 32);
        let smaller = with(instruction, |barrier| {
            if let Instruction::Barrier { threads, .. } = barrier {
                *threads = Some(less.register);
            }
        });
        variants.push(Variant::new("wait for a warp less", after(less.code, smaller)));
    }
    // One barrier for several groups of threads. A barrier of the whole CTA is as good as another of the whole CTA.
    if id.is_some_and(|id| context.constant(id).is_none()) {
        let one = context.value(1, 32);
        let shared = with(instruction, |barrier| {
            if let Instruction::Barrier { id, .. } = barrier {
                *id = Some(one.register);
            }
        });
        variants.push(Variant::new("use barrier 1 for all", after(one.code, shared)));
    } else if let (Some(id), Some(_)) = (id, threads) {
        let next = context.more(id, 1, 32);
        let other = with(instruction, |barrier| {
            if let Instruction::Barrier { id, .. } = barrier {
                *id = Some(next.register);
            }
        });
        variants.push(Variant::new("use the next barrier", after(next.code, other)));
    }
    variants
}

fn mbarrier(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    let Instruction::Mbarrier {
        op,
        count,
        transaction,
        order,
        ..
    } = instruction
    else {
        return Vec::new();
    };
    let mut variants = match op {
        MbarrierOp::Init => vec![Variant::dropped("drop the initialization")],
        MbarrierOp::Arrive | MbarrierOp::ArriveDrop => vec![Variant::dropped("drop the arrival")],
        MbarrierOp::ExpectTransaction => vec![Variant::dropped("drop the expected bytes")],
        MbarrierOp::CompleteTransaction => vec![Variant::dropped("drop the completed bytes")],
        MbarrierOp::Invalidate => Vec::new(),
    };
    if let (MbarrierOp::Init, Some(count)) = (op, count) {
        // The number of consumers, with or without the producer.
        for (what, by) in [("expect an arrival more", 1), ("expect an arrival less", -1)] {
            let other = context.more(*count, by, 32);
            let init = with(instruction, |init| {
                if let Instruction::Mbarrier { count, .. } = init {
                    *count = Some(other.register);
                }
            });
            variants.push(Variant::new(what, after(other.code, init)));
        }
    }
    if let Some(bytes) = transaction {
        if matches!(op, MbarrierOp::Arrive | MbarrierOp::ArriveDrop) {
            let without = with(instruction, |arrive| {
                if let Instruction::Mbarrier { transaction, .. } = arrive {
                    *transaction = None;
                }
            });
            variants.push(Variant::other("drop the expected bytes", without));
        }
        // Bytes of a copy whose size was computed in two places.
        for (what, by) in [
            ("expect 16 bytes more", COPY_ENGINE_GRANULE),
            ("expect 16 bytes less", -COPY_ENGINE_GRANULE),
        ] {
            let other = context.more(*bytes, by, 32);
            let expect = with(instruction, |expect| {
                if let Instruction::Mbarrier { transaction, .. } = expect {
                    *transaction = Some(other.register);
                }
            });
            variants.push(Variant::new(what, after(other.code, expect)));
        }
    }
    if order.release && matches!(op, MbarrierOp::Arrive | MbarrierOp::ArriveDrop) {
        variants.push(Variant::other("relax the arrival", with(instruction, relax)));
    }
    variants
}

fn mbarrier_wait(context: &Context, instruction: &Instruction) -> Vec<Variant> {
    let Instruction::MbarrierWait {
        to, phase, parity, ..
    } = instruction
    else {
        return Vec::new();
    };
    let through = to.map(|to| Instruction::Constant { to, value: 1 });
    let mut variants = vec![Variant::new("drop the wait", through.into_iter().collect())];
    if *parity {
        // A ring that counts its rounds from 1.
        let other = context.flipped(*phase);
        let wait = with(instruction, |wait| {
            if let Instruction::MbarrierWait { phase, .. } = wait {
                *phase = other.register;
            }
        });
        variants.push(Variant::new("wait for the other parity", after(other.code, wait)));
    }
    variants
}
