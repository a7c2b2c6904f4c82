// The definition of a function in kernel form: one program per launch, with a buffer's collapsed dims split again.
// REQUIRES: ptxas
// RUN: normac %s --from=kernel --json | FileCheck %s

// CHECK-LABEL: "name": "collapsed"
// CHECK:       "definition": {
// CHECK:         "tensor": "x",
// CHECK-NEXT:    "access": [
// CHECK-NEXT:      "floordiv(d0, 4)",
// CHECK-NEXT:      "mod(d0, 4)",
// CHECK-NEXT:      "d1"
func.func @collapsed(%x: memref<?x4x64xf32> {norm.name = "x"}, %y: memref<?x4xf32> {norm.name = "y", norm.output}) {
  %0 = memref.collapse_shape %x [[0, 1], [2]] : memref<?x4x64xf32> into memref<?x64xf32>
  %1 = memref.collapse_shape %y [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  norm.launch @row_sum(%0, %1) : memref<?x64xf32>, memref<?xf32>
  return
}
norm.kernel @row_sum(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// A kernel may read what an earlier one writes.
// CHECK-LABEL: "name": "chained"
// CHECK:       "definition": {
// CHECK:         "kind": "program"
// CHECK:           "kind": "write",
// CHECK-NEXT:      "value": 1,
// CHECK-NEXT:      "tensor": "sums"
// CHECK:         "kind": "program"
// CHECK:           "kind": "read",
// CHECK-NEXT:      "tensor": "x"
// CHECK:           "kind": "read",
// CHECK-NEXT:      "tensor": "sums"
func.func @chained(%x: memref<?x64xf32> {norm.name = "x"}, %sums: memref<?xf32> {norm.name = "sums", norm.output},
                   %spread: memref<?xf32> {norm.name = "spread", norm.output}) {
  norm.launch @row_sum(%x, %sums) : memref<?x64xf32>, memref<?xf32>
  norm.launch @spread(%x, %sums, %spread) : memref<?x64xf32>, memref<?xf32>, memref<?xf32>
  return
}
norm.kernel @spread(%x: memref<?x64xf32>, %sums: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %sums[%m] : memref<?xf32>
  %2 = arith.subf %0, %1 : f32
  %3 = norm.reduce max %2 over(%n) : f32
  norm.write %3, %y[%m] : memref<?xf32>
}
