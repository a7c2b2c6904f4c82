// A reduction across warps goes through shared memory; one within a warp stays.
// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-expand-reductions | FileCheck %s

// CHECK-LABEL: gpu.func @example
// CHECK-SAME: (%[[X:.*]]: tensor<1x2048xf32, #[[ROWS:.*]]>)
// CHECK: %[[P:.*]] = gl.warp_reduce %[[X]] axis 1
// CHECK-SAME: -> tensor<1x4xf32, #gl.linear<register = [], lane = {{\[}}[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = {{\[}}[0, 1], [0, 2]], block = []>>
// CHECK: arith.addf
// CHECK: %[[M:.*]] = gl.local_alloc : <1x4xf32, #gl.plain<order = [1, 0]>>
// CHECK: gl.local_store %[[P]], %[[M]]
// CHECK: %[[G:.*]] = gl.local_load %[[M]]
// CHECK-SAME: -> tensor<1x4xf32, #gl.linear<register = {{\[}}[0, 1], [0, 2]], lane = {{\[}}[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = {{\[}}[0, 0], [0, 0]], block = []>>
// CHECK: %[[S:.*]] = gl.reduce %[[G]] axis 1
// CHECK-SAME: -> tensor<1xf32, #gl.slice<axis = 1, parent = #[[ROWS]]>>
// CHECK: arith.addf
// CHECK: gl.broadcast %[[S]] axis 1
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
gpu.module @kernels {
  gpu.func @example(%x: tensor<1x2048xf32, #rows>) {
    %s = gl.reduce %x axis 1 : (tensor<1x2048xf32, #rows>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    %y = gl.broadcast %s axis 1 : tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> -> tensor<1x2048xf32, #rows>
    "test.use"(%y) : (tensor<1x2048xf32, #rows>) -> ()
    gpu.return
  }
}

// -----

// Each row belongs to one warp: nothing to exchange.
// CHECK-LABEL: gpu.func @within_a_warp
// CHECK: gl.reduce
// CHECK-NOT: gl.local_alloc
// CHECK-NOT: gl.warp_reduce
#packed = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [4, 1], order = [1, 0]>
gpu.module @kernels {
  gpu.func @within_a_warp(%x: tensor<4x256xf32, #packed>) {
    %s = gl.reduce %x axis 1 : (tensor<4x256xf32, #packed>) -> tensor<4xf32, #gl.slice<axis = 1, parent = #packed>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.maximumf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s) : (tensor<4xf32, #gl.slice<axis = 1, parent = #packed>>) -> ()
    gpu.return
  }
}

// -----

// A combiner of several tiles (an index travels with its value) has a memory for each.
// CHECK-LABEL: gpu.func @several_tiles
// CHECK: %[[P:.*]]:2 = gl.warp_reduce %{{.*}}, %{{.*}} axis 1
// CHECK: %[[M0:.*]] = gl.local_alloc : <2x2xf32, #gl.plain<order = [1, 0]>>
// CHECK: gl.local_store %[[P]]#0, %[[M0]]
// CHECK: %[[G0:.*]] = gl.local_load %[[M0]]
// CHECK: %[[M1:.*]] = gl.local_alloc : <2x2xindex, #gl.plain<order = [1, 0]>>
// CHECK: gl.local_store %[[P]]#1, %[[M1]]
// CHECK: %[[G1:.*]] = gl.local_load %[[M1]]
// CHECK: %[[R:.*]]:2 = gl.reduce %[[G0]], %[[G1]] axis 1
// CHECK: "test.use"(%[[R]]#0, %[[R]]#1)
#two = #gl.blocked<size_per_thread = [2, 4], threads_per_warp = [1, 32], warps_per_cta = [1, 2], order = [1, 0]>
gpu.module @kernels {
  gpu.func @several_tiles(%x: tensor<2x256xf32, #two>, %i: tensor<2x256xindex, #two>) {
    %m, %n = gl.reduce %x, %i axis 1 : (tensor<2x256xf32, #two>, tensor<2x256xindex, #two>)
        -> tensor<2xf32, #gl.slice<axis = 1, parent = #two>>, tensor<2xindex, #gl.slice<axis = 1, parent = #two>> combine {
    ^bb0(%a: f32, %ai: index, %b: f32, %bi: index):
      %c = arith.cmpf ogt, %a, %b : f32
      %0 = arith.select %c, %a, %b : f32
      %1 = arith.select %c, %ai, %bi : index
      gl.yield %0, %1 : f32, index
    }
    "test.use"(%m, %n) : (tensor<2xf32, #gl.slice<axis = 1, parent = #two>>, tensor<2xindex, #gl.slice<axis = 1, parent = #two>>) -> ()
    gpu.return
  }
}

// -----

// The reduced axis is fastest in memory whichever it is, and a tile of one axis leaves a scalar tile.
// CHECK-LABEL: gpu.func @other_axes
// CHECK: gl.local_alloc : <4x32xf32, #gl.plain<order = [0, 1]>>
// CHECK: gl.local_alloc : <4xf32, #gl.plain<order = [0]>>
// CHECK: gl.reduce %{{.*}} axis 0 : (tensor<4xf32, #gl.linear<{{.*}} -> tensor<f32,
#columns = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [4, 1], order = [1, 0]>
#line = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [4], order = [0]>
gpu.module @kernels {
  gpu.func @other_axes(%x: tensor<64x32xf32, #columns>, %y: tensor<1024xf32, #line>) {
    %s = gl.reduce %x axis 0 : (tensor<64x32xf32, #columns>) -> tensor<32xf32, #gl.slice<axis = 0, parent = #columns>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    %t = gl.reduce %y axis 0 : (tensor<1024xf32, #line>) -> tensor<f32, #gl.slice<axis = 0, parent = #line>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s, %t) : (tensor<32xf32, #gl.slice<axis = 0, parent = #columns>>, tensor<f32, #gl.slice<axis = 0, parent = #line>>) -> ()
    gpu.return
  }
}

// -----

// The steps of a loop take turns with two buffers.
// CHECK-LABEL: gpu.func @in_a_loop
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[P:.*]] = gl.warp_reduce
// CHECK: %[[M:.*]] = gl.local_alloc : <2x1x4xf32, #gl.plain<order = [2, 1, 0]>>
// CHECK: %[[TURN:.*]] = arith.remui %[[I]], %{{.*}} : index
// CHECK: %[[S:.*]] = gl.memdesc_index %[[M]][%[[TURN]]]
// CHECK: gl.local_store %[[P]], %[[S]]
// CHECK: gl.local_load %[[S]]
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
gpu.module @kernels {
  gpu.func @in_a_loop(%x: tensor<1x2048xf32, #rows>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %s = gl.reduce %x axis 1 : (tensor<1x2048xf32, #rows>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> combine {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        gl.yield %0 : f32
      }
      "test.use"(%s) : (tensor<1xf32, #gl.slice<axis = 1, parent = #rows>>) -> ()
    }
    gpu.return
  }
}
