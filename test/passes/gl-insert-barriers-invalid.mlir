// Programs that gl-insert-barriers rejects.
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
