// Scans along both dims of a tile: of the candidates, those are chosen whose partial sums fit in shared memory and registers.
// RUN: norma-sim %s --function rows_and_columns --size m=70 --seeds 1 | FileCheck %s
// RUN: normac %s --target sm_89 --emit=nvvm -o /dev/null
// CHECK: verify {{ *}}right
func.func @rows_and_columns(%x: tensor<?x129xf32> {norm.name = "x"}) -> (tensor<?x129xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x129xf32>) -> (%o : tensor<?x129xf32>) space(%m = dim(%a, 0), %n = 129) {
    %0 = norm.read %a[%m, %n] : tensor<?x129xf32>
    %1 = norm.scan add %0 along(%m) : f32
    %2 = norm.scan add %0 along(%n) : f32
    %3 = arith.addf %1, %2 : f32
    norm.write %3, %o[%m, %n] : tensor<?x129xf32>
  }
  return %y : tensor<?x129xf32>
}
