//! Barriers and mbarriers that do not wait for the right thing, or never end.

use norma_simulator::FindingKind;

use crate::kernel::Kernel;

const INIT: &str = "
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %bar1, %c32 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^started
  ^started:
    nvvm.barrier";

#[test]
fn a_barrier_in_a_divergent_branch() {
    let body = "
    %lower = llvm.icmp \"ult\" %lane, %c16 : i32
    llvm.cond_br %lower, ^in, ^out
  ^in:
    nvvm.barrier
    llvm.br ^out
  ^out:
    nvvm.bar.warp.sync %all : i32";
    Kernel::of(body).is_found(FindingKind::PartialBarrier, "nvvm.barrier", &[]);
}

#[test]
fn two_warps_wait_at_two_barriers_the_other_way_round() {
    let body = "
    %mine = llvm.add %warp, %c1 : i32
    %other = llvm.sub %c2, %warp : i32
    nvvm.barrier id = %mine number_of_threads = %c64
    nvvm.barrier id = %other number_of_threads = %c64";
    Kernel::of(body).is_found(FindingKind::PartialBarrier, "nvvm.barrier", &[]);
}

#[test]
fn a_warp_arrives_twice_for_one_end_of_a_barrier() {
    let body = "
    %w0 = llvm.icmp \"ult\" %tid, %c32 : i32
    llvm.cond_br %w0, ^twice, ^once
  ^twice:
    nvvm.barrier.arrive id = %c1 number_of_threads = %c64
    nvvm.barrier.arrive id = %c1 number_of_threads = %c64
    llvm.br ^out
  ^once:
    nvvm.barrier id = %c1 number_of_threads = %c64
    nvvm.barrier id = %c1 number_of_threads = %c64
    llvm.br ^out
  ^out:";
    let besides = [FindingKind::PartialBarrier];
    Kernel::of(body).is_found(FindingKind::BadBarrier, "nvvm.barrier.arrive", &besides);
}

/// A consumer that begins with parity 1 takes the phase before the first for the first.
#[test]
fn a_parity_that_is_one_off() {
    let body = format!(
        "{INIT}
    llvm.cond_br %first, ^copy, ^wait
  ^copy:
    nvvm.mbarrier.arrive.expect_tx %bar, %c256 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c256 : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.br ^wait
  ^wait:
    nvvm.mbarrier.try_wait.parity %bar, %c1, %c32 : !llvm.ptr<3>, i32, i32
    %t = llvm.load %ai : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>"
    );
    // Where the copy lands early, the wait is for a phase that never ends.
    let besides = [
        FindingKind::Uninitialized,
        FindingKind::EarlyExit,
        FindingKind::Deadlock,
    ];
    Kernel::of(&body).is_found(FindingKind::DataRace, "llvm.load", &besides);
}

/// The stage counts as empty once one of 32 readers has arrived.
#[test]
fn a_stage_is_refilled_while_others_read_it() {
    let body = format!(
        "{init}
    %reads = llvm.icmp \"ult\" %tid, %c32 : i32
    llvm.cond_br %reads, ^read, ^fill
  ^fill:
    %is_leader = llvm.icmp \"eq\" %tid, %c32 : i32
    llvm.cond_br %is_leader, ^copy, ^out
  ^copy:
    nvvm.mbarrier.arrive.expect_tx %bar, %c128 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c128 : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.mbarrier.try_wait.parity %bar1, %c0, %c32 : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.arrive.expect_tx %bar, %c128 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c128 : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.mbarrier.try_wait.parity %bar, %c1, %c32 : !llvm.ptr<3>, i32, i32
    llvm.br ^out
  ^read:
    nvvm.mbarrier.try_wait.parity %bar, %c0, %c32 : !llvm.ptr<3>, i32, i32
    %t = llvm.load %ai : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>
    llvm.cond_br %first, ^free, ^out
  ^free:
    %state = nvvm.mbarrier.arrive %bar1 : !llvm.ptr<3> -> i64
    llvm.br ^out
  ^out:",
        init = INIT.replace("%c32", "%c1")
    );
    let copy = "nvvm.cp.async.bulk.shared.cluster.global";
    Kernel::of(&body).is_found(FindingKind::DataRace, copy, &[]);
}

/// As above, but all readers arrive, at an mbarrier that counts one.
#[test]
fn more_arrive_than_an_mbarrier_expects() {
    let body = format!(
        "{INIT}
    nvvm.mbarrier.arrive.expect_tx %bar, %c0 : !llvm.ptr<3>, i32
    nvvm.barrier
    llvm.cond_br %first, ^expect, ^arrive
  ^expect:
    nvvm.mbarrier.expect_tx %bar, %c16 : !llvm.ptr<3>, i32
    llvm.br ^arrive
  ^arrive:
    nvvm.barrier
    %state = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64"
    );
    Kernel::of(&body).is_found(FindingKind::Mbarrier, "nvvm.mbarrier.arrive", &[]);
}

#[test]
fn fewer_bytes_come_than_are_expected() {
    let body = format!(
        "{INIT}
    llvm.cond_br %first, ^copy, ^wait
  ^copy:
    nvvm.mbarrier.arrive.expect_tx %bar, %c256 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c128 : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.br ^wait
  ^wait:
    nvvm.mbarrier.try_wait.parity %bar, %c0, %c32 : !llvm.ptr<3>, i32, i32"
    );
    let wait = "nvvm.mbarrier.try_wait.parity";
    Kernel::of(&body).is_found(FindingKind::Deadlock, wait, &[]);
}

/// The partial results of all rounds share one place, with one barrier per round.
#[test]
fn one_buffer_needs_two_barriers_a_round() {
    let body = "
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    llvm.br ^round(%c0, %v : i32, f32)
  ^round(%i: i32, %value: f32):
    llvm.store %value, %ai : f32, !llvm.ptr<3>
    nvvm.barrier
    %other = llvm.xor %tid, %c32 : i32
    %theirs = llvm.getelementptr %a[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %theirs : !llvm.ptr<3> -> f32
    %sum = llvm.fadd %value, %t : f32
    %next = llvm.add %i, %c1 : i32
    %more = llvm.icmp \"ult\" %next, %c4 : i32
    llvm.cond_br %more, ^round(%next, %sum : i32, f32), ^end
  ^end:
    llvm.store %sum, %yi : f32, !llvm.ptr<1>";
    Kernel::of(body).is_found(FindingKind::DataRace, "llvm.store", &[]);
    // Under a schedule in which the reader comes last, the race is found at the load instead.
}

/// `setmaxnreg` is an instruction of a warpgroup: all four of its warps must execute it.
#[test]
fn part_of_a_warpgroup_changes_its_registers() {
    let body = "
    %some = llvm.icmp \"ult\" %tid, %c96 : i32
    llvm.cond_br %some, ^give, ^out
  ^give:
    nvvm.setmaxregister decrease 40
    llvm.br ^out
  ^out:";
    Kernel::of(body)
        .threads(128)
        .attributes(", nvvm.maxnreg = 168 : i32")
        .is_found(FindingKind::Registers, "nvvm.setmaxregister", &[]);
}

#[test]
fn a_shuffle_reads_a_lane_that_its_mask_leaves_out() {
    let body = "
    %low = llvm.mlir.constant(255 : i32) : i32
    %lower = llvm.icmp \"ult\" %lane, %c8 : i32
    llvm.cond_br %lower, ^in, ^out
  ^in:
    %v = nvvm.shfl.sync down %low, %lane, %c4, %c31 : i32 -> i32
    llvm.br ^out
  ^out:";
    Kernel::of(body).is_found(FindingKind::Uninitialized, "nvvm.shfl.sync", &[]);
}

/// Only a barrier of all threads does not wait for those that have ended; one with a count does.
#[test]
fn a_counted_barrier_waits_for_warps_that_have_ended() {
    let body = "
    %late = llvm.icmp \"uge\" %tid, %c32 : i32
    llvm.cond_br %late, ^out, ^go
  ^go:
    nvvm.barrier id = %c1 number_of_threads = %c64
    llvm.br ^out
  ^out:";
    Kernel::of(body).is_found(FindingKind::PartialBarrier, "nvvm.barrier", &[]);
}

#[test]
fn a_relaxed_wait_hands_nothing_over() {
    let body = "
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c64 : !llvm.ptr<3>, i32
    llvm.br ^started
  ^started:
    nvvm.barrier
    llvm.store %one, %ai : f32, !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64
    llvm.br ^ask
  ^ask:
    %there = nvvm.mbarrier.try_wait %bar, %c0 {relaxed = true} : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^read, ^ask
  ^read:
    %other = llvm.xor %tid, %c32 : i32
    %ap = llvm.getelementptr %a[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>";
    Kernel::of(body).is_found(FindingKind::DataRace, "llvm.load", &[FindingKind::Uninitialized]);
}

/// `try_wait` may return false before the phase has completed, and must then be executed again.
#[test]
fn a_wait_that_is_not_asked_again() {
    let body = format!(
        "{one}
    llvm.cond_br %first, ^copy, ^issued
  ^copy:
    nvvm.mbarrier.arrive.expect_tx %bar, %c256 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c256 : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.br ^issued
  ^issued:
    nvvm.barrier
    llvm.br ^ask
  ^ask:
    %there = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.br ^read
  ^read:
    %t = llvm.load %ai : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>",
        one = INIT.replace("nvvm.mbarrier.init %bar1, %c32 : !llvm.ptr<3>, i32", "")
    );
    let besides = [FindingKind::Uninitialized, FindingKind::EarlyExit];
    Kernel::of(&body).is_found_in_every_seed(FindingKind::DataRace, "llvm.load", &besides);
    let expected: Vec<f32> = (0..64).map(|index| index as f32).collect();
    Kernel::of(&body)
        .with("llvm.br ^read", "llvm.cond_br %there, ^read, ^ask")
        .with("nvvm.barrier\n    llvm.br ^ask", "llvm.br ^ask")
        .gives(&expected, &[crate::kernel::BRINGS_A_COPY]);
}

/// Each lane waits for all threads of its warp at the barrier that it names (PTX ISA, "barrier{.cta}").
#[test]
fn the_lanes_of_a_warp_name_different_barriers() {
    let body = "
    %half = llvm.lshr %lane, %c4 : i32
    %id = llvm.add %half, %c1 : i32
    nvvm.inline_ptx \"barrier.cta.sync $0, 64;\" ro(%id : i32)";
    Kernel::of(body).is_found_in_every_seed(FindingKind::PartialBarrier, "barrier.cta.sync", &[]);
    Kernel::of(body)
        .with("barrier.cta.sync", "bar.sync")
        .is_found_in_every_seed(FindingKind::BadBarrier, "bar.sync", &[]);
}

/// As above with one barrier, of which the lanes expect different numbers of threads.
#[test]
fn the_lanes_of_a_warp_expect_different_numbers_of_threads() {
    let body = "
    %lower = llvm.icmp \"ult\" %lane, %c16 : i32
    %count = llvm.select %lower, %c32, %c64 : i1, i32
    nvvm.inline_ptx \"barrier.cta.sync 1, $0;\" ro(%count : i32)";
    let besides = [FindingKind::PartialBarrier];
    Kernel::of(body).is_found_in_every_seed(FindingKind::BadBarrier, "barrier.cta.sync", &besides);
}
