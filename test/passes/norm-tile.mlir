// Dims are split as the schedule says; a guard stands only where the split may not divide.
// RUN: norma-opt %s --split-input-file --norm-tile | FileCheck %s

// CHECK: norm.kernel @sum(%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X]], 0) ceildiv 2 : grid, %[[R:.*]] = 2 : tile, %[[C:.*]] = 1 : loop, %[[T:.*]] = 64 : tile)
// CHECK-SAME: where(%[[B]] * 2 + %[[R]] < dim(%[[X]], 0)) schedule(#norm.schedule<rows_per_cta = 2, chunk = 64>)
// CHECK-NEXT: %[[V:.*]] = norm.read %[[X]][%[[B]] * 2 + %[[R]], %[[C]] * 64 + %[[T]]]
// CHECK-NEXT: %[[S:.*]] = norm.reduce add %[[V]] over(%[[C]], %[[T]]) : f32
// CHECK-NEXT: norm.write %[[S]], %[[Y]][%[[B]] * 2 + %[[R]]]
norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<rows_per_cta = 2, chunk = 64>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// One row per CTA needs no guard for rows; a chunk beyond the row needs one for columns, and so do several chunks.
// CHECK: norm.kernel @tail(
// CHECK-SAME: space(%[[B:.*]] = dim(%{{.*}}, 0) : grid, %[[R:.*]] = 1 : tile, %[[C:.*]] = 3 : loop, %[[T:.*]] = 2048 : tile)
// CHECK-SAME: where(%[[C]] * 2048 + %[[T]] < 4100) schedule
// CHECK-NEXT: norm.read %{{.*}}[%[[B]] + %[[R]], %[[C]] * 2048 + %[[T]]]
norm.kernel @tail(%x: memref<?x4100xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 4100)
    schedule(#norm.schedule<chunk = 2048>) {
  %0 = norm.read %x[%m, %n] : memref<?x4100xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A static number of rows that the split divides needs no guard; outer kept dims go to the grid whole, and come first
// wherever the reduced dim stood.
// CHECK: norm.kernel @middle(
// CHECK-SAME: space(%[[P:.*]] = 3 : grid, %[[B:.*]] = 2 : grid, %[[R:.*]] = 4 : tile, %[[C:.*]] = 1 : loop, %[[T:.*]] = 16 : tile)
// CHECK-NOT: where
// CHECK-SAME: {
// CHECK-NEXT: norm.read %{{.*}}[%[[P]], %[[C]] * 16 + %[[T]], %[[B]] * 4 + %[[R]]]
// CHECK-NEXT: norm.reduce add %{{.*}} over(%[[C]], %[[T]])
norm.kernel @middle(%x: memref<3x16x8xf32>, %y: memref<3x8xf32>) space(%p = 3, %n = 16, %m = 8)
    schedule(#norm.schedule<rows_per_cta = 4, chunk = 16>) {
  %0 = norm.read %x[%p, %n, %m] : memref<3x16x8xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%p, %m] : memref<3x8xf32>
}

// -----

// A kernel that keeps no dim is one row; a dim used as a value is computed from the new ones.
// CHECK: norm.kernel @one_row(%[[X:.*]]: memref<100xf32>, %[[Y:.*]]: memref<100xf32>)
// CHECK-SAME: space(%[[B:.*]] = 1 : grid, %[[R:.*]] = 2 : tile, %[[C:.*]] = 1 : loop, %[[T:.*]] = 128 : tile)
// CHECK-SAME: where(%[[B]] * 2 + %[[R]] < 1, %[[C]] * 128 + %[[T]] < 100)
// CHECK: %[[STEP:.*]] = arith.constant 128 : index
// CHECK: %[[SCALED:.*]] = arith.muli %[[C]], %[[STEP]] : index
// CHECK: %[[N:.*]] = arith.addi %[[SCALED]], %[[T]] : index
// CHECK: arith.index_cast %[[N]]
norm.kernel @one_row(%x: memref<100xf32>, %y: memref<100xf32>) space(%n = 100)
    schedule(#norm.schedule<rows_per_cta = 2, threads_per_row = 16, chunk = 128>) {
  %0 = norm.read %x[%n] : memref<100xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  %2 = arith.index_cast %n : index to i32
  %3 = arith.sitofp %2 : i32 to f32
  %4 = arith.mulf %1, %3 : f32
  norm.write %4, %y[%n] : memref<100xf32>
}

// -----

// Affine accesses are composed, and a dim that an access does not use is not among its indices.
// CHECK: norm.kernel @composed(
// CHECK-SAME: space(%[[B:.*]] = dim(%{{.*}}, 0) : grid, %[[R:.*]] = 1 : tile, %[[C:.*]] = 1 : loop, %[[T:.*]] = 32 : tile)
// CHECK-NEXT: norm.read %{{.*}}[%[[B]] + %[[R]], (%[[C]] * 32 + %[[T]]) * 2 + 1]
// CHECK-NEXT: norm.read %{{.*}}[%[[C]] * 32 + %[[T]]]
norm.kernel @composed(%x: memref<?x64xf32>, %w: memref<32xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 32)
    schedule(#norm.schedule<chunk = 32>) {
  %0 = norm.read %x[%m, %n * 2 + 1] : memref<?x64xf32>
  %1 = norm.read %w[%n] : memref<32xf32>
  %2 = arith.mulf %0, %1 : f32
  %3 = norm.reduce add %2 over(%n) : f32
  norm.write %3, %y[%m] : memref<?xf32>
}

// -----

// A row of no elements has none in its tile either.
// CHECK: norm.kernel @empty(
// CHECK-SAME: where(%{{.*}} * 32 + %{{.*}} < 0)
norm.kernel @empty(%x: memref<?x0xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 0)
    schedule(#norm.schedule<chunk = 32>) {
  %0 = norm.read %x[%m, %n] : memref<?x0xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A tiled kernel stays as it is.
// CHECK: norm.kernel @tiled(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0) : grid, %{{.*}} = 64 : tile) schedule
norm.kernel @tiled(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0) : grid, %n = 64 : tile)
    schedule(#norm.schedule<chunk = 64>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
