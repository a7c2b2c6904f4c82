// Every op of this family parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @floats
func.func @floats(%x: tensor<?x64xbf16>) {
  // CHECK: norm.reduce_axes sum %{{.*}} : tensor<?x64xbf16> -> tensor<?xf32>
  %0 = norm.reduce_axes sum %x : tensor<?x64xbf16> -> tensor<?xf32>
  // CHECK: norm.reduce_axes amax %{{.*}} {axes = array<i64: 0, 1>} : tensor<?x64xbf16> -> tensor<bf16>
  %1 = norm.reduce_axes amax %x {axes = array<i64: 0, 1>} : tensor<?x64xbf16> -> tensor<bf16>
  // CHECK: norm.reduce_axes argmax %{{.*}} {keepdims} : tensor<?x64xbf16> -> tensor<?x1xi32>
  %2 = norm.reduce_axes argmax %x {keepdims} : tensor<?x64xbf16> -> tensor<?x1xi32>
  // CHECK: norm.reduce_axes var %{{.*}} {correction = 1 : i64} : tensor<?x64xbf16> -> tensor<?xf32> mean(tensor<?xf32>)
  %3, %4 = norm.reduce_axes var %x {correction = 1} : tensor<?x64xbf16> -> tensor<?xf32> mean(tensor<?xf32>)
  // CHECK: norm.reduce_axes any %{{.*}} : tensor<?x64xbf16> -> tensor<?xi8>
  %5 = norm.reduce_axes any %x : tensor<?x64xbf16> -> tensor<?xi8>
  return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<?x64xi8>) {
  // CHECK: norm.reduce_axes prod %{{.*}} : tensor<?x64xi8> -> tensor<?xi64>
  %0 = norm.reduce_axes prod %x : tensor<?x64xi8> -> tensor<?xi64>
  return
}

// CHECK-LABEL: func.func @top_k
func.func @top_k(%x: tensor<?x128xbf16>) {
  // CHECK: norm.top_k %{{.*}} {k = 8 : i64} : tensor<?x128xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
  %v, %i = norm.top_k %x {k = 8} : tensor<?x128xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
  // CHECK: norm.top_k %{{.*}} {axis = 0 : i64, k = 1 : i64} : tensor<?x128xbf16> -> tensor<1x128xbf16>, tensor<1x128xi64>
  %w, %j = norm.top_k %x {k = 1, axis = 0} : tensor<?x128xbf16> -> tensor<1x128xbf16>, tensor<1x128xi64>
  return
}

// CHECK-LABEL: func.func @top_k_grad
func.func @top_k_grad(%dv: tensor<?x8xbf16>, %i: tensor<?x8xi32>) {
  // CHECK: norm.top_k_grad %{{.*}} indices(%{{.*}} : tensor<?x8xi32>) {elements = 128 : i64} : tensor<?x8xbf16> -> tensor<?x128xf32>
  %0 = norm.top_k_grad %dv indices(%i : tensor<?x8xi32>) {elements = 128} : tensor<?x8xbf16> -> tensor<?x128xf32>
  return
}
