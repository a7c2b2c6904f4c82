// Rows at computed places are spread and kept as rows at their own places are.
// RUN: norma-opt %s --norm-select-schedule | FileCheck %s

// A row at an id is held in registers, in vectors, as a row at its own place is; what is gathered goes through no shared memory.
// CHECK: norm.kernel @embedding_0(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid{{[^]]*}}], [{{[^]]*}}vector(8)]]
func.func @embedding(%i: memref<?xi32>, %x: memref<?x4096xbf16>, %y: memref<?x4096xbf16>) {
  norm.launch @embedding_0(%i, %x, %y) : memref<?xi32>, memref<?x4096xbf16>, memref<?x4096xbf16>
  return
}
norm.kernel @embedding_0(%i: memref<?xi32>, %x: memref<?x4096xbf16>, %y: memref<?x4096xbf16>) space(%m = dim(%i, 0), %n = 4096)
    align(16, 16, 16) {
  %0 = norm.read %i[%m] : memref<?xi32>
  %1 = arith.index_cast %0 : i32 to index
  %2, %3 = norm.gather %x[%1, %n] : memref<?x4096xbf16>
  %4 = arith.extf %2 : bf16 to f32
  %5 = norm.reduce max %4 over(%n) : f32
  %6 = arith.subf %4, %5 : f32
  %7 = arith.truncf %6 : f32 to bf16
  norm.write %7, %y[%m, %n] : memref<?x4096xbf16>
}
