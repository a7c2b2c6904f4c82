// A kernel without a schedule gets the user's or the cost model's; the model sees structure alone.
// RUN: norma-opt %s --split-input-file --norm-select-schedule | FileCheck %s
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(norm-select-schedule{schedule={rows_per_cta = 2, chunk = 8192}})' | FileCheck %s --check-prefix=GIVEN
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(norm-select-schedule{schedule={#norm.schedule<rows_per_cta = 2, chunk = 8192>}})' | FileCheck %s --check-prefix=GIVEN
// RUN: norma-opt %s --split-input-file --norm-select-schedule=explain -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// CHECK: norm.kernel @max(
// CHECK-SAME: schedule(#norm.schedule<threads_per_row = 256, vector = 8, chunk = 4096, eviction = streaming, early_reads = true, min_ctas_per_sm = {{[0-9]+}}>)
// GIVEN: norm.kernel @max(
// GIVEN-SAME: schedule(#norm.schedule<rows_per_cta = 2, chunk = 8192>)
// WHY: remark: for a row of 4096 elements on an H200 SXM, 1 rows of 256 threads with 2 accesses of 16 bytes each:
// WHY-SAME: CTAs per SM at {{[0-9]+}} registers, expected to lose {{[0-9.]+}}% of a copy's speed (loads in flight
// WHY-SAME: next of
norm.kernel @max(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// The input whose row is held decides the vector, not the wider weight, which is the same for all rows.
// CHECK: norm.kernel @weighted(
// CHECK-SAME: schedule(#norm.schedule<threads_per_row = 64, vector = 8, chunk = 1024,
norm.kernel @weighted(%x: memref<?x1024xbf16>, %w: memref<1024xf32>, %y: memref<?x1024xf32>)
    space(%m = dim(%x, 0), %n = 1024) align(16, 16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x1024xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce max %1 over(%n) : f32
  %3 = norm.read %w[%n] : memref<1024xf32>
  %4 = arith.mulf %1, %3 : f32
  %5 = arith.subf %4, %2 : f32
  norm.write %5, %y[%m, %n] : memref<?x1024xf32>
}

// -----

// Nothing but natural alignment is known where a kernel says nothing. Hints do not pay for accesses that share sectors.
// CHECK: norm.kernel @unaligned(
// CHECK-NOT: {{vector|streaming}}
// CHECK-SAME: chunk = 4096>)
norm.kernel @unaligned(%x: memref<?x4096xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 4096) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// A dynamic stride is a multiple of the alignment, a static one of what it says.
// CHECK: norm.kernel @strided(
// CHECK-SAME: vector = 4,
// CHECK: norm.kernel @narrow(
// CHECK-SAME: vector = 2,
norm.kernel @strided(%x: memref<?x4096xbf16, strided<[?, 1]>>, %y: memref<?xbf16>)
    space(%m = dim(%x, 0), %n = 4096) align(8, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16, strided<[?, 1]>>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}
norm.kernel @narrow(%x: memref<?x4096xbf16, strided<[4098, 1]>>, %y: memref<?xbf16>)
    space(%m = dim(%x, 0), %n = 4096) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xbf16, strided<[4098, 1]>>
  %1 = norm.reduce max %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// A schedule that is there stays.
// CHECK: norm.kernel @scheduled(
// CHECK-SAME: schedule(#norm.schedule<rows_per_cta = 4, chunk = 64>)
// GIVEN: norm.kernel @scheduled(
// GIVEN-SAME: schedule(#norm.schedule<rows_per_cta = 4, chunk = 64>)
norm.kernel @scheduled(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<rows_per_cta = 4, chunk = 64>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
