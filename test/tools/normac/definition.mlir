// The manifest says what a function computes as its author wrote it, before any pass: a named op by its name, so that a
// fault in its decomposition cannot reach the reference; kernel form as a program over the function's own
// tensors and sizes.
// REQUIRES: ptxas
// RUN: normac %examples/rms_norm.mlir --json | FileCheck %s --check-prefix=NAMED
// RUN: normac %s --json | FileCheck %s

// NAMED:      "definition": {
// NAMED-NEXT:   "statements": [
// NAMED-NEXT:     {
// NAMED-NEXT:       "kind": "named",
// NAMED-NEXT:       "op": "rms_norm",
// NAMED-NEXT:       "operands": {
// NAMED-NEXT:         "weight": "w",
// NAMED-NEXT:         "x": "x"
// NAMED-NEXT:       },
// NAMED-NEXT:       "results": {
// NAMED-NEXT:         "y": "y"
// NAMED-NEXT:       },
// NAMED-NEXT:       "attributes": {
// NAMED-NEXT:         "axes": [
// NAMED-NEXT:           -1
// NAMED-NEXT:         ],
// NAMED-NEXT:         "eps": 9.99999997
// NAMED-NEXT:         "weight_offset": 0.0
// NAMED-NEXT:       }
// NAMED-NEXT:     }
// NAMED-NEXT:   ]
// NAMED-NEXT: }
// NAMED-NOT:  "definition"

// Every operand, result and attribute is there; results that are not given names have those of the manifest.
// CHECK-LABEL: "name": "all_options"
// CHECK:       "definition": {
// CHECK:         "operands": {
// CHECK-NEXT:      "bias": "arg2",
// CHECK-NEXT:      "weight": "arg1",
// CHECK-NEXT:      "x": "arg0"
// CHECK:         "results": {
// CHECK-NEXT:      "rstd": "result0",
// CHECK-NEXT:      "y": "result1"
// CHECK:           "axes": [
// CHECK-NEXT:        1,
// CHECK-NEXT:        2
// CHECK-NEXT:      ],
// CHECK-NEXT:      "eps": 0.5,
// CHECK-NEXT:      "weight_offset": 1.0
func.func @all_options(%x: tensor<?x4x64xf32>, %w: tensor<4x64xf32>, %b: tensor<4x64xf32>)
    -> (tensor<?xf32>, tensor<?x4x64xf32>) {
  %y, %rstd = norm.rms_norm %x weight(%w : tensor<4x64xf32>) bias(%b : tensor<4x64xf32>)
      {axes = array<i64: 1, 2>, eps = 0.5 : f32, weight_offset = 1.0 : f32} : tensor<?x4x64xf32> -> tensor<?x4x64xf32>, tensor<?xf32>
  return %rstd, %y : tensor<?xf32>, tensor<?x4x64xf32>
}

// A program keeps its space as it was written: normalizing it merges dims only in the kernels.
// CHECK-LABEL: "name": "sums"
// CHECK:       "definition": {
// CHECK:         "kind": "program",
// CHECK-NEXT:    "space": [
// CHECK-NEXT:      "m",
// CHECK-NEXT:      8,
// CHECK-NEXT:      8
// CHECK-NEXT:    ],
// CHECK:         "access": [
// CHECK-NEXT:      "d0",
// CHECK-NEXT:      "d1",
// CHECK-NEXT:      "d2"
// CHECK:         "over": [
// CHECK-NEXT:      1,
// CHECK-NEXT:      2
func.func @sums(%x: tensor<?x8x8xf32>) -> tensor<?xf32> {
  %s = norm.compute(%a = %x : tensor<?x8x8xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %i = 8, %j = 8) {
    %0 = norm.read %a[%m, %i, %j] : tensor<?x8x8xf32>
    %1 = norm.reduce add %0 over(%i, %j) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}
