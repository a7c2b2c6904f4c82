//! Mbarriers within a CTA.

use crate::kernel::{BRINGS_A_COPY, Kernel};

/// The first thread initializes `%bar` for one arrival, and a barrier shows it to all threads.
const INIT: &str = "
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^started
  ^started:
    nvvm.barrier";

/// `y = x` by a bulk copy of 64 f32, for which threads poll by `test_wait`. The thread that copies first expects the
/// bytes, then issues the copy, and arrives last.
#[test]
fn a_copy_that_threads_ask_for() {
    let body = format!(
        "{INIT}
    llvm.cond_br %first, ^copy, ^ask
  ^copy:
    nvvm.mbarrier.expect_tx %bar, %c256 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c256 : !llvm.ptr<3>, !llvm.ptr<1>
    %state = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64
    llvm.br ^ask
  ^ask:
    %there = nvvm.inline_ptx \"{{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }}\" ro(%bar, %c0 : !llvm.ptr<3>, i32) -> i32
    %is_there = llvm.icmp \"ne\" %there, %c0 : i32
    llvm.cond_br %is_there, ^read, ^ask
  ^read:
    %t = llvm.load %ai : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>"
    );
    let expected: Vec<f32> = (0..64).map(|index| index as f32).collect();
    Kernel::of(&body).gives(
        &expected,
        // The thread that copies arrives, and the completion of the copy orders enough.
        &[("nvvm.mbarrier.arrive", "relax the arrival")],
    );
}

/// Warp 0 hands 32 values to warp 1, twice, through one place: it waits with the state that its arrival gave, warp 1
/// with parities.
#[test]
fn an_arrival_gives_a_state_to_wait_for() {
    let init = INIT.replace("%c1 :", "%c32 :");
    let body = format!(
        "{init}
    %gives = llvm.icmp \"ult\" %tid, %c32 : i32
    llvm.br ^round(%c0 : i32)
  ^round(%i: i32):
    %al = llvm.getelementptr %a[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.cond_br %gives, ^give, ^take
  ^give:
    %row = llvm.mul %i, %c32 : i32
    %at = llvm.add %row, %lane : i32
    %from = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    llvm.store %v, %al : f32, !llvm.ptr<3>
    %given = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64
    llvm.br ^kept
  ^kept:
    %kept = nvvm.mbarrier.test.wait %bar, %given : !llvm.ptr<3>, i64 -> i1
    llvm.cond_br %kept, ^next, ^kept
  ^take:
    %odd = llvm.and %i, %c1 : i32
    %there = nvvm.mbarrier.try_wait %bar, %odd : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^read, ^take
  ^read:
    %mirror = llvm.sub %c31, %lane : i32
    %ap = llvm.getelementptr %a[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32
    %row2 = llvm.mul %i, %c32 : i32
    %at2 = llvm.add %row2, %lane : i32
    %to = llvm.getelementptr %y[%at2] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %t, %to : f32, !llvm.ptr<1>
    llvm.br ^next
  ^next:
    nvvm.barrier
    %n = llvm.add %i, %c1 : i32
    %more = llvm.icmp \"ult\" %n, %c2 : i32
    llvm.cond_br %more, ^round(%n : i32), ^out
  ^out:"
    );
    let expected: Vec<f32> = (0..64)
        .map(|index| (index / 32 * 32 + 31 - index % 32) as f32)
        .collect();
    Kernel::of(&body).gives(
        &expected,
        &[
            // The barrier behind this wait orders as much.
            ("nvvm.mbarrier.test.wait", "drop the wait"),
            // No copy completes here.
            ("nvvm.fence.mbarrier.init", "drop the fence"),
        ],
    );
}

/// `y[i] = x[63 - i]`: threads copy 4 bytes each by `cp.async` and let an arrival follow its landing, with and without
/// `.noinc`, for which all wait.
#[test]
fn copies_of_threads_arrive_when_they_land() {
    for (noinc, count) in [("", "%c1"), (" {noinc = true}", "%c64")] {
        // Without `.noinc` an arrival adds to what is pending, so that the one of the first thread, behind a barrier,
        // is the only one that counts.
        let own = match noinc {
            "" => {
                "nvvm.barrier
    llvm.cond_br %first, ^own, ^ask
  ^own:
    %state = nvvm.mbarrier.arrive %bar : !llvm.ptr<3> -> i64
    llvm.br ^ask"
            }
            _ => "llvm.br ^ask",
        };
        let body = format!(
            "
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, {count} : !llvm.ptr<3>, i32
    llvm.br ^started
  ^started:
    nvvm.barrier
    nvvm.cp.async.shared.global %ai, %xi, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.mbarrier.arrive %bar{noinc} : !llvm.ptr<3>
    {own}
  ^ask:
    %there = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^read, ^ask
  ^read:
    %mirror = llvm.sub %c63, %tid : i32
    %ap = llvm.getelementptr %a[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>"
        );
        let expected: Vec<f32> = (0..64).map(|index| (63 - index) as f32).collect();
        // The arrival of the first thread only keeps the phase open, so that it need not release anything.
        Kernel::of(&body).gives(&expected, &[("nvvm.mbarrier.arrive", "relax the arrival")]);
    }
}

/// A thread waits for a copy and then sets a flag, for which another warp polls all the while: the copy must land
/// although a warp can always run.
#[test]
fn copies_land_while_others_ask_for_a_flag() {
    let body = format!(
        "{INIT}
    %w0 = llvm.icmp \"ult\" %tid, %c32 : i32
    llvm.cond_br %w0, ^bring, ^ask
  ^bring:
    llvm.cond_br %first, ^copy, ^out
  ^copy:
    nvvm.mbarrier.arrive.expect_tx %bar, %c128 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c128 : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.br ^wait
  ^wait:
    %there = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^tell, ^wait
  ^tell:
    nvvm.inline_ptx \"st.release.cta.shared.u32 [$0], $1;\" ro(%b, %c1 : !llvm.ptr<3>, i32)
    llvm.br ^out
  ^ask:
    %v = nvvm.inline_ptx \"ld.acquire.cta.shared.u32 $0, [$1];\" ro(%b : !llvm.ptr<3>) -> i32
    %is_told = llvm.icmp \"eq\" %v, %c1 : i32
    llvm.cond_br %is_told, ^read, ^ask
  ^read:
    %al = llvm.getelementptr %a[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %al : !llvm.ptr<3> -> f32
    %to = llvm.getelementptr %y[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %t, %to : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:"
    );
    // The flag is zero before the barrier.
    let body = body.replacen(
        "nvvm.fence.mbarrier.init",
        "nvvm.fence.mbarrier.init\n    llvm.store %c0, %b : i32, !llvm.ptr<3>",
        1,
    );
    let expected: Vec<f32> = (0..32).map(|index| index as f32).collect();
    Kernel::of(&body).gives(&expected, &[BRINGS_A_COPY]);
}
