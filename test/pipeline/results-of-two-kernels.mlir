// Rows of a result of which different kernels write some.
// RUN: norma-sim %s --size m=3 --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @f(%x: tensor<?x8xf32> {norm.name = "x"}) -> (tensor<2x?xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x8xf32>) -> (%o : tensor<2x?xf32>) space(%m = dim(%a, 0), %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<?x8xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = norm.reduce max %0 over(%m, %n) : f32
    norm.write %1, %o[0, %m] : tensor<2x?xf32>
    norm.write %2, %o[1, %m] : tensor<2x?xf32>
  }
  return %y : tensor<2x?xf32>
}
