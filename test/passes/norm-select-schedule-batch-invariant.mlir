// RUN: norma-opt %s --split-input-file --norm-select-schedule=batch-invariant 2>%t.warnings | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file=%t.warnings --implicit-check-not=warning:

// The schedule is the same for any number of rows, static, bounded or dynamic, and however many dims count them.
// CHECK: norm.kernel @dynamic(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [[ROW:[^>]*]]>)
// CHECK: norm.kernel @one(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [[ROW]]>)
// CHECK: norm.kernel @many(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [[ROW]]>)
// CHECK: norm.kernel @bounded(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [[ROW]]>)
// CHECK: norm.kernel @two_dims(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid], [grid], [[ROW]]>)
norm.kernel @dynamic(%x: memref<?x8192xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 8192) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x8192xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}
norm.kernel @one(%x: memref<1x8192xbf16>, %y: memref<1xbf16>) space(%m = 1, %n = 8192) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<1x8192xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<1xbf16>
}
norm.kernel @many(%x: memref<65536x8192xbf16>, %y: memref<65536xbf16>) space(%m = 65536, %n = 8192) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<65536x8192xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<65536xbf16>
}
norm.kernel @bounded(%x: memref<?x8192xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 8192) align(16, 16)
    multiples(dim(%x, 0) = 8, dim(%y, 0) = 8) bounds(8 <= dim(%x, 0) <= 16) {
  %0 = norm.read %x[%m, %n] : memref<?x8192xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}
norm.kernel @two_dims(%x: memref<3x?x8192xbf16>, %y: memref<3x?xbf16>) space(%a = 3, %b = dim(%x, 1), %n = 8192) align(16, 16) {
  %0 = norm.read %x[%a, %b, %n] : memref<3x?x8192xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%a, %b] : memref<3x?xbf16>
}

// -----

// Tiles do not begin where vectors are aligned, which depends on the place of a row.
// CHECK: norm.kernel @begins_anywhere(
// CHECK-NOT: aligned_dim
// CHECK-SAME: attributes
norm.kernel @begins_anywhere(%x: memref<?x50257xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 50257) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x50257xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// A walk over few rows is split over as many CTAs as have two rows each, and reduces a row as with many.
// CHECK: norm.kernel @walk(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop, split({{[0-9]+}})], [[WALK:[^>]*]]>)
// CHECK: norm.kernel @short_walk(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop, split(20)], [[WALK]]>)
// CHECK: norm.kernel @step(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop], [[WALK]]>)
// WARNING: [[# @LINE + 7]]:8: warning: this combines rows (over m): batch-invariant promises nothing for what depends on it
norm.kernel @walk(%x: memref<?x16384xf32>, %y: memref<?xf32>, %z: memref<16384xf32>) space(%m = dim(%x, 0), %n = 16384) align(16, 16, 16) {
  %0 = norm.read %x[%m, %n] : memref<?x16384xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
  %2 = arith.mulf %0, %1 : f32
  // The sum over rows depends on their number by its meaning.
  %3 = norm.reduce add %2 over(%m) : f32
  norm.write %3, %z[%n] : memref<16384xf32>
}
// WARNING: warning: this combines rows (over m)
norm.kernel @short_walk(%x: memref<40x16384xf32>, %y: memref<40xf32>, %z: memref<16384xf32>) space(%m = 40, %n = 16384) align(16, 16, 16) {
  %0 = norm.read %x[%m, %n] : memref<40x16384xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<40xf32>
  %2 = arith.mulf %0, %1 : f32
  %3 = norm.reduce add %2 over(%m) : f32
  norm.write %3, %z[%n] : memref<16384xf32>
}
// WARNING: warning: this combines rows (over m)
norm.kernel @step(%x: memref<1x16384xf32>, %y: memref<1xf32>, %z: memref<16384xf32>) space(%m = 1, %n = 16384) align(16, 16, 16) {
  %0 = norm.read %x[%m, %n] : memref<1x16384xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<1xf32>
  %2 = arith.mulf %0, %1 : f32
  %3 = norm.reduce add %2 over(%m) : f32
  norm.write %3, %z[%n] : memref<16384xf32>
}

// -----

// A kernel that only sums rows up has none of its own, and gets the schedule that is best for them.
// WARNING: warning: this combines rows (over m)
// CHECK: norm.kernel @columns(
norm.kernel @columns(%x: memref<64x4096xf32>, %y: memref<4096xf32>) space(%m = 64, %n = 4096) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<64x4096xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<4096xf32>
}

// -----

// How far the elements of a row are apart in a transposed result depends on the number of rows, which the choice does not know.
// CHECK: norm.kernel @transposed(
// CHECK-SAME: schedule(#norm.schedule<[[TRANSPOSED:[^>]*]]>)
// CHECK: norm.kernel @transposed_many(
// CHECK-SAME: schedule(#norm.schedule<[[TRANSPOSED]]>)
norm.kernel @transposed(%x: memref<3x1024xf32>, %y: memref<1024x3xf32>) space(%m = 3, %n = 1024) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<3x1024xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%n, %m] : memref<1024x3xf32>
}
norm.kernel @transposed_many(%x: memref<4096x1024xf32>, %y: memref<1024x4096xf32>) space(%m = 4096, %n = 1024) align(16, 16) {
  %0 = norm.read %x[%m, %n] : memref<4096x1024xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%n, %m] : memref<1024x4096xf32>
}
