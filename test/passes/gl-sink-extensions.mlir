// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-sink-extensions | FileCheck %s
//
// What a loop does not change is extended in each step, if that saves registers.

// A weight is extended in front of its first use in each step, behind a barrier, with the sum that follows.
// CHECK-LABEL: gpu.func @weight
// CHECK: %[[W:.*]] = "test.load"() : () -> tensor<512xbf16
// CHECK-NOT: arith.extf
// CHECK: scf.for
// CHECK: %[[X:.*]] = "test.row"
// CHECK: %[[K:.*]] = gl.optimization_barrier %[[W]]
// CHECK: %[[E:.*]] = arith.extf %[[K]]
// CHECK: %[[S:.*]] = arith.addf %[[E]], %{{.*}}
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %[[S]]
// CHECK: arith.subf %[[Y]], %[[S]]
// CHECK-NOT: arith.extf
#row = #gl.linear<register = [[1], [2], [4], [8]], lane = [[16], [32], [64], [128], [256]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @weight(%n: index) kernel attributes {gl.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant dense<1.0> : tensor<512xf32, #row>
    %w = "test.load"() : () -> tensor<512xbf16, #row>
    %e = arith.extf %w : tensor<512xbf16, #row> to tensor<512xf32, #row>
    %s = arith.addf %e, %one : tensor<512xf32, #row>
    scf.for %i = %c0 to %n step %c1 {
      %x = "test.row"(%i) : (index) -> tensor<512xf32, #row>
      %y = arith.mulf %x, %s : tensor<512xf32, #row>
      %z = arith.subf %y, %s : tensor<512xf32, #row>
      "test.use"(%z) : (tensor<512xf32, #row>) -> ()
    }
    gpu.return
  }
}

// -----

// What is broadcast in the loop, and what is used in front of it as well, is extended in both places.
// CHECK-LABEL: gpu.func @broadcast
// CHECK: %[[W:.*]] = "test.load"() : () -> tensor<512xf16
// CHECK: %[[E:.*]] = arith.extf %[[W]]
// CHECK: "test.use"(%[[E]])
// CHECK: scf.while
// CHECK: ^bb0
// CHECK: %[[K:.*]] = gl.optimization_barrier %[[W]]
// CHECK: %[[AGAIN:.*]] = arith.extf %[[K]]
// CHECK: %[[B:.*]] = gl.broadcast %[[AGAIN]]
// CHECK: "test.use"(%[[B]])
#row = #gl.linear<register = [[1], [2], [4], [8]], lane = [[16], [32], [64], [128], [256]], warp = [], block = []>
#rows = #gl.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], lane = [[0, 16], [0, 32], [0, 64], [0, 128], [0, 256]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @broadcast(%first: index) kernel attributes {gl.num_warps = 1 : i64} {
    %w = "test.load"() : () -> tensor<512xf16, #row>
    %e = arith.extf %w : tensor<512xf16, #row> to tensor<512xf32, #row>
    "test.use"(%e) : (tensor<512xf32, #row>) -> ()
    scf.while (%i = %first) : (index) -> index {
      %more = "test.more"(%i) : (index) -> i1
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %b = gl.broadcast %e axis 0 : tensor<512xf32, #row> -> tensor<2x512xf32, #rows>
      "test.use"(%b) : (tensor<2x512xf32, #rows>) -> ()
      %next = "test.next"(%i) : (index) -> index
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

// Beside sums that a loop carries tiles of many elements move.
// CHECK-LABEL: gpu.func @beside_sums
// CHECK: %[[W:.*]] = "test.load"
// CHECK-NOT: arith.extf
// CHECK: scf.for
// CHECK: %[[K:.*]] = gl.optimization_barrier %[[W]]
// CHECK: arith.extf %[[K]]
#many = #gl.linear<register = [[1], [2], [4], [8], [16], [32]], lane = [[64], [128], [256], [512], [1024]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @beside_sums(%n: index, %t: tensor<2048xf32, #many>) kernel attributes {gl.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %w = "test.load"() : () -> tensor<2048xbf16, #many>
    %e = arith.extf %w : tensor<2048xbf16, #many> to tensor<2048xf32, #many>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %t) -> (tensor<2048xf32, #many>) {
      %s = arith.addf %acc, %e : tensor<2048xf32, #many>
      scf.yield %s : tensor<2048xf32, #many>
    }
    "test.use"(%sum) : (tensor<2048xf32, #many>) -> ()
    gpu.return
  }
}

// -----

// A loop that carries what it has loaded for its next step carries no sums.
// CHECK-LABEL: gpu.func @beside_loads
// CHECK: %[[W:.*]] = "test.load"
// CHECK: scf.for
// CHECK: %[[K:.*]] = gl.optimization_barrier %[[W]]
// CHECK: arith.extf %[[K]]
#row = #gl.linear<register = [[1], [2], [4], [8]], lane = [[16], [32], [64], [128], [256]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @beside_loads(%n: index, %first: tensor<512xbf16, #row>) kernel attributes {gl.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %w = "test.load"() : () -> tensor<512xbf16, #row>
    %e = arith.extf %w : tensor<512xbf16, #row> to tensor<512xf32, #row>
    scf.for %i = %c0 to %n step %c1 iter_args(%x = %first) -> (tensor<512xbf16, #row>) {
      %next = "test.row"(%i) : (index) -> tensor<512xbf16, #row>
      "test.use"(%x, %e) : (tensor<512xbf16, #row>, tensor<512xf32, #row>) -> ()
      scf.yield %next : tensor<512xbf16, #row>
    }
    gpu.return
  }
}

// -----

// Tiles of few elements beside sums, tiles of fewer elements, and tiles that another value is part of stay as they are.
// CHECK-LABEL: gpu.func @left_alone
// CHECK-NOT: gl.optimization_barrier
#row = #gl.linear<register = [[1], [2], [4], [8]], lane = [[16], [32], [64], [128], [256]], warp = [], block = []>
#short = #gl.linear<register = [[1], [2], [4]], lane = [[8], [16], [32], [64], [128]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @left_alone(%n: index, %t: tensor<512xf32, #row>) kernel attributes {gl.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %w = "test.load"() : () -> tensor<512xbf16, #row>
    %e = arith.extf %w : tensor<512xbf16, #row> to tensor<512xf32, #row>
    %v = "test.load"() : () -> tensor<256xbf16, #short>
    %f = arith.extf %v : tensor<256xbf16, #short> to tensor<256xf32, #short>
    %p = arith.mulf %e, %t : tensor<512xf32, #row>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %t) -> (tensor<512xf32, #row>) {
      %s = arith.addf %acc, %e : tensor<512xf32, #row>
      scf.yield %s : tensor<512xf32, #row>
    }
    scf.for %i = %c0 to %n step %c1 {
      "test.use"(%f, %p) : (tensor<256xf32, #short>, tensor<512xf32, #row>) -> ()
    }
    "test.use"(%sum) : (tensor<512xf32, #row>) -> ()
    gpu.return
  }
}
