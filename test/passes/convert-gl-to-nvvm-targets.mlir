// RUN: norma-opt %s -pass-pipeline='builtin.module(gpu.module(convert-gl-to-nvvm{target=sm_100a}))' | FileCheck %s --check-prefixes=CHECK,FLOATS
// RUN: norma-opt %s -pass-pipeline='builtin.module(gpu.module(convert-gl-to-nvvm{target=sm_90a}))' | FileCheck %s --check-prefixes=CHECK,SHUFFLES
// RUN: not norma-opt %s -pass-pipeline='builtin.module(gpu.module(convert-gl-to-nvvm{target=sm_1}))' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown target 'sm_1'

// The largest f32 of a warp is NaN if any value is, for `arith.maximumf`, and the smallest leaves NaN out, for `arith.minnumf`; a sum is
// no `redux.sync` on any target.
// CHECK-LABEL: llvm.func @floats
// FLOATS-NOT: nvvm.shfl
// FLOATS: nvvm.redux.sync fmax %{{.*}}, %c-1_i32{{.*}} {nan = true} : f32 -> f32
// FLOATS: nvvm.redux.sync fmin %{{.*}}, %c-1_i32{{.*}} : f32 -> f32
// SHUFFLES-NOT: nvvm.redux
// SHUFFLES-COUNT-10: nvvm.shfl.sync bfly
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.redux
// CHECK: llvm.return
#line = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
#none = #gl.slice<axis = 0, parent = #line>
gpu.module @m {
  gpu.func @floats(%x: memref<32xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (128, 12)>, sizes = [], alignments = [4]>} {
    %0 = gl.load %x at affine_map<(a) -> (a)>() : memref<32xf32> -> tensor<32xf32, #line>
    %1 = gl.reduce %0 axis 0 : (tensor<32xf32, #line>) -> tensor<f32, #none> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.maximumf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %1, %x at affine_map<() -> (0)>() : tensor<f32, #none>, memref<32xf32>
    %2 = gl.reduce %0 axis 0 : (tensor<32xf32, #line>) -> tensor<f32, #none> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.minnumf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %2, %x at affine_map<() -> (1)>() : tensor<f32, #none>, memref<32xf32>
    %3 = gl.reduce %0 axis 0 : (tensor<32xf32, #line>) -> tensor<f32, #none> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %3, %x at affine_map<() -> (2)>() : tensor<f32, #none>, memref<32xf32>
    gpu.return
  }
}
