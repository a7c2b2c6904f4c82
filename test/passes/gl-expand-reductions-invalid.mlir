// Programs that gl-expand-reductions rejects.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --gl-expand-reductions

#mixed = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0], ctas_per_cluster = [1, 2]>
gpu.module @kernels {
  gpu.func @mixed_axis(%x: tensor<1x4096xf32, #mixed>) {
    // expected-error @+1 {{unsupported: a reduction of 4096 elements across 2 CTAs of a cluster; supported: along axes that CTAs alone are spread over}}
    %s = gl.reduce %x axis 1 : (tensor<1x4096xf32, #mixed>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #mixed>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    gpu.return
  }
}

// -----

#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [], block = [[1]]>
gpu.module @kernels {
  gpu.func @another_cluster(%x: tensor<2xf32, #ctas>) {
    // expected-error @+1 {{expected tiles over the 1 CTAs of a cluster that gl.launch says, got 2}}
    %s = gl.reduce %x axis 0 : (tensor<2xf32, #ctas>) -> tensor<f32, #gl.slice<axis = 0, parent = #ctas>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    gpu.return
  }
}

// -----

#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [], block = [[1]]>
#launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [], cluster = 2>
gpu.module @kernels {
  gpu.func @branch(%x: tensor<2xf32, #ctas>, %c: i1) attributes {gl.launch = #launch} {
    // expected-note @+1 {{it stands in this op, which is no loop}}
    scf.if %c {
      // expected-error @+1 {{unsupported: expected a reduction across CTAs to stand in a kernel's body or its loops}}
      %s = gl.reduce %x axis 0 : (tensor<2xf32, #ctas>) -> tensor<f32, #gl.slice<axis = 0, parent = #ctas>> combine {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        gl.yield %0 : f32
      }
    }
    gpu.return
  }
}

// -----

#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [], block = [[1]]>
#launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [], cluster = 2>
gpu.module @kernels {
  gpu.func @uneven_turns(%x: tensor<2xf32, #ctas>, %n: index) attributes {gl.launch = #launch} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-note @+1 {{the bounds of this loop change from iteration to iteration}}
      scf.for %j = %c0 to %i step %c1 {
        // expected-error @+1 {{unsupported: expected a reduction across CTAs in loops that each have the same number of iterations}}
        %s = gl.reduce %x axis 0 : (tensor<2xf32, #ctas>) -> tensor<f32, #gl.slice<axis = 0, parent = #ctas>> combine {
        ^bb0(%a: f32, %b: f32):
          %0 = arith.addf %a, %b : f32
          gl.yield %0 : f32
        }
      }
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
