//! Clusters: shared memory of other CTAs, their mbarriers, and copies between them.

use crate::kernel::{BRINGS_A_COPY, Kernel};

/// `y` of a CTA, and the rank and shared memory of the other one of two.
const OTHER: &str = "
    %peer = llvm.xor %rank, %c1 : i32
    %row = llvm.mul %cta, %c64 : i32
    %at = llvm.add %row, %tid : i32
    %from = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %to = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    %peer_ai = nvvm.mapa %ai, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    %peer_bar = nvvm.mapa %bar, %peer : !llvm.ptr<3> -> !llvm.ptr<7>";

/// Initializes `%bar` for one arrival and shows it to the cluster.
const INIT: &str = "
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^started
  ^started:
    nvvm.cluster.arrive.relaxed {aligned}
    nvvm.cluster.wait {aligned}";

/// `x` of two CTAs, each with 64 elements, swapped.
fn swapped() -> Vec<f32> {
    (0..128).map(|index| (index ^ 64) as f32).collect()
}

/// Each CTA reads what the other wrote to its own memory, which must stay until then.
#[test]
fn ctas_read_each_other() {
    let body = format!(
        "{OTHER}
    llvm.store %v, %ai : f32, !llvm.ptr<3>
    nvvm.cluster.arrive {{aligned}}
    nvvm.cluster.wait {{aligned}}
    %t = llvm.load %peer_ai : !llvm.ptr<7> -> f32
    llvm.store %t, %to : f32, !llvm.ptr<1>
    nvvm.cluster.arrive {{aligned}}
    nvvm.cluster.wait {{aligned}}"
    );
    Kernel::of(&body).cluster(2).gives(&swapped(), &[]);
}

/// Each CTA writes to the other, once that is known to run, and reads its own memory.
#[test]
fn ctas_write_to_each_other() {
    let body = format!(
        "{OTHER}
    nvvm.cluster.arrive.relaxed {{aligned}}
    nvvm.cluster.wait {{aligned}}
    llvm.store %v, %peer_ai : f32, !llvm.ptr<7>
    nvvm.cluster.arrive {{aligned}}
    nvvm.cluster.wait {{aligned}}
    %t = llvm.load %ai : !llvm.ptr<3> -> f32
    llvm.store %t, %to : f32, !llvm.ptr<1>"
    );
    Kernel::of(&body).cluster(2).gives(&swapped(), &[]);
}

/// As above, but each waits for the other's 64 arrivals at an mbarrier. An earlier fence, for something else, takes
/// nothing away from `fence.mbarrier_init`.
#[test]
fn ctas_arrive_at_each_others_mbarriers() {
    let body = format!(
        "
    nvvm.memory.barrier #nvvm.mem_scope<gpu>
{OTHER}
{init}
    llvm.store %v, %peer_ai : f32, !llvm.ptr<7>
    nvvm.mbarrier.arrive %peer_bar {{scope = #nvvm.mem_scope<cluster>}} : !llvm.ptr<7>
    llvm.br ^wait
  ^wait:
    %there = nvvm.mbarrier.try_wait %bar, %c0 {{scope = #nvvm.mem_scope<cluster>}} : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^read, ^wait
  ^read:
    %t = llvm.load %ai : !llvm.ptr<3> -> f32
    llvm.store %t, %to : f32, !llvm.ptr<1>",
        init = INIT.replace("%bar, %c1", "%bar, %c64")
    );
    // The first fence is not needed.
    let unobservable = [("nvvm.memory.barrier", "drop the fence")];
    Kernel::of(&body).cluster(2).gives(&swapped(), &unobservable);
}

/// A multicast bulk copy by one CTA lands in both, each of which waits for it at its own mbarrier.
#[test]
fn one_copy_lands_in_all_ctas() {
    let body = format!(
        "{OTHER}
{init}
    %leader = llvm.icmp \"eq\" %rank, %c0 : i32
    %copies = llvm.and %leader, %first : i1
    llvm.cond_br %copies, ^copy, ^wait
  ^copy:
    %a7 = llvm.addrspacecast %a : !llvm.ptr<3> to !llvm.ptr<7>
    %both = llvm.mlir.constant(3 : i16) : i16
    nvvm.cp.async.bulk.shared.cluster.global %a7, %x, %bar, %c256 multicast_mask = %both : !llvm.ptr<7>, !llvm.ptr<1>
    llvm.br ^wait
  ^wait:
    %there = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^read, ^wait
  ^read:
    %t = llvm.load %ai : !llvm.ptr<3> -> f32
    llvm.store %t, %to : f32, !llvm.ptr<1>",
        init = INIT.replace(
            "    nvvm.fence.mbarrier.init",
            "    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %bar, %c256 : !llvm.ptr<3>, i32"
        )
    );
    let expected: Vec<f32> = (0..128).map(|index| (index % 64) as f32).collect();
    Kernel::of(&body).cluster(2).gives(&expected, &[BRINGS_A_COPY]);
}

/// Each CTA copies its shared memory to the other's in bulk; both stay until what they sent was read.
#[test]
fn ctas_copy_to_each_other_in_bulk() {
    let body = format!(
        "{OTHER}
{init}
    llvm.store %v, %ai : f32, !llvm.ptr<3>
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
    nvvm.barrier
    %bi = llvm.getelementptr %b[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.cond_br %first, ^copy, ^wait
  ^copy:
    %peer_b = nvvm.mapa %b, %peer : !llvm.ptr<3> -> !llvm.ptr<7>
    // The op takes the other CTA's mbarrier as an address of shared memory.
    %bits = llvm.ptrtoint %peer_bar : !llvm.ptr<7> to i32
    %bar3 = llvm.inttoptr %bits : i32 to !llvm.ptr<3>
    nvvm.mbarrier.arrive.expect_tx %bar, %c256 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.shared.cta %peer_b, %a, %bar3, %c256 : !llvm.ptr<7>, !llvm.ptr<3>
    llvm.br ^wait
  ^wait:
    %there = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^read, ^wait
  ^read:
    %t = llvm.load %bi : !llvm.ptr<3> -> f32
    llvm.store %t, %to : f32, !llvm.ptr<1>
    nvvm.cluster.arrive {{aligned}}
    nvvm.cluster.wait {{aligned}}",
        init = INIT
    );
    Kernel::of(&body).cluster(2).gives(&swapped(), &[BRINGS_A_COPY]);
}

/// Consumers arrive at the mbarrier of a producer in another CTA, and the producer waits for them before it ends, as in
/// pipelines across a cluster.
#[test]
fn a_producer_waits_for_its_consumers_before_it_ends() {
    let body = "
    %peer_bar = nvvm.mapa %bar, %c0 : !llvm.ptr<3> -> !llvm.ptr<7>
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c2 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^started
  ^started:
    nvvm.cluster.arrive.relaxed {aligned}
    nvvm.cluster.wait {aligned}
    %leader = llvm.icmp \"eq\" %rank, %c0 : i32
    llvm.cond_br %first, ^tell, ^wait
  ^tell:
    nvvm.mbarrier.arrive %peer_bar {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
    llvm.br ^wait
  ^wait:
    llvm.cond_br %leader, ^ask, ^out
  ^ask:
    %there = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^end, ^ask
  ^end:
    llvm.store %one, %yi : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    Kernel::of(body).cluster(2).gives(&[1.0; 64], &[]);
}

/// All threads of both CTAs count in one place of one CTA.
#[test]
fn remote_atomics_count() {
    let body = "
    %peer = nvvm.mapa %a, %c0 : !llvm.ptr<3> -> !llvm.ptr<7>
    llvm.cond_br %first, ^init, ^started
  ^init:
    llvm.store %c0, %a : i32, !llvm.ptr<3>
    llvm.br ^started
  ^started:
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    %old = nvvm.inline_ptx \"atom.relaxed.cluster.shared::cluster.add.u32 $0, [$1], $2;\" ro(%peer, %c1 : !llvm.ptr<7>, i32) -> i32
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    %n = llvm.load %a : !llvm.ptr<3> -> i32
    %f = llvm.sitofp %n : i32 to f32
    %leader = llvm.icmp \"eq\" %rank, %c0 : i32
    llvm.cond_br %leader, ^end, ^out
  ^end:
    llvm.store %f, %yi : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    Kernel::of(body).cluster(2).gives(&[128.0; 64], &[]);
}
