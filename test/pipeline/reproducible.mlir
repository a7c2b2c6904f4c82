// The same input and options give the same bytes, in whatever folder the compiler runs and writes, for all targets.
// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir -p %t/one/deep %t/other && cp %examples/rms_norm.mlir %t/one/deep/rms_norm.mlir && cp %examples/rms_norm.mlir %t/other/renamed.mlir
// RUN: bash -c 'cd %t/one/deep && normac rms_norm.mlir --target=sm_80,sm_89,sm_90a,sm_100a,sm_103a,sm_120a -o bundle'
// RUN: bash -c 'cd / && normac %t/other/renamed.mlir --target=sm_80,sm_89,sm_90a,sm_100a,sm_103a,sm_120a -o %t/other/result'
// RUN: diff -r %t/one/deep/bundle %t/other/result

// Each target has its folder, with a manifest and a cubin.
// RUN: bash -c 'cd %t/other/result && find . -type f | sort' | FileCheck %s

// CHECK:      ./sm_100a/manifest.json
// CHECK-NEXT: ./sm_100a/rms_norm_0.sm_100a.{{[0-9a-f]+}}.cubin
// CHECK-NEXT: ./sm_103a/manifest.json
// CHECK-NEXT: ./sm_103a/rms_norm_0.sm_103a.{{[0-9a-f]+}}.cubin
// CHECK-NEXT: ./sm_120a/manifest.json
// CHECK-NEXT: ./sm_120a/rms_norm_0.sm_120a.{{[0-9a-f]+}}.cubin
// CHECK-NEXT: ./sm_80/manifest.json
// CHECK-NEXT: ./sm_80/rms_norm_0.sm_80.{{[0-9a-f]+}}.cubin
// CHECK-NEXT: ./sm_89/manifest.json
// CHECK-NEXT: ./sm_89/rms_norm_0.sm_89.{{[0-9a-f]+}}.cubin
// CHECK-NEXT: ./sm_90a/manifest.json
// CHECK-NEXT: ./sm_90a/rms_norm_0.sm_90a.{{[0-9a-f]+}}.cubin
