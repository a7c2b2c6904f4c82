// The scale of no elements is the least power of two, and that of infinities is NaN, also where it is a constant.
// RUN: norma-sim %s --function empty --size m=0 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function infinite --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @empty(%x: tensor<?x4xf32> {norm.name = "x"}) -> (tensor<f32> {norm.name = "s"}) {
  %q, %s = norm.quantize %x {block = array<i64: 0, 0>, power_of_two} : tensor<?x4xf32> -> tensor<?x4xi8> scale(tensor<f32>)
  return %s : tensor<f32>
}
func.func @infinite(%x: tensor<4xf32> {norm.name = "x"}) -> (tensor<4xf8E5M2> {norm.name = "q"}, tensor<4xf8E8M0FNU> {norm.name = "s"}) {
  %c = arith.constant dense<0x7F800000> : tensor<4xf32>
  %q, %s = norm.quantize %c {block = array<i64: 1>} : tensor<4xf32> -> tensor<4xf8E5M2> scale(tensor<4xf8E8M0FNU>)
  return %q, %s : tensor<4xf8E5M2>, tensor<4xf8E8M0FNU>
}
