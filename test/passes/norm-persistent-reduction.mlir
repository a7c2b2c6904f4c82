// A loop of one step is removed, and its index replaced by 0.
// RUN: norma-opt %s --split-input-file --norm-persistent-reduction | FileCheck %s

// CHECK: norm.kernel @sum(%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X]], 0) : grid, %[[T:.*]] = 32 : thread, %[[V:.*]] = 2 : register) schedule
// CHECK-NEXT: %[[E:.*]] = norm.read %[[X]][%[[B]], %[[T]] * 2 + %[[V]]]
// CHECK-NEXT: %[[S:.*]] = norm.reduce add %[[E]] over(%[[T]], %[[V]]) : f32
// CHECK-NEXT: norm.write %[[S]], %[[Y]][%[[B]]]
norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %c = 1 : loop, %t = 32 : thread, %v = 2 : register)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(2)]]>) {
  %0 = norm.read %x[%b, %c * 64 + %t * 2 + %v] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%c, %t, %v) : f32
  norm.write %1, %y[%b] : memref<?xf32>
}

// -----

// Guards are simplified accordingly.
// CHECK: norm.kernel @guarded(
// CHECK-SAME: %[[R:.*]] = 2 : thread, %[[T:.*]] = 64 : thread) where(%{{.*}} * 2 + %[[R]] < dim(%{{.*}}, 0), %[[T]] < 50)
norm.kernel @guarded(%x: memref<?x50xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 2 : grid, %r = 2 : thread, %c = 1 : loop, %t = 64 : thread)
    where(%b * 2 + %r < dim(%x, 0), %c * 64 + %t < 50)
    schedule(#norm.schedule<spread = [[grid, warp(2)], [loop, warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b * 2 + %r, %c * 64 + %t] : memref<?x50xf32>
  %1 = norm.reduce add %0 over(%c, %t) : f32
  norm.write %1, %y[%b * 2 + %r] : memref<?xf32>
}

// -----

// A reduction over such a loop alone is replaced by its operand.
// CHECK: norm.kernel @alone(
// CHECK-SAME: space(%[[T:.*]] = 32 : thread) schedule
// CHECK: %[[E:.*]] = norm.read %{{.*}}[0, %[[T]]]
// CHECK-NEXT: norm.write %[[E]]
norm.kernel @alone(%x: memref<1x32xf32>, %y: memref<32xf32>) space(%c = 1 : loop, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[loop], [lane(32)]]>) {
  %0 = norm.read %x[%c, %t] : memref<1x32xf32>
  %1 = norm.reduce add %0 over(%c) : f32
  norm.write %1, %y[%t] : memref<32xf32>
}

// -----

// Loops of more steps stay, and so do those of a dynamic number of steps.
// CHECK: norm.kernel @loops(
// CHECK-SAME: %{{.*}} = 2 : loop, %{{.*}} = dim(%{{.*}}, 1) ceildiv 32 : loop
norm.kernel @loops(%x: memref<2x?xf32>, %y: memref<f32>)
    space(%b = 2 : loop, %c = dim(%x, 1) ceildiv 32 : loop, %t = 32 : thread) where(%c * 32 + %t < dim(%x, 1))
    schedule(#norm.schedule<spread = [[loop], [loop, lane(32)]]>) {
  %0 = norm.read %x[%b, %c * 32 + %t] : memref<2x?xf32>
  %1 = norm.reduce add %0 over(%b, %c, %t) : f32
  norm.write %1, %y[] : memref<f32>
}

// -----

// A loop stays where its step is masked off for some parts, whose sums are 0 then: without it the guard would mask the write.
// CHECK: norm.kernel @parts(
// CHECK-SAME: space(%[[C:.*]] = 1 : loop, %[[P:.*]] = 8 : grid, %{{.*}} = 32 : thread) where(%[[C]] * 8 + %[[P]] < dim(
// CHECK: norm.reduce add %{{.*}} over(%[[C]])
norm.kernel @parts(%x: memref<?x32xf32>, %y: memref<8x32xf32>)
    space(%c = 1 : loop, %p = 8 : grid, %t = 32 : thread) where(%c * 8 + %p < dim(%x, 0))
    schedule(#norm.schedule<spread = [[loop], [grid], [lane(32)]]>) {
  %0 = norm.read %x[%c * 8 + %p, %t] : memref<?x32xf32>
  %1 = norm.reduce add %0 over(%c) : f32
  norm.write %1, %y[%p, %t] : memref<8x32xf32>
}
