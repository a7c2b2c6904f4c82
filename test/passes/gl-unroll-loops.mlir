// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-unroll-loops | FileCheck %s
//
// Loops over memory are unrolled, and the loads of all unrolled steps come first.

// All four steps of 64 bytes: the loop is gone, the sum is computed in the order of the steps.
// CHECK-LABEL: gpu.func @all_steps
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>)
// CHECK-NOT: gl.unroll_bytes
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK-NOT: scf.for
// CHECK: %[[T0:.*]] = gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%c0{{.*}})
// CHECK: %[[T1:.*]] = gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%c1{{.*}})
// CHECK: %[[T2:.*]] = gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%c2{{.*}})
// CHECK: %[[T3:.*]] = gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%c3{{.*}})
// CHECK: %[[S0:.*]] = arith.addf %[[ZERO]], %[[T0]]
// CHECK: %[[S1:.*]] = arith.addf %[[S0]], %[[T1]]
// CHECK: %[[S2:.*]] = arith.addf %[[S1]], %[[T2]]
// CHECK: %[[S3:.*]] = arith.addf %[[S2]], %[[T3]]
// CHECK: "test.use"(%[[S3]])
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @all_steps(%x: memref<?x64xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.unroll_bytes = 64 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : tensor<64xf32, #row>
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (tensor<64xf32, #row>) {
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      %s = arith.addf %acc, %t : tensor<64xf32, #row>
      scf.yield %s : tensor<64xf32, #row>
    }
    "test.use"(%sum) : (tensor<64xf32, #row>) -> ()
    gpu.return
  }
}

// -----

// Seven steps of which at most four fit: a group of four and the three that are left, all loads of a group before its stores.
// CHECK-LABEL: gpu.func @groups
// CHECK-NOT: scf.for
// CHECK-COUNT-4: gl.load
// CHECK-NOT: gl.load
// CHECK-COUNT-4: gl.store
// CHECK-COUNT-3: gl.load
// CHECK-COUNT-3: gl.store
// CHECK-NOT: gl.load
// CHECK: gpu.return
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @groups(%x: memref<?x64xf32>, %y: memref<?x64xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.unroll_bytes = 32 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    scf.for %i = %c0 to %c7 step %c1 {
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      gl.store %t, %y at affine_map<(i, n) -> (i, n)>(%i) : tensor<64xf32, #row>, memref<?x64xf32>
    }
    gpu.return
  }
}

// -----

// Any number of steps: groups of two in a loop, and behind it a loop over the step that may be left.
// CHECK-LABEL: gpu.func @any_number
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?x64xf32>, %[[N:.*]]: index)
// CHECK: %[[STEPS:.*]] = arith.maxsi
// CHECK: %[[LEFT:.*]] = arith.remui %[[STEPS]], %{{.*}} : index
// CHECK: %[[GROUPED:.*]] = arith.subi %[[STEPS]], %[[LEFT]] : index
// CHECK: %[[MIDDLE:.*]] = arith.addi %{{.*}}, %[[GROUPED]] : index
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[MIDDLE]] step %{{.*}} {
// CHECK: %[[T:.*]] = gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%[[I]])
// CHECK: %[[J:.*]] = arith.addi %[[I]]
// CHECK: %[[U:.*]] = gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%[[J]])
// CHECK: gl.store %[[T]], %[[Y]] at affine_map<(d0, d1) -> (d0, d1)>(%[[I]])
// CHECK: gl.store %[[U]], %[[Y]] at affine_map<(d0, d1) -> (d0, d1)>(%[[J]])
// CHECK: scf.for %{{.*}} = %[[MIDDLE]] to %[[N]] step
// CHECK-COUNT-1: gl.load
// CHECK-NOT: gl.load
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @any_number(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %n: index) kernel attributes {gl.num_warps = 1 : i64, gl.unroll_bytes = 16 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      gl.store %t, %y at affine_map<(i, n) -> (i, n)>(%i) : tensor<64xf32, #row>, memref<?x64xf32>
    }
    gpu.return
  }
}

// -----

// A loop stays where threads wait for one another, where it stores to what it loads, and in a kernel that does not ask for more.
// CHECK-LABEL: gpu.func @left_alone
// CHECK-COUNT-2: scf.for
// CHECK-LABEL: gpu.func @not_asked
// CHECK: scf.for
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @left_alone(%x: memref<?x64xf32>, %y: memref<?x64xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.unroll_bytes = 64 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      gl.barrier
      gl.store %t, %y at affine_map<(i, n) -> (i, n)>(%i) : tensor<64xf32, #row>, memref<?x64xf32>
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      gl.store %t, %x at affine_map<(i, n) -> (i, n)>(%i) : tensor<64xf32, #row>, memref<?x64xf32>
    }
    gpu.return
  }
  gpu.func @not_asked(%x: memref<?x64xf32>, %y: memref<?x64xf32>) kernel attributes {gl.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      gl.store %t, %y at affine_map<(i, n) -> (i, n)>(%i) : tensor<64xf32, #row>, memref<?x64xf32>
    }
    gpu.return
  }
}
