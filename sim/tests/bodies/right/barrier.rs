//! Barriers of a CTA.

use crate::kernel::Kernel;

/// `y[i] = x[63 - i]` through shared memory, where a whole warp and half of another have left before.
///
/// PTX ISA, "exit": threads that exit do not hold up a barrier of all threads.
#[test]
fn threads_that_have_ended_do_not_hold_up_the_barrier_of_all() {
    let body = "
    %late = llvm.icmp \"uge\" %tid, %c16 : i32
    %last = llvm.icmp \"uge\" %tid, %c64 : i32
    %one_leaves = llvm.icmp \"ult\" %tid, %c16 : i32
    %leaves = llvm.or %one_leaves, %last : i1
    llvm.cond_br %leaves, ^out, ^go
  ^go:
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    %mirror = llvm.sub %c63, %tid : i32
    %place = llvm.add %mirror, %c16 : i32
    %ap = llvm.getelementptr %a[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %v, %ap : f32, !llvm.ptr<3>
    nvvm.barrier
    %t = llvm.load %ai : !llvm.ptr<3> -> f32
    %at = llvm.sub %tid, %c16 : i32
    %to = llvm.getelementptr %y[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %t, %to : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    let expected: Vec<f32> = (0..48).map(|index| (63 - index) as f32).collect();
    Kernel::of(body).threads(96).gives(
        &expected, // Two of the three warps come.
        &[("nvvm.barrier", "wait for a warp less")],
    );
}

/// `y[i] = x[47 - i]`: a barrier without `.aligned` that the halves of a warp execute at two places, in a CTA whose
/// last warp has 16 threads.
#[test]
fn a_barrier_that_is_not_aligned_counts_warps_too() {
    let body = "
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    llvm.store %v, %ai : f32, !llvm.ptr<3>
    %lower = llvm.icmp \"ult\" %lane, %c8 : i32
    llvm.cond_br %lower, ^one, ^other
  ^one:
    nvvm.inline_ptx \"barrier.cta.sync 0;\"
    llvm.br ^read
  ^other:
    nvvm.inline_ptx \"barrier.cta.sync 0;\"
    llvm.br ^read
  ^read:
    %c47 = llvm.mlir.constant(47 : i32) : i32
    %mirror = llvm.sub %c47, %tid : i32
    %ap = llvm.getelementptr %a[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..48).map(|index| (47 - index) as f32).collect();
    Kernel::of(body).threads(48).gives(&expected, &[]);
}

/// `y[i] = 32 p + 16 a + o + x[i ^ 32]`, where `p` is the number of threads with `x[i] < 40`, `a` whether it holds for
/// all, and `o` whether it holds for any. The barriers of the reductions order the shared memory of the two warps, too.
#[test]
fn reductions_over_a_barrier() {
    let body = "
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    %forty = llvm.mlir.constant(40.0 : f32) : f32
    %small = llvm.fcmp \"olt\" %v, %forty : f32
    %p = llvm.zext %small : i1 to i32
    llvm.store %v, %ai : f32, !llvm.ptr<3>
    %popc = nvvm.barrier #nvvm.reduction<popc> %p -> i32
    %and = nvvm.barrier #nvvm.reduction<and> %p -> i32
    %or = nvvm.barrier #nvvm.reduction<or> %p -> i32
    %and1 = llvm.icmp \"ne\" %and, %c0 : i32
    %or1 = llvm.icmp \"ne\" %or, %c0 : i32
    %and2 = llvm.select %and1, %c16, %c0 : i1, i32
    %or2 = llvm.select %or1, %c1, %c0 : i1, i32
    %popc2 = llvm.mul %popc, %c32 : i32
    %s = llvm.add %popc2, %and2 : i32
    %t = llvm.add %s, %or2 : i32
    %u = llvm.sitofp %t : i32 to f32
    %mirror = llvm.xor %tid, %c32 : i32
    %ap = llvm.getelementptr %a[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %w1 = llvm.load %ap : !llvm.ptr<3> -> f32
    %sum = llvm.fadd %u, %w1 : f32
    llvm.store %sum, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..64).map(|index| (40 * 32 + 1 + (index ^ 32)) as f32).collect();
    Kernel::of(body).gives(&expected, &[]);
}

/// `y[i] = x[i] + x[i ^ 32]`: two pairs of warps, each with a barrier of its own, whose id is a register.
#[test]
fn named_barriers_of_pairs_of_warps() {
    let body = "
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    llvm.store %v, %ai : f32, !llvm.ptr<3>
    %pair = llvm.lshr %warp, %c1 : i32
    %id = llvm.add %pair, %c1 : i32
    nvvm.barrier id = %id number_of_threads = %c64
    %other = llvm.xor %tid, %c32 : i32
    %ap = llvm.getelementptr %a[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32
    %sum = llvm.fadd %v, %t : f32
    llvm.store %sum, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..128).map(|index| (index + (index ^ 32)) as f32).collect();
    Kernel::of(body).threads(128).gives(&expected, &[]);
}

/// `y[i]` adds the other warp's value in each of four rounds. The two places in shared memory are used in turn, so that
/// one barrier per round is enough.
#[test]
fn two_buffers_need_one_barrier_a_round() {
    let body = "
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    llvm.br ^round(%c0, %v : i32, f32)
  ^round(%i: i32, %value: f32):
    %odd = llvm.and %i, %c1 : i32
    %base = llvm.mul %odd, %c64 : i32
    %place = llvm.add %base, %tid : i32
    %mine = llvm.getelementptr %a[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %value, %mine : f32, !llvm.ptr<3>
    nvvm.barrier
    %other = llvm.xor %place, %c32 : i32
    %theirs = llvm.getelementptr %a[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %theirs : !llvm.ptr<3> -> f32
    %sum = llvm.fadd %value, %t : f32
    %next = llvm.add %i, %c1 : i32
    %more = llvm.icmp \"ult\" %next, %c4 : i32
    llvm.cond_br %more, ^round(%next, %sum : i32, f32), ^end
  ^end:
    llvm.store %sum, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..64).map(|index| 8.0 * (index + (index ^ 32)) as f32).collect();
    Kernel::of(body).gives(&expected, &[]);
}

/// Warps that leave a warp-specialized kernel early, while the others go on with a named barrier; they changed their
/// register counts on the way.
#[test]
fn register_counts_move_between_warpgroups() {
    let body = "
    %producer = llvm.icmp \"ult\" %tid, %c128 : i32
    llvm.cond_br %producer, ^give, ^take
  ^give:
    nvvm.setmaxregister decrease 40
    llvm.br ^out
  ^take:
    nvvm.setmaxregister increase 232
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    llvm.store %v, %ai : f32, !llvm.ptr<3>
    nvvm.barrier id = %c1 number_of_threads = %c128
    %other = llvm.xor %tid, %c32 : i32
    %ap = llvm.getelementptr %a[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32
    %place = llvm.sub %tid, %c128 : i32
    %to = llvm.getelementptr %y[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %t, %to : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    let expected: Vec<f32> = (0..128).map(|index| (128 + (index ^ 32)) as f32).collect();
    Kernel::of(body)
        .threads(256)
        .attributes(", nvvm.maxnreg = 168 : i32")
        .gives(
            &expected, // Any other barrier does.
            &[("nvvm.barrier", "use the next barrier")],
        );
}
