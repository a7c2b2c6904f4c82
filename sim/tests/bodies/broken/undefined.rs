//! Values that nothing has set.

use norma_simulator::FindingKind;

use crate::kernel::Kernel;

const GUARDED: &str = "
    %inside = llvm.icmp \"ult\" %tid, %c32 : i32
    %v = llvm.inline_asm has_side_effects \"mov.b32 $0, 0; @$2 ld.global.b32 $0, [$1];\", \"=r,l,b\" %xi, %inside
        : (!llvm.ptr<1>, i1) -> i32
    %t = llvm.bitcast %v : i32 to f32";
const ZERO: &str = "mov.b32 $0, 0; ";
const STORE: &str = "
    llvm.store %t, %yi : f32, !llvm.ptr<1>";

fn expected() -> Vec<f32> {
    (0..64)
        .map(|index| if index < 32 { index as f32 } else { 0.0 })
        .collect()
}

#[test]
fn a_guarded_load_that_zeroes_what_it_does_not_read() {
    Kernel::of(&format!("{GUARDED}{STORE}")).gives(&expected(), &[]);
}

#[test]
fn a_guarded_load_leaves_the_other_threads_nothing() {
    let kernel = Kernel::of(&format!("{GUARDED}{STORE}")).with(ZERO, "");
    kernel.is_found_in_every_seed(FindingKind::UndefinedValue, "llvm.store", &[]);
}

/// The operand that a select does not choose may be undefined.
#[test]
fn an_undefined_value_that_is_not_selected() {
    let body = format!(
        "{GUARDED}
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %s = llvm.select %inside, %t, %zero : i1, f32
    llvm.store %s, %yi : f32, !llvm.ptr<1>"
    );
    Kernel::of(&body).with(ZERO, "").gives(&expected(), &[]);
}

/// A sum over the warp includes a value that one thread never loaded.
#[test]
fn an_undefined_value_comes_through_sums_and_shuffles() {
    let body = format!(
        "{GUARDED}
    %o = nvvm.shfl.sync bfly %all, %t, %c16, %c31 : f32 -> f32
    %s = llvm.fadd %t, %o : f32
    llvm.store %s, %yi : f32, !llvm.ptr<1>"
    );
    let kernel = Kernel::of(&body).with("%c32", "%c16").threads(32).with(ZERO, "");
    kernel.is_found_in_every_seed(FindingKind::UndefinedValue, "llvm.store", &[]);
}

#[test]
fn an_undefined_condition() {
    let body = "
    %v = llvm.inline_asm \"{ .reg .b32 r; add.u32 $0, r, $1; }\", \"=r,r\" %tid : (i32) -> i32
    %some = llvm.icmp \"ult\" %v, %c8 : i32
    llvm.cond_br %some, ^in, ^out
  ^in:
    llvm.store %one, %yi : f32, !llvm.ptr<1>
    llvm.br ^out
  ^out:";
    Kernel::of(body).is_found_in_every_seed(FindingKind::UndefinedValue, "llvm.cond_br", &[]);
}

/// The text sets its output under a predicate that holds only in the first iteration of a loop. In the second one the
/// output is undefined: it does not keep the value of the first.
#[test]
fn a_value_of_the_turn_before_is_none() {
    let body = "
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.br ^loop(%c0, %zero : i32, f32)
  ^loop(%i: i32, %sum: f32):
    %starts = llvm.icmp \"eq\" %i, %c0 : i32
    %v = llvm.inline_asm \"@$1 mov.b32 $0, $2;\", \"=r,b,r\" %starts, %tid : (i1, i32) -> i32
    %f = llvm.sitofp %v : i32 to f32
    %next = llvm.fadd %sum, %f : f32
    %up = llvm.add %i, %c1 : i32
    %again = llvm.icmp \"ult\" %up, %c2 : i32
    llvm.cond_br %again, ^loop(%up, %next : i32, f32), ^out
  ^out:
    llvm.store %next, %yi : f32, !llvm.ptr<1>";
    Kernel::of(body).is_found_in_every_seed(FindingKind::UndefinedValue, "llvm.store", &[]);
    Kernel::of(body)
        .with("%up, %c2", "%up, %c1")
        .gives(&(0..64).map(|index| index as f32).collect::<Vec<_>>(), &[]);
}

/// `y[i] = i - 1` for odd `i`, and 0 for the others: a shuffle within one register, of which even lanes set their part.
/// Half of the warp comes to the shuffle ahead of the other half, and executes it only once.
#[test]
fn an_undefined_value_moves_once_in_a_shuffle_that_waits() {
    let body = "
    %odd = llvm.and %lane, %c1 : i32
    %is_odd = llvm.icmp \"ne\" %odd, %c0 : i32
    %is_even = llvm.icmp \"eq\" %odd, %c0 : i32
    %lower = llvm.icmp \"ult\" %lane, %c16 : i32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %v = llvm.inline_asm has_side_effects \"{ .reg .b32 r; @$2 mov.b32 r, $1; @$3 bra L; mov.b32 $0, 0; L: shfl.sync.bfly.b32 r, r, 1, 31, -1; mov.b32 $0, r; }\", \"=&r,r,b,b\" %lane, %is_even, %lower
        : (i32, i1, i1) -> i32
    %f = llvm.sitofp %v : i32 to f32
    %t = llvm.select %is_odd, %f, %zero : i1, f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..32)
        .map(|index| if index % 2 == 1 { (index - 1) as f32 } else { 0.0 })
        .collect();
    Kernel::of(body).threads(32).gives(&expected, &[]);
    Kernel::of(body)
        .threads(32)
        .with("select %is_odd", "select %is_even")
        .is_found_in_every_seed(FindingKind::UndefinedValue, "llvm.store", &[]);
}

/// `y[i]` is the sum of the lane numbers of the upper half of the warp, for the lanes of that half. The lower half, of
/// which nothing sets the values, reduces in the same instruction under another mask.
#[test]
fn an_undefined_value_stays_among_the_lanes_of_its_mask() {
    let body = "
    %upper = llvm.icmp \"uge\" %lane, %c16 : i32
    %low = llvm.mlir.constant(65535 : i32) : i32
    %high = llvm.mlir.constant(-65536 : i32) : i32
    %mask = llvm.select %upper, %high, %low : i1, i32
    %v = llvm.inline_asm has_side_effects \"@$2 mov.b32 $0, $1;\", \"=r,r,b\" %lane, %upper : (i32, i1) -> i32
    %sum = nvvm.redux.sync add %v, %mask : i32 -> i32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %f = llvm.sitofp %sum : i32 to f32
    %t = llvm.select %upper, %f, %zero : i1, f32
    llvm.store %t, %yi : f32, !llvm.ptr<1>";
    let expected: Vec<f32> = (0..32).map(|lane| if lane < 16 { 0.0 } else { 376.0 }).collect();
    Kernel::of(body).threads(32).gives(&expected, &[]);
    Kernel::of(body)
        .threads(32)
        .with("select %upper, %f, %zero", "select %upper, %zero, %f")
        .is_found_in_every_seed(FindingKind::UndefinedValue, "llvm.store", &[]);
}
