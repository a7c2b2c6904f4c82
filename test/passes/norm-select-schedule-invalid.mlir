// Options that say nothing are refused.
// RUN: not norma-opt %s --norm-select-schedule=target=sm_90 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not norma-opt %s --norm-select-schedule=schedule=wide 2>&1 | FileCheck %s --check-prefix=SCHEDULE

// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{schedule={maxx=#norm.schedule<spread = [[grid], [lane(32)]]>}})' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{schedule={spread = [[grid], [lane(32)]]; spread = [[grid], [lane(16)]]}})' 2>&1 | FileCheck %s --check-prefix=TWICE

// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{schedule={max if size_2_0 < 8=#norm.schedule<spread = [[grid], [lane(32)]]>}})' 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{schedule={max if floordiv(size_0_0, 0) < 8=#norm.schedule<spread = [[grid], [lane(32)]]>}})' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{schedule={max if mod(size_0_0, 2 - 4) < 8=#norm.schedule<spread = [[grid], [lane(32)]]>}})' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{schedule={max if ceildiv(64, size_0_0) < 8=#norm.schedule<spread = [[grid], [lane(32)]]>}})' 2>&1 | FileCheck %s --check-prefix=BY-SIZE
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{schedule={if size_0_0 = 8=#norm.schedule<spread = [[grid], [lane(32)]]>}})' 2>&1 | FileCheck %s --check-prefix=COMPARISON

// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{target=sm_80 schedule={spread = [[grid], [cluster(2), lane(32)]]}})' 2>&1 | FileCheck %s --check-prefix=CLUSTERS
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{target=sm_120a schedule={spread = [[grid], [cluster(16), lane(32)]]}})' 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{target=sm_89 schedule={spread = [[grid], [lane(32)]], keep = [shared], bring = tensor}})' 2>&1 | FileCheck %s --check-prefix=TENSOR
// RUN: not norma-opt %s --pass-pipeline='builtin.module(norm-select-schedule{schedule={spread = [[grid], [loop, grid(2), lane(32)]], merge_reductions = [loop]}},norm-tile)' 2>&1 | FileCheck %s --check-prefix=GRID

// TARGET: error: unknown target 'sm_90', expected one of sm_80
// TARGET: note: 'sm_90' lacks the architecture's own instructions; ask for 'sm_90a'
// SCHEDULE: error: expected a schedule like 'spread = {{\[\[}}grid], [register(2), warp(8), lane(32), vector(8)]]', got 'wide'
// NAME: error: expected a schedule for one of max, sum, got one for 'maxx'
// SIZE: error: expected sums, products and quotients of integers and sizes such as size_0_0, got 'size_2_0'
// ZERO: norm-select-schedule-invalid.mlir:[[# @LINE + 10]]:1: error: expected a positive divisor, got 0 in 'floordiv(size_0_0, 0)'
// NEGATIVE: error: expected a positive divisor, got -2 in 'mod(size_0_0, 2 - 4)'
// BY-SIZE: error: unsupported: 'ceildiv(64, size_0_0)', which divides by a size, in a condition; supported: quotients and remainders by integers
// COMPARISON: error: expected a comparison by <, <=, > or >=, got 'size_0_0 = 8'
// CLUSTERS: error: unsupported: clusters of 2 CTAs on sm_80; supported: clusters on sm_90a
// LARGE: error: unsupported: clusters of 16 CTAs on sm_120a; supported: at most 8 CTAs
// TENSOR: error: unsupported: bring = tensor on sm_89; supported: on sm_90a
// GRID: error: unsupported: a reduction over dim 1, which the schedule spreads over the grid; supported: a split
// TWICE: error: expected one schedule for kernels without a name, got several

norm.kernel @max(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
