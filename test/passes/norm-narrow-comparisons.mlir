// Comparisons with a coordinate are narrowed to 32 bits.
// RUN: norma-opt %s --split-input-file --norm-narrow-comparisons | FileCheck %s

// The column is clamped to just outside of the row, once for each row.
// CHECK-LABEL: norm.kernel @column_of_a_label(
// CHECK-SAME: %[[M:[^:]*]] = dim({{[^)]*}}), %[[N:[^:]*]] = 64)
// CHECK: %[[COLUMN:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[MOST:.*]] = arith.constant 64 : index
// CHECK: %[[LESS:.*]] = arith.minsi %[[COLUMN]], %[[MOST]]
// CHECK: %[[LEAST:.*]] = arith.constant -1 : index
// CHECK: %[[CLAMPED:.*]] = arith.maxsi %[[LESS]], %[[LEAST]]
// CHECK-DAG: %[[POINT:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK-DAG: %[[OTHER:.*]] = arith.index_cast %[[CLAMPED]] : index to i32
// CHECK: arith.cmpi eq, %[[POINT]], %[[OTHER]] : i32
norm.kernel @column_of_a_label(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %l[%m] : memref<?xi64>
  %1 = arith.index_cast %0 : i64 to index
  %2 = arith.cmpi eq, %n, %1 : index
  %3 = norm.read %x[%m, %n] : memref<?x64xf32>
  %4 = arith.select %2, %3, %zero : f32
  %5 = norm.reduce add %4 over(%n) : f32
  norm.write %5, %y[%m] : memref<?xf32>
}

// -----

// The dim may be on either side, and unsigned numbers have no -1.
// CHECK-LABEL: norm.kernel @unsigned(
// CHECK: arith.minui
// CHECK-NOT: maxsi
// CHECK: arith.cmpi ugt, %{{.*}}, %{{.*}} : i32
norm.kernel @unsigned(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %l[%m] : memref<?xi64>
  %1 = arith.index_cast %0 : i64 to index
  %2 = arith.cmpi ugt, %1, %n : index
  %3 = norm.read %x[%m, %n] : memref<?x64xf32>
  %4 = arith.select %2, %3, %zero : f32
  norm.write %4, %y[%m, %n] : memref<?x64xf32>
}

// -----

// Not narrowed: rows of unbounded length, a value that varies over the dim, and 2^31 points.
// CHECK-LABEL: norm.kernel @others(
// CHECK-COUNT-3: arith.cmpi {{.*}} : index
norm.kernel @others(%x: memref<?x?xf32>, %l: memref<64xi64>, %y: memref<?x?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1), %k = 64, %j = 2147483648) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %l[%k] : memref<64xi64>
  %1 = arith.index_cast %0 : i64 to index
  %2 = arith.cmpi eq, %n, %m : index
  %3 = arith.cmpi eq, %k, %1 : index
  %4 = arith.cmpi slt, %j, %m : index
  %5 = arith.andi %2, %3 : i1
  %6 = arith.andi %5, %4 : i1
  %7 = norm.read %x[%m, %n] : memref<?x?xf32>
  %8 = arith.select %6, %7, %zero : f32
  %9 = norm.reduce add %8 over(%k, %j) : f32
  norm.write %9, %y[%m, %n] : memref<?x?xf32>
}
