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
