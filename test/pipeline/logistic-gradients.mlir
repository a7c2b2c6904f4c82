// Gradients of sigmoids that programs write out as 1 / (1 + exp(-x)) are 0, and not NaN, where the exponential overflows: of an element, of
// a row, and by a power of two.
// RUN: norma-sim %s --function silu_grad --size m=3 --seeds 2 --fill large | FileCheck %s
// RUN: norma-sim %s --function silu_grad --size m=3 --seeds 2 | FileCheck %s
// RUN: norma-sim %s --function row_gate_grad --size m=30 --seeds 2 --fill large | FileCheck %s
// RUN: norma-sim %s --function softplus_grad --size m=3 --seeds 2 --fill large | FileCheck %s
// RUN: norma-sim %s --function scaled_grad --size m=3 --seeds 2 --fill large | FileCheck %s
// CHECK: verify {{ *}}right

// An exponential of f16 overflows from 11.1 on, and is widened before it is compared.
// RUN: norma-sim %s --function half_grad --size m=3 --seeds 2 | FileCheck %s
// RUN: normac %s --emit=kernel | FileCheck %s --check-prefix=HALF
// HALF-LABEL: norm.kernel @half_grad_0
// HALF: %[[EXP:.*]] = math.exp {{.*}} : f16
// HALF: %[[WIDE:.*]] = arith.extf %[[EXP]] : f16 to f32
// HALF: %[[BEYOND:.*]] = arith.cmpf ogt, %[[WIDE]]
// HALF: arith.select %[[BEYOND]]

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

// The derivative of 1 / (1 + 2 * exp(-x)) and of 1 / (exp(-x) - (-1)).
func.func @scaled(%g: tensor<?x64xf32> {norm.name = "g"}) -> (tensor<?x64xf32> {norm.name = "y"}) attributes {norm.gradient = ["g"]} {
  %y = norm.compute(%a = %g : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %minus = arith.constant -1.0 : f32
    %1 = arith.negf %0 : f32
    %2 = math.exp %1 : f32
    %3 = arith.mulf %2, %two : f32
    %4 = arith.addf %3, %one : f32
    %5 = arith.divf %one, %4 : f32
    %6 = arith.subf %2, %minus : f32
    %7 = arith.divf %one, %6 : f32
    %8 = arith.addf %5, %7 : f32
    norm.write %8, %o[%m, %n] : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

func.func @half(%g: tensor<?x64xf16> {norm.name = "g"}) -> (tensor<?x64xf16> {norm.name = "y"}) attributes {norm.gradient = ["g"]} {
  %y = norm.compute(%a = %g : tensor<?x64xf16>) -> (%o : tensor<?x64xf16>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf16>
    %one = arith.constant 1.0 : f16
    %1 = arith.negf %0 : f16
    %2 = math.exp %1 : f16
    %3 = arith.addf %2, %one : f16
    %4 = arith.divf %one, %3 : f16
    norm.write %4, %o[%m, %n] : tensor<?x64xf16>
  }
  return %y : tensor<?x64xf16>
}
