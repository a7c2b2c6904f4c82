// RUN: norma-opt %s --split-input-file --mlir-print-local-scope --convert-norm-to-gl | FileCheck %s
//
// A scheduled kernel becomes one CTA's program: dims become the CTA's place and axes of tiles.

#schedule = #norm.schedule<vector = 2, chunk = 64>

// CHECK-LABEL: norm.launch @sum::@sum
func.func @host(%x: memref<?x64xf32>, %y: memref<?xf32>) {
  norm.launch @sum(%x, %y) : memref<?x64xf32>, memref<?xf32>
  return
}

// CHECK-LABEL: gpu.module @sum
// CHECK: gpu.func @sum(%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?xf32>) kernel
// CHECK-SAME: gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0 * 256, s0 * 4)>, sizes = [0, 0], alignments = [1, 1]>
// CHECK-SAME: gl.num_warps = 1
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: %[[T:.*]] = gl.load %[[X]] at affine_map<(d0, d1, d2) -> (d0 + d1, d2)>(%[[B]]) : memref<?x64xf32> -> tensor<1x64xf32, #gl.blocked<size_per_thread = [1, 2], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>>
// CHECK: %[[S:.*]] = gl.reduce %[[T]] axis 1
// CHECK: arith.addf {{.*}} fastmath<nsz>
// CHECK: gl.store %[[S]], %[[Y]] at affine_map<(d0, d1) -> (d0 + d1)>(%[[B]])
norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %r = 1 : tile, %t = 64 : tile) schedule(#schedule) {
  %0 = norm.read %x[%b + %r, %t] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[%b + %r] : memref<?xf32>
}

// -----

// Several rows to a warp, guards on both dims: loads give zero where a guard fails, and a maximum, which zero is no
// identity of, sees minus infinity there.

// CHECK-LABEL: gpu.func @guarded
// CHECK-SAME: grid = affine_map<()[s0] -> (s0 ceildiv 8)>, traffic = affine_map<()[s0] -> (s0 * 44, s0 * 4)>
// CHECK-DAG: %[[M:.*]] = memref.dim
// CHECK-DAG: %[[B:.*]] = gpu.block_id x
// CHECK: gl.load {{.*}} where affine_map<(d0, d1, d2)[s0] -> (d0 * 8 + d1, s0, d2, 11)>[%[[M]]] other {{.*}} threads_per_warp = [8, 4], warps_per_cta = [1, 1]
// CHECK: %[[I:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[MASK:.*]] = gl.mask affine_map<(d0, d1) -> (d1, 11)>() []
// CHECK: arith.select %[[MASK]]
// CHECK: arith.maximumf
// CHECK: gl.store {{.*}} where affine_map<(d0, d1)[s0] -> (d0 * 8 + d1, s0)>[%[[M]]]
norm.kernel @guarded(%x: memref<?x11xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 8 : grid, %r = 8 : tile, %t = 16 : tile)
    where(%b * 8 + %r < dim(%x, 0), %t < 11)
    schedule(#norm.schedule<rows_per_cta = 8, threads_per_row = 4, chunk = 16>) {
  %0 = norm.read %x[%b * 8 + %r, %t] : memref<?x11xf32>
  %1 = norm.reduce max %0 over(%t) : f32
  norm.write %1, %y[%b * 8 + %r] : memref<?xf32>
}

// -----

// A sum of what is zero where reads are needs no mask; a dim is a value.

// CHECK-LABEL: gpu.func @weighted
// CHECK-NOT: gl.mask
// CHECK: gl.coordinates affine_map<(d0) -> (d0)>() : tensor<16xindex, #gl.slice<axis = 0
// CHECK: gl.optimization_barrier
// CHECK: gl.broadcast {{.*}} axis 0
norm.kernel @weighted(%x: memref<8x11xf32>, %y: memref<8x11xf32>)
    space(%b = 8 : grid, %r = 1 : tile, %t = 16 : tile) where(%t < 11)
    schedule(#norm.schedule<chunk = 16>) {
  %0 = norm.read %x[%b + %r, %t] : memref<8x11xf32>
  %1 = arith.mulf %0, %0 : f32
  %2 = norm.reduce add %1 over(%t) : f32
  %3 = arith.index_cast %t : index to i32
  %4 = arith.sitofp %3 : i32 to f32
  %5 = norm.cache %0 in register : f32
  %6 = arith.mulf %5, %2 : f32
  %7 = arith.mulf %6, %4 : f32
  norm.write %7, %y[%b + %r, %t] : memref<8x11xf32>
}

// -----

// Two grid dims share one grid; the last varies fastest.

// CHECK-LABEL: gpu.func @two_grid_dims
// CHECK-SAME: grid = affine_map<()[s0] -> (s0 * 3)>
// CHECK: %[[C3:.*]] = arith.constant 3 : index
// CHECK: arith.remui %{{.*}}, %[[C3]]
// CHECK: arith.divui %{{.*}}, %[[C3]]
norm.kernel @two_grid_dims(%x: memref<?x3x32xf32, strided<[512, 64, 1]>>, %y: memref<?x3xf32>)
    space(%a = dim(%x, 0) : grid, %b = 3 : grid, %r = 1 : tile, %t = 32 : tile)
    schedule(#norm.schedule<chunk = 32>) {
  %0 = norm.read %x[%a, %b + %r, %t] : memref<?x3x32xf32, strided<[512, 64, 1]>>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[%a, %b + %r] : memref<?x3xf32>
}

// -----

// A space that is one row is reduced in every row's place of the tile, and written from the one that the guard leaves.
// CHECK-LABEL: gpu.func @one_row(
// CHECK: %[[X:.*]] = gl.load %{{.*}} : memref<8xf32> -> tensor<8xf32, #gl.slice<axis = 0,
// CHECK: %[[WIDE:.*]] = gl.broadcast %[[X]] axis 0
// CHECK: %[[SUM:.*]] = gl.reduce %[[WIDE]] axis 1 : (tensor<4x8xf32,
// CHECK: gl.store %[[SUM]], %{{.*}} at affine_map<(d0, d1) -> ()>(%{{.*}}) where affine_map<(d0, d1) -> (d0 * 4 + d1, 1)>[] : tensor<4xf32,
norm.kernel @one_row(%x: memref<8xf32>, %y: memref<f32>) space(%b = 1 : grid, %r = 4 : tile, %t = 8 : tile)
    where(%b * 4 + %r < 1) schedule(#norm.schedule<rows_per_cta = 4, threads_per_row = 8, chunk = 8>) {
  %0 = norm.read %x[%t] : memref<8xf32>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[] : memref<f32>
}

// -----
// Streaming: what one CTA alone touches leaves the caches first, what all share stays. Rows of one thread repeat the
// layout of fewer warps.

// CHECK-LABEL: gpu.func @streaming
// CHECK-SAME: gl.min_ctas_per_sm = 4 : i64
// CHECK-SAME: gl.num_warps = 2
// CHECK: gl.load %arg0 {{.*}} cache <l1 = no_allocate, l2 = evict_first>
// CHECK-SAME: tensor<4x64xf32, #gl.blocked<size_per_thread = [1, 2], threads_per_warp = [1, 32], warps_per_cta = [2, 1], order = [1, 0]>>
// CHECK: gl.load %arg1 {{.*}} cache <l1 = evict_last, l2 = evict_last>
// CHECK: gl.store {{.*}} cache <l1 = no_allocate, l2 = evict_first>
norm.kernel @streaming(%x: memref<8x64xf32>, %w: memref<64xf32>, %y: memref<8x64xf32>)
    space(%b = 2 : grid, %r = 4 : tile, %t = 64 : tile)
    schedule(#norm.schedule<rows_per_cta = 4, vector = 2, chunk = 64, rows_per_thread = 2, eviction = streaming, min_ctas_per_sm = 4>) {
  %0 = norm.read %x[%b * 4 + %r, %t] : memref<8x64xf32>
  %1 = norm.read %w[%t] : memref<64xf32>
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%b * 4 + %r, %t] : memref<8x64xf32>
}
