// Programs that gl must express, also beyond what is lowered so far: each parses, verifies, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt --mlir-print-local-scope | FileCheck %s

#row = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 8], order = [1, 0]>
#by_warp = #gl.linear<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 1], [0, 2], [0, 4]], block = []>
#gathered = #gl.linear<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0], [0, 0]], block = []>
#plain = #gl.plain<order = [1, 0]>
#ring = #gl.plain<order = [2, 1, 0]>

// A warp-specialised ring of 3 stages: one warp copies rows of 5000 elements in chunks of 2048 with the copy engine, eight
// warps add up their squares. A stage is full when its bytes have arrived, and empty when each consumer warp has arrived. The
// producer waits on the parity opposite to the consumers', so that its first round finds every stage empty. The last chunk of a
// row is shorter: its bytes are counted, and elements of the ring beyond them are masked. The consumers synchronize at a named
// barrier, because the CTA's barrier would wait for the producer too.
// CHECK-LABEL: gpu.func @ring
gpu.module @ring {
  gpu.func @ring(%x: memref<?x5000xbf16>, %y: memref<?xf32>) kernel attributes {gl.num_warps = 12 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %chunks = arith.constant 3 : index
    %chunk = arith.constant 2048 : index
    %columns = arith.constant 5000 : index
    %rows = memref.dim %x, %c0 : memref<?x5000xbf16>
    %first = gpu.block_id x
    %ctas = gpu.grid_dim x

    // CHECK: gl.local_alloc : <3x1x2048xbf16, {{.*}}>
    %ring = gl.local_alloc : !gl.memdesc<3x1x2048xbf16, #ring>
    %warps = gl.local_alloc : !gl.memdesc<1x8xf32, #plain>
    %full = gl.mbarrier_alloc : !gl.mbarrier<3>
    %empty = gl.mbarrier_alloc : !gl.mbarrier<3>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<3>
    gl.mbarrier_init %empty, 8 : !gl.mbarrier<3>
    gl.fence_mbarrier_init
    gl.barrier

    // CHECK: gl.warp_specialize warps [4, 8] registers [24, 128] {
    gl.warp_specialize warps [4, 8] registers [24, 128] {
      scf.for %m = %first to %rows step %ctas iter_args(%turn = %c0) -> (index) {
        %end = scf.for %c = %c0 to %chunks step %c1 iter_args(%k = %turn) -> (index) {
          %stage = arith.remui %k, %c3 : index
          %round = arith.divui %k, %c3 : index
          %odd = arith.remui %round, %c2 : index
          %free = arith.cmpi eq, %odd, %c0 : index
          // CHECK: gl.mbarrier_wait %[[EMPTY:.*]][%[[STAGE:.*]]], %{{.*}} : <3>
          gl.mbarrier_wait %empty[%stage], %free : !gl.mbarrier<3>
          %start = arith.muli %c, %chunk : index
          %left = arith.subi %columns, %start : index
          %count = arith.minui %left, %chunk : index
          %bytes = arith.muli %count, %c2 : index
          // CHECK: gl.mbarrier_expect %[[FULL:.*]][%[[STAGE]]], %{{.*}} : <3>
          gl.mbarrier_expect %full[%stage], %bytes : !gl.mbarrier<3>
          %slot = gl.memdesc_index %ring[%stage] : !gl.memdesc<3x1x2048xbf16, #ring> -> !gl.memdesc<1x2048xbf16, #plain>
          // CHECK: gl.bulk_load %{{.*}} at affine_map<(d0, d1) -> (d0, d1)>(%{{.*}}, %{{.*}}), %{{.*}}, %[[FULL]][%[[STAGE]]] count %{{.*}} cache <l2 = evict_first>
          gl.bulk_load %x at affine_map<(m, n) -> (m, n)>(%m, %start), %slot, %full[%stage] count %count
              cache <l2 = evict_first> : memref<?x5000xbf16>, !gl.memdesc<1x2048xbf16, #plain>, !gl.mbarrier<3>
          %next = arith.addi %k, %c1 : index
          scf.yield %next : index
        }
        scf.yield %end : index
      }
    // CHECK: }, {
    }, {
      %zeros = arith.constant dense<0.0> : tensor<1x2048xf32, #row>
      scf.for %m = %first to %rows step %ctas iter_args(%turn = %c0) -> (index) {
        %end, %sums = scf.for %c = %c0 to %chunks step %c1 iter_args(%k = %turn, %sum = %zeros)
            -> (index, tensor<1x2048xf32, #row>) {
          %stage = arith.remui %k, %c3 : index
          %round = arith.divui %k, %c3 : index
          %odd = arith.remui %round, %c2 : index
          %parity = arith.cmpi ne, %odd, %c0 : index
          // CHECK: gl.mbarrier_wait %[[FULL]][%[[STAGE1:.*]]], %{{.*}} : <3>
          gl.mbarrier_wait %full[%stage], %parity : !gl.mbarrier<3>
          %slot = gl.memdesc_index %ring[%stage] : !gl.memdesc<3x1x2048xbf16, #ring> -> !gl.memdesc<1x2048xbf16, #plain>
          %t = gl.local_load %slot : !gl.memdesc<1x2048xbf16, #plain> -> tensor<1x2048xbf16, #row>
          // CHECK: gl.mbarrier_arrive %[[EMPTY]][%[[STAGE1]]] : <3>
          gl.mbarrier_arrive %empty[%stage] : !gl.mbarrier<3>
          %v = arith.extf %t : tensor<1x2048xbf16, #row> to tensor<1x2048xf32, #row>
          %square = arith.mulf %v, %v : tensor<1x2048xf32, #row>
          %there = gl.mask affine_map<(c, r, n)[s0] -> (c * 2048 + n, s0)>(%c)[%columns] : tensor<1x2048xi1, #row>
          %counted = arith.select %there, %square, %zeros : tensor<1x2048xi1, #row>, tensor<1x2048xf32, #row>
          %added = arith.addf %sum, %counted : tensor<1x2048xf32, #row>
          %next = arith.addi %k, %c1 : index
          scf.yield %next, %added : index, tensor<1x2048xf32, #row>
        }
        %p = gl.warp_reduce %sums axis 1 : (tensor<1x2048xf32, #row>) -> tensor<1x8xf32, #by_warp> combine {
        ^bb0(%a: f32, %b: f32):
          %ab = arith.addf %a, %b : f32
          gl.yield %ab : f32
        }
        gl.local_store %p, %warps : tensor<1x8xf32, #by_warp>, !gl.memdesc<1x8xf32, #plain>
        // CHECK: gl.barrier id 1 threads 256
        gl.barrier id 1 threads 256
        %q = gl.local_load %warps : !gl.memdesc<1x8xf32, #plain> -> tensor<1x8xf32, #gathered>
        %total = gl.reduce %q axis 1 : (tensor<1x8xf32, #gathered>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #gathered>> combine {
        ^bb0(%a: f32, %b: f32):
          %ab = arith.addf %a, %b : f32
          gl.yield %ab : f32
        }
        gl.store %total, %y at affine_map<(m, r) -> (m + r)>(%m) : tensor<1xf32, #gl.slice<axis = 1, parent = #gathered>>, memref<?xf32>
        gl.barrier id 1 threads 256
        scf.yield %end : index
      }
    }
    gpu.return
  }
}

// Quantisation of a transposed input by blocks of 32: a tile of 2 blocks (q), 32 elements (j) and 64 columns (m). It is
// read with lanes along m, which is contiguous in x, and written with lanes along j, which is contiguous in the result.
// Only the 8-bit values change layout, through shared memory whose vectors are swizzled.
#by_m = #gl.blocked<size_per_thread = [1, 4, 8], threads_per_warp = [1, 4, 8], warps_per_cta = [2, 2, 1], order = [2, 1, 0]>
#by_j = #gl.blocked<size_per_thread = [1, 16, 1], threads_per_warp = [2, 2, 8], warps_per_cta = [1, 1, 4], order = [1, 0, 2]>
#swizzled = #gl.swizzled<vec = 16, per_phase = 4, max_phase = 2, order = [1, 2, 0]>
// CHECK-LABEL: gpu.func @transpose
gpu.module @transpose {
  gpu.func @transpose(%x: memref<4096x?xbf16>, %values: memref<?x4096xf8E4M3FN>, %scales: memref<?x128xf32>)
      kernel attributes {gl.num_warps = 4 : i64} {
    %c1 = arith.constant 1 : index
    %per_top = arith.constant dense<2.2321429e-3> : tensor<2x64xf32, #gl.slice<axis = 1, parent = #by_m>>
    %tiny = arith.constant dense<1.0e-12> : tensor<2x64xf32, #gl.slice<axis = 1, parent = #by_m>>
    %columns = memref.dim %x, %c1 : memref<4096x?xbf16>
    %b = gpu.block_id x
    %q = gpu.block_id y
    %t = gl.load %x at affine_map<(b, q0, q, j, m) -> (q0 * 64 + q * 32 + j, b * 64 + m)>(%b, %q)
         where affine_map<(b, q0, q, j, m)[s0] -> (b * 64 + m, s0)>[%columns] vector 8
         : memref<4096x?xbf16> -> tensor<2x32x64xbf16, #by_m>
    %v = arith.extf %t : tensor<2x32x64xbf16, #by_m> to tensor<2x32x64xf32, #by_m>
    %abs = math.absf %v : tensor<2x32x64xf32, #by_m>
    // CHECK: gl.reduce %{{.*}} axis 1 : (tensor<2x32x64xf32, {{.*}}>) -> tensor<2x64xf32, #gl.slice<axis = 1, {{.*}}>>
    %amax = gl.reduce %abs axis 1 : (tensor<2x32x64xf32, #by_m>) -> tensor<2x64xf32, #gl.slice<axis = 1, parent = #by_m>> combine {
    ^bb0(%a: f32, %c: f32):
      %ac = arith.maximumf %a, %c : f32
      gl.yield %ac : f32
    }
    %not_zero = arith.maximumf %amax, %tiny : tensor<2x64xf32, #gl.slice<axis = 1, parent = #by_m>>
    %scale = arith.mulf %not_zero, %per_top : tensor<2x64xf32, #gl.slice<axis = 1, parent = #by_m>>
    gl.store %scale, %scales at affine_map<(b, q0, q, m) -> (b * 64 + m, q0 * 2 + q)>(%b, %q)
        where affine_map<(b, q0, q, m)[s0] -> (b * 64 + m, s0)>[%columns]
        : tensor<2x64xf32, #gl.slice<axis = 1, parent = #by_m>>, memref<?x128xf32>
    %wide = gl.broadcast %scale axis 1 : tensor<2x64xf32, #gl.slice<axis = 1, parent = #by_m>> -> tensor<2x32x64xf32, #by_m>
    %quotient = arith.divf %v, %wide : tensor<2x32x64xf32, #by_m>
    %value = arith.truncf %quotient : tensor<2x32x64xf32, #by_m> to tensor<2x32x64xf8E4M3FN, #by_m>
    // The conversion as one op, and what it is expanded to.
    // CHECK: gl.convert_layout %{{.*}} : tensor<2x32x64xf8E4M3FN, {{.*}}> -> tensor<2x32x64xf8E4M3FN, {{.*}}>
    %moved = gl.convert_layout %value : tensor<2x32x64xf8E4M3FN, #by_m> -> tensor<2x32x64xf8E4M3FN, #by_j>
    // CHECK: gl.local_alloc : <2x32x64xf8E4M3FN, #gl.swizzled<vec = 16, per_phase = 4, max_phase = 2, order = [1, 2, 0]>>
    %memory = gl.local_alloc : !gl.memdesc<2x32x64xf8E4M3FN, #swizzled>
    gl.local_store %value, %memory : tensor<2x32x64xf8E4M3FN, #by_m>, !gl.memdesc<2x32x64xf8E4M3FN, #swizzled>
    gl.barrier
    %loaded = gl.local_load %memory : !gl.memdesc<2x32x64xf8E4M3FN, #swizzled> -> tensor<2x32x64xf8E4M3FN, #by_j>
    gl.store %loaded, %values at affine_map<(b, q0, q, j, m) -> (b * 64 + m, q0 * 64 + q * 32 + j)>(%b, %q)
        where affine_map<(b, q0, q, j, m)[s0] -> (b * 64 + m, s0)>[%columns] vector 16
        : tensor<2x32x64xf8E4M3FN, #by_j>, memref<?x4096xf8E4M3FN>
    gpu.return
  }
}

// A box of 8 rows and 256 columns by TMA, loaded and stored. The tensor map takes the place of the buffer that it describes.
// Elements outside of the buffer arrive as zero and are not stored, so no guards are needed.
#box = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [8, 1], order = [1, 0]>
// CHECK-LABEL: gpu.func @tensor_maps
// CHECK-SAME: !gl.tensor_map<memref<?x5000xbf16>, box = [8, 256]>
gpu.module @tensor_maps {
  gpu.func @tensor_maps(%x: !gl.tensor_map<memref<?x5000xbf16>, box = [8, 256]>, %y: !gl.tensor_map<memref<?x5000xbf16>, box = [8, 256]>)
      kernel attributes {gl.num_warps = 8 : i64} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c256 = arith.constant 256 : index
    %bytes = arith.constant 4096 : index
    %even = arith.constant false
    %b = gpu.block_id x
    %c = gpu.block_id y
    %m = arith.muli %b, %c8 : index
    %n = arith.muli %c, %c256 : index
    %memory = gl.local_alloc : !gl.memdesc<8x256xbf16, #plain>
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<1>
    gl.fence_mbarrier_init
    gl.barrier
    gl.mbarrier_expect %full[%c0], %bytes : !gl.mbarrier<1>
    // CHECK: gl.tensor_load %{{.*}}[%[[M:.*]], %[[N:.*]]], %[[MEMORY:.*]], %{{.*}}[%{{.*}}]
    gl.tensor_load %x[%m, %n], %memory, %full[%c0]
        : !gl.tensor_map<memref<?x5000xbf16>, box = [8, 256]>, !gl.memdesc<8x256xbf16, #plain>, !gl.mbarrier<1>
    gl.mbarrier_wait %full[%c0], %even : !gl.mbarrier<1>
    %t = gl.local_load %memory : !gl.memdesc<8x256xbf16, #plain> -> tensor<8x256xbf16, #box>
    %v = arith.extf %t : tensor<8x256xbf16, #box> to tensor<8x256xf32, #box>
    %double = arith.addf %v, %v : tensor<8x256xf32, #box>
    %out = arith.truncf %double : tensor<8x256xf32, #box> to tensor<8x256xbf16, #box>
    gl.local_store %out, %memory : tensor<8x256xbf16, #box>, !gl.memdesc<8x256xbf16, #plain>
    // CHECK: gl.fence_async
    gl.fence_async
    gl.barrier
    // CHECK: gl.tensor_store %[[MEMORY]], %{{.*}}[%[[M]], %[[N]]]
    gl.tensor_store %memory, %y[%m, %n] : !gl.memdesc<8x256xbf16, #plain>, !gl.tensor_map<memref<?x5000xbf16>, box = [8, 256]>
    // CHECK: gl.bulk_commit
    gl.bulk_commit
    // CHECK: gl.bulk_wait 0 read
    gl.bulk_wait 0 read
    gpu.return
  }
}

// Online softmax by chunks: each thread carries a maximum and a sum for each of its places in the tile, and they are
// combined across threads once, after the loop. Places beyond the row hold -inf; a maximum of -inf is replaced by 0 in
// exponents, as -inf - (-inf) is NaN.
#kept = #gl.slice<axis = 1, parent = #row>
// CHECK-LABEL: gpu.func @online_softmax
gpu.module @online_softmax {
  gpu.func @online_softmax(%x: memref<?x50257xf32>, %y: memref<?x50257xf32>) kernel attributes {gl.num_warps = 8 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %chunks = arith.constant 25 : index
    %columns = arith.constant 50257 : index
    %outside = arith.constant 0xFF800000 : f32
    %empty = arith.constant dense<0xFF800000> : tensor<1x2048xf32, #row>
    %zeros = arith.constant dense<0.0> : tensor<1x2048xf32, #row>
    %m = gpu.block_id x
    // CHECK: scf.for {{.*}} iter_args({{.*}}) -> (tensor<1x2048xf32, {{.*}}>, tensor<1x2048xf32, {{.*}}>)
    %maxima, %sums = scf.for %c = %c0 to %chunks step %c1 iter_args(%max = %empty, %sum = %zeros)
        -> (tensor<1x2048xf32, #row>, tensor<1x2048xf32, #row>) {
      %v = gl.load %x at affine_map<(m, c, r, n) -> (m + r, c * 2048 + n)>(%m, %c)
           where affine_map<(m, c, r, n)[s0] -> (c * 2048 + n, s0)>[%columns] other %outside : f32
           : memref<?x50257xf32> -> tensor<1x2048xf32, #row>
      %larger = arith.maximumf %max, %v : tensor<1x2048xf32, #row>
      %none = arith.cmpf oeq, %larger, %empty : tensor<1x2048xf32, #row>
      %base = arith.select %none, %zeros, %larger : tensor<1x2048xi1, #row>, tensor<1x2048xf32, #row>
      %d0 = arith.subf %max, %base : tensor<1x2048xf32, #row>
      %e0 = math.exp %d0 : tensor<1x2048xf32, #row>
      %rescaled = arith.mulf %sum, %e0 : tensor<1x2048xf32, #row>
      %d1 = arith.subf %v, %base : tensor<1x2048xf32, #row>
      %e1 = math.exp %d1 : tensor<1x2048xf32, #row>
      %added = arith.addf %rescaled, %e1 : tensor<1x2048xf32, #row>
      scf.yield %larger, %added : tensor<1x2048xf32, #row>, tensor<1x2048xf32, #row>
    }
    // CHECK: %{{.*}}:2 = gl.reduce %{{.*}}, %{{.*}} axis 1
    %row_max, %row_sum = gl.reduce %maxima, %sums axis 1
        : (tensor<1x2048xf32, #row>, tensor<1x2048xf32, #row>) -> tensor<1xf32, #kept>, tensor<1xf32, #kept> combine {
    ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
      %zero = arith.constant 0.0 : f32
      %nothing = arith.constant 0xFF800000 : f32
      %larger = arith.maximumf %m0, %m1 : f32
      %none = arith.cmpf oeq, %larger, %nothing : f32
      %base = arith.select %none, %zero, %larger : f32
      %d0 = arith.subf %m0, %base : f32
      %e0 = math.exp %d0 : f32
      %r0 = arith.mulf %s0, %e0 : f32
      %d1 = arith.subf %m1, %base : f32
      %e1 = math.exp %d1 : f32
      %r1 = arith.mulf %s1, %e1 : f32
      %total = arith.addf %r0, %r1 : f32
      gl.yield %larger, %total : f32, f32
    }
    %max = gl.broadcast %row_max axis 1 : tensor<1xf32, #kept> -> tensor<1x2048xf32, #row>
    %sum = gl.broadcast %row_sum axis 1 : tensor<1xf32, #kept> -> tensor<1x2048xf32, #row>
    scf.for %c = %c0 to %chunks step %c1 {
      // CHECK: gl.load {{.*}} cache <l2 = evict_first>
      %v = gl.load %x at affine_map<(m, c, r, n) -> (m + r, c * 2048 + n)>(%m, %c)
           where affine_map<(m, c, r, n)[s0] -> (c * 2048 + n, s0)>[%columns] cache <l2 = evict_first>
           : memref<?x50257xf32> -> tensor<1x2048xf32, #row>
      %d = arith.subf %v, %max : tensor<1x2048xf32, #row>
      %e = math.exp %d : tensor<1x2048xf32, #row>
      %p = arith.divf %e, %sum : tensor<1x2048xf32, #row>
      gl.store %p, %y at affine_map<(m, c, r, n) -> (m + r, c * 2048 + n)>(%m, %c)
          where affine_map<(m, c, r, n)[s0] -> (c * 2048 + n, s0)>[%columns] : tensor<1x2048xf32, #row>, memref<?x50257xf32>
    }
    gpu.return
  }
}
