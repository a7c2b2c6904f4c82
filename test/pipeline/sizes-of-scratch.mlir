// Kernels for few and for many points of a function whose second kernel has its size from scratch: any size can be launched.
// RUN: norma-sim %s --by-size --size m=5 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --by-size --size m=200 --seeds 1 --rows-checked 2 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @f(%x: tensor<?x16xf32> {norm.name = "x"}) -> (tensor<?x16xf32> {norm.name = "y"}) {
  %c = norm.cumsum %x {axis = 0} : tensor<?x16xf32> -> tensor<?x16xf32>
  %y = norm.rms_norm %c : tensor<?x16xf32> -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
