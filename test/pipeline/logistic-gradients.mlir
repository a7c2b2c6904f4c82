// Gradients of sigmoids that programs write out as 1 / (1 + exp(-x)) are 0, and not NaN, where the exponential overflows: of an element, of
// a row, and by a power of two.
// RUN: norma-sim %s --function silu_grad --size m=3 --seeds 2 --fill large | FileCheck %s
// RUN: norma-sim %s --function silu_grad --size m=3 --seeds 2 | FileCheck %s
// RUN: norma-sim %s --function row_gate_grad --size m=30 --seeds 2 --fill large | FileCheck %s
// RUN: norma-sim %s --function softplus_grad --size m=3 --seeds 2 --fill large | FileCheck %s
// CHECK: verify {{ *}}right

func.func @silu(%g: tensor<?x64xf32> {norm.name = "g"}, %x: tensor<?x64xbf16> {norm.name = "x"})
    -> (tensor<?x64xbf16> {norm.name = "y"}) attributes {norm.gradient = ["g"]} {
  %y = norm.compute(%a = %g : tensor<?x64xf32>, %b = %x : tensor<?x64xbf16>) -> (%o : tensor<?x64xbf16>)
      space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.read %b[%m, %n] : tensor<?x64xbf16>
    %2 = arith.extf %1 : bf16 to f32
    %one = arith.constant 1.0 : f32
    %3 = arith.negf %0 : f32
    %4 = math.exp %3 : f32
    %5 = arith.addf %one, %4 : f32
    %6 = arith.divf %2, %5 : f32
    %7 = arith.truncf %6 : f32 to bf16
    norm.write %7, %o[%m, %n] : tensor<?x64xbf16>
  }
  return %y : tensor<?x64xbf16>
}

func.func @row_gate(%g: tensor<?xf32> {norm.name = "g"}, %x: tensor<?x64xbf16> {norm.name = "x"})
    -> (tensor<?x64xf32> {norm.name = "y"}) attributes {norm.gradient = ["g"]} {
  %y = norm.compute(%a = %g : tensor<?xf32>, %b = %x : tensor<?x64xbf16>) -> (%o : tensor<?x64xf32>)
      space(%m = dim(%b, 0), %n = 64) {
    %0 = norm.read %a[%m] : tensor<?xf32>
    %1 = norm.read %b[%m, %n] : tensor<?x64xbf16>
    %2 = arith.extf %1 : bf16 to f32
    %one = arith.constant 1.0 : f32
    %scale = arith.constant -1.44269504 : f32
    %3 = arith.mulf %0, %scale : f32
    %4 = math.exp2 %3 : f32
    %5 = arith.addf %4, %one : f32
    %6 = arith.divf %one, %5 : f32
    %7 = arith.mulf %6, %2 : f32
    norm.write %7, %o[%m, %n] : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

// The derivative of log(1 + exp(x)) is 1 where the exponential overflows.
func.func @softplus(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.name = "y"}) attributes {norm.gradient = ["x"]} {
  %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = math.exp %0 : f32
    %2 = math.log1p %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}
