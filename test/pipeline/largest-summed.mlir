// A router's load: the largest of each token, each summed over all tokens, and the mean of what they are the largest of.
// RUN: norma-sim %s --size m=6 --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right

func.func @load(%x: tensor<?x32xf32> {norm.name = "x"}) -> (tensor<4xf32> {norm.name = "largest"}, tensor<32xf32> {norm.name = "load"}) {
  %p = norm.softmax %x : tensor<?x32xf32> -> tensor<?x32xf32>
  %v, %i = norm.top_k %p {k = 4} : tensor<?x32xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %largest = norm.reduce_axes sum %v {axes = array<i64: 0>} : tensor<?x4xf32> -> tensor<4xf32>
  %load = norm.reduce_axes mean %p {axes = array<i64: 0>} : tensor<?x32xf32> -> tensor<32xf32>
  return %largest, %load : tensor<4xf32>, tensor<32xf32>
}
