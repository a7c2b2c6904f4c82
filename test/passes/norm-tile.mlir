// Dims are split as the schedule says; a guard stands only where the factors may hold more than the dim.
// RUN: norma-opt %s --split-input-file --norm-tile | FileCheck %s

// CHECK: norm.kernel @sum(%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X]], 0) ceildiv 2 : grid, %[[W:.*]] = 2 : thread, %[[T:.*]] = 32 : thread, %[[V:.*]] = 2 : register)
// CHECK-SAME: where(%[[B]] * 2 + %[[W]] < dim(%[[X]], 0)) schedule(#norm.schedule<spread = {{\[\[}}grid, warp(2)], [lane(32), vector(2)]]>)
// CHECK-NEXT: %[[E:.*]] = norm.read %[[X]][%[[B]] * 2 + %[[W]], %[[T]] * 2 + %[[V]]]
// CHECK-NEXT: %[[S:.*]] = norm.reduce add %[[E]] over(%[[T]], %[[V]]) : f32
// CHECK-NEXT: norm.write %[[S]], %[[Y]][%[[B]] * 2 + %[[W]]]
norm.kernel @sum(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid, warp(2)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// One row per CTA needs no guard for rows; the steps of a loop are the row divided by the tile, rounded up, and need a guard.
// CHECK: norm.kernel @tail(
// CHECK-SAME: space(%[[B:.*]] = dim(%{{.*}}, 0) : grid, %[[C:.*]] = 3 : loop, %[[R:.*]] = 2 : register, %[[T:.*]] = 256 : thread, %[[V:.*]] = 4 : register)
// CHECK-SAME: where(%[[C]] * 2048 + %[[R]] * 1024 + %[[T]] * 4 + %[[V]] < 4100) schedule
// CHECK-NEXT: norm.read %{{.*}}[%[[B]], %[[C]] * 2048 + %[[R]] * 1024 + %[[T]] * 4 + %[[V]]]
// CHECK-NEXT: norm.reduce add %{{.*}} over(%[[C]], %[[R]], %[[T]], %[[V]])
norm.kernel @tail(%x: memref<?x4100xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 4100)
    schedule(#norm.schedule<spread = [[grid], [loop, register(2), warp(8), lane(32), vector(4)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x4100xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A dynamic extent is divided by the sizes of its factors, and guarded.
// CHECK: norm.kernel @dynamic(
// CHECK-SAME: %[[C:.*]] = dim(%[[X:.*]], 1) ceildiv 32 : loop, %[[T:.*]] = 32 : thread) where(%[[C]] * 32 + %[[T]] < dim(%[[X]], 1))
norm.kernel @dynamic(%x: memref<?x?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A static number of rows that the factors divide needs no guard, wherever the dim stands.
// CHECK: norm.kernel @middle(
// CHECK-SAME: space(%[[P:.*]] = 3 : grid, %[[T:.*]] = 16 : thread, %[[B:.*]] = 2 : grid, %[[R:.*]] = 4 : register)
// CHECK-NOT: where
// CHECK-SAME: {
// CHECK-NEXT: norm.read %{{.*}}[%[[P]], %[[T]], %[[B]] * 4 + %[[R]]]
// CHECK-NEXT: norm.reduce add %{{.*}} over(%[[T]])
norm.kernel @middle(%x: memref<3x16x8xf32>, %y: memref<3x8xf32>) space(%p = 3, %n = 16, %m = 8)
    schedule(#norm.schedule<spread = [[grid], [lane(16)], [grid, register(4)]]>) {
  %0 = norm.read %x[%p, %n, %m] : memref<3x16x8xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%p, %m] : memref<3x8xf32>
}

// -----

// A walk over rows: a CTA's number is the inner digit, so that CTAs work on neighbouring rows at a time.
// CHECK: norm.kernel @walk(
// CHECK-SAME: space(%[[S:.*]] = dim(%[[X:.*]], 0) ceildiv 132 : loop, %[[P:.*]] = 132 : grid, %[[T:.*]] = 32 : thread) where(%[[S]] * 132 + %[[P]] < dim(%[[X]], 0))
// CHECK: norm.read %{{.*}}[%[[S]] * 132 + %[[P]], %[[T]]]
norm.kernel @walk(%x: memref<?x32xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 32)
    schedule(#norm.schedule<spread = [[loop, grid(132)], [lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x32xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// Reductions over two dims, and over each of two.
// CHECK: norm.kernel @two_dims(
// CHECK-SAME: space(%[[B:.*]] = 4 : grid, %[[W:.*]] = 4 : thread, %[[T:.*]] = 16 : thread) where(%[[W]] < 3)
// CHECK: norm.reduce add %{{.*}} over(%[[W]], %[[T]])
// CHECK: norm.reduce add %{{.*}} over(%[[T]])
norm.kernel @two_dims(%x: memref<4x3x16xf32>, %y: memref<4xf32>, %z: memref<4x3xf32>) space(%m = 4, %p = 3, %n = 16)
    schedule(#norm.schedule<spread = [[grid], [warp(4)], [lane(16)]]>) {
  %0 = norm.read %x[%m, %p, %n] : memref<4x3x16xf32>
  %1 = norm.reduce add %0 over(%p, %n) : f32
  norm.write %1, %y[%m] : memref<4xf32>
  %2 = norm.reduce add %0 over(%n) : f32
  norm.write %2, %z[%m, %p] : memref<4x3xf32>
}

// -----

// A kernel without a reduction is spread like any other.
// CHECK: norm.kernel @copy_rows(
// CHECK-SAME: space(%[[B:.*]] = dim(%{{.*}}, 0) : grid, %[[T:.*]] = 32 : thread, %[[V:.*]] = 2 : register) schedule
// CHECK-NEXT: norm.read %{{.*}}[%[[B]], %[[T]] * 2 + %[[V]]]
norm.kernel @copy_rows(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  norm.write %0, %y[%m, %n] : memref<?x64xf32>
}

// -----

// A dim used as a value is computed from the new ones.
// CHECK: norm.kernel @one_row(%[[X:.*]]: memref<100xf32>, %[[Y:.*]]: memref<100xf32>)
// CHECK-SAME: space(%[[T:.*]] = 32 : thread, %[[V:.*]] = 4 : register) where(%[[T]] * 4 + %[[V]] < 100)
// CHECK: %[[STEP:.*]] = arith.constant 4 : index
// CHECK: %[[SCALED:.*]] = arith.muli %[[T]], %[[STEP]] : index
// CHECK: %[[N:.*]] = arith.addi %[[SCALED]], %[[V]] : index
// CHECK: arith.index_cast %[[N]]
norm.kernel @one_row(%x: memref<100xf32>, %y: memref<100xf32>) space(%n = 100)
    schedule(#norm.schedule<spread = [[lane(32), vector(4)]]>) {
  %0 = norm.read %x[%n] : memref<100xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  %2 = arith.index_cast %n : index to i32
  %3 = arith.sitofp %2 : i32 to f32
  %4 = arith.mulf %1, %3 : f32
  norm.write %4, %y[%n] : memref<100xf32>
}

// -----

// A dim of one point needs no factor: it is replaced by 0, and a reduction over it alone by its operand.
// CHECK: norm.kernel @one_point(
// CHECK-SAME: space(%[[B:.*]] = 4 : grid) schedule
// CHECK: %[[V:.*]] = norm.read %{{.*}}[%[[B]], 0]
// CHECK-NEXT: norm.write %[[V]]
norm.kernel @one_point(%x: memref<4x1xf32>, %y: memref<4xf32>) space(%m = 4, %n = 1)
    schedule(#norm.schedule<spread = [[grid], [vector(1)]]>) {
  %0 = norm.read %x[%m, %n] : memref<4x1xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<4xf32>
}

// -----

// Affine accesses are composed, and a dim that an access does not use is not among its indices.
// CHECK: norm.kernel @composed(
// CHECK-SAME: space(%[[B:.*]] = dim(%{{.*}}, 0) : grid, %[[T:.*]] = 16 : thread, %[[V:.*]] = 2 : register)
// CHECK-NEXT: norm.read %{{.*}}[%[[B]], (%[[T]] * 2 + %[[V]]) * 2 + 1]
// CHECK-NEXT: norm.read %{{.*}}[%[[T]] * 2 + %[[V]]]
norm.kernel @composed(%x: memref<?x64xf32>, %w: memref<32xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 32)
    schedule(#norm.schedule<spread = [[grid], [lane(16), vector(2)]]>) {
  %0 = norm.read %x[%m, %n * 2 + 1] : memref<?x64xf32>
  %1 = norm.read %w[%n] : memref<32xf32>
  %2 = arith.mulf %0, %1 : f32
  %3 = norm.reduce add %2 over(%n) : f32
  norm.write %3, %y[%m] : memref<?xf32>
}

// -----

// A row of no elements has no points in its tile either.
// CHECK: norm.kernel @empty(
// CHECK-SAME: %[[T:.*]] = 32 : thread) where(%[[T]] < 0)
norm.kernel @empty(%x: memref<?x0xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 0)
    schedule(#norm.schedule<spread = [[grid], [lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x0xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A tiled kernel stays as it is.
// CHECK: norm.kernel @tiled(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0) : grid, %{{.*}} = 64 : thread) schedule
norm.kernel @tiled(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0) : grid, %n = 64 : thread)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A tile that covers the largest size needs no factor for the rest, so a loop's number of steps is known; a guard stays where a
// size may be less than the tile.
// CHECK: norm.kernel @bounded(
// CHECK-SAME: space(%[[B:.*]] = dim(%{{.*}}, 0) : grid, %[[W:.*]] = 2 : thread, %[[L:.*]] = 8 : loop, %[[T:.*]] = 32 : thread)
// CHECK-SAME: where(%[[W]] * 256 + %[[L]] * 32 + %[[T]] < dim(%{{.*}}, 1))
norm.kernel @bounded(%x: memref<?x?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    bounds(dim(%x, 1) <= 500) schedule(#norm.schedule<spread = [[grid], [warp(2), loop, lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// The loop and the grid have at most one point and are removed; all rows of the tile exist.
// CHECK: norm.kernel @covered(
// CHECK-SAME: space(%[[M:.*]] = 4 : register, %[[T:.*]] = 32 : thread)
// CHECK-SAME: where(%[[T]] < dim(%{{.*}}, 1))
norm.kernel @covered(%x: memref<?x?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    bounds(4 <= dim(%x, 0) <= 4, dim(%x, 1) <= 32)
    schedule(#norm.schedule<spread = [[grid, register(4)], [loop, lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// A size that is a multiple of the tile may be 0, and then none of the tile's points exist, unless the dim follows the size.
// CHECK: norm.kernel @none_or_all(
// CHECK-SAME: space(%[[M:.*]] = dim(%{{.*}}, 0) : grid, %[[T:.*]] = 32 : thread) where(%[[T]] < dim(%{{.*}}, 1))
norm.kernel @none_or_all(%x: memref<?x?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    multiples(dim(%x, 1) = 32) bounds(dim(%x, 1) <= 32)
    schedule(#norm.schedule<spread = [[grid], [lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// Held steps are taken by rows of fewer steps too, so that a guard masks them where rows are known to be multiples of the tile. Rows that are
// known to have so many steps need none.
// CHECK: norm.kernel @held_steps(
// CHECK-SAME: %[[C:.*]] = dim(%{{.*}}, 1) : loop, %[[T:.*]] = 32 : thread) where(%[[C]] * 32 + %[[T]] < dim(%{{.*}}, 1) * 32)
norm.kernel @held_steps(%x: memref<?x?x32xf32>, %y: memref<?x?x32xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1) * 32)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l1], held_steps = 2>) {
  %0 = norm.read %x[%m, %n floordiv 32, %n mod 32] : memref<?x?x32xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.divf %0, %1 : f32
  norm.write %2, %y[%m, %n floordiv 32, %n mod 32] : memref<?x?x32xf32>
}
// CHECK: norm.kernel @held_steps_of_long_rows(
// CHECK-NOT: where
// CHECK: norm.read
norm.kernel @held_steps_of_long_rows(%x: memref<?x?x32xf32>, %y: memref<?x?x32xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1) * 32)
    bounds(2 <= dim(%x, 1))
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l1], held_steps = 2>) {
  %0 = norm.read %x[%m, %n floordiv 32, %n mod 32] : memref<?x?x32xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.divf %0, %1 : f32
  norm.write %2, %y[%m, %n floordiv 32, %n mod 32] : memref<?x?x32xf32>
}

// -----

// A dim of at most one point stays, so that a guard can mask it.
// CHECK: norm.kernel @one_or_none(
// CHECK-SAME: space(%[[M:.*]] = 1 : grid) where(%[[M]] < dim(%{{.*}}, 0))
norm.kernel @one_or_none(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0)) bounds(dim(%x, 0) <= 1)
    schedule(#norm.schedule<spread = [[grid]]>) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
}

// -----

// Rows of 4095 elements are not aligned to 8: tiles begin up to 7 elements before their rows. Rows that are 8 apart have the
// same alignment, and points before and after the row are guarded.
// CHECK: norm.kernel @aligned(
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X:.*]], 0) ceildiv 16 : grid, %[[G:.*]] = 2 : register, %[[P:.*]] = 8 : grid, %[[R:.*]] = 4 : register, %[[T:.*]] = 256 : thread, %[[V:.*]] = 8 : register)
// CHECK-SAME: where(%[[B]] * 16 + %[[G]] * 8 + %[[P]] < dim(%[[X]], 0),
// CHECK-SAME: (%[[R]] * 2048 + %[[T]] * 8 + %[[V]] - (%[[P]] * 7) mod 8) * -1 < 1,
// CHECK-SAME: %[[R]] * 2048 + %[[T]] * 8 + %[[V]] - (%[[P]] * 7) mod 8 < 4095)
// CHECK: norm.read %{{.*}}[%[[B]] * 16 + %[[G]] * 8 + %[[P]], %[[R]] * 2048 + %[[T]] * 8 + %[[V]] - (%[[P]] * 7) mod 8]
// CHECK: norm.read %{{.*}}[%[[R]] * 2048 + %[[T]] * 8 + %[[V]] - (%[[P]] * 7) mod 8]
// CHECK: norm.reduce add %{{.*}} over(%[[R]], %[[T]], %[[V]])
norm.kernel @aligned(%x: memref<?x4095xbf16>, %w: memref<4095xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4095)
    schedule(#norm.schedule<spread = [[grid, register(2), grid(8)], [register(4), warp(8), lane(32), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x4095xbf16>
  %1 = norm.read %w[%n] : memref<4095xbf16>
  %2 = arith.mulf %0, %1 : bf16
  %3 = norm.reduce add %2 over(%n) : bf16
  norm.write %3, %y[%m] : memref<?xbf16>
}

// -----

// Rows of 1002 elements with gaps of 2 begin at multiples of 4, less the 3 that the buffer begins with: 3 or 7 beyond a
// multiple of 8, in one tile of 1024. The dim as a value is shifted too.
// CHECK: norm.kernel @strided(
// CHECK-SAME: where((%[[T:.*]] * 8 + %[[V:.*]] - (%[[P:.*]] * 4 + 3) mod 8) * -1 < 1, %[[T]] * 8 + %[[V]] - (%[[P]] * 4 + 3) mod 8 < 1002)
// CHECK: %[[REST:.*]] = arith.remui
// CHECK: %[[NEGATED:.*]] = arith.muli %[[REST]], %{{.*}}
// CHECK: %[[N:.*]] = arith.addi %{{.*}}, %[[NEGATED]]
// CHECK: arith.index_cast %[[N]]
norm.kernel @strided(%x: memref<?x1002xbf16, strided<[1004, 1], offset: 3>>, %y: memref<?xi32>) space(%m = dim(%x, 0), %n = 1002)
    schedule(#norm.schedule<spread = [[grid], [warp(4), lane(32), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x1002xbf16, strided<[1004, 1], offset: 3>>
  %1 = arith.fptosi %0 : bf16 to i32
  %2 = arith.index_cast %n : index to i32
  %3 = arith.addi %1, %2 : i32
  %4 = norm.reduce add %3 over(%n) : i32
  norm.write %4, %y[%m] : memref<?xi32>
}

// -----

// Rows that are aligned for a vector are not shifted.
// CHECK: norm.kernel @aligned_already(
// CHECK-NOT: where
// CHECK-SAME: schedule
norm.kernel @aligned_already(%x: memref<?x1024xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 1024)
    schedule(#norm.schedule<spread = [[grid], [warp(4), lane(32), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x1024xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// The factor of a cluster's CTAs is a dim of its own; an extent that it does not divide is guarded.
// CHECK: norm.kernel @cluster(
// CHECK-SAME: %[[R:[a-z0-9]+]] = 2 : register, %[[K:[a-z0-9]+]] = 4 : cluster, %[[T:[a-z0-9]+]] = 64 : thread)
// CHECK-SAME: where(%[[R]] * 256 + %[[K]] * 64 + %[[T]] < 500)
norm.kernel @cluster(%x: memref<?x500xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 500)
    schedule(#norm.schedule<spread = [[grid], [register(2), cluster(4), warp(2), lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x500xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// If CTAs draw the steps of a loop, the loop has the steps of all CTAs.
// CHECK: norm.kernel @drawn(
// CHECK-SAME: space(%[[S:.*]] = dim(%[[X:.*]], 0) ceildiv 2 : loop, %[[W:.*]] = 2 : thread, %{{.*}} = 32 : thread, %{{.*}} = 2 : register)
// CHECK-SAME: where(%[[S]] * 2 + %[[W]] < dim(%[[X]], 0))
norm.kernel @drawn(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, grid(264), warp(2)], [lane(32), vector(2)]], hand_out = dynamic>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
