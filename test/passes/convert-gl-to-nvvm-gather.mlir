// An element at computed coordinates is one load, where the mask holds, and zero elsewhere.
// RUN: norma-opt %s --pass-pipeline='builtin.module(gpu.module(convert-gl-to-nvvm))' | FileCheck %s

#rows = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>

module attributes {gpu.container_module} {
  gpu.module @gathers {
    // The size of dynamic axes is no part of the address.
    // CHECK-LABEL: llvm.func @scalar(
    // CHECK-SAME: %[[X:[^:]*]]: !llvm.ptr<1>
    // CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
    // CHECK: %[[OFFSET:.*]] = arith.addi %[[ROW]], %{{.*}} : i64
    // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[X]][%[[OFFSET]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
    // CHECK: llvm.inline_asm {{.*}}"mov.b16 $0, 0; @$2 ld.global.b16 $0, [$1];"{{.*}} %[[PLACE]], %{{.*}} : (!llvm.ptr<1>, i1) -> i16
    gpu.func @scalar(%x: memref<?x64xbf16>, %y: memref<?xbf16>, %i: index) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>} {
      %true = arith.constant true
      %c = gpu.block_id x
      %0 = gl.gather %x[%c, %i] if %true : memref<?x64xbf16>, (index, index), i1 -> bf16
      %t = tensor.splat %0 : tensor<64xbf16, #rows>
      gl.store %t, %y at affine_map<(b, n) -> (b * 64 + n)>(%c) : tensor<64xbf16, #rows>, memref<?xbf16>
      gpu.return
    }

    // Each of a thread's elements has coordinates of its own.
    // CHECK-LABEL: llvm.func @tile(
    // CHECK-COUNT-2: @$2 ld.global.b32
    // CHECK-NOT: ld.global
    gpu.func @tile(%x: memref<64xf32>, %y: memref<?xf32>) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>} {
      %c = gpu.block_id x
      %i = gl.coordinates affine_map<(b, n) -> (b + n)>(%c) : tensor<64xindex, #rows>
      %most = arith.constant dense<64> : tensor<64xindex, #rows>
      %m = arith.cmpi ult, %i, %most : tensor<64xindex, #rows>
      %0 = gl.gather %x[%i] if %m : memref<64xf32>, (tensor<64xindex, #rows>), tensor<64xi1, #rows> -> tensor<64xf32, #rows>
      gl.store %0, %y at affine_map<(b, n) -> (b * 64 + n)>(%c) : tensor<64xf32, #rows>, memref<?xf32>
      gpu.return
    }
  }
}
