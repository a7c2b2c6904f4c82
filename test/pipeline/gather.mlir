// Elements at computed coordinates: what is beyond the buffer is zero and is not read.
// RUN: norma-sim %s --function rows --size m=67 --seeds 4 | FileCheck %s
// RUN: norma-sim %s --function tables --size m=67 --size k=5 --seeds 4 | FileCheck %s
// RUN: norma-opt %s --norma-to-gl | FileCheck %s --check-prefix=GL

// The kernels that normac makes of cross-entropy mean the same when they are read again.
// RUN: normac cross_entropy --shape b,s,100 --emit=kernel -o %t.mlir && FileCheck %s --check-prefix=KERNEL < %t.mlir
// RUN: norma-sim %t.mlir --size b=3 --size s=5 --seeds 4 | FileCheck %s
// KERNEL: norm.gather

// CHECK: verify  right

// Several rows a CTA: each thread's rows have labels of their own.
// GL-LABEL: gpu.func @rows
// GL: gl.gather %{{.*}}[%{{.*}}] if %{{.*}} : {{.*}} : memref<?x64xbf16>, (tensor<
// GL-LABEL: gpu.func @tables
// GL: gl.gather
func.func @rows(%x: memref<?x64xbf16> {norm.name = "x", norm.sizes = ["m", ""]}, %l: memref<?xi8> {norm.name = "l"}, %y: memref<?xf32> {norm.name = "y", norm.output}) {
  norm.launch @rows_0(%x, %l, %y) : memref<?x64xbf16>, memref<?xi8>, memref<?xf32>
  return
}
norm.kernel @rows_0(%x: memref<?x64xbf16>, %l: memref<?xi8>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce max %1 over(%n) : f32
  %3 = norm.read %l[%m] : memref<?xi8>
  %4 = arith.index_cast %3 : i8 to index
  %value, %inside = norm.gather %x[%m, %4] : memref<?x64xbf16>
  %5 = arith.extf %value : bf16 to f32
  %6 = arith.select %inside, %5, %2 : f32
  norm.write %6, %y[%m] : memref<?xf32>
}

// An entry of a table for each element, of any number of rows.
func.func @tables(%t: memref<?x4xf32> {norm.name = "t", norm.sizes = ["k", ""]}, %i: memref<?x8xi8> {norm.name = "i", norm.sizes = ["m", ""]}, %y: memref<?x8xf32> {norm.name = "y", norm.output}) {
  norm.launch @tables_0(%t, %i, %y) : memref<?x4xf32>, memref<?x8xi8>, memref<?x8xf32>
  return
}
norm.kernel @tables_0(%t: memref<?x4xf32>, %i: memref<?x8xi8>, %y: memref<?x8xf32>) space(%m = dim(%i, 0), %n = 8) {
  %0 = norm.read %i[%m, %n] : memref<?x8xi8>
  %c4 = arith.constant 4 : index
  %1 = arith.index_cast %0 : i8 to index
  %2 = arith.remsi %1, %c4 : index
  %3 = arith.divsi %1, %c4 : index
  %value, %inside = norm.gather %t[%3, %2] : memref<?x4xf32>
  norm.write %value, %y[%m, %n] : memref<?x8xf32>
}
