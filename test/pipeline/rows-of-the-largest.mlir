// A norm along the rows of the largest elements of each row: few rows that a CTA could hold are two kernels as many are.
// RUN: norma-sim %s --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @f(%x: tensor<4x16xf32> {norm.name = "x"}) -> (tensor<4x4xf32> {norm.name = "y"}) {
  %v, %i = norm.top_k %x {k = 4} : tensor<4x16xf32> -> tensor<4x4xf32>, tensor<4x4xi32>
  %y = norm.layer_norm %v {axes = array<i64: 0>} : tensor<4x4xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
