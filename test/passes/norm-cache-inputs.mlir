// A read that a reduction and its readers share is cached, and what hangs on it is computed again in each phase, unless that can
// be kept in as few registers.
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

// Each phase has its own cache and its own clones: nothing that varies over the row crosses a reduction but the input.
// What only later phases need goes from the first one.
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
norm.kernel @softmax(%x: memref<?x1024xbf16>, %y: memref<?x1024xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread, %r = 16 : register) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32), vector(16)]]>) {
  %0 = norm.read %x[%b, %t * 16 + %r] : memref<?x1024xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce max %1 over(%t, %r) : f32
  %3 = arith.subf %1, %2 : f32
  %4 = math.exp %3 : f32
  %5 = norm.reduce add %4 over(%t, %r) : f32
  %6 = arith.divf %4, %5 : f32
  norm.write %6, %y[%b, %t * 16 + %r] : memref<?x1024xf32>
}

// -----

// Where a thread has registers to spare, what a special function computed is kept.
// CHECK: norm.kernel @softmax_of_few(
// CHECK: norm.cache
// CHECK-NOT: norm.cache
// CHECK: %[[E:.*]] = math.exp
// CHECK: %[[SUM:.*]] = norm.reduce add %[[E]]
// CHECK-NEXT: arith.divf %[[E]], %[[SUM]]
norm.kernel @softmax_of_few(%x: memref<?x64xbf16>, %y: memref<?x64xf32>)
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

// A sum that a reduction needs is kept in the place of one of its terms; the other is needed besides, by an op that no reduction
// needs: that is not computed before.
// CHECK: norm.kernel @sum_of_two(
// CHECK: %[[X:.*]] = norm.read %x
// CHECK: norm.cache %[[X]] in register
// CHECK-NOT: norm.cache
// CHECK: arith.addf
// CHECK: norm.reduce
// CHECK-NOT: arith.addf
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

// What the schedule keeps elsewhere is read again.
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

// An f32 product of two 16-bit inputs takes the registers of both: it is kept, and the inputs are not.
// CHECK: norm.kernel @product(
// CHECK-NOT: norm.cache
// CHECK: %[[P:.*]] = arith.mulf
// CHECK: %[[MAX:.*]] = norm.reduce max %[[P]]
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[P]], %[[MAX]]
// CHECK-NEXT: norm.write %[[D]]
norm.kernel @product(%x: memref<?x64xbf16>, %w: memref<64xbf16>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) : grid, %t = 64 : thread) schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<?x64xbf16>
  %1 = norm.read %w[%t] : memref<64xbf16>
  %2 = arith.extf %0 : bf16 to f32
  %3 = arith.extf %1 : bf16 to f32
  %4 = arith.mulf %2, %3 : f32
  %5 = norm.reduce max %4 over(%t) : f32
  %6 = arith.subf %4, %5 : f32
  norm.write %6, %y[%b, %t] : memref<?x64xf32>
}

// -----

// With four rows for a thread the inputs take fewer.
// CHECK: norm.kernel @product_of_four_rows(
// CHECK-COUNT-2: norm.cache
// CHECK: arith.mulf
// CHECK: norm.reduce
// CHECK: arith.mulf
// CHECK: arith.subf
norm.kernel @product_of_four_rows(%x: memref<?x64xbf16>, %w: memref<64xbf16>, %y: memref<?x64xf32>)
    space(%b = dim(%x, 0) ceildiv 4 : grid, %r = 4 : register, %t = 64 : thread)
    schedule(#norm.schedule<spread = [[grid, register(4)], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b * 4 + %r, %t] : memref<?x64xbf16>
  %1 = norm.read %w[%t] : memref<64xbf16>
  %2 = arith.extf %0 : bf16 to f32
  %3 = arith.extf %1 : bf16 to f32
  %4 = arith.mulf %2, %3 : f32
  %5 = norm.reduce max %4 over(%t) : f32
  %6 = arith.subf %4, %5 : f32
  norm.write %6, %y[%b * 4 + %r, %t] : memref<?x64xf32>
}
