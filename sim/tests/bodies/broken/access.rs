//! Accesses of the wrong memory, or by the wrong instruction.

use norma_simulator::FindingKind;

use crate::kernel::Kernel;

/// Barriers order the accesses, so that there is no race. But the memory of an mbarrier must not be accessed as data at
/// all (PTX ISA, "mbarrier": only its own operations are defined on it).
#[test]
fn an_mbarrier_is_overwritten() {
    let body = "
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    llvm.br ^started
  ^started:
    nvvm.barrier
    llvm.cond_br %first, ^clear, ^cleared
  ^clear:
    %half = llvm.getelementptr %bar[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
    llvm.store %c0, %half : i32, !llvm.ptr<3>
    llvm.br ^cleared
  ^cleared:
    nvvm.barrier";
    Kernel::of(body).is_found(FindingKind::Mbarrier, "llvm.store", &[]);
}

/// The memory of an mbarrier that was invalidated is free again.
#[test]
fn an_invalidated_mbarrier_is_memory_as_any() {
    let body = "
    llvm.cond_br %first, ^init, ^out
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.inval %bar : !llvm.ptr<3>
    llvm.store %one, %bar : f32, !llvm.ptr<3>
    %t = llvm.load %bar : !llvm.ptr<3> -> f32
    llvm.store %t, %y : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    Kernel::of(body).gives(
        &[1.0],
        // Nobody arrives.
        &[("nvvm.mbarrier.init", "expect an arrival more")],
    );
}

#[test]
fn one_element_too_many_of_shared_memory() {
    let body = "
    %c1024 = llvm.mlir.constant(1024 : i32) : i32
    %p = llvm.getelementptr %a[%c1024] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.cond_br %first, ^store, ^out
  ^store:
    llvm.store %one, %p : f32, !llvm.ptr<3>
    llvm.br ^out
  ^out:
    %bend = llvm.getelementptr %b[%c1024] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %last = llvm.getelementptr %bend[-1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
    %v = llvm.load %last {alignment = 4 : i64} : !llvm.ptr<3> -> vector<2xf32>";
    let besides = [FindingKind::Uninitialized, FindingKind::DataRace];
    Kernel::of(body).is_found(FindingKind::OutOfBounds, "llvm.load", &besides);
}

#[test]
fn one_row_too_many_of_a_buffer() {
    let body = "
    %c16r = llvm.mul %c16, %c64 : i32
    %at = llvm.add %c16r, %tid : i32
    %p = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %p : !llvm.ptr<1> -> f32";
    Kernel::of(body).is_found(FindingKind::OutOfBounds, "llvm.load", &[]);
}

#[test]
fn a_tail_of_shared_memory_that_nobody_wrote() {
    let body = "
    %p = llvm.getelementptr %a[%c63] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %most = llvm.icmp \"ult\" %tid, %c63 : i32
    llvm.cond_br %most, ^store, ^stored
  ^store:
    llvm.store %one, %ai : f32, !llvm.ptr<3>
    llvm.br ^stored
  ^stored:
    nvvm.barrier
    %v = llvm.load %p : !llvm.ptr<3> -> f32";
    Kernel::of(body).is_found(FindingKind::Uninitialized, "llvm.load", &[]);
}

/// The kernel works in place, but the load promises that nobody writes there while the kernel runs.
#[test]
fn an_invariant_load_of_what_the_kernel_writes() {
    let body = "
    llvm.store %one, %yi : f32, !llvm.ptr<1>
    nvvm.barrier
    %v = llvm.load %yi invariant : !llvm.ptr<1> -> f32";
    Kernel::of(body).is_found(FindingKind::InvariantLoad, "llvm.load", &[]);
}

/// The kernel ahead in the stream writes while this one runs already, so an `ld.global.nc` of its results may come too
/// early, wherever it stands.
#[test]
fn an_invariant_load_of_what_the_kernel_ahead_writes() {
    let body = "
    nvvm.griddepcontrol wait
    %v = llvm.load %xi invariant : !llvm.ptr<1> -> f32
    llvm.store %v, %yi : f32, !llvm.ptr<1>";
    Kernel::of(body)
        .programmatic()
        .is_found(FindingKind::GridDependency, "llvm.load", &[]);
}

#[test]
fn reads_and_writes_ahead_of_the_kernel_before() {
    let body = "
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    nvvm.griddepcontrol wait
    llvm.store %v, %yi : f32, !llvm.ptr<1>";
    Kernel::of(body)
        .programmatic()
        .is_found(FindingKind::GridDependency, "llvm.load", &[]);
    let body = "
    llvm.store %one, %yi : f32, !llvm.ptr<1>
    nvvm.griddepcontrol wait";
    Kernel::of(body)
        .programmatic()
        .is_found(FindingKind::GridDependency, "llvm.store", &[]);
}

/// A sum whose order is left to chance: right by every rule, but another number each time.
#[test]
fn a_sum_of_floats_by_atomics_differs_between_seeds() {
    let body = "
    %big = llvm.mlir.constant(1.0e8 : f32) : f32
    %odd = llvm.and %tid, %c1 : i32
    %is_odd = llvm.icmp \"ne\" %odd, %c0 : i32
    %small = llvm.load %xi : !llvm.ptr<1> -> f32
    %v = llvm.select %is_odd, %big, %small : i1, f32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.cond_br %first, ^clear, ^cleared
  ^clear:
    llvm.store %zero, %y : f32, !llvm.ptr<1>
    llvm.br ^cleared
  ^cleared:
    nvvm.barrier
    %old = llvm.atomicrmw fadd %y, %v monotonic : !llvm.ptr<1>, f32";
    assert!(Kernel::of(body).results() > 1);
}
