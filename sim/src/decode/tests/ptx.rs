//! PTX within ops.

use super::{GLOBAL, I, J, P, SHARED, X, Y, code, decode, decodes, problems};
use crate::program::*;

/// An `llvm.inline_asm` with an i32 as `$0`, and as operands: `$1` a global and `$2` a shared address, `$3` an i32,
/// `$4` an i1, `$5` an f32, `$6` an i64, `$7` an f32.
fn asm(text: &str) -> String {
    format!(
        "%0 = llvm.inline_asm has_side_effects \"{text}\", \"=r,l,l,r,b,f,l,f\" %global, %shared, %i, %p, %x, %j, %y \
         : (!llvm.ptr<1>, !llvm.ptr<3>, i32, i1, f32, i64, f32) -> i32"
    )
}

/// Asserts that each PTX text ends with instructions of those patterns, not counting the copy to the result.
macro_rules! ptx {
    ($($text:expr => [$($pattern:pat),+] $(if $guard:expr)?;)+) => { $({
        let mut code = code(&asm($text));
        if matches!(code.last(), Some(Instruction::Copy { .. })) && code.len() > 1 {
            code.pop();
        }
        assert!(matches!(&code[..], [.., $($pattern),+] $(if $guard)?), "{}\n{code:#?}", $text);
    })+ };
}

const GUARD: Guard = Guard {
    register: P,
    negated: false,
};

#[test]
fn loads_and_stores() {
    ptx! {
        "ld.global.b32 $0, [$1];" => [Instruction::Load {
            space: Space::Global, invariant: false, bytes: 4, address: GLOBAL, align: 4, guard: None, ..
        }];
        "ld.global.nc.L1::no_allocate.L2::128B.u16 $0, [$1];" => [Instruction::Load { invariant: true, bytes: 2, .. }];
        "ld.shared::cta.u8 $0, [$2+4];" => [Instruction::Address { a: SHARED, scale: 1, .. },
            Instruction::Load { space: Space::Shared, bytes: 1, .. }];
        "ld.acquire.gpu.global.b32 $0, [$1];" => [Instruction::Load {
            order: MemoryOrder { acquire: true, release: false, strong: true, cta: false }, ..
        }];
        "ld.relaxed.cta.shared.b32 $0, [$2];" => [Instruction::Load { order: MemoryOrder { strong: true, cta: true, .. }, .. }];
        "ld.volatile.global.b32 $0, [$1];" => [Instruction::Load { order: MemoryOrder { strong: true, .. }, .. }];
        "ld.shared.s8 $0, [$2];" => [Instruction::Load { bytes: 1, .. },
            Instruction::Convert { conversion: Conversion::SignExtend { from: 8, to: 32 }, .. }];
        "st.global.L1::no_allocate.b32 [$1], $3;" => [Instruction::Store { space: Space::Global, address: GLOBAL, bytes: 4, guard: None, .. }];
        "@$4 st.shared.v2.b32 [$2], {$3, $5};" => [Instruction::Store { align: 8, guard: Some(GUARD), .. }];
        "@!$4 st.release.cluster.shared::cluster.b32 [$2], $3;" => [Instruction::Store {
            space: Space::Cluster,
            order: MemoryOrder { release: true, cta: false, .. },
            guard: Some(Guard { register: P, negated: true }),
            ..
        }];
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$2], $3, [$2];" => [Instruction::StoreAsync { address: SHARED, bytes: 4, mbarrier: SHARED, .. }];
        "prefetch.global.L2 [$1];" => [Instruction::Prefetch { address: GLOBAL }];
    }
}

#[test]
fn the_loads_that_the_compiler_generates() {
    let code = code(
        "%0 = llvm.inline_asm has_side_effects \"{ .reg .b64 policy; \
         createpolicy.fractional.L2::evict_first.b64 policy, 1.0; mov.b32 $0, 0; mov.b32 $1, 0; \
         @$3 ld.global.L1::no_allocate.L2::cache_hint.v2.b32 {$0, $1}, [$2], policy; }\", \"=r,=r,l,b\" %global, %p \
         : (!llvm.ptr<1>, i1) -> !llvm.struct<(i32, i32)>",
    );
    let [
        ..,
        Instruction::Copy {
            to: first,
            from: SHARED,
        },
        Instruction::Copy { to: second, .. },
        load,
    ] = &code[..]
    else {
        unreachable!("{code:?}")
    };
    let Instruction::Load {
        to,
        guard: Some(GUARD),
        align: 8,
        ..
    } = load
    else {
        unreachable!("{code:?}")
    };
    assert_eq!(
        to[..],
        [*first, *second],
        "lanes without the guard keep the zeros"
    );
}

#[test]
fn atomic_operations() {
    ptx! {
        "atom.global.add.u32 $0, [$1], $3;" => [Instruction::Atomic {
            space: Space::Global,
            order: MemoryOrder { strong: true, cta: false, acquire: false, release: false },
            op: AtomicOp::Add,
            format: AtomicFormat::Unsigned(32),
            to: Some(_),
            operand: I,
            ..
        }];
        "atom.acq_rel.cta.shared.cas.b32 $0, [$2], $3, $3;" => [Instruction::Atomic {
            order: MemoryOrder { acquire: true, release: true, cta: true, .. },
            op: AtomicOp::CompareAndSwap,
            expected: Some(I),
            ..
        }];
        "red.global.add.f32 [$1], $5;" => [Instruction::Atomic { format: AtomicFormat::Float(Format::F32), to: None, operand: X, .. }];
        "@$4 red.relaxed.gpu.global.max.s32 [$1], $3;" => [Instruction::Atomic { op: AtomicOp::Max, format: AtomicFormat::Signed(32), guard: Some(GUARD), .. }];
        "red.global.add.noftz.bf16x2 [$1], $3;" => [Instruction::Atomic { format: AtomicFormat::Pair(Format::BF16), .. }];
    }
}

#[test]
fn integer_arithmetic() {
    ptx! {
        "mov.u32 $0, %tid.x;" => [Instruction::Special { register: SpecialRegister::ThreadId(0), .. }];
        "add.s32 $0, $3, 5;" => [Instruction::Integer { op: IntegerOp::Add, bits: 32, a: I, .. }];
        "mad.lo.s32 $0, $3, $3, $3;" => [Instruction::Integer { op: IntegerOp::Mul, .. }, Instruction::Integer { op: IntegerOp::Add, b: I, .. }];
        "mul.hi.u32 $0, $3, $3;" => [Instruction::Integer { op: IntegerOp::MulHighUnsigned, .. }];
        "{ .reg .s64 t; mul.wide.s32 t, $3, $3; cvt.u32.u64 $0, t; }" => [Instruction::Integer { op: IntegerOp::Mul, bits: 64, .. },
            Instruction::Copy { .. },
            Instruction::Convert { conversion: Conversion::Truncate { to: 32 }, .. }];
        "min.u32 $0, $3, $3;" => [Instruction::Integer { op: IntegerOp::MinUnsigned, .. }];
        "and.b32 $0, $3, 0xffff0000;" => [Instruction::Integer { op: IntegerOp::And, a: I, .. }];
        "shl.b32 $0, $3, 16;" => [Instruction::Integer { op: IntegerOp::Shl, a: I, .. }];
        "shr.s32 $0, $3, $3;" => [Instruction::Integer { op: IntegerOp::MinUnsigned, .. }, Instruction::Integer { op: IntegerOp::AShr, .. }];
        "shr.u32 $0, $3, $3;" => [Instruction::Integer { op: IntegerOp::LShr, .. },
            Instruction::CompareInteger { predicate: IntegerPredicate::Ule, .. },
            Instruction::Select { .. }];
        "prmt.b32 $0, $3, $3, 0x5410;" => [Instruction::PermuteBytes { a: I, b: I, .. }];
        "popc.b32 $0, $3;" => [Instruction::Integer { op: IntegerOp::PopulationCount, .. }];
        "{ .reg .pred q; setp.lt.s32 q, $3, 0; selp.b32 $0, $3, 1, q; }" => [Instruction::CompareInteger { predicate: IntegerPredicate::Slt, .. },
            Instruction::Copy { .. },
            Instruction::Select { yes: I, .. }];
        "{ .reg .b32 lo, hi; mov.b64 {lo, hi}, $6; mov.b32 $0, hi; }" => [Instruction::Repack { to_bits: 32, from_bits: 64, .. }];
    }
}

/// PTX ISA, "mad": with `.wide` the addend is twice as wide as the factors.
#[test]
fn a_wide_multiplication_adds_a_wide_constant() {
    for (ty, factor, addend) in [("s32", 4, 0xffff_ffff_ffff_fff8), ("u16", 4, 0xffff_fff8)] {
        let code = code(&asm(&format!(
            "{{ .reg .b64 t; .reg .b16 h; mad.wide.{ty} t, h, {factor}, -8; cvt.u32.u64 $0, t; }}"
        )));
        let constant = |register: &Register| {
            code.iter().find_map(|instruction| match instruction {
                Instruction::Constant { to, value } if to == register => Some(*value),
                _ => None,
            })
        };
        let sum = code.iter().find_map(|instruction| match instruction {
            Instruction::Integer {
                op: IntegerOp::Add,
                b,
                ..
            } => constant(b),
            _ => None,
        });
        assert_eq!(sum, Some(addend), "{code:#?}");
    }
}

#[test]
fn lop3_is_the_union_of_its_minterms() {
    // 0x80 is a & b & c.
    ptx! {
        "lop3.b32 $0, $3, $3, $3, 0x80;" => [Instruction::Integer { op: IntegerOp::And, b: I, .. },
            Instruction::Integer { op: IntegerOp::And, b: I, .. },
            Instruction::Integer { op: IntegerOp::And, b: I, .. },
            Instruction::Integer { op: IntegerOp::Or, .. }];
    }
}

#[test]
fn float_arithmetic() {
    ptx! {
        "add.f32 $0, $5, $7;" => [Instruction::Float { op: FloatOp::Add, format: Format::F32, a: X, b: Y, .. }];
        "fma.rn.ftz.f32 $0, $5, $7, $5;" => [Instruction::FusedMultiplyAdd { flush: true, a: X, b: Y, c: X, .. }];
        "max.NaN.f32 $0, $5, $7;" => [Instruction::Float { op: FloatOp::Maximum, .. }];
        "mul.f32 $0, $5, 0f40000000;" => [Instruction::Float { op: FloatOp::Mul, a: X, .. }];
        "div.rn.f32 $0, $5, $7;" => [Instruction::Float { op: FloatOp::Div, .. }];
        "div.approx.f32 $0, $5, $7;" => [Instruction::Approximate { function: ApproximateFunction::Divide, a: X, b: Y, .. }];
        "div.full.ftz.f32 $0, $5, $7;" => [Instruction::Approximate { function: ApproximateFunction::DivideFull, flush: true, a: X, b: Y, .. }];
        "ex2.approx.ftz.f32 $0, $5;" => [Instruction::Approximate { function: ApproximateFunction::Exp2, flush: true, a: X, .. }];
        "rsqrt.approx.f32 $0, $5;" => [Instruction::Approximate { function: ApproximateFunction::ReciprocalSquareRoot, flush: false, .. }];
        "sqrt.rn.f32 $0, $5;" => [Instruction::Float { op: FloatOp::Sqrt, .. }];
        "tanh.approx.f32 $0, $5;" => [Instruction::Approximate { function: ApproximateFunction::Tanh, .. }];
        "add.rn.bf16x2 $0, $3, $3;" => [Instruction::Float { format: Format::BF16, .. },
            Instruction::Float { format: Format::BF16, .. },
            Instruction::Repack { to_bits: 32, .. }];
        "cvt.rn.bf16x2.f32 $0, $5, $7;" => [Instruction::Convert { from: Y, .. }, Instruction::Convert { from: X, .. }, Instruction::Repack { .. }];
        "cvt.rzi.s32.f32 $0, $5;" => [Instruction::Convert {
            conversion: Conversion::FloatToInteger {
                from: Format::F32, to: 32, signed: true, rounding: Rounding::Zero
            }, ..
        }];
    }
    assert_eq!(
        problems(&asm("fma.rz.f32 $0, $5, $5, $5;"))[0].message,
        "has PTX `fma.rz.f32 $0, $5, $5, $5;`, which has qualifier '.rz', which is not modelled"
    );
}

#[test]
fn copies() {
    ptx! {
        "cp.async.cg.shared.global.L2::128B [$2], [$1], 16;" => [Instruction::CopyAsync { to: SHARED, from: GLOBAL, bytes: 16, source_bytes: None, guard: None }];
        "@$4 cp.async.ca.shared.global [$2], [$1], 4, $3;" => [Instruction::CopyAsync { bytes: 4, source_bytes: Some(I), guard: Some(GUARD), .. }];
        "cp.async.commit_group;" => [Instruction::CopyAsyncCommit];
        "cp.async.wait_group 3;" => [Instruction::CopyAsyncWait { pending: Some(3) }];
        "cp.async.wait_all;" => [Instruction::CopyAsyncWait { pending: None }];
        "cp.async.mbarrier.arrive.noinc.shared.b64 [$2];" => [Instruction::CopyAsyncArrive { counted: true, .. }];
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$2], [$1], $3, [$2], $6;" => [Instruction::BulkCopy {
                destination: BulkPlace { space: Space::Cluster, address: SHARED },
                source: BulkPlace { space: Space::Global, address: GLOBAL },
                bytes: I,
                completion: Completion::Mbarrier(SHARED),
                ..
            }];
        "cp.async.bulk.global.shared::cta.bulk_group [$1], [$2], $3;" => [Instruction::BulkCopy {
            destination: BulkPlace { space: Space::Global, address: GLOBAL },
            source: BulkPlace { space: Space::Shared, address: SHARED },
            completion: Completion::Group,
            reduce: None,
            ..
        }];
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$1], [$2], $3;" => [Instruction::BulkCopy {
            reduce: Some((AtomicOp::Add, AtomicFormat::Float(Format::F32))), ..
        }];
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$2], [$2], $3, [$2];" => [Instruction::BulkCopy { source: BulkPlace { space: Space::Shared, .. }, .. }];
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$2], [$6, {$3, $3}], [$2];" => [Instruction::TensorCopy { map: J, store: false, completion: Completion::Mbarrier(SHARED), .. }];
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [$6, {$3}], [$2];" => [Instruction::TensorCopy { map: J, store: true, completion: Completion::Group, .. }];
        "cp.async.bulk.commit_group;" => [Instruction::BulkCommit];
        "cp.async.bulk.wait_group.read 0;" => [Instruction::BulkWait { pending: 0, read: true }];
    }
}

#[test]
fn synchronization() {
    ptx! {
        "bar.sync 0;" => [Instruction::Barrier { kind: BarrierKind::Sync, id: Some(SHARED), aligned: true, .. }];
        "barrier.cta.sync $3, $3;" => [Instruction::Barrier { id: Some(I), threads: Some(I), aligned: false, .. }];
        "bar.arrive 1, 64;" => [Instruction::Barrier { kind: BarrierKind::Arrive, threads: Some(_), .. }];
        "bar.warp.sync -1;" => [Instruction::WarpBarrier { .. }];
        "barrier.cluster.arrive.relaxed.aligned;" => [Instruction::ClusterArrive { release: false, aligned: true }];
        "barrier.cluster.wait;" => [Instruction::ClusterWait { acquire: true, aligned: false }];
        "mbarrier.init.shared::cta.b64 [$2], 1;" => [Instruction::Mbarrier { op: MbarrierOp::Init, count: Some(_), .. }];
        "@$4 mbarrier.arrive.expect_tx.shared.b64 _, [$2], $3;" => [Instruction::Mbarrier {
            op: MbarrierOp::Arrive, transaction: Some(I), state: None, guard: Some(GUARD), ..
        }];
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$2];" => [Instruction::Mbarrier {
            op: MbarrierOp::Arrive,
            space: Space::Cluster,
            count: None,
            order: MemoryOrder { release: true, acquire: false, strong: true, cta: false },
            ..
        }];
        "{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q, [$2], $3; }" => [Instruction::MbarrierWait { kind: WaitKind::Try, parity: true, phase: I, to: Some(_), .. }];
        "fence.acq_rel.gpu;" => [Instruction::Fence(Fence::AcquireRelease { cta: false })];
        "membar.cta;" => [Instruction::Fence(Fence::AcquireRelease { cta: true })];
        "fence.proxy.async.shared::cta;" => [Instruction::Fence(Fence::ProxyAsync { shared: true, global: false })];
        "fence.mbarrier_init.release.cluster;" => [Instruction::Fence(Fence::MbarrierInit)];
        "trap;" => [Instruction::Trap];
        "griddepcontrol.wait;" => [Instruction::GridDependencyWait];
        "setmaxnreg.dec.sync.aligned.u32 24;" => [Instruction::SetMaxRegisters { registers: 24, increase: false }];
    }
}

#[test]
fn warp_operations() {
    ptx! {
        "shfl.sync.bfly.b32 $0, $3, 1, 31, -1;" => [Instruction::Shuffle { kind: ShuffleKind::Butterfly, value: I, in_range: None, .. }];
        "{ .reg .pred q; shfl.sync.up.b32 $0|q, $3, 1, 0, -1; }" => [Instruction::Shuffle { in_range: Some(_), .. }];
        "vote.sync.ballot.b32 $0, $4, -1;" => [Instruction::Vote { kind: VoteKind::Ballot, value: P, .. }];
        "activemask.b32 $0;" => [Instruction::Vote { kind: VoteKind::ActiveMask, .. }];
        "{ .reg .pred q; elect.sync _|q, -1; }" => [Instruction::Elect { mask: Some(_), .. }];
        "{ .reg .pred q; elect.sync $0|q, -1; }" => [
            Instruction::Elect { to: leads, .. },
            Instruction::Vote { kind: VoteKind::Ballot, value, to: leaders, .. },
            Instruction::Integer { op: IntegerOp::TrailingZeros, a, .. }
        ] if value == leads && a == leaders;
        "redux.sync.max.s32 $0, $3, -1;" => [Instruction::WarpReduce { op: WarpReduceOp::MaxSigned, value: I, .. }];
        "redux.sync.xor.b32 $0, $3, -1;" => [Instruction::WarpReduce { op: WarpReduceOp::Xor, value: I, .. }];
        "{ .reg .f32 a; redux.sync.max.f32 a, $5, -1; }" => [Instruction::WarpReduce { op: WarpReduceOp::MaxNum, value: X, .. }];
        "{ .reg .f32 a; redux.sync.min.NaN.f32 a, $5, -1; }" => [Instruction::WarpReduce { op: WarpReduceOp::Minimum, value: X, .. }];
        "{ .reg .b32 a; mapa.shared::cluster.u32 a, $3, $3; }" => [Instruction::MapToCta { address: I, rank: I, .. }];
    }
}

#[test]
fn an_instruction_without_lanes_of_its_own_is_branched_around() {
    ptx! {
        "@$4 bar.sync 0;" => [Instruction::ConditionalBranch { condition: P, yes, no }, Instruction::Barrier { .. }] if no.target == yes.target + 1;
    }
}

#[test]
fn the_loop_of_a_wait_goes_round() {
    let text = "{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.shared.b64 P1, [$2], $3, $3; @P1 bra.uni DONE; \
                bra.uni LAB_WAIT; DONE: }";
    let code = code(&asm(text));
    let wait = code
        .iter()
        .position(|instruction| matches!(instruction, Instruction::MbarrierWait { .. }));
    let Some(wait) = wait.map(|wait| wait as Pc) else {
        unreachable!("{code:?}")
    };
    let [
        ..,
        Instruction::ConditionalBranch { yes, no, .. },
        Instruction::Branch(again),
    ] = &code[..]
    else {
        unreachable!("{code:?}")
    };
    assert_eq!((yes.target, no.target, again.target), (wait + 3, wait + 2, wait));
}

#[test]
fn a_ptx_instruction_is_the_site_of_its_code() {
    let program = decode(&format!("{}\nllvm.return", asm("bar.sync 0;"))).unwrap_or_default();
    let site = program
        .sites
        .iter()
        .find(|site| site.op == "bar.sync")
        .and_then(|site| site.location.as_ref());
    assert_eq!(site.map(|place| place.line), Some(5));
}

#[test]
fn operands_of_inline_ptx_are_results_then_inputs_then_the_predicate() {
    decodes! {
        "%0 = nvvm.inline_ptx \"ld.global.b32 $0, [$1];\" ro(%global : !llvm.ptr<1>), predicate = %p -> i32" => [Instruction::Load { address: GLOBAL, guard: Some(GUARD), .. }];
        "%0:2 = nvvm.inline_ptx \"ld.global.v2.b32 {$0, $1}, [$2];\" ro(%global : !llvm.ptr<1>) -> i32, i32
         %1 = llvm.add %0#0, %0#1 : i32" => [Instruction::Load { to, .. }, Instruction::Integer { a, b, .. }] if to[..] == [*a, *b];
        "nvvm.inline_ptx \"add.s32 $0, $0, $1;\" ro(%i : i32) rw(%i : i32)
         %1 = llvm.add %i, %i : i32" => [Instruction::Integer { b: I, to: sum, .. },
            Instruction::Copy { to: kept, from },
            Instruction::Integer { a, .. }] if from == sum && a == kept;
    }
}

#[test]
fn an_empty_text_is_its_tied_operands() {
    decodes! {
        "%0 = llvm.inline_asm has_side_effects \"\", \"=r,0\" %i : (i32) -> i32
         %1 = llvm.add %0, %0 : i32" => [Instruction::Integer { a: I, b: I, .. }];
    }
}

#[test]
fn vectors_are_packed_into_registers() {
    decodes! {
        "%v = llvm.bitcast %i : i32 to vector<2xbf16>
         %0 = llvm.inline_asm \"fma.rn.bf16x2 $0, $1, $1, $1;\", \"=r,r\" %v : (vector<2xbf16>) -> vector<2xbf16>" => [Instruction::Repack { to_bits: 16, from_bits: 32, .. }];
    }
}

#[test]
fn what_is_wrong_with_ptx_is_said() {
    let message = |text: &str| problems(&asm(text))[0].message.clone();
    assert_eq!(
        message("wgmma.fence.sync.aligned;"),
        "has PTX `wgmma.fence.sync.aligned;`, which is not modelled"
    );
    assert!(message("ld.global.b32 $0, [$1], $3, $3;").contains("operands"));
    assert!(message("ld.global.frob.b32 $0, [$1];").contains("'.frob'"));
    assert!(
        message("red.global.and.f32 [$1], $5;")
            .contains("operation And on Float(F32), which PTX does not have")
    );
    assert!(
        message("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.f16 [$1], [$2], $3;")
            .contains("operation Xor on Float(F16), which PTX does not have")
    );
    assert!(message("mad.lo.s32 $0, $3, $3, $3, $3;").contains("operands"));
    assert!(message("add.wide.s32 $0, $3, $3;").contains("'.wide'"));
    assert!(message("mov.b32 $9, 1;").contains("$9 of 8"));
    assert!(message("mov.b32 $3, 1;").contains("only an input"));
    assert!(message("mov.b32 $0, nobody;").contains("'nobody'"));
    assert!(message("bra.uni NOWHERE;").contains("'NOWHERE', which is nowhere"));
    assert!(message("mov.b32 $0, 1").contains("expected ',' before ''"));
}

#[test]
fn sleeping_sets_nothing() {
    // The output that the text leaves alone is undefined.
    let code = code(&asm("nanosleep.u32 20;"));
    let says_nothing = |instruction: &Instruction| {
        matches!(
            instruction,
            Instruction::Constant { .. } | Instruction::Undefined { .. }
        )
    };
    assert!(code.iter().all(says_nothing), "{code:?}");
}

#[test]
fn an_output_is_undefined_until_it_is_set() {
    let undefined = |text: &str| {
        let code = code(&asm(text));
        let undefined = |instruction: &&Instruction| matches!(instruction, Instruction::Undefined { .. });
        code.iter().filter(undefined).count()
    };
    assert_eq!(undefined("mov.b32 $0, 0; ld.global.b32 $0, [$1];"), 0);
    assert_eq!(
        undefined("{ .reg .pred p; setp.ne.b32 p, $3, 0; mov.b32 $0, 0; @p ld.global.b32 $0, [$1]; }"),
        0
    );
    assert_eq!(
        undefined("{ .reg .pred p; setp.ne.b32 p, $3, 0; @p ld.global.b32 $0, [$1]; }"),
        1
    );
    assert_eq!(
        undefined("{ .reg .pred p; @p mov.b32 $0, 0; }"),
        2,
        "the predicate, too"
    );
    assert_eq!(undefined("add.u32 $0, $0, $3;"), 1);
}
