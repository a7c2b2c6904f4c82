// A statement of a definition may be as large as an intermediate value that no statement reads.
// RUN: norma-sim %s --function broadcast --size m=4 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function sums_grad --size m=4 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function sum_everywhere --size rows=3 --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @broadcast(%x: tensor<?x64xf32> {norm.name = "x", norm.sizes = ["m", ""]}, %w: tensor<64xf32> {norm.name = "w"})
    -> (tensor<?x64xf32> {norm.name = "y", norm.sizes = ["m", ""]}) {
  %n = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xbf16>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %n, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%m) : tensor<?x64xf32>
  %y = linalg.broadcast ins(%w : tensor<64xf32>) outs(%e : tensor<?x64xf32>) dimensions = [0]
  return %y : tensor<?x64xf32>
}
// The gradients have the sizes of the tensors that they are with respect to.
func.func @sums(%x: tensor<?x72xf32> {norm.name = "x", norm.sizes = ["m", ""]}) -> (tensor<?x72xf32> {norm.name = "y", norm.sizes = ["m", ""]})
    attributes {norm.gradient} {
  %0 = norm.cumsum %x : tensor<?x72xf32> -> tensor<?x72xf32>
  %1 = norm.cumsum %0 : tensor<?x72xf32> -> tensor<?x72xf32>
  return %1 : tensor<?x72xf32>
}
// The result has as many rows as the tensor, of which its kernel takes the size alone.
func.func @sum_everywhere(%x: tensor<?x7xf32> {norm.name = "x", norm.sizes = ["rows", ""]}) -> (tensor<?x7xf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x7xf32>
  %s = norm.reduce_axes sum %x {axes = array<i64: 0, 1>} : tensor<?x7xf32> -> tensor<f32>
  %e = tensor.empty(%m) : tensor<?x7xf32>
  %y = linalg.broadcast ins(%s : tensor<f32>) outs(%e : tensor<?x7xf32>) dimensions = [0, 1]
  return %y : tensor<?x7xf32>
}
