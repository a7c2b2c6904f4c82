// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-dependent-launch | FileCheck %s
//
// A kernel that may start early waits before it touches memory, and lets the next kernel start.

// CHECK-LABEL: gpu.func @example
// CHECK-NEXT: gl.grid_dependency_launch
// CHECK-NEXT: gl.grid_dependency_wait
// CHECK-NEXT: gl.load
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @example(%x: memref<64xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16], dependent_launch = true>} {
    %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #row>
    "test.use"(%t) : (tensor<64xf32, #row>) -> ()
    gpu.return
  }
}

// -----

// Each partition waits for itself; code after the last loop overlaps the start of the next kernel.
// CHECK-LABEL: gpu.func @partitions
// CHECK: gl.warp_specialize
// CHECK: gl.grid_dependency_wait
// CHECK-NEXT: scf.for
// CHECK: }
// CHECK-NEXT: gl.grid_dependency_launch
// CHECK: }, {
// CHECK-NEXT: gl.grid_dependency_wait
// CHECK-NEXT: gl.bulk_load
// CHECK-NOT: gl.grid_dependency_launch
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
!tile = !gl.memdesc<64xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @partitions(%x: memref<64xf32>, %n: index) kernel attributes {gl.num_warps = 2 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16], dependent_launch = true>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = gl.local_alloc : !tile
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.warp_specialize warps [1, 1] {
      scf.for %i = %c0 to %n step %c1 {
        %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #row>
        "test.use"(%t) : (tensor<64xf32, #row>) -> ()
      }
    }, {
      gl.bulk_load %x at affine_map<() -> (0)>(), %m, %full[%c0] : memref<64xf32>, !tile, !gl.mbarrier<1>
    }
    gpu.return
  }
}

// -----

// The producer waits before it expects bytes; consumers that wait for these bytes before each access need no wait of their own.
// CHECK-LABEL: gpu.func @told
// CHECK: gl.warp_specialize
// CHECK-NOT: gl.grid_dependency_wait
// CHECK: }, {
// CHECK-NEXT: gl.grid_dependency_wait
// CHECK-NEXT: gl.mbarrier_expect
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
!tile = !gl.memdesc<64xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @told(%x: memref<64xf32>, %y: memref<64xf32>, %n: index) kernel attributes {gl.num_warps = 2 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16, 16], dependent_launch = true>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 256 : index
    %even = arith.constant false
    %m = gl.local_alloc : !tile
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.warp_specialize warps [1, 1] {
      scf.for %i = %c0 to %n step %c1 {
        gl.mbarrier_wait %full[%c0], %even : !gl.mbarrier<1>
        %t = gl.local_load %m : !tile -> tensor<64xf32, #row>
        gl.store %t, %y at affine_map<(n) -> (n)>() : tensor<64xf32, #row>, memref<64xf32>
      }
    }, {
      gl.mbarrier_expect %full[%c0], %bytes : !gl.mbarrier<1>
      gl.bulk_load %x at affine_map<() -> (0)>(), %m, %full[%c0] : memref<64xf32>, !tile, !gl.mbarrier<1>
    }
    gpu.return
  }
}

// -----

// A store behind a loop is not behind the waits of its steps, of which there may be none.
// CHECK-LABEL: gpu.func @behind_the_loop
// CHECK: gl.mbarrier_wait
// CHECK: gl.grid_dependency_wait
// CHECK-NEXT: gl.store
// CHECK: }, {
// CHECK-NEXT: gl.grid_dependency_wait
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
!tile = !gl.memdesc<64xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @behind_the_loop(%x: memref<64xf32>, %y: memref<64xf32>, %n: index) kernel attributes {gl.num_warps = 2 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16, 16], dependent_launch = true>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 256 : index
    %even = arith.constant false
    %m = gl.local_alloc : !tile
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.warp_specialize warps [1, 1] {
      scf.for %i = %c0 to %n step %c1 {
        gl.mbarrier_wait %full[%c0], %even : !gl.mbarrier<1>
      }
      %t = gl.local_load %m : !tile -> tensor<64xf32, #row>
      gl.store %t, %y at affine_map<(n) -> (n)>() : tensor<64xf32, #row>, memref<64xf32>
    }, {
      gl.mbarrier_expect %full[%c0], %bytes : !gl.mbarrier<1>
      gl.bulk_load %x at affine_map<() -> (0)>(), %m, %full[%c0] : memref<64xf32>, !tile, !gl.mbarrier<1>
    }
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @ordinary
// CHECK-NOT: gl.grid_dependency
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @ordinary(%x: memref<64xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #row>
    "test.use"(%t) : (tensor<64xf32, #row>) -> ()
    gpu.return
  }
}

// -----

// A kernel lets those start early that functions launch behind it; one behind which no dependent launch is does nothing.
// CHECK-LABEL: gpu.func @ahead
// CHECK-NEXT: gl.grid_dependency_launch
// CHECK-NEXT: gl.load
// CHECK-LABEL: gpu.func @dependent
// CHECK-NEXT: gl.grid_dependency_launch
// CHECK-NEXT: gl.grid_dependency_wait
// CHECK-LABEL: gpu.func @last
// CHECK-NEXT: gl.load
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>
module attributes {gpu.container_module} {
  func.func @function(%x: memref<64xf32>) {
    norm.launch @ahead::@ahead(%x) : memref<64xf32>
    norm.launch @dependent::@dependent(%x) : memref<64xf32>
    norm.launch @last::@last(%x) : memref<64xf32>
    return
  }
  gpu.module @ahead {
    gpu.func @ahead(%x: memref<64xf32>) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
      %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #row>
      "test.use"(%t) : (tensor<64xf32, #row>) -> ()
      gpu.return
    }
  }
  gpu.module @dependent {
    gpu.func @dependent(%x: memref<64xf32>) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16], dependent_launch = true>} {
      %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #row>
      "test.use"(%t) : (tensor<64xf32, #row>) -> ()
      gpu.return
    }
  }
  gpu.module @last {
    gpu.func @last(%x: memref<64xf32>) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
      %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #row>
      "test.use"(%t) : (tensor<64xf32, #row>) -> ()
      gpu.return
    }
  }
}
