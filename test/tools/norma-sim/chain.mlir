// A function of several kernels, which pass scratch to one another, with a scalar that the caller may set.
// RUN: norma-sim %s --function chain --size m=5 | FileCheck %s
// RUN: norma-sim %s --function chain --size m=5 --scalar eps=100 --scalar count=3 | FileCheck %s
// RUN: normac %s --emit=kernel | norma-sim - --from kernel --function chain --size m=3 --scalar eps=7 | FileCheck %s
// CHECK: chain (sm_90a), m={{[35]}}: nothing found
// CHECK: verify  right
// CHECK: y

// Several axes that a kernel merges into one each keep their known multiple, those of scratch too.
// RUN: norma-sim %s --function multiples --size m=4 | FileCheck %s --check-prefix=MULTIPLES
// MULTIPLES: multiples (sm_90a), m=4: nothing found
// MULTIPLES: verify  right

// Scratch left over from another call is found to be read before it is written.
// RUN: not norma-sim %S/Inputs/unwritten-scratch.mlir --from kernel --size m=3 | FileCheck %s --check-prefix=UNWRITTEN
// UNWRITTEN: reads memory that nobody wrote

// The manifest says what each kernel gets.
// RUN: normac %s --emit=nvvm | FileCheck %s --check-prefix=NVVM
// NVVM: llvm.func @chain_0({{.*}}, %arg2: f32, %arg3: i64
// NVVM-SAME: #gl.param<scalar 2>, #gl.param<scalar 3>
// RUN: normac %s --target sm_90a -o %t && FileCheck %s --check-prefix=MANIFEST --input-file %t/manifest.json
// MANIFEST: "symbol": "chain_0"
// MANIFEST: "kind": "workspace"
// MANIFEST-NEXT: "name": "scratch0"
// MANIFEST-NEXT: "bytes": "m*2*4"
// MANIFEST-NEXT: "init": "none"
// MANIFEST: "kind": "scalar"
// MANIFEST-NEXT: "name": "eps"
// MANIFEST-NEXT: "type": "f32"
// MANIFEST: "name": "count"
// MANIFEST-NEXT: "type": "i64"
// MANIFEST-NEXT: "value": 2
// MANIFEST: "symbol": "chain_1"
// MANIFEST: "name": "scratch0"
func.func @chain(%x: tensor<?x64xbf16> {norm.name = "x"}, %eps: f32 {norm.name = "eps", norm.default = 1.0e-6 : f32},
                 %count: index {norm.name = "count", norm.default = 2 : index}) -> (tensor<?x64xbf16> {norm.name = "y"}) {
  %t = norm.compute(%a = %x : tensor<?x64xbf16>, %e = %eps : f32, %c = %count : index) -> (%o : tensor<?xf32>)
      space(%m = dim(%a, 0), %h = 2, %n = 32) {
    %0 = norm.read %a[%m, %h * 32 + %n] : tensor<?x64xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce add %1 over(%n) : f32
    %3 = arith.addf %2, %e : f32
    %4 = arith.index_cast %c : index to i32
    %5 = arith.sitofp %4 : i32 to f32
    %6 = arith.mulf %3, %5 : f32
    norm.write %6, %o[%m * 2 + %h] : tensor<?xf32>
  }
  %y = norm.compute(%a = %x : tensor<?x64xbf16>, %s = %t : tensor<?xf32>) -> (%o : tensor<?x64xbf16>)
      space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.read %s[%m * 2 + 1] : tensor<?xf32>
    %3 = norm.reduce max %1 over(%n) : f32
    %4 = arith.mulf %1, %2 : f32
    %5 = arith.addf %4, %3 : f32
    %6 = arith.truncf %5 : f32 to bf16
    norm.write %6, %o[%m, %n] : tensor<?x64xbf16>
  }
  return %y : tensor<?x64xbf16>
}

func.func @multiples(%x: tensor<?x3xi32> {norm.name = "x", norm.multiples = array<i64: 2, 1>})
    -> (tensor<?xi32> {norm.name = "y", norm.multiples = array<i64: 2>}) {
  %t = norm.compute(%in = %x : tensor<?x3xi32>) -> (%out : tensor<?x3xi32>) space(%m = dim(%in, 0), %n = 3) {
    %0 = norm.read %in[%m, %n] : tensor<?x3xi32>
    norm.write %0, %out[%m, %n] : tensor<?x3xi32>
  }
  %y = norm.compute(%in = %t : tensor<?x3xi32>) -> (%out : tensor<?xi32>) space(%m = dim(%in, 0), %n = 3) {
    %0 = norm.read %in[%m, %n] : tensor<?x3xi32>
    %1 = norm.reduce max %0 over(%n) : i32
    norm.write %1, %out[%m] : tensor<?xi32>
  }
  return %y : tensor<?xi32>
}
