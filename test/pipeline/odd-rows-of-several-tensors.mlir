// Odd rows of which one tensor is converted first: the dims of the fused kernel are in another order than the axes.
// RUN: norma-sim %s --size m=9 --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @masked(%x: tensor<?x127xf32>, %k: tensor<?x127xf16>) -> tensor<?x127xf32> {
  %m = arith.extf %k : tensor<?x127xf16> to tensor<?x127xf32>
  %y = norm.softmax %x mask(%m : tensor<?x127xf32>) : tensor<?x127xf32> -> tensor<?x127xf32>
  return %y : tensor<?x127xf32>
}
