//! Instructions that the lanes of a warp execute together.

use crate::kernel::Kernel;

/// `y[i]` is the sum of the lane numbers of a group of 8 lanes: all groups reduce in one instruction, each under its
/// own mask, which `match.any` found.
#[test]
fn groups_of_lanes_reduce_under_masks_of_their_own() {
    let body = "
    %group = llvm.lshr %lane, %c3 : i32
    %mask = nvvm.match.sync any %all, %group : i32 -> i32
    %sum = nvvm.redux.sync add %lane, %mask : i32 -> i32
    %f = llvm.sitofp %sum : i32 to f32
    llvm.store %f, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..32).map(|lane| (8 * (lane / 8 * 8) + 28) as f32).collect();
    Kernel::of(body).threads(32).gives(&expected, &[]);
}

/// As above, in a loop that the groups leave after 1, 2, 3 and 4 rounds.
#[test]
fn groups_of_lanes_that_diverge_reduce_under_masks_of_their_own() {
    let body = "
    %group = llvm.lshr %lane, %c3 : i32
    %mask = nvvm.match.sync any %all, %group : i32 -> i32
    llvm.br ^round(%c0, %c0 : i32, i32)
  ^round(%i: i32, %total: i32):
    %sum = nvvm.redux.sync add %lane, %mask : i32 -> i32
    %new = llvm.add %total, %sum : i32
    %next = llvm.add %i, %c1 : i32
    %more = llvm.icmp \"ult\" %i, %group : i32
    llvm.cond_br %more, ^round(%next, %new : i32, i32), ^end
  ^end:
    %f = llvm.sitofp %new : i32 to f32
    llvm.store %f, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..32)
        .map(|lane| ((lane / 8 + 1) * (8 * (lane / 8 * 8) + 28)) as f32)
        .collect();
    Kernel::of(body).threads(32).gives(&expected, &[]);
}

/// Votes and a reduction under partial masks on both sides of a branch.
#[test]
fn both_sides_of_a_branch_vote() {
    let body = "
    %lower = llvm.icmp \"ult\" %lane, %c8 : i32
    %odd = llvm.and %lane, %c1 : i32
    %p = llvm.icmp \"ne\" %odd, %c0 : i32
    %low = llvm.mlir.constant(255 : i32) : i32
    %high = llvm.mlir.constant(-256 : i32) : i32
    llvm.cond_br %lower, ^one, ^other
  ^one:
    %b1 = nvvm.vote.sync ballot %low, %p -> i32
    %m1 = nvvm.redux.sync umax %lane, %low : i32 -> i32
    %s1 = llvm.add %b1, %m1 : i32
    llvm.br ^end(%s1 : i32)
  ^other:
    %b2 = nvvm.vote.sync ballot %high, %p -> i32
    %n2 = llvm.intr.ctpop(%b2) : (i32) -> i32
    %any = nvvm.vote.sync any %high, %p -> i1
    %a2 = llvm.zext %any : i1 to i32
    %s2 = llvm.add %n2, %a2 : i32
    llvm.br ^end(%s2 : i32)
  ^end(%s: i32):
    %f = llvm.sitofp %s : i32 to f32
    llvm.store %f, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..32)
        .map(|lane| if lane < 8 { 170.0 + 7.0 } else { 12.0 + 1.0 })
        .collect();
    Kernel::of(body).threads(32).gives(&expected, &[]);
}

/// Prefix sums of segments of 8 lanes by `shfl.up`, and the last of each segment by `shfl.idx`.
#[test]
fn segments_of_a_warp_scan() {
    // Up: the clamp is the first lane of the segment, 0; index: its last, 7. The segment mask is 24.
    let body = "
    %up = llvm.mlir.constant(6144 : i32) : i32
    %idx = llvm.mlir.constant(6151 : i32) : i32
    %seven = llvm.mlir.constant(7 : i32) : i32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    %r1 = nvvm.shfl.sync up %all, %v, %c1, %up {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
    %v1 = llvm.extractvalue %r1[0] : !llvm.struct<(f32, i1)>
    %p1 = llvm.extractvalue %r1[1] : !llvm.struct<(f32, i1)>
    %a1 = llvm.select %p1, %v1, %zero : i1, f32
    %s1 = llvm.fadd %v, %a1 : f32
    %r2 = nvvm.shfl.sync up %all, %s1, %c2, %up {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
    %v2 = llvm.extractvalue %r2[0] : !llvm.struct<(f32, i1)>
    %p2 = llvm.extractvalue %r2[1] : !llvm.struct<(f32, i1)>
    %a2 = llvm.select %p2, %v2, %zero : i1, f32
    %s2 = llvm.fadd %s1, %a2 : f32
    %r4 = nvvm.shfl.sync up %all, %s2, %c4, %up {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
    %v4 = llvm.extractvalue %r4[0] : !llvm.struct<(f32, i1)>
    %p4 = llvm.extractvalue %r4[1] : !llvm.struct<(f32, i1)>
    %a4 = llvm.select %p4, %v4, %zero : i1, f32
    %s4 = llvm.fadd %s2, %a4 : f32
    %total = nvvm.shfl.sync idx %all, %s4, %seven, %idx : f32 -> f32
    %d = llvm.fsub %total, %s4 : f32
    llvm.store %d, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..32)
        .map(|lane| (lane + 1..(lane / 8 + 1) * 8).sum::<i32>() as f32)
        .collect();
    Kernel::of(body).threads(32).gives(&expected, &[]);
}

/// Each lane loops as often as its number says, and then the warp shuffles the results: the lanes must reconverge.
#[test]
fn lanes_meet_again_after_loops_of_different_length() {
    let body = "
    llvm.br ^round(%c0, %c0 : i32, i32)
  ^round(%i: i32, %sum: i32):
    %new = llvm.add %sum, %i : i32
    %next = llvm.add %i, %c1 : i32
    %more = llvm.icmp \"ult\" %i, %lane : i32
    llvm.cond_br %more, ^round(%next, %new : i32, i32), ^end
  ^end:
    %other = nvvm.shfl.sync bfly %all, %new, %c1, %c31 : i32 -> i32
    %f = llvm.sitofp %other : i32 to f32
    llvm.store %f, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..32)
        .map(|lane: i32| ((lane ^ 1) * ((lane ^ 1) + 1) / 2) as f32)
        .collect();
    Kernel::of(body).threads(32).gives(&expected, &[]);
}

/// Lanes poll for what another lane of their warp writes in another branch: the threads of a warp must make progress
/// independently.
#[test]
fn a_lane_waits_for_another_of_its_warp() {
    let body = "
    llvm.cond_br %first, ^start, ^ask
  ^start:
    %zero = llvm.mlir.constant(0 : i32) : i32
    llvm.br ^write
  ^ask:
    %v = nvvm.inline_ptx \"ld.acquire.gpu.global.u32 $0, [$1];\" ro(%w : !llvm.ptr<1>) -> i32
    %there = llvm.icmp \"ne\" %v, %c0 : i32
    llvm.cond_br %there, ^end, ^ask
  ^write:
    llvm.store %one, %a : f32, !llvm.ptr<3>
    nvvm.inline_ptx \"st.release.gpu.global.u32 [$0], $1;\" ro(%w, %c1 : !llvm.ptr<1>, i32)
    llvm.br ^end
  ^end:
    %t = llvm.load %a : !llvm.ptr<3> -> f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>";
    Kernel::of(body).threads(32).gives(&[1.0; 32], &[]);
}
