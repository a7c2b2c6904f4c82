// Every op of this family parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<?x4096xbf16>, %w: tensor<4096xf32>, %b: tensor<4096xf16>) {
  // CHECK: norm.rms_norm %{{.*}} : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  %0 = norm.rms_norm %x : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  // CHECK: norm.rms_norm %{{.*}} weight(%{{.*}} : tensor<4096xf32>) bias(%{{.*}} : tensor<4096xf16>)
  // CHECK-SAME: {eps = {{.*}} : f32, weight_offset = 1.000000e+00 : f32}
  // CHECK-SAME: : tensor<?x4096xbf16> -> tensor<?x4096xf32>, tensor<?xf32>
  %1, %rstd = norm.rms_norm %x weight(%w : tensor<4096xf32>) bias(%b : tensor<4096xf16>)
      {eps = 1.0e-5 : f32, weight_offset = 1.0 : f32}
      : tensor<?x4096xbf16> -> tensor<?x4096xf32>, tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @any_axes
func.func @any_axes(%x: tensor<2x?x4xf32>, %w: tensor<2x?xf32>) {
  // CHECK: norm.rms_norm %{{.*}} weight(%{{.*}} : tensor<2x?xf32>) {axes = array<i64: 1, -3>} : tensor<2x?x4xf32> -> tensor<2x?x4xf32>
  %0 = norm.rms_norm %x weight(%w : tensor<2x?xf32>) {axes = array<i64: 1, -3>} : tensor<2x?x4xf32> -> tensor<2x?x4xf32>
  return
}

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<?x64xf64>, %b: tensor<64xf16>) {
  // CHECK: norm.layer_norm %{{.*}} : tensor<?x64xf64> -> tensor<?x64xbf16>
  %0 = norm.layer_norm %x : tensor<?x64xf64> -> tensor<?x64xbf16>
  // CHECK: norm.layer_norm %{{.*}} bias(%{{.*}} : tensor<64xf16>) : tensor<?x64xf64> -> tensor<?x64xf64>, tensor<?xf64>, tensor<?xf64>
  %1, %mean, %rstd = norm.layer_norm %x bias(%b : tensor<64xf16>) : tensor<?x64xf64> -> tensor<?x64xf64>, tensor<?xf64>, tensor<?xf64>
  return
}

// CHECK-LABEL: func.func @l2_norm
func.func @l2_norm(%x: tensor<?x64xf16>) {
  // CHECK: norm.l2_norm %{{.*}} {axes = array<i64: 0>} : tensor<?x64xf16> -> tensor<?x64xf16>
  %0 = norm.l2_norm %x {axes = array<i64: 0>} : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.l2_norm %{{.*}} : tensor<?x64xf16> -> tensor<?x64xf32>, tensor<?xf32>
  %1, %inverse = norm.l2_norm %x : tensor<?x64xf16> -> tensor<?x64xf32>, tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @of_lengths
func.func @of_lengths(%x: tensor<?x64xf16>, %w: tensor<64xf16>, %l: tensor<?xi64>) {
  // CHECK: norm.rms_norm %{{.*}} weight(%{{.*}} : tensor<64xf16>) lengths(%{{.*}} : tensor<?xi64>) : tensor<?x64xf16> -> tensor<?x64xf16>
  %0 = norm.rms_norm %x weight(%w : tensor<64xf16>) lengths(%l : tensor<?xi64>) : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.layer_norm %{{.*}} lengths(%{{.*}} : tensor<?xi64>) : tensor<?x64xf16> -> tensor<?x64xf16>
  %1 = norm.layer_norm %x lengths(%l : tensor<?xi64>) : tensor<?x64xf16> -> tensor<?x64xf16>
  return
}

// A number that each call sets takes the place of eps.
// CHECK-LABEL: func.func @eps_at_run_time
func.func @eps_at_run_time(%x: tensor<?x64xf16>, %w: tensor<64xf16>, %n: tensor<?xi32>, %e: f32) {
  // CHECK: norm.rms_norm %{{.*}} weight(%{{.*}} : tensor<64xf16>) lengths(%{{.*}} : tensor<?xi32>) eps(%{{.*}}) : tensor<?x64xf16> -> tensor<?x64xf16>
  %0 = norm.rms_norm %x weight(%w : tensor<64xf16>) lengths(%n : tensor<?xi32>) eps(%e) : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.layer_norm %{{.*}} eps(%{{.*}}) {axes = array<i64: 0>} : tensor<?x64xf16> -> tensor<?x64xf16>
  %1 = norm.layer_norm %x eps(%e) {axes = array<i64: 0>} : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.l2_norm %{{.*}} eps(%{{.*}}) : tensor<?x64xf16> -> tensor<?x64xf16>
  %2 = norm.l2_norm %x eps(%e) : tensor<?x64xf16> -> tensor<?x64xf16>
  return
}

// A weight for each head, and what each sample has of its own.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<?x16x8x64xf16>, %w: tensor<8x64xf16>, %b: tensor<?x1x1x64xf32>) {
  // CHECK: norm.rms_norm %{{.*}} weight(%{{.*}} : tensor<8x64xf16>) bias(%{{.*}} : tensor<?x1x1x64xf32>)
  %0 = norm.rms_norm %x weight(%w : tensor<8x64xf16>) bias(%b : tensor<?x1x1x64xf32>) : tensor<?x16x8x64xf16> -> tensor<?x16x8x64xf16>
  return
}
