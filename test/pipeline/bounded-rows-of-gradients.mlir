// A promise of few rows leaves the walk of a gradient one step.
// RUN: norma-sim %s --size m=3 --size n=33 --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @f(%x: tensor<?x?xbf16> {norm.name = "x", norm.sizes = ["m", "n"], norm.max = array<i64: 4, -1>},
             %dy: tensor<?x?xbf16> {norm.name = "dy", norm.sizes = ["m", "n"]})
    -> (tensor<?x?xbf16> {norm.name = "dx"}, tensor<?xf32> {norm.name = "dw"}) {
  %dx, %dw = norm.layer_norm_grad %x dy(%dy : tensor<?x?xbf16>) : tensor<?x?xbf16> -> tensor<?x?xbf16> dweight(tensor<?xf32>)
  return %dx, %dw : tensor<?x?xbf16>, tensor<?xf32>
}
