// What would let the order in which a row is reduced depend on the number of rows, or on the row's place, is refused.
// RUN: not norma-opt %s --norm-select-schedule="batch-invariant by-size" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{batch-invariant schedule={if size_0_0 < 8=#norm.schedule<spread = [[grid], [loop, lane(32)]]>}})' 2>&1 | FileCheck %s --check-prefix=SOME
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{batch-invariant schedule={spread = [[grid], [loop, lane(32), vector(4)]], aligned_dim = 1}})' 2>&1 | FileCheck %s --check-prefix=ALIGNED

// BOTH: norm-select-schedule-batch-invariant-invalid.mlir:[[# @LINE + 3]]:1: error: expected one of batch-invariant and by-size, got both: kernels for few points may reduce in another order
// SOME: norm-select-schedule-batch-invariant-invalid.mlir:[[# @LINE + 2]]:1: error: expected one schedule for all sizes with batch-invariant, got one for some sizes
// ALIGNED: norm-select-schedule-batch-invariant-invalid.mlir:[[# @LINE + 1]]:1: error: expected a schedule without aligned_dim with batch-invariant, got aligned_dim = 1: how a row is reduced depends on where it begins
norm.kernel @sums(%x: memref<?x4095xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 4095) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4095xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
