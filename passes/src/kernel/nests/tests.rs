//! The nests of small kernels, one rule a test.

use norma_dialects::op_name;

use super::{Item, Refused, count, of};
use crate::kernel::{first_kernel::in_first_kernel, space::Space};

/// The nests of the first kernel in `text`: each loop as `dim[number carried]{...}`, and the ops of `norm` by name, without arithmetic.
fn nests(text: &str) -> Option<String> {
    in_first_kernel(text, |space| {
        Some(of(space).map_or_else(|_| "none".to_owned(), |items| print(space, &items)))
    })
}

fn print(space: &Space<'_, '_>, items: &[Item]) -> String {
    let texts = items.iter().filter_map(|item| match item {
        Item::Op(position) => op_name(space.ops[*position])
            .strip_prefix("norm.")
            .map(str::to_owned),
        Item::Loop(nest) => Some(format!(
            "{}[{}]{{{}}}",
            nest.dim,
            nest.carried.len(),
            print(space, &nest.body)
        )),
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_kernel_without_loops_is_its_ops() {
    let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?xf32>)
           space(%b = dim(%x, 0) : grid, %t = 64 : thread) {
         %0 = norm.read %x[%b, %t] : memref<?x64xf32>
         %1 = norm.reduce add %0 over(%t) : f32
         norm.write %1, %y[%b] : memref<?xf32>
       }";
    assert_eq!(nests(text).as_deref(), Some("read reduce write"));
}

#[test]
fn what_waits_for_a_loop_is_another_nest_and_reads_again() {
    let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
           space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread) {
         %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
         %1 = norm.reduce max %0 over(%c, %t) : f32
         %2 = arith.subf %0, %1 : f32
         %3 = norm.reduce add %2 over(%c, %t) : f32
         %4 = arith.divf %2, %3 : f32
         norm.write %4, %y[%b, %c * 32 + %t] : memref<?x64xf32>
       }";
    assert_eq!(
        nests(text).as_deref(),
        Some("1[1]{read reduce} 1[1]{read reduce} 1[0]{read write}")
    );
}

#[test]
fn independent_reductions_share_a_loop() {
    let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?xf32>, %z: memref<?xf32>)
           space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread) {
         %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
         %1 = norm.reduce max %0 over(%c, %t) : f32
         norm.write %1, %y[%b] : memref<?xf32>
         %3 = norm.reduce add %0 over(%c, %t) : f32
         norm.write %3, %z[%b] : memref<?xf32>
       }";
    assert_eq!(
        nests(text).as_deref(),
        Some("1[2]{read reduce reduce} write write")
    );
}

#[test]
fn a_walk_over_rows_keeps_what_does_not_vary_and_accumulates_over_itself() {
    // The gradient of a norm: one reduction within each step, one over all steps.
    let text = "norm.kernel @k(%x: memref<?x32xf32>, %w: memref<32xf32>, %dx: memref<?x32xf32>, %dw: memref<4x32xf32>)
           space(%s = dim(%x, 0) ceildiv 4 : loop, %p = 4 : grid, %t = 32 : thread)
           where(%s * 4 + %p < dim(%x, 0)) {
         %0 = norm.read %x[%s * 4 + %p, %t] : memref<?x32xf32>
         %1 = norm.read %w[%t] : memref<32xf32>
         %2 = arith.mulf %0, %1 : f32
         %3 = norm.reduce add %2 over(%t) : f32
         %4 = arith.mulf %3, %0 : f32
         norm.write %4, %dx[%s * 4 + %p, %t] : memref<?x32xf32>
         %5 = norm.reduce add %4 over(%s) : f32
         norm.write %5, %dw[%p, %t] : memref<4x32xf32>
       }";
    assert_eq!(
        nests(text).as_deref(),
        Some("read 0[1]{read reduce write reduce} write")
    );
}

#[test]
fn the_loop_that_a_result_keeps_is_outside() {
    let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<8xf32>)
           space(%c = 64 : loop, %m = 8 : loop) {
         %0 = norm.read %x[%c, %m] : memref<64x8xf32>
         %1 = norm.reduce add %0 over(%c) : f32
         norm.write %1, %y[%m] : memref<8xf32>
       }";
    assert_eq!(nests(text).as_deref(), Some("1[0]{0[1]{read reduce} write}"));
}

#[test]
fn reductions_that_cross_are_two_nests() {
    let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<8xf32>, %z: memref<64xf32>)
           space(%c = 64 : loop, %m = 8 : loop) {
         %0 = norm.read %x[%c, %m] : memref<64x8xf32>
         %1 = norm.reduce add %0 over(%c) : f32
         norm.write %1, %y[%m] : memref<8xf32>
         %2 = norm.reduce add %0 over(%m) : f32
         norm.write %2, %z[%c] : memref<64xf32>
       }";
    assert_eq!(
        nests(text).as_deref(),
        Some("1[0]{0[1]{read reduce} write} 0[0]{1[1]{read reduce} write}")
    );
}

#[test]
fn what_varies_over_a_loop_is_computed_where_it_is_needed() {
    // The second reduction is over the loop that the first one's result varies over: the write waits for it.
    let text = "norm.kernel @k(%x: memref<64x8xf32>, %w: memref<8xf32>, %y: memref<64x8xf32>)
           space(%c = 64 : loop, %m = 8 : loop) {
         %0 = norm.read %x[%c, %m] : memref<64x8xf32>
         %1 = norm.read %w[%m] : memref<8xf32>
         %2 = norm.reduce max %0 over(%c) : f32
         %3 = norm.reduce add %1 over(%m) : f32
         %4 = arith.mulf %2, %3 : f32
         norm.write %4, %y[%c, %m] : memref<64x8xf32>
       }";
    assert_eq!(
        nests(text).as_deref(),
        Some("1[1]{read reduce} 1[0]{0[1]{read reduce} 0[0]{write}}")
    );
}

#[test]
fn loops_do_not_go_around_each_other() {
    let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<64x8xf32>)
           space(%c = 64 : loop, %m = 8 : loop) {
         %0 = norm.read %x[%c, %m] : memref<64x8xf32>
         %1 = norm.reduce add %0 over(%c) : f32
         %2 = norm.reduce add %0 over(%m) : f32
         %3 = arith.addf %1, %2 : f32
         norm.write %3, %y[%c, %m] : memref<64x8xf32>
       }";
    assert_eq!(nests(text).as_deref(), Some("none"));
}

#[test]
fn one_carrier_goes_through_nested_loops() {
    let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<1xf32>)
           space(%g = 1 : grid, %c = 64 : loop, %m = 8 : loop) {
         %0 = norm.read %x[%c, %m] : memref<64x8xf32>
         %1 = norm.reduce add %0 over(%c, %m) : f32
         norm.write %1, %y[%g] : memref<1xf32>
       }";
    assert_eq!(nests(text).as_deref(), Some("1[1]{2[1]{read reduce}} write"));
}

#[test]
fn a_scan_is_carried_by_the_loops_that_it_is_along() {
    let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
           space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread) {
         %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
         %1 = norm.scan add %0 along(%c, %t) : f32
         norm.write %1, %y[%b, %c * 32 + %t] : memref<?x64xf32>
       }";
    assert_eq!(nests(text).as_deref(), Some("1[1]{read scan write}"));
}

#[test]
fn a_scan_that_is_needed_behind_a_loop_is_computed_again() {
    let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
           space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread) {
         %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
         %1 = norm.scan add %0 along(%c, %t) : f32
         %2 = norm.reduce max %1 over(%c, %t) : f32
         %3 = arith.subf %1, %2 : f32
         norm.write %3, %y[%b, %c * 32 + %t] : memref<?x64xf32>
       }";
    assert_eq!(
        nests(text).as_deref(),
        Some("1[2]{read scan reduce} 1[1]{read scan write}")
    );
}

#[test]
fn scans_in_both_orders_share_no_loop() {
    let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?x64xf32>)
           space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread) {
         %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
         %1 = norm.scan add %0 along(%c, %t) : f32
         norm.write %1, %y[%b, %c * 32 + %t] : memref<?x64xf32>
         %2 = norm.scan add reverse %0 along(%c, %t) : f32
         norm.write %2, %z[%b, %c * 32 + %t] : memref<?x64xf32>
       }";
    assert_eq!(nests(text).as_deref(), Some("none"));
}

#[test]
fn no_loop_stands_within_those_of_a_scan() {
    // The loop over %m is within that over %c, because the first dim of what is written is %c.
    let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<64x8xf32>)
           space(%c = 64 : loop, %m = 8 : loop) {
         %0 = norm.read %x[%c, %m] : memref<64x8xf32>
         %1 = norm.scan add %0 along(%c) : f32
         norm.write %1, %y[%c, %m] : memref<64x8xf32>
       }";
    assert_eq!(nests(text).as_deref(), Some("none"));
}

#[test]
fn a_reduction_with_several_results_is_one_in_each_step_of_the_loop_that_counts_them() {
    let held = "norm.kernel @k(%x: memref<?x32xi32>, %y: memref<?x3xi32>)
           space(%b = dim(%x, 0) : grid, %t = 32 : thread, %j = 3 : loop) {
         %0 = norm.read %x[%b, %t] : memref<?x32xi32>
         %1 = norm.reduce max %0 over(%t) nth(%j) : i32
         norm.write %1, %y[%b, %j] : memref<?x3xi32>
       }";
    assert_eq!(nests(held).as_deref(), Some("read 2[1]{reduce write}"));
    let walked = "norm.kernel @k(%x: memref<?x64xi32>, %y: memref<?x3xi32>)
           space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread, %j = 3 : loop) {
         %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xi32>
         %1 = norm.reduce max %0 over(%c, %t) nth(%j) : i32
         norm.write %1, %y[%b, %j] : memref<?x3xi32>
       }";
    assert_eq!(nests(walked).as_deref(), Some("3[1]{1[1]{read reduce} write}"));
}

#[test]
fn what_is_written_over_an_argument_waits_for_the_loop_that_reads_it_last() {
    let text = "norm.kernel @k(%x: memref<?x64xf32>, %h: memref<?x64xf32>, %y: memref<?x64xf32>)
           space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread) aliases(%h = %x) {
         %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
         %1 = arith.negf %0 : f32
         norm.write %1, %h[%b, %c * 32 + %t] : memref<?x64xf32>
         %2 = norm.reduce max %1 over(%c, %t) : f32
         %3 = arith.subf %1, %2 : f32
         norm.write %3, %y[%b, %c * 32 + %t] : memref<?x64xf32>
       }";
    assert_eq!(
        nests(text).as_deref(),
        Some("1[1]{read reduce} 1[0]{read write write}")
    );
    let apart = text.replace("aliases(%h = %x)", "");
    assert_eq!(
        nests(&apart).as_deref(),
        Some("1[1]{read write reduce} 1[0]{read write}")
    );
}

#[test]
fn each_limit_has_a_count_of_its_own() {
    let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?xf32>)
           space(%b = dim(%x, 0), %t = 64) {
         %0 = norm.read %x[%b, %t] : memref<?x64xf32>
         %1 = norm.reduce add %0 over(%t) : f32
         norm.write %1, %y[%b] : memref<?xf32>
       }";
    let counts = in_first_kernel(text, |space| {
        Some([3, 2, 3].map(|most| count(space, &[1].into(), most)))
    });
    assert_eq!(counts, Some([Ok(3), Err(Refused::TooMany), Ok(3)]));
}
