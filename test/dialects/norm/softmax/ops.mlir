// Every op of this family parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<?x8x64x64xbf16>, %m: tensor<1x64xf32>, %k: tensor<?x1x1x64xi1>) {
  // CHECK: norm.softmax %{{.*}} : tensor<?x8x64x64xbf16> -> tensor<?x8x64x64xf32>
  %0 = norm.softmax %x : tensor<?x8x64x64xbf16> -> tensor<?x8x64x64xf32>
  // CHECK: norm.softmax %{{.*}} mask(%{{.*}} : tensor<1x64xf32>) keep(%{{.*}} : tensor<?x1x1x64xi1>)
  // CHECK-SAME: {causal = array<i64: 2, 3>, scale = 1.250000e-01 : f32, softcap = 3.000000e+01 : f32}
  %1 = norm.softmax %x mask(%m : tensor<1x64xf32>) keep(%k : tensor<?x1x1x64xi1>)
       {causal = array<i64: 2, 3>, scale = 0.125 : f32, softcap = 30.0 : f32}
       : tensor<?x8x64x64xbf16> -> tensor<?x8x64x64xbf16>
  return
}

// CHECK-LABEL: func.func @of_logits
func.func @of_logits(%x: tensor<?x64xf16>, %k: tensor<64xi8>) {
  // CHECK: norm.log_softmax %{{.*}} keep(%{{.*}} : tensor<64xi8>) : tensor<?x64xf16> -> tensor<?x64xf32>
  %0 = norm.log_softmax %x keep(%k : tensor<64xi8>) : tensor<?x64xf16> -> tensor<?x64xf32>
  // CHECK: norm.logsumexp %{{.*}} {axes = array<i64: 0>} : tensor<?x64xf16> -> tensor<64xf16>
  %1 = norm.logsumexp %x {axes = array<i64: 0>} : tensor<?x64xf16> -> tensor<64xf16>
  return
}

// CHECK-LABEL: func.func @of_lengths
func.func @of_lengths(%x: tensor<?x64xf16>, %k: tensor<64xi8>, %l: tensor<?xi32>) {
  // CHECK: norm.softmax %{{.*}} keep(%{{.*}} : tensor<64xi8>) lengths(%{{.*}} : tensor<?xi32>) : tensor<?x64xf16> -> tensor<?x64xf16>
  %0 = norm.softmax %x keep(%k : tensor<64xi8>) lengths(%l : tensor<?xi32>) : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.logsumexp %{{.*}} lengths(%{{.*}} : tensor<?xi32>) : tensor<?x64xf16> -> tensor<?xf32>
  %1 = norm.logsumexp %x lengths(%l : tensor<?xi32>) : tensor<?x64xf16> -> tensor<?xf32>
  return
}

// CHECK-LABEL: func.func @numbers_at_run_time
func.func @numbers_at_run_time(%x: tensor<?x64xf16>, %s: f32, %c: f32) {
  // CHECK: norm.softmax %{{.*}} scale(%[[S:.*]]) softcap(%[[C:.*]]) : tensor<?x64xf16> -> tensor<?x64xf16>
  %0 = norm.softmax %x scale(%s) softcap(%c) : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.log_softmax %{{.*}} softcap(%[[C]]) {scale = 2.000000e+00 : f32}
  %1 = norm.log_softmax %x softcap(%c) {scale = 2.0 : f32} : tensor<?x64xf16> -> tensor<?x64xf16>
  // CHECK: norm.logsumexp %{{.*}} scale(%[[S]]) : tensor<?x64xf16> -> tensor<?xf32>
  %2 = norm.logsumexp %x scale(%s) : tensor<?x64xf16> -> tensor<?xf32>
  return
}
