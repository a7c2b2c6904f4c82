// What gl-expand-reductions rejects.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --gl-expand-reductions

#cluster = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0], ctas_per_cluster = [1, 2]>
gpu.module @kernels {
  gpu.func @across_ctas(%x: tensor<1x4096xf32, #cluster>) {
    // expected-error @+1 {{unsupported: expected a reduction within a CTA, got one across 2 CTAs of a cluster}}
    %s = gl.reduce %x axis 1 : (tensor<1x4096xf32, #cluster>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #cluster>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    gpu.return
  }
}

// -----

#entangled = #gl.linear<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0]], warp = [[1, 16]], block = []>
gpu.module @kernels {
  gpu.func @entangled(%x: tensor<2x32xf32, #entangled>) {
    // expected-error @+1 {{expected axis 1 to split into register, lane, warp and block parts}}
    %s = gl.reduce %x axis 1 : (tensor<2x32xf32, #entangled>) -> tensor<2xf32, #gl.slice<axis = 1, parent = #entangled>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    gpu.return
  }
}
