// Ops of a scalar program that canonicalization and CSE merge or remove, and ops that they must leave.
// RUN: norma-opt %s --canonicalize --cse | FileCheck %s

// A read has no effect: unused reads are removed, and equal ones merged.
// CHECK-LABEL: norm.kernel @reads
norm.kernel @reads(%x: memref<8xf32>, %z: memref<8xf32>, %y: memref<8xf32>) space(%n = 8) {
  // CHECK-COUNT-1: norm.read
  // CHECK-NOT: norm.read
  %0 = norm.read %x[%n] : memref<8xf32>
  %1 = norm.read %x[%n] : memref<8xf32>
  %2 = norm.read %z[%n] : memref<8xf32>
  %3 = arith.addf %0, %1 : f32
  // CHECK: norm.write
  norm.write %3, %y[%n] : memref<8xf32>
}

// Writes stay.
// CHECK-LABEL: norm.kernel @writes
norm.kernel @writes(%y: memref<8xindex>, %z: memref<8xindex>) space(%n = 8) {
  // CHECK-COUNT-2: norm.write
  norm.write %n, %y[%n] : memref<8xindex>
  norm.write %n, %z[%n] : memref<8xindex>
}

// A cached value is not merged with the value that it caches.
// CHECK-LABEL: norm.kernel @cache
norm.kernel @cache(%x: memref<8xbf16>, %y: memref<8xf32>) space(%n = 8) {
  // CHECK: %[[READ:.*]] = norm.read
  %0 = norm.read %x[%n] : memref<8xbf16>
  // CHECK: %[[CACHED:.*]] = norm.cache %[[READ]] in register : bf16
  %1 = norm.cache %0 in register : bf16
  // CHECK: arith.extf %[[READ]]
  %2 = arith.extf %0 : bf16 to f32
  // CHECK: arith.extf %[[CACHED]]
  %3 = arith.extf %1 : bf16 to f32
  %4 = arith.mulf %2, %3 : f32
  norm.write %4, %y[%n] : memref<8xf32>
}

// Reductions of one value over the same dims by one combiner are merged; with other dims or another combiner they are not.
// CHECK-LABEL: norm.kernel @reductions
norm.kernel @reductions(%x: memref<8x8xf32>, %y: memref<8xf32>) space(%m = 8, %n = 8) {
  // CHECK-COUNT-2: norm.reduce
  // CHECK-NOT: norm.reduce
  %0 = norm.read %x[%m, %n] : memref<8x8xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = norm.reduce add %0 over(%n) : f32
  %3 = norm.reduce max %0 over(%n) : f32
  %4 = arith.addf %1, %2 : f32
  %5 = arith.addf %4, %3 : f32
  norm.write %5, %y[%m] : memref<8xf32>
}

// A combiner keeps its own constants, even if equal ones exist outside of it, because it is later moved as a whole.
// CHECK-LABEL: norm.kernel @combiner
norm.kernel @combiner(%x: memref<8xf32>, %y: memref<f32>) space(%n = 8) {
  %one = arith.constant 1.0 : f32
  %0 = norm.read %x[%n] : memref<8xf32>
  %1 = arith.addf %0, %one : f32
  // CHECK: norm.reduce
  %2 = norm.reduce %1 over(%n) identity [1.0 : f32] : f32 combine {
  ^bb0(%a: f32, %b: f32):
    // CHECK: arith.constant 1.000000e+00 : f32
    %unit = arith.constant 1.0 : f32
    %c = arith.maximumf %a, %b : f32
    %d = arith.maximumf %c, %unit : f32
    norm.yield %d : f32
  }
  norm.write %2, %y[] : memref<f32>
}
