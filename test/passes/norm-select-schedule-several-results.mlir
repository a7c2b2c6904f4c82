// Kernels whose reductions have several results, or depend on others.
// RUN: norma-opt %s --split-input-file --norm-select-schedule | FileCheck %s

// A row over which each result takes a pass is held, and one loop steps over the results.
// CHECK: norm.kernel @largest(
// CHECK-SAME: spread = {{\[\[}}grid{{[^]]*}}], [{{[^]l]*}}lane({{[0-9]+}}), vector(4)], [loop]]
norm.kernel @largest(%x: memref<?x4096xi32>, %y: memref<?x64xi32>) space(%m = dim(%x, 0), %n = 4096, %j = 64) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xi32>
  %1 = norm.reduce max %0 over(%n) nth(%j) : i32
  norm.write %1, %y[%m, %j] : memref<?x64xi32>
}

// -----

// The rows are summed after the columns: if the columns were split, one CTA would combine all that is left.
// CHECK: norm.kernel @sum_of_lengths(
// CHECK-SAME: spread = {{\[\[}}loop, split(
norm.kernel @sum_of_lengths(%x: memref<?x32000xbf16>, %y: memref<f32>) space(%m = dim(%x, 0), %n = 32000) align(16, 4) {
  %0 = norm.read %x[%m, %n] : memref<?x32000xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = arith.mulf %1, %1 : f32
  %3 = norm.reduce add %2 over(%n) : f32
  %4 = math.sqrt %3 : f32
  %5 = norm.reduce add %4 over(%m) : f32
  norm.write %5, %y[] : memref<f32>
}
