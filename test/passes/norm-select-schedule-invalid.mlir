// Options that say nothing are refused.
// RUN: not norma-opt %s --norm-select-schedule=target=sm_90 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not norma-opt %s --norm-select-schedule=schedule=wide 2>&1 | FileCheck %s --check-prefix=SCHEDULE

// TARGET: error: unknown target 'sm_90', expected one of sm_80
// TARGET: note: 'sm_90' lacks the architecture's own instructions; ask for 'sm_90a'
// SCHEDULE: error: expected a schedule like 'spread = {{\[\[}}grid], [register(2), warp(8), lane(32), vector(8)]]', got 'wide'

norm.kernel @max(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
