//! No kernel of a schedule that the compiler chose spills registers: the compiler assembles its choice, and takes spills into
//! account when it chooses again.
//!
//! The programs are those whose threads hold the most registers: gradients, whose sums over rows stay in registers for a whole
//! walk, long rows, and unaligned rows.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use norma_bundle::manifest::Kernel;
use norma_compiler::{
    CompileOptions, Target,
    compile::{Input, Outcome, bundle},
    emit::Assemblies,
};

/// The kernels of a program's bundle.
fn kernels(name: &str, text: &str) -> Vec<Kernel> {
    let options = CompileOptions::new(Target::parse("sm_90a").unwrap());
    let mut outcome = Outcome::default();
    let made = bundle(
        Input { name, text },
        &options,
        &Assemblies::default(),
        &mut outcome,
    );
    assert!(made.is_ok(), "{name}: {}", outcome.diagnostics);
    let functions = made.unwrap().manifest.functions;
    functions
        .into_iter()
        .flat_map(|function| function.kernels)
        .collect()
}

/// Asserts that no kernel of a program spills, and returns their schedules.
fn check(name: &str, text: &str) -> Vec<String> {
    let kernels = kernels(name, text);
    for kernel in &kernels {
        let schedule = kernel.schedule.as_deref().unwrap_or_default();
        assert_eq!(
            kernel.spill_bytes,
            Some(0),
            "{name}: {} {schedule}",
            kernel.symbol
        );
    }
    kernels.into_iter().filter_map(|kernel| kernel.schedule).collect()
}

/// A function of one named op on rows of `columns` elements of bf16; `%x` and `%w` are its operands.
fn rows(op: &str, columns: u64) -> String {
    let (x, w) = (
        format!("tensor<?x{columns}xbf16>"),
        format!("tensor<{columns}xbf16>"),
    );
    let op = op.replace("$w", &w);
    format!(
        "func.func @f(%x: {x} {{norm.name = \"x\"}}, %w: {w} {{norm.name = \"w\"}}) -> ({x} {{norm.name = \"y\"}}) {{
           %y = {op} : {x} -> {x}
           return %y : {x}
         }}"
    )
}

/// The gradient of LayerNorm on rows of `columns` elements of bf16: of a row, of the weight and of the bias.
fn layer_norm_gradient(columns: u64) -> String {
    let (rows, row) = (format!("tensor<?x{columns}xbf16>"), format!("tensor<{columns}x"));
    format!(
        "func.func @f(%x: {rows} {{norm.name = \"x\"}}, %w: {row}bf16> {{norm.name = \"w\"}}, %dy: {rows} {{norm.name = \"dy\"}},
             %mean: tensor<?xf32> {{norm.name = \"mean\"}}, %rstd: tensor<?xf32> {{norm.name = \"rstd\"}})
             -> ({rows} {{norm.name = \"dx\"}}, {row}f32> {{norm.name = \"dw\"}}, {row}f32> {{norm.name = \"db\"}}) {{
           %dx, %dw, %db = norm.compute(%in = %x : {rows}, %weight = %w : {row}bf16>, %g = %dy : {rows},
               %mu = %mean : tensor<?xf32>, %r = %rstd : tensor<?xf32>)
               -> (%o : {rows}, %p : {row}f32>, %q : {row}f32>) space(%m = dim(%in, 0), %n = {columns}) {{
             %0 = norm.read %in[%m, %n] : {rows}
             %1 = arith.extf %0 : bf16 to f32
             %2 = norm.read %g[%m, %n] : {rows}
             %3 = arith.extf %2 : bf16 to f32
             %4 = norm.read %weight[%n] : {row}bf16>
             %5 = arith.extf %4 : bf16 to f32
             %6 = norm.read %r[%m] : tensor<?xf32>
             %7 = norm.read %mu[%m] : tensor<?xf32>
             %8 = arith.subf %1, %7 : f32
             %h = arith.mulf %8, %6 : f32
             %9 = arith.mulf %3, %5 : f32
             %10 = arith.mulf %h, %9 : f32
             %11 = norm.reduce add %10 over(%n) : f32
             %12 = norm.reduce add %9 over(%n) : f32
             %c = arith.constant {columns}.0 : f32
             %13 = arith.divf %11, %c : f32
             %14 = arith.divf %12, %c : f32
             %15 = arith.mulf %13, %h : f32
             %16 = arith.addf %15, %14 : f32
             %17 = arith.subf %9, %16 : f32
             %18 = arith.mulf %17, %6 : f32
             %19 = arith.truncf %18 : f32 to bf16
             norm.write %19, %o[%m, %n] : {rows}
             %20 = arith.mulf %3, %h : f32
             %21 = norm.reduce add %20 over(%m) : f32
             norm.write %21, %p[%n] : {row}f32>
             %22 = norm.reduce add %3 over(%m) : f32
             norm.write %22, %q[%n] : {row}f32>
           }}
           return %dx, %dw, %db : {rows}, {row}f32>, {row}f32>
         }}"
    )
}

/// The schedule that is cheapest by the model spills here, and the kernel is split, so that the assembled kernels have other
/// schedules than the one first chosen.
#[test]
fn gradients_whose_walk_is_split_do_not_spill() {
    for columns in [4096, 8192, 16384] {
        let schedules = check("layer_norm_gradient", &layer_norm_gradient(columns));
        assert!(schedules.len() > 1, "{columns}: {schedules:?}");
    }
}

#[test]
fn named_ops_on_long_rows_do_not_spill() {
    check("layer_norm", &rows("norm.layer_norm %x weight(%w : $w)", 16384));
    check("softmax", &rows("norm.softmax %x", 65536));
}

#[test]
fn named_ops_on_rows_that_begin_anywhere_do_not_spill() {
    check("rms_norm", &rows("norm.rms_norm %x weight(%w : $w)", 4095));
    check("softmax", &rows("norm.softmax %x", 50257));
}
