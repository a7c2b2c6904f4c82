//! Asynchronous copies, and launches that depend on others.

use crate::kernel::{BRINGS_A_COPY, Kernel};

/// Four CTAs add 32 numbers to the same place by `cp.reduce.async.bulk`, in any order; the last to come reads the sum.
#[test]
fn ctas_add_to_one_place_in_bulk() {
    let body = "
    %al = llvm.getelementptr %a[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %lane, %al : i32, !llvm.ptr<3>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.barrier
    llvm.cond_br %first, ^add, ^out
  ^add:
    nvvm.inline_ptx \"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [$0], [$1], $2;\" ro(%w, %a, %c128 : !llvm.ptr<1>, !llvm.ptr<3>, i32)
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
    %counter = llvm.getelementptr %w[%c63] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %before = llvm.atomicrmw add %counter, %c1 syncscope(\"device\") acq_rel : !llvm.ptr<1>, i32
    %last = llvm.icmp \"eq\" %before, %c3 : i32
    llvm.cond_br %last, ^sum(%c0 : i32), ^out
  ^sum(%i: i32):
    %from = llvm.getelementptr %w[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %n = llvm.load %from : !llvm.ptr<1> -> i32
    %f = llvm.sitofp %n : i32 to f32
    %to = llvm.getelementptr %y[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %f, %to : f32, !llvm.ptr<1>
    %next = llvm.add %i, %c1 : i32
    %more = llvm.icmp \"ult\" %next, %c32 : i32
    llvm.cond_br %more, ^sum(%next : i32), ^out
  ^out:";
    let expected: Vec<f32> = (0..32).map(|index| (4 * index) as f32).collect();
    Kernel::of(body).threads(32).ctas(4).gives(&expected, &[]);
}

/// Only after `griddepcontrol.wait` may a thread read what a kernel ahead in the stream writes, or write anything: the
/// waiting thread, or one that a barrier orders after it.
#[test]
fn a_dependent_launch_waits() {
    let body = "
    nvvm.griddepcontrol launch_dependents
    llvm.cond_br %first, ^wait, ^go
  ^wait:
    nvvm.griddepcontrol wait
    llvm.br ^go
  ^go:
    nvvm.barrier
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    llvm.store %v, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..64).map(|index| index as f32).collect();
    Kernel::of(body).programmatic().gives(&expected, &[]);
}

/// Threads write a workspace in global memory by plain stores; one of them copies it to shared memory in bulk, where
/// all read it.
#[test]
fn global_memory_written_by_threads_is_copied() {
    let body = "
    %wl = llvm.getelementptr %w[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %lane, %wl : i32, !llvm.ptr<1>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
    llvm.cond_br %first, ^init, ^wait
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^wait
  ^wait:
    nvvm.barrier
    llvm.cond_br %first, ^copy, ^ask
  ^copy:
    nvvm.mbarrier.arrive.expect_tx %bar, %c128 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %w, %bar, %c128 : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.br ^ask
  ^ask:
    nvvm.mbarrier.try_wait.parity %bar, %c0, %c32 : !llvm.ptr<3>, i32, i32
    %n = llvm.load %ai : !llvm.ptr<3> -> i32
    %f = llvm.sitofp %n : i32 to f32
    llvm.store %f, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..32).map(|index| index as f32).collect();
    Kernel::of(body).threads(32).gives(&expected, &[BRINGS_A_COPY]);
}

/// `y[i] = x[63 - i]`: a thread's arrival waits for the copies before it, not for the one after it, which is of the same
/// group and may land first (PTX ISA, "cp.async.mbarrier.arrive": "completion of all prior cp.async operations").
#[test]
fn an_arrival_waits_for_all_copies_before_it() {
    let body = "
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c64 : !llvm.ptr<3>, i32
    llvm.br ^started
  ^started:
    nvvm.barrier
    %bi = llvm.getelementptr %b[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    nvvm.cp.async.shared.global %ai, %xi, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.mbarrier.arrive %bar {noinc = true} : !llvm.ptr<3>
    nvvm.cp.async.shared.global %bi, %xi, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.mbarrier.try_wait.parity %bar, %c0, %c32 : !llvm.ptr<3>, i32, i32
    %mirror = llvm.sub %c63, %tid : i32
    %ap = llvm.getelementptr %a[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..64).map(|index| (63 - index) as f32).collect();
    Kernel::of(body).gives(&expected, &[]);
}
