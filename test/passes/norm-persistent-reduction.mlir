// A loop of one chunk goes away, with 0 in its place.
// RUN: norma-opt %s --split-input-file --norm-persistent-reduction | FileCheck %s --implicit-check-not=loop

// CHECK: norm.kernel @sum(%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X]], 0) : grid, %[[R:.*]] = 1 : tile, %[[T:.*]] = 64 : tile) schedule
// CHECK-NEXT: %[[V:.*]] = norm.read %[[X]][%[[B]] + %[[R]], %[[T]]]
// CHECK-NEXT: %[[S:.*]] = norm.reduce add %[[V]] over(%[[T]]) : f32
// CHECK-NEXT: norm.write %[[S]], %[[Y]][%[[B]] + %[[R]]]
norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %r = 1 : tile, %c = 1 : loop, %t = 64 : tile) schedule(#norm.schedule<chunk = 64>) {
  %0 = norm.read %x[%b + %r, %c * 64 + %t] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%c, %t) : f32
  norm.write %1, %y[%b + %r] : memref<?xf32>
}

// -----

// Guards follow.
// CHECK: norm.kernel @guarded(
// CHECK-SAME: %[[R:.*]] = 2 : tile, %[[T:.*]] = 64 : tile) where(%{{.*}} * 2 + %[[R]] < dim(%{{.*}}, 0), %[[T]] < 50)
norm.kernel @guarded(%x: memref<?x50xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 2 : grid, %r = 2 : tile, %c = 1 : loop, %t = 64 : tile)
    where(%b * 2 + %r < dim(%x, 0), %c * 64 + %t < 50) schedule(#norm.schedule<chunk = 64>) {
  %0 = norm.read %x[%b * 2 + %r, %c * 64 + %t] : memref<?x50xf32>
  %1 = norm.reduce add %0 over(%c, %t) : f32
  norm.write %1, %y[%b * 2 + %r] : memref<?xf32>
}
