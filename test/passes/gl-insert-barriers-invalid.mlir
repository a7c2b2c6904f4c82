// What gl-insert-barriers rejects.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --gl-insert-barriers

#wide = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []>
!memory = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @no_offset(%t: tensor<32xf32, #wide>) kernel {
    // expected-error @+1 {{expected an allocation with an offset (run gl-allocate-shared first)}}
    %m = gl.local_alloc : !memory
    gl.local_store %t, %m : tensor<32xf32, #wide>, !memory
    gpu.return
  }
}

// -----

#wide = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []>
!memory = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @partition(%t: tensor<32xf32, #wide>) kernel {
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    // expected-note @+1 {{the partition is part of this op}}
    gl.warp_specialize warps [4] registers [24] {
      // expected-error @+1 {{unsupported: expected shared memory in a partition of warps to be accessed by asynchronous copies alone, got a load or store of threads}}
      gl.local_store %t, %m : tensor<32xf32, #wide>, !memory
    }
    gpu.return
  }
}
