// Programs become kernels, tensors buffers, and results arguments.
// RUN: norma-opt %s --split-input-file --norm-form-kernels | FileCheck %s --implicit-check-not=norm.compute

// CHECK-LABEL: func.func @double(
// CHECK-SAME: %[[X:.*]]: memref<?xf32> {norm.name = "x"}, %[[Y:.*]]: memref<?xf32> {norm.name = "y", norm.output}) {
// CHECK-NEXT: norm.launch @double_0(%[[X]], %[[Y]]) : memref<?xf32>, memref<?xf32>
// CHECK-NEXT: return
// CHECK: norm.kernel @double_0(%[[A:.*]]: memref<?xf32>, %[[O:.*]]: memref<?xf32>)
// CHECK-SAME: space(%[[N:.*]] = dim(%[[A]], 0)) align(16, 16)
// CHECK-NEXT: %[[V0:.*]] = norm.read %[[A]][%[[N]]] : memref<?xf32>
// CHECK-NEXT: %[[V1:.*]] = arith.addf %[[V0]], %[[V0]] : f32
// CHECK-NEXT: norm.write %[[V1]], %[[O]][%[[N]]] : memref<?xf32>
func.func @double(%x: tensor<?xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%n = dim(%a, 0)) {
    %0 = norm.read %a[%n] : tensor<?xf32>
    %1 = arith.addf %0, %0 : f32
    norm.write %1, %o[%n] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// What the attributes say of strides and alignment goes into the kernel; attributes of others stay.
// CHECK-LABEL: func.func @described(
// CHECK-SAME: memref<?x8xbf16, strided<[?, 1]>> {norm.name = "x", other.tag},
// CHECK-SAME: memref<8x4xf32, strided<[1, 8]>> {norm.name = "arg1"},
// CHECK-SAME: memref<?x8xf32> {norm.name = "result0", norm.output})
// CHECK: norm.kernel @described_0
// CHECK-SAME: memref<?x8xbf16, strided<[?, 1]>>
// CHECK-SAME: memref<8x4xf32, strided<[1, 8]>>
// CHECK-SAME: align(4, 16, 32)
func.func @described(%x: tensor<?x8xbf16> {norm.name = "x", norm.align = 4 : i64, other.tag,
                                           norm.buffer = memref<?x8xbf16, strided<[?, 1]>>},
                     %w: tensor<8x4xf32> {norm.buffer = memref<8x4xf32, strided<[1, 8]>>})
    -> (tensor<?x8xf32> {norm.align = 32 : i64}) {
  %y = norm.compute(%a = %x : tensor<?x8xbf16>, %b = %w : tensor<8x4xf32>) -> (%o : tensor<?x8xf32>)
      space(%m = dim(%a, 0), %n = 8, %k = 4) {
    %0 = norm.read %a[%m, %n] : tensor<?x8xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.read %b[%n, %k] : tensor<8x4xf32>
    %3 = arith.mulf %1, %2 : f32
    %4 = norm.reduce add %3 over(%k) : f32
    norm.write %4, %o[%m, %n] : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

// Several programs are several kernels, in order; a taken name is passed over; results may be returned in any order.
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[X:.*]]: memref<4xf32> {{.*}}, %[[R0:.*]]: memref<f32> {{.*}}, %[[R1:.*]]: memref<4xf32> {{.*}}, %[[R2:.*]]: memref<f32>
// CHECK-NEXT: norm.launch @two_0(%[[X]], %[[R1]], %[[R2]])
// CHECK-NEXT: norm.launch @two_2(%[[X]], %[[R0]])
// CHECK-NEXT: return
// CHECK: norm.kernel @two_0
// CHECK: norm.write %{{.*}}, %{{.*}}[%{{.*}}] : memref<4xf32>
// CHECK: norm.write %{{.*}}, %{{.*}}[] : memref<f32>
// CHECK: norm.kernel @two_2
func.func @two(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>) {
  %y, %s = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>, %t : tensor<f32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    norm.write %1, %t[] : tensor<f32>
  }
  %z = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<f32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[] : tensor<f32>
  }
  return %z, %y, %s : tensor<f32>, tensor<4xf32>, tensor<f32>
}
func.func @two_1(%x: memref<4xf32>, %y: memref<4xf32>) {
  norm.launch @copy(%x, %y) : memref<4xf32>, memref<4xf32>
  return
}

// -----

// A function that launches kernels is left as it is.
// CHECK-LABEL: func.func @formed(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>) {
// CHECK-NEXT: norm.launch @formed_0
// CHECK-NEXT: return
func.func @formed(%x: memref<4xf32>, %y: memref<4xf32>) {
  norm.launch @formed_0(%x, %y) : memref<4xf32>, memref<4xf32>
  return
}
norm.kernel @formed_0(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  norm.write %0, %y[%n] : memref<4xf32>
}

// -----

// A kernel's name is an identifier, whatever the function's is.
// CHECK: norm.kernel @row_sum_0(
// CHECK-NOT: norm.kernel
func.func @row.sum(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
