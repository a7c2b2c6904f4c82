// Ops of a tile program that canonicalization and CSE merge or remove, and ops that they must leave.
// RUN: norma-opt %s --canonicalize --cse | FileCheck %s

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>

// Equal pure ops on tiles are merged, and unused ones are removed.
// CHECK-LABEL: func.func @pure
func.func @pure(%rows: index) -> (tensor<1x32xi1, #row>, tensor<1x32xi1, #row>) {
  // CHECK: %[[MASK:.*]] = gl.mask
  // CHECK-NOT: gl.mask
  // CHECK-NOT: gl.coordinates
  %0 = gl.mask affine_map<(r, n)[s0] -> (r, s0)>()[%rows] : tensor<1x32xi1, #row>
  %1 = gl.mask affine_map<(r, n)[s0] -> (r, s0)>()[%rows] : tensor<1x32xi1, #row>
  %2 = gl.coordinates affine_map<(r, n) -> (n)>() : tensor<1x32xindex, #row>
  // CHECK: return %[[MASK]], %[[MASK]]
  return %0, %1 : tensor<1x32xi1, #row>, tensor<1x32xi1, #row>
}

// A load is merged with an equal one before a write, but not across it.
// CHECK-LABEL: func.func @loads
func.func @loads(%x: memref<1x32xf32>, %y: memref<1x32xf32>) -> (tensor<1x32xf32, #row>, tensor<1x32xf32, #row>) {
  // CHECK: %[[FIRST:.*]] = gl.load
  // CHECK-NEXT: gl.store
  // CHECK-NEXT: %[[SECOND:.*]] = gl.load
  // CHECK-NEXT: return %[[FIRST]], %[[SECOND]]
  %0 = gl.load %x at affine_map<(r, n) -> (r, n)>() : memref<1x32xf32> -> tensor<1x32xf32, #row>
  %1 = gl.load %x at affine_map<(r, n) -> (r, n)>() : memref<1x32xf32> -> tensor<1x32xf32, #row>
  gl.store %1, %y at affine_map<(r, n) -> (r, n)>() : tensor<1x32xf32, #row>, memref<1x32xf32>
  %2 = gl.load %x at affine_map<(r, n) -> (r, n)>() : memref<1x32xf32> -> tensor<1x32xf32, #row>
  return %0, %2 : tensor<1x32xf32, #row>, tensor<1x32xf32, #row>
}

// Values computed from a tile are not merged across an optimization barrier.
// CHECK-LABEL: func.func @optimization_barrier
func.func @optimization_barrier(%x: tensor<1x32xbf16, #row>) -> (tensor<1x32xf32, #row>, tensor<1x32xf32, #row>) {
  // CHECK: %[[WIDE:.*]] = arith.extf %arg0
  %0 = arith.extf %x : tensor<1x32xbf16, #row> to tensor<1x32xf32, #row>
  // CHECK: %[[AGAIN:.*]] = gl.optimization_barrier %arg0
  %1 = gl.optimization_barrier %x : tensor<1x32xbf16, #row>
  // CHECK: %[[WIDE_AGAIN:.*]] = arith.extf %[[AGAIN]]
  %2 = arith.extf %1 : tensor<1x32xbf16, #row> to tensor<1x32xf32, #row>
  // CHECK: return %[[WIDE]], %[[WIDE_AGAIN]]
  return %0, %2 : tensor<1x32xf32, #row>, tensor<1x32xf32, #row>
}

// Barriers and fences stay in their order.
// CHECK-LABEL: func.func @barriers
func.func @barriers() {
  // CHECK: gl.fence_async
  // CHECK-NEXT: gl.barrier
  // CHECK-NEXT: gl.barrier
  gl.fence_async
  gl.barrier
  gl.barrier
  return
}
