// Partial sums of a space with one row less than its tensor has: without rows there is no scratch.
// RUN: normac %s -o %t
// RUN: FileCheck %s < %t/manifest.json
// CHECK: 99*max(m1 + -1, 0)*4
func.func @f(%x: tensor<?x1000000xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x1000000xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0) - 1, %n = 1000000) {
    %0 = norm.read %a[%m + 1, %n] : tensor<?x1000000xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
