//! Clusters whose CTAs use each other's shared memory too early or too late.

use norma_simulator::FindingKind;

use crate::kernel::Kernel;

const PEER: &str = "
    %peer = llvm.xor %rank, %c1 : i32
    %peer_ai = nvvm.mapa %ai, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    %peer_bar = nvvm.mapa %bar, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    llvm.store %one, %ai : f32, !llvm.ptr<3>";
const SYNC: &str = "
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}";

#[test]
fn a_cta_ends_while_others_read_its_memory() {
    let body = format!("{PEER}{SYNC}\n    %t = llvm.load %peer_ai : !llvm.ptr<7> -> f32");
    Kernel::of(&body)
        .cluster(2)
        .is_found(FindingKind::EarlyExit, "llvm.load", &[]);
}

#[test]
fn a_cta_ends_while_others_arrive_at_its_mbarrier() {
    let body = format!(
        "{PEER}
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c64 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^started
  ^started:{SYNC}
    nvvm.mbarrier.arrive %peer_bar {{scope = #nvvm.mem_scope<cluster>}} : !llvm.ptr<7>"
    );
    Kernel::of(&body)
        .cluster(2)
        .is_found(FindingKind::EarlyExit, "nvvm.mbarrier.arrive", &[]);
}

#[test]
fn another_cta_is_written_to_before_it_is_known_to_run() {
    let body = format!("{PEER}\n    llvm.store %one, %peer_ai : f32, !llvm.ptr<7>{SYNC}");
    Kernel::of(&body)
        .cluster(2)
        .is_found(FindingKind::EarlyExit, "llvm.store", &[FindingKind::DataRace]);
}

#[test]
fn a_barrier_of_the_cluster_that_does_not_release() {
    let relaxed = SYNC.replace("arrive", "arrive.relaxed");
    let body = format!("{PEER}{relaxed}\n    %t = llvm.load %peer_ai : !llvm.ptr<7> -> f32{SYNC}");
    Kernel::of(&body)
        .cluster(2)
        .is_found(FindingKind::DataRace, "llvm.load", &[]);
}

#[test]
fn a_cta_that_is_not_there() {
    let body = "
    %far = nvvm.mapa %ai, %c2 : !llvm.ptr<3> -> !llvm.ptr<7>
    llvm.store %one, %far : f32, !llvm.ptr<7>";
    Kernel::of(body)
        .cluster(2)
        .is_found(FindingKind::OutOfBounds, "llvm.store", &[]);
}
