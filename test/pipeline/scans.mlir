// Scans in kernel form, in one kernel with the ops before and after them, compute what their programs say, in the simulator.
// RUN: norma-sim %s --function sums_of_softmax --size m=3 | FileCheck %s
// RUN: norma-sim %s --function largest_so_far --size m=3 | FileCheck %s
// RUN: norma-sim %s --function share_of_all --size m=2 | FileCheck %s
// CHECK: nothing found under 4 seeds
// CHECK: verify {{ *}}right

// A reduction before the scan.
func.func @sums_of_softmax(%x: tensor<?x1000xf32> {norm.name = "x"}) -> (tensor<?x1000xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x1000xf32>) -> (%o : tensor<?x1000xf32>) space(%m = dim(%a, 0), %n = 1000) {
    %0 = norm.read %a[%m, %n] : tensor<?x1000xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    %3 = math.exp %2 : f32
    %4 = norm.reduce add %3 over(%n) : f32
    %5 = arith.divf %3, %4 : f32
    %6 = norm.scan add %5 along(%n) : f32
    norm.write %6, %o[%m, %n] : tensor<?x1000xf32>
  }
  return %y : tensor<?x1000xf32>
}

// A combiner whose identity is not zero, along two axes.
func.func @largest_so_far(%x: tensor<?x7x33xf32> {norm.name = "x"}) -> (tensor<?x7x33xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x7x33xf32>) -> (%o : tensor<?x7x33xf32>) space(%m = dim(%a, 0), %i = 7, %j = 33) {
    %0 = norm.read %a[%m, %i, %j] : tensor<?x7x33xf32>
    %1 = norm.scan max exclusive %0 along(%i, %j) : f32
    norm.write %1, %o[%m, %i, %j] : tensor<?x7x33xf32>
  }
  return %y : tensor<?x7x33xf32>
}

// A reduction of the scan's result, after which rows that no CTA holds are scanned again.
func.func @share_of_all(%x: tensor<?x70000xf32> {norm.name = "x"}) -> (tensor<?x70000xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x70000xf32>) -> (%o : tensor<?x70000xf32>) space(%m = dim(%a, 0), %n = 70000) {
    %0 = norm.read %a[%m, %n] : tensor<?x70000xf32>
    %1 = math.absf %0 : f32
    %2 = norm.scan add %1 along(%n) : f32
    %3 = norm.reduce max %2 over(%n) : f32
    %4 = arith.divf %2, %3 : f32
    norm.write %4, %o[%m, %n] : tensor<?x70000xf32>
  }
  return %y : tensor<?x70000xf32>
}
