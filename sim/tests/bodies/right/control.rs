//! Control flow: block arguments, selects, exchanges and barriers in loops. And integer arithmetic.

use crate::kernel::Kernel;

const ZEROS: &str = "
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %zeros = llvm.mlir.constant(dense<0.0> : vector<4xf32>) : vector<4xf32>";

/// A loop carries a vector: sums of four columns over 4 rows of 64 x 4, of which the even rows are left out.
#[test]
fn a_loop_carries_a_vector_and_selects_of_it() {
    let body = format!(
        "{ZEROS}
    %none = llvm.mlir.constant(dense<false> : vector<4xi1>) : vector<4xi1>
    %every = llvm.mlir.constant(dense<true> : vector<4xi1>) : vector<4xi1>
    llvm.br ^loop(%c0, %zeros : i32, vector<4xf32>)
  ^loop(%i: i32, %sum: vector<4xf32>):
    %goes = llvm.icmp \"slt\" %i, %c4 : i32
    llvm.cond_br %goes, ^in(%i : i32), ^out(%sum : vector<4xf32>)
  ^in(%j: i32):
    %row = llvm.mul %j, %c64 : i32
    %at = llvm.add %row, %tid : i32
    %from = llvm.getelementptr %x[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    %v = llvm.load %from {{alignment = 16 : i64}} : !llvm.ptr<1> -> vector<4xf32>
    %odd = llvm.trunc %j : i32 to i1
    %mask = llvm.select %odd, %every, %none : i1, vector<4xi1>
    %kept = llvm.select %mask, %v, %zeros : vector<4xi1>, vector<4xf32>
    %more = llvm.fadd %sum, %kept : vector<4xf32>
    %up = llvm.add %j, %c1 : i32
    llvm.br ^loop(%up, %more : i32, vector<4xf32>)
  ^out(%all_of_it: vector<4xf32>):
    %to = llvm.getelementptr %y[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    llvm.store %all_of_it, %to {{alignment = 16 : i64}} : vector<4xf32>, !llvm.ptr<1>"
    );
    let expected: Vec<f32> = (0..256).map(|at| ((256 + at) + (768 + at)) as f32).collect();
    Kernel::of(&body).gives(&expected, &[]);
}

/// In every iteration of a loop, lanes exchange values by shuffles and then all threads do through shared memory; none
/// of the barriers can be left out.
#[test]
fn a_loop_with_shuffles_and_barriers() {
    let body = format!(
        "{ZEROS}
    %n = llvm.add %c3, %c0 : i32
    llvm.br ^loop(%c0, %one : i32, f32)
  ^loop(%i: i32, %value: f32):
    %o = nvvm.shfl.sync bfly %all, %value, %c1, %c31 : f32 -> f32
    %pair = llvm.fadd %value, %o : f32
    llvm.store %pair, %ai : f32, !llvm.ptr<3>
    nvvm.barrier
    %other = llvm.xor %tid, %c32 : i32
    %ap = llvm.getelementptr %a[%other] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %t = llvm.load %ap : !llvm.ptr<3> -> f32
    nvvm.barrier
    %up = llvm.add %i, %c1 : i32
    %again = llvm.icmp \"slt\" %up, %n : i32
    llvm.cond_br %again, ^loop(%up, %t : i32, f32), ^out
  ^out:
    llvm.store %t, %yi : f32, !llvm.ptr<1>"
    );
    Kernel::of(&body).gives(&[8.0; 64], &[]);
}

/// The halves of 64 bits go through 32-bit shuffles and come together again.
#[test]
fn a_shuffle_of_64_bits_by_halves() {
    let body = "
    %wide = llvm.zext %tid : i32 to i64
    %shift = llvm.mlir.constant(32 : i64) : i64
    %high = llvm.shl %wide, %shift : i64
    %both = llvm.or %high, %wide : i64
    %halves = llvm.bitcast %both : i64 to vector<2xi32>
    %h0 = llvm.extractelement %halves[%c0 : i32] : vector<2xi32>
    %h1 = llvm.extractelement %halves[%c1 : i32] : vector<2xi32>
    %s0 = nvvm.shfl.sync bfly %all, %h0, %c1, %c31 : i32 -> i32
    %s1 = nvvm.shfl.sync bfly %all, %h1, %c2, %c31 : i32 -> i32
    %u = llvm.mlir.poison : vector<2xi32>
    %u0 = llvm.insertelement %s0, %u[%c0 : i32] : vector<2xi32>
    %u1 = llvm.insertelement %s1, %u0[%c1 : i32] : vector<2xi32>
    %back = llvm.bitcast %u1 : vector<2xi32> to i64
    %scale = llvm.mlir.constant(4294967296 : i64) : i64
    %q = llvm.udiv %back, %scale : i64
    %r = llvm.urem %back, %scale : i64
    %product = llvm.mul %q, %shift : i64
    %sum = llvm.add %product, %r : i64
    %f = llvm.uitofp %sum : i64 to f32
    llvm.store %f, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0u32..64).map(|id| (32 * (id ^ 2) + (id ^ 1)) as f32).collect();
    Kernel::of(body).gives(&expected, &[]);
}

/// Asserts that an integer operation on the thread's index gives what `expected` gives for that index.
#[track_caller]
fn computes(operation: &str, expected: impl Fn(i32) -> i32) {
    let body = format!(
        "
    %c7 = llvm.mlir.constant(7 : i32) : i32
    %m3 = llvm.mlir.constant(-3 : i32) : i32
    %w7 = llvm.mlir.constant(7 : i64) : i64
    %false = llvm.mlir.constant(false) : i1
    %n = llvm.sub %tid, %c32 : i32
    %wn = llvm.sext %n : i32 to i64
    %wt = llvm.zext %tid : i32 to i64
    {operation}
    %f = llvm.sitofp %r : i32 to f32
    llvm.store %f, %yi : f32, !llvm.ptr<1>"
    );
    let values: Vec<f32> = (0..64).map(|id| expected(id) as f32).collect();
    Kernel::of(&body).gives(&values, &[]);
}

#[test]
fn divisions_round_towards_zero() {
    computes("%r = llvm.sdiv %n, %m3 : i32", |id| (id - 32) / -3);
    computes("%r = llvm.srem %n, %m3 : i32", |id| (id - 32) % -3);
    let narrow = "\n    %r = llvm.trunc %wide : i64 to i32";
    computes(&format!("%wide = llvm.sdiv %wn, %w7 : i64{narrow}"), |id| {
        (id - 32) / 7
    });
    computes(&format!("%wide = llvm.srem %wn, %w7 : i64{narrow}"), |id| {
        (id - 32) % 7
    });
    computes(&format!("%wide = llvm.udiv %wt, %w7 : i64{narrow}"), |id| id / 7);
    computes(&format!("%wide = llvm.urem %wt, %w7 : i64{narrow}"), |id| id % 7);
}

#[test]
fn smaller_and_larger_by_either_order() {
    let unsigned = |id: i32| (id - 32) as u32;
    computes("%r = llvm.intr.smin(%n, %c7) : (i32, i32) -> i32", |id| {
        (id - 32).min(7)
    });
    computes("%r = llvm.intr.smax(%n, %m3) : (i32, i32) -> i32", |id| {
        (id - 32).max(-3)
    });
    computes("%r = llvm.intr.umin(%n, %c7) : (i32, i32) -> i32", |id| {
        unsigned(id).min(7) as i32
    });
    computes("%r = llvm.intr.umax(%n, %c7) : (i32, i32) -> i32", |id| {
        unsigned(id).max(7) as i32
    });
}

#[test]
fn bits_are_counted_and_signs_dropped() {
    let widened = |text: &str| format!("{text}\n    %r = llvm.trunc %wide : i64 to i32");
    computes(
        "%r = \"llvm.intr.ctlz\"(%tid) <{is_zero_poison = false}> : (i32) -> i32",
        |id| id.leading_zeros() as i32,
    );
    computes(
        &widened("%wide = \"llvm.intr.ctlz\"(%wt) <{is_zero_poison = false}> : (i64) -> i64"),
        |id| i64::from(id).leading_zeros() as i32,
    );
    computes(
        "%r = \"llvm.intr.cttz\"(%tid) <{is_zero_poison = false}> : (i32) -> i32",
        |id| id.trailing_zeros() as i32,
    );
    computes("%r = llvm.intr.ctpop(%n) : (i32) -> i32", |id| {
        (id - 32).count_ones() as i32
    });
    computes(&widened("%wide = llvm.intr.ctpop(%wn) : (i64) -> i64"), |id| {
        i64::from(id - 32).count_ones() as i32
    });
    computes(
        "%r = \"llvm.intr.abs\"(%n) <{is_int_min_poison = false}> : (i32) -> i32",
        |id| (id - 32).abs(),
    );
}

#[test]
fn a_warp_reduces_integers() {
    let first = |id: i32| id / 32 * 32;
    computes("%r = nvvm.redux.sync add %n, %all : i32 -> i32", |id| {
        (first(id)..first(id) + 32).map(|id| id - 32).sum()
    });
    computes("%r = nvvm.redux.sync min %n, %all : i32 -> i32", |id| {
        first(id) - 32
    });
    computes("%r = nvvm.redux.sync umax %n, %all : i32 -> i32", |id| {
        (first(id)..first(id) + 32)
            .map(|id| (id - 32) as u32)
            .max()
            .unwrap_or(0) as i32
    });
}

/// The largest of a warp's values, one of which is NaN: `fmax` leaves it out, and with `nan` it is the result.
#[test]
fn a_warp_reduces_floats() {
    let body = "
    %nan = llvm.mlir.constant(0x7FC00000 : f32) : f32
    %f = llvm.uitofp %tid : i32 to f32
    %is_eighth = llvm.icmp \"eq\" %tid, %c8 : i32
    %value = llvm.select %is_eighth, %nan, %f : i1, f32
    %number = nvvm.redux.sync fmax %value, %all : f32 -> f32
    %any = nvvm.redux.sync fmax %value, %all {nan = true} : f32 -> f32
    %is_number = llvm.fcmp \"oeq\" %any, %any : f32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %more = llvm.select %is_number, %one, %zero : i1, f32
    %sum = llvm.fadd %number, %more : f32
    llvm.store %sum, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..64).map(|id| if id < 32 { 31.0 } else { 64.0 }).collect();
    Kernel::of(body).gives(&expected, &[]);
}

/// Minima and maxima of floats; `maxnum` ignores an operand that is NaN.
#[test]
fn floats_smaller_and_larger() {
    let body = "
    %nan = llvm.mlir.constant(0x7FC00000 : f32) : f32
    %f = llvm.uitofp %tid : i32 to f32
    %eight = llvm.uitofp %c8 : i32 to f32
    %low = llvm.intr.minimum(%f, %eight) : (f32, f32) -> f32
    %high = llvm.intr.maxnum(%low, %nan) : (f32, f32) -> f32
    llvm.store %high, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..64).map(|id| (id as f32).min(8.0)).collect();
    Kernel::of(body).gives(&expected, &[]);
}
