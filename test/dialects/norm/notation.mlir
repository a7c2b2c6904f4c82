// What a space's text may be written with is printed as what it stands for, and parses again to the same.
// RUN: norma-opt %s | FileCheck %s
// RUN: norma-opt %s | norma-opt | FileCheck %s

// An access has the type of its buffer.
// CHECK-LABEL: func.func @types
func.func @types(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = norm.compute(%in = %x : tensor<?x64xf32>) -> (%out : tensor<?x64xf32>) space(%m = dim(%in, 0), %n = 64) {
    // CHECK: %[[X:.*]] = norm.read %in[%m, %n] : tensor<?x64xf32>
    %1 = norm.read %in[%m, %n]
    // CHECK: norm.write %[[X]], %out[%m, %n] : tensor<?x64xf32>
    norm.write %1, %out[%m, %n]
  }
  return %0 : tensor<?x64xf32>
}

// CHECK-LABEL: norm.kernel @types_in_kernel
norm.kernel @types_in_kernel(%x: memref<?x64xf32>, %l: memref<?xindex>, %tiles: memref<?x128xf32>)
    space(%m = dim(%x, 0)) {
  // CHECK: norm.read %l[%m] : memref<?xindex>
  %0 = norm.read %l[%m]
  // CHECK: norm.gather %x[%m, %{{.*}}] : memref<?x64xf32>
  %value, %inside = norm.gather %x[%m, %0]
  // CHECK: norm.write %{{.*}}, %tiles[%m floordiv 128, %m mod 128] {partial} : memref<?x128xf32>
  norm.write %value, %tiles[%m floordiv 128, %m mod 128] {partial}
}

// The reciprocal of a known number of points is a constant.
// CHECK-LABEL: norm.kernel @mean
norm.kernel @mean(%x: memref<?x4x32xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %k = 4, %n = 32) {
  %0 = norm.read %x[%m, %k, %n]
  // CHECK: %[[SUM:.*]] = norm.reduce add %{{.*}} over(%k, %n) : f32
  // CHECK: %[[RECIPROCAL:.*]] = arith.constant 7.812500e-03 : f32
  // CHECK: %[[MEAN:.*]] = arith.mulf %[[SUM]], %[[RECIPROCAL]] : f32
  // CHECK: norm.write %[[MEAN]], %y
  %1 = norm.reduce mean %0 over(%k, %n) : f32
  norm.write %1, %y[%m]
}

// CHECK-LABEL: norm.kernel @mean_dynamic
norm.kernel @mean_dynamic(%x: memref<?x?xf64>, %y: memref<?xf64>) space(%m = dim(%x, 0), %n = dim(%x, 1)) {
  %0 = norm.read %x[%m, %n]
  // CHECK: %[[SUM:.*]] = norm.reduce add %{{.*}} over(%n) : f64
  // CHECK: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f64
  // CHECK: %[[COUNT:.*]] = norm.reduce add %[[ONE]] over(%n) : f64
  // CHECK: arith.divf %[[SUM]], %[[COUNT]] : f64
  %1 = norm.reduce mean %0 over(%n) : f64
  norm.write %1, %y[%m]
}

// CHECK-LABEL: norm.kernel @extent
norm.kernel @extent(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  %1 = norm.reduce add %0 over(%n) : f32
  // CHECK: %[[EXTENT:.*]] = arith.constant 6.400000e+01 : f32
  // CHECK: arith.divf %{{.*}}, %[[EXTENT]] : f32
  %2 = norm.extent %n : f32
  %3 = arith.divf %1, %2 : f32
  norm.write %3, %y[%m]
}

// CHECK-LABEL: norm.kernel @extent_dynamic
norm.kernel @extent_dynamic(%x: memref<?x?xi64>, %y: memref<?x?xi64>) space(%m = dim(%x, 0), %n = dim(%x, 1)) {
  %0 = norm.read %x[%m, %n]
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i64
  // CHECK: %[[COUNT:.*]] = norm.reduce add %[[ONE]] over(%n) : i64
  // CHECK: %[[EXTENT:.*]] = arith.index_cast %[[COUNT]] : i64 to index
  // CHECK: arith.subi %[[EXTENT]], %n : index
  %1 = norm.extent %n : index
  %2 = arith.subi %1, %n : index
  %3 = arith.index_cast %2 : index to i64
  %4 = arith.addi %0, %3 : i64
  norm.write %4, %y[%m, %n]
}

// A combiner gets one copy of a constant from outside.
// CHECK-LABEL: norm.kernel @constants_in_combiners
norm.kernel @constants_in_combiners(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n]
  %cap = arith.constant 100.0 : f32
  // CHECK: norm.reduce
  // CHECK: ^bb0
  // CHECK-NEXT: %[[CAP:.*]] = arith.constant 1.000000e+02 : f32
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf
  // CHECK-NEXT: %[[LEAST:.*]] = arith.minimumf %[[SUM]], %[[CAP]]
  // CHECK-NEXT: arith.minimumf %[[LEAST]], %[[CAP]]
  %1 = norm.reduce %0 over(%n) identity [0.0 : f32] : f32 combine {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.addf %a, %b : f32
    %3 = arith.minimumf %2, %cap : f32
    %4 = arith.minimumf %3, %cap : f32
    norm.yield %4 : f32
  }
  norm.write %1, %y[%m]
}
