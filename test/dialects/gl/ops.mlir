// Every op, attribute and type of gl parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt --mlir-print-local-scope | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt --mlir-print-local-scope | FileCheck %s

#row = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
#cluster = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0], ctas_per_cluster = [1, 2]>
#kept = #gl.slice<axis = 1, parent = #row>
#one = #gl.slice<axis = 0, parent = #kept>
#partial = #gl.linear<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 1], [0, 2]], block = []>
#gathered = #gl.linear<register = [[0, 1], [0, 2]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]], block = []>
#columns = #gl.blocked<size_per_thread = [8, 1], threads_per_warp = [32, 1], warps_per_cta = [1, 4], order = [0, 1]>
#plain = #gl.plain<order = [1, 0]>
#padded = #gl.plain<order = [1, 0], padding = 4>
#swizzled = #gl.swizzled<vec = 8, per_phase = 1, max_phase = 8, order = [1, 0]>
#ring = #gl.plain<order = [2, 1, 0]>

// CHECK-LABEL: func.func private @layouts
// CHECK-SAME: tensor<2x1024xf32, #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>>
// CHECK-SAME: tensor<2x2048xf32, #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0], ctas_per_cluster = [1, 2]>>
// CHECK-SAME: tensor<2xf32, #gl.slice<axis = 1, parent = #gl.blocked<{{.*}}>>>
// CHECK-SAME: tensor<1x4xf32, #gl.linear<register = [], lane = {{\[}}[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = {{\[}}[0, 1], [0, 2]], block = []>>
func.func private @layouts(tensor<2x1024xf32, #row>, tensor<2x2048xf32, #cluster>, tensor<2xf32, #kept>, tensor<1x4xf32, #partial>)

// CHECK-LABEL: func.func private @memories
// CHECK-SAME: !gl.memdesc<4x1024xbf16, #gl.plain<order = [1, 0]>>
// CHECK-SAME: !gl.memdesc<4x1024xbf16, #gl.plain<order = [1, 0], padding = 4>>
// CHECK-SAME: !gl.memdesc<32x64xf16, #gl.swizzled<vec = 8, per_phase = 1, max_phase = 8, order = [1, 0]>>
// CHECK-SAME: !gl.mbarrier<3>
// CHECK-SAME: !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>
func.func private @memories(!gl.memdesc<4x1024xbf16, #plain>, !gl.memdesc<4x1024xbf16, #padded>, !gl.memdesc<32x64xf16, #swizzled>, !gl.mbarrier<3>, !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>)

// CHECK-LABEL: func.func private @launched
// CHECK-SAME: gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0 ceildiv 2)>, traffic = affine_map<()[s0] -> (s0 * 256, s0 * 256)>,
// CHECK-SAME: sizes = [0, 0], alignments = [16, 16], cluster = 2, carveout = 50, dependent_launch = true>
// CHECK-SAME: gl.params = [#gl.param<pointer 0>, #gl.param<size 0, 1>, #gl.param<stride 1, 1>]
func.func private @launched() attributes {
  gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0 ceildiv 2)>, traffic = affine_map<()[s0] -> (s0 * 256, s0 * 256)>,
                         sizes = [0, 0], alignments = [16, 16], cluster = 2, carveout = 50, dependent_launch = true>,
  gl.params = [#gl.param<pointer 0>, #gl.param<size 0, 1>, #gl.param<stride 1, 1>]
}

// CHECK-LABEL: func.func @global_memory
func.func @global_memory(%x: memref<?x4096xbf16>, %y: memref<?x4096xbf16>, %b: index, %rows: index, %zero: bf16) {
  // CHECK: gl.load %{{.*}} at affine_map<(d0, d1, d2) -> (d0 * 2 + d1, d2)>(%{{[^)]*}})
  // CHECK-SAME: where affine_map<(d0, d1, d2)[s0] -> (d0 * 2 + d1, s0)>[%{{.*}}] other %{{.*}} : bf16
  // CHECK-SAME: cache <l1 = evict_last, l2 = evict_first> vector 8 : memref<?x4096xbf16> -> tensor<2x4096xbf16, {{.*}}>
  %t = gl.load %x at affine_map<(b, r, n) -> (b * 2 + r, n)>(%b)
       where affine_map<(b, r, n)[s0] -> (b * 2 + r, s0)>[%rows] other %zero : bf16
       cache <l1 = evict_last, l2 = evict_first> vector 8
       : memref<?x4096xbf16> -> tensor<2x4096xbf16, #row>
  // CHECK: gl.load %{{.*}} vector 8 alignment 2 : memref
  %unaligned = gl.load %x at affine_map<(b, r, n) -> (b * 2 + r, n + 1)>(%b) vector 8 alignment 2
               : memref<?x4096xbf16> -> tensor<2x4096xbf16, #row>
  // CHECK: gl.load %{{.*}} at affine_map<(d0, d1, d2) -> (d0 * 2 + d1, d2)>(%{{[^)]*}}) : memref
  %u = gl.load %x at affine_map<(b, r, n) -> (b * 2 + r, n)>(%b) : memref<?x4096xbf16> -> tensor<2x4096xbf16, #row>
  // CHECK: gl.gather %{{.*}} at affine_map<(d0, d1, d2, d3) -> (d0 + d1, d3)>(%{{[^)]*}})[%{{[^ ]*}}] if %{{[^ ]*}} : tensor<2x4096xi1,
  // CHECK-SAME: where affine_map<(d0, d1, d2, d3)[s0] -> (d2, s0)>[%{{.*}}] cache <l1 = evict_last> vector 8
  // CHECK-SAME: : memref<?x4096xbf16>, (tensor<2x4096xindex,
  // CHECK-SAME: ) -> tensor<2x4096xbf16,
  %ids = arith.constant dense<3> : tensor<2x4096xindex, #row>
  %known = arith.constant dense<true> : tensor<2x4096xi1, #row>
  %g = gl.gather %x at affine_map<(b, id, r, n) -> (b + id, n)>(%b)[%ids] if %known : tensor<2x4096xi1, #row>
       where affine_map<(b, id, r, n)[s0] -> (r, s0)>[%rows] cache <l1 = evict_last> vector 8
       : memref<?x4096xbf16>, (tensor<2x4096xindex, #row>) -> tensor<2x4096xbf16, #row>
  // CHECK: gl.gather %{{.*}} at affine_map<(d0, d1) -> (d0, d1)>(%{{[^)]*}})[] : memref<?x4096xbf16> -> tensor<bf16, {{.*}}>
  %one = gl.gather %x at affine_map<(b, label) -> (b, label)>(%b, %rows)[] : memref<?x4096xbf16> -> tensor<bf16, #one>
  // CHECK: gl.scatter %{{.*}}, %{{.*}} at affine_map<(d0, d1, d2) -> (d0 + d1, d2)>()[%{{[^ ]*}}] if %{{[^ ]*}} : tensor<2x4096xi1,
  // CHECK-SAME: > vector 8 : tensor<2x4096xbf16, {{.*}}>, memref<?x4096xbf16>, (tensor<2x4096xindex,
  gl.scatter %g, %y at affine_map<(first, r, n) -> (first + r, n)>()[%ids] if %known : tensor<2x4096xi1, #row> vector 8
       : tensor<2x4096xbf16, #row>, memref<?x4096xbf16>, (tensor<2x4096xindex, #row>)
  // CHECK: gl.store %{{.*}}, %{{.*}} at affine_map<(d0, d1, d2) -> (d0 * 2 + d1, d2)>(%{{[^)]*}})
  // CHECK-SAME: where {{.*}} cache <l1 = no_allocate> vector 8 : tensor<2x4096xbf16, {{.*}}>, memref<?x4096xbf16>
  gl.store %t, %y at affine_map<(b, r, n) -> (b * 2 + r, n)>(%b)
       where affine_map<(b, r, n)[s0] -> (b * 2 + r, s0)>[%rows] cache <l1 = no_allocate> vector 8
       : tensor<2x4096xbf16, #row>, memref<?x4096xbf16>
  return
}

// CHECK-LABEL: func.func @tiles
func.func @tiles(%x: tensor<2x1024xf32, #row>, %s: tensor<2xf32, #kept>, %b: index, %rows: index) {
  // CHECK: gl.coordinates affine_map<(d0, d1, d2) -> (d2)>(%{{[^)]*}}) : tensor<2x1024xindex, {{.*}}>
  %c = gl.coordinates affine_map<(b, r, n) -> (n)>(%b) : tensor<2x1024xindex, #row>
  // CHECK: gl.mask affine_map<(d0, d1, d2)[s0] -> (d0 * 2 + d1, s0)>(%{{[^)]*}}) [%{{.*}}] : tensor<2x1024xi1, {{.*}}>
  %m = gl.mask affine_map<(b, r, n)[s0] -> (b * 2 + r, s0)>(%b)[%rows] : tensor<2x1024xi1, #row>
  // CHECK: gl.broadcast %{{.*}} axis 1 : tensor<2xf32, #gl.slice<{{.*}}>> -> tensor<2x1024xf32, {{.*}}>
  %d = gl.broadcast %s axis 1 : tensor<2xf32, #kept> -> tensor<2x1024xf32, #row>
  // CHECK: gl.convert_layout %{{.*}} : tensor<2x1024xf32, {{.*}}> -> tensor<2x1024xf32, {{.*}}>
  %e = gl.convert_layout %d : tensor<2x1024xf32, #row> -> tensor<2x1024xf32, #columns>
  // CHECK: gl.optimization_barrier %{{.*}} : tensor<2x1024xf32, {{.*}}>
  %f = gl.optimization_barrier %x : tensor<2x1024xf32, #row>
  return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<1x1024xf32, #row>, %gathered: tensor<1x4xf32, #gathered>) {
  // CHECK: gl.reduce %{{.*}} axis 1 : (tensor<1x1024xf32, {{.*}}>) -> tensor<1xf32, #gl.slice<{{.*}}>> combine {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  %s = gl.reduce %x axis 1 : (tensor<1x1024xf32, #row>) -> tensor<1xf32, #kept> combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    // CHECK: gl.yield %{{.*}} : f32
    gl.yield %0 : f32
  }
  // CHECK: gl.scan %{{.*}} axis 1 : tensor<1x1024xf32, {{.*}}> -> tensor<1xf32, #gl.slice<{{.*}}>> combine {
  %c, %all = gl.scan %x axis 1 : tensor<1x1024xf32, #row> -> tensor<1xf32, #kept> combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    gl.yield %0 : f32
  }
  // CHECK: gl.scan %{{.*}} axis 1 behind %{{.*}} : tensor<1x4xf32, {{.*}}> identity 0.000000e+00 : f32 : tensor<1x1024xf32, {{.*}}> -> tensor<1xf32, #gl.slice<{{.*}}>> combine {
  %d, %same = gl.scan %x axis 1 behind %gathered : tensor<1x4xf32, #gathered> identity 0.0 : f32
      : tensor<1x1024xf32, #row> -> tensor<1xf32, #kept> combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    gl.yield %0 : f32
  }
  // CHECK: gl.warp_reduce %{{.*}} axis 1 : (tensor<1x1024xf32, {{.*}}>) -> tensor<1x4xf32, {{.*}}> combine {
  %p = gl.warp_reduce %x axis 1 : (tensor<1x1024xf32, #row>) -> tensor<1x4xf32, #partial> combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    gl.yield %0 : f32
  }
  return
}

// CHECK-LABEL: func.func @shared_memory
func.func @shared_memory(%t: tensor<1x4xf32, #partial>, %stage: index) {
  // CHECK: gl.local_alloc {offset = 16 : i64} : <1x4xf32, {{.*}}>
  %m = gl.local_alloc {offset = 16 : i64} : !gl.memdesc<1x4xf32, #plain>
  // CHECK: gl.local_store %{{.*}}, %{{.*}} : tensor<1x4xf32, {{.*}}>, <1x4xf32, {{.*}}>
  gl.local_store %t, %m : tensor<1x4xf32, #partial>, !gl.memdesc<1x4xf32, #plain>
  // CHECK: gl.local_store %{{.*}}, %{{.*}} where affine_map<(d0, d1) -> (d1, 3)> : tensor<1x4xf32, {{.*}}>, <1x4xf32, {{.*}}>
  gl.local_store %t, %m where affine_map<(d0, d1) -> (d1, 3)> : tensor<1x4xf32, #partial>, !gl.memdesc<1x4xf32, #plain>
  // CHECK: gl.local_load %{{.*}} : <1x4xf32, {{.*}}> -> tensor<1x4xf32, {{.*}}>
  %u = gl.local_load %m : !gl.memdesc<1x4xf32, #plain> -> tensor<1x4xf32, #partial>
  // CHECK: gl.local_load %{{.*}} where affine_map<(d0, d1, d2)[s0] -> (d0 + d2, s0)>(%{{.*}}) [%{{.*}}] phase 1 : <1x4xf32, {{.*}}> -> tensor<1x4xf32, {{.*}}>
  %v = gl.local_load %m where affine_map<(b, r, n)[s0] -> (b + n, s0)>(%stage)[%stage] phase 1
      : !gl.memdesc<1x4xf32, #plain> -> tensor<1x4xf32, #partial>
  // CHECK: gl.local_load %{{.*}} : <2x1024xf32, {{.*}}> -> tensor<2x2048xf32, {{.*}}ctas_per_cluster = [1, 2]>>
  %part = gl.local_alloc : !gl.memdesc<2x1024xf32, #plain>
  %w = gl.local_load %part : !gl.memdesc<2x1024xf32, #plain> -> tensor<2x2048xf32, #cluster>
  %r = gl.local_alloc : !gl.memdesc<3x1x1024xbf16, #ring>
  // CHECK: gl.memdesc_index %{{.*}}[%{{.*}}] : <3x1x1024xbf16, {{.*}}> -> <1x1024xbf16, {{.*}}>
  %s = gl.memdesc_index %r[%stage] : !gl.memdesc<3x1x1024xbf16, #ring> -> !gl.memdesc<1x1024xbf16, #plain>
  return
}

// CHECK-LABEL: func.func @barriers
func.func @barriers(%stage: index, %parity: i1) {
  // CHECK: gl.barrier{{$}}
  gl.barrier
  // CHECK: gl.barrier id 1 threads 128
  gl.barrier id 1 threads 128
  // CHECK: gl.fence_async
  gl.fence_async
  // CHECK: gl.fence_mbarrier_init
  gl.fence_mbarrier_init
  // CHECK: gl.mbarrier_alloc : <3>
  %full = gl.mbarrier_alloc : !gl.mbarrier<3>
  // CHECK: gl.mbarrier_init %{{.*}}, 1 : <3>
  gl.mbarrier_init %full, 1 : !gl.mbarrier<3>
  // CHECK: gl.mbarrier_arrive %{{.*}}[%{{.*}}] : <3>
  gl.mbarrier_arrive %full[%stage] : !gl.mbarrier<3>
  // CHECK: gl.mbarrier_expect %{{.*}}[%{{.*}}], %{{.*}} : <3>
  gl.mbarrier_expect %full[%stage], %stage : !gl.mbarrier<3>
  // CHECK: gl.mbarrier_wait %{{.*}}[%{{.*}}], %{{.*}} : <3>
  gl.mbarrier_wait %full[%stage], %parity : !gl.mbarrier<3>
  return
}

// CHECK-LABEL: func.func @copies
func.func @copies(%x: memref<?x8192xbf16>, %s: !gl.memdesc<1x1024xbf16, #plain>, %full: !gl.mbarrier<3>, %stage: index, %m: index, %rows: index) {
  // CHECK: gl.async_copy %{{.*}} at affine_map<(d0, d1, d2) -> (d0 + d1, d2)>(%{{[^)]*}}) where {{.*}}[%{{.*}}], %{{.*}} cache <l1 = no_allocate> vector 8 : memref<?x8192xbf16>, <1x1024xbf16, {{.*}}>
  gl.async_copy %x at affine_map<(b, r, n) -> (b + r, n)>(%m) where affine_map<(b, r, n)[s0] -> (b, s0)>[%rows], %s
      cache <l1 = no_allocate> vector 8 : memref<?x8192xbf16>, !gl.memdesc<1x1024xbf16, #plain>
  // CHECK: gl.copy_to_shared %{{.*}} at affine_map<(d0, d1, d2) -> (d0 + d1, d2)>(%{{[^)]*}}) where {{.*}}[%{{.*}}], %{{.*}} by bulk : memref<?x8192xbf16>, <1x1024xbf16, {{.*}}>
  gl.copy_to_shared %x at affine_map<(b, r, n) -> (b + r, n)>(%m) where affine_map<(b, r, n)[s0] -> (b, s0)>[%rows], %s by bulk
      : memref<?x8192xbf16>, !gl.memdesc<1x1024xbf16, #plain>
  // CHECK: gl.copy_from_shared %{{.*}}, %{{.*}} at affine_map<(d0, d1, d2) -> (d0 + d1, d2)>(%{{[^)]*}}) where {{.*}}[%{{.*}}] by bulk : <1x1024xbf16, {{.*}}>, memref<?x8192xbf16>
  gl.copy_from_shared %s, %x at affine_map<(b, r, n) -> (b + r, n)>(%m) where affine_map<(b, r, n)[s0] -> (b, s0)>[%rows] by bulk
      : !gl.memdesc<1x1024xbf16, #plain>, memref<?x8192xbf16>
  // CHECK: gl.async_commit
  gl.async_commit
  // CHECK: gl.async_wait 1
  gl.async_wait 1
  // CHECK: gl.bulk_load %{{.*}} at affine_map<(d0, d1) -> (d0, d1)>(%{{.*}}, %{{.*}}), %{{.*}}, %{{.*}}[%{{.*}}] cache <l2 = evict_first> : memref<?x8192xbf16>, <1x1024xbf16, {{.*}}>, <3>
  gl.bulk_load %x at affine_map<(m, c) -> (m, c)>(%m, %m), %s, %full[%stage] cache <l2 = evict_first>
      : memref<?x8192xbf16>, !gl.memdesc<1x1024xbf16, #plain>, !gl.mbarrier<3>
  // CHECK: gl.bulk_load {{.*}} count %{{.*}} : memref<?x8192xbf16>, <1x1024xbf16, {{.*}}>, <3>
  gl.bulk_load %x at affine_map<(m, c) -> (m, c)>(%m, %m), %s, %full[%stage] count %rows
      : memref<?x8192xbf16>, !gl.memdesc<1x1024xbf16, #plain>, !gl.mbarrier<3>
  // CHECK: gl.tail_load %{{.*}} at affine_map<(d0, d1) -> (d0, d1)>(%{{.*}}, %{{.*}}), %{{.*}} from %{{.*}} to %{{.*}} : memref<?x8192xbf16>, <1x1024xbf16, {{.*}}>
  gl.tail_load %x at affine_map<(m, c) -> (m, c)>(%m, %m), %s from %stage to %rows : memref<?x8192xbf16>, !gl.memdesc<1x1024xbf16, #plain>
  // CHECK: gl.bulk_store %{{.*}}, %{{.*}} at affine_map<(d0, d1) -> (d0, d1)>(%{{.*}}, %{{.*}}) : <1x1024xbf16, {{.*}}>, memref<?x8192xbf16>
  gl.bulk_store %s, %x at affine_map<(m, c) -> (m, c)>(%m, %m) : !gl.memdesc<1x1024xbf16, #plain>, memref<?x8192xbf16>
  // CHECK: gl.bulk_store {{.*}} count %{{.*}} : <1x1024xbf16, {{.*}}>, memref<?x8192xbf16>
  gl.bulk_store %s, %x at affine_map<(m, c) -> (m, c)>(%m, %m) count %rows : !gl.memdesc<1x1024xbf16, #plain>, memref<?x8192xbf16>
  // CHECK: gl.bulk_commit
  gl.bulk_commit
  // CHECK: gl.bulk_wait 1 read
  gl.bulk_wait 1 read
  // CHECK: gl.bulk_wait 0{{$}}
  gl.bulk_wait 0
  return
}

// CHECK-LABEL: func.func @drawn_tiles
func.func @drawn_tiles(%counter: memref<1xi64>, %tiles: index, %ctas: index, %numbers: !gl.memdesc<3x1xindex, #plain>, %drawn: !gl.mbarrier<3>, %slot: index, %parity: i1) {
  // CHECK: gl.next_tile %{{.*}} of %{{.*}} behind %{{.*}} : memref<1xi64>
  %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
  // CHECK: gl.draw_tile %{{.*}} of %{{.*}} behind %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}] : memref<1xi64>, <3x1xindex, {{.*}}>, <3>
  gl.draw_tile %counter of %tiles behind %ctas, %numbers, %drawn[%slot] : memref<1xi64>, !gl.memdesc<3x1xindex, #plain>, !gl.mbarrier<3>
  // CHECK: gl.await_tile %{{.*}}, %{{.*}}[%{{.*}}], %{{.*}} : <3x1xindex, {{.*}}>, <3>
  %number = gl.await_tile %numbers, %drawn[%slot], %parity : !gl.memdesc<3x1xindex, #plain>, !gl.mbarrier<3>
  return
}

// CHECK-LABEL: func.func @memdesc_reshape
func.func @memdesc_reshape(%m: !gl.memdesc<4x64xbf16, #gl.plain<order = [1, 0]>>) {
  // CHECK: gl.memdesc_reshape %{{.*}} : <4x64xbf16, #gl.plain<order = [1, 0]>> -> <2x1x128xbf16, #gl.plain<order = [2, 1, 0]>>
  %r = gl.memdesc_reshape %m : !gl.memdesc<4x64xbf16, #gl.plain<order = [1, 0]>> -> !gl.memdesc<2x1x128xbf16, #gl.plain<order = [2, 1, 0]>>
  // CHECK: gl.memdesc_reshape %{{.*}} : <4x64xbf16, #gl.plain<order = [1, 0]>> -> <4x64xbf16, #gl.plain<order = [1, 0], padding = -27>>
  %s = gl.memdesc_reshape %m : !gl.memdesc<4x64xbf16, #gl.plain<order = [1, 0]>> -> !gl.memdesc<4x64xbf16, #gl.plain<order = [1, 0], padding = -27>>
  return
}

// CHECK-LABEL: func.func @tensor_map
func.func @tensor_map(%x: memref<?x8192xbf16>) -> !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]> {
  // CHECK: gl.tensor_map %{{.*}} : <memref<?x8192xbf16>, box = [1, 256]>
  %map = gl.tensor_map %x : !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>
  return %map : !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>
}

// CHECK-LABEL: func.func @swizzled_tensor_map
func.func @swizzled_tensor_map(%x: memref<?x64xf32>, %m: !gl.memdesc<4x4xf32, #gl.shared_linear<offset = [[0, 1], [0, 2], [2, 0], [1, 0]]>>) attributes {
    // CHECK-SAME: param = #gl.param<tensor_map 0 box = [32, 32] swizzle = 128>
    param = #gl.param<tensor_map 0 box = [32, 32] swizzle = 128>} {
  // CHECK: gl.tensor_map %{{.*}} : <memref<?x64xf32>, box = [32, 32], swizzle = 128>
  %map = gl.tensor_map %x : !gl.tensor_map<memref<?x64xf32>, box = [32, 32], swizzle = 128>
  // CHECK: gl.memdesc_reshape %{{.*}} : <4x4xf32, #gl.shared_linear<{{.*}}>> -> <16xf32, #gl.plain<order = [0]>>
  %r = gl.memdesc_reshape %m : !gl.memdesc<4x4xf32, #gl.shared_linear<offset = [[0, 1], [0, 2], [2, 0], [1, 0]]>> -> !gl.memdesc<16xf32, #gl.plain<order = [0]>>
  return
}

// CHECK-LABEL: func.func @tensor_copies
func.func @tensor_copies(%map: !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>, %s: !gl.memdesc<1x256xbf16, #plain>, %full: !gl.mbarrier<3>, %i: index) {
  // CHECK: gl.tensor_load %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}}, %{{.*}}[%{{.*}}] : <memref<?x8192xbf16>, box = [1, 256]>, <1x256xbf16, {{.*}}>, <3>
  gl.tensor_load %map[%i, %i], %s, %full[%i] : !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>, !gl.memdesc<1x256xbf16, #plain>, !gl.mbarrier<3>
  // CHECK: gl.tensor_store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : <1x256xbf16, {{.*}}>, <memref<?x8192xbf16>, box = [1, 256]>
  gl.tensor_store %s, %map[%i, %i] : !gl.memdesc<1x256xbf16, #plain>, !gl.tensor_map<memref<?x8192xbf16>, box = [1, 256]>
  return
}

// CHECK-LABEL: func.func @dependent_launches
func.func @dependent_launches() {
  // CHECK: gl.grid_dependency_wait
  gl.grid_dependency_wait
  // CHECK: gl.grid_dependency_launch
  gl.grid_dependency_launch
  return
}

// CHECK-LABEL: func.func @clusters
func.func @clusters(%p: tensor<1x4xf32, #partial>, %m: !gl.memdesc<1x4xf32, #plain>, %bar: !gl.mbarrier<1>, %zero: index) {
  // CHECK: gl.cluster_rank
  %rank = gl.cluster_rank
  // CHECK: gl.cluster_arrive relaxed
  gl.cluster_arrive relaxed
  // CHECK: gl.cluster_wait
  gl.cluster_wait
  // CHECK: gl.remote_store %{{.*}}, %{{.*}}, %{{.*}}[%{{.*}}] : tensor<1x4xf32, {{.*}}>, <1x4xf32, {{.*}}>, <1>
  gl.remote_store %p, %m, %bar[%zero] : tensor<1x4xf32, #partial>, !gl.memdesc<1x4xf32, #plain>, !gl.mbarrier<1>
  // CHECK: gl.remote_arrive %{{.*}}[%{{.*}}] frees %{{.*}}, %{{.*}} : <1>, !gl.memdesc<1x4xf32, {{.*}}>, !gl.memdesc<1x4xf32, {{.*}}>
  gl.remote_arrive %bar[%zero] frees %m, %m : !gl.mbarrier<1>, !gl.memdesc<1x4xf32, #plain>, !gl.memdesc<1x4xf32, #plain>
  return
}

// CHECK-LABEL: func.func @warp_specialize
func.func @warp_specialize() {
  // CHECK: gl.warp_specialize warps [4, 8] registers [24, 112] {
  gl.warp_specialize warps [4, 8] registers [24, 112] {
    // CHECK: gl.barrier id 1 threads 128
    gl.barrier id 1 threads 128
  // CHECK: }, {
  }, {
    // CHECK: gl.barrier id 2 threads 256
    gl.barrier id 2 threads 256
  }
  // CHECK: gl.warp_specialize warps [8, 1] {
  gl.warp_specialize warps [8, 1] {
  }, {
  }
  return
}

// CHECK-LABEL: func.func @of_group
func.func @of_group(%t: tensor<2x1024xf32, #row>) -> tensor<2x1024xf32, #row> {
  // CHECK: gl.of_group 1, %{{.*}} : tensor<2x1024xf32, #{{.*}}>
  %0 = gl.of_group 1, %t : tensor<2x1024xf32, #row>
  return %0 : tensor<2x1024xf32, #row>
}

// A slice layout is identified by where it places elements, however it is written, and may have no axis left.
// CHECK-LABEL: func.func @slices
// CHECK-SAME: (%[[X:.*]]: tensor<2x1024xf32, #gl.blocked<{{.*}}>>)
func.func @slices(%x: tensor<2x1024xf32, #row>) {
  // CHECK: %[[S:.*]] = gl.reduce %[[X]] axis 1 : ({{.*}}) -> tensor<2xf32, #gl.linear<
  %s = gl.reduce %x axis 1 : (tensor<2x1024xf32, #row>)
      -> tensor<2xf32, #gl.linear<register = [[1]], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = []>> combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    gl.yield %0 : f32
  }
  // CHECK: %[[N:.*]] = gl.reduce %[[S]] axis 0 : ({{.*}}) -> tensor<f32, #gl.linear<register = [], lane = {{\[}}[], [], [], [], []], warp = {{\[}}[], []], block = []>>
  %n = gl.reduce %s axis 0 : (tensor<2xf32, #gl.linear<register = [[1]], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = []>>)
      -> tensor<f32, #gl.linear<register = [], lane = [[], [], [], [], []], warp = [[], []], block = []>> combine {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    gl.yield %0 : f32
  }
  // CHECK: %[[C:.*]] = gl.broadcast %[[N]] axis 0 : tensor<f32, {{.*}}> -> tensor<1024xf32, #gl.slice<
  %c = gl.broadcast %n axis 0 : tensor<f32, #gl.linear<register = [], lane = [[], [], [], [], []], warp = [[], []], block = []>>
      -> tensor<1024xf32, #gl.slice<axis = 0, parent = #row>>
  // CHECK: gl.broadcast %[[C]] axis 0 : tensor<1024xf32, {{.*}}> -> tensor<2x1024xf32, #gl.blocked<
  %r = gl.broadcast %c axis 0 : tensor<1024xf32, #gl.slice<axis = 0, parent = #row>> -> tensor<2x1024xf32, #row>
  return
}

// CHECK-LABEL: func.func private @shared_order
// CHECK-SAME: !gl.memdesc<2x4xf32, #gl.shared_linear<offset = {{\[}}[1, 0], [0, 1], [0, 2]]>>
func.func private @shared_order(!gl.memdesc<2x4xf32, #gl.shared_linear<offset = [[1, 0], [0, 1], [0, 2]]>>)
