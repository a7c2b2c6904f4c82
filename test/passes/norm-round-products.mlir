// A product keeps its rounding where its distance to the largest one is computed.
// RUN: norma-opt %s --split-input-file --norm-round-products | FileCheck %s

// The reduction may be of what is computed from the product, and the distance may have either sign.
// CHECK-LABEL: norm.kernel @distances(
// CHECK: %[[P:.*]] = arith.mulf %{{.*}} {norm.rounded} : f32
// CHECK: norm.reduce max
norm.kernel @distances(%x: memref<?x64xf32>, %b: memref<?x64xi1>, %y: memref<?x64xf32>, %s: f32) space(%m = dim(%x, 0), %n = 64) {
  %low = arith.constant 0xFF800000 : f32
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %b[%m, %n] : memref<?x64xi1>
  %2 = arith.mulf %0, %s : f32
  %3 = arith.select %1, %2, %low : f32
  %4 = norm.reduce max %3 over(%n) : f32
  %5 = arith.subf %4, %2 : f32
  norm.write %5, %y[%m, %n] : memref<?x64xf32>
}

// -----

// A mean has a rounding of its own; the maximum of other products is none of these.
// CHECK-LABEL: norm.kernel @others(
// CHECK-NOT: norm.rounded
norm.kernel @others(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?x64xf32>, %s: f32) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = arith.mulf %0, %s : f32
  %2 = norm.reduce add %1 over(%n) : f32
  %3 = arith.subf %1, %2 : f32
  norm.write %3, %y[%m, %n] : memref<?x64xf32>
  %4 = norm.reduce max %0 over(%n) : f32
  %5 = arith.mulf %0, %0 : f32
  %6 = arith.subf %5, %4 : f32
  norm.write %6, %z[%m, %n] : memref<?x64xf32>
}
