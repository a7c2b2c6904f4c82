// Elements at computed places are loaded and stored where the mask holds; what is not loaded is zero.
// RUN: norma-opt %s --pass-pipeline='builtin.module(gpu.module(convert-gl-to-nvvm))' | FileCheck %s

#rows = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#one = #gl.slice<axis = 0, parent = #rows>

module attributes {gpu.container_module} {
  gpu.module @gathers {
    // The size of dynamic axes is no part of the address.
    // CHECK-LABEL: llvm.func @one(
    // CHECK: llvm.inline_asm {{.*}}"mov.b16 $0, 0; @$2 ld.global.b16 $0, [$1];"
    gpu.func @one(%x: memref<?x64xbf16>, %y: memref<?xbf16>, %i: index) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>} {
      %c = gpu.block_id x
      %c64 = arith.constant 64 : index
      %m = arith.cmpi ult, %i, %c64 : index
      %mask = tensor.splat %m : tensor<i1, #one>
      %0 = gl.gather %x at affine_map<(b, i) -> (b, i)>(%c, %i)[] if %mask : tensor<i1, #one> : memref<?x64xbf16> -> tensor<bf16, #one>
      %e = tensor.extract %0[] : tensor<bf16, #one>
      %t = tensor.splat %e : tensor<64xbf16, #rows>
      gl.store %t, %y at affine_map<(b, n) -> (b * 64 + n)>(%c) : tensor<64xbf16, #rows>, memref<?xbf16>
      gpu.return
    }

    // Each of a thread's elements has a place of its own.
    // CHECK-LABEL: llvm.func @tile(
    // CHECK-COUNT-2: @$2 ld.global.b32
    // CHECK-NOT: ld.global
    gpu.func @tile(%x: memref<64xf32>, %y: memref<?xf32>) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [1, 0], alignments = [16, 16]>} {
      %c = gpu.block_id x
      %i = gl.coordinates affine_map<(b, n) -> (b + n)>(%c) : tensor<64xindex, #rows>
      %most = arith.constant dense<64> : tensor<64xindex, #rows>
      %m = arith.cmpi ult, %i, %most : tensor<64xindex, #rows>
      %0 = gl.gather %x at affine_map<(i, n) -> (i)>()[%i] if %m : tensor<64xi1, #rows> : memref<64xf32>, (tensor<64xindex, #rows>) -> tensor<64xf32, #rows>
      gl.store %0, %y at affine_map<(b, n) -> (b * 64 + n)>(%c) : tensor<64xf32, #rows>, memref<?xf32>
      gpu.return
    }

    // A vector is moved by the place of its first element; one of which a guard admits a part, element by element.
    // CHECK-LABEL: llvm.func @vectors(
    // CHECK-COUNT-1: @$3 ld.global.v2.b32
    // CHECK-NOT: ld.global.v2
    // CHECK-LABEL: llvm.func @part(
    // CHECK-COUNT-2: @$2 ld.global.b32
    // CHECK-NOT: ld.global
    gpu.func @vectors(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %i: index) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [1, 0], alignments = [16, 16]>} {
      %c = gpu.block_id x
      %rows = tensor.splat %i : tensor<64xindex, #rows>
      %most = arith.constant dense<9> : tensor<64xindex, #rows>
      %m = arith.cmpi ult, %rows, %most : tensor<64xindex, #rows>
      %0 = gl.gather %x at affine_map<(p, n) -> (p, n)>()[%rows] if %m : tensor<64xi1, #rows> vector 2 : memref<?x64xf32>, (tensor<64xindex, #rows>) -> tensor<64xf32, #rows>
      gl.store %0, %y at affine_map<(b, n) -> (b, n)>(%c) : tensor<64xf32, #rows>, memref<?x64xf32>
      gpu.return
    }
    gpu.func @part(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %i: index, %n: index) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [1, 0], alignments = [16, 16]>} {
      %c = gpu.block_id x
      %rows = tensor.splat %i : tensor<64xindex, #rows>
      %0 = gl.gather %x at affine_map<(p, n) -> (p, n)>()[%rows] where affine_map<(p, n)[s0] -> (n, s0)>[%n] vector 2 : memref<?x64xf32>, (tensor<64xindex, #rows>) -> tensor<64xf32, #rows>
      gl.store %0, %y at affine_map<(b, n) -> (b, n)>(%c) : tensor<64xf32, #rows>, memref<?x64xf32>
      gpu.return
    }

    // Elements that several threads hold are stored by one of them.
    // CHECK-LABEL: llvm.func @stored(
    // CHECK-SAME: llvm.readonly}, %arg1: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias},
    // CHECK-COUNT-1: @$3 st.global.v2.b32
    // CHECK-NOT: st.global
    gpu.func @stored(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %i: index) kernel attributes {gl.num_warps = 1 : i64,
        gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [1, 0], alignments = [16, 16]>} {
      %c = gpu.block_id x
      %0 = gl.load %x at affine_map<(b, n) -> (b, n)>(%c) vector 2 : memref<?x64xf32> -> tensor<64xf32, #rows>
      %rows = tensor.splat %i : tensor<64xindex, #rows>
      %most = arith.constant dense<9> : tensor<64xindex, #rows>
      %m = arith.cmpi ult, %rows, %most : tensor<64xindex, #rows>
      gl.scatter %0, %y at affine_map<(p, n) -> (p, n)>()[%rows] if %m : tensor<64xi1, #rows> vector 2 : tensor<64xf32, #rows>, memref<?x64xf32>, (tensor<64xindex, #rows>)
      gpu.return
    }
  }
}
