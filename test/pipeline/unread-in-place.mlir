// A result may be over an argument that no kernel reads, of which it has the sizes.
// RUN: normac %s --json -o %t | FileCheck %s --check-prefix=MANIFEST
// RUN: norma-sim %s --function copy --size m=5 | FileCheck %s
// RUN: norma-sim %s --function fill --size m=3 --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right

// MANIFEST: "name": "buffer"
// MANIFEST: "shape": [
// MANIFEST-NEXT: "m"
func.func @copy(%x: tensor<?xf32> {norm.name = "x", norm.sizes = ["m"]}, %buffer: tensor<?xf32> {norm.name = "buffer"})
    -> (tensor<?xf32> {norm.name = "y", norm.may_alias = "buffer"}) {
  %y = norm.compute(%in = %x : tensor<?xf32>) -> (%out : tensor<?xf32>) space(%m = dim(%in, 0)) {
    %0 = norm.read %in[%m] : tensor<?xf32>
    %1 = arith.negf %0 : f32
    norm.write %1, %out[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
func.func @fill(%x: tensor<?x128xf32> {norm.name = "x", norm.sizes = ["m", ""]}, %s: tensor<f32> {norm.name = "s"})
    -> (tensor<?x128xf32> {norm.name = "y", norm.sizes = ["m", ""], norm.may_alias = "x"}) {
  %y = norm.compute(%a = %x : tensor<?x128xf32>, %b = %s : tensor<f32>) -> (%o : tensor<?x128xf32>) space(%m = dim(%a, 0), %n = 128) {
    %0 = norm.read %b[]
    norm.write %0, %o[%m, %n]
  }
  return %y : tensor<?x128xf32>
}
