// --keep-nvvm keeps the module that each cubin was made from: it parses, and its ops have their locations in the source.
// RUN: rm -rf %t && normac %s --keep-nvvm -o %t
// RUN: FileCheck %s --input-file=%t/manifest.json --check-prefix=MANIFEST
// RUN: norma-opt --mlir-print-debuginfo %t/scale_0.sm_90a.*.nvvm.mlir | FileCheck %s
// RUN: normac %t/scale_0.sm_90a.*.nvvm.mlir --from=nvvm --emit=ptx | FileCheck %s --check-prefix=PTX

// A second bundle in the folder, without them, leaves none behind.
// RUN: normac %s -o %t && not ls %t/scale_0.sm_90a.*.nvvm.mlir

// MANIFEST:      "cubin": "scale_0.sm_90a.{{[0-9a-f]+}}.cubin"
// MANIFEST-NEXT: "module": "scale_0.sm_90a.{{[0-9a-f]+}}.nvvm.mlir"

// CHECK: gpu.module @scale_0
// CHECK: nvvm.barrier loc(#[[SUM:.*]])
// CHECK: llvm.fdiv {{.*}} loc(#[[QUOTIENT:.*]])
// CHECK-DAG: #[[SUM]] = loc("{{.*}}keep-nvvm.mlir":[[#@LINE+8]]:10)
// CHECK-DAG: #[[QUOTIENT]] = loc("{{.*}}keep-nvvm.mlir":[[#@LINE+8]]:10)

// PTX: .visible .entry scale_0(

func.func @scale(%x: tensor<?x4096xf32> {norm.name = "x"}) -> (tensor<?x4096xf32> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x4096xf32>) -> (%out : tensor<?x4096xf32>) space(%m = dim(%in, 0), %n = 4096) {
    %0 = norm.read %in[%m, %n] : tensor<?x4096xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %out[%m, %n] : tensor<?x4096xf32>
  }
  return %y : tensor<?x4096xf32>
}
