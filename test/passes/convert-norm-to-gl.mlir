// RUN: norma-opt %s --split-input-file --mlir-print-local-scope --convert-norm-to-gl | FileCheck %s
//
// A scheduled kernel becomes one CTA's program: dims become indices of the CTA, steps of loops, and axes of tiles.

// CHECK-LABEL: norm.launch @sum::@sum
func.func @host(%x: memref<?x64xf32>, %y: memref<?xf32>) {
  norm.launch @sum(%x, %y) : memref<?x64xf32>, memref<?xf32>
  return
}

// A reduction is first within each thread, then across threads.
// CHECK-LABEL: gpu.module @sum
// CHECK: gpu.func @sum(%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?xf32>) kernel
// CHECK-SAME: gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0 * 256, s0 * 4)>, sizes = [0, 0], alignments = [1, 1]>
// CHECK-SAME: gl.num_warps = 1
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: %[[T:.*]] = gl.load %[[X]] at affine_map<(d0, d1, d2) -> (d0, d1 * 2 + d2)>(%[[B]]) : memref<?x64xf32> -> tensor<32x2xf32, #gl.linear<register = {{\[\[}}0, 1]], lane = {{\[\[}}1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [], block = []>>
// CHECK: %[[P:.*]] = gl.reduce %[[T]] axis 1
// CHECK: arith.addf {{.*}} fastmath<nsz>
// CHECK: %[[S:.*]] = gl.reduce %[[P]] axis 0
// CHECK: %[[E:.*]] = tensor.extract %[[S]][]
// CHECK: %[[W:.*]] = tensor.splat %[[E]]
// CHECK: gl.store %[[W]], %[[Y]] at affine_map<(d0) -> (d0)>(%[[B]])
norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %t = 32 : thread, %v = 2 : register)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%b, %t * 2 + %v] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%t, %v) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// Several rows per warp, with guards on both dims: loads give zero where a guard fails, and a maximum, whose identity is not
// zero, sees minus infinity there.

// CHECK-LABEL: gpu.func @guarded
// CHECK-SAME: grid = affine_map<()[s0] -> (s0 ceildiv 8)>, traffic = affine_map<()[s0] -> (s0 * 44, s0 * 4)>
// CHECK-DAG: %[[M:.*]] = memref.dim
// CHECK-DAG: %[[B:.*]] = gpu.block_id x
// CHECK: gl.load {{.*}} where affine_map<(d0, d1, d2, d3)[s0] -> (d0 * 8 + d1, s0, d2 * 4 + d3, 11)>[%[[M]]] other {{.*}} lane = {{\[\[}}0, 1, 0], [0, 2, 0], [1, 0, 0], [2, 0, 0], [4, 0, 0]]
// CHECK: %[[I:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[MASK:.*]] = gl.mask affine_map<(d0, d1, d2) -> (d1 * 4 + d2, 11)>() []
// CHECK: arith.select %[[MASK]]
// CHECK: arith.maximumf
// CHECK: gl.store {{.*}} where affine_map<(d0, d1)[s0] -> (d0 * 8 + d1, s0)>[%[[M]]]
norm.kernel @guarded(%x: memref<?x11xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 8 : grid, %r = 8 : thread, %t = 4 : thread, %v = 4 : register)
    where(%b * 8 + %r < dim(%x, 0), %t * 4 + %v < 11)
    schedule(#norm.schedule<spread = [[grid, lane(8)], [lane(4), vector(4)]]>) {
  %0 = norm.read %x[%b * 8 + %r, %t * 4 + %v] : memref<?x11xf32>
  %1 = norm.reduce max %0 over(%t, %v) : f32
  norm.write %1, %y[%b * 8 + %r] : memref<?xf32>
}

// -----

// A sum needs no mask if its operand is zero wherever the reads are; a dim is used as a value.

// CHECK-LABEL: gpu.func @weighted
// CHECK-NOT: gl.mask
// CHECK: gl.coordinates affine_map<(d0) -> (d0)>() : tensor<16xindex
// CHECK: gl.optimization_barrier
norm.kernel @weighted(%x: memref<8x11xf32>, %y: memref<8x11xf32>)
    space(%b = 8 : grid, %t = 16 : thread) where(%t < 11)
    schedule(#norm.schedule<spread = [[grid], [lane(16)]]>) {
  %0 = norm.read %x[%b, %t] : memref<8x11xf32>
  %1 = arith.mulf %0, %0 : f32
  %2 = norm.reduce add %1 over(%t) : f32
  %3 = arith.index_cast %t : index to i32
  %4 = arith.sitofp %3 : i32 to f32
  %5 = norm.cache %0 in register : f32
  %6 = arith.mulf %5, %2 : f32
  %7 = arith.mulf %6, %4 : f32
  norm.write %7, %y[%b, %t] : memref<8x11xf32>
}

// -----

// A value of a whole row exists in dead lanes too, where no read makes it zero: the sum must mask it.

// CHECK-LABEL: gpu.func @dead_lanes
// CHECK: %[[WIDE:.*]] = tensor.splat %{{.*}} : tensor<32x2xf32
// CHECK: %[[NONE:.*]] = tensor.splat %{{.*}} : tensor<32x2xf32
// CHECK: %[[MASK:.*]] = gl.mask affine_map<(d0, d1) -> (d0 * 2 + d1, 50)>() []
// CHECK: arith.select %[[MASK]], %[[WIDE]], %[[NONE]]
norm.kernel @dead_lanes(%s: memref<4xf32>, %y: memref<4xf32>)
    space(%m = 4 : grid, %t = 32 : thread, %v = 2 : register) where(%t * 2 + %v < 50)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %s[%m] : memref<4xf32>
  %1 = norm.reduce add %0 over(%t, %v) : f32
  norm.write %1, %y[%m] : memref<4xf32>
}

// -----

// Two grid dims share one grid; the last one varies fastest.

// CHECK-LABEL: gpu.func @two_grid_dims
// CHECK-SAME: grid = affine_map<()[s0] -> (s0 * 3)>
// CHECK: %[[C3:.*]] = arith.constant 3 : index
// CHECK: arith.remui %{{.*}}, %[[C3]]
// CHECK: arith.divui %{{.*}}, %[[C3]]
norm.kernel @two_grid_dims(%x: memref<?x3x32xf32, strided<[512, 64, 1]>>, %y: memref<?x3xf32>)
    space(%a = dim(%x, 0) : grid, %b = 3 : grid, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[grid], [grid], [lane(32)]]>) {
  %0 = norm.read %x[%a, %b, %t] : memref<?x3x32xf32, strided<[512, 64, 1]>>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[%a, %b] : memref<?x3xf32>
}

// -----

// If a write does not vary over a grid dim, every CTA along it has the value, and the first writes it. A result without dims is
// a tile of rank 0.

// CHECK-LABEL: gpu.func @one_result(
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: gl.store %{{.*}}, %{{.*}} at affine_map<(d0) -> ()>(%[[B]]) where affine_map<(d0) -> (d0, 1)>[] : tensor<f32,
norm.kernel @one_result(%x: memref<32xf32>, %y: memref<f32>) space(%b = 4 : grid, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[grid], [lane(32)]]>) {
  %0 = norm.read %x[%t] : memref<32xf32>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[] : memref<f32>
}

// -----

// A reduction over two dims takes one axis after the other, threads last.

// CHECK-LABEL: gpu.func @two_dims(
// CHECK: gl.reduce %{{.*}} axis 2 : (tensor<4x16x2xf32,
// CHECK: gl.reduce %{{.*}} axis 1 : (tensor<4x16xf32,
// CHECK: gl.reduce %{{.*}} axis 0 : (tensor<4xf32,
norm.kernel @two_dims(%x: memref<8x3x32xf32>, %y: memref<8xf32>)
    space(%m = 8 : grid, %p = 4 : thread, %t = 16 : thread, %v = 2 : register) where(%p < 3)
    schedule(#norm.schedule<spread = [[grid], [warp(4)], [lane(16), vector(2)]]>) {
  %0 = norm.read %x[%m, %p, %t * 2 + %v] : memref<8x3x32xf32>
  %1 = norm.reduce add %0 over(%p, %t, %v) : f32
  norm.write %1, %y[%m] : memref<8xf32>
}

// -----

// Values are broadcast along any axis: a row's after its own axes, a column's before them.

// CHECK-LABEL: gpu.func @broadcast(
// CHECK: %[[ROW:.*]] = gl.load %arg0
// CHECK: %[[COLUMN:.*]] = gl.load %arg1
// CHECK: %[[ROWS:.*]] = gl.broadcast %[[ROW]] axis 1
// CHECK: %[[LEFT:.*]] = gl.broadcast %[[ROWS]] axis 2
// CHECK: %[[RIGHT:.*]] = gl.broadcast %[[COLUMN]] axis 0
// CHECK: arith.mulf %[[LEFT]], %[[RIGHT]]
norm.kernel @broadcast(%x: memref<4xf32>, %w: memref<64xf32>, %y: memref<4x64xf32>)
    space(%b = 2 : grid, %r = 2 : thread, %t = 32 : thread, %v = 2 : register)
    schedule(#norm.schedule<spread = [[grid, warp(2)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%b * 2 + %r] : memref<4xf32>
  %1 = norm.read %w[%t * 2 + %v] : memref<64xf32>
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%b * 2 + %r, %t * 2 + %v] : memref<4x64xf32>
}

// -----

// Without a reduction, data that one CTA alone touches leaves the caches first, and data that all CTAs share stays; the number
// of CTAs per SM is passed on. Rows in the registers of a thread are an axis of their own.

// CHECK-LABEL: gpu.func @elementwise
// CHECK-SAME: gl.min_ctas_per_sm = 4 : i64
// CHECK-SAME: gl.num_warps = 2
// CHECK: gl.load %arg0 {{.*}} cache <l1 = no_allocate, l2 = evict_first>
// CHECK-SAME: tensor<2x2x32x4xf32, #gl.linear<register = {{\[\[}}0, 0, 0, 1], [0, 0, 0, 2], [1, 0, 0, 0]], lane = {{.*}}, warp = {{\[\[}}0, 1, 0, 0]], block = []>>
// CHECK: gl.load %arg1 {{.*}} cache <l1 = evict_last, l2 = evict_last>
// CHECK: gl.store {{.*}} cache <l1 = no_allocate, l2 = evict_first>
norm.kernel @elementwise(%x: memref<8x128xf32>, %w: memref<128xf32>, %y: memref<8x128xf32>)
    space(%b = 2 : grid, %r = 2 : register, %w0 = 2 : thread, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid, register(2), warp(2)], [lane(32), vector(4)]], min_ctas_per_sm = 4>) {
  %0 = norm.read %x[%b * 4 + %r * 2 + %w0, %t * 4 + %v] : memref<8x128xf32>
  %1 = norm.read %w[%t * 4 + %v] : memref<128xf32>
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%b * 4 + %r * 2 + %w0, %t * 4 + %v] : memref<8x128xf32>
}

// -----

// The scale of an image, which 16 CTAs with a row each share, stays in the caches. What two CTAs share gets no hint.

// CHECK-LABEL: gpu.func @shared_by_some
// CHECK: gl.load %arg0 {{.*}} cache <l1 = no_allocate, l2 = evict_first>
// CHECK: gl.load %arg1 {{.*}} cache <l1 = evict_last, l2 = evict_last>
// CHECK: gl.load %arg2
// CHECK-NOT: cache <
// CHECK: gl.store {{.*}} cache <l1 = no_allocate, l2 = evict_first>
norm.kernel @shared_by_some(%x: memref<2x16x128xf32>, %scale: memref<2x128xf32>, %of_row: memref<16x128xf32>, %y: memref<2x16x128xf32>)
    space(%b = 2 : grid, %r = 16 : grid, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [grid], [lane(32), vector(4)]]>) {
  %0 = norm.read %x[%b, %r, %t * 4 + %v] : memref<2x16x128xf32>
  %1 = norm.read %scale[%b, %t * 4 + %v] : memref<2x128xf32>
  %2 = norm.read %of_row[%r, %t * 4 + %v] : memref<16x128xf32>
  %3 = arith.mulf %0, %1 : f32
  %4 = arith.mulf %3, %2 : f32
  norm.write %4, %y[%b, %r, %t * 4 + %v] : memref<2x16x128xf32>
}

// -----

// Accesses of less than 16 bytes share sectors with others of their CTA, so they get no hint.

// CHECK-LABEL: gpu.func @narrow
// CHECK-NOT: cache <
// CHECK: gpu.return
norm.kernel @narrow(%x: memref<8x64xf32>, %y: memref<8x64xf32>)
    space(%b = 8 : grid, %t = 32 : thread, %v = 2 : register)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%b, %t * 2 + %v] : memref<8x64xf32>
  norm.write %0, %y[%b, %t * 2 + %v] : memref<8x64xf32>
}

// -----

// If steps divide the row there is one loop, without a guard. It carries each thread's partial result; threads combine after
// it.

// CHECK-LABEL: gpu.func @whole_steps
// CHECK: %[[ZERO:.*]] = arith.constant -0.000000e+00
// CHECK: %[[INIT:.*]] = tensor.splat %[[ZERO]] : tensor<32xf32,
// CHECK: %[[STEPS:.*]] = arith.constant 16 : index
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %[[STEPS]] step %{{.*}} iter_args(%[[SO_FAR:.*]] = %[[INIT]])
// CHECK-NOT: where
// CHECK: %[[PART:.*]] = gl.reduce %{{.*}} axis 1
// CHECK: %[[NEXT:.*]] = arith.addf %[[SO_FAR]], %[[PART]] fastmath<nsz> : tensor<32xf32,
// CHECK: scf.yield %[[NEXT]]
// CHECK: gl.reduce %[[SUM]] axis 0
// CHECK-NOT: scf.for
// CHECK: gpu.return
norm.kernel @whole_steps(%x: memref<?x2048xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %c = 16 : loop, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]]>) {
  %0 = norm.read %x[%b, %c * 128 + %t * 4 + %v] : memref<?x2048xf32>
  %1 = norm.reduce add %0 over(%c, %t, %v) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// If they do not, a second loop has the guard; it begins where the first ended, with the first one's result.

// CHECK-LABEL: gpu.func @tail
// CHECK: %[[FULL:.*]] = arith.constant 2 : index
// CHECK: %[[MAIN:.*]] = scf.for %{{.*}} to %[[FULL]]
// CHECK-NOT: where
// CHECK-NOT: gl.mask
// CHECK: scf.yield
// CHECK: %[[LOWER:.*]] = arith.constant 2 : index
// CHECK: %[[UPPER:.*]] = arith.constant 3 : index
// CHECK: %[[ALL:.*]] = scf.for %[[C:.*]] = %[[LOWER]] to %[[UPPER]] step %{{.*}} iter_args(%{{.*}} = %[[MAIN]])
// CHECK: gl.load {{.*}} where affine_map<(d0, d1, d2, d3) -> (d1 * 128 + d2 * 4 + d3, 300)>
// CHECK: gl.mask affine_map<(d0, d1, d2) -> (d0 * 128 + d1 * 4 + d2, 300)>(%[[C]])
// CHECK: scf.yield
// CHECK: gl.reduce %[[ALL]] axis 0
norm.kernel @tail(%x: memref<?x300xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %c = 3 : loop, %t = 32 : thread, %v = 4 : register) where(%c * 128 + %t * 4 + %v < 300)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]]>) {
  %0 = norm.read %x[%b, %c * 128 + %t * 4 + %v] : memref<?x300xf32>
  %1 = norm.reduce max %0 over(%c, %t, %v) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// A row shorter than one step needs the second loop alone.

// CHECK-LABEL: gpu.func @tail_alone
// CHECK: arith.constant 0 : index
// CHECK: scf.for
// CHECK: where affine_map
// CHECK-NOT: scf.for
// CHECK: gpu.return
norm.kernel @tail_alone(%x: memref<?x20xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %c = 1 : loop, %t = 32 : thread) where(%c * 32 + %t < 20)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]]>) {
  %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x20xf32>
  %1 = norm.reduce max %0 over(%c, %t) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// For a row of dynamic length, the number of steps that lie entirely within it is computed in the kernel.

// CHECK-LABEL: gpu.func @dynamic
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[STEPS:.*]] = arith.divui
// CHECK: %[[ROOM:.*]] = arith.subi %[[N]], %{{.*}} : index
// CHECK: %[[CLAMPED:.*]] = arith.maxsi %[[ROOM]], %{{.*}} : index
// CHECK: %[[WHOLE:.*]] = arith.divui
// CHECK: %[[FULL:.*]] = arith.minsi %[[WHOLE]], %[[STEPS]] : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[FULL]]
// CHECK-NOT: where
// CHECK: scf.for %{{.*}} = %[[FULL]] to %[[STEPS]]
// CHECK: where affine_map<(d0, d1, d2)[s0] -> (d1 * 32 + d2, s0)>[%[[N]]]
norm.kernel @dynamic(%x: memref<?x?xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %c = dim(%x, 1) ceildiv 32 : loop, %t = 32 : thread) where(%c * 32 + %t < dim(%x, 1))
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]]>) {
  %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x?xf32>
  %1 = norm.reduce max %0 over(%c, %t) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// A walk over rows ends, for each CTA, with its last row: the bound follows from the CTA's number, and no step needs a
// guard or a second loop.

// CHECK-LABEL: gpu.func @walk
// CHECK-SAME: grid = affine_map<()[s0] -> (4)>
// CHECK: %[[M:.*]] = memref.dim
// CHECK: %[[B:.*]] = gpu.block_id x
// CHECK: %[[ROOM:.*]] = arith.subi %[[M]], %[[B]] : index
// CHECK: arith.maxsi %[[ROOM]]
// CHECK: %[[ROWS:.*]] = arith.minsi
// CHECK: scf.for %[[S:.*]] = %{{.*}} to %[[ROWS]]
// CHECK: gl.load %{{.*}} at affine_map<(d0, d1, d2) -> (d0 * 4 + d1, d2)>(%[[S]], %[[B]]) : memref
// CHECK: gl.store %{{.*}} at affine_map<(d0, d1) -> (d0 * 4 + d1)>(%[[S]], %[[B]]) : tensor
// CHECK-NOT: scf.for
// CHECK: gpu.return
norm.kernel @walk(%x: memref<?x32xf32>, %y: memref<?xf32>)
    space(%s = dim(%x, 0) ceildiv 4 : loop, %p = 4 : grid, %t = 32 : thread) where(%s * 4 + %p < dim(%x, 0))
    schedule(#norm.schedule<spread = [[loop, grid(4)], [lane(32)]]>) {
  %0 = norm.read %x[%s * 4 + %p, %t] : memref<?x32xf32>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[%s * 4 + %p] : memref<?xf32>
}

// -----

// A combiner of two values carries two tiles; each step is the combiner on tiles, its constants splat.

// CHECK-LABEL: gpu.func @two_values
// CHECK: %[[BOTH:.*]]:2 = scf.for {{.*}} iter_args(%[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) ->
// CHECK: %[[LARGER:.*]] = arith.maximumf %[[MAX]], %{{.*}} : tensor<32xf32,
// CHECK: %[[MORE:.*]] = arith.addf %[[SUM]], %{{.*}} : tensor<32xf32,
// CHECK: %[[HALF:.*]] = tensor.splat %{{.*}} : tensor<32xf32,
// CHECK: %[[HALVED:.*]] = arith.mulf %[[MORE]], %[[HALF]] : tensor<32xf32,
// CHECK: scf.yield %[[LARGER]], %[[HALVED]]
// CHECK: gl.reduce %[[BOTH]]#0, %[[BOTH]]#1 axis 0
norm.kernel @two_values(%x: memref<?x64xf32>, %y: memref<?xf32>, %z: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]]>) {
  %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
  %max, %sum = norm.reduce %0, %0 over(%c, %t) identity [0xFF800000 : f32, 0.0 : f32] : f32, f32 combine {
  ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
    %m = arith.maximumf %m0, %m1 : f32
    %s2 = arith.addf %s0, %s1 : f32
    %half = arith.constant 0.5 : f32
    %s = arith.mulf %s2, %half : f32
    norm.yield %m, %s : f32, f32
  }
  norm.write %max, %y[%b] : memref<?xf32>
  norm.write %sum, %z[%b] : memref<?xf32>
}

// -----

// The number of elements in a partial result is the same for all columns of a tile. A loop carries one for each warp, and a step divides by it
// once.

// CHECK-LABEL: gpu.func @one_count_for_all_columns
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[COUNT:.*]] = %{{.*}}) -> (tensor<4x32x8xf32, {{.*}}>, tensor<4xf32, {{.*}}>)
// CHECK: gl.reduce %{{.*}} axis 0 : (tensor<8xf32, {{.*}}>) -> tensor<f32,
// CHECK: %[[SUM_OF_STEP:.*]] = gl.reduce %{{.*}} axis 0 : (tensor<8x4x32x8xf32, {{.*}}>) -> tensor<4x32x8xf32,
// CHECK: %[[OF_STEP:.*]] = tensor.splat %{{.*}} : tensor<4xf32,
// CHECK: %[[WEIGHT:.*]] = arith.divf %[[COUNT]], %[[OF_STEP]] : tensor<4xf32,
// CHECK: gl.broadcast %[[WEIGHT]]
// CHECK: arith.mulf %[[SUM_OF_STEP]], %{{.*}} : tensor<4x32x8xf32,
// CHECK: arith.addf %[[COUNT]], %[[OF_STEP]] : tensor<4xf32,
norm.kernel @one_count_for_all_columns(%x: memref<256x256xf32>, %y: memref<256xf32>, %z: memref<256xf32>)
    space(%s = 8 : loop, %r = 8 : register, %w = 4 : thread, %t = 32 : thread, %v = 8 : register)
    schedule(#norm.schedule<spread = [[loop, register(8), warp(4)], [lane(32), vector(8)]]>) {
  %0 = norm.read %x[%s * 32 + %r * 4 + %w, %t * 8 + %v] : memref<256x256xf32>
  %one = arith.constant 1.0 : f32
  %1, %2 = norm.reduce %0, %one over(%r) identity [0.0 : f32, 0.0 : f32] : f32, f32 combine {
  ^bb0(%s0: f32, %c0: f32, %s1: f32, %c1: f32):
    %sum = arith.addf %s0, %s1 : f32
    %count = arith.addf %c0, %c1 : f32
    norm.yield %sum, %count : f32, f32
  }
  %3, %4 = norm.reduce %1, %2 over(%s, %w) identity [0.0 : f32, 0.0 : f32] : f32, f32 combine {
  ^bb0(%s0: f32, %c0: f32, %s1: f32, %c1: f32):
    %weight = arith.divf %c0, %c1 : f32
    %weighted = arith.mulf %s1, %weight : f32
    %sum = arith.addf %s0, %weighted : f32
    %count = arith.addf %c0, %c1 : f32
    norm.yield %sum, %count : f32, f32
  }
  norm.write %3, %y[%t * 8 + %v] : memref<256xf32>
  norm.write %4, %z[%t * 8 + %v] : memref<256xf32>
}

// -----

// A guard that masks points by column leaves each column a number of its own.

// CHECK-LABEL: gpu.func @counts_of_columns
// CHECK: scf.for {{.*}} -> (tensor<4x32x8xf32, {{.*}}>, tensor<4x32x8xf32, {{.*}}>)
norm.kernel @counts_of_columns(%x: memref<256x256xf32>, %y: memref<256xf32>, %z: memref<256xf32>)
    space(%s = 8 : loop, %w = 4 : thread, %t = 32 : thread, %v = 8 : register)
    where(%s * 4 + %w < %t * 8 + %v + 1)
    schedule(#norm.schedule<spread = [[loop, warp(4)], [lane(32), vector(8)]]>) {
  %0 = norm.read %x[%s * 4 + %w, %t * 8 + %v] : memref<256x256xf32>
  %one = arith.constant 1.0 : f32
  %1, %2 = norm.reduce %0, %one over(%s, %w) identity [0.0 : f32, 0.0 : f32] : f32, f32 combine {
  ^bb0(%s0: f32, %c0: f32, %s1: f32, %c1: f32):
    %sum = arith.addf %s0, %s1 : f32
    %count = arith.addf %c0, %c1 : f32
    norm.yield %sum, %count : f32, f32
  }
  norm.write %1, %y[%t * 8 + %v] : memref<256xf32>
  norm.write %2, %z[%t * 8 + %v] : memref<256xf32>
}

// -----

// Two reductions that cross, each over a loop that the other keeps, are two loop nests, and each reads for itself.

// CHECK-LABEL: gpu.func @two_nests
// CHECK: scf.for %[[M:.*]] = %{{.*}}
// CHECK: scf.for %[[N:.*]] = {{.*}} iter_args
// CHECK: gl.load {{.*}}(%[[M]], %[[N]])
// CHECK: gl.reduce %{{.*}} axis 1
// CHECK: gl.store %{{.*}}, %arg1
// CHECK: scf.for %[[N:.*]] = %{{.*}}
// CHECK: scf.for %[[M:.*]] = {{.*}} iter_args
// CHECK: gl.load {{.*}}(%[[M]], %[[N]])
// CHECK: gl.reduce %{{.*}} axis 0
// CHECK: gl.store %{{.*}}, %arg2
norm.kernel @two_nests(%x: memref<64x128xf32>, %y: memref<64xf32>, %z: memref<128xf32>)
    space(%a = 16 : loop, %w = 4 : thread, %c = 4 : loop, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[loop, warp(4)], [loop, lane(32)]]>) {
  %0 = norm.read %x[%a * 4 + %w, %c * 32 + %t] : memref<64x128xf32>
  %1 = norm.reduce add %0 over(%c, %t) : f32
  norm.write %1, %y[%a * 4 + %w] : memref<64xf32>
  %2 = norm.reduce add %0 over(%a, %w) : f32
  norm.write %2, %z[%c * 32 + %t] : memref<128xf32>
}

// -----

// A row kept in L1 stays there until the last nest has read it, and the launch gives L1 the most room.

// CHECK-LABEL: gpu.func @kept_in_l1
// CHECK-SAME: carveout = 0>
// CHECK: gl.load {{.*}} cache <l1 = evict_last, l2 = evict_last>
// CHECK: gl.load {{.*}} cache <l1 = evict_last, l2 = evict_last>
// CHECK: gl.load {{.*}} cache <l1 = evict_first, l2 = evict_first>
norm.kernel @kept_in_l1(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>)
    space(%b = dim(%x, 0) : grid, %c = 32 : loop, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], keep = [l1]>) {
  %0 = norm.read %x[%b, %c * 128 + %t * 4 + %v] : memref<?x4096xf32>
  %1 = norm.reduce max %0 over(%c, %t, %v) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = norm.reduce add %2 over(%c, %t, %v) : f32
  %4 = arith.divf %2, %3 : f32
  norm.write %4, %y[%b, %c * 128 + %t * 4 + %v] : memref<?x4096xf32>
}

// -----

// A row kept in L2 takes no room in L1. Both loops that a tail makes of one nest have that nest's hints.

// CHECK-LABEL: gpu.func @kept_in_l2
// CHECK-NOT: carveout
// CHECK: scf.for
// CHECK: gl.load {{.*}} cache <l1 = no_allocate, l2 = evict_last>
// CHECK: scf.for
// CHECK: gl.load {{.*}} cache <l1 = no_allocate, l2 = evict_last>
// CHECK: scf.for
// CHECK: gl.load {{.*}} cache <l1 = no_allocate, l2 = evict_first>
// CHECK: scf.for
// CHECK: gl.load {{.*}} cache <l1 = no_allocate, l2 = evict_first>
norm.kernel @kept_in_l2(%x: memref<?x4095xf32>, %y: memref<?x4095xf32>)
    space(%b = dim(%x, 0) : grid, %c = 32 : loop, %t = 32 : thread, %v = 4 : register)
    where(%c * 128 + %t * 4 + %v < 4095)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], keep = [l2]>) {
  %0 = norm.read %x[%b, %c * 128 + %t * 4 + %v] : memref<?x4095xf32>
  %1 = norm.reduce max %0 over(%c, %t, %v) : f32
  %2 = arith.subf %0, %1 : f32
  norm.write %2, %y[%b, %c * 128 + %t * 4 + %v] : memref<?x4095xf32>
}

// -----

// A row kept nowhere is read again without hints.

// CHECK-LABEL: gpu.func @kept_nowhere
// CHECK-NOT: gl.load {{.*}} cache <
// CHECK: gpu.return
norm.kernel @kept_nowhere(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>)
    space(%b = dim(%x, 0) : grid, %c = 32 : loop, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], keep = [none]>) {
  %0 = norm.read %x[%b, %c * 128 + %t * 4 + %v] : memref<?x4096xf32>
  %1 = norm.reduce max %0 over(%c, %t, %v) : f32
  %2 = arith.subf %0, %1 : f32
  norm.write %2, %y[%b, %c * 128 + %t * 4 + %v] : memref<?x4096xf32>
}

// -----

// Of a row kept in L1 the first two steps stay in registers: each nest takes them before its loop, which has the other three steps. They
// are read once, so that they need no room in the caches.

// CHECK-LABEL: gpu.func @held_steps(
// CHECK: %[[FIRST:.*]] = gl.load {{.*}} cache <l1 = no_allocate, l2 = evict_first>
// CHECK: %[[SECOND:.*]] = gl.load {{.*}} cache <l1 = no_allocate, l2 = evict_first>
// CHECK: scf.for %[[STEP:.*]] = %c2{{.*}} to %c5{{.*}} iter_args
// CHECK-NEXT: gl.load %arg0 at {{.*}}(%{{.*}}, %[[STEP]]) cache <l1 = evict_last, l2 = evict_last>
// CHECK-NOT: gl.load
// CHECK: %[[FIRST_AGAIN:.*]] = gl.optimization_barrier %[[FIRST]]
// CHECK: %[[SECOND_AGAIN:.*]] = gl.optimization_barrier %[[SECOND]]
// CHECK: scf.for %{{.*}} = %c2{{.*}} to %c5{{.*}} iter_args
// CHECK-NEXT: gl.load {{.*}} cache <l1 = evict_last, l2 = evict_last>
// CHECK-NOT: gl.load
// CHECK: gl.optimization_barrier %[[FIRST_AGAIN]]
// CHECK: gl.store {{.*}}(%{{.*}}, %c0{{.*}})
// CHECK: gl.optimization_barrier %[[SECOND_AGAIN]]
// CHECK: gl.store {{.*}}(%{{.*}}, %c1{{.*}})
// CHECK: scf.for %{{.*}} = %c2{{.*}} to %c5
// CHECK-NEXT: gl.load {{.*}} cache <l1 = evict_first, l2 = evict_first>
norm.kernel @held_steps(%x: memref<?x640xf32>, %y: memref<?x640xf32>)
    space(%b = dim(%x, 0) : grid, %c = 5 : loop, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], keep = [l1], held_steps = 2>) {
  %0 = norm.read %x[%b, %c * 128 + %t * 4 + %v] : memref<?x640xf32>
  %1 = norm.reduce max %0 over(%c, %t, %v) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = norm.reduce add %2 over(%c, %t, %v) : f32
  %4 = arith.divf %2, %3 : f32
  norm.write %4, %y[%b, %c * 128 + %t * 4 + %v] : memref<?x640xf32>
}

// -----

// Rows with fewer steps than are held need no loop, and only the last step has a guard.

// CHECK-LABEL: gpu.func @all_steps_held(
// CHECK-NOT: scf.for
// CHECK-NOT: where
// CHECK-COUNT-1: gl.load
// CHECK: gl.load {{.*}} where
// CHECK-NOT: gl.load
norm.kernel @all_steps_held(%x: memref<?x200xf32>, %y: memref<?x200xf32>)
    space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread, %v = 4 : register) where(%c * 128 + %t * 4 + %v < 200)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], keep = [l1], held_steps = 3>) {
  %0 = norm.read %x[%b, %c * 128 + %t * 4 + %v] : memref<?x200xf32>
  %1 = norm.reduce add %0 over(%c, %t, %v) : f32
  %2 = arith.divf %0, %1 : f32
  norm.write %2, %y[%b, %c * 128 + %t * 4 + %v] : memref<?x200xf32>
}

// -----

// A dynamic extent may have fewer steps than are held, so that all of these have guards, and no loop begins before them. What only the last
// nest reads stays in its loop.

// CHECK-LABEL: gpu.func @held_steps_of_dynamic_rows(
// CHECK: %[[FULL:.*]] = arith.maxsi %c1{{.*}}, %{{.*}} : index
// CHECK: %[[HELD:.*]] = gl.load %arg0 at {{.*}} where
// CHECK: scf.for %{{.*}} = %c1{{.*}} to %[[FULL]]
// CHECK: scf.for %{{.*}} = %[[FULL]] to %{{.*}}
// CHECK: gl.load %arg0 at {{.*}} where
// CHECK: gl.optimization_barrier %[[HELD]]
// CHECK: gl.load %arg1 at {{.*}} where
// CHECK: gl.store
// CHECK: scf.for
// CHECK: gl.load %arg0
// CHECK: gl.load %arg1
norm.kernel @held_steps_of_dynamic_rows(%x: memref<?x?xf32>, %w: memref<?xf32>, %y: memref<?x?xf32>)
    space(%b = dim(%x, 0) : grid, %c = (dim(%x, 1)) ceildiv 32 : loop, %t = 32 : thread) where(%c * 32 + %t < dim(%x, 1))
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l2], held_steps = 1>) {
  %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%c, %t) : f32
  %2 = arith.divf %0, %1 : f32
  %3 = norm.read %w[%c * 32 + %t] : memref<?xf32>
  %4 = arith.mulf %2, %3 : f32
  norm.write %4, %y[%b, %c * 32 + %t] : memref<?x?xf32>
}

// -----

// Tiles begin up to 3 elements before the row: the first step is guarded at its start, the last at its end, those in between
// not at all. This follows without knowing any size.
// CHECK-LABEL: gpu.func @aligned
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c1
// CHECK: gl.load {{.*}} where affine_map<{{.*}}, 1)>[] other
// CHECK: scf.for %{{.*}} = %c1{{.*}} to %c3
// CHECK-NOT: where
// CHECK: scf.for %{{.*}} = %c3{{.*}} to %c4
// CHECK: gl.load {{.*}} where affine_map<{{.*}}, 509)>[] other
// CHECK-NOT: scf.for
norm.kernel @aligned(%x: memref<?x509xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %s = 4 : loop, %t = 32 : thread, %v = 4 : register)
    where((%s * 128 + %t * 4 + %v - %m mod 4) * -1 < 1, %s * 128 + %t * 4 + %v - %m mod 4 < 509)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %s * 128 + %t * 4 + %v - %m mod 4] : memref<?x509xf32>
  %1 = norm.reduce add %0 over(%s, %t, %v) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// Rows of 511 elements end in the fourth step or, if their tile begins before them, in the fifth. Each of these steps is by itself: in a loop
// over both, no vector of either would be known to be whole.
// CHECK-LABEL: gpu.func @ends_in_either_of_two_steps
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c1
// CHECK: scf.for %{{.*}} = %c1{{.*}} to %c3
// CHECK-NOT: where
// CHECK: scf.for %{{.*}} = %c3{{.*}} to %c4
// CHECK: gl.load {{.*}} where affine_map<{{.*}}, 511)>[] other
// CHECK: scf.for %{{.*}} = %c4{{.*}} to %c5
// CHECK: gl.load {{.*}} where affine_map<{{.*}}, 511)>[] other
// CHECK-NOT: scf.for
norm.kernel @ends_in_either_of_two_steps(%x: memref<?x511xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %s = 5 : loop, %t = 32 : thread, %v = 4 : register)
    where((%s * 128 + %t * 4 + %v - (%m * 3) mod 4) * -1 < 1, %s * 128 + %t * 4 + %v - (%m * 3) mod 4 < 511)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %s * 128 + %t * 4 + %v - (%m * 3) mod 4] : memref<?x511xf32>
  %1 = norm.reduce add %0 over(%s, %t, %v) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// The CTAs of a cluster hold parts of one tile, along an axis that is reduced last; the grid counts all of them.

// CHECK-LABEL: gpu.func @cluster
// CHECK-SAME: grid = affine_map<()[s0] -> (s0 * 4)>
// CHECK-SAME: cluster = 4
// CHECK: %[[CTA:.*]] = gpu.block_id x
// CHECK: %[[ROW:.*]] = arith.divui %[[CTA]], %c4
// CHECK: gl.load %{{.*}} at affine_map<(d0, d1, d2) -> (d0, d1 * 64 + d2)>(%[[ROW]])
// CHECK-SAME: -> tensor<4x64xf32, #gl.linear<register = [], lane = {{\[\[}}0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = {{\[\[}}0, 32]], block = {{\[\[}}1, 0], [2, 0]]>>
// CHECK: gl.reduce %{{.*}} axis 1
// CHECK: gl.reduce %{{.*}} axis 0
norm.kernel @cluster(%x: memref<?x256xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %k = 4 : cluster, %t = 64 : thread)
    schedule(#norm.schedule<spread = [[grid], [cluster(4), warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %k * 64 + %t] : memref<?x256xf32>
  %1 = norm.reduce add %0 over(%k, %t) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// Each CTA of a cluster copies its own part of a tile kept in shared memory: its index along the axis that the cluster shares
// is a scalar, and its memory has one point along that axis. Its loads are its part of the cluster's tile.

// CHECK-LABEL: gpu.func @cluster_in_shared
// CHECK: %[[RANK:.*]] = gl.cluster_rank
// CHECK: %[[CTA:.*]] = gpu.block_id x
// CHECK: %[[ROW:.*]] = arith.divui %[[CTA]], %c4
// CHECK: %[[M:.*]] = gl.local_alloc : <2x1x32xf32, #gl.plain<order = [2, 1, 0]>>
// CHECK: gl.copy_to_shared %{{.*}} at affine_map<(d0, d1, d2, d3, d4) -> (d0, d2 * 128 + d1 * 32 + d4)>(%[[ROW]], %[[RANK]])
// CHECK-SAME: where affine_map<(d0, d1, d2, d3, d4) -> (d2 * 128 + d1 * 32 + d4, 200)>[], %[[M]] by bulk
// CHECK: gl.local_load %[[M]] where affine_map<(d0, d1, d2, d3) -> (d1 * 128 + d2 * 32 + d3, 200)>(%[[ROW]]) []
// CHECK-SAME: <2x1x32xf32, #gl.plain<order = [2, 1, 0]>> -> tensor<2x4x32xf32
norm.kernel @cluster_in_shared(%x: memref<?x200xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %r = 2 : register, %k = 4 : cluster, %t = 32 : thread)
    where(%r * 128 + %k * 32 + %t < 200)
    schedule(#norm.schedule<spread = [[grid], [register(2), cluster(4), lane(32)]], keep = [shared, none], bring = bulk>) {
  %0 = norm.read %x[%b, %r * 128 + %k * 32 + %t] : memref<?x200xf32>
  %1 = norm.reduce add %0 over(%r, %k, %t) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// CHECK-LABEL: gpu.func @by_cp_async
// CHECK: gl.copy_to_shared {{.*}} by cp_async
norm.kernel @by_cp_async(%x: memref<?x33xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread) where(%t < 33)
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]], keep = [shared, none], bring = cp_async>) {
  %0 = norm.read %x[%b, %t] : memref<?x33xf32>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// A scan along a loop, threads and registers: within threads first, then after the preceding threads, then the preceding steps.
// CHECK-LABEL: gpu.func @scan
// CHECK: %[[LOOP:.*]] = scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (f32)
// CHECK: %[[T:.*]] = gl.load
// CHECK: %[[V:.*]], %[[OF_THREAD:.*]] = gl.scan %[[T]] axis 1 : tensor<32x2xf32
// CHECK: %[[P:.*]], %[[OF_STEP:.*]] = gl.scan %[[OF_THREAD]] axis 0 identity 0.000000e+00 : f32 : tensor<32xf32
// CHECK: %[[ALL:.*]] = tensor.extract %[[OF_STEP]][]
// CHECK: %[[AFTER:.*]] = arith.addf %[[BEFORE]], %[[ALL]]
// CHECK: %[[WIDE:.*]] = tensor.splat %[[BEFORE]]
// CHECK: %[[OUTER:.*]] = arith.addf %[[WIDE]], %[[P]]
// CHECK: %[[OUTERS:.*]] = gl.broadcast %[[OUTER]] axis 1
// CHECK: %[[Y:.*]] = arith.addf %[[OUTERS]], %[[V]]
// CHECK: gl.store %[[Y]]
// CHECK: scf.yield %[[AFTER]] : f32
norm.kernel @scan(%x: memref<?x256xf32>, %y: memref<?x256xf32>)
    space(%b = dim(%x, 0) : grid, %c = 4 : loop, %t = 32 : thread, %v = 2 : register)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(2)]]>) {
  %0 = norm.read %x[%b, %c * 64 + %t * 2 + %v] : memref<?x256xf32>
  %1 = norm.scan add %0 along(%c, %t, %v) : f32
  norm.write %1, %y[%b, %c * 64 + %t * 2 + %v] : memref<?x256xf32>
}

// -----

// In reverse, a loop begins with the last step: here the one that ends beyond the row.
// CHECK-LABEL: gpu.func @scan_reversed
// CHECK: %[[LAST:.*]] = arith.constant 6 : index
// CHECK: %[[OF_LAST:.*]] = scf.for %[[S:.*]] = %{{.*}} iter_args
// CHECK: %[[AT:.*]] = arith.subi %[[LAST]], %[[S]]
// CHECK: gl.mask
// CHECK: gl.scan %{{.*}} axis 0 reverse : tensor<32xf32
// CHECK: scf.for %{{.*}} iter_args(%{{.*}} = %[[OF_LAST]]) -> (f32)
// CHECK-NOT: gl.mask
// CHECK: gl.scan %{{.*}} axis 0 reverse : tensor<32xf32
norm.kernel @scan_reversed(%x: memref<?x120xf32>, %y: memref<?x120xf32>)
    space(%b = dim(%x, 0) : grid, %c = 4 : loop, %t = 32 : thread) where(%c * 32 + %t < 120)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]]>) {
  %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x120xf32>
  %1 = norm.scan max reverse %0 along(%c, %t) : f32
  norm.write %1, %y[%b, %c * 32 + %t] : memref<?x120xf32>
}

// -----

// The result of a step with one point is the carried sum itself: the sum before the step, if the scan is exclusive.
// CHECK-LABEL: gpu.func @scan_of_steps
// CHECK: scf.for %{{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (tensor<32xf32
// CHECK: arith.addf %[[BEFORE]], %{{.*}}
// CHECK: gl.store %[[BEFORE]]
norm.kernel @scan_of_steps(%x: memref<64x32xf32>, %y: memref<64x32xf32>)
    space(%c = 64 : loop, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[loop], [lane(32)]]>) {
  %0 = norm.read %x[%c, %t] : memref<64x32xf32>
  %1 = norm.scan add exclusive %0 along(%c) : f32
  norm.write %1, %y[%c, %t] : memref<64x32xf32>
}

// -----

// Each step of the loop over the results reduces the values beyond the previous result; values are read and ordered once. The
// bound includes the value itself, so that the first step considers all of them.
// CHECK-LABEL: gpu.func @largest
// CHECK: %[[X:.*]] = gl.load
// CHECK: %[[MOST:.*]] = arith.constant 2147483647 : i32
// CHECK: scf.for %[[J:.*]] = %{{.*}} iter_args(%[[BOUND:.*]] = %[[MOST]]) -> (i32)
// CHECK: %[[WIDE:.*]] = tensor.splat %[[BOUND]]
// CHECK: %[[AHEAD:.*]] = arith.cmpi sgt, %[[X]], %[[WIDE]]
// CHECK: %[[LEAST:.*]] = arith.constant -2147483648 : i32
// CHECK: %[[NOTHING:.*]] = tensor.splat %[[LEAST]]
// CHECK: %[[LEFT:.*]] = arith.select %[[AHEAD]], %[[NOTHING]], %[[X]]
// CHECK: %[[TILE:.*]] = gl.reduce %[[LEFT]] axis 0
// CHECK: %[[FOUND:.*]] = tensor.extract %[[TILE]][]
// CHECK: %[[SECOND_LEAST:.*]] = arith.constant -2147483647 : i32
// CHECK: %[[ONE:.*]] = arith.constant -1 : i32
// CHECK: %[[HAS_NEXT:.*]] = arith.maxsi %[[FOUND]], %[[SECOND_LEAST]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[HAS_NEXT]], %[[ONE]]
// CHECK: gl.store %{{.*}}, %{{.*}} at affine_map<(d0, d1) -> (d0, d1)>(%{{.*}}, %[[J]])
// CHECK: scf.yield %[[NEXT]] : i32
norm.kernel @largest(%x: memref<?x32xi32>, %y: memref<?x3xi32>)
    space(%b = dim(%x, 0) : grid, %t = 32 : thread, %j = 3 : loop)
    schedule(#norm.schedule<spread = [[grid], [lane(32)], [loop]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x32xi32>
  %1 = norm.reduce max %0 over(%t) nth(%j) : i32
  norm.write %1, %y[%b, %j] : memref<?x3xi32>
}

// -----

// If a row passes in a loop, each step of the outer loop combines all steps of the inner one, and threads combine after it.
// CHECK-LABEL: gpu.func @smallest_of_long_rows
// CHECK: scf.for %{{.*}} iter_args(%[[BOUND:.*]] = %{{.*}}) -> (i32)
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} iter_args(%[[TOTAL:.*]] = %{{.*}}) -> (tensor<32xi32
// CHECK: gl.load
// CHECK: arith.cmpi slt
// CHECK: arith.minsi %[[TOTAL]]
// CHECK: gl.reduce %[[ALL]] axis 0
// CHECK: arith.minsi %{{.*}}, %{{.*}} : i32
norm.kernel @smallest_of_long_rows(%x: memref<?x256xi32>, %y: memref<?x3xi32>)
    space(%b = dim(%x, 0) : grid, %c = 8 : loop, %t = 32 : thread, %j = 3 : loop)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)], [loop]]>) {
  %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x256xi32>
  %1 = norm.reduce min %0 over(%c, %t) nth(%j) : i32
  norm.write %1, %y[%b, %j] : memref<?x3xi32>
}

// -----

// Points beyond the row count as the initial value of the scan.
// CHECK-LABEL: gpu.func @scan_of_the_largest
// CHECK: %[[I:.*]] = arith.constant 0xFF800000 : f32
// CHECK: gl.mask
// CHECK: %[[X:.*]] = arith.select
// CHECK: gl.scan %[[X]] axis 0 : tensor<32xf32
norm.kernel @scan_of_the_largest(%x: memref<?x21xf32>, %y: memref<?x21xf32>)
    space(%b = dim(%x, 0) : grid, %t = 32 : thread) where(%t < 21)
    schedule(#norm.schedule<spread = [[grid], [lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x21xf32>
  %1 = norm.scan max %0 along(%t) : f32
  norm.write %1, %y[%b, %t] : memref<?x21xf32>
}

// -----

// If CTAs draw tiles, each begins with the tile of its own number and continues with those that it draws: whole tiles first,
// then the rest. The counter is a parameter after the buffers and before scalars, and is scratch that is zeroed once.

// CHECK-LABEL: func.func @host
// CHECK: %[[COUNTER:.*]] = memref.alloc() {alignment = 256 : i64, norm.name = "tiles_drawn", norm.scratch, norm.zeroed} : memref<1xi64>
// CHECK: norm.launch @drawn::@drawn(%{{.*}}, %{{.*}}, %[[COUNTER]], %{{.*}}) : memref<?x64xf32>, memref<?xf32>, memref<1xi64>, f32
func.func @host(%x: memref<?x64xf32>, %y: memref<?xf32>, %scale: f32) {
  norm.launch @drawn(%x, %y, %scale) : memref<?x64xf32>, memref<?xf32>, f32
  return
}

// CHECK-LABEL: gpu.func @drawn
// CHECK-SAME: (%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?xf32>, %[[C:.*]]: memref<1xi64>, %{{.*}}: f32)
// CHECK-SAME: gl.launch = #gl.launch<grid = affine_map<()[s0] -> (264, s0 ceildiv 2)>
// CHECK-SAME: alignments = [1, 1, 256]
// CHECK-DAG: %[[CTAS:.*]] = arith.constant 264 : index
// CHECK-DAG: %[[CTA:.*]] = gpu.block_id x
// CHECK-DAG: %[[TILES:.*]] = arith.divui
// CHECK: %[[REST:.*]] = scf.while (%[[BEFORE:.*]] = %[[CTA]]) : (index) -> index {
// CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[BEFORE]], %{{.*}} : index
// CHECK: scf.condition(%[[MORE]]) %[[BEFORE]] : index
// CHECK: ^bb0(%[[TILE:.*]]: index):
// CHECK: gl.load %[[X]] at affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d1, d2 * 2 + d3)>(%[[TILE]]) : memref
// CHECK: %[[NEXT:.*]] = gl.next_tile %[[C]] of %{{.*}} behind %[[CTAS]] : memref<1xi64>
// CHECK: scf.yield %[[NEXT]] : index
// CHECK: scf.while (%{{.*}} = %[[REST]])
// CHECK: gl.load %[[X]] {{.*}} where
// CHECK: gl.next_tile
norm.kernel @drawn(%x: memref<?x64xf32>, %y: memref<?xf32>, %scale: f32)
    space(%s = dim(%x, 0) ceildiv 2 : loop, %w = 2 : thread, %t = 32 : thread, %v = 2 : register)
    where(%s * 2 + %w < dim(%x, 0))
    schedule(#norm.schedule<spread = [[loop, grid(264), warp(2)], [lane(32), vector(2)]], hand_out = dynamic>) {
  %0 = norm.read %x[%s * 2 + %w, %t * 2 + %v] : memref<?x64xf32>
  %1 = arith.mulf %0, %scale : f32
  %2 = norm.reduce add %1 over(%t, %v) : f32
  norm.write %2, %y[%s * 2 + %w] : memref<?xf32>
}

// -----

// A result that is kept in shared memory goes there first, and from there to the buffer.

// CHECK-LABEL: gpu.func @sent
// CHECK: %[[MEMORY:.*]] = gl.local_alloc : <2x32x2xf32, #gl.plain<order = [2, 1, 0]>>
// CHECK: gl.local_store %{{.*}}, %[[MEMORY]]
// CHECK: gl.copy_from_shared %[[MEMORY]], %{{.*}} at affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d1, d2 * 2 + d3)>(%{{.*}}) where affine_map<(d0, d1, d2, d3)[s0] -> (d0 * 2 + d1, s0)>[%{{.*}}] by bulk
// CHECK-NOT: gl.store
norm.kernel @sent(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) ceildiv 2 : grid, %w = 2 : thread, %t = 32 : thread, %v = 2 : register)
    where(%b * 2 + %w < dim(%x, 0))
    schedule(#norm.schedule<spread = [[grid, warp(2)], [lane(32), vector(2)]], keep = [none, shared], bring = bulk>) {
  %0 = norm.read %x[%b * 2 + %w, %t * 2 + %v] : memref<?x64xf32>
  %1 = arith.negf %0 : f32
  norm.write %1, %y[%b * 2 + %w, %t * 2 + %v] : memref<?x64xf32>
}

// -----

// The schedule says how a tile is brought, and how its result is sent.

// CHECK-LABEL: gpu.func @by_tensor_maps
// CHECK: gl.copy_to_shared {{.*}} by tensor
// CHECK: gl.local_load
// CHECK: gl.copy_from_shared {{.*}} by tensor
norm.kernel @by_tensor_maps(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) ceildiv 2 : grid, %w = 2 : thread, %t = 32 : thread, %v = 2 : register)
    where(%b * 2 + %w < dim(%x, 0))
    schedule(#norm.schedule<spread = [[grid, warp(2)], [lane(32), vector(2)]], keep = [shared, shared], bring = tensor>) {
  %0 = norm.read %x[%b * 2 + %w, %t * 2 + %v] : memref<?x64xf32>
  %1 = arith.negf %0 : f32
  norm.write %1, %y[%b * 2 + %w, %t * 2 + %v] : memref<?x64xf32>
}

// -----

// Rows of 27 elements that lie one behind the other are read as one run, of which each thread has vectors, and so are results written. In
// shared memory the rows of a tile overlap, so that only the elements within rows are accessed.

// CHECK-LABEL: gpu.func @rows_as_a_run
// CHECK: %[[VECTORS_READ:.*]] = gl.load %{{.*}} at affine_map<(d0, d1) -> (d0 * 8 + d1 floordiv 27, d1 mod 27)>(%{{.*}}) where affine_map<(d0, d1)[s0] -> (d1 + d0 * 216, s0 * 27, d1, 216)>[%{{.*}}] other %{{.*}} -> tensor<256xbf16, #gl.linear<register = {{\[\[}}1], [2], [4]], lane = {{\[\[}}8], [16], [32], [64], [128]], warp = {{\[\[}}0], [0]]
// CHECK: %[[READ:.*]] = gl.local_alloc : <256xbf16
// CHECK: gl.local_store %[[VECTORS_READ]], %[[READ]]
// CHECK: %[[ROWS:.*]] = gl.memdesc_reshape %[[READ]] {{.*}} -> <2x4x32xbf16, #gl.plain<order = [2, 1, 0], padding = -5, interval = 32>>
// CHECK: gl.local_load %[[ROWS]] where affine_map<(d0, d1, d2) -> (d2, 27)>
// CHECK: %[[RESULT:.*]] = arith.subf
// CHECK: %[[WRITTEN:.*]] = gl.local_alloc : <256xbf16
// CHECK: %[[VIEW:.*]] = gl.memdesc_reshape %[[WRITTEN]] {{.*}} padding = -5
// CHECK: gl.local_store %[[RESULT]], %[[VIEW]] where affine_map<(d0, d1, d2) -> (d2, 27)>
// CHECK: %[[VECTORS:.*]] = gl.local_load %[[WRITTEN]] where affine_map<(d0) -> (d0, 216)>
// CHECK: gl.store %[[VECTORS]], %{{.*}} at affine_map<(d0, d1) -> (d0 * 8 + d1 floordiv 27, d1 mod 27)>(%{{.*}}) where affine_map<(d0, d1)[s0] -> (d1 + d0 * 216, s0 * 27, d1, 216)>
norm.kernel @rows_as_a_run(%x: memref<?x27xbf16>, %y: memref<?x27xbf16>)
    space(%b = dim(%x, 0) ceildiv 8 : grid, %r = 2 : register, %w = 4 : thread, %t = 32 : thread)
    where(%b * 8 + %r * 4 + %w < dim(%x, 0), %t < 27) align(16, 16)
    schedule(#norm.schedule<spread = [[grid, register(2), warp(4)], [lane(32)]], keep = [shared, shared], bring = load>) {
  %0 = norm.read %x[%b * 8 + %r * 4 + %w, %t] : memref<?x27xbf16>
  %1 = norm.reduce max %0 over(%t) : bf16
  %2 = arith.subf %0, %1 : bf16
  norm.write %2, %y[%b * 8 + %r * 4 + %w, %t] : memref<?x27xbf16>
}

// -----

// Rows that fill the tile do not overlap. The guard of the last rows becomes one of their elements.

// CHECK-LABEL: gpu.func @full_rows_as_a_run
// CHECK: gl.load %{{.*}} at affine_map<(d0, d1) -> (d0 * 8 + d1 floordiv 32, d1 mod 32)>(%{{.*}}) where affine_map<(d0, d1)[s0] -> (d1 + d0 * 256, s0 * 32)>
// CHECK: gl.memdesc_reshape %{{.*}} -> <2x4x32xbf16, #gl.plain<order = [2, 1, 0]>>
// CHECK: gl.local_load %{{[^ ]*}} : <2x4x32xbf16
norm.kernel @full_rows_as_a_run(%x: memref<?x32xbf16>, %y: memref<?x32xbf16>)
    space(%b = dim(%x, 0) ceildiv 8 : grid, %r = 2 : register, %w = 4 : thread, %t = 32 : thread)
    where(%b * 8 + %r * 4 + %w < dim(%x, 0)) align(16, 16)
    schedule(#norm.schedule<spread = [[grid, register(2), warp(4)], [lane(32)]], keep = [shared, none], bring = load>) {
  %0 = norm.read %x[%b * 8 + %r * 4 + %w, %t] : memref<?x32xbf16>
  %1 = arith.negf %0 : bf16
  norm.write %1, %y[%b * 8 + %r * 4 + %w, %t] : memref<?x32xbf16>
}

// -----

// Each block has an element, whose magnitude is at least zero: zeros beyond the end of the last block change no largest magnitude.
// CHECK-LABEL: gpu.func @largest_magnitudes(
// CHECK: gl.load
// CHECK-NOT: arith.select
// CHECK: gl.store
norm.kernel @largest_magnitudes(%x: memref<?xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 64 : grid, %i = 64 : thread) where(%b * 64 + %i < dim(%x, 0))
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b * 64 + %i] : memref<?xf32>
  %1 = math.absf %0 : f32
  %2 = norm.reduce max %1 over(%i) : f32
  norm.write %2, %y[%b] : memref<?xf32>
}

// -----

// A largest number may be negative, and a block without elements has no largest magnitude.
// CHECK-LABEL: gpu.func @largest_numbers(
// CHECK: arith.select
// CHECK-LABEL: gpu.func @blocks_beyond_the_end(
// CHECK: arith.select
norm.kernel @largest_numbers(%x: memref<?xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 64 : grid, %i = 64 : thread) where(%b * 64 + %i < dim(%x, 0))
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b * 64 + %i] : memref<?xf32>
  %1 = norm.reduce max %0 over(%i) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}
norm.kernel @blocks_beyond_the_end(%x: memref<576xf32>, %y: memref<12xf32>)
    space(%b = 12 : grid, %i = 64 : thread) where(%b * 64 + %i < 576)
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b * 64 + %i] : memref<576xf32>
  %1 = math.absf %0 : f32
  %2 = norm.reduce max %1 over(%i) : f32
  norm.write %2, %y[%b] : memref<12xf32>
}

// -----

// What the next kernel reads stays in L2, whether this one reads or writes it; what no other reads leaves it first.
// CHECK-LABEL: gpu.func @ahead(
// CHECK: gl.load %arg0 {{.*}} cache <l1 = no_allocate>
// CHECK: gl.store {{.*}} %arg1 {{.*}} cache <l1 = no_allocate>
// CHECK-LABEL: gpu.func @behind(
// CHECK: gl.load %arg0 {{.*}} cache <l1 = no_allocate, l2 = evict_first>
// CHECK: gl.load %arg1 {{.*}} cache <l1 = no_allocate, l2 = evict_first>
// CHECK: gl.store {{.*}} %arg2 {{.*}} cache <l1 = no_allocate, l2 = evict_first>
func.func @two(%x: memref<64x8x64xf32>, %s: memref<64x512xf32>, %y: memref<64x512xf32>) {
  %v = memref.collapse_shape %x [[0], [1, 2]] : memref<64x8x64xf32> into memref<64x512xf32>
  norm.launch @ahead(%v, %s) : memref<64x512xf32>, memref<64x512xf32>
  norm.launch @behind(%v, %s, %y) : memref<64x512xf32>, memref<64x512xf32>, memref<64x512xf32>
  return
}
norm.kernel @ahead(%x: memref<64x512xf32>, %s: memref<64x512xf32>) space(%m = 64 : grid, %t = 128 : thread, %v = 4 : register)
    align(16, 16) schedule(#norm.schedule<spread = [[grid], [warp(4), lane(32), vector(4)]]>) {
  %0 = norm.read %x[%m, %t * 4 + %v] : memref<64x512xf32>
  norm.write %0, %s[%m, %t * 4 + %v] : memref<64x512xf32>
}
norm.kernel @behind(%x: memref<64x512xf32>, %s: memref<64x512xf32>, %y: memref<64x512xf32>) space(%m = 64 : grid, %t = 128 : thread, %v = 4 : register)
    align(16, 16, 16) schedule(#norm.schedule<spread = [[grid], [warp(4), lane(32), vector(4)]]>) {
  %0 = norm.read %x[%m, %t * 4 + %v] : memref<64x512xf32>
  %1 = norm.read %s[%m, %t * 4 + %v] : memref<64x512xf32>
  %2 = arith.addf %0, %1 : f32
  norm.write %2, %y[%m, %t * 4 + %v] : memref<64x512xf32>
}
