// Integer powers, numbers that are extracted from constant tensors, numbers that the function computes, and reductions of booleans: each
// gives right results, in functions on tensors as in kernel form.
// RUN: norma-sim %s --function powers --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function powers_of_bf16 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function power_in_kernel_form --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function extracted --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function computed_eps --size m=3 --scalar inverse=8 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function any_and_all --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function any_of_linalg --size m=3 --seeds 1 | FileCheck %s
// RUN: norma-sim %s --function any_in_kernel_form --size m=3 --seeds 1 | FileCheck %s
// CHECK: verify {{ *}}right

func.func @powers(%x: tensor<?x40xf32> {norm.name = "x"})
    -> (tensor<?x40xf32> {norm.name = "square"}, tensor<?x40xf32> {norm.name = "cube"}, tensor<?x40xf32> {norm.name = "inverse"},
        tensor<?x40xf32> {norm.name = "ninth"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x40xf32>
  %two = arith.constant 2 : i32
  %whole = tensor.empty(%m) : tensor<?x40xf32>
  %three = arith.constant dense<3> : tensor<i64>
  %cube_of = tensor.extract %three[] : tensor<i64>
  %minus_one = arith.constant -1 : i64
  %nine = arith.constant 9 : i64
  %square, %cube, %inverse, %ninth = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                       affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x40xf32>)
      outs(%whole, %whole, %whole, %whole : tensor<?x40xf32>, tensor<?x40xf32>, tensor<?x40xf32>, tensor<?x40xf32>) {
  ^bb0(%v: f32, %o0: f32, %o1: f32, %o2: f32, %o3: f32):
    %0 = math.fpowi %v, %two : f32, i32
    %1 = math.fpowi %v, %cube_of : f32, i64
    %2 = math.fpowi %v, %minus_one : f32, i64
    %3 = math.fpowi %v, %nine : f32, i64
    linalg.yield %0, %1, %2, %3 : f32, f32, f32, f32
  } -> (tensor<?x40xf32>, tensor<?x40xf32>, tensor<?x40xf32>, tensor<?x40xf32>)
  return %square, %cube, %inverse, %ninth : tensor<?x40xf32>, tensor<?x40xf32>, tensor<?x40xf32>, tensor<?x40xf32>
}

// A power of narrow floats is rounded once.
func.func @powers_of_bf16(%x: tensor<3x40xbf16> {norm.name = "x"})
    -> (tensor<3x40xbf16> {norm.name = "cube"}, tensor<3x40xbf16> {norm.name = "inverse"}, tensor<3x40xbf16> {norm.name = "one"}) {
  %three = arith.constant dense<3> : tensor<3x40xi32>
  %minus_two = arith.constant dense<-2> : tensor<3x40xi32>
  %none = arith.constant dense<0> : tensor<3x40xi32>
  %cube = math.fpowi %x, %three : tensor<3x40xbf16>, tensor<3x40xi32>
  %inverse = math.fpowi %x, %minus_two : tensor<3x40xbf16>, tensor<3x40xi32>
  %one = math.fpowi %x, %none : tensor<3x40xbf16>, tensor<3x40xi32>
  return %cube, %inverse, %one : tensor<3x40xbf16>, tensor<3x40xbf16>, tensor<3x40xbf16>
}

func.func @power_in_kernel_form(%x: tensor<?x40xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x40xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 40) {
    %0 = norm.read %a[%m, %n]
    %two = arith.constant 2 : i32
    %1 = math.fpowi %0, %two : f32, i32
    %2 = norm.reduce mean %1 over(%n) : f32
    norm.write %2, %o[%m]
  }
  return %y : tensor<?xf32>
}

func.func @extracted(%x: tensor<?x40xf32> {norm.name = "x"}) -> (tensor<?x40xf32> {norm.name = "y"}, tensor<?x40xf32> {norm.name = "z"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x40xf32>
  %factor = arith.constant dense<0.5> : tensor<f32>
  %half = tensor.extract %factor[] : tensor<f32>
  %halves = tensor.splat %half[%m] : tensor<?x40xf32>
  %y = arith.mulf %x, %halves : tensor<?x40xf32>
  %z = norm.rms_norm %x eps(%half) : tensor<?x40xf32> -> tensor<?x40xf32>
  return %y, %z : tensor<?x40xf32>, tensor<?x40xf32>
}

func.func @computed_eps(%x: tensor<?x40xbf16> {norm.name = "x"}, %inverse: f32 {norm.name = "inverse", norm.default = 4.0 : f32})
    -> (tensor<?x40xbf16> {norm.name = "y"}, tensor<?x40xbf16> {norm.name = "z"}) {
  %one = arith.constant 1.0 : f32
  %eps = arith.divf %one, %inverse : f32
  %y = norm.layer_norm %x eps(%eps) : tensor<?x40xbf16> -> tensor<?x40xbf16>
  %z = norm.softmax %x scale(%eps) : tensor<?x40xbf16> -> tensor<?x40xbf16>
  return %y, %z : tensor<?x40xbf16>, tensor<?x40xbf16>
}

func.func @any_and_all(%x: tensor<?x40xi1> {norm.name = "x"}) -> (tensor<?xi1> {norm.name = "any"}, tensor<?xi8> {norm.name = "all"}) {
  %any = norm.reduce_axes any %x : tensor<?x40xi1> -> tensor<?xi1>
  %all = norm.reduce_axes all %x : tensor<?x40xi1> -> tensor<?xi8>
  return %any, %all : tensor<?xi1>, tensor<?xi8>
}

func.func @any_of_linalg(%x: tensor<?x40xf32> {norm.name = "x"}) -> (tensor<?xi1> {norm.name = "any"}, tensor<?xi1> {norm.name = "all"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x40xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = tensor.splat %zero[%m] : tensor<?x40xf32>
  %positive = arith.cmpf ogt, %x, %zeros : tensor<?x40xf32>
  %false = arith.constant false
  %true = arith.constant true
  %row = tensor.empty(%m) : tensor<?xi1>
  %none = linalg.fill ins(%false : i1) outs(%row : tensor<?xi1>) -> tensor<?xi1>
  %every = linalg.fill ins(%true : i1) outs(%row : tensor<?xi1>) -> tensor<?xi1>
  %any = linalg.reduce {arith.ori} ins(%positive : tensor<?x40xi1>) outs(%none : tensor<?xi1>) dimensions = [1]
  %all = linalg.reduce {arith.andi} ins(%positive : tensor<?x40xi1>) outs(%every : tensor<?xi1>) dimensions = [1]
  return %any, %all : tensor<?xi1>, tensor<?xi1>
}

func.func @any_in_kernel_form(%x: tensor<?x40xi1> {norm.name = "x"}) -> (tensor<?xi1> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x40xi1>) -> (%o : tensor<?xi1>) space(%m = dim(%a, 0), %n = 40) {
    %0 = norm.read %a[%m, %n]
    %1 = norm.reduce or %0 over(%n) : i1
    norm.write %1, %o[%m]
  }
  return %y : tensor<?xi1>
}
