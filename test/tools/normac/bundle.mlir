// A module of level nvvm becomes a manifest and a cubin; the launch's attributes decide what the manifest says.
// RUN: rm -rf %t && normac %s --from=nvvm --target=sm_90a -o %t
// RUN: FileCheck %s --input-file=%t/manifest.json
// RUN: od -An -c -N4 %t/double.sm_90a.*.cubin | FileCheck %s --check-prefix=ELF

// ELF: 177   E   L   F

// CHECK:      "target": "sm_90a"
// CHECK:      "name": "twice"
// CHECK:      "inputs": [
// CHECK:        "name": "x"
// CHECK-NEXT:   "dtype": "f32"
// CHECK-NEXT:   "shape": [
// CHECK-NEXT:     "m"
// CHECK:        "strides": [
// CHECK-NEXT:     "x_stride0",
// CHECK-NEXT:     1
// CHECK:        "align": 16
// CHECK:        "stride_multiples": [
// CHECK-NEXT:     4,
// CHECK-NEXT:     1
// CHECK:      "outputs": [
// CHECK:        "name": "y"
// CHECK:      "symbol": "double"
// CHECK-NEXT: "cubin": "double.sm_90a.{{[0-9a-f]+}}.cubin"
// CHECK:        "name": "m"
// CHECK-NEXT:   "tensor": "x"
// CHECK-NEXT:   "dim": 0
// CHECK-NEXT:   "of": "size"
// CHECK:        "name": "x_stride0"
// CHECK:        "of": "stride"
// CHECK:      "grid": [
// CHECK-NEXT:   "ceildiv(m, 2)"
// CHECK:      "block": [
// CHECK-NEXT:   128
// CHECK:      "kind": "pointer"
// CHECK-NEXT: "tensor": "x"
// CHECK:      "tensor": "y"
// CHECK:      "kind": "scalar"
// CHECK-NEXT: "type": "i64"
// CHECK-NEXT: "value": "m"
// CHECK:      "value": "x_stride0"
// CHECK:      "registers": {{[1-9]}}
// CHECK:      "spill_bytes": 0
// CHECK:      "bytes_read": "m*256"

// The same input and options give the same bytes, and a second run replaces the first.
// RUN: rm -rf %t.again && normac %s --from=nvvm -o %t.again && normac %s --from=nvvm -o %t.again
// RUN: diff -r %t %t.again

// Several targets each get a folder.
// RUN: rm -rf %t.two && normac %s --from=nvvm --target=sm_80,sm_90a -o %t.two
// RUN: ls %t.two/sm_80/double.sm_80.*.cubin %t.two/sm_80/manifest.json %t.two/sm_90a/manifest.json

// --explain tells of the kernel on standard output, --json prints the manifest there.
// RUN: normac %s --from=nvvm --explain | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN:      kernel      double of twice, for sm_90a
// EXPLAIN:      launch      grid ceildiv(m, 2) x 1 x 1, block 128 x 1 x 1
// EXPLAIN:      registers   {{[0-9]+}} a thread, 0 bytes spilled
// EXPLAIN:      traffic     reads m*256 bytes, writes m*256
// EXPLAIN:      roof        512 bytes and 0.119 ns for each of m
// RUN: normac %s --from=nvvm --json --timing | FileCheck %s --check-prefix=JSON
// JSON: "manifests": [
// JSON: "timing_ms": {

func.func @twice(%x: memref<?x64xf32, strided<[?, 1]>> {norm.name = "x"}, %y: memref<?x64xf32> {norm.name = "y", norm.output}) {
  norm.launch @double::@double(%x, %y) : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>
  return
}

gpu.module @double {
  llvm.func @double(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %m: i64, %stride: i64) attributes {
    gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>,
    gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0 ceildiv 2)>,
                           traffic = affine_map<()[s0] -> (s0 * 256, s0 * 256)>, sizes = [0, 0], alignments = [16, 16]>,
    gl.params = [#gl.param<pointer 0>, #gl.param<pointer 1>, #gl.param<size 0, 0>, #gl.param<stride 0, 0>]} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %offset = llvm.zext %thread : i32 to i64
    %from = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %to = llvm.getelementptr %y[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %from {alignment = 4 : i64} : !llvm.ptr<1> -> f32
    %sum = llvm.fadd %value, %value : f32
    llvm.store %sum, %to {alignment = 4 : i64} : f32, !llvm.ptr<1>
    llvm.return
  }
}
