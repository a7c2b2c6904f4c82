// A read that a reduction and its readers share is cached, and the ops that depend on it are repeated in each phase.
// RUN: norma-opt %s --split-input-file --norm-cache-inputs | FileCheck %s
// RUN: norma-opt %s --split-input-file --norm-cache-inputs --norm-cache-inputs | FileCheck %s

// CHECK: norm.kernel @centred(
// CHECK-NEXT: %[[V0:.*]] = norm.read
// CHECK-NEXT: %[[C:.*]] = norm.cache %[[V0]] in register : bf16
// CHECK-NEXT: %[[V1:.*]] = arith.extf %[[V0]]
// CHECK-NEXT: %[[V2:.*]] = norm.reduce max %[[V1]]
// CHECK-NEXT: %[[A:.*]] = arith.extf %[[C]]
// CHECK-NEXT: %[[V3:.*]] = arith.subf %[[A]], %[[V2]]
// CHECK-NEXT: norm.write %[[V3]]
norm.kernel @centred(%x: memref<?x64xbf16>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce max %1 over(%t) : f32
  %3 = arith.subf %1, %2 : f32
  norm.write %3, %y[%b, %t] : memref<?x64xf32>
}

// -----

// Each phase has its own cache and its own clones: of the values that vary over the row, only the input crosses a reduction.
// Ops that only later phases need are removed from the first one.
// CHECK: norm.kernel @softmax(
// CHECK-NEXT: %[[X:.*]] = norm.read
// CHECK-NEXT: %[[C1:.*]] = norm.cache %[[X]] in register
// CHECK-NEXT: %[[C2:.*]] = norm.cache %[[C1]] in register
// CHECK-NEXT: %[[X0:.*]] = arith.extf %[[X]]
// CHECK-NEXT: %[[MAX:.*]] = norm.reduce max %[[X0]]
// CHECK-NEXT: %[[X1:.*]] = arith.extf %[[C1]]
// CHECK-NEXT: %[[D1:.*]] = arith.subf %[[X1]], %[[MAX]]
// CHECK-NEXT: %[[E1:.*]] = math.exp %[[D1]]
// CHECK-NEXT: %[[SUM:.*]] = norm.reduce add %[[E1]]
// CHECK-NEXT: %[[X2:.*]] = arith.extf %[[C2]]
// CHECK-NEXT: %[[D2:.*]] = arith.subf %[[X2]], %[[MAX]]
// CHECK-NEXT: %[[E2:.*]] = math.exp %[[D2]]
// CHECK-NEXT: %[[Y:.*]] = arith.divf %[[E2]], %[[SUM]]
// CHECK-NEXT: norm.write %[[Y]]
norm.kernel @softmax(%x: memref<?x64xbf16>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce max %1 over(%t) : f32
  %3 = arith.subf %1, %2 : f32
  %4 = math.exp %3 : f32
  %5 = norm.reduce add %4 over(%t) : f32
  %6 = arith.divf %4, %5 : f32
  norm.write %6, %y[%b, %t] : memref<?x64xf32>
}

// -----

// A weight that contributes to no reduction is read once and not cached, and neither is a value of the whole row.
// CHECK: norm.kernel @scaled(
// CHECK: %[[X:.*]] = norm.read %x
// CHECK-NEXT: norm.cache %[[X]] in register
// CHECK-NOT: norm.cache
// CHECK: norm.read %s
// CHECK-NOT: norm.cache
// CHECK: norm.read %w
// CHECK-NOT: norm.cache
norm.kernel @scaled(%x: memref<?x64xf32>, %s: memref<?xf32>, %w: memref<64xf32>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x64xf32>
  %1 = norm.read %s[%b] : memref<?xf32>
  %2 = arith.mulf %0, %1 : f32
  %3 = norm.reduce add %2 over(%t) : f32
  %4 = norm.read %w[%t] : memref<64xf32>
  %5 = arith.mulf %0, %4 : f32
  %6 = arith.mulf %3, %1 : f32
  %7 = arith.mulf %5, %6 : f32
  norm.write %7, %y[%b, %t] : memref<?x64xf32>
}

// -----

// If two inputs are summed, both are cached; an original without a use in the first phase is removed.
// CHECK: norm.kernel @sum_of_two(
// CHECK-COUNT-2: norm.cache
// CHECK-NOT: norm.cache
// CHECK: norm.reduce
// CHECK: arith.addf
// CHECK: arith.subf
// CHECK: arith.negf
// CHECK-NOT: arith.negf
// CHECK: norm.write
norm.kernel @sum_of_two(%x: memref<?x64xf32>, %z: memref<?x64xf32>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x64xf32>
  %1 = norm.read %z[%b, %t] : memref<?x64xf32>
  %2 = arith.addf %0, %1 : f32
  %3 = arith.negf %0 : f32
  %4 = norm.reduce add %2 over(%t) : f32
  %5 = arith.subf %2, %4 : f32
  %6 = arith.mulf %5, %3 : f32
  norm.write %6, %y[%b, %t] : memref<?x64xf32>
}

// -----

// A read that the schedule keeps elsewhere is read again.
// CHECK: norm.kernel @uncached(
// CHECK-NOT: norm.cache
norm.kernel @uncached(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread)
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]], keep = [none]>) {
  %0 = norm.read %x[%b, %t] : memref<?x64xf32>
  %1 = norm.reduce max %0 over(%t) : f32
  %2 = arith.subf %0, %1 : f32
  norm.write %2, %y[%b, %t] : memref<?x64xf32>
}

// -----

// Each buffer has its own place.
// CHECK: norm.kernel @places(
// CHECK-NEXT: norm.read %x
// CHECK-NEXT: %[[Z:.*]] = norm.read %z
// CHECK-NEXT: norm.cache %[[Z]] in register
// CHECK-NOT: norm.cache
norm.kernel @places(%x: memref<?x64xf32>, %z: memref<?x64xf32>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread)
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]], keep = [l1, register, none]>) {
  %0 = norm.read %x[%b, %t] : memref<?x64xf32>
  %1 = norm.read %z[%b, %t] : memref<?x64xf32>
  %2 = arith.addf %0, %1 : f32
  %3 = norm.reduce add %2 over(%t) : f32
  %4 = arith.subf %2, %3 : f32
  norm.write %4, %y[%b, %t] : memref<?x64xf32>
}

// -----

// %g is multiplied by a factor that waits for one sum alone, and the result meets the sum that %g contributes to: %g is kept
// beyond it, as %x is, and stays 16 bits wide. If nothing meets a sum over the other dim, nothing is kept beyond it.
// CHECK: norm.kernel @factor_of_row(
// CHECK: %[[X:.*]] = norm.read %x
// CHECK-NEXT: norm.cache %[[X]] in register
// CHECK: %[[G:.*]] = norm.read %g
// CHECK-NEXT: %[[C:.*]] = norm.cache %[[G]] in register
// CHECK: norm.reduce
// CHECK-NEXT: arith.extf %[[C]]
// CHECK: norm.kernel @sum_of_columns(
// CHECK: %[[G:.*]] = norm.read %g
// CHECK-NOT: norm.cache %[[G]]
norm.kernel @factor_of_row(%x: memref<?x64xbf16>, %g: memref<?x64xbf16>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = arith.mulf %1, %1 : f32
  %3 = norm.reduce add %2 over(%t) : f32
  %4 = math.rsqrt %3 : f32
  %5 = norm.read %g[%b, %t] : memref<?x64xbf16>
  %6 = arith.extf %5 : bf16 to f32
  %7 = arith.mulf %6, %1 : f32
  %8 = norm.reduce add %7 over(%t) : f32
  %9 = arith.mulf %4, %6 : f32
  %10 = arith.mulf %8, %1 : f32
  %11 = arith.subf %9, %10 : f32
  norm.write %11, %y[%b, %t] : memref<?x64xf32>
}

norm.kernel @sum_of_columns(%x: memref<64x64xbf16>, %g: memref<64x64xbf16>, %y: memref<64x64xf32>, %z: memref<64xf32>)
    space(%b = 64 : loop, %t = 64 : thread) schedule(#norm.schedule<spread = [[loop], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<64x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%t) : f32
  %3 = norm.read %g[%b, %t] : memref<64x64xbf16>
  %4 = arith.extf %3 : bf16 to f32
  %5 = arith.mulf %2, %4 : f32
  norm.write %5, %y[%b, %t] : memref<64x64xf32>
  %6 = norm.reduce add %4 over(%b) : f32
  norm.write %6, %z[%t] : memref<64xf32>
}

// -----

// What is rounded to 16 bits stays in place of the row and the weights: nothing is multiplied again.
// CHECK-LABEL: norm.kernel @rounded_row(
// CHECK: %[[X:.*]] = norm.read %{{.*}} : memref<?x64xbf16>
// CHECK-NEXT: norm.cache %[[X]] in register : bf16
// CHECK: norm.reduce add
// CHECK: %[[Y:.*]] = arith.truncf
// CHECK: %[[KEPT:.*]] = norm.cache %[[Y]] in register : bf16
// CHECK: norm.reduce max
// CHECK-NEXT: arith.extf %[[KEPT]] : bf16 to f32
// CHECK-NEXT: arith.mulf
// CHECK-NOT: arith.mulf
norm.kernel @rounded_row(%x: memref<?x64xbf16>, %w: memref<64xbf16>, %q: memref<?x64xf8E4M3FN>)
    space(%m = dim(%x, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%m, %t] : memref<?x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%t) : f32
  %3 = arith.mulf %1, %2 : f32
  %4 = norm.read %w[%t] : memref<64xbf16>
  %5 = arith.extf %4 : bf16 to f32
  %6 = arith.mulf %3, %5 : f32
  %7 = arith.truncf %6 : f32 to bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = norm.reduce max %8 over(%t) : f32
  %10 = arith.mulf %8, %9 : f32
  %11 = arith.truncf %10 : f32 to f8E4M3FN
  norm.write %11, %q[%m, %t] : memref<?x64xf8E4M3FN>
}

// -----

// The row is needed later too, so that keeping what is rounded would take registers for both.
// CHECK-LABEL: norm.kernel @row_needed_later(
// CHECK: %[[X:.*]] = norm.read %{{.*}} : memref<?x64xbf16>
// CHECK-COUNT-2: norm.cache %{{.*}} in register : bf16
// CHECK-NOT: norm.cache
norm.kernel @row_needed_later(%x: memref<?x64xbf16>, %y: memref<?x64xf32>)
    space(%m = dim(%x, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%m, %t] : memref<?x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%t) : f32
  %3 = arith.mulf %1, %2 : f32
  %7 = arith.truncf %3 : f32 to bf16
  %8 = arith.extf %7 : bf16 to f32
  %9 = norm.reduce max %8 over(%t) : f32
  %10 = arith.mulf %8, %9 : f32
  %11 = arith.addf %10, %1 : f32
  norm.write %11, %y[%m, %t] : memref<?x64xf32>
}

// -----

// A row at a computed place is kept as any other row is, and whether it was read needs no copy.
// CHECK: norm.kernel @gathered(
// CHECK: %[[X:.*]], %[[INSIDE:.*]] = norm.gather
// CHECK-NEXT: %[[C:.*]] = norm.cache %[[X]] in register : f32
// CHECK: %[[SUM:.*]] = norm.reduce add %[[X]]
// CHECK-NEXT: %[[Q:.*]] = arith.divf %[[C]], %[[SUM]]
// CHECK-NEXT: arith.select %[[INSIDE]], %[[Q]], %[[SUM]]
norm.kernel @gathered(%i: memref<?xi32>, %x: memref<?x64xf32>, %y: memref<?x64xf32>)
    space(%b = dim(%i, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %i[%b] : memref<?xi32>
  %1 = arith.index_cast %0 : i32 to index
  %2, %3 = norm.gather %x[%1, %t] : memref<?x64xf32>
  %4 = norm.reduce add %2 over(%t) : f32
  %5 = arith.divf %2, %4 : f32
  %6 = arith.select %3, %5, %4 : f32
  norm.write %6, %y[%b, %t] : memref<?x64xf32>
}
