//! Ops of the NVVM dialect.

use super::{GLOBAL, I, J, MAP, P, SHARED, X, Y, decodes, problems};
use crate::program::*;

const CTA: MemoryOrder = MemoryOrder {
    release: false,
    acquire: false,
    strong: true,
    cta: true,
};
const RELEASE_CTA: MemoryOrder = MemoryOrder { release: true, ..CTA };
const RELEASE_CLUSTER: MemoryOrder = MemoryOrder {
    cta: false,
    ..RELEASE_CTA
};
const ACQUIRE_CTA: MemoryOrder = MemoryOrder { acquire: true, ..CTA };

#[test]
fn special_registers() {
    let read = |name: &str, ty: &str| format!("%0 = nvvm.read.ptx.sreg.{name} : {ty}");
    use SpecialRegister::*;
    let registers = [
        ("tid.x", ThreadId(0)),
        ("tid.y", ThreadId(1)),
        ("tid.z", ThreadId(2)),
        ("ntid.x", ThreadCount(0)),
        ("ctaid.y", CtaId(1)),
        ("nctaid.z", CtaCount(2)),
        ("clusterid.x", ClusterId(0)),
        ("nclusterid.x", ClusterCount(0)),
        ("cluster.ctaid.y", ClusterCtaId(1)),
        ("cluster.nctaid.z", ClusterCtaCount(2)),
        ("cluster.ctarank", ClusterCtaRank),
        ("cluster.nctarank", ClusterCtaRankCount),
        ("laneid", LaneId),
        ("warpid", WarpId),
        ("nwarpid", WarpCount),
        ("warpsize", WarpSize),
        ("smid", MultiprocessorId),
        ("nsmid", MultiprocessorCount),
        ("lanemask.eq", LaneMask(0)),
        ("lanemask.le", LaneMask(1)),
        ("lanemask.lt", LaneMask(2)),
        ("lanemask.ge", LaneMask(3)),
        ("lanemask.gt", LaneMask(4)),
        ("dynamic.smem.size", DynamicSharedBytes),
    ];
    for (name, expected) in registers {
        let code = super::code(&read(name, "i32"));
        assert!(
            matches!(code[..], [.., Instruction::Special { register, .. }] if register == expected),
            "{name}: {code:?}"
        );
    }
    decodes! {
        "%0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32" => [Instruction::Special { register: ThreadId(0), .. }];
        &read("clock64", "i64") => [Instruction::Special { register: Clock, .. }];
        &read("clock", "i32") => [Instruction::Special { register: Clock, .. },
            Instruction::Convert { conversion: Conversion::Truncate { to: 32 }, .. }];
    }
    assert_eq!(
        problems(&read("gridid", "i32"))[0].site.op,
        "nvvm.read.ptx.sreg.gridid"
    );
}

#[test]
fn warp_operations() {
    decodes! {
        "%0 = nvvm.shfl.sync bfly %i, %x, %i, %i : f32 -> f32" => [Instruction::Shuffle {
            kind: ShuffleKind::Butterfly, in_range: None, mask: I, value: X, offset: I, clamp: I, ..
        }];
        "%0 = nvvm.shfl.sync up %i, %i, %i, %i : i32 -> i32" => [Instruction::Shuffle { kind: ShuffleKind::Up, .. }];
        "%0 = nvvm.shfl.sync down %i, %i, %i, %i : i32 -> i32" => [Instruction::Shuffle { kind: ShuffleKind::Down, .. }];
        "%0 = nvvm.shfl.sync idx %i, %i, %i, %i {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
         %1 = llvm.extractvalue %0[1] : !llvm.struct<(i32, i1)>
         %2 = llvm.xor %1, %1 : i1" => [Instruction::Shuffle { kind: ShuffleKind::Index, in_range: Some(valid), .. },
            Instruction::Integer { a, .. }] if a == valid;
        "%0 = nvvm.vote.sync any %i, %p -> i1" => [Instruction::Vote { kind: VoteKind::Any, mask: I, value: P, .. }];
        "%0 = nvvm.vote.sync all %i, %p -> i1" => [Instruction::Vote { kind: VoteKind::All, .. }];
        "%0 = nvvm.vote.sync uni %i, %p -> i1" => [Instruction::Vote { kind: VoteKind::Uniform, .. }];
        "%0 = nvvm.vote.sync ballot %i, %p -> i32" => [Instruction::Vote { kind: VoteKind::Ballot, .. }];
        "%0 = nvvm.match.sync any %i, %j : i64 -> i32" => [Instruction::Vote { kind: VoteKind::MatchAny, mask: I, value: J, .. }];
        "%0 = nvvm.match.sync all %i, %i : i32 -> !llvm.struct<(i32, i1)>" => [Instruction::Vote { kind: VoteKind::MatchAll, to: mask, .. },
            Instruction::CompareInteger { predicate: IntegerPredicate::Ne, a, b: SHARED, .. }] if a == mask;
        "%0 = nvvm.elect.sync -> i1" => [Instruction::Elect { mask: None, .. }];
        "%0 = nvvm.elect.sync %i -> i1" => [Instruction::Elect { mask: Some(I), .. }];
        "%0 = nvvm.redux.sync add %i, %i : i32 -> i32" => [Instruction::WarpReduce { op: WarpReduceOp::Add, .. }];
        "%0 = nvvm.redux.sync umax %i, %i : i32 -> i32" => [Instruction::WarpReduce { op: WarpReduceOp::MaxUnsigned, .. }];
        "%0 = nvvm.redux.sync min %i, %i : i32 -> i32" => [Instruction::WarpReduce { op: WarpReduceOp::MinSigned, .. }];
        "%0 = nvvm.redux.sync fmax %x, %i : f32 -> f32" => [Instruction::WarpReduce { op: WarpReduceOp::MaxNum, .. }];
        "%0 = nvvm.redux.sync fmin %x, %i {nan = true} : f32 -> f32" => [Instruction::WarpReduce { op: WarpReduceOp::Minimum, .. }];
        "nvvm.bar.warp.sync %i : i32" => [Instruction::WarpBarrier { mask: I }];
    }
    assert!(
        problems("%0 = nvvm.redux.sync fmax %x, %i {abs = true} : f32 -> f32")[0]
            .message
            .contains("absolute values")
    );
}

#[test]
fn barriers() {
    decodes! {
        "nvvm.barrier0" => [Instruction::Barrier { kind: BarrierKind::Sync, id: None, threads: None, aligned: true }];
        "nvvm.barrier" => [Instruction::Barrier { kind: BarrierKind::Sync, id: None, threads: None, aligned: true }];
        "nvvm.barrier id = %i number_of_threads = %i" => [Instruction::Barrier { id: Some(I), threads: Some(I), .. }];
        "%0 = nvvm.barrier #nvvm.reduction<popc> %i -> i32" => [Instruction::CompareInteger { predicate: IntegerPredicate::Ne, a: I, to: predicate, .. },
            Instruction::Barrier {
                kind: BarrierKind::Reduce { op: BarrierReduceOp::PopulationCount, predicate: found, .. },
                ..
            }] if found == predicate;
        "nvvm.barrier.arrive number_of_threads = %i" => [Instruction::Barrier { kind: BarrierKind::Arrive, id: None, threads: Some(I), .. }];
        "nvvm.barrier.arrive id = %i number_of_threads = %i" => [Instruction::Barrier { kind: BarrierKind::Arrive, id: Some(I), threads: Some(I), .. }];
        "nvvm.cluster.arrive {aligned}" => [Instruction::ClusterArrive { release: true, aligned: true }];
        "nvvm.cluster.arrive.relaxed" => [Instruction::ClusterArrive { release: false, aligned: false }];
        "nvvm.cluster.wait {aligned}" => [Instruction::ClusterWait { acquire: true, aligned: true }];
    }
}

#[test]
fn mbarriers() {
    decodes! {
        "nvvm.mbarrier.init %shared, %i : !llvm.ptr<3>, i32" => [Instruction::Mbarrier {
            op: MbarrierOp::Init,
            space: Space::Shared,
            address: SHARED,
            count: Some(I),
            transaction: None,
            state: None,
            guard: None,
            ..
        }];
        "nvvm.mbarrier.init %shared, %i, predicate = %p : !llvm.ptr<3>, i32, i1" => [Instruction::Mbarrier { guard: Some(Guard { register: P, negated: false }), .. }];
        "nvvm.mbarrier.inval %shared : !llvm.ptr<3>" => [Instruction::Mbarrier { op: MbarrierOp::Invalidate, .. }];
        "nvvm.mbarrier.expect_tx %shared, %i : !llvm.ptr<3>, i32" => [Instruction::Mbarrier { op: MbarrierOp::ExpectTransaction, transaction: Some(I), order: CTA, .. }];
        "nvvm.mbarrier.complete_tx %cluster, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32" => [Instruction::Mbarrier {
                op: MbarrierOp::CompleteTransaction, space: Space::Cluster, transaction: Some(I), ..
            }];
        "%0 = nvvm.mbarrier.arrive %shared : !llvm.ptr<3> -> i64" => [Instruction::Mbarrier { op: MbarrierOp::Arrive, count: None, state: Some(_), order: RELEASE_CTA, .. }];
        "nvvm.mbarrier.arrive %cluster, %i {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>" => [Instruction::Mbarrier {
                op: MbarrierOp::Arrive, space: Space::Cluster, count: Some(I), state: None, order: RELEASE_CLUSTER, ..
            }];
        "%0 = nvvm.mbarrier.arrive %shared {relaxed = true} : !llvm.ptr<3> -> i64" => [Instruction::Mbarrier { order: CTA, .. }];
        "%0 = nvvm.mbarrier.arrive %generic : !llvm.ptr -> i64" => [Instruction::Integer { op: IntegerOp::Sub, to: address, .. },
            Instruction::Mbarrier { space: Space::Shared, address: found, .. }] if found == address;
        "%0 = nvvm.mbarrier.arrive.nocomplete %shared, %i : !llvm.ptr<3>, i32 -> i64" => [Instruction::Mbarrier { op: MbarrierOp::Arrive, count: Some(I), .. }];
        "%0 = nvvm.mbarrier.arrive_drop %shared : !llvm.ptr<3> -> i64" => [Instruction::Mbarrier { op: MbarrierOp::ArriveDrop, .. }];
        "%0 = nvvm.mbarrier.arrive_drop.nocomplete %shared, %i : !llvm.ptr<3>, i32 -> i64" => [Instruction::Mbarrier { op: MbarrierOp::ArriveDrop, count: Some(I), .. }];
        "nvvm.mbarrier.arrive.expect_tx %shared, %i : !llvm.ptr<3>, i32" => [Instruction::Mbarrier {
                op: MbarrierOp::Arrive, count: None, transaction: Some(I), order: RELEASE_CTA, guard: None, ..
            }];
        "nvvm.mbarrier.arrive.expect_tx %shared, %i, predicate = %p : !llvm.ptr<3>, i32, i1" => [Instruction::Mbarrier { guard: Some(Guard { register: P, .. }), .. }];
        "nvvm.mbarrier.arrive_drop.expect_tx %shared, %i : !llvm.ptr<3>, i32" => [Instruction::Mbarrier { op: MbarrierOp::ArriveDrop, transaction: Some(I), .. }];
        "%0 = nvvm.mbarrier.test.wait %shared, %j : !llvm.ptr<3>, i64 -> i1" => [Instruction::MbarrierWait {
            kind: WaitKind::Test, address: SHARED, phase: J, parity: false, to: Some(_), order: ACQUIRE_CTA
        }];
        "%0 = nvvm.mbarrier.try_wait %shared, %i : !llvm.ptr<3>, i32 -> i1" => [Instruction::MbarrierWait { kind: WaitKind::Try, phase: I, parity: true, .. }];
        "%0 = nvvm.mbarrier.try_wait %shared, %i, %i {relaxed = true} : !llvm.ptr<3>, i32, i32 -> i1" => [Instruction::MbarrierWait { order: CTA, .. }];
        "nvvm.mbarrier.try_wait.parity %shared, %i, %i : !llvm.ptr<3>, i32, i32" => [Instruction::MbarrierWait { kind: WaitKind::Loop, phase: I, parity: true, to: None, .. }];
    }
}

#[test]
fn copies_of_a_thread() {
    decodes! {
        "nvvm.cp.async.shared.global %shared, %global, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>" => [Instruction::CopyAsync { to: SHARED, from: GLOBAL, bytes: 16, source_bytes: None, guard: None }];
        "nvvm.cp.async.shared.global %shared, %global, 4, cache = ca, %i : !llvm.ptr<3>, !llvm.ptr<1>, i32" => [Instruction::CopyAsync { bytes: 4, source_bytes: Some(I), .. }];
        "nvvm.cp.async.commit.group" => [Instruction::CopyAsyncCommit];
        "nvvm.cp.async.wait.group 2" => [Instruction::CopyAsyncWait { pending: Some(2) }];
        "nvvm.cp.async.mbarrier.arrive %shared : !llvm.ptr<3>" => [Instruction::CopyAsyncArrive { address: SHARED, counted: false }];
        "nvvm.cp.async.mbarrier.arrive %shared {noinc = true} : !llvm.ptr<3>" => [Instruction::CopyAsyncArrive { counted: true, .. }];
    }
}

#[test]
fn bulk_copies() {
    decodes! {
        "nvvm.cp.async.bulk.shared.cluster.global %shared, %global, %shared, %i l2_cache_hint = %j \
         : !llvm.ptr<3>, !llvm.ptr<1>" => [Instruction::BulkCopy {
            destination: BulkPlace { space: Space::Shared, address: SHARED },
            source: BulkPlace { space: Space::Global, address: GLOBAL },
            bytes: I,
            completion: Completion::Mbarrier(SHARED),
            multicast: None,
            reduce: None,
            guard: None,
        }];
        "nvvm.cp.async.bulk.shared.cluster.global %cluster, %global, %shared, %i multicast_mask = %h \
         : !llvm.ptr<7>, !llvm.ptr<1>" => [Instruction::BulkCopy {
            destination: BulkPlace { space: Space::Cluster, .. },
            multicast: Some(super::H),
            ..
        }];
        "nvvm.cp.async.bulk.global.shared.cta %global, %shared, %i : !llvm.ptr<1>, !llvm.ptr<3>" => [Instruction::BulkCopy {
                destination: BulkPlace { space: Space::Global, .. },
                source: BulkPlace { space: Space::Shared, .. },
                completion: Completion::Group,
                ..
            }];
        "nvvm.cp.async.bulk.shared.cluster.shared.cta %cluster, %shared, %shared, %i : !llvm.ptr<7>, !llvm.ptr<3>" => [Instruction::BulkCopy {
                destination: BulkPlace { space: Space::Cluster, .. },
                source: BulkPlace { space: Space::Shared, .. },
                completion: Completion::Mbarrier(_),
                bytes: I,
                ..
            }];
        "nvvm.cp.async.bulk.prefetch %global, %i : !llvm.ptr<1>" => [Instruction::Prefetch { address: GLOBAL }];
        "nvvm.cp.async.bulk.commit.group" => [Instruction::BulkCommit];
        "nvvm.cp.async.bulk.wait_group 1 {read}" => [Instruction::BulkWait { pending: 1, read: true }];
        "nvvm.cp.async.bulk.wait_group 0" => [Instruction::BulkWait { pending: 0, read: false }];
    }
    let masked = problems(
        "nvvm.cp.async.bulk.global.shared.cta %global, %shared, %i byte_mask = %h : !llvm.ptr<1>, !llvm.ptr<3>",
    );
    assert!(masked[0].message.contains("byte mask"));
}

#[test]
fn tensor_copies() {
    decodes! {
        "nvvm.cp.async.bulk.tensor.shared.cluster.global %shared, %map, %shared, box[%i, %i] {isCTAOnly = true} \
         : !llvm.ptr<3>, !llvm.ptr" => [Instruction::TensorCopy {
            map: MAP,
            shared: BulkPlace { space: Space::Shared, address: SHARED },
            store: false,
            completion: Completion::Mbarrier(SHARED),
            multicast: None,
            reduce: None,
            guard: None,
            ..
        }];
        "nvvm.cp.async.bulk.tensor.shared.cluster.global %cluster, %map, %shared, box[%i] multicast_mask = %h \
         l2_cache_hint = %j predicate = %p : !llvm.ptr<7>, !llvm.ptr" => [Instruction::TensorCopy {
            shared: BulkPlace { space: Space::Cluster, .. },
            multicast: Some(super::H),
            guard: Some(Guard { register: P, .. }),
            ..
        }];
        "nvvm.cp.async.bulk.tensor.global.shared.cta %map, %shared, box[%i, %i] : !llvm.ptr, !llvm.ptr<3>" => [Instruction::TensorCopy { store: true, completion: Completion::Group, .. }];
        "nvvm.cp.async.bulk.tensor.prefetch %map, box[%i, %i] : !llvm.ptr" => [Instruction::Prefetch { address: MAP }];
    }
    let im2col = problems(
        "nvvm.cp.async.bulk.tensor.prefetch %map, box[%i, %i, %i] im2col[%h] \
         {mode = #nvvm.tma_load_mode<im2col>} : !llvm.ptr",
    );
    assert_eq!(im2col[0].message, "has mode = im2col; only tile is modelled");
}

#[test]
fn fences() {
    decodes! {
        "nvvm.memory.barrier #nvvm.mem_scope<gpu>" => [Instruction::Fence(Fence::AcquireRelease { cta: false })];
        "nvvm.memory.barrier #nvvm.mem_scope<cta>" => [Instruction::Fence(Fence::AcquireRelease { cta: true })];
        "nvvm.fence.sc.cluster" => [Instruction::Fence(Fence::AcquireRelease { cta: false })];
        "nvvm.fence.mbarrier.init" => [Instruction::Fence(Fence::MbarrierInit)];
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}" => [Instruction::Fence(Fence::ProxyAsync { shared: true, global: true })];
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}" => [Instruction::Fence(Fence::ProxyAsync { shared: true, global: false })];
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}" => [Instruction::Fence(Fence::ProxyAsync { shared: false, global: true })];
        "nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}" => [Instruction::Fence(Fence::OtherProxy)];
        "nvvm.fence.proxy.release #nvvm.mem_scope<gpu>" => [Instruction::Fence(Fence::OtherProxy)];
        "%c = llvm.mlir.constant(128 : i32) : i32
         nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %generic, %c" => [Instruction::Fence(Fence::OtherProxy)];
    }
}

/// A conversion of one f32.
macro_rules! rounded {
    ($to:ident, $rounding:ident, $saturate:literal, $relu:literal, $from:pat) => {
        Instruction::Convert {
            conversion: Conversion::Float {
                from: Format::F32,
                to: Format::$to,
                rounding: Rounding::$rounding,
                saturate: $saturate,
                relu: $relu,
            },
            from: $from,
            ..
        }
    };
}

#[test]
fn conversions_of_pairs() {
    decodes! {
        "%0 = nvvm.convert.f32x2.to.bf16x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>" => [rounded!(BF16, NearestEven, false, false, Y), rounded!(BF16, NearestEven, false, false, X)];
        "%0 = nvvm.convert.f32x2.to.f16x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rz>, relu = true} : vector<2xf16>" => [rounded!(F16, Zero, false, true, Y), rounded!(F16, Zero, false, true, X)];
        "%0 = nvvm.convert.f32x2.to.f8x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} \
         : i16 (f8E4M3FN)" => [rounded!(F8E4M3FN, NearestEven, true, false, Y),
            rounded!(F8E4M3FN, NearestEven, true, false, X),
            Instruction::Repack { to_bits: 16, from_bits: 8, .. }];
        "%v = llvm.bitcast %i : i32 to vector<2xf16>
         %0 = nvvm.convert.f16x2.to.f8x2 %v : vector<2xf16> -> vector<2xi8> (f8E5M2)" => [Instruction::Convert { conversion: Conversion::Float { from: Format::F16, to: Format::F8E5M2, .. }, .. }];
        "%v = llvm.bitcast %h : i16 to vector<2xi8>
         %0 = nvvm.convert.f8x2.to.f16x2 %v : vector<2xi8> (f8E4M3FN) -> vector<2xf16>" => [Instruction::Convert { conversion: Conversion::Float { from: Format::F8E4M3FN, to: Format::F16, .. }, .. }];
    }
}

#[test]
fn conversions_to_formats_of_scales_are_not_modelled() {
    let found = problems(
        "%0 = nvvm.convert.f32x2.to.f8x2 %x, %y {rnd = #nvvm.fp_rnd_mode<rz>, sat = #nvvm.sat_mode<satfinite>} \
         : i16 (f8E8M0FNU)",
    );
    assert_eq!(found[0].message, "uses type f8E8M0FNU, which is not modelled");
}

#[test]
fn byte_permutation_and_reciprocal() {
    decodes! {
        "%0 = nvvm.prmt #nvvm.permute_mode<default> %i, %i, %i : i32" => [Instruction::PermuteBytes { a: I, b: I, selector: I, .. }];
        "%0 = nvvm.rcp.approx.ftz.f %x : f32" => [Instruction::Approximate { function: ApproximateFunction::Reciprocal, flush: true, a: X, .. }];
    }
    assert!(
        problems("%0 = nvvm.prmt #nvvm.permute_mode<rc8> %i, %i : i32")[0]
            .message
            .contains("rc8")
    );
}

#[test]
fn everything_else() {
    decodes! {
        "%0 = nvvm.mapa %shared, %i : !llvm.ptr<3> -> !llvm.ptr<7>" => [Instruction::MapToCta { address: SHARED, rank: I, .. }];
        "%0 = nvvm.mapa %generic, %i : !llvm.ptr -> !llvm.ptr" => [Instruction::Integer { op: IntegerOp::Sub, .. },
            Instruction::MapToCta { .. },
            Instruction::Integer { op: IntegerOp::Add, .. }];
        "nvvm.setmaxregister decrease 24" => [Instruction::SetMaxRegisters { registers: 24, increase: false }];
        "nvvm.setmaxregister increase 104" => [Instruction::SetMaxRegisters { registers: 104, increase: true }];
        "nvvm.griddepcontrol wait" => [Instruction::GridDependencyWait];
        "nvvm.griddepcontrol launch_dependents" => [Instruction::GridDependencyLaunch];
        "nvvm.prefetch tensormap, %map : !llvm.ptr" => [Instruction::Prefetch { address: MAP }];
        "nvvm.prefetch level = L2, %global : !llvm.ptr<1>" => [Instruction::Prefetch { address: GLOBAL }];
        "nvvm.exit" => [Instruction::Return];
        "nvvm.fence.mbarrier.init
         nvvm.nanosleep %i" => [Instruction::Fence(_)];
    }
}
