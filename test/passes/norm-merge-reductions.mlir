// Reductions that depend on another over the same dims are merged with it at the levels that the schedule names, if partial
// results can be combined.
// RUN: norma-opt %s --split-input-file --norm-merge-reductions | FileCheck %s

// Elements of a step are reduced relative to their own maximum, steps by a combiner that changes the reference, threads by one
// reduction after the other.
// CHECK-LABEL: norm.kernel @exponentials_behind_a_maximum(
// CHECK-SAME: %[[C:[a-z]+]] = 32 : loop, %[[T:[a-z]+]] = 32 : thread, %[[V:[a-z]+]] = 4 : register)
// CHECK: %[[X:.*]] = norm.read
// CHECK: %[[M:.*]] = norm.reduce max %[[X]] over(%[[V]])
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[M]]
// CHECK: %[[REF:.*]] = arith.select %[[NONE]], %{{.*}}, %[[M]]
// CHECK: %[[D:.*]] = arith.subf %[[X]], %[[REF]]
// CHECK: %[[E:.*]] = math.exp %[[D]]
// CHECK: %[[S:.*]] = norm.reduce add %[[E]] over(%[[V]])
// CHECK: %[[LOOP:.*]]:2 = norm.reduce %[[M]], %[[S]] over(%[[C]]) identity [0xFF800000 : f32, 0.000000e+00 : f32]
// CHECK: %[[MAX:.*]] = arith.maximumf
// CHECK: norm.yield %[[MAX]],
// CHECK: %[[ALL:.*]] = norm.reduce max %[[LOOP]]#0 over(%[[T]])
// CHECK: %[[FACTOR:.*]] = math.exp
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[FACTOR]]
// CHECK: norm.reduce add %{{.*}} over(%[[T]])
// CHECK-NOT: over(%[[C]]
norm.kernel @exponentials_behind_a_maximum(%x: memref<?x4096xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %c = 32 : loop, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], keep = [l2], merge_reductions = [loop]>) {
  %0 = norm.read %x[%m, %c * 128 + %t * 4 + %v] : memref<?x4096xf32>
  %1 = norm.reduce max %0 over(%c, %t, %v) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%c, %t, %v) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}

// -----

// All partial results are of equally many elements, so that their number is not a reduction of its own.
// CHECK-LABEL: norm.kernel @squares_behind_a_sum(
// CHECK-SAME: %[[C:[a-z]+]] = 32 : loop, %[[T:[a-z]+]] = 32 : thread, %[[V:[a-z]+]] = 4 : register)
// CHECK: %[[X:.*]] = norm.read
// CHECK: %[[COUNT:.*]] = arith.constant 4.000000e+00
// CHECK: %[[STEP:.*]] = norm.reduce add %[[X]] over(%[[V]])
// CHECK: %[[MEAN:.*]] = arith.mulf %[[STEP]],
// CHECK: %[[D:.*]] = arith.subf %[[X]], %[[MEAN]]
// CHECK: %[[Q:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK: %[[QS:.*]] = norm.reduce add %[[Q]] over(%[[V]])
// CHECK: %[[LOOP:.*]]:3 = norm.reduce %[[STEP]], %[[COUNT]], %[[QS]] over(%[[C]])
// CHECK: arith.constant 4.096000e+03
// CHECK: norm.reduce add %[[LOOP]]#0 over(%[[T]])
// CHECK: norm.reduce add %{{.*}} over(%[[T]])
// CHECK-NOT: over(%[[C]]
norm.kernel @squares_behind_a_sum(%x: memref<?x4096xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %c = 32 : loop, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], keep = [l2], merge_reductions = [loop]>) {
  %n = arith.constant 4096.0 : f32
  %0 = norm.read %x[%m, %c * 128 + %t * 4 + %v] : memref<?x4096xf32>
  %1 = norm.reduce add %0 over(%c, %t, %v) : f32
  %2 = arith.divf %1, %n : f32
  %3 = arith.subf %0, %2 : f32
  %4 = arith.mulf %3, %3 : f32
  %5 = norm.reduce add %4 over(%c, %t, %v) : f32
  norm.write %5, %y[%m] : memref<?xf32>
}

// -----

// With rows of 4093 elements the last step has fewer: counts are reduced with the sums, except for that of the whole row.
// CHECK-LABEL: norm.kernel @squares_of_ragged_rows(
// CHECK-SAME: %[[C:[a-z]+]] = 32 : loop, %[[T:[a-z]+]] = 32 : thread, %[[V:[a-z]+]] = 4 : register)
// CHECK: %[[STEP:.*]]:2 = norm.reduce %{{.*}}, %{{.*}} over(%[[V]])
// CHECK: %[[LOOP:.*]]:3 = norm.reduce %[[STEP]]#0, %[[STEP]]#1, %{{.*}} over(%[[C]])
// CHECK: arith.constant 4.093000e+03
// CHECK: norm.reduce add %[[LOOP]]#0 over(%[[T]])
norm.kernel @squares_of_ragged_rows(%x: memref<?x4093xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %c = 32 : loop, %t = 32 : thread, %v = 4 : register)
    where(%c * 128 + %t * 4 + %v < 4093)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32), vector(4)]], keep = [l2], merge_reductions = [loop]>) {
  %n = arith.constant 4093.0 : f32
  %0 = norm.read %x[%m, %c * 128 + %t * 4 + %v] : memref<?x4093xf32>
  %1 = norm.reduce add %0 over(%c, %t, %v) : f32
  %2 = arith.divf %1, %n : f32
  %3 = arith.subf %0, %2 : f32
  %4 = arith.mulf %3, %3 : f32
  %5 = norm.reduce add %4 over(%c, %t, %v) : f32
  norm.write %5, %y[%m] : memref<?xf32>
}

// -----

// A CTA reduces its elements around its own mean; the CTAs of a cluster exchange once.
// CHECK-LABEL: norm.kernel @squares_of_a_cluster(
// CHECK-SAME: %[[R:[a-z]+]] = 4 : register, %[[C:[a-z]+]] = 4 : cluster, %[[T:[a-z]+]] = 64 : thread, %[[V:[a-z]+]] = 4 : register)
// CHECK: %[[COUNT:.*]] = arith.constant 7.680000e+02
// CHECK: %[[S:.*]] = norm.reduce add %{{.*}} over(%[[R]], %[[V]], %[[T]])
// CHECK: %[[Q:.*]] = norm.reduce add %{{.*}} over(%[[R]], %[[V]], %[[T]])
// CHECK: norm.reduce %[[S]], %[[COUNT]], %[[Q]] over(%[[C]])
// CHECK-NOT: norm.reduce
// CHECK: norm.write
norm.kernel @squares_of_a_cluster(%x: memref<?x3072xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %r = 4 : register, %c = 4 : cluster, %t = 64 : thread, %v = 4 : register)
    where(%r * 1024 + %c * 256 + %t * 4 + %v < 3072)
    schedule(#norm.schedule<spread = [[grid], [register(4), cluster(4), warp(2), lane(32), vector(4)]], merge_reductions = [cluster]>) {
  %n = arith.constant 3072.0 : f32
  %0 = norm.read %x[%m, %r * 1024 + %c * 256 + %t * 4 + %v] : memref<?x3072xf32>
  %1 = norm.reduce add %0 over(%r, %c, %t, %v) : f32
  %2 = arith.divf %1, %n : f32
  %3 = arith.subf %0, %2 : f32
  %4 = arith.mulf %3, %3 : f32
  %5 = norm.reduce add %4 over(%r, %c, %t, %v) : f32
  norm.write %5, %y[%m] : memref<?xf32>
}

// -----

// Threads and CTAs combine in one reduction of tuples, each from the elements of one thread.
// CHECK-LABEL: norm.kernel @exponentials_of_threads_of_a_cluster(
// CHECK-SAME: %[[C:[a-z]+]] = 4 : cluster, %[[T:[a-z]+]] = 64 : thread, %[[V:[a-z]+]] = 4 : register)
// CHECK: %[[M:.*]] = norm.reduce max %{{.*}} over(%[[V]])
// CHECK: %[[S:.*]] = norm.reduce add %{{.*}} over(%[[V]])
// CHECK: norm.reduce %[[M]], %[[S]] over(%[[T]], %[[C]]) identity [0xFF800000 : f32, 0.000000e+00 : f32]
// CHECK-NOT: norm.reduce
// CHECK: norm.write
norm.kernel @exponentials_of_threads_of_a_cluster(%x: memref<?x1024xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %c = 4 : cluster, %t = 64 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [cluster(4), warp(2), lane(32), vector(4)]], merge_reductions = [cluster, warp, lane]>) {
  %0 = norm.read %x[%m, %c * 256 + %t * 4 + %v] : memref<?x1024xf32>
  %1 = norm.reduce max %0 over(%c, %t, %v) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%c, %t, %v) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}

// -----

// Steps combine in each thread, then threads by one reduction after the other, then CTAs as tuples.
// CHECK-LABEL: norm.kernel @exponentials_of_steps_of_a_cluster(
// CHECK-SAME: %[[L:[a-z]+]] = 4 : loop, %[[C:[a-z]+]] = 4 : cluster, %[[T:[a-z]+]] = 64 : thread)
// CHECK: %[[STEPS:.*]]:2 = norm.reduce %{{.*}}, %{{.*}} over(%[[L]])
// CHECK: %[[M:.*]] = norm.reduce max %[[STEPS]]#0 over(%[[T]])
// CHECK: %[[S:.*]] = norm.reduce add %{{.*}} over(%[[T]])
// CHECK: norm.reduce %[[M]], %[[S]] over(%[[C]])
// CHECK-NOT: norm.reduce
// CHECK: norm.write
norm.kernel @exponentials_of_steps_of_a_cluster(%x: memref<?x1024xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %l = 4 : loop, %c = 4 : cluster, %t = 64 : thread)
    schedule(#norm.schedule<spread = [[grid], [loop, cluster(4), warp(2), lane(32)]], keep = [l2], merge_reductions = [cluster, loop]>) {
  %0 = norm.read %x[%m, %l * 256 + %c * 64 + %t] : memref<?x1024xf32>
  %1 = norm.reduce max %0 over(%l, %c, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%l, %c, %t) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}

// -----

// Values that a term needs besides the reference are computed before the loop's reduction.
// CHECK-LABEL: norm.kernel @a_weight_is_read_in_the_same_loop(
// CHECK: norm.read
// CHECK: norm.read
// CHECK: norm.reduce
// CHECK-NOT: norm.read
norm.kernel @a_weight_is_read_in_the_same_loop(%x: memref<?x4096xf32>, %w: memref<4096xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %c = 128 : loop, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l2], merge_reductions = [loop]>) {
  %0 = norm.read %x[%m, %c * 32 + %t] : memref<?x4096xf32>
  %1 = norm.reduce max %0 over(%c, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %w0 = norm.read %w[%c * 32 + %t] : memref<4096xf32>
  %4 = arith.mulf %3, %w0 : f32
  %5 = norm.reduce add %4 over(%c, %t) : f32
  norm.write %5, %y[%m] : memref<?xf32>
}

// -----

// The dependence decides: squares relative to a maximum are none of the known kinds.
// CHECK-LABEL: norm.kernel @squares_behind_a_maximum(
// CHECK: norm.reduce max %{{.*}} over(%{{.*}}, %{{.*}})
// CHECK: norm.reduce add %{{.*}} over(%{{.*}}, %{{.*}})
norm.kernel @squares_behind_a_maximum(%x: memref<?x4096xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %c = 128 : loop, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l2], merge_reductions = [loop]>) {
  %0 = norm.read %x[%m, %c * 32 + %t] : memref<?x4096xf32>
  %1 = norm.reduce max %0 over(%c, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = arith.mulf %2, %2 : f32
  %4 = norm.reduce add %3 over(%c, %t) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}

// -----

// Without the parameter, and without a dim of the level that it names, nothing changes.
// CHECK-LABEL: norm.kernel @not_asked_for(
// CHECK: norm.reduce max %{{.*}} over(%{{.*}}, %{{.*}})
norm.kernel @not_asked_for(%x: memref<?x4096xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %c = 128 : loop, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l2]>) {
  %0 = norm.read %x[%m, %c * 32 + %t] : memref<?x4096xf32>
  %1 = norm.reduce max %0 over(%c, %t) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%c, %t) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}

// CHECK-LABEL: norm.kernel @resident(
// CHECK: norm.reduce max %{{.*}} over(%{{.*}}, %{{.*}})
norm.kernel @resident(%x: memref<?x128xf32>, %y: memref<?xf32>)
    space(%m = dim(%x, 0) : grid, %t = 32 : thread, %v = 4 : register)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(4)]], merge_reductions = [loop]>) {
  %0 = norm.read %x[%m, %t * 4 + %v] : memref<?x128xf32>
  %1 = norm.reduce max %0 over(%t, %v) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%t, %v) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}
