// Exponents whose reference times log2(e) is beyond f32, or so large that it is rounded by more than exponents have room for: each
// exponential is 0 or 1.
// RUN: norma-opt %s --norma-to-tiled | FileCheck %s --check-prefix=TILED
// RUN: norma-sim %s --function f --size m=9 --seeds 4 | FileCheck %s
// RUN: norma-sim %s --function masked --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function scaled --size m=9 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function scaled --size m=9 --seeds 1 --fill large | FileCheck %s

// TILED: math.fma
// TILED: math.exp2
// CHECK: verify  right
func.func @f(%x: tensor<?x4096xbf16> {norm.name = "x"}) -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.softmax %x {scale = 7.0e37 : f32} : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// All of a row is masked by a number that is not infinite: its elements are equal.
func.func @masked(%x: tensor<?x1000xf32> {norm.name = "x"}) -> (tensor<?x1000xf32> {norm.name = "y"}) {
  %mask = arith.constant -1.0e30 : f32
  %zero = arith.constant 0 : index
  %m = tensor.dim %x, %zero : tensor<?x1000xf32>
  %row = tensor.splat %mask[%m] : tensor<?x1000xf32>
  %s = arith.addf %x, %row : tensor<?x1000xf32>
  %y = norm.softmax %s : tensor<?x1000xf32> -> tensor<?x1000xf32>
  return %y : tensor<?x1000xf32>
}

func.func @scaled(%x: tensor<?x4096xf32> {norm.name = "x"}) -> (tensor<?x4096xf32> {norm.name = "y"}) {
  %y = norm.softmax %x {scale = 1.0e9 : f32} : tensor<?x4096xf32> -> tensor<?x4096xf32>
  return %y : tensor<?x4096xf32>
}
