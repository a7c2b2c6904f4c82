//! Asynchronous copies that are not waited for, fenced or formed as they must be.

use norma_simulator::FindingKind;

use crate::kernel::Kernel;

const STORE: &str = "nvvm.cp.async.bulk.global.shared.cta";
const FENCE: &str =
    "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}";

/// A kernel whose 64 threads write `%a`, which the first one copies to `%y` after a barrier. `before` and `after` stand
/// around the write, `then` behind the copy.
fn store(before: &str, after: &str, then: &str) -> Kernel {
    let body = format!(
        "
    {before}
    llvm.store %one, %ai : f32, !llvm.ptr<3>
    {after}
    nvvm.barrier
    llvm.cond_br %first, ^copy, ^then
  ^copy:
    nvvm.cp.async.bulk.global.shared.cta %y, %a, %c256 : !llvm.ptr<1>, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    llvm.br ^then
  ^then:
    {then}"
    );
    Kernel::of(&body)
}

const WAIT: &str = "nvvm.cp.async.bulk.wait_group 0 {read}";

#[test]
fn a_store_that_is_fenced_and_waited_for() {
    store("", FENCE, WAIT).gives(&[1.0; 64], &[]);
    // The thread that copies may fence for all, once it has seen what they wrote.
    store("", "", WAIT)
        .with("  ^copy:", &format!("  ^copy:\n    {FENCE}"))
        .gives(&[1.0; 64], &[]);
}

#[test]
fn a_fence_before_the_write_is_none() {
    store(FENCE, "", WAIT).is_found(FindingKind::MissingProxyFence, STORE, &[]);
}

#[test]
fn a_fence_by_a_thread_that_has_not_seen_the_write_is_none() {
    let fence = format!(
        "%fences = llvm.icmp \"eq\" %tid, %c32 : i32
    llvm.cond_br %fences, ^fence, ^fenced
  ^fence:
    {FENCE}
    llvm.br ^fenced
  ^fenced:"
    );
    store("", &fence, WAIT).is_found(FindingKind::MissingProxyFence, STORE, &[]);
}

#[test]
fn a_fence_of_the_other_memory_is_none() {
    let fence = FENCE.replace("async.shared>, space = #nvvm.shared_space<cta>", "async.global>");
    store("", &fence, WAIT).is_found(FindingKind::MissingProxyFence, STORE, &[]);
}

#[test]
fn a_source_is_written_again_before_the_copy_has_read_it() {
    let again = format!("nvvm.barrier\n    llvm.store %one, %ai : f32, !llvm.ptr<3>\n    {WAIT}");
    store("", FENCE, &again).is_found(FindingKind::DataRace, "llvm.store", &[]);
}

/// A bulk group belongs to one thread: other threads cannot wait for it.
#[test]
fn a_group_is_waited_for_by_another_thread() {
    let again = format!(
        "%second = llvm.icmp \"eq\" %tid, %c1 : i32
    llvm.cond_br %second, ^wait, ^waited
  ^wait:
    {WAIT}
    llvm.br ^waited
  ^waited:
    nvvm.barrier
    llvm.store %one, %ai : f32, !llvm.ptr<3>"
    );
    store("", FENCE, &again).is_found(FindingKind::DataRace, "llvm.store", &[FindingKind::EarlyExit]);
    store("", FENCE, &again).is_found(FindingKind::EarlyExit, STORE, &[FindingKind::DataRace]);
}

#[test]
fn a_group_that_was_never_committed() {
    store("", FENCE, WAIT)
        .with("    nvvm.cp.async.bulk.commit.group\n", "")
        .is_found(FindingKind::EarlyExit, STORE, &[]);
}

/// An empty group, which nobody need wait for, does not stand for the one that follows it.
#[test]
fn a_group_behind_an_empty_one_that_nobody_waits_for() {
    store("", FENCE, "")
        .with("  ^copy:", "  ^copy:\n    nvvm.cp.async.bulk.commit.group")
        .is_found_in_every_seed(FindingKind::EarlyExit, STORE, &[]);
}

#[test]
fn sizes_and_addresses_that_are_no_multiples_of_16() {
    for (right, wrong) in [
        ("%y, %a, %c256", "%y, %a, %c4"),
        ("%y, %a, %c256", "%y, %a4, %c16"),
        ("%y, %a, %c256", "%y4, %a, %c16"),
    ] {
        store(
            "%a4 = llvm.getelementptr %a[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
    %y4 = llvm.getelementptr %y[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32",
            FENCE,
            WAIT,
        )
        .with(right, wrong)
        .is_found(FindingKind::BadCopy, STORE, &[]);
    }
}

#[test]
fn a_copy_reads_a_tail_that_nobody_wrote() {
    store("", FENCE, WAIT)
        .with("%y, %a, %c256", "%y, %a, %size")
        .with(
            "llvm.store %one, %ai",
            "%size = llvm.mlir.constant(272 : i32) : i32\n    llvm.store %one, %ai",
        )
        .is_found(FindingKind::Uninitialized, STORE, &[]);
}

/// An output must be initialized before a reduction adds to it.
#[test]
fn a_reduction_into_memory_that_nobody_wrote() {
    let add = "nvvm.inline_ptx \"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], [$1], $2;\" ro(%y, %a, %c256 : !llvm.ptr<1>, !llvm.ptr<3>, i32)";
    store("", FENCE, WAIT)
        .with(
            "nvvm.cp.async.bulk.global.shared.cta %y, %a, %c256 : !llvm.ptr<1>, !llvm.ptr<3>",
            add,
        )
        .is_found(
            FindingKind::Uninitialized,
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32",
            &[],
        );
}

#[test]
fn a_copy_of_a_thread_is_read_by_another_that_only_the_owner_waited_for() {
    let body = "
    nvvm.cp.async.shared.global %ai, %xi, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    %other = llvm.xor %tid, %c1 : i32
    %ap = llvm.getelementptr %a[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32";
    Kernel::of(body).is_found(FindingKind::DataRace, "llvm.load", &[FindingKind::Uninitialized]);
}

/// The initialization of an mbarrier, by whichever thread, must be fenced before a copy completes on the mbarrier.
#[test]
fn an_mbarrier_is_not_shown_to_the_async_proxy() {
    let body = "
    llvm.cond_br %first, ^init, ^wait
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.arrive.expect_tx %bar, %c256 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c256 : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.mbarrier.try_wait.parity %bar, %c0, %c32 : !llvm.ptr<3>, i32, i32
    llvm.br ^wait
  ^wait:";
    let copy = "nvvm.cp.async.bulk.shared.cluster.global";
    Kernel::of(body).is_found(FindingKind::MissingProxyFence, copy, &[]);
}

const LOAD: &str = "nvvm.cp.async.bulk.shared.cluster.global";

/// 1024 bytes are copied but half of them expected. As the bytes land in pieces, the phase completes while some are
/// still under way. The memory holds zeros before.
#[test]
fn fewer_bytes_are_expected_than_are_copied() {
    let body = "
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %c512 = llvm.mlir.constant(512 : i32) : i32
    %c1024 = llvm.mlir.constant(1024 : i32) : i32
    llvm.store %zero, %ai : f32, !llvm.ptr<3>
    %behind = llvm.getelementptr %ai[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
    llvm.store %zero, %behind : f32, !llvm.ptr<3>
    %behind2 = llvm.getelementptr %ai[128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
    llvm.store %zero, %behind2 : f32, !llvm.ptr<3>
    %behind3 = llvm.getelementptr %ai[192] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
    llvm.store %zero, %behind3 : f32, !llvm.ptr<3>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    llvm.cond_br %first, ^init, ^wait
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^wait
  ^wait:
    nvvm.barrier
    llvm.cond_br %first, ^copy, ^ask
  ^copy:
    nvvm.mbarrier.arrive.expect_tx %bar, %c512 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c1024 : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.br ^ask
  ^ask:
    nvvm.mbarrier.try_wait.parity %bar, %c0, %c32 : !llvm.ptr<3>, i32, i32
    %t = llvm.load %behind3 : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>";
    Kernel::of(body).is_found_in_every_seed(FindingKind::UnfinishedCopy, LOAD, &[]);
    let expected: Vec<f32> = (192..256).map(|index| index as f32).collect();
    Kernel::of(body)
        .with("%bar, %c512", "%bar, %c1024")
        .gives(&expected, &[crate::kernel::BRINGS_A_COPY]);
}
