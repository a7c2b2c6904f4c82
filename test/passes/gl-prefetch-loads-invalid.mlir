// RUN: norma-opt %s --split-input-file --verify-diagnostics --gl-prefetch-loads

gpu.module @kernels {
  // expected-error @+1 {{unsupported: 3 stages of registers; supported: 1 and 2}}
  gpu.func @stages(%x: memref<?x64xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.stages = 3 : i64} {
    gpu.return
  }
}
