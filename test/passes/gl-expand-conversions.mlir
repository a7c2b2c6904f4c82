// A conversion that is cheapest through shared memory becomes a store and a load; others stay.
// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-expand-conversions | FileCheck %s

// Rows become columns: the two layouts have no registers in common, and lanes that differ in rows and lanes that differ in
// columns access different banks.
// CHECK-LABEL: gpu.func @example
// CHECK-SAME: (%[[A:.*]]: tensor<64x64xf32, #[[ROWS:.*]]>)
// CHECK: %[[M:.*]] = gl.local_alloc : <64x64xf32, #gl.shared_linear<offset = {{\[}}[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 1], [2, 2], [4, 4], [8, 8], [16, 16], [32, 0], [0, 32]]>>
// CHECK: gl.local_store %[[A]], %[[M]]
// CHECK: %[[B:.*]] = gl.local_load %[[M]]
// CHECK-NOT: gl.convert_layout
// CHECK: "test.use"(%[[B]])
#rows = #gl.linear<register = [[0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[32, 0]], block = []>
#columns = #gl.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [32, 0]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[0, 32]], block = []>
gpu.module @kernels {
  gpu.func @example(%a: tensor<64x64xf32, #rows>) {
    %b = gl.convert_layout %a : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    "test.use"(%b) : (tensor<64x64xf32, #columns>) -> ()
    gpu.return
  }
}

// -----

// Elements that both layouts have in registers form a vector, wherever they are: registers are renumbered on either side.
// CHECK-LABEL: gpu.func @vectors
// CHECK: %[[S:.*]] = gl.convert_layout %{{.*}} -> tensor<8x64xbf16, #gl.linear<register = {{\[}}[0, 4], [0, 1], [0, 2]],
// CHECK: gl.local_alloc : <8x64xbf16, #gl.shared_linear<offset = {{\[}}[0, 4], [0, 1],
// CHECK: gl.local_store %[[S]]
// CHECK: %[[L:.*]] = gl.local_load {{.*}} -> tensor<8x64xbf16, #gl.linear<register = {{\[}}[0, 4], [0, 1], [1, 0]],
// CHECK: gl.convert_layout %[[L]]
#from = #gl.linear<register = [[0, 2], [0, 4], [0, 1]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0]], block = []>
#to = #gl.linear<register = [[0, 1], [0, 4], [1, 0]], lane = [[0, 8], [0, 16], [2, 0], [4, 0], [0, 32]], warp = [[0, 2]], block = []>
gpu.module @kernels {
  gpu.func @vectors(%a: tensor<8x64xbf16, #from>) {
    %b = gl.convert_layout %a : tensor<8x64xbf16, #from> -> tensor<8x64xbf16, #to>
    "test.use"(%b) : (tensor<8x64xbf16, #to>) -> ()
    gpu.return
  }
}

// -----

// Shuffles, and a permutation of registers, need no memory.
// CHECK-LABEL: gpu.func @near
// CHECK-COUNT-2: gl.convert_layout
// CHECK-NOT: gl.local_alloc
#pairs = #gl.linear<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []>
#swapped = #gl.linear<register = [[2], [1]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []>
#dealt = #gl.linear<register = [[32], [64]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @near(%a: tensor<128xf32, #pairs>) {
    %b = gl.convert_layout %a : tensor<128xf32, #pairs> -> tensor<128xf32, #swapped>
    %c = gl.convert_layout %a : tensor<128xf32, #pairs> -> tensor<128xf32, #dealt>
    "test.use"(%b, %c) : (tensor<128xf32, #swapped>, tensor<128xf32, #dealt>) -> ()
    gpu.return
  }
}
