//! Atomic operations, fences and flags, within a CTA and between CTAs.

use norma_simulator::FindingKind;

use crate::kernel::Kernel;

/// Each CTA but the last waits for the flag of the next one, which may become resident after it, and adds to what that
/// one wrote: a chain through the whole grid, by acquire and release.
#[test]
fn ctas_wait_for_flags_of_others() {
    let body = "
    %c6 = llvm.mlir.constant(6 : i32) : i32
    %next = llvm.add %cta, %c1 : i32
    %flag = llvm.getelementptr %w[%cta] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %theirs = llvm.getelementptr %w[%next] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %to = llvm.getelementptr %y[%cta] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %from = llvm.getelementptr %y[%next] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %last = llvm.icmp \"eq\" %next, %c6 : i32
    llvm.cond_br %last, ^write(%one : f32), ^ask
  ^ask:
    %v = nvvm.inline_ptx \"ld.acquire.gpu.global.u32 $0, [$1];\" ro(%theirs : !llvm.ptr<1>) -> i32
    %there = llvm.icmp \"ne\" %v, %c0 : i32
    llvm.cond_br %there, ^add, ^ask
  ^add:
    %p = llvm.load %from : !llvm.ptr<1> -> f32
    %s = llvm.fadd %p, %one : f32
    llvm.br ^write(%s : f32)
  ^write(%sum: f32):
    llvm.store %sum, %to : f32, !llvm.ptr<1>
    nvvm.inline_ptx \"st.release.gpu.global.u32 [$0], $1;\" ro(%flag, %c1 : !llvm.ptr<1>, i32)";
    Kernel::of(body)
        .threads(1)
        .ctas(6)
        .gives(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0], &[]);
}

/// The last CTA to increment a counter sums what all of them wrote; the counter's acquire and release order enough.
#[test]
fn a_counter_that_acquires_and_releases() {
    let body = "
    %slot = llvm.add %cta, %c1 : i32
    %to = llvm.getelementptr %y[%slot] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %one, %to : f32, !llvm.ptr<1>
    %before = llvm.atomicrmw add %w, %c1 syncscope(\"device\") acq_rel : !llvm.ptr<1>, i32
    %last = llvm.icmp \"eq\" %before, %c3 : i32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.cond_br %last, ^sum(%c1, %zero : i32, f32), ^out
  ^sum(%i: i32, %s: f32):
    %from = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %p = llvm.load %from : !llvm.ptr<1> -> f32
    %t = llvm.fadd %s, %p : f32
    %next = llvm.add %i, %c1 : i32
    %more = llvm.icmp \"ule\" %next, %c4 : i32
    llvm.cond_br %more, ^sum(%next, %t : i32, f32), ^end
  ^end:
    llvm.store %t, %y : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    Kernel::of(body)
        .threads(1)
        .ctas(4)
        .gives(&[4.0, 1.0, 1.0, 1.0, 1.0], &[]);
}

/// As above with 64 threads in a CTA: after a barrier the first thread releases what all wrote, by a fence and the
/// counter, and a second barrier passes on what it has acquired (`fence.sc` includes `fence.acq_rel`).
#[test]
fn a_thread_that_counts_for_its_cta() {
    let body = "
    %wide = llvm.mul %cta, %c64 : i32
    %place = llvm.add %wide, %tid : i32
    %slot = llvm.add %place, %c64 : i32
    %to = llvm.getelementptr %y[%slot] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %one, %to : f32, !llvm.ptr<1>
    nvvm.barrier
    llvm.cond_br %first, ^count, ^counted
  ^count:
    nvvm.inline_ptx \"fence.sc.gpu;\"
    %before = nvvm.inline_ptx \"atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;\" ro(%w, %c2 : !llvm.ptr<1>, i32) -> i32
    nvvm.inline_ptx \"fence.sc.gpu;\"
    %is_last = llvm.icmp \"eq\" %before, %c2 : i32
    %number = llvm.zext %is_last : i1 to i32
    llvm.store %number, %b : i32, !llvm.ptr<3>
    llvm.br ^counted
  ^counted:
    nvvm.barrier
    %last = llvm.load %b : !llvm.ptr<3> -> i32
    %sums = llvm.icmp \"ne\" %last, %c0 : i32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.cond_br %sums, ^sum(%c1, %zero : i32, f32), ^out
  ^sum(%i: i32, %s: f32):
    %row = llvm.mul %i, %c64 : i32
    %at = llvm.add %row, %tid : i32
    %from = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %p = llvm.load %from : !llvm.ptr<1> -> f32
    %t = llvm.fadd %s, %p : f32
    %next = llvm.add %i, %c1 : i32
    %more = llvm.icmp \"ule\" %next, %c3 : i32
    llvm.cond_br %more, ^sum(%next, %t : i32, f32), ^end
  ^end:
    llvm.store %t, %yi : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    Kernel::of(body).ctas(3).gives(&[3.0; 64], &[]);
}

/// CTAs take tiles off a counter until none is left; the first thread takes and tells the others through shared memory.
#[test]
fn ctas_take_tiles_off_a_counter() {
    let body = "
    llvm.br ^take
  ^take:
    nvvm.barrier
    llvm.cond_br %first, ^ask, ^told
  ^ask:
    %taken = llvm.atomicrmw add %w, %c1 monotonic : !llvm.ptr<1>, i32
    llvm.store %taken, %a : i32, !llvm.ptr<3>
    llvm.br ^told
  ^told:
    nvvm.barrier
    %tile = llvm.load %a : !llvm.ptr<3> -> i32
    %more = llvm.icmp \"ult\" %tile, %c8 : i32
    llvm.cond_br %more, ^work, ^out
  ^work:
    %row = llvm.mul %tile, %c64 : i32
    %at = llvm.add %row, %tid : i32
    %from = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    %to = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %to : f32, !llvm.ptr<1>
    llvm.br ^take
  ^out:";
    let expected: Vec<f32> = (0..512).map(|index| index as f32).collect();
    Kernel::of(body).ctas(3).gives(&expected, &[]);
}

/// All threads add pairs of bf16 to one place, where the sum is the same in any order; the last one to increment a
/// counter reads it.
#[test]
fn pairs_of_bf16_add_up() {
    // 1.0 in both halves.
    let body = "
    %ones = llvm.mlir.constant(1065369472 : i32) : i32
    %sums = llvm.getelementptr %w[%c1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    nvvm.inline_ptx \"red.relaxed.gpu.global.add.noftz.bf16x2 [$0], $1;\" ro(%sums, %ones : !llvm.ptr<1>, i32)
    llvm.fence syncscope(\"device\") acq_rel
    %before = llvm.atomicrmw add %w, %c1 monotonic : !llvm.ptr<1>, i32
    llvm.fence syncscope(\"device\") acq_rel
    %last = llvm.icmp \"eq\" %before, %c127 : i32
    llvm.cond_br %last, ^end, ^out
  ^end:
    %sum = llvm.load %sums : !llvm.ptr<1> -> vector<2xbf16>
    %wide = llvm.fpext %sum : vector<2xbf16> to vector<2xf32>
    llvm.store %wide, %y {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    let body = body.replace(
        "%last =",
        "%c127 = llvm.mlir.constant(127 : i32) : i32\n    %last =",
    );
    Kernel::of(&body).ctas(2).gives(&[128.0, 128.0], &[]);
}

/// Atomics of CTA scope, on one counter for each CTA.
#[test]
fn atomics_of_the_scope_of_a_cta() {
    let body = "
    %flag = llvm.getelementptr %w[%cta] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %old = nvvm.inline_ptx \"atom.relaxed.cta.global.add.u32 $0, [$1], $2;\" ro(%flag, %c1 : !llvm.ptr<1>, i32) -> i32
    nvvm.barrier
    %n = llvm.load %flag : !llvm.ptr<1> -> i32
    %f = llvm.sitofp %n : i32 to f32
    %row = llvm.mul %cta, %c64 : i32
    %at = llvm.add %row, %tid : i32
    %to = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %f, %to : f32, !llvm.ptr<1>";
    Kernel::of(body).ctas(2).gives(&[64.0; 128], &[]);
    // One counter for both is a race.
    let shared = body.replace("%w[%cta]", "%w[%c0]");
    let op = "atom.relaxed.cta.global.add.u32";
    Kernel::of(&shared)
        .ctas(2)
        .is_found(FindingKind::DataRace, op, &[]);
}
