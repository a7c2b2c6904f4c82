// Guards are compared in 32 bits if all their operands are known to fit, or if so many registers are compared that clamping the
// bound first pays off.
// RUN: norma-opt %s --pass-pipeline='builtin.module(gpu.module(convert-gl-to-nvvm))' | FileCheck %s

#eight = #gl.linear<register = [[32], [64], [128]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
#vectors = #gl.linear<register = [[1], [2], [128]], lane = [[4], [8], [16], [32], [64]], warp = [], block = []>

gpu.module @guards {
  // Bounds of sizes in the launch also bound the steps of a loop.
  // CHECK-LABEL: llvm.func @bounded(
  // CHECK: scf.for
  // CHECK-NOT: arith.maxsi
  // CHECK-COUNT-8: arith.cmpi slt, %{{.*}} : i32
  // CHECK-NOT: arith.cmpi
  gpu.func @bounded(%x: memref<?x?xf32>, %y: memref<f32>) kernel attributes {
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0],
                             alignments = [4, 4], bounds = [0, 1, 0, 65536]>, gl.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c255 = arith.constant 255 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant 0.0 : f32
    %row = gpu.block_id x
    %n = memref.dim %x, %c1 : memref<?x?xf32>
    %raised = arith.addi %n, %c255 : index
    %steps = arith.divui %raised, %c256 : index
    scf.for %step = %c0 to %steps step %c1 {
      %0 = gl.load %x at affine_map<(d0, d1, d2) -> (d0, d1 * 256 + d2)>(%row, %step) where
          affine_map<(d0, d1, d2)[s0] -> (d1 * 256 + d2, s0)>[%n] other %zero : f32 vector 1
          : memref<?x?xf32> -> tensor<256xf32, #eight>
    }
    gpu.return
  }

  // Clamping changes no comparison: below the clamped range all of them hold, and above it none.
  // CHECK-LABEL: llvm.func @any_size(
  // CHECK: scf.for
  // CHECK: %[[RAISED:.*]] = arith.maxsi %{{.*}}, %c-256_i64 : i64
  // CHECK: %[[CUT:.*]] = arith.minsi %[[RAISED]], %c0_i64{{.*}} : i64
  // CHECK: arith.trunci %[[CUT]] : i64 to i32
  // CHECK-COUNT-8: arith.cmpi slt, %{{.*}} : i32
  // CHECK-NOT: arith.cmpi
  gpu.func @any_size(%x: memref<?x?xf32>, %y: memref<f32>) kernel attributes {
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0],
                             alignments = [4, 4]>, gl.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c255 = arith.constant 255 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant 0.0 : f32
    %row = gpu.block_id x
    %n = memref.dim %x, %c1 : memref<?x?xf32>
    %raised = arith.addi %n, %c255 : index
    %steps = arith.divui %raised, %c256 : index
    scf.for %step = %c0 to %steps step %c1 {
      %0 = gl.load %x at affine_map<(d0, d1, d2) -> (d0, d1 * 256 + d2)>(%row, %step) where
          affine_map<(d0, d1, d2)[s0] -> (d1 * 256 + d2, s0)>[%n] other %zero : f32 vector 1
          : memref<?x?xf32> -> tensor<256xf32, #eight>
    }
    gpu.return
  }

  // Two comparisons, one for each vector, cost less than clamping.
  // CHECK-LABEL: llvm.func @any_size_by_vectors(
  // CHECK-NOT: arith.maxsi
  // CHECK-COUNT-2: arith.cmpi slt, %{{.*}} : i64
  gpu.func @any_size_by_vectors(%x: memref<?xf32>, %y: memref<f32>) kernel attributes {
      gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0],
                             alignments = [16, 4], multiples = [0, 0, 4]>, gl.num_warps = 1 : i64} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %cta = gpu.block_id x
    %n = memref.dim %x, %c0 : memref<?xf32>
    %0 = gl.load %x at affine_map<(d0, d1) -> (d0 * 256 + d1)>(%cta) where affine_map<(d0, d1)[s0] -> (d0 * 256 + d1, s0)>[%n]
        other %zero : f32 vector 4 : memref<?xf32> -> tensor<256xf32, #vectors>
    gpu.return
  }
}
