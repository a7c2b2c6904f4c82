// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-prefetch-loads | FileCheck %s
//
// Loops carry the tiles that they load: each step begins with the loads of the next step.

// The first tile is loaded before the loop, and nothing beyond its last step; the sum is unchanged. A bound on registers keeps
// the assembler from delaying the loads.
// CHECK-LABEL: gpu.func @sum
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[N:.*]]: index) kernel attributes {gl.min_ctas_per_sm = 1
// CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[ZERO:.*]] : index
// CHECK: %[[FIRST:.*]] = gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%[[ZERO]]) where affine_map<(d0, d1)[s0] -> (0, s0)>[%[[LEFT]]] cache
// CHECK: %[[SUM:.*]]:2 = scf.for %[[I:.*]] = %[[ZERO]] to %[[N]] step %[[ONE:.*]] iter_args(%[[ACC:.*]] = %{{.*}}, %[[T:.*]] = %[[FIRST]])
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %[[ONE]] : index
// CHECK: %[[MORE:.*]] = arith.subi %[[N]], %[[NEXT]] : index
// CHECK: %[[U:.*]] = gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%[[NEXT]]) where affine_map<(d0, d1)[s0] -> (0, s0)>[%[[MORE]]] cache
// CHECK-NOT: gl.load
// CHECK: %[[S:.*]] = arith.addf %[[ACC]], %[[T]]
// CHECK: scf.yield %[[S]], %[[U]]
// CHECK: "test.use"(%[[SUM]]#0)
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @sum(%x: memref<?x64xf32>, %n: index) kernel attributes {gl.num_warps = 1 : i64, gl.stages = 2 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<64xf32, #row>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64xf32, #row>) {
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%i) cache <l1 = no_allocate, l2 = evict_first> : memref<?x64xf32> -> tensor<64xf32, #row>
      %s = arith.addf %acc, %t : tensor<64xf32, #row>
      scf.yield %s : tensor<64xf32, #row>
    }
    "test.use"(%sum) : (tensor<64xf32, #row>) -> ()
    gpu.return
  }
}

// -----

// The ops that compute an address are repeated for the step that is loaded ahead, and guards stay. The first of eight steps always exists.
// CHECK-LABEL: gpu.func @places
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[ROWS:.*]]: index)
// CHECK: %[[AT:.*]] = arith.muli %[[ZERO:.*]], %[[FOUR:.*]] : index
// CHECK: gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%[[AT]]) where affine_map<(d0, d1)[s0] -> (d0, s0)>[%[[ROWS]]] :
// CHECK: scf.for %[[I:.*]] = %[[ZERO]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]]
// CHECK: %[[AT:.*]] = arith.muli %[[NEXT]], %[[FOUR]] : index
// CHECK: gl.load %[[X]] at affine_map<(d0, d1) -> (d0, d1)>(%[[AT]]) where affine_map<(d0, d1)[s0, s1] -> (d0, s0, 0, s1)>[%[[ROWS]], %{{.*}}] :
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @places(%x: memref<?x64xf32>, %rows: index) kernel attributes {gl.num_warps = 1 : i64, gl.stages = 2 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %at = arith.muli %i, %c4 : index
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%at) where affine_map<(i, n)[s0] -> (i, s0)>[%rows] : memref<?x64xf32> -> tensor<64xf32, #row>
      "test.use"(%t) : (tensor<64xf32, #row>) -> ()
    }
    gpu.return
  }
}

// -----

// An inner loop loads ahead within each of its runs, and the outer loop's own loads are ahead as well.
// CHECK-LABEL: gpu.func @nested
// CHECK: gl.load %[[Y:.*]] at
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: gl.load %[[Y]] at
// CHECK: gl.load %[[X:.*]] at affine_map<(d0, d1, d2) -> (d0, d1, d2)>(%[[I]], %{{.*}})
// CHECK: scf.for %{{.*}} iter_args
// CHECK: gl.load %[[X]] at affine_map<(d0, d1, d2) -> (d0, d1, d2)>(%[[I]], %{{.*}})
// CHECK-NOT: gl.load
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @nested(%x: memref<?x?x64xf32>, %y: memref<?x64xf32>, %m: index, %n: index) kernel attributes {gl.num_warps = 1 : i64, gl.stages = 2 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %m step %c1 {
      %u = gl.load %y at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      scf.for %j = %c0 to %n step %c1 {
        %t = gl.load %x at affine_map<(i, j, n) -> (i, j, n)>(%i, %j) : memref<?x?x64xf32> -> tensor<64xf32, #row>
        "test.use"(%t, %u) : (tensor<64xf32, #row>, tensor<64xf32, #row>) -> ()
      }
    }
    gpu.return
  }
}

// -----

// Not loaded ahead: a loop of one step, a tile that is the same in each step, an address from earlier steps, a buffer that is stored to.
// CHECK-LABEL: gpu.func @stay
// CHECK-NOT: gl.load
// CHECK: scf.for
// CHECK-NEXT: gl.load
// CHECK-NEXT: test.use
// CHECK-NOT: gl.load
// CHECK: scf.for
// CHECK-NEXT: gl.load
// CHECK-NEXT: gl.load
// CHECK-NEXT: gl.load
// CHECK-NOT: gl.load
// CHECK: gpu.return
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @stay(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %n: index) kernel attributes {gl.num_warps = 1 : i64, gl.stages = 2 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %c1 step %c1 {
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      "test.use"(%t) : (tensor<64xf32, #row>) -> ()
    }
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%at = %c0) -> index {
      %s = gl.load %x at affine_map<(i, n) -> (i, n)>(%n) : memref<?x64xf32> -> tensor<64xf32, #row>
      %t = gl.load %x at affine_map<(i, n) -> (i, n)>(%at) : memref<?x64xf32> -> tensor<64xf32, #row>
      %u = gl.load %y at affine_map<(i, n) -> (i, n)>(%i) : memref<?x64xf32> -> tensor<64xf32, #row>
      "test.use"(%s, %t) : (tensor<64xf32, #row>, tensor<64xf32, #row>) -> ()
      gl.store %u, %y at affine_map<(i, n) -> (i, n)>(%at) : tensor<64xf32, #row>, memref<?x64xf32>
      %to = arith.addi %at, %i : index
      scf.yield %to : index
    }
    gpu.return
  }
}

// -----

// Beside a ring in shared memory, what takes few registers and a reduction depends on is loaded ahead; the rest, like the ring's
// stages, is left alone.
// CHECK-LABEL: gpu.func @beside_a_ring
// CHECK-SAME: gl.stages = 3
// CHECK: %[[FIRST:.*]] = gl.load %[[MEANS:[a-z0-9]+]] at
// CHECK-NOT: gl.load
// CHECK: scf.for {{.*}} iter_args(%[[MEAN:.*]] = %[[FIRST]])
// CHECK: gl.load %[[MEANS]] at
// CHECK: gl.copy_to_shared
// CHECK: %[[Y:.*]] = gl.load %{{.*}} : memref<?x1024xf32>
// CHECK: %[[SCALE:.*]] = gl.load %{{.*}} : memref<?xf32>
// CHECK: tensor.extract %[[MEAN]]
// CHECK: "test.use"(%{{.*}}, %[[Y]], %[[SCALE]])
#row = #gl.linear<register = [[1], [2], [4], [256], [512]], lane = [[8], [16], [32], [64], [128]], warp = [], block = []>
#none = #gl.linear<register = [], lane = [[], [], [], [], []], warp = [], block = []>
!row = !gl.memdesc<1024xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @beside_a_ring(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>, %means: memref<?xf32>, %scales: memref<?xf32>, %m: index) kernel attributes {gl.num_warps = 1 : i64, gl.stages = 3 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %m step %c1 {
      %s = gl.local_alloc : !row
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %s by bulk : memref<?x1024xf32>, !row
      %t = gl.local_load %s : !row -> tensor<1024xf32, #row>
      %u = gl.load %y at affine_map<(i, n) -> (i, n)>(%i) : memref<?x1024xf32> -> tensor<1024xf32, #row>
      %mean = gl.load %means at affine_map<(i) -> (i)>(%i) : memref<?xf32> -> tensor<f32, #none>
      %scale = gl.load %scales at affine_map<(i) -> (i)>(%i) : memref<?xf32> -> tensor<f32, #none>
      %scalar = tensor.extract %mean[] : tensor<f32, #none>
      %means_of_row = tensor.splat %scalar : tensor<1024xf32, #row>
      %v = arith.subf %t, %means_of_row : tensor<1024xf32, #row>
      %sum = gl.reduce %v axis 0 : (tensor<1024xf32, #row>) -> tensor<f32, #none> combine {
      ^bb0(%p: f32, %q: f32):
        %0 = arith.addf %p, %q : f32
        gl.yield %0 : f32
      }
      "test.use"(%sum, %u, %scale) : (tensor<f32, #none>, tensor<1024xf32, #row>, tensor<f32, #none>) -> ()
    }
    gpu.return
  }
}
