// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-specialize-warps | FileCheck %s
//
// Copies get warps of their own, which synchronize with the others only at mbarriers.

// The consumers keep their loop-carried values and never wait for an empty stage; the producers carry no tiles.
// CHECK-LABEL: gpu.func @ring
// CHECK-SAME: gl.num_warps = 5
// CHECK-NOT: gl.producer_warps
// CHECK: gl.mbarrier_init %[[FULL:.*]], 1
// CHECK: gl.mbarrier_init %[[EMPTY:.*]], 4
// CHECK: gl.warp_specialize warps [4, 1] {
// CHECK: scf.for {{.*}} iter_args
// CHECK: gl.mbarrier_wait %[[FULL]]
// CHECK: gl.local_load
// CHECK: gl.mbarrier_arrive %[[EMPTY]]
// CHECK-NOT: scf.if
// CHECK: scf.yield
// CHECK: gl.store
// CHECK: }, {
// CHECK-NOT: gl.load
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK-NOT: gl.local_load
// CHECK: scf.if
// CHECK: gl.mbarrier_wait %[[EMPTY]]
// CHECK: gl.mbarrier_expect %[[FULL]]
// CHECK: gl.bulk_load
// CHECK-NOT: gl.store
// CHECK: gpu.return
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @ring(%x: memref<?x64xbf16>, %y: memref<64xbf16>, %n: index) kernel attributes {gl.num_warps = 4 : i64, gl.producer_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 128 : index
    %even = arith.constant false
    %first = gl.load %y at affine_map<(n) -> (n)>() : memref<64xbf16> -> tensor<64xbf16, #row>
    %m = gl.local_alloc : !tile
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    %empty = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<1>
    gl.mbarrier_init %empty, 4 : !gl.mbarrier<1>
    gl.fence_mbarrier_init
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %first) -> (tensor<64xbf16, #row>) {
      gl.mbarrier_wait %full[%c0], %even : !gl.mbarrier<1>
      %t = gl.local_load %m : !tile -> tensor<64xbf16, #row>
      gl.mbarrier_arrive %empty[%c0] : !gl.mbarrier<1>
      %next = arith.addi %i, %c1 : index
      %more = arith.cmpi slt, %next, %n : index
      scf.if %more {
        gl.mbarrier_wait %empty[%c0], %even : !gl.mbarrier<1>
        gl.mbarrier_expect %full[%c0], %bytes : !gl.mbarrier<1>
        gl.bulk_load %x at affine_map<(i) -> (i, 0)>(%next), %m, %full[%c0] : memref<?x64xbf16>, !tile, !gl.mbarrier<1>
      }
      %added = arith.addf %s, %t : tensor<64xbf16, #row>
      scf.yield %added : tensor<64xbf16, #row>
    }
    gl.store %sum, %y at affine_map<(n) -> (n)>() : tensor<64xbf16, #row>, memref<64xbf16>
    gpu.return
  }
}

// -----

// Producers of each CTA of a cluster compute the CTA's rank themselves.
// CHECK-LABEL: gpu.func @part_of_a_cluster
// CHECK: gl.warp_specialize warps [1, 1] {
// CHECK-NOT: gl.cluster_rank
// CHECK: gl.local_load
// CHECK: }, {
// CHECK: %[[RANK:.*]] = gl.cluster_rank
// CHECK: gl.bulk_load %{{.*}}(%[[RANK]])
// CHECK: gpu.return
#row = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [], block = [[1, 0]]>
!part = !gl.memdesc<1x64xbf16, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @part_of_a_cluster(%x: memref<128xbf16>, %y: memref<128xbf16>) kernel attributes {gl.num_warps = 1 : i64, gl.producer_warps = 1 : i64} {
    %m = gl.local_alloc : !part
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<1>
    gl.fence_mbarrier_init
    %rank = gl.cluster_rank
    %c0 = arith.constant 0 : index
    %bytes = arith.constant 128 : index
    %even = arith.constant false
    gl.mbarrier_expect %full[%c0], %bytes : !gl.mbarrier<1>
    gl.bulk_load %x at affine_map<(k) -> (k * 64)>(%rank), %m, %full[%c0] : memref<128xbf16>, !part, !gl.mbarrier<1>
    gl.mbarrier_wait %full[%c0], %even : !gl.mbarrier<1>
    %t = gl.local_load %m : !part -> tensor<2x64xbf16, #row>
    gl.store %t, %y at affine_map<(k, n) -> (k * 64 + n)>() : tensor<2x64xbf16, #row>, memref<128xbf16>
    gpu.return
  }
}

// -----

// Without copies, producers would have nothing to do.
// CHECK-LABEL: gpu.func @no_copies
// CHECK-SAME: gl.num_warps = 4
// CHECK-NOT: gl.warp_specialize
gpu.module @kernels {
  gpu.func @no_copies() kernel attributes {gl.num_warps = 4 : i64, gl.producer_warps = 1 : i64} {
    gpu.return
  }
}

// -----

// The producers draw, and all partitions wait for the draw: it decides what is copied, and when the loops end.
// CHECK-LABEL: gpu.func @drawn
// CHECK: gl.warp_specialize warps [4, 1] {
// CHECK: scf.while
// CHECK-NOT: gl.draw_tile
// CHECK: gl.local_load
// CHECK: gl.await_tile
// CHECK: gl.mbarrier_arrive
// CHECK-NOT: gl.bulk_load
// CHECK: }, {
// CHECK: scf.while
// CHECK: gl.draw_tile
// CHECK-NOT: gl.local_load
// CHECK: %[[NEXT:.*]] = gl.await_tile
// CHECK-NOT: gl.mbarrier_arrive
// CHECK: scf.if
// CHECK: gl.mbarrier_wait
// CHECK: gl.mbarrier_expect
// CHECK: gl.bulk_load {{.*}}(%[[NEXT]])
// CHECK: scf.yield %[[NEXT]]
// CHECK: gpu.return
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
!numbers = !gl.memdesc<1x1xindex, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @drawn(%x: memref<?x64xbf16>, %counter: memref<1xi64>, %cta: index, %tiles: index, %ctas: index) kernel attributes {gl.num_warps = 4 : i64, gl.producer_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %bytes = arith.constant 128 : index
    %even = arith.constant false
    %m = gl.local_alloc : !tile
    %numbers = gl.local_alloc : !numbers
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    %empty = gl.mbarrier_alloc : !gl.mbarrier<1>
    %drawn = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<1>
    gl.mbarrier_init %empty, 4 : !gl.mbarrier<1>
    gl.mbarrier_init %drawn, 1 : !gl.mbarrier<1>
    gl.fence_mbarrier_init
    scf.while (%i = %cta) : (index) -> index {
      %more = arith.cmpi ult, %i, %tiles : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      gl.draw_tile %counter of %tiles behind %ctas, %numbers, %drawn[%c0] : memref<1xi64>, !numbers, !gl.mbarrier<1>
      gl.mbarrier_wait %full[%c0], %even : !gl.mbarrier<1>
      %t = gl.local_load %m : !tile -> tensor<64xbf16, #row>
      %next = gl.await_tile %numbers, %drawn[%c0], %even : !numbers, !gl.mbarrier<1>
      gl.mbarrier_arrive %empty[%c0] : !gl.mbarrier<1>
      %there = arith.cmpi ult, %next, %tiles : index
      scf.if %there {
        gl.mbarrier_wait %empty[%c0], %even : !gl.mbarrier<1>
        gl.mbarrier_expect %full[%c0], %bytes : !gl.mbarrier<1>
        gl.bulk_load %x at affine_map<(i) -> (i, 0)>(%next), %m, %full[%c0] : memref<?x64xbf16>, !tile, !gl.mbarrier<1>
      }
      gl.store %t, %x at affine_map<(i, n) -> (i, n)>(%i) : tensor<64xbf16, #row>, memref<?x64xbf16>
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

// The producers issue the copies of boxes, with their tensor map.
// CHECK-LABEL: gpu.func @boxes
// CHECK: gl.warp_specialize warps [1, 1] {
// CHECK-NOT: gl.tensor_map
// CHECK: gl.mbarrier_wait
// CHECK: gl.local_load
// CHECK: }, {
// CHECK: gl.mbarrier_expect
// CHECK: %[[MAP:.*]] = gl.tensor_map
// CHECK: gl.tensor_load %[[MAP]]
// CHECK: gpu.return
#row = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [], block = []>
!part = !gl.memdesc<1x64xbf16, #gl.plain<order = [1, 0]>>
!boxes = !gl.memdesc<1x1x64xbf16, #gl.plain<order = [2, 1, 0]>>
!map = !gl.tensor_map<memref<?x64xbf16>, box = [1, 64]>
gpu.module @kernels {
  gpu.func @boxes(%x: memref<?x64xbf16>, %y: memref<?x64xbf16>) kernel attributes {gl.num_warps = 1 : i64, gl.producer_warps = 1 : i64} {
    %m = gl.local_alloc : !part
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<1>
    gl.fence_mbarrier_init
    %c0 = arith.constant 0 : index
    %bytes = arith.constant 128 : index
    %even = arith.constant false
    gl.mbarrier_expect %full[%c0], %bytes : !gl.mbarrier<1>
    %map = gl.tensor_map %x : !map
    %all = gl.memdesc_reshape %m : !part -> !boxes
    %box = gl.memdesc_index %all[%c0] : !boxes -> !part
    gl.tensor_load %map[%c0, %c0], %box, %full[%c0] : !map, !part, !gl.mbarrier<1>
    gl.mbarrier_wait %full[%c0], %even : !gl.mbarrier<1>
    %t = gl.local_load %m : !part -> tensor<1x64xbf16, #row>
    gl.store %t, %y at affine_map<(k, n) -> (k, n)>() : tensor<1x64xbf16, #row>, memref<?x64xbf16>
    gpu.return
  }
}

// -----

// Group g of two has the steps g, g + 2 and so on. The second one stores its sum for the first one, which alone runs what stands behind the
// loop; and all get registers of the producers.
// CHECK-LABEL: gpu.func @turns
// CHECK-SAME: gl.num_warps = 12
// CHECK-NOT: gl.consumer_groups
// CHECK: %[[STORED:.*]] = gl.mbarrier_alloc : <1>
// CHECK: gl.mbarrier_init %[[STORED]], 4
// CHECK: %[[MEMORY:.*]] = gl.local_alloc : <64xf32, #gl.plain<order = [0]>>
// CHECK: gl.warp_specialize warps [4, 4, 4] registers [240, 240, 24] {
// CHECK: scf.for %[[OWN:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args
// CHECK: %[[TWICE:.*]] = arith.muli %[[OWN]], %c2
// CHECK: arith.addi %{{.*}}, %[[TWICE]]
// CHECK: gl.mbarrier_wait %[[STORED]]
// CHECK: %[[OTHER:.*]] = gl.local_load %[[MEMORY]]
// CHECK: arith.addf %{{.*}}, %[[OTHER]]
// CHECK: gl.store
// CHECK: }, {
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: gl.local_store %[[SUM]], %[[MEMORY]]
// CHECK: gl.mbarrier_arrive %[[STORED]]
// CHECK-NOT: gl.store
// CHECK: }, {
// CHECK: gl.bulk_load
// CHECK-NOT: gl.local_store
// CHECK: gpu.return
#row = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]], block = []>
!tile = !gl.memdesc<64xf32, #gl.plain<order = [0]>>
!ring = !gl.memdesc<2x64xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @turns(%x: memref<?x64xf32>, %y: memref<64xf32>, %n: index) kernel
      attributes {gl.num_warps = 4 : i64, gl.producer_warps = 4 : i64, gl.producer_registers = 24 : i64, gl.start_registers = 168 : i64,
                  gl.consumer_groups = 2 : i64, gl.stages = 2 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %bytes = arith.constant 256 : index
    %even = arith.constant false
    %zero = arith.constant 0.0 : f32
    %first = tensor.splat %zero : tensor<64xf32, #row>
    %m = gl.local_alloc : !ring
    %full = gl.mbarrier_alloc : !gl.mbarrier<2>
    %empty = gl.mbarrier_alloc : !gl.mbarrier<2>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<2>
    gl.mbarrier_init %empty, 4 : !gl.mbarrier<2>
    gl.fence_mbarrier_init
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %first) -> (tensor<64xf32, #row>) {
      %stage = arith.remui %i, %c2 : index
      gl.mbarrier_wait %full[%stage], %even : !gl.mbarrier<2>
      %slot = gl.memdesc_index %m[%stage] : !ring -> !tile
      %t = gl.local_load %slot : !tile -> tensor<64xf32, #row>
      gl.mbarrier_arrive %empty[%stage] : !gl.mbarrier<2>
      %next = arith.addi %i, %c2 : index
      %more = arith.cmpi slt, %next, %n : index
      scf.if %more {
        gl.mbarrier_wait %empty[%stage], %even : !gl.mbarrier<2>
        gl.mbarrier_expect %full[%stage], %bytes : !gl.mbarrier<2>
        gl.bulk_load %x at affine_map<(i) -> (i, 0)>(%next), %slot, %full[%stage] : memref<?x64xf32>, !tile, !gl.mbarrier<2>
      }
      %added = arith.addf %s, %t : tensor<64xf32, #row>
      scf.yield %added : tensor<64xf32, #row>
    }
    %other = gl.of_group 1, %sum : tensor<64xf32, #row>
    %all = arith.addf %sum, %other : tensor<64xf32, #row>
    gl.store %all, %y at affine_map<(n) -> (n)>() : tensor<64xf32, #row>, memref<64xf32>
    gpu.return
  }
}
