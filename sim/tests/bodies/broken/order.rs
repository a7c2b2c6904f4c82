//! Flags, fences and scopes that do not order what they should.

use norma_simulator::FindingKind;

use crate::kernel::Kernel;

/// CTA 1 hands a value to CTA 0: it sets a flag by `tell`, CTA 0 polls the flag by `ask`, and executes `hear` once it
/// is set.
fn handover(tell: &str, ask: &str, hear: &str) -> Kernel {
    let body = format!(
        "
    %gives = llvm.icmp \"eq\" %cta, %c1 : i32
    llvm.cond_br %gives, ^give, ^ask
  ^give:
    llvm.store %one, %y : f32, !llvm.ptr<1>
    {tell}
    llvm.br ^out
  ^ask:
    {ask}
    %there = llvm.icmp \"ne\" %v, %c0 : i32
    llvm.cond_br %there, ^hear, ^ask
  ^hear:
    {hear}
    %t = llvm.load %y : !llvm.ptr<1> -> f32
    %to = llvm.getelementptr %y[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %t, %to : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:"
    );
    Kernel::of(&body).threads(1).ctas(2)
}

const RELAXED_TELL: &str =
    "nvvm.inline_ptx \"st.relaxed.gpu.global.u32 [$0], $1;\" ro(%w, %c1 : !llvm.ptr<1>, i32)";
const RELEASE_TELL: &str =
    "nvvm.inline_ptx \"st.release.gpu.global.u32 [$0], $1;\" ro(%w, %c1 : !llvm.ptr<1>, i32)";
const RELAXED_ASK: &str =
    "%v = nvvm.inline_ptx \"ld.relaxed.gpu.global.u32 $0, [$1];\" ro(%w : !llvm.ptr<1>) -> i32";
const ACQUIRE_ASK: &str =
    "%v = nvvm.inline_ptx \"ld.acquire.gpu.global.u32 $0, [$1];\" ro(%w : !llvm.ptr<1>) -> i32";
const FENCE: &str = "llvm.fence syncscope(\"device\") acq_rel\n    ";

#[test]
fn a_release_and_an_acquire_or_fences_hand_over() {
    let fenced = format!("{FENCE}{RELAXED_TELL}");
    for tell in [RELEASE_TELL, &fenced] {
        handover(tell, ACQUIRE_ASK, "").gives(&[1.0, 1.0], &[]);
        handover(tell, RELAXED_ASK, FENCE).gives(&[1.0, 1.0], &[]);
    }
}

#[test]
fn a_relaxed_flag_hands_nothing_over() {
    handover(RELAXED_TELL, ACQUIRE_ASK, "").is_found(FindingKind::DataRace, "llvm.load", &[]);
    handover(RELEASE_TELL, RELAXED_ASK, "").is_found(FindingKind::DataRace, "llvm.load", &[]);
    let late = format!("{RELAXED_TELL}\n    {FENCE}");
    handover(&late, ACQUIRE_ASK, "").is_found(FindingKind::DataRace, "llvm.load", &[]);
}

#[test]
fn a_flag_that_is_read_and_written_as_any_memory_is_a_race() {
    let tell = format!("{FENCE}llvm.store %c1, %w : i32, !llvm.ptr<1>");
    let besides = [FindingKind::Endless];
    handover(&tell, "%v = llvm.load %w : !llvm.ptr<1> -> i32", FENCE).is_found(
        FindingKind::DataRace,
        "llvm.load",
        &besides,
    );
}

/// Releases, acquires and fences of CTA scope do not order threads of two CTAs.
#[test]
fn the_scope_of_a_cta_hands_nothing_to_another() {
    let narrow = |text: &str| text.replace(".gpu", ".cta").replace("\"device\"", "\"block\"");
    for (tell, ask, hear) in [
        (
            format!("{}{RELAXED_TELL}", narrow(FENCE)),
            ACQUIRE_ASK.to_owned(),
            String::new(),
        ),
        (RELEASE_TELL.to_owned(), RELAXED_ASK.to_owned(), narrow(FENCE)),
    ] {
        handover(&tell, &ask, &hear).is_found(FindingKind::DataRace, "llvm.load", &[]);
    }
    // A flag of the narrower scope is a race itself.
    handover(&narrow(RELEASE_TELL), ACQUIRE_ASK, "").is_found(
        FindingKind::DataRace,
        "ld.acquire.gpu.global.u32",
        &[FindingKind::DataRace],
    );
}

/// Another thread's relaxed store to the flag ends the sequence that the release heads (PTX ISA, "Release Patterns").
#[test]
fn a_relaxed_store_over_a_release_hands_nothing_over() {
    let body = "
    %gives = llvm.icmp \"eq\" %cta, %c1 : i32
    %passes = llvm.icmp \"eq\" %cta, %c2 : i32
    llvm.cond_br %gives, ^give, ^others
  ^others:
    llvm.cond_br %passes, ^pass, ^ask
  ^give:
    llvm.store %one, %y : f32, !llvm.ptr<1>
    nvvm.inline_ptx \"st.release.gpu.global.u32 [$0], $1;\" ro(%w, %c1 : !llvm.ptr<1>, i32)
    llvm.br ^out
  ^pass:
    %p = nvvm.inline_ptx \"ld.acquire.gpu.global.u32 $0, [$1];\" ro(%w : !llvm.ptr<1>) -> i32
    %is_given = llvm.icmp \"eq\" %p, %c1 : i32
    llvm.cond_br %is_given, ^over, ^pass
  ^over:
    nvvm.inline_ptx \"st.relaxed.gpu.global.u32 [$0], $1;\" ro(%w, %c2 : !llvm.ptr<1>, i32)
    llvm.br ^out
  ^ask:
    %v = nvvm.inline_ptx \"ld.acquire.gpu.global.u32 $0, [$1];\" ro(%w : !llvm.ptr<1>) -> i32
    %there = llvm.icmp \"eq\" %v, %c2 : i32
    llvm.cond_br %there, ^hear, ^ask
  ^hear:
    %t = llvm.load %y : !llvm.ptr<1> -> f32
    llvm.br ^out
  ^out:";
    // Under some schedules the CTA that asks sees 1 before 2, and with it the value, so that there is no race.
    Kernel::of(body)
        .threads(1)
        .ctas(3)
        .is_found(FindingKind::DataRace, "llvm.load", &[]);
}

/// Lanes of a warp read each other's shared memory after a shuffle, which orders no accesses.
#[test]
fn a_shuffle_orders_no_memory() {
    let body = "
    llvm.store %one, %ai : f32, !llvm.ptr<3>
    %v = nvvm.shfl.sync bfly %all, %lane, %c1, %c31 : i32 -> i32
    %place = llvm.xor %tid, %c1 : i32
    %ap = llvm.getelementptr %a[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32";
    Kernel::of(body).is_found(FindingKind::DataRace, "llvm.load", &[]);
}

/// The other side of the race is a thread, whose cluster may have ended by then, and not a copy.
#[test]
fn a_race_with_an_atomic_of_another_cta_names_who_made_it() {
    let body = "
    %owns = llvm.icmp \"eq\" %cta, %c0 : i32
    llvm.cond_br %owns, ^set, ^add
  ^set:
    llvm.store %c5, %w : i32, !llvm.ptr<1>
    llvm.br ^out
  ^add:
    %old = llvm.atomicrmw add %w, %c1 monotonic : !llvm.ptr<1>, i32
    llvm.br ^out
  ^out:";
    let notes = Kernel::of(body).threads(1).ctas(2).notes(FindingKind::DataRace);
    let updates: Vec<_> = notes
        .iter()
        .filter(|note| note.starts_with("updated it"))
        .collect();
    assert!(!updates.is_empty(), "{notes:?}");
    for note in updates {
        assert!(note.ends_with("CTA (1, 0, 0)"), "{note}");
    }
}

/// The phase is that of the mbarrier that lies there now.
#[test]
fn a_race_with_a_copy_names_the_phase_of_its_mbarrier() {
    let body = "
    llvm.cond_br %first, ^go, ^out
  ^go:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %bar, %c256 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %a, %x, %bar, %c256 : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.mbarrier.try_wait.parity %bar, %c0, %c32 : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.inval %bar : !llvm.ptr<3>
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %bar, %c256 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %b, %x, %bar, %c256 : !llvm.ptr<3>, !llvm.ptr<1>
    %t = llvm.load %b : !llvm.ptr<3> -> f32
    nvvm.mbarrier.try_wait.parity %bar, %c0, %c32 : !llvm.ptr<3>, i32, i32
    llvm.br ^out
  ^out:";
    let notes = Kernel::of(body).notes(FindingKind::DataRace);
    assert!(!notes.is_empty());
    for note in notes {
        assert!(note.ends_with("the mbarrier at 'bars'+0, phase 0"), "{note}");
    }
}
