// Rows shorter than a warp in place, whose elements several threads load and one stores, and a value of a row that all warps of a CTA load.
// RUN: norma-sim %s --function rows --seeds 12 | FileCheck %s
// RUN: norma-sim %s --function sums --size m=3 --seeds 4 | FileCheck %s
// CHECK: verify {{ *}}right
func.func @rows(%x: tensor<64x8xf32> {norm.name = "x"}) -> (tensor<64x8xf32> {norm.name = "y", norm.may_alias = "x"}) {
  %y = norm.layer_norm %x : tensor<64x8xf32> -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}
func.func @sums(%x: tensor<?x4096xf32> {norm.name = "x", norm.sizes = ["m", ""]}, %a: tensor<?xf32> {norm.name = "a", norm.sizes = ["m"]})
    -> (tensor<?xf32> {norm.name = "y", norm.may_alias = "a"}) {
  %y = norm.compute(%i = %x : tensor<?x4096xf32>, %j = %a : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%i, 0), %n = 4096) {
    %0 = norm.read %i[%m, %n]
    %1 = norm.reduce add %0 over(%n) : f32
    %2 = norm.read %j[%m]
    %3 = arith.addf %1, %2 : f32
    norm.write %3, %o[%m]
  }
  return %y : tensor<?xf32>
}
