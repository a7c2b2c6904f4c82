// Buffers and dims keep the names that they were parsed with.
// RUN: norma-opt %s | norma-opt | FileCheck %s

// Buffers and dims keep their names.
// CHECK-LABEL: norm.kernel @names
// CHECK-SAME: (%input: memref<?x8xf32>, %output: memref<?xf32>) space(%row = dim(%input, 0), %column = 8)
norm.kernel @names(%input: memref<?x8xf32>, %output: memref<?xf32>) space(%row = dim(%input, 0), %column = 8) {
  // CHECK-NEXT: norm.read %input[%row, %column]
  %0 = norm.read %input[%row, %column] : memref<?x8xf32>
  %1 = norm.reduce add %0 over(%column) : f32
  norm.write %1, %output[%row] : memref<?xf32>
}

// The size of a static axis is a number.
// CHECK-LABEL: norm.kernel @static_size
// CHECK-SAME: space(%m = dim(%x, 0), %n = 7)
norm.kernel @static_size(%x: memref<?x7xi8>, %y: memref<?xi8>) space(%m = dim(%x, 0), %n = dim(%x, 1)) {
  %0 = norm.read %x[%m, %n] : memref<?x7xi8>
  %1 = norm.reduce max %0 over(%n) : i8
  norm.write %1, %y[%m] : memref<?xi8>
}

// A name that the printer generates for an unnamed value is not kept: it is generated anew from the value's number.
// CHECK-LABEL: norm.kernel @numbered
// CHECK-SAME: (%arg0: memref<4xf32>, %y: memref<4xf32>) space(%arg1 = 4)
norm.kernel @numbered(%arg7: memref<4xf32>, %y: memref<4xf32>) space(%3 = 4) {
  %0 = norm.read %arg7[%3] : memref<4xf32>
  norm.write %0, %y[%3] : memref<4xf32>
}

// Two computes of one function have a scope each.
// CHECK-LABEL: func.func @scopes
func.func @scopes(%x: tensor<4xf32>) {
  // CHECK: norm.compute(%a = %arg0 : tensor<4xf32>) -> (%b : tensor<4xf32>) space(%n = 4)
  %0 = norm.compute(%a = %x : tensor<4xf32>) -> (%b : tensor<4xf32>) space(%n = 4) {
    %v = norm.read %a[%n] : tensor<4xf32>
    norm.write %v, %b[%n] : tensor<4xf32>
  }
  // CHECK: norm.compute(%a = %arg0 : tensor<4xf32>) -> (%b : tensor<4xf32>) space(%n = 4)
  %1 = norm.compute(%a = %x : tensor<4xf32>) -> (%b : tensor<4xf32>) space(%n = 4) {
    %v = norm.read %a[%n] : tensor<4xf32>
    norm.write %v, %b[%n] : tensor<4xf32>
  }
  return
}
