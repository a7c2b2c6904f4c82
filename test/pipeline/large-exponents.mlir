// Exponents whose reference times log2(e) is beyond f32: each exponential is 0 or 1.
// RUN: norma-opt %s --norma-to-tiled | FileCheck %s --check-prefix=TILED
// RUN: norma-sim %s --size m=9 --seeds 4 | FileCheck %s

// TILED: math.fma
// TILED: math.exp2
// CHECK: verify  right
func.func @f(%x: tensor<?x4096xbf16> {norm.name = "x"}) -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.softmax %x {scale = 7.0e37 : f32} : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
