// Reductions over the dims on both sides of a kept one are reduced by two kernels, where one would read short pieces.
// RUN: norma-opt %s --split-input-file --norm-stage-reductions | FileCheck %s
// RUN: norma-opt %s --split-input-file --norm-stage-reductions='given={spread = [[grid]]}' | FileCheck %s --check-prefix=GIVEN
// GIVEN-NOT: _finish

// A sum leaves a partial result for each channel of each of four parts of the pixels.
// CHECK-LABEL: func.func @sums(
// CHECK: %[[P:.*]] = memref.alloc() {{.*}} : memref<32x4x32x10xf32>
// CHECK-NEXT: norm.launch @sum(%{{.*}}, %[[P]])
// CHECK-NEXT: norm.launch @sum_finish(%{{.*}}, %[[P]])
// CHECK: norm.kernel @sum(%x: memref<32x4096x320xbf16>, %[[P:.*]]: memref<32x4x32x10xf32>)
// CHECK-SAME: space(%[[N:.*]] = 32, %[[Q:.*]] = 4, %[[PIXEL:.*]] = 1024, %[[G:.*]] = 32, %[[C:.*]] = 10)
// CHECK: norm.read %x[%[[N]], %[[Q]] * 1024 + %[[PIXEL]], %[[G]] * 10 + %[[C]]]
// CHECK: %[[S:.*]] = norm.reduce add %{{.*}} over(%[[PIXEL]])
// CHECK-NEXT: norm.write %[[S]], %[[P]][%[[N]], %[[Q]], %[[G]], %[[C]]]
// CHECK: norm.kernel @sum_finish(%y: memref<32x32xf32>, %[[P:.*]]: memref<32x4x32x10xf32>)
// CHECK-SAME: space(%[[N:.*]] = 32, %[[Q:.*]] = 4, %[[G:.*]] = 32, %[[C:.*]] = 10)
// CHECK-NEXT: %[[V:.*]] = norm.read %[[P]][%[[N]], %[[Q]], %[[G]], %[[C]]]
// CHECK-NEXT: %[[S:.*]] = norm.reduce add %[[V]] over(%[[Q]], %[[C]])
// CHECK-NEXT: norm.write %[[S]], %y[%[[N]], %[[G]]]
func.func @sums(%x: memref<32x4096x320xbf16>, %y: memref<32x32xf32>) {
  norm.launch @sum(%x, %y) : memref<32x4096x320xbf16>, memref<32x32xf32>
  return
}
norm.kernel @sum(%x: memref<32x4096x320xbf16>, %y: memref<32x32xf32>) space(%n = 32, %p = 4096, %g = 32, %c = 10) {
  %0 = norm.read %x[%n, %p, %g * 10 + %c] : memref<32x4096x320xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%p, %c) : f32
  norm.write %2, %y[%n, %g] : memref<32x32xf32>
}

// -----

// What needs the sum at its points is a third kernel, which reads the sum once for each channel.
// CHECK-LABEL: norm.kernel @scale(
// CHECK: norm.reduce add
// CHECK: norm.kernel @scale_finish(%[[SUMS:.*]]: memref<32x32x10xf32>, %{{.*}}: memref<32x4x32x10xf32>)
// CHECK-SAME: space(%[[N:.*]] = 32, %{{.*}} = 4, %[[G:.*]] = 32, %[[C:.*]] = 10)
// CHECK: %[[S:.*]] = norm.reduce add
// CHECK-NEXT: norm.write %[[S]], %[[SUMS]][%[[N]], %[[G]], %[[C]]]
// CHECK: norm.kernel @scale_apply(
// CHECK: norm.read %{{.*}}[%n, %g, %c] : memref<32x32x10xf32>
// CHECK: norm.write %{{.*}}, %y[%n, %p, %g * 10 + %c]
norm.kernel @scale(%x: memref<32x4096x320xbf16>, %y: memref<32x4096x320xbf16>)
    space(%n = 32, %p = 4096, %g = 32, %c = 10) {
  %0 = norm.read %x[%n, %p, %g * 10 + %c] : memref<32x4096x320xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%p, %c) : f32
  %3 = arith.mulf %1, %2 : f32
  %4 = arith.truncf %3 : f32 to bf16
  norm.write %4, %y[%n, %p, %g * 10 + %c] : memref<32x4096x320xbf16>
}

// -----

// Groups as long as a line of memory are read well by one kernel.
// CHECK-LABEL: norm.kernel @long(
// CHECK-NOT: norm.kernel
norm.kernel @long(%x: memref<32x256x4096xbf16>, %y: memref<32x16xf32>) space(%n = 32, %p = 256, %g = 16, %c = 256) {
  %0 = norm.read %x[%n, %p, %g * 256 + %c] : memref<32x256x4096xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%p, %c) : f32
  norm.write %2, %y[%n, %g] : memref<32x16xf32>
}

// -----

// The second reduction depends on the first in a way that cannot be merged.
// CHECK-LABEL: norm.kernel @waits(
// CHECK-NOT: norm.kernel
norm.kernel @waits(%x: memref<32x4096x320xbf16>, %y: memref<32x32xf32>) space(%n = 32, %p = 4096, %g = 32, %c = 10) {
  %0 = norm.read %x[%n, %p, %g * 10 + %c] : memref<32x4096x320xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%p, %c) : f32
  %3 = arith.remf %1, %2 : f32
  %4 = norm.reduce max %3 over(%p, %c) : f32
  norm.write %4, %y[%n, %g] : memref<32x32xf32>
}

// -----

// Results in place are written by the kernel that reads what they overwrite.
// CHECK-LABEL: norm.kernel @residual(
// CHECK-NOT: norm.write %{{.*}} : memref<32x4096x320xbf16>
// CHECK-LABEL: norm.kernel @residual_apply(
// CHECK-COUNT-2: norm.write %{{.*}} : memref<32x4096x320xbf16>
norm.kernel @residual(%x: memref<32x4096x320xbf16>, %r: memref<32x4096x320xbf16>, %h: memref<32x4096x320xbf16>, %y: memref<32x4096x320xbf16>)
    space(%n = 32, %p = 4096, %g = 32, %c = 10) aliases(%h = %x) {
  %0 = norm.read %x[%n, %p, %g * 10 + %c] : memref<32x4096x320xbf16>
  %1 = norm.read %r[%n, %p, %g * 10 + %c] : memref<32x4096x320xbf16>
  %2 = arith.addf %0, %1 : bf16
  norm.write %2, %h[%n, %p, %g * 10 + %c] : memref<32x4096x320xbf16>
  %3 = arith.extf %2 : bf16 to f32
  %4 = norm.reduce add %3 over(%p, %c) : f32
  %5 = arith.mulf %3, %4 : f32
  %6 = arith.truncf %5 : f32 to bf16
  norm.write %6, %y[%n, %p, %g * 10 + %c] : memref<32x4096x320xbf16>
}

// -----

// Parts of pixels whose number has no suitable divisor are guarded, and their number is not asked for where it is dynamic.
// CHECK-LABEL: norm.kernel @guarded(
// CHECK-SAME: space(%{{.*}} = 8, %[[Q:.*]] = 14, %[[PIXEL:.*]] = 293, %{{.*}} = 32, %{{.*}} = 10) where(%[[Q]] * 293 + %[[PIXEL]] < 4099)
// CHECK-LABEL: norm.kernel @dynamic(
// CHECK-SAME: space(%{{.*}} = 8, %{{.*}} = dim(%{{.*}}, 1), %{{.*}} = 32, %{{.*}} = 10)
norm.kernel @guarded(%x: memref<8x4099x320xbf16>, %y: memref<8x32xf32>) space(%n = 8, %p = 4099, %g = 32, %c = 10) {
  %0 = norm.read %x[%n, %p, %g * 10 + %c] : memref<8x4099x320xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%p, %c) : f32
  norm.write %2, %y[%n, %g] : memref<8x32xf32>
}
norm.kernel @dynamic(%x: memref<8x?x320xbf16>, %y: memref<8x32xf32>) space(%n = 8, %p = dim(%x, 1), %g = 32, %c = 10) {
  %0 = norm.read %x[%n, %p, %g * 10 + %c] : memref<8x?x320xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%p, %c) : f32
  norm.write %2, %y[%n, %g] : memref<8x32xf32>
}
