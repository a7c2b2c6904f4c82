// Rows of any length: nothing is assumed of it but that the kernel reaches no further, unless the source states more.
// RUN: norma-sim %s --function any --size m=3 --size m1=67 | FileCheck %s
// RUN: norma-sim %s --function stated --size m=3 --size m1=72 | FileCheck %s
// CHECK: nothing found
// CHECK: verify  right

// RUN: not norma-sim %s --function any --size m=3 --size m1=10 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: expected dim(x, 1) >= 64, got 10
// RUN: not norma-sim %s --function stated --size m=3 --size m1=67 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: the kernels assume that extent 1 of 'x' is a multiple of 8, got 67

// No row of any length: nothing overlaps and nothing is launched.
// RUN: norma-sim %s --function copy --size m=0 --size k=64 | FileCheck %s --check-prefix=NONE
// NONE: nothing found

// RUN: normac %s --target sm_90a -o %t && FileCheck %s --check-prefix=MANIFEST --input-file %t/manifest.json
// MANIFEST: "name": "any"
// MANIFEST-NOT: "shape_multiples"
// MANIFEST: "shape_minimums": [
// MANIFEST-NEXT: 0,
// MANIFEST-NEXT: 64
// MANIFEST: "name": "stated"
// MANIFEST: "shape_multiples": [
// MANIFEST-NEXT: 1,
// MANIFEST-NEXT: 8
func.func @any(%x: tensor<?x?xbf16> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "s"}) {
  %y = norm.compute(%in = %x : tensor<?x?xbf16>) -> (%out : tensor<?xf32>) space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x?xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce add %1 over(%n) : f32
    norm.write %2, %out[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
func.func @stated(%x: tensor<?x?xbf16> {norm.name = "x", norm.multiples = array<i64: 1, 8>}) -> (tensor<?xf32> {norm.name = "s"}) {
  %y = norm.compute(%in = %x : tensor<?x?xbf16>) -> (%out : tensor<?xf32>) space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x?xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce add %1 over(%n) : f32
    norm.write %2, %out[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
func.func @copy(%x: tensor<?x?xf32> {norm.name = "x"}) -> (tensor<?x?xf32> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x?xf32>) -> (%out : tensor<?x?xf32>)
      space(%m = dim(%in, 0), %k = dim(%in, 1), %n = 1) {
    %0 = norm.read %in[%m, %k + %n] : tensor<?x?xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %out[%m, %k] : tensor<?x?xf32>
  }
  return %y : tensor<?x?xf32>
}
