// Every multiple of 1/4 below 8, of both signs, with the 16 f32 numbers around it: all numbers of e2m1, all ties between them,
// numbers that saturate, and NaN, the bit patterns before 0. The oracle decides all of them to the bit: the scale is 1.
// RUN: norma-sim %s --fill ones --seeds 1 | FileCheck %s
// RUN: norma-sim %s --fill ones --seeds 1 --target sm_120a | FileCheck %s

// CHECK: verify  right
func.func @ties(%scale: tensor<f32> {norm.name = "scale"}) -> (tensor<2x32x8xi8> {norm.name = "q"}) {
  %x = norm.compute() -> (%out : tensor<2x32x16xf32>) space(%s = 2, %i = 32, %j = 16) {
    %0 = arith.index_cast %i : index to i32
    %1 = arith.sitofp %0 : i32 to f32
    %quarter = arith.constant 0.25 : f32
    %2 = arith.mulf %1, %quarter : f32
    %3 = arith.bitcast %2 : f32 to i32
    %4 = arith.index_cast %j : index to i32
    %eight = arith.constant 8 : i32
    %5 = arith.subi %4, %eight : i32
    %6 = arith.addi %3, %5 : i32
    %7 = arith.index_cast %s : index to i32
    %sign = arith.constant 31 : i32
    %8 = arith.shli %7, %sign : i32
    %9 = arith.xori %6, %8 : i32
    %10 = arith.bitcast %9 : i32 to f32
    norm.write %10, %out[%s, %i, %j] : tensor<2x32x16xf32>
  }
  %q = norm.quantize %x static_scale(%scale : tensor<f32>) {e2m1} : tensor<2x32x16xf32> -> tensor<2x32x8xi8>
  return %q : tensor<2x32x8xi8>
}
