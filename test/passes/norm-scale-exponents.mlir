// Exponents of many elements are subtracted and scaled at once.
// RUN: norma-opt %s --split-input-file --norm-scale-exponents | FileCheck %s

// The sum takes the factor once, the product through what it multiplies by.
// CHECK-LABEL: norm.kernel @softmax(
// CHECK: %[[X:.*]] = norm.read
// CHECK: %[[MAX:.*]] = norm.reduce max %[[X]]
// CHECK: %[[SIZE:.*]] = math.absf %[[MAX]]
// CHECK: %[[SMALL:.*]] = arith.cmpf ole, %[[SIZE]]
// CHECK: %[[SCALE:.*]] = arith.select %[[SMALL]]
// CHECK: %[[P:.*]] = arith.mulf %[[MAX]], %[[SCALE]]
// CHECK: %[[OFFSET:.*]] = arith.negf %[[P]]
// CHECK: %[[EXPONENT:.*]] = math.fma %[[X]], %[[SCALE]], %[[OFFSET]]
// CHECK: %[[POWER:.*]] = math.exp2 %[[EXPONENT]]
// CHECK: %[[LOST:.*]] = math.fma %[[MAX]], %[[SCALE]], %[[OFFSET]]
// CHECK: %[[LEFT:.*]] = arith.select %[[SMALL]], %[[LOST]]
// CHECK: %[[BACK:.*]] = arith.negf %[[LEFT]]
// CHECK: %[[FACTOR:.*]] = math.exp2 %[[BACK]]
// CHECK: %[[TOTAL:.*]] = norm.reduce add %[[POWER]]
// CHECK: %[[SUM:.*]] = arith.mulf %[[TOTAL]], %[[FACTOR]]
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[SUM]]
// CHECK: %[[BY:.*]] = arith.mulf %[[R]], %[[FACTOR]]
// CHECK: %[[Y:.*]] = arith.mulf %[[POWER]], %[[BY]]
// CHECK: norm.write %[[Y]]
norm.kernel @softmax(%x: memref<?x512xf32>, %y: memref<?x512xf32>) space(%m = dim(%x, 0) : grid, %r = 16 : register, %t = 32 : thread) {
  %one = arith.constant 1.0 : f32
  %0 = norm.read %x[%m, %r * 32 + %t] : memref<?x512xf32>
  %1 = norm.reduce max %0 over(%r, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%r, %t) : f32
  %5 = arith.divf %one, %4 : f32
  %6 = arith.mulf %3, %5 : f32
  norm.write %6, %y[%m, %r * 32 + %t] : memref<?x512xf32>
}

// -----

// Left alone: too few elements of a thread for each maximum, and exponentials that are results themselves.
// CHECK-LABEL: norm.kernel @few(
// CHECK: math.exp %
norm.kernel @few(%x: memref<?x256xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0) : grid, %r = 8 : register, %t = 32 : thread) {
  %0 = norm.read %x[%m, %r * 32 + %t] : memref<?x256xf32>
  %1 = norm.reduce max %0 over(%r, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%r, %t) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}

// CHECK-LABEL: norm.kernel @written(
// CHECK: math.exp %
norm.kernel @written(%x: memref<?x512xf32>, %y: memref<?x512xf32>) space(%m = dim(%x, 0) : grid, %r = 16 : register, %t = 32 : thread) {
  %0 = norm.read %x[%m, %r * 32 + %t] : memref<?x512xf32>
  %1 = norm.reduce max %0 over(%r, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  norm.write %3, %y[%m, %r * 32 + %t] : memref<?x512xf32>
}

// CHECK-LABEL: norm.kernel @largest(
// CHECK: math.exp %
norm.kernel @largest(%x: memref<?x512xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0) : grid, %r = 16 : register, %t = 32 : thread) {
  %0 = norm.read %x[%m, %r * 32 + %t] : memref<?x512xf32>
  %1 = norm.reduce max %0 over(%r, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce max %3 over(%r, %t) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}

// -----

// A product with a sum of scaled exponentials takes both factors.
// CHECK-LABEL: norm.kernel @product_with_a_sum(
// CHECK: %[[TOTAL:.*]] = norm.reduce add
// CHECK: %[[SUM:.*]] = arith.mulf %[[TOTAL]], %[[FIRST:.*]] : f32
// CHECK: %[[BY:.*]] = arith.mulf %[[SUM]], %[[SECOND:.*]] : f32
// CHECK: %[[Y:.*]] = arith.mulf %{{.*}}, %[[BY]] : f32
// CHECK: norm.write %[[Y]]
norm.kernel @product_with_a_sum(%x: memref<?x512xf32>, %z: memref<?x512xf32>, %y: memref<?x512xf32>)
    space(%m = dim(%x, 0) : grid, %r = 16 : register, %t = 32 : thread) {
  %0 = norm.read %x[%m, %r * 32 + %t] : memref<?x512xf32>
  %1 = norm.reduce max %0 over(%r, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%r, %t) : f32
  %5 = norm.read %z[%m, %r * 32 + %t] : memref<?x512xf32>
  %6 = norm.reduce max %5 over(%r, %t) : f32
  %7 = arith.subf %5, %6 : f32
  %8 = math.exp %7 : f32
  %9 = arith.mulf %8, %4 : f32
  norm.write %9, %y[%m, %r * 32 + %t] : memref<?x512xf32>
}
