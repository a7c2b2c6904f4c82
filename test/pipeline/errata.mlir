// ptxas 13.0.88 drops the negation of an operand where it makes one VIMNMX3 of two maxima: no integer is negated by `neg`.
// RUN: normac %s --emit=ptx | FileCheck %s --implicit-check-not=neg.s

// CHECK-COUNT-8: not.b32
// CHECK:         max.s32
func.func @largest(%x: tensor<?x1024xi32> {norm.name = "x"}) -> (tensor<?xi32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x1024xi32>) -> (%o : tensor<?xi32>) space(%m = dim(%a, 0), %n = 1024) {
    %zero = arith.constant 0 : i32
    %0 = norm.read %a[%m, %n] : tensor<?x1024xi32>
    %1 = arith.subi %zero, %0 : i32
    %2 = norm.reduce max %1 over(%n) : i32
    norm.write %2, %o[%m] : tensor<?xi32>
  }
  return %y : tensor<?xi32>
}
