// RUN: norma-opt %s --split-input-file --mlir-print-local-scope --pass-pipeline='builtin.module(gpu.module(convert-gl-to-nvvm),canonicalize,cse)' | FileCheck %s
//
// Tiles become vectors of a thread's registers.

#b = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 2], order = [1, 0]>

// An unguarded access is one LLVM load per vector, at a constant offset; consecutive lanes and warps become one multiple of the
// thread id.
// CHECK-LABEL: llvm.func @copy(%arg0: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %arg1: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias})
// CHECK-SAME: gl.params = [#gl.param<pointer 0>, #gl.param<pointer 1>]
// CHECK-SAME: nvvm.minctasm = 6 : i32
// CHECK-SAME: nvvm.reqntid = array<i32: 64, 1, 1>
// CHECK: %[[ROW:.*]] = llvm.getelementptr %arg0[{{.*}}] : (!llvm.ptr<1>, i64)
// CHECK: %[[P:.*]] = llvm.getelementptr %[[ROW]]
// CHECK: llvm.load %[[P]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: %[[Q:.*]] = llvm.getelementptr %[[P]][512]
// CHECK: llvm.load %[[Q]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
gpu.module @m {
  gpu.func @copy(%x: memref<?x1024xbf16>, %y: memref<?x1024xbf16>) kernel attributes {gl.num_warps = 2 : i64, gl.min_ctas_per_sm = 6 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>} {
    %r = gpu.block_id x
    %0 = gl.load %x at affine_map<(r, a, b) -> (r + a, b)>(%r) vector 8 : memref<?x1024xbf16> -> tensor<1x1024xbf16, #b>
    gl.store %0, %y at affine_map<(r, a, b) -> (r + a, b)>(%r) vector 8 : tensor<1x1024xbf16, #b>, memref<?x1024xbf16>
    gpu.return
  }
}

// -----

#b = #gl.blocked<size_per_thread = [1, 4], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>

// A guard over the tile's axes alone is decided at compile time where possible: the first vector is whole, the second partial,
// the third and fourth are absent. A guard over a dynamic size is a comparison in 64 bits.
// CHECK-LABEL: llvm.func @guarded
// CHECK-SAME: %[[M:arg[0-9]+]]: i64
// CHECK-SAME: #gl.param<size 0>]
// CHECK: %[[ROWS:.*]] = arith.cmpi slt, %{{.*}}, %c0_i64 : i64
// CHECK: llvm.inline_asm has_side_effects "{{.*}}@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", {{.*}}, %[[ROWS]] :
// CHECK: %[[COLUMNS:.*]] = arith.cmpi slt, %{{.*}}, %c72_i32 : i32
// CHECK: %[[BOTH:.*]] = arith.andi %[[ROWS]], %[[COLUMNS]]
// CHECK: llvm.inline_asm {{.*}} %[[BOTH]] :
// CHECK-NOT: ld.global
// CHECK: llvm.inline_asm has_side_effects "@$5 st.global.v4.b32 [$4], {$0, $1, $2, $3};"
// CHECK: st.global
// CHECK-NOT: st.global
gpu.module @m {
  gpu.func @guarded(%x: memref<?x200xf32>, %y: memref<?x200xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>} {
    %r = gpu.block_id x
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %m = memref.dim %x, %c0 : memref<?x200xf32>
    %0 = gl.load %x at affine_map<(r, a, b) -> (r + a, b)>(%r) where affine_map<(r, a, b)[s0] -> (r + a, s0, b, 200)>[%m] other %zero : f32 vector 4 : memref<?x200xf32> -> tensor<1x512xf32, #b>
    gl.store %0, %y at affine_map<(r, a, b) -> (r + a, b)>(%r) where affine_map<(r, a, b)[s0] -> (r + a, s0, b, 200)>[%m] vector 4 : tensor<1x512xf32, #b>, memref<?x200xf32>
    gpu.return
  }
}

// -----

#b = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [4, 8], warps_per_cta = [1, 1], order = [1, 0]>
#rows = #gl.slice<axis = 1, parent = #b>

// Rows that share a warp are reduced by shuffles over the lanes of a row; one lane of each row stores the result.
// CHECK-LABEL: llvm.func @rows
// CHECK: arith.addf
// CHECK-DAG: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1_i32
// CHECK-DAG: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c2_i32
// CHECK-DAG: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c4_i32
// CHECK-NOT: nvvm.shfl
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK: st.global.b32 {{.*}}, %[[FIRST]] :
gpu.module @m {
  gpu.func @rows(%x: memref<4x16xf32>, %y: memref<4xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = [4, 4]>} {
    %0 = gl.load %x at affine_map<(a, b) -> (a, b)>() : memref<4x16xf32> -> tensor<4x16xf32, #b>
    %1 = gl.reduce %0 axis 1 : (tensor<4x16xf32, #b>) -> tensor<4xf32, #rows> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %1, %y at affine_map<(a) -> (a)>() : tensor<4xf32, #rows>, memref<4xf32>
    gpu.return
  }
}

// -----

// The largest of widened values is the widened largest value: pairs of narrow values are combined as words along both axes, and the
// halves of the last word once. Lanes exchange wide values, and so does any sum.
// CHECK-LABEL: llvm.func @narrow
// CHECK-COUNT-3: arith.maximumf %{{.*}}, %{{.*}} : vector<2xbf16>
// CHECK-NOT: arith.maximumf %{{.*}}, %{{.*}} : vector<2xbf16>
// CHECK: arith.maximumf %{{.*}}, %{{.*}} : vector<1xbf16>
// CHECK: nvvm.shfl.sync bfly {{.*}} : f32 -> f32
// CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
#tile = #gl.linear<register = [[0, 0, 1], [0, 0, 2], [1, 0, 0]], lane = [[0, 1, 0], [0, 2, 0], [0, 4, 0], [0, 8, 0], [0, 16, 0]], warp = [], block = []>
#inner = #gl.slice<axis = 2, parent = #tile>
#outer = #gl.slice<axis = 0, parent = #inner>
#none = #gl.slice<axis = 0, parent = #outer>
gpu.module @m {
  gpu.func @narrow(%x: memref<2x32x4xbf16>, %y: memref<2xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = [16, 16]>} {
    %0 = gl.load %x at affine_map<(a, b, c) -> (a, b, c)>() vector 4 : memref<2x32x4xbf16> -> tensor<2x32x4xbf16, #tile>
    %1 = arith.extf %0 : tensor<2x32x4xbf16, #tile> to tensor<2x32x4xf32, #tile>
    %2 = gl.reduce %1 axis 2 : (tensor<2x32x4xf32, #tile>) -> tensor<2x32xf32, #inner> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.maximumf %l, %r : f32
      gl.yield %s : f32
    }
    %3 = gl.reduce %2 axis 0 : (tensor<2x32xf32, #inner>) -> tensor<32xf32, #outer> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.maximumf %l, %r : f32
      gl.yield %s : f32
    }
    %4 = gl.reduce %3 axis 0 : (tensor<32xf32, #outer>) -> tensor<f32, #none> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.maximumf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %4, %y at affine_map<() -> (0)>() : tensor<f32, #none>, memref<2xf32>
    %5 = gl.reduce %1 axis 2 : (tensor<2x32x4xf32, #tile>) -> tensor<2x32xf32, #inner> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %5, %y at affine_map<(a, b) -> (a)>() : tensor<2x32xf32, #inner>, memref<2xf32>
    gpu.return
  }
}

// -----

// A 32-bit integer is reduced over all lanes of a warp by one instruction, and over some of the lanes by shuffles.
// CHECK-LABEL: llvm.func @integers
// CHECK-NOT: nvvm.shfl
// CHECK: nvvm.redux.sync umax %{{.*}}, %c-1_i32 : i32 -> i32
// CHECK-COUNT-3: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.redux
// CHECK: llvm.return
#line = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
#none = #gl.slice<axis = 0, parent = #line>
#rows_of_8 = #gl.linear<register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = [], block = []>
gpu.module @m {
  gpu.func @integers(%x: memref<32xi32>, %y: memref<4x8xi32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = [4, 4]>} {
    %0 = gl.load %x at affine_map<(a) -> (a)>() : memref<32xi32> -> tensor<32xi32, #line>
    %1 = gl.reduce %0 axis 0 : (tensor<32xi32, #line>) -> tensor<i32, #none> combine {
    ^bb0(%l: i32, %r: i32):
      %s = arith.maxui %l, %r : i32
      gl.yield %s : i32
    }
    gl.store %1, %x at affine_map<() -> (0)>() : tensor<i32, #none>, memref<32xi32>
    %2 = gl.load %y at affine_map<(a, b) -> (a, b)>() : memref<4x8xi32> -> tensor<4x8xi32, #rows_of_8>
    %3 = gl.reduce %2 axis 1 : (tensor<4x8xi32, #rows_of_8>) -> tensor<4xi32, #gl.slice<axis = 1, parent = #rows_of_8>> combine {
    ^bb0(%l: i32, %r: i32):
      %s = arith.maxui %l, %r : i32
      gl.yield %s : i32
    }
    gl.store %3, %y at affine_map<(a) -> (a, 0)>() : tensor<4xi32, #gl.slice<axis = 1, parent = #rows_of_8>>, memref<4x8xi32>
    gpu.return
  }
}

// -----

#b = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
#partial = #gl.linear<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 1], [0, 2]], block = []>
#gathered = #gl.linear<register = [[0, 1], [0, 2]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]], block = []>

// One partial result per warp goes through shared memory: one lane writes it, and every thread reads all of them as a vector.
// CHECK-LABEL: llvm.mlir.global internal @crossing_shared()
// CHECK-SAME: addr_space = 3
// CHECK-SAME: !llvm.array<16 x i8>
// CHECK: llvm.func @crossing
// CHECK-COUNT-5: nvvm.shfl.sync
// CHECK: llvm.inline_asm has_side_effects "@$1 st.shared.b32 [$0], $2;"
// CHECK: nvvm.barrier
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
gpu.module @m {
  gpu.func @crossing(%x: memref<128xf32>, %y: memref<1xf32>) kernel attributes {gl.num_warps = 4 : i64, gl.shared_bytes = 16 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (512, 4)>, sizes = [], alignments = [4, 4]>} {
    %0 = gl.load %x at affine_map<(a, b) -> (b)>() : memref<128xf32> -> tensor<1x128xf32, #b>
    %1 = gl.warp_reduce %0 axis 1 : (tensor<1x128xf32, #b>) -> tensor<1x4xf32, #partial> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    %2 = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
    gl.local_store %1, %2 : tensor<1x4xf32, #partial>, !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
    gl.barrier
    %3 = gl.local_load %2 : !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>> -> tensor<1x4xf32, #gathered>
    %4 = gl.reduce %3 axis 1 : (tensor<1x4xf32, #gathered>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #gathered>> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %4, %y at affine_map<(a) -> (a)>() : tensor<1xf32, #gl.slice<axis = 1, parent = #gathered>>, memref<1xf32>
    gpu.return
  }
}

// -----

#b = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>

// A stride that is known only at launch is a parameter.
// CHECK-LABEL: llvm.func @strided
// CHECK-SAME: %[[STRIDE:arg[0-9]+]]: i64
// CHECK-SAME: #gl.param<stride 0>]
// CHECK: arith.muli %{{.*}}, %[[STRIDE]] : i64
gpu.module @m {
  gpu.func @strided(%x: memref<?x32xf32, strided<[?, 1]>>, %y: memref<?x32xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [4, 4]>} {
    %r = gpu.block_id x
    %0 = gl.load %x at affine_map<(r, a, b) -> (r + a, b)>(%r) : memref<?x32xf32, strided<[?, 1]>> -> tensor<1x32xf32, #b>
    gl.store %0, %y at affine_map<(r, a, b) -> (r + a, b)>(%r) cache <l1 = evict_first, l2 = evict_last> : tensor<1x32xf32, #b>, memref<?x32xf32>
    gpu.return
  }
}

// CHECK: createpolicy.fractional.L2::evict_last.b64 policy, 1.0; st.global.L1::evict_first.L2::cache_hint.b32 [$1], $0, policy;

// -----

// Scalars are parameters after the pointers, an index as i64; buffers that may alias have no noalias.
#b = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
// CHECK-LABEL: llvm.func @in_place(%arg0: !llvm.ptr<1> {llvm.align = 4 : i64}, %arg1: !llvm.ptr<1> {llvm.align = 4 : i64},
// CHECK-SAME: %arg2: !llvm.ptr<1> {llvm.align = 4 : i64, llvm.noalias, llvm.readonly}, %arg3: f32, %arg4: i64)
// CHECK-SAME: gl.params = [#gl.param<pointer 0>, #gl.param<pointer 1>, #gl.param<pointer 2>, #gl.param<scalar 3>, #gl.param<scalar 4>]
gpu.module @m {
  gpu.func @in_place(%x: memref<1x32xf32>, %y: memref<1x32xf32>, %z: memref<1x32xf32>, %s: f32, %k: index) kernel attributes {
      gl.num_warps = 1 : i64, gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (128, 128)>, sizes = [],
                                                     alignments = [4, 4, 4], aliases = [1, 0]>} {
    %0 = gl.load %x at affine_map<(r, n) -> (r, n)>() vector 1 : memref<1x32xf32> -> tensor<1x32xf32, #b>
    %1 = tensor.splat %s : tensor<1x32xf32, #b>
    %2 = arith.addf %0, %1 : tensor<1x32xf32, #b>
    gl.store %2, %y at affine_map<(r, n) -> (r, n)>() vector 1 : tensor<1x32xf32, #b>, memref<1x32xf32>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []>

// An i1 takes a byte in memory.
// CHECK-LABEL: llvm.func @bits
// CHECK: %[[P:.*]] = llvm.getelementptr %arg0{{.*}} i8
// CHECK: %[[L:.*]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xi8>
// CHECK: %[[B:.*]] = arith.trunci %[[L]] : vector<4xi8> to vector<4xi1>
// CHECK: %[[E:.*]]:4 = vector.to_elements %[[B]]
// CHECK: %[[N0:.*]] = arith.xori %[[E]]#0
// CHECK: %[[N:.*]] = vector.from_elements %[[N0]],
// CHECK: %[[S:.*]] = arith.extui %[[N]] : vector<4xi1> to vector<4xi8>
// CHECK: llvm.store %[[S]]
gpu.module @m {
  gpu.func @bits(%x: memref<128xi1>, %y: memref<128xi1>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (128, 128)>, sizes = [], alignments = [4, 4]>} {
    %0 = gl.load %x at affine_map<(n) -> (n)>() vector 4 : memref<128xi1> -> tensor<128xi1, #line>
    %true = arith.constant dense<true> : tensor<128xi1, #line>
    %1 = arith.xori %0, %true : tensor<128xi1, #line>
    gl.store %1, %y at affine_map<(n) -> (n)>() vector 4 : tensor<128xi1, #line>, memref<128xi1>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>

// An op on predicates is done element by element.
// CHECK-LABEL: llvm.func @predicates
// CHECK: arith.cmpf ogt, %{{.*}}, %{{.*}} : f32
// CHECK: arith.cmpf ogt, %{{.*}}, %{{.*}} : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: %[[Y:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: vector.from_elements %{{.*}}, %[[Y]] : vector<2xf32>
gpu.module @m {
  gpu.func @predicates(%x: memref<64xf32>, %y: memref<64xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 256)>, sizes = [], alignments = [8, 8]>} {
    %0 = gl.load %x at affine_map<(n) -> (n)>() vector 2 : memref<64xf32> -> tensor<64xf32, #line>
    %zero = arith.constant dense<0.0> : tensor<64xf32, #line>
    %1 = arith.cmpf ogt, %0, %zero : tensor<64xf32, #line>
    %2 = arith.select %1, %0, %zero : tensor<64xi1, #line>, tensor<64xf32, #line>
    gl.store %2, %y at affine_map<(n) -> (n)>() vector 2 : tensor<64xf32, #line>, memref<64xf32>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>

// f32 become floats of 16 bits in pairs, the later one in the high half.
// CHECK-LABEL: llvm.func @halves
// CHECK: %[[FLOATS:.*]]:2 = vector.to_elements
// CHECK: nvvm.convert.f32x2.to.bf16x2 %[[FLOATS]]#1, %[[FLOATS]]#0 {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
// CHECK: nvvm.convert.f32x2.to.f16x2 %[[FLOATS]]#1, %[[FLOATS]]#0 {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
gpu.module @m {
  gpu.func @halves(%x: memref<64xf32>, %y: memref<64xbf16>, %z: memref<64xf16>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 256)>, sizes = [], alignments = [8, 4, 4]>} {
    %0 = gl.load %x at affine_map<(n) -> (n)>() vector 2 : memref<64xf32> -> tensor<64xf32, #line>
    %1 = arith.truncf %0 : tensor<64xf32, #line> to tensor<64xbf16, #line>
    %2 = arith.truncf %0 : tensor<64xf32, #line> to tensor<64xf16, #line>
    gl.store %1, %y at affine_map<(n) -> (n)>() vector 2 : tensor<64xbf16, #line>, memref<64xbf16>
    gl.store %2, %z at affine_map<(n) -> (n)>() vector 2 : tensor<64xf16, #line>, memref<64xf16>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>

// 8-bit floats are copied as bytes, zeros included.
// CHECK-LABEL: llvm.func @float8
// CHECK: llvm.inline_asm {{.*}}ld.global.b16
// CHECK: llvm.inline_asm {{.*}}st.global.b16
gpu.module @m {
  gpu.func @float8(%x: memref<50xf8E4M3FN>, %y: memref<50xf8E4M3FN>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (50, 50)>, sizes = [], alignments = [2, 2]>} {
    %zero = arith.constant 0.0 : f8E4M3FN
    %0 = gl.load %x at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 50)>[] other %zero : f8E4M3FN vector 2 : memref<50xf8E4M3FN> -> tensor<64xf8E4M3FN, #line>
    gl.store %0, %y at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 50)>[] vector 2 : tensor<64xf8E4M3FN, #line>, memref<50xf8E4M3FN>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>

// Neighbouring elements of a thread are converted in pairs, the later one in the high byte; constants become bit patterns.
// CHECK-LABEL: llvm.func @convert_float8
// CHECK: arith.constant dense<60> : vector<2xi8>
// CHECK: nvvm.convert.f8x2.to.f16x2 %{{.*}} : vector<2xi8>(f8E5M2) -> vector<2xf16>
// CHECK: arith.extf %{{.*}} : vector<2xf16> to vector<2xf32>
// CHECK: %[[FLOATS:.*]]:2 = vector.to_elements
// CHECK: nvvm.convert.f32x2.to.f8x2 %[[FLOATS]]#1, %[[FLOATS]]#0 {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
gpu.module @m {
  gpu.func @convert_float8(%x: memref<64xf8E5M2>, %y: memref<64xf8E4M3FN>, %z: memref<64xf8E5M2>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (64, 128)>, sizes = [], alignments = [2, 2, 2]>} {
    %0 = gl.load %x at affine_map<(n) -> (n)>() vector 2 : memref<64xf8E5M2> -> tensor<64xf8E5M2, #line>
    %1 = arith.extf %0 : tensor<64xf8E5M2, #line> to tensor<64xf32, #line>
    %2 = arith.truncf %1 : tensor<64xf32, #line> to tensor<64xf8E4M3FN, #line>
    gl.store %2, %y at affine_map<(n) -> (n)>() vector 2 : tensor<64xf8E4M3FN, #line>, memref<64xf8E4M3FN>
    %one = arith.constant dense<1.0> : tensor<64xf8E5M2, #line>
    gl.store %one, %z at affine_map<(n) -> (n)>() vector 2 : tensor<64xf8E5M2, #line>, memref<64xf8E5M2>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1], [2], [128], [256]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []>

// A guard may end within a vector. Whole vectors are accessed first, under the predicate that the guard holds for their last
// element. Then, behind a branch for vectors with some elements, elements are accessed one by one. Of the four vectors the
// first two are whole, the third ends at 377, and the fourth has no elements.
// CHECK-LABEL: llvm.func @tail
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK: %[[ALL:.*]] = arith.cmpi slt, %[[AT:.*]], %c118_i32
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[AT]], %c121_i32
// CHECK: %[[REST:.*]] = arith.cmpi sge, %[[AT]], %c118_i32
// CHECK: %[[SOME:.*]] = arith.andi %[[ANY]], %[[REST]]
// CHECK: %[[WHOLE:.*]] = llvm.inline_asm {{.*}} ld.global.v4.b32 {{.*}}, %[[ALL]] :
// CHECK-NOT: ld.global.v4
// CHECK: %[[PART:.*]] = scf.if %[[SOME]] -> (vector<4xf32>)
// CHECK-COUNT-4: ld.global.b32
// CHECK-NOT: ld.global
// CHECK: } else {
// CHECK: st.global.v4.b32 {{.*}}, %[[ALL]] :
// CHECK: scf.if %[[SOME]]
// CHECK-COUNT-4: st.global.b32
// CHECK-NOT: st.global
gpu.module @m {
  gpu.func @tail(%x: memref<377xf32>, %y: memref<377xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (1508, 1508)>, sizes = [], alignments = [16, 16]>} {
    %zero = arith.constant 0.0 : f32
    %0 = gl.load %x at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 377)>[] other %zero : f32 vector 4 : memref<377xf32> -> tensor<512xf32, #line>
    gl.store %0, %y at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 377)>[] vector 4 : tensor<512xf32, #line>, memref<377xf32>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1], [2], [128], [256]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []>
#none = #gl.linear<register = [], lane = [[], [], [], [], []], warp = [], block = []>

// A tile shifted by a remainder, which is 0 to 3: only its first vector has a head and only its last has a tail.
// CHECK-LABEL: llvm.func @shifted
// CHECK: %[[SHIFT:.*]] = arith.andi %{{.*}}, %c3_i64
// CHECK: ld.global.v4
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK: ld.global.v4
// CHECK-COUNT-2: scf.if
// CHECK-NOT: scf.if
gpu.module @m {
  gpu.func @shifted(%x: memref<?x509xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>} {
    %b = gpu.block_id x
    %zero = arith.constant 0.0 : f32
    %0 = gl.load %x at affine_map<(b, n) -> (b, n - b mod 4)>(%b)
      where affine_map<(b, n) -> (n - b mod 4, 509, b mod 4 - n, 1)>[] other %zero : f32 vector 4 : memref<?x509xf32> -> tensor<512xf32, #line>
    %1 = gl.reduce %0 axis 0 : (tensor<512xf32, #line>) -> tensor<f32, #none> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %1, %x at affine_map<(b) -> (b, 0)>(%b) : tensor<f32, #none>, memref<?x509xf32>
    gpu.return
  }
}

// -----

// A CTA's part of a tile begins at an offset given by its rank. Each of four lanes that hold the same partial result sends it
// to another CTA; of CTAs that hold the same result, the first stores it.
// CHECK-LABEL: llvm.func @cluster
// CHECK-SAME: nvvm.cluster_dim = array<i32: 4, 1, 1>
// CHECK: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.cluster.arrive.relaxed {aligned}
// CHECK: nvvm.read.ptx.sreg.cluster.ctarank
// CHECK: nvvm.cluster.wait {aligned}
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.mapa
// CHECK: llvm.inline_asm has_side_effects "@$2 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $3, [$1];"
// CHECK: scf.while
// CHECK: nvvm.mbarrier.try_wait
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK: llvm.inline_asm has_side_effects "@$2 st.global.b32 [$1], $0;"
#row = #gl.linear<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = [[1, 0], [2, 0]]>
#ctas = #gl.slice<axis = 1, parent = #row>
#gathered = #gl.linear<register = [[1], [2]], lane = [[0], [0], [0], [0], [0]], warp = [], block = [[0], [0]]>
#done = #gl.slice<axis = 0, parent = #gathered>
gpu.module @m {
  gpu.func @cluster(%x: memref<128xf32>, %y: memref<1xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.shared_bytes = 24 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (4)>, traffic = affine_map<() -> (512, 4)>, sizes = [], alignments = [4, 4], cluster = 4>} {
    %c0 = arith.constant 0 : index
    %bytes = arith.constant 16 : index
    %even = arith.constant false
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<4xf32, #gl.plain<order = [0]>>
    %b = gl.mbarrier_alloc {offset = 16 : i64} : !gl.mbarrier<1>
    gl.mbarrier_init %b, 1 : !gl.mbarrier<1>
    gl.fence_mbarrier_init
    gl.cluster_arrive relaxed
    %0 = gl.load %x at affine_map<(c, n) -> (c * 32 + n)>() : memref<128xf32> -> tensor<4x32xf32, #row>
    %1 = gl.reduce %0 axis 1 : (tensor<4x32xf32, #row>) -> tensor<4xf32, #ctas> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    gl.cluster_wait
    gl.mbarrier_expect %b[%c0], %bytes : !gl.mbarrier<1>
    gl.remote_store %1, %m, %b[%c0] : tensor<4xf32, #ctas>, !gl.memdesc<4xf32, #gl.plain<order = [0]>>, !gl.mbarrier<1>
    gl.mbarrier_wait %b[%c0], %even : !gl.mbarrier<1>
    %2 = gl.local_load %m : !gl.memdesc<4xf32, #gl.plain<order = [0]>> -> tensor<4xf32, #gathered>
    %3 = gl.reduce %2 axis 0 : (tensor<4xf32, #gathered>) -> tensor<f32, #done> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    %4 = tensor.extract %3[] : tensor<f32, #done>
    %5 = tensor.splat %4 : tensor<f32, #done>
    gl.store %5, %y at affine_map<() -> (0)>() : tensor<f32, #done>, memref<1xf32>
    gpu.return
  }
}

// -----

// If all lanes hold results of their own, each sends them to all CTAs. The stages of a memory follow one another. An arrival at
// the mbarriers of other CTAs releases at CTA scope, which waits for no store to global memory.
// CHECK-LABEL: llvm.func @own_results
// CHECK: llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
// CHECK-COUNT-2: st.async.shared::cluster
// CHECK-NOT: st.async
// CHECK: nvvm.mbarrier.arrive %{{.*}} : !llvm.ptr<7>
#rows = #gl.linear<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = [[1, 0]]>
gpu.module @m {
  gpu.func @own_results(%x: memref<2x32xf32>, %slot: index) kernel attributes {gl.num_warps = 1 : i64, gl.shared_bytes = 528 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (256, 0)>, sizes = [], alignments = [4], cluster = 2>} {
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<2x2x32xf32, #gl.plain<order = [2, 1, 0]>>
    %b = gl.mbarrier_alloc {offset = 512 : i64} : !gl.mbarrier<2>
    %0 = gl.load %x at affine_map<(c, n) -> (c, n)>() : memref<2x32xf32> -> tensor<2x32xf32, #rows>
    %s = gl.memdesc_index %m[%slot] : !gl.memdesc<2x2x32xf32, #gl.plain<order = [2, 1, 0]>> -> !gl.memdesc<2x32xf32, #gl.plain<order = [1, 0]>>
    gl.remote_store %0, %s, %b[%slot] : tensor<2x32xf32, #rows>, !gl.memdesc<2x32xf32, #gl.plain<order = [1, 0]>>, !gl.mbarrier<2>
    gl.remote_arrive %b[%slot] frees %m : !gl.mbarrier<2>, !gl.memdesc<2x2x32xf32, #gl.plain<order = [2, 1, 0]>>
    gpu.return
  }
}

// -----

// A CTA's part of the cluster's tile lies in its shared memory as if it were the whole tile; only guards and global accesses
// use the CTA's rank.
// CHECK-LABEL: llvm.func @part_of_a_cluster
// CHECK: llvm.mlir.addressof @part_of_a_cluster_shared
// CHECK-NOT: nvvm.read.ptx.sreg.cluster.ctarank
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// CHECK: nvvm.read.ptx.sreg.cluster.ctarank
// CHECK: llvm.store %{{.*}} : vector<1xf32>, !llvm.ptr<1>
#parts = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [], block = [[1, 0]]>
gpu.module @m {
  gpu.func @part_of_a_cluster(%y: memref<2x64xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.shared_bytes = 256 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 512)>, sizes = [], alignments = [16], cluster = 2>} {
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<1x64xf32, #gl.plain<order = [1, 0]>>
    %0 = gl.local_load %m : !gl.memdesc<1x64xf32, #gl.plain<order = [1, 0]>> -> tensor<2x64xf32, #parts>
    gl.store %0, %y at affine_map<(c, n) -> (c, n)>() : tensor<2x64xf32, #parts>, memref<2x64xf32>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = [], block = []>

// Eight elements at any alignment: the words that hold the first and the last of them are read (the same words if the shift is
// 0), then come 11 selects by the bits of the shift that count registers, and four funnel shifts by the remaining bytes. The
// last element in a whole word is at 4087; elements beyond it are read one by one.
// CHECK-LABEL: llvm.func @covered
// CHECK: %[[BEFORE:.*]] = arith.andi %{{.*}}, %c7_i64
// CHECK: arith.cmpi slt, %{{.*}}, %c4081_i32
// CHECK: %[[LOW:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : {{.*}}, bf16
// CHECK: %[[LAST:.*]] = arith.addi %[[BEFORE]], %c7_i64
// CHECK: %[[FURTHER:.*]] = arith.andi %[[LAST]], %c-8_i64
// CHECK: llvm.getelementptr %[[LOW]][%[[FURTHER]]]
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-COUNT-11: llvm.select
// CHECK-NOT: llvm.select
// CHECK-COUNT-4: arith.shrui %{{.*}} : i64
// CHECK: scf.if
// CHECK-COUNT-8: ld.global.b16
// CHECK-NOT: ld.global
gpu.module @m {
  gpu.func @covered(%x: memref<4095xbf16>, %y: memref<?x256xbf16>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [1, 0], alignments = [16, 16]>} {
    %b = gpu.block_id x
    %zero = arith.constant 0.0 : bf16
    %0 = gl.load %x at affine_map<(b, n) -> (b + n)>(%b) where affine_map<(b, n) -> (b + n, 4095)>[] other %zero : bf16
      vector 8 alignment 2 : memref<4095xbf16> -> tensor<256xbf16, #line>
    gl.store %0, %y at affine_map<(b, n) -> (b, n)>(%b) vector 8 : tensor<256xbf16, #line>, memref<?x256xbf16>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = [], block = []>

// A guard ends in vectors at aligned places: each is read as a whole. If the buffer ends within the CTA's reads, elements
// are read one by one, behind a branch that waits for no load. Then elements that the guard masks are replaced, at registers
// that are not known to pass the guard.
// CHECK-LABEL: llvm.func @whole_words
// CHECK-NOT: ld.global.b16
// CHECK: ld.global.v4.b32
// CHECK-NOT: llvm.select
// CHECK: scf.if
// CHECK-COUNT-2: llvm.load
// CHECK-COUNT-6: ld.global.b16
// CHECK-COUNT-6: llvm.select
// CHECK-NOT: {{llvm.select|ld.global}}
gpu.module @m {
  gpu.func @whole_words(%x: memref<?x250xbf16>, %y: memref<?x256xbf16>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>} {
    %b = gpu.block_id x
    %zero = arith.constant 0.0 : bf16
    %0 = gl.load %x at affine_map<(b, n) -> (b * 4, n)>(%b) where affine_map<(b, n) -> (n, 250)>[] other %zero : bf16
      vector 8 alignment 16 : memref<?x250xbf16> -> tensor<256xbf16, #line>
    gl.store %0, %y at affine_map<(b, n) -> (b, n)>(%b) vector 8 : tensor<256xbf16, #line>, memref<?x256xbf16>
    gpu.return
  }
}

// -----

#line = #gl.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []>

// Registers hold whole elements, so no shift is left. The end of a buffer whose outermost size is dynamic is a parameter.
// CHECK-LABEL: llvm.func @covered_registers
// CHECK-SAME: gl.params = [#gl.param<pointer 0>, #gl.param<pointer 1>, #gl.param<size 0>]
// CHECK: arith.muli %arg2, %c7_i64
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-COUNT-9: llvm.select
// CHECK-NOT: {{llvm.select|arith.shrui}}
// CHECK: scf.if
gpu.module @m {
  gpu.func @covered_registers(%x: memref<?x7xf32>, %y: memref<?x128xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [1, 0], alignments = [16, 16]>} {
    %b = gpu.block_id x
    %0 = gl.load %x at affine_map<(b, n) -> (b, n)>(%b) vector 4 alignment 4 : memref<?x7xf32> -> tensor<128xf32, #line>
    gl.store %0, %y at affine_map<(b, n) -> (b, n)>(%b) vector 4 : tensor<128xf32, #line>, memref<?x128xf32>
    gpu.return
  }
}

// -----

// cp.async of 16 bytes bypasses L1, shorter ones do not. Vectors that guards mask as a whole are not read, but filled with
// zeros; if a guard ends within a vector, only the bytes that it admits are read. 64 threads share 512 elements, 4 at a time.
// CHECK-LABEL: llvm.func @async_copy
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[P:.*]], 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK: %[[THERE:.*]] = arith.cmpi slt, %{{.*}}, %c144_i32
// CHECK: %[[BYTES:.*]] = llvm.select %[[THERE]], %c16_i32, %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]] : !llvm.ptr<3>, !llvm.ptr<1>, i32
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK: %[[SOME:.*]] = arith.muli %{{.*}}, %c4_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache = ca, %[[SOME]]
// CHECK: nvvm.cp.async.wait.group 1
gpu.module @m {
  gpu.func @async_copy(%x: memref<?x400xf32>, %n: index) kernel attributes {gl.num_warps = 2 : i64, gl.shared_bytes = 2048 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>} {
    %r = gpu.block_id x
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<512xf32, #gl.plain<order = [0]>>
    gl.async_copy %x at affine_map<(r, a) -> (r, a)>(%r) where affine_map<(r, a) -> (a, 400)>[], %m vector 4
        : memref<?x400xf32>, !gl.memdesc<512xf32, #gl.plain<order = [0]>>
    gl.async_commit
    gl.async_copy %x at affine_map<(r, a) -> (r, a)>(%r) where affine_map<(r, a)[s0] -> (a, s0)>[%n], %m vector 2
        : memref<?x400xf32>, !gl.memdesc<512xf32, #gl.plain<order = [0]>>
    gl.async_wait 1
    gpu.return
  }
}

// -----

// Elements that cp.async cannot move go through registers, all loaded before any is stored. A memory with fewer elements than
// the CTA has threads is copied by the first threads.
// CHECK-LABEL: llvm.func @through_registers
// CHECK-NOT: cp.async
// CHECK: ld.global.b16
// CHECK-NOT: llvm.store
// CHECK: ld.global.b16
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : vector<1xbf16>, !llvm.ptr<3>
// CHECK: llvm.store
// CHECK: scf.if
// CHECK-NEXT: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache = ca :
gpu.module @m {
  gpu.func @through_registers(%x: memref<?x61xbf16>, %y: memref<16xf32>, %n: index) kernel attributes {gl.num_warps = 1 : i64,
      gl.shared_bytes = 192 : i64, gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>,
      sizes = [0, 0], alignments = [16, 16]>} {
    %r = gpu.block_id x
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
    gl.async_copy %x at affine_map<(r, a) -> (r, a)>(%r) where affine_map<(r, a)[s0] -> (a, s0)>[%n], %m vector 1
        : memref<?x61xbf16>, !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
    %o = gl.local_alloc {offset = 128 : i64} : !gl.memdesc<16xf32, #gl.plain<order = [0]>>
    gl.async_copy %y at affine_map<(a) -> (a)>(), %o vector 1 : memref<16xf32>, !gl.memdesc<16xf32, #gl.plain<order = [0]>>
    gpu.return
  }
}

// -----

// A group all of whose elements go through registers is neither committed nor waited for: threads only wait for one another. A
// later group is.
// CHECK-LABEL: llvm.func @only_through_registers
// CHECK-NOT: cp.async
// CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : vector<1xbf16>, !llvm.ptr<3>
// CHECK-NOT: cp.async
// CHECK: nvvm.barrier
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
gpu.module @m {
  gpu.func @only_through_registers(%x: memref<?x61xbf16>, %y: memref<32xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.shared_bytes = 192 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>} {
    %r = gpu.block_id x
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<32xbf16, #gl.plain<order = [0]>>
    gl.async_copy %x at affine_map<(r, a) -> (r, a)>(%r), %m vector 1 : memref<?x61xbf16>, !gl.memdesc<32xbf16, #gl.plain<order = [0]>>
    gl.async_commit
    gl.async_wait 0
    gl.barrier
    %o = gl.local_alloc {offset = 64 : i64} : !gl.memdesc<32xf32, #gl.plain<order = [0]>>
    gl.async_copy %y at affine_map<(a) -> (a)>(), %o vector 1 : memref<32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
    gl.async_commit
    gl.async_wait 0
    gpu.return
  }
}

// -----

// One thread draws, resets the counter if its draw is the last, and broadcasts the draw through shared memory. The counter is
// written, so its parameter is not readonly.
// CHECK-LABEL: llvm.func @drawn
// CHECK-SAME: (%[[COUNTER:.*]]: !llvm.ptr<1> {llvm.align = 256 : i64, llvm.noalias}
// CHECK: scf.if
// CHECK: %[[OLD:.*]] = llvm.atomicrmw add %[[COUNTER]], %{{.*}} syncscope("device") monotonic {alignment = 8 : i64} : !llvm.ptr<1>, i64
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %[[OLD]], %{{.*}} : i64
// CHECK: scf.if %[[IS_LAST]]
// CHECK: llvm.atomicrmw xchg %[[COUNTER]], %{{.*}} syncscope("device") monotonic
// CHECK: %[[NUMBER:.*]] = arith.addi %{{.*}}, %[[OLD]] : i64
// CHECK: llvm.store %[[NUMBER]], %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr<3>
// CHECK: nvvm.mbarrier.arrive
// CHECK: scf.while
// CHECK: nvvm.mbarrier.try_wait
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> i64
gpu.module @m {
  gpu.func @drawn(%counter: memref<1xi64>, %tiles: index, %ctas: index, %slot: index) kernel attributes {gl.num_warps = 2 : i64, gl.shared_bytes = 32 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [256]>} {
    %even = arith.constant false
    %numbers = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<2x1xindex, #gl.plain<order = [1, 0]>>
    %drawn = gl.mbarrier_alloc {offset = 16 : i64} : !gl.mbarrier<2>
    gl.draw_tile %counter of %tiles behind %ctas, %numbers, %drawn[%slot] : memref<1xi64>, !gl.memdesc<2x1xindex, #gl.plain<order = [1, 0]>>, !gl.mbarrier<2>
    %next = gl.await_tile %numbers, %drawn[%slot], %even : !gl.memdesc<2x1xindex, #gl.plain<order = [1, 0]>>, !gl.mbarrier<2>
    gl.mbarrier_wait %drawn[%next], %even : !gl.mbarrier<2>
    gpu.return
  }
}

// -----

// In a cluster a thread of each CTA announces the number's bytes, and that of the first CTA draws and sends the number to both.
// CHECK-LABEL: llvm.func @drawn_by_a_cluster
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c8_i32
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK: scf.if %[[IS_FIRST]]
// CHECK: %[[OLD:.*]] = llvm.atomicrmw add
// CHECK: %[[NUMBER:.*]] = arith.addi %{{.*}}, %[[OLD]] : i64
// CHECK-COUNT-2: st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [$0], $2, [$1];{{.*}}, %[[NUMBER]]
// CHECK-NOT: st.async
// CHECK: scf.while
// CHECK: nvvm.mbarrier.try_wait
gpu.module @m {
  gpu.func @drawn_by_a_cluster(%counter: memref<1xi64>, %tiles: index, %clusters: index, %slot: index) kernel attributes {gl.num_warps = 2 : i64, gl.shared_bytes = 32 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [256], cluster = 2>} {
    %even = arith.constant false
    %numbers = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<2x1xindex, #gl.plain<order = [1, 0]>>
    %drawn = gl.mbarrier_alloc {offset = 16 : i64} : !gl.mbarrier<2>
    gl.draw_tile %counter of %tiles behind %clusters, %numbers, %drawn[%slot] : memref<1xi64>, !gl.memdesc<2x1xindex, #gl.plain<order = [1, 0]>>, !gl.mbarrier<2>
    %next = gl.await_tile %numbers, %drawn[%slot], %even : !gl.memdesc<2x1xindex, #gl.plain<order = [1, 0]>>, !gl.mbarrier<2>
    gl.mbarrier_wait %drawn[%next], %even : !gl.mbarrier<2>
    gpu.return
  }
}

// -----

// All threads make their writes visible to the copy engine; one issues the copies, commits their group, and waits for groups.
// CHECK-LABEL: llvm.func @sent
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: scf.if
// CHECK: nvvm.cp.async.bulk.global.shared.cta %{{.*}}, %{{.*}}, %{{.*}} : <1>, <3>
// CHECK: scf.if
// CHECK: nvvm.cp.async.bulk.global.shared.cta
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK: nvvm.cp.async.bulk.wait_group 0{{$}}
gpu.module @m {
  gpu.func @sent(%y: memref<?x64xf32>, %row: index, %count: index) kernel attributes {gl.num_warps = 2 : i64, gl.shared_bytes = 256 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<64xf32, #gl.plain<order = [0]>>
    gl.fence_async
    gl.bulk_store %m, %y at affine_map<(i) -> (i, 0)>(%row) : !gl.memdesc<64xf32, #gl.plain<order = [0]>>, memref<?x64xf32>
    gl.bulk_store %m, %y at affine_map<(i) -> (i + 1, 0)>(%row) count %count : !gl.memdesc<64xf32, #gl.plain<order = [0]>>, memref<?x64xf32>
    gl.bulk_commit
    gl.bulk_wait 1 read
    gl.bulk_wait 0
    gpu.return
  }
}

// -----

// A tensor map is a parameter of the kernel by value, one for each buffer and box; one thread issues a copy by it. The engine
// counts coordinates from the innermost.
// CHECK-LABEL: llvm.func @tensor_map
// CHECK-SAME: %[[MAP:arg[0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant}
// CHECK-SAME: gl.params = [#gl.param<pointer 0>, #gl.param<tensor_map 0 box = [4, 64]>]
// CHECK: %[[ROW:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: scf.if
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]], %{{.*}}, box[%c0_i32, %[[ROW]]] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]], %{{.*}}, box[%c64_i32, %[[ROW]]]
gpu.module @m {
  gpu.func @tensor_map(%x: memref<?x100xf32, strided<[104, 1]>>) kernel attributes {gl.num_warps = 1 : i64, gl.shared_bytes = 2176 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %bytes = arith.constant 2048 : index
    %r = gpu.block_id x
    %ring = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<2x4x64xf32, #gl.plain<order = [2, 1, 0]>>
    %full = gl.mbarrier_alloc {offset = 2048 : i64} : !gl.mbarrier<1>
    gl.mbarrier_expect %full[%c0], %bytes : !gl.mbarrier<1>
    %map = gl.tensor_map %x : !gl.tensor_map<memref<?x100xf32, strided<[104, 1]>>, box = [4, 64]>
    %left = gl.memdesc_index %ring[%c0] : !gl.memdesc<2x4x64xf32, #gl.plain<order = [2, 1, 0]>> -> !gl.memdesc<4x64xf32, #gl.plain<order = [1, 0]>>
    gl.tensor_load %map[%r, %c0], %left, %full[%c0]
        : !gl.tensor_map<memref<?x100xf32, strided<[104, 1]>>, box = [4, 64]>, !gl.memdesc<4x64xf32, #gl.plain<order = [1, 0]>>, !gl.mbarrier<1>
    %again = gl.tensor_map %x : !gl.tensor_map<memref<?x100xf32, strided<[104, 1]>>, box = [4, 64]>
    %right = gl.memdesc_index %ring[%c1] : !gl.memdesc<2x4x64xf32, #gl.plain<order = [2, 1, 0]>> -> !gl.memdesc<4x64xf32, #gl.plain<order = [1, 0]>>
    gl.tensor_load %again[%r, %c64], %right, %full[%c0]
        : !gl.tensor_map<memref<?x100xf32, strided<[104, 1]>>, box = [4, 64]>, !gl.memdesc<4x64xf32, #gl.plain<order = [1, 0]>>, !gl.mbarrier<1>
    gpu.return
  }
}

// -----

// One thread stores boxes, as part of its bulk groups. The buffer is written, so its parameter is not readonly.
// CHECK-LABEL: llvm.func @tensor_store
// CHECK-SAME: (%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias},
// CHECK-SAME: %[[MAP:arg[0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant}
// CHECK: %[[ROW:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: scf.if
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%c8_i32, %[[ROW]]] : !llvm.ptr, <3>
// CHECK: nvvm.cp.async.bulk.commit.group
gpu.module @m {
  gpu.func @tensor_store(%y: memref<?x100xf32, strided<[104, 1]>>) kernel attributes {gl.num_warps = 1 : i64, gl.shared_bytes = 1024 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>} {
    %c8 = arith.constant 8 : index
    %r = gpu.block_id x
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<4x64xf32, #gl.plain<order = [1, 0]>>
    gl.fence_async
    %map = gl.tensor_map %y : !gl.tensor_map<memref<?x100xf32, strided<[104, 1]>>, box = [4, 64]>
    gl.tensor_store %m, %map[%r, %c8] : !gl.memdesc<4x64xf32, #gl.plain<order = [1, 0]>>, !gl.tensor_map<memref<?x100xf32, strided<[104, 1]>>, box = [4, 64]>
    gl.bulk_commit
    gl.bulk_wait 0
    gpu.return
  }
}

// -----

// Every thread starts with as many registers. A partition first changes their number, and counts its threads from its first one.
// CHECK-LABEL: llvm.func @registers_handed_over
// CHECK-SAME: nvvm.maxnreg = 128 : i32
// CHECK: %[[ID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: scf.if
// CHECK-NEXT: nvvm.setmaxregister decrease 24
// CHECK: nvvm.setmaxregister increase 232
// CHECK: arith.subi %[[ID]], %c128_i32
// CHECK: llvm.store
#one = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], block = []>
gpu.module @m {
  gpu.func @registers_handed_over(%y: memref<128xf32>) kernel attributes {gl.num_warps = 8 : i64, gl.start_registers = 128 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 512)>, sizes = [], alignments = [16]>} {
    gl.warp_specialize warps [4, 4] registers [24, 232] {
    }, {
      %one = arith.constant 1.0 : f32
      %0 = tensor.splat %one : tensor<128xf32, #one>
      gl.store %0, %y at affine_map<(n) -> (n)>() : tensor<128xf32, #one>, memref<128xf32>
    }
    gpu.return
  }
}
