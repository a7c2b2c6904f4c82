// Programs that gl-specialize-warps rejects.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --gl-specialize-warps

// The target of a copy must not depend on what consumers compute.
#one = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @place_from_memory(%x: memref<?x64xbf16>, %at: memref<1xindex>) kernel attributes {gl.num_warps = 4 : i64, gl.producer_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %m = gl.local_alloc : !tile
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    %t = gl.load %at at affine_map<(n) -> (n)>() : memref<1xindex> -> tensor<1xindex, #one>
    // expected-error @+1 {{unsupported: expected scalars alone to say what producer warps copy, got the result of tensor.extract}}
    %i = tensor.extract %t[%c0] : tensor<1xindex, #one>
    gl.bulk_load %x at affine_map<(i) -> (i, 0)>(%i), %m, %full[%c0] : memref<?x64xbf16>, !tile, !gl.mbarrier<1>
    gpu.return
  }
}

// -----

// A stage that two groups use would have phases that neither has waited for.
gpu.module @kernels {
  // expected-error @+1 {{expected gl.stages to be a multiple of the 2 consumer groups, so that each stage has one group, got 3}}
  gpu.func @stages_of_several_groups(%x: memref<?x64xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.producer_warps = 1 : i64, gl.consumer_groups = 2 : i64, gl.stages = 3 : i64} {
    %c0 = arith.constant 0 : index
    %m = gl.local_alloc : !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.bulk_load %x at affine_map<(i) -> (i, 0)>(%c0), %m, %full[%c0] : memref<?x64xbf16>, !gl.memdesc<64xbf16, #gl.plain<order = [0]>>, !gl.mbarrier<1>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected gl.start_registers in a kernel with gl.producer_registers}}
  gpu.func @unknown_start(%x: memref<?x64xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.producer_warps = 4 : i64, gl.producer_registers = 24 : i64} {
    %c0 = arith.constant 0 : index
    %m = gl.local_alloc : !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    gl.bulk_load %x at affine_map<(i) -> (i, 0)>(%c0), %m, %full[%c0] : memref<?x64xbf16>, !gl.memdesc<64xbf16, #gl.plain<order = [0]>>, !gl.mbarrier<1>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected gl.consumer_groups of at least 1, got 0}}
  gpu.func @no_groups(%x: memref<?x64xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.producer_warps = 1 : i64, gl.consumer_groups = 0 : i64} {
    gpu.return
  }
}
