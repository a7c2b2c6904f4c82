// Sizes that a kernel's accesses need are in the manifest, and a launcher refuses others.
// RUN: rm -rf %t && split-file %s %t
// RUN: normac %t/short.mlir -o %t/bundle && FileCheck %s --check-prefix=MANIFEST < %t/bundle/manifest.json
// MANIFEST: "conditions": [
// MANIFEST-NEXT: {
// MANIFEST-NEXT: "left": "m1",
// MANIFEST-NEXT: "relation": ">=",
// MANIFEST-NEXT: "right": 64,
// MANIFEST-NEXT: "text": "dim(x, 1) >= 64"
// MANIFEST-NEXT: }
// MANIFEST-NEXT: ]

// RUN: bash -c 'norma-sim %t/short.mlir --size m=3 --size m1=63; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: error: expected dim(x, 1) >= 64, got 63
// RUN: norma-sim %t/short.mlir --size m=3 --size m1=64 | FileCheck %s --check-prefix=ENOUGH
// ENOUGH: right

// Sizes that are one size need no condition; nor does a multiple that is static.
// RUN: normac %t/equal.mlir -o %t/equal && FileCheck %s --check-prefix=EQUAL < %t/equal/manifest.json
// EQUAL-NOT: "conditions"

// Two sizes of which one is a multiple of the other.
// RUN: bash -c 'norma-sim %t/multiple.mlir --size m=3 --size m1=5; test $? = 1' 2>&1 | FileCheck %s --check-prefix=MULTIPLE
// MULTIPLE: error: expected dim(y, 0) == dim(x, 0)*2, got 5 and 6
// RUN: norma-sim %t/multiple.mlir --size m=3 --size m1=6 | FileCheck %s --check-prefix=ENOUGH

//--- short.mlir
func.func @short(%x: tensor<?x?xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "s"}) {
  %y = norm.compute(%in = %x : tensor<?x?xf32>) -> (%out : tensor<?xf32>) space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x?xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %out[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

//--- equal.mlir
func.func @equal(%x: tensor<?x64xf32> {norm.name = "x"}, %w: tensor<?xf32> {norm.name = "w"})
    -> (tensor<?xf32> {norm.name = "s"}) {
  %y = norm.compute(%in = %x : tensor<?x64xf32>, %ww = %w : tensor<?xf32>) -> (%out : tensor<?xf32>)
      space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = norm.read %ww[%m] : tensor<?xf32>
    %3 = arith.addf %1, %2 : f32
    norm.write %3, %out[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

//--- multiple.mlir
func.func @multiple(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x64xf32>) -> (%out : tensor<?xf32>)
      space(%m = dim(%in, 0), %h = 2, %n = 32) {
    %0 = norm.read %in[%m, %h * 32 + %n] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %out[%m * 2 + %h] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
