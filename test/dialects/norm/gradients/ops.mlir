// Every op of this family parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @rms_norm_grad
func.func @rms_norm_grad(%x: tensor<?x64xbf16>, %dy: tensor<?x64xf32>, %w: tensor<64xf16>, %r: tensor<?xf32>) {
  // CHECK: norm.rms_norm_grad %{{.*}} dy(%{{.*}} : tensor<?x64xf32>) : tensor<?x64xbf16> -> tensor<?x64xbf16>
  %0 = norm.rms_norm_grad %x dy(%dy : tensor<?x64xf32>) : tensor<?x64xbf16> -> tensor<?x64xbf16>
  // CHECK: norm.rms_norm_grad %{{.*}} dy(%{{.*}} : tensor<?x64xf32>) weight(%{{.*}} : tensor<64xf16>) rstd(%{{.*}} : tensor<?xf32>)
  // CHECK-SAME: residual(%{{.*}} : tensor<?x64xbf16>) {weight_offset = 1.000000e+00 : f32}
  // CHECK-SAME: : tensor<?x64xbf16> -> tensor<?x64xbf16> dweight(tensor<64xf32>) dbias(tensor<64xf32>)
  %1, %dw, %db = norm.rms_norm_grad %x dy(%dy : tensor<?x64xf32>) weight(%w : tensor<64xf16>) rstd(%r : tensor<?xf32>)
      residual(%x : tensor<?x64xbf16>) {weight_offset = 1.0 : f32}
      : tensor<?x64xbf16> -> tensor<?x64xbf16> dweight(tensor<64xf32>) dbias(tensor<64xf32>)
  // CHECK: norm.rms_norm_grad {{.*}} -> tensor<?x64xbf16> dbias(tensor<64xf32>)
  %2, %3 = norm.rms_norm_grad %x dy(%dy : tensor<?x64xf32>) : tensor<?x64xbf16> -> tensor<?x64xbf16> dbias(tensor<64xf32>)
  return
}

// CHECK-LABEL: func.func @layer_norm_grad
func.func @layer_norm_grad(%x: tensor<4x?xf64>, %m: tensor<?xf64>) {
  // CHECK: norm.layer_norm_grad %{{.*}} dy(%{{.*}} : tensor<4x?xf64>) mean(%{{.*}} : tensor<?xf64>) rstd(%{{.*}} : tensor<?xf64>)
  // CHECK-SAME: {axes = array<i64: 0>} : tensor<4x?xf64> -> tensor<4x?xf64>
  %0 = norm.layer_norm_grad %x dy(%x : tensor<4x?xf64>) mean(%m : tensor<?xf64>) rstd(%m : tensor<?xf64>) {axes = array<i64: 0>}
       : tensor<4x?xf64> -> tensor<4x?xf64>
  return
}

// CHECK-LABEL: func.func @l2_norm_grad
func.func @l2_norm_grad(%x: tensor<?x64xf16>) {
  // CHECK: norm.l2_norm_grad %{{.*}} dy(%{{.*}} : tensor<?x64xf16>) residual(%{{.*}} : tensor<?x64xf16>) : tensor<?x64xf16> -> tensor<?x64xf32>
  %0 = norm.l2_norm_grad %x dy(%x : tensor<?x64xf16>) residual(%x : tensor<?x64xf16>) : tensor<?x64xf16> -> tensor<?x64xf32>
  return
}

// CHECK-LABEL: func.func @group_norm_grad
func.func @group_norm_grad(%x: tensor<?x8x16xf32>, %w: tensor<8xf32>, %m: tensor<?x4xf32>) {
  // CHECK: norm.group_norm_grad %{{.*}} dy(%{{.*}} : tensor<?x8x16xf32>) weight(%{{.*}} : tensor<8xf32>)
  // CHECK-SAME: mean(%{{.*}} : tensor<?x4xf32>) rstd(%{{.*}} : tensor<?x4xf32>) {groups = 4 : i64}
  // CHECK-SAME: : tensor<?x8x16xf32> -> tensor<?x8x16xf32> dweight(tensor<8xf32>)
  %0, %dw = norm.group_norm_grad %x dy(%x : tensor<?x8x16xf32>) weight(%w : tensor<8xf32>) mean(%m : tensor<?x4xf32>)
      rstd(%m : tensor<?x4xf32>) {groups = 4} : tensor<?x8x16xf32> -> tensor<?x8x16xf32> dweight(tensor<8xf32>)
  return
}

// CHECK-LABEL: func.func @softmax_grad
func.func @softmax_grad(%y: tensor<?x64xbf16>) {
  // CHECK: norm.softmax_grad %{{.*}} dy(%{{.*}} : tensor<?x64xbf16>) {scale = 1.250000e-01 : f32} : tensor<?x64xbf16> -> tensor<?x64xf32>
  %0 = norm.softmax_grad %y dy(%y : tensor<?x64xbf16>) {scale = 0.125 : f32} : tensor<?x64xbf16> -> tensor<?x64xf32>
  // CHECK: norm.log_softmax_grad %{{.*}} dy(%{{.*}} : tensor<?x64xbf16>) {axes = array<i64: 0>} : tensor<?x64xbf16> -> tensor<?x64xbf16>
  %1 = norm.log_softmax_grad %y dy(%y : tensor<?x64xbf16>) {axes = array<i64: 0>} : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return
}

// CHECK-LABEL: func.func @of_lengths
func.func @of_lengths(%x: tensor<?x64xf16>, %m: tensor<?xf32>, %l: tensor<?xi64>, %e: f32) {
  // CHECK: norm.rms_norm_grad %{{.*}} dy(%{{.*}} : tensor<?x64xf16>) residual(%{{.*}} : tensor<?x64xf16>) lengths(%{{.*}} : tensor<?xi64>) eps(%{{.*}})
  // CHECK-SAME: : tensor<?x64xf16> -> tensor<?x64xf16>
  %0 = norm.rms_norm_grad %x dy(%x : tensor<?x64xf16>) residual(%x : tensor<?x64xf16>) lengths(%l : tensor<?xi64>) eps(%e)
       : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.layer_norm_grad %{{.*}} dy(%{{.*}} : tensor<?x64xf16>) mean(%{{.*}} : tensor<?xf32>) rstd(%{{.*}} : tensor<?xf32>)
  // CHECK-SAME: lengths(%{{.*}} : tensor<?xi64>) : tensor<?x64xf16> -> tensor<?x64xf16> dweight(tensor<64xf32>)
  %1, %dw = norm.layer_norm_grad %x dy(%x : tensor<?x64xf16>) mean(%m : tensor<?xf32>) rstd(%m : tensor<?xf32>)
            lengths(%l : tensor<?xi64>) : tensor<?x64xf16> -> tensor<?x64xf16> dweight(tensor<64xf32>)
  // CHECK: norm.softmax_grad {{.*}} lengths(%{{.*}} : tensor<?xi64>) scale(%{{.*}}) : tensor<?x64xf16> -> tensor<?x64xf16>
  %2 = norm.softmax_grad %x dy(%x : tensor<?x64xf16>) lengths(%l : tensor<?xi64>) scale(%e) : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.log_softmax_grad {{.*}} lengths(%{{.*}} : tensor<?xi64>) : tensor<?x64xf16> -> tensor<?x64xf16>
  %3 = norm.log_softmax_grad %x dy(%x : tensor<?x64xf16>) lengths(%l : tensor<?xi64>) : tensor<?x64xf16> -> tensor<?x64xf16>
  return
}

// CHECK-LABEL: func.func @numbers_at_run_time
func.func @numbers_at_run_time(%x: tensor<?x8x64xf16>, %w: tensor<8x64xf16>, %e: f32) {
  // CHECK: norm.rms_norm_grad {{.*}} weight(%{{.*}} : tensor<8x64xf16>) eps(%{{.*}}) : tensor<?x8x64xf16> -> tensor<?x8x64xf16> dweight(tensor<8x64xf32>)
  %0, %dw = norm.rms_norm_grad %x dy(%x : tensor<?x8x64xf16>) weight(%w : tensor<8x64xf16>) eps(%e)
            : tensor<?x8x64xf16> -> tensor<?x8x64xf16> dweight(tensor<8x64xf32>)
  // CHECK: norm.softmax_grad {{.*}} scale(%{{.*}}) : tensor<?x8x64xf16> -> tensor<?x8x64xf16>
  %1 = norm.softmax_grad %x dy(%x : tensor<?x8x64xf16>) scale(%e) : tensor<?x8x64xf16> -> tensor<?x8x64xf16>
  return
}
