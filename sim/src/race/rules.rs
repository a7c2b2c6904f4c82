//! Tests each rule of conflicts by an example.

use super::threads::{Access, Kind, STRIDE, Threads};
use super::{Conflict, ConflictKind, Event, What};

const READ: Access = Access {
    kind: Kind::Read,
    strong: false,
    invariant: false,
    site: 1,
};
const WRITE: Access = Access {
    kind: Kind::Write,
    site: 2,
    ..READ
};
const ATOMIC: Access = Access {
    kind: Kind::Atomic,
    strong: true,
    site: 3,
    ..READ
};
const INVARIANT: Access = Access {
    invariant: true,
    site: 4,
    ..READ
};
const STRONG_READ: Access = Access { strong: true, ..READ };
const STRONG_WRITE: Access = Access {
    strong: true,
    ..WRITE
};

fn kind(conflict: Option<Conflict>) -> Option<ConflictKind> {
    conflict.map(|conflict| conflict.kind)
}

fn threads() -> Threads {
    Threads::new(4, 4)
}

#[test]
fn accesses_without_order_race_if_one_writes() {
    for (first, second, race) in [
        (READ, READ, false),
        (READ, WRITE, true),
        (WRITE, READ, true),
        (WRITE, WRITE, true),
        (ATOMIC, READ, true),
        (WRITE, ATOMIC, true),
        (READ, ATOMIC, true),
    ] {
        let mut threads = threads();
        assert_eq!(threads.access(0, 0..4, first), None);
        let found = kind(threads.access(1, 0..4, second));
        assert_eq!(found, race.then_some(ConflictKind::Race), "{first:?} {second:?}");
    }
}

#[test]
fn a_barrier_orders_accesses() {
    let mut threads = threads();
    threads.access(0, 0..4, WRITE);
    threads.barrier(0);
    assert_eq!(threads.access(1, 0..4, READ), None);
    assert_eq!(threads.access(2, 0..4, READ), None);
    threads.barrier(0);
    assert_eq!(threads.access(3, 0..4, WRITE), None);
}

#[test]
fn a_refill_must_follow_every_reader() {
    let mut threads = threads();
    threads.access(1, 0..4, READ);
    threads.access(2, 0..4, READ);
    threads.release(1, 0);
    threads.acquire(0, 0);
    let conflict = threads.access(0, 0..4, WRITE);
    assert_eq!(
        conflict.map(|found| (found.kind, found.other.event.agent)),
        Some((ConflictKind::Race, 2 * STRIDE as u32))
    );
}

#[test]
fn order_is_by_what_was_released_and_not_by_time() {
    let mut threads = threads();
    threads.release(0, 0);
    threads.access(0, 0..4, WRITE);
    threads.acquire(1, 0);
    assert_eq!(kind(threads.access(1, 0..4, READ)), Some(ConflictKind::Race));
}

#[test]
fn order_is_transitive() {
    let mut threads = threads();
    threads.access(0, 0..4, WRITE);
    threads.release(0, 0);
    threads.acquire(1, 0);
    threads.release(1, 1);
    threads.acquire(2, 1);
    assert_eq!(threads.access(2, 0..4, WRITE), None);
}

#[test]
fn strong_accesses_do_not_race_with_each_other() {
    for (first, second) in [
        (ATOMIC, ATOMIC),
        (STRONG_WRITE, STRONG_READ),
        (STRONG_READ, STRONG_WRITE),
    ] {
        let mut threads = threads();
        threads.access(0, 0..4, first);
        assert_eq!(threads.access(1, 0..4, second), None);
    }
}

#[test]
fn a_weak_access_races_with_any_of_several_strong_ones() {
    let mut threads = threads();
    threads.access(0, 0..4, ATOMIC);
    threads.access(1, 0..4, ATOMIC);
    threads.access(2, 0..4, ATOMIC);
    let conflict = threads.access(2, 0..4, READ);
    assert_eq!(conflict.map(|found| found.other.event.agent), Some(0));
}

#[test]
fn a_strong_access_does_not_hide_a_weak_one() {
    let mut threads = threads();
    threads.access(0, 0..4, WRITE);
    threads.access(0, 0..4, ATOMIC);
    assert_eq!(kind(threads.access(1, 0..4, ATOMIC)), Some(ConflictKind::Race));
}

#[test]
fn no_order_helps_an_invariant_load() {
    let mut threads = threads();
    threads.access(0, 0..4, WRITE);
    threads.barrier(0);
    assert_eq!(
        kind(threads.access(0, 0..4, INVARIANT)),
        Some(ConflictKind::InvariantLoad)
    );

    threads.access(0, 16..20, INVARIANT);
    threads.access(0, 16..20, READ);
    threads.barrier(0);
    assert_eq!(
        kind(threads.access(1, 16..20, WRITE)),
        Some(ConflictKind::InvariantLoad)
    );
}

#[test]
fn the_async_proxy_sees_writes_only_past_a_fence() {
    let run = |fence_by: Option<usize>| {
        let mut threads = threads();
        threads.access(1, 0..16, WRITE);
        if fence_by == Some(1) {
            threads.fence(1);
        }
        threads.barrier(0);
        if fence_by == Some(0) {
            threads.fence(0);
        }
        kind(threads.issue(0, 0..16, READ).1)
    };
    assert_eq!(run(None), Some(ConflictKind::MissingProxyFence));
    assert_eq!(run(Some(0)), None);
    assert_eq!(run(Some(1)), None);
}

#[test]
fn a_fence_by_another_thread_than_those_on_the_way_does_not_count() {
    let mut threads = threads();
    threads.access(1, 0..16, WRITE);
    threads.fence(2);
    threads.barrier(0);
    assert_eq!(
        kind(threads.issue(0, 0..16, READ).1),
        Some(ConflictKind::MissingProxyFence)
    );
}

#[test]
fn a_fence_before_the_write_does_not_count() {
    let mut threads = threads();
    threads.fence(0);
    threads.access(0, 0..16, WRITE);
    assert_eq!(
        kind(threads.issue(0, 0..16, READ).1),
        Some(ConflictKind::MissingProxyFence)
    );
}

#[test]
fn a_fence_does_not_replace_a_barrier() {
    let mut threads = threads();
    threads.access(1, 0..16, WRITE);
    threads.fence(1);
    threads.fence(0);
    assert_eq!(kind(threads.issue(0, 0..16, READ).1), Some(ConflictKind::Race));
}

#[test]
fn a_copy_into_memory_that_was_only_read_needs_no_fence() {
    let mut threads = threads();
    threads.access(1, 0..16, READ);
    assert_eq!(
        kind(threads.clone().issue(0, 0..16, WRITE).1),
        Some(ConflictKind::Race)
    );
    threads.barrier(0);
    assert_eq!(threads.issue(0, 0..16, WRITE).1, None);
}

#[test]
fn a_copy_is_seen_by_who_waits_for_it() {
    let mut threads = threads();
    let (copy, _) = threads.issue(0, 0..16, WRITE);
    let conflict = threads.clone().access(0, 4..8, READ);
    assert_eq!(
        conflict.map(|found| (found.kind, found.other.what)),
        Some((ConflictKind::Race, What::AsyncWrite))
    );
    threads.complete(1, &copy);
    assert_eq!(threads.access(1, 4..8, READ), None);
    assert_eq!(kind(threads.access(2, 4..8, READ)), Some(ConflictKind::Race));
}

#[test]
fn the_source_of_a_copy_must_not_be_written_before_it_was_read() {
    let mut threads = threads();
    let (copy, _) = threads.issue(0, 0..16, READ);
    assert_eq!(
        kind(threads.clone().access(0, 0..4, WRITE)),
        Some(ConflictKind::Race)
    );
    threads.complete(0, &copy);
    assert_eq!(threads.access(0, 0..4, WRITE), None);
}

#[test]
fn two_copies_race_if_the_second_does_not_wait_for_the_first() {
    let mut threads = threads();
    let (copy, _) = threads.issue(0, 0..16, WRITE);
    assert_eq!(
        kind(threads.clone().issue(0, 0..16, WRITE).1),
        Some(ConflictKind::Race)
    );
    threads.complete(0, &copy);
    assert_eq!(threads.issue(0, 0..16, WRITE).1, None);
}

#[test]
fn copies_of_one_mbarrier_are_checked_for_each_issuer() {
    let mut threads = threads();
    threads.access(0, 0..16, WRITE);
    threads.fence(0);
    let mbarrier = Event {
        cluster: 0,
        agent: 500,
        time: 1,
    };
    assert_eq!(threads.issue_as(mbarrier, 0, 0..16, READ).1, None);
    assert_eq!(
        kind(threads.issue_as(mbarrier, 1, 0..16, READ).1),
        Some(ConflictKind::Race)
    );
}

#[test]
fn reductions_by_copies_do_not_race_with_each_other() {
    let reduce = Access {
        strong: true,
        ..WRITE
    };
    let mut threads = threads();
    assert_eq!(threads.issue(0, 0..16, reduce).1, None);
    assert_eq!(threads.issue(1, 0..16, reduce).1, None);
    assert_eq!(kind(threads.access(2, 0..4, ATOMIC)), Some(ConflictKind::Race));
}

#[test]
fn neighbours_do_not_conflict() {
    let mut threads = threads();
    threads.access(0, 0..16, WRITE);
    threads.barrier(0);
    for byte in 0..4 {
        assert_eq!(threads.access(byte, byte..byte + 1, WRITE), None);
    }
    assert_eq!(threads.access(0, 4..8, READ), None);
    let conflict = threads.access(0, 0..8, READ);
    assert_eq!(conflict.map(|found| (found.offset, found.bytes)), Some((1, 3)));
}

#[test]
fn a_split_cell_keeps_what_it_knew() {
    let mut threads = threads();
    threads.access(0, 0..16, WRITE);
    threads.access(0, 17..18, WRITE);
    assert_eq!(kind(threads.access(1, 14..16, READ)), Some(ConflictKind::Race));
}

#[test]
fn a_large_copy_is_checked_in_every_block() {
    let mut threads = threads();
    threads.access(1, 600..602, READ);
    let (_, conflict) = threads.issue(0, 16..1024, WRITE);
    assert_eq!(
        conflict.map(|found| (found.kind, found.offset)),
        Some((ConflictKind::Race, 600))
    );
}

#[test]
fn a_launch_follows_all_of_the_one_before() {
    let mut threads = threads();
    threads.access(0, 0..4, WRITE);
    threads.shadow.clear();
    assert_eq!(threads.access(1, 0..4, WRITE), None);
}

#[test]
fn clusters_are_ordered_through_memory_alone() {
    let mut threads = Threads::new(4, 2);
    threads.access(0, 0..4, WRITE);
    threads.barrier(0);
    threads.barrier(1);
    assert_eq!(
        kind(threads.clone().access(2, 0..4, READ)),
        Some(ConflictKind::Race)
    );
    threads.release(1, 0);
    threads.acquire(2, 0);
    assert_eq!(threads.access(2, 0..4, READ), None);
    threads.barrier(1);
    assert_eq!(threads.access(3, 0..4, WRITE), None);
}
