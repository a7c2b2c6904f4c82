// Rows whose scaled elements are as large as floats get, as those that a mask of the least float leaves nothing of: the distance of the
// largest to itself is 0, however a product with the scale is rounded.
// RUN: norma-sim %s --fill ones --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @masked(%x: tensor<4x128xbf16> {norm.name = "x"}) -> (tensor<4x128xbf16> {norm.name = "y"}, tensor<4x128xf32> {norm.name = "l"}) {
  %low = arith.constant dense<-3.389530e+38> : tensor<4x128xbf16>
  %z = arith.mulf %x, %low : tensor<4x128xbf16>
  %y = norm.softmax %z {scale = 0.1020620726 : f32} : tensor<4x128xbf16> -> tensor<4x128xbf16>
  %l = norm.log_softmax %z {scale = 0.1020620726 : f32} : tensor<4x128xbf16> -> tensor<4x128xf32>
  return %y, %l : tensor<4x128xbf16>, tensor<4x128xf32>
}
