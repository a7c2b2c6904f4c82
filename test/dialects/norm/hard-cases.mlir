// Programs that the kernel form must express, whether or not they are lowered yet: each parses, verifies, prints and parses
// again to the same. First algorithms without a schedule, then forms that a schedule has been applied to.
// RUN: norma-opt %s | norma-opt | FileCheck %s

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

// LayerNorm in one pass: a combiner of three values, Chan's update. Two empty sides (the identity) must not divide by
// zero, so the count is at least 1 there; their difference of means is 0.
// CHECK-LABEL: norm.kernel @layer_norm_welford
// CHECK: norm.reduce %{{.*}}, %{{.*}}, %{{.*}} over(%{{.*}}) identity [0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32] : f32, f32, f32 combine
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
norm.kernel @layer_norm_welford(%x: memref<?x8192xbf16>, %g: memref<8192xbf16>, %b: memref<8192xbf16>, %y: memref<?x8192xbf16>)
    space(%m = dim(%x, 0), %n = 8192) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %raw = norm.read %x[%m, %n] : memref<?x8192xbf16>
  %v = arith.extf %raw : bf16 to f32
  %mean, %m2, %count = norm.reduce %v, %zero, %one over(%n) identity [0.0 : f32, 0.0 : f32, 0.0 : f32] : f32, f32, f32 combine {
  ^bb0(%mean0: f32, %m20: f32, %n0: f32, %mean1: f32, %m21: f32, %n1: f32):
    %at_least = arith.constant 1.0 : f32
    %total = arith.addf %n0, %n1 : f32
    %divisor = arith.maximumf %total, %at_least : f32
    %delta = arith.subf %mean1, %mean0 : f32
    %share = arith.divf %n1, %divisor : f32
    %step = arith.mulf %delta, %share : f32
    %merged_mean = arith.addf %mean0, %step : f32
    %between = arith.mulf %delta, %step : f32
    %weighted = arith.mulf %between, %n0 : f32
    %within = arith.addf %m20, %m21 : f32
    %merged_m2 = arith.addf %within, %weighted : f32
    norm.yield %merged_mean, %merged_m2, %total : f32, f32, f32
  }
  %var = arith.divf %m2, %count : f32
  %shifted = arith.addf %var, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %centred = arith.subf %v, %mean : f32
  %scaled = arith.mulf %centred, %rstd : f32
  %g0 = norm.read %g[%n] : memref<8192xbf16>
  %g1 = arith.extf %g0 : bf16 to f32
  %b0 = norm.read %b[%n] : memref<8192xbf16>
  %b1 = arith.extf %b0 : bf16 to f32
  %out = math.fma %scaled, %g1, %b1 : f32
  %narrow = arith.truncf %out : f32 to bf16
  norm.write %narrow, %y[%m, %n] : memref<?x8192xbf16>
}

// Online softmax: maximum and sum of exponentials in one pass. Where both sides are empty both maxima are -inf, and the
// exponent is taken relative to 0 instead: -inf - (-inf) would be NaN.
// CHECK-LABEL: norm.kernel @online_softmax
// CHECK: norm.reduce %{{.*}}, %{{.*}} over(%{{.*}}) identity [0xFF800000 : f32, 0.000000e+00 : f32] : f32, f32 combine
norm.kernel @online_softmax(%x: memref<?x50257xbf16>, %y: memref<?x50257xbf16>) space(%m = dim(%x, 0), %n = 50257) {
  %one = arith.constant 1.0 : f32
  %raw = norm.read %x[%m, %n] : memref<?x50257xbf16>
  %v = arith.extf %raw : bf16 to f32
  %max, %sum = norm.reduce %v, %one over(%n) identity [0xFF800000 : f32, 0.0 : f32] : f32, f32 combine {
  ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
    %zero = arith.constant 0.0 : f32
    %empty = arith.constant 0xFF800000 : f32
    %larger = arith.maximumf %m0, %m1 : f32
    %none = arith.cmpf oeq, %larger, %empty : f32
    %base = arith.select %none, %zero, %larger : f32
    %d0 = arith.subf %m0, %base : f32
    %e0 = math.exp %d0 : f32
    %r0 = arith.mulf %s0, %e0 : f32
    %d1 = arith.subf %m1, %base : f32
    %e1 = math.exp %d1 : f32
    %r1 = arith.mulf %s1, %e1 : f32
    %total = arith.addf %r0, %r1 : f32
    norm.yield %larger, %total : f32, f32
  }
  %d = arith.subf %v, %max : f32
  %e = math.exp %d : f32
  %p = arith.divf %e, %sum : f32
  %narrow = arith.truncf %p : f32 to bf16
  norm.write %narrow, %y[%m, %n] : memref<?x50257xbf16>
}

// RMSNorm's gradient as an algorithm: two reductions that cross. One keeps %m and reduces %n, the other the reverse.
// CHECK-LABEL: norm.kernel @rms_norm_gradient
// CHECK: norm.reduce add %{{.*}} over(%[[N:.*]]) : f32
// CHECK: norm.reduce add %{{.*}} over(%[[M:.*]]) : f32
norm.kernel @rms_norm_gradient(%x: memref<?x4096xbf16>, %w: memref<4096xbf16>, %rstd: memref<?xf32>, %dy: memref<?x4096xbf16>,
                               %dx: memref<?x4096xbf16>, %dw: memref<4096xf32>) space(%m = dim(%x, 0), %n = 4096) {
  %per_column = arith.constant 2.44140625e-4 : f32
  %x0 = norm.read %x[%m, %n] : memref<?x4096xbf16>
  %x1 = arith.extf %x0 : bf16 to f32
  %r = norm.read %rstd[%m] : memref<?xf32>
  %xh = arith.mulf %x1, %r : f32
  %dy0 = norm.read %dy[%m, %n] : memref<?x4096xbf16>
  %dy1 = arith.extf %dy0 : bf16 to f32
  %w0 = norm.read %w[%n] : memref<4096xbf16>
  %w1 = arith.extf %w0 : bf16 to f32
  %g = arith.mulf %dy1, %w1 : f32
  %xhg = arith.mulf %xh, %g : f32
  %c = norm.reduce add %xhg over(%n) : f32
  %mean = arith.mulf %c, %per_column : f32
  %along = arith.mulf %xh, %mean : f32
  %across = arith.subf %g, %along : f32
  %dx1 = arith.mulf %across, %r : f32
  %dx0 = arith.truncf %dx1 : f32 to bf16
  norm.write %dx0, %dx[%m, %n] : memref<?x4096xbf16>
  %dyxh = arith.mulf %dy1, %xh : f32
  %dw1 = norm.reduce add %dyxh over(%m) : f32
  norm.write %dw1, %dw[%n] : memref<4096xf32>
}

// GroupNorm over NHWC, 32 groups of 16 channels: channels are %g * 16 + %k, and the reductions take %p and %k.
// CHECK-LABEL: norm.kernel @group_norm_nhwc
// CHECK: norm.read %{{.*}}[%[[B:.*]], %[[P:.*]], %[[G:.*]] * 16 + %[[K:.*]]] : memref<?x4096x512xbf16>
// CHECK: norm.reduce add %{{.*}} over(%[[P]], %[[K]]) : f32
norm.kernel @group_norm_nhwc(%x: memref<?x4096x512xbf16>, %w: memref<512xbf16>, %bias: memref<512xbf16>, %y: memref<?x4096x512xbf16>)
    space(%b = dim(%x, 0), %p = 4096, %g = 32, %k = 16) {
  %per_point = arith.constant 1.52587890625e-05 : f32
  %eps = arith.constant 1.0e-5 : f32
  %x0 = norm.read %x[%b, %p, %g * 16 + %k] : memref<?x4096x512xbf16>
  %x1 = arith.extf %x0 : bf16 to f32
  %sum = norm.reduce add %x1 over(%p, %k) : f32
  %mean = arith.mulf %sum, %per_point : f32
  %centred = arith.subf %x1, %mean : f32
  %square = arith.mulf %centred, %centred : f32
  %squares = norm.reduce add %square over(%p, %k) : f32
  %var = arith.mulf %squares, %per_point : f32
  %shifted = arith.addf %var, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %scaled = arith.mulf %centred, %rstd : f32
  %w0 = norm.read %w[%g * 16 + %k] : memref<512xbf16>
  %w1 = arith.extf %w0 : bf16 to f32
  %b0 = norm.read %bias[%g * 16 + %k] : memref<512xbf16>
  %b1 = arith.extf %b0 : bf16 to f32
  %out = math.fma %scaled, %w1, %b1 : f32
  %narrow = arith.truncf %out : f32 to bf16
  norm.write %narrow, %y[%b, %p, %g * 16 + %k] : memref<?x4096x512xbf16>
}

// Quantisation of a transposed input by blocks of 32: read with %m contiguous, written with %j contiguous, one scale (a
// power of two, E8M0) for a block. arith.scaling_truncf divides by the scale and rounds once.
// CHECK-LABEL: norm.kernel @quantize_transposed
// CHECK: norm.read %{{.*}}[%[[Q:.*]] * 32 + %[[J:.*]], %[[M:.*]]] : memref<4096x?xbf16>
// CHECK: norm.reduce max %{{.*}} over(%[[J]]) : f32
// CHECK: arith.scaling_truncf %{{.*}}, %{{.*}} : f32, f8E8M0FNU to f8E4M3FN
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M]], %[[Q]] * 32 + %[[J]]] : memref<?x4096xf8E4M3FN>
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M]], %[[Q]]] : memref<?x128xf8E8M0FNU>
norm.kernel @quantize_transposed(%x: memref<4096x?xbf16>, %values: memref<?x4096xf8E4M3FN>, %scales: memref<?x128xf8E8M0FNU>)
    space(%m = dim(%x, 1), %q = 128, %j = 32) {
  // The largest power of two in E4M3 is 2^8, and E4M3 ends at 448.
  %per_power = arith.constant 3.90625e-3 : f32
  %low = arith.constant -448.0 : f32
  %high = arith.constant 448.0 : f32
  %x0 = norm.read %x[%q * 32 + %j, %m] : memref<4096x?xbf16>
  %x1 = arith.extf %x0 : bf16 to f32
  %abs = math.absf %x1 : f32
  %amax = norm.reduce max %abs over(%j) : f32
  %exact = arith.mulf %amax, %per_power : f32
  %scale = arith.truncf %exact downward : f32 to f8E8M0FNU
  %wide = arith.extf %scale : f8E8M0FNU to f32
  %top = arith.mulf %wide, %high : f32
  %bottom = arith.mulf %wide, %low : f32
  %not_above = arith.minimumf %x1, %top : f32
  %clamped = arith.maximumf %not_above, %bottom : f32
  %value = arith.scaling_truncf %clamped, %scale : f32, f8E8M0FNU to f8E4M3FN
  norm.write %value, %values[%m, %q * 32 + %j] : memref<?x4096xf8E4M3FN>
  norm.write %scale, %scales[%m, %q] : memref<?x128xf8E8M0FNU>
}

// Residual add, RMSNorm and fp8 by row: three phases over one row; %h is the value that later phases use again.
// CHECK-LABEL: norm.kernel @add_rms_norm_fp8
// CHECK: norm.reduce add %{{.*}} over(%[[N:.*]]) : f32
// CHECK: norm.reduce max %{{.*}} over(%[[N]]) : f32
// CHECK: norm.write %{{.*}} : memref<?x4096xf8E4M3FN>
norm.kernel @add_rms_norm_fp8(%x: memref<?x4096xbf16>, %residual: memref<?x4096xbf16>, %w: memref<4096xbf16>,
                              %sum: memref<?x4096xbf16>, %y: memref<?x4096xf8E4M3FN>, %scales: memref<?xf32>)
    space(%m = dim(%x, 0), %n = 4096) {
  %per_column = arith.constant 2.44140625e-4 : f32
  %eps = arith.constant 1.0e-6 : f32
  %top = arith.constant 448.0 : f32
  %tiny = arith.constant 1.0e-12 : f32
  %x0 = norm.read %x[%m, %n] : memref<?x4096xbf16>
  %x1 = arith.extf %x0 : bf16 to f32
  %r0 = norm.read %residual[%m, %n] : memref<?x4096xbf16>
  %r1 = arith.extf %r0 : bf16 to f32
  %h1 = arith.addf %x1, %r1 : f32
  %h = arith.truncf %h1 : f32 to bf16
  norm.write %h, %sum[%m, %n] : memref<?x4096xbf16>
  %v = arith.extf %h : bf16 to f32
  %square = arith.mulf %v, %v : f32
  %squares = norm.reduce add %square over(%n) : f32
  %mean = arith.mulf %squares, %per_column : f32
  %shifted = arith.addf %mean, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %w0 = norm.read %w[%n] : memref<4096xbf16>
  %w1 = arith.extf %w0 : bf16 to f32
  %scaled = arith.mulf %v, %rstd : f32
  %out = arith.mulf %scaled, %w1 : f32
  %abs = math.absf %out : f32
  %amax = norm.reduce max %abs over(%n) : f32
  %not_zero = arith.maximumf %amax, %tiny : f32
  %scale = arith.divf %not_zero, %top : f32
  norm.write %scale, %scales[%m] : memref<?xf32>
  %quotient = arith.divf %out, %scale : f32
  %value = arith.truncf %quotient : f32 to f8E4M3FN
  norm.write %value, %y[%m, %n] : memref<?x4096xf8E4M3FN>
}

// Cross-entropy: the label's logit is selected by comparing the dim's coordinate with the label, without a gather or a second
// read.
// CHECK-LABEL: norm.kernel @cross_entropy
// CHECK: arith.cmpi eq, %{{.*}}, %{{.*}} : index
norm.kernel @cross_entropy(%x: memref<?x32000xbf16>, %labels: memref<?xi64>, %loss: memref<?xf32>)
    space(%m = dim(%x, 0), %n = 32000) {
  %zero = arith.constant 0.0 : f32
  %x0 = norm.read %x[%m, %n] : memref<?x32000xbf16>
  %x1 = arith.extf %x0 : bf16 to f32
  %max = norm.reduce max %x1 over(%n) : f32
  %d = arith.subf %x1, %max : f32
  %e = math.exp %d : f32
  %sum = norm.reduce add %e over(%n) : f32
  %label = norm.read %labels[%m] : memref<?xi64>
  %column = arith.index_cast %label : i64 to index
  %hit = arith.cmpi eq, %n, %column : index
  %picked = arith.select %hit, %d, %zero : f32
  %logit = norm.reduce add %picked over(%n) : f32
  %log = math.log %sum : f32
  %l = arith.subf %log, %logit : f32
  norm.write %l, %loss[%m] : memref<?xf32>
}

// QK-norm and rotate-half over heads of 128: two reads and two writes of one buffer in half the space.
// CHECK-LABEL: norm.kernel @qk_norm_rotate_half
// CHECK: norm.read %[[X:.*]][%[[T:.*]], %[[H:.*]], %[[J:.*]]] : memref<?x32x128xbf16>
// CHECK: norm.read %[[X]][%[[T]], %[[H]], %[[J]] + 64] : memref<?x32x128xbf16>
// CHECK: norm.write %{{.*}}, %[[Y:.*]][%[[T]], %[[H]], %[[J]]] : memref<?x32x128xbf16>
// CHECK: norm.write %{{.*}}, %[[Y]][%[[T]], %[[H]], %[[J]] + 64] : memref<?x32x128xbf16>
norm.kernel @qk_norm_rotate_half(%x: memref<?x32x128xbf16>, %w: memref<128xbf16>, %cos: memref<?x64xf32>, %sin: memref<?x64xf32>,
                                 %y: memref<?x32x128xbf16>) space(%t = dim(%x, 0), %h = 32, %j = 64) {
  %per_column = arith.constant 7.8125e-3 : f32
  %eps = arith.constant 1.0e-6 : f32
  %a0 = norm.read %x[%t, %h, %j] : memref<?x32x128xbf16>
  %b0 = norm.read %x[%t, %h, %j + 64] : memref<?x32x128xbf16>
  %a1 = arith.extf %a0 : bf16 to f32
  %b1 = arith.extf %b0 : bf16 to f32
  %aa = arith.mulf %a1, %a1 : f32
  %both = math.fma %b1, %b1, %aa : f32
  %squares = norm.reduce add %both over(%j) : f32
  %mean = arith.mulf %squares, %per_column : f32
  %shifted = arith.addf %mean, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %wa0 = norm.read %w[%j] : memref<128xbf16>
  %wb0 = norm.read %w[%j + 64] : memref<128xbf16>
  %wa1 = arith.extf %wa0 : bf16 to f32
  %wb1 = arith.extf %wb0 : bf16 to f32
  %a2 = arith.mulf %a1, %rstd : f32
  %b2 = arith.mulf %b1, %rstd : f32
  %a = arith.mulf %a2, %wa1 : f32
  %b = arith.mulf %b2, %wb1 : f32
  %c = norm.read %cos[%t, %j] : memref<?x64xf32>
  %s = norm.read %sin[%t, %j] : memref<?x64xf32>
  %ac = arith.mulf %a, %c : f32
  %bs = arith.mulf %b, %s : f32
  %first = arith.subf %ac, %bs : f32
  %bc = arith.mulf %b, %c : f32
  %second = math.fma %a, %s, %bc : f32
  %first0 = arith.truncf %first : f32 to bf16
  %second0 = arith.truncf %second : f32 to bf16
  norm.write %first0, %y[%t, %h, %j] : memref<?x32x128xbf16>
  norm.write %second0, %y[%t, %h, %j + 64] : memref<?x32x128xbf16>
}

// A kernel that no library has: variance and largest magnitude of one input, which is read once.
// CHECK-LABEL: norm.kernel @variance_and_amax
norm.kernel @variance_and_amax(%x: memref<?x4096xf32>, %var: memref<?xf32>, %amax: memref<?xf32>)
    space(%m = dim(%x, 0), %n = 4096) {
  %per_column = arith.constant 2.44140625e-4 : f32
  %v = norm.read %x[%m, %n] : memref<?x4096xf32>
  %abs = math.absf %v : f32
  %a = norm.reduce max %abs over(%n) : f32
  norm.write %a, %amax[%m] : memref<?xf32>
  %sum = norm.reduce add %v over(%n) : f32
  %mean = arith.mulf %sum, %per_column : f32
  %centred = arith.subf %v, %mean : f32
  %square = arith.mulf %centred, %centred : f32
  %squares = norm.reduce add %square over(%n) : f32
  %s = arith.mulf %squares, %per_column : f32
  norm.write %s, %var[%m] : memref<?xf32>
}

//===----------------------------------------------------------------------===//
// With a schedule applied
//===----------------------------------------------------------------------===//

// A row of 131072 over a cluster of 4: each CTA keeps a quarter in registers. Only the role of the reduced dim says that the
// reduction crosses CTAs.
// CHECK-LABEL: norm.kernel @cluster_of_4
// CHECK-SAME: space(%[[B:.*]] = dim(%{{.*}}, 0) : grid, %[[K:.*]] = 4 : cluster, %[[R:.*]] = 4 : register, %[[T:.*]] = 1024 : thread, %[[V:.*]] = 8 : register)
// CHECK: norm.read %{{.*}}[%[[B]], %[[K]] * 32768 + %[[R]] * 8192 + %[[T]] * 8 + %[[V]]] : memref<?x131072xbf16>
// CHECK: norm.reduce add %{{.*}} over(%[[K]], %[[R]], %[[T]], %[[V]]) : f32
norm.kernel @cluster_of_4(%x: memref<?x131072xbf16>, %y: memref<?x131072xbf16>)
    space(%b = dim(%x, 0) : grid, %k = 4 : cluster, %r = 4 : register, %t = 1024 : thread, %v = 8 : register) align(16, 16)
    schedule(#norm.schedule<spread = [[grid], [cluster(4), register(4), warp(32), lane(32), vector(8)]]>) {
  %per_column = arith.constant 7.62939453125e-06 : f32
  %eps = arith.constant 1.0e-6 : f32
  %x0 = norm.read %x[%b, %k * 32768 + %r * 8192 + %t * 8 + %v] : memref<?x131072xbf16>
  %kept = norm.cache %x0 in register : bf16
  %x1 = arith.extf %x0 : bf16 to f32
  %square = arith.mulf %x1, %x1 : f32
  %squares = norm.reduce add %square over(%k, %r, %t, %v) : f32
  %mean = arith.mulf %squares, %per_column : f32
  %shifted = arith.addf %mean, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %x2 = arith.extf %kept : bf16 to f32
  %y1 = arith.mulf %x2, %rstd : f32
  %y0 = arith.truncf %y1 : f32 to bf16
  norm.write %y0, %y[%b, %k * 32768 + %r * 8192 + %t * 8 + %v] : memref<?x131072xbf16>
}

// 131071 columns: the last CTA's share is one short.
// CHECK-LABEL: norm.kernel @cluster_with_short_share
// CHECK-SAME: where(%{{.*}} * 32768 + %{{.*}} * 8192 + %{{.*}} * 8 + %{{.*}} < 131071)
norm.kernel @cluster_with_short_share(%x: memref<?x131071xbf16>, %s: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %k = 4 : cluster, %r = 4 : register, %t = 1024 : thread, %v = 8 : register)
    where(%k * 32768 + %r * 8192 + %t * 8 + %v < 131071)
    schedule(#norm.schedule<spread = [[grid], [cluster(4), register(4), warp(32), lane(32), vector(8)]]>) {
  %x0 = norm.read %x[%b, %k * 32768 + %r * 8192 + %t * 8 + %v] : memref<?x131071xbf16>
  %x1 = arith.extf %x0 : bf16 to f32
  %sum = norm.reduce add %x1 over(%k, %r, %t, %v) : f32
  norm.write %sum, %s[%b] : memref<?xf32>
}

// Looped online softmax. Rows are 100514 bytes apart, so row r starts r mod 8 elements past a 16-byte boundary. Steps are
// aligned to those boundaries: the walk starts that many elements before the row, and guards mask the head and the tail. The
// input is walked a second time, where the schedule has it come from L2.
// CHECK-LABEL: norm.kernel @looped_softmax
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X:.*]], 0) : grid, %[[C:.*]] = 13 : loop, %[[T:.*]] = 512 : thread, %[[V:.*]] = 8 : register)
// CHECK-SAME: where(-1 < %[[C]] * 4096 + %[[T]] * 8 + %[[V]] - %[[B]] mod 8, %[[C]] * 4096 + %[[T]] * 8 + %[[V]] - %[[B]] mod 8 < 50257)
// CHECK: norm.read %[[X]][%[[B]], %[[C]] * 4096 + %[[T]] * 8 + %[[V]] - %[[B]] mod 8] : memref<?x50257xbf16>
// CHECK: norm.cache %{{.*}} in l2 : bf16
// CHECK: norm.reduce %{{.*}}, %{{.*}} over(%[[C]], %[[T]], %[[V]])
norm.kernel @looped_softmax(%x: memref<?x50257xbf16>, %y: memref<?x50257xbf16>)
    space(%b = dim(%x, 0) : grid, %c = 13 : loop, %t = 512 : thread, %v = 8 : register)
    where(-1 < %c * 4096 + %t * 8 + %v - %b mod 8, %c * 4096 + %t * 8 + %v - %b mod 8 < 50257)
    align(16, 16)
    schedule(#norm.schedule<spread = [[grid], [loop, warp(16), lane(32), vector(8)]], keep = [l2]>) {
  %one = arith.constant 1.0 : f32
  %raw = norm.read %x[%b, %c * 4096 + %t * 8 + %v - %b mod 8] : memref<?x50257xbf16>
  %again = norm.cache %raw in l2 : bf16
  %logit = arith.extf %raw : bf16 to f32
  %max, %sum = norm.reduce %logit, %one over(%c, %t, %v) identity [0xFF800000 : f32, 0.0 : f32] : f32, f32 combine {
  ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
    %zero = arith.constant 0.0 : f32
    %empty = arith.constant 0xFF800000 : f32
    %larger = arith.maximumf %m0, %m1 : f32
    %none = arith.cmpf oeq, %larger, %empty : f32
    %base = arith.select %none, %zero, %larger : f32
    %d0 = arith.subf %m0, %base : f32
    %e0 = math.exp %d0 : f32
    %r0 = arith.mulf %s0, %e0 : f32
    %d1 = arith.subf %m1, %base : f32
    %e1 = math.exp %d1 : f32
    %r1 = arith.mulf %s1, %e1 : f32
    %total = arith.addf %r0, %r1 : f32
    norm.yield %larger, %total : f32, f32
  }
  %v2 = arith.extf %again : bf16 to f32
  %d = arith.subf %v2, %max : f32
  %e = math.exp %d : f32
  %p = arith.divf %e, %sum : f32
  %narrow = arith.truncf %p : f32 to bf16
  norm.write %narrow, %y[%b, %c * 4096 + %t * 8 + %v - %b mod 8] : memref<?x50257xbf16>
}

// RMSNorm's gradient in two kernels. In the first a grid of 132 CTAs walks the rows, each row %s * 132 + %p;
// the weight's gradient is reduced over the walk alone and leaves a row of partial sums per CTA.
// CHECK-LABEL: norm.kernel @rms_norm_gradient_0
// CHECK-SAME: space(%[[P:.*]] = 132 : grid, %[[S:.*]] = dim(%{{.*}}, 0) ceildiv 132 : loop, %[[R:.*]] = 2 : register, %[[N:.*]] = 256 : thread, %[[V:.*]] = 8 : register)
// CHECK-SAME: where(%[[S]] * 132 + %[[P]] < dim(%{{.*}}, 0))
// CHECK: norm.reduce add %{{.*}} over(%[[R]], %[[N]], %[[V]]) : f32
// CHECK: norm.reduce add %{{.*}} over(%[[S]]) : f32
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[P]], %[[R]] * 2048 + %[[N]] * 8 + %[[V]]] : memref<132x4096xf32>
norm.kernel @rms_norm_gradient_0(%x: memref<?x4096xbf16>, %w: memref<4096xbf16>, %rstd: memref<?xf32>, %dy: memref<?x4096xbf16>,
                                 %dx: memref<?x4096xbf16>, %partial: memref<132x4096xf32>)
    space(%p = 132 : grid, %s = dim(%x, 0) ceildiv 132 : loop, %k = 2 : register, %n = 256 : thread, %v = 8 : register)
    where(%s * 132 + %p < dim(%x, 0))
    align(16, 16, 4, 16, 16, 16)
    schedule(#norm.schedule<spread = [[loop, grid(132)], [register(2), warp(8), lane(32), vector(8)]]>) {
  %per_column = arith.constant 2.44140625e-4 : f32
  %x0 = norm.read %x[%s * 132 + %p, %k * 2048 + %n * 8 + %v] : memref<?x4096xbf16>
  %x1 = arith.extf %x0 : bf16 to f32
  %r = norm.read %rstd[%s * 132 + %p] : memref<?xf32>
  %xh = arith.mulf %x1, %r : f32
  %dy0 = norm.read %dy[%s * 132 + %p, %k * 2048 + %n * 8 + %v] : memref<?x4096xbf16>
  %dy1 = arith.extf %dy0 : bf16 to f32
  %w0 = norm.read %w[%k * 2048 + %n * 8 + %v] : memref<4096xbf16>
  %w1 = arith.extf %w0 : bf16 to f32
  %g = arith.mulf %dy1, %w1 : f32
  %xhg = arith.mulf %xh, %g : f32
  %c = norm.reduce add %xhg over(%k, %n, %v) : f32
  %mean = arith.mulf %c, %per_column : f32
  %along = arith.mulf %xh, %mean : f32
  %across = arith.subf %g, %along : f32
  %dx1 = arith.mulf %across, %r : f32
  %dx0 = arith.truncf %dx1 : f32 to bf16
  norm.write %dx0, %dx[%s * 132 + %p, %k * 2048 + %n * 8 + %v] : memref<?x4096xbf16>
  %dyxh = arith.mulf %dy1, %xh : f32
  %dw = norm.reduce add %dyxh over(%s) : f32
  norm.write %dw, %partial[%p, %k * 2048 + %n * 8 + %v] : memref<132x4096xf32>
}

// The second kernel adds the partial sums. A reduction's tree is fixed by layout and schedule, so the bits are the same in
// every run; there are no atomics.
// CHECK-LABEL: norm.kernel @rms_norm_gradient_1
norm.kernel @rms_norm_gradient_1(%partial: memref<132x4096xf32>, %dw: memref<4096xbf16>) space(%q = 132, %n = 4096) {
  %v = norm.read %partial[%q, %n] : memref<132x4096xf32>
  %sum = norm.reduce add %v over(%q) : f32
  %narrow = arith.truncf %sum : f32 to bf16
  norm.write %narrow, %dw[%n] : memref<4096xbf16>
}

// The host function launches both on one stream, and owns the workspace between them.
// CHECK-LABEL: func.func @rms_norm_backward
// CHECK: %[[PARTIAL:.*]] = memref.alloc() {{{.*}}norm.scratch} : memref<132x4096xf32>
// CHECK: norm.launch @rms_norm_gradient_0({{.*}}, %[[PARTIAL]])
// CHECK: norm.launch @rms_norm_gradient_1(%[[PARTIAL]], %{{.*}})
func.func @rms_norm_backward(%x: memref<?x4096xbf16> {norm.name = "x"}, %w: memref<4096xbf16> {norm.name = "w"},
                             %rstd: memref<?xf32> {norm.name = "rstd"}, %dy: memref<?x4096xbf16> {norm.name = "dy"},
                             %dx: memref<?x4096xbf16> {norm.name = "dx", norm.output},
                             %dw: memref<4096xbf16> {norm.name = "dw", norm.output}) {
  %partial = memref.alloc() {alignment = 256 : i64, norm.name = "partial", norm.scratch} : memref<132x4096xf32>
  norm.launch @rms_norm_gradient_0(%x, %w, %rstd, %dy, %dx, %partial)
      : memref<?x4096xbf16>, memref<4096xbf16>, memref<?xf32>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<132x4096xf32>
  norm.launch @rms_norm_gradient_1(%partial, %dw) : memref<132x4096xf32>, memref<4096xbf16>
  return
}

//===----------------------------------------------------------------------===//
// Host functions of the above, which test/pipeline/hard-cases.test compiles and runs
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @layer_norm_welford_host
func.func @layer_norm_welford_host(%x: memref<?x8192xbf16> {norm.name = "x"}, %g: memref<8192xbf16> {norm.name = "g"}, %b: memref<8192xbf16> {norm.name = "b"}, %y: memref<?x8192xbf16> {norm.name = "y", norm.output}) {
  norm.launch @layer_norm_welford(%x, %g, %b, %y)
      : memref<?x8192xbf16>, memref<8192xbf16>, memref<8192xbf16>, memref<?x8192xbf16>
  return
}

// CHECK-LABEL: func.func @online_softmax_host
func.func @online_softmax_host(%x: memref<?x50257xbf16> {norm.name = "x"}, %y: memref<?x50257xbf16> {norm.name = "y", norm.output}) {
  norm.launch @online_softmax(%x, %y)
      : memref<?x50257xbf16>, memref<?x50257xbf16>
  return
}

// CHECK-LABEL: func.func @rms_norm_gradient_host
func.func @rms_norm_gradient_host(%x: memref<?x4096xbf16> {norm.name = "x"}, %w: memref<4096xbf16> {norm.name = "w"}, %rstd: memref<?xf32> {norm.name = "rstd"}, %dy: memref<?x4096xbf16> {norm.name = "dy"}, %dx: memref<?x4096xbf16> {norm.name = "dx", norm.output}, %dw: memref<4096xf32> {norm.name = "dw", norm.output}) {
  norm.launch @rms_norm_gradient(%x, %w, %rstd, %dy, %dx, %dw)
      : memref<?x4096xbf16>, memref<4096xbf16>, memref<?xf32>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<4096xf32>
  return
}

// CHECK-LABEL: func.func @group_norm_nhwc_host
func.func @group_norm_nhwc_host(%x: memref<?x4096x512xbf16> {norm.name = "x"}, %w: memref<512xbf16> {norm.name = "w"}, %bias: memref<512xbf16> {norm.name = "bias"}, %y: memref<?x4096x512xbf16> {norm.name = "y", norm.output}) {
  norm.launch @group_norm_nhwc(%x, %w, %bias, %y)
      : memref<?x4096x512xbf16>, memref<512xbf16>, memref<512xbf16>, memref<?x4096x512xbf16>
  return
}

// CHECK-LABEL: func.func @quantize_transposed_host
func.func @quantize_transposed_host(%x: memref<4096x?xbf16> {norm.name = "x"}, %values: memref<?x4096xf8E4M3FN> {norm.name = "values", norm.output}, %scales: memref<?x128xf8E8M0FNU> {norm.name = "scales", norm.output}) {
  norm.launch @quantize_transposed(%x, %values, %scales)
      : memref<4096x?xbf16>, memref<?x4096xf8E4M3FN>, memref<?x128xf8E8M0FNU>
  return
}

// CHECK-LABEL: func.func @add_rms_norm_fp8_host
func.func @add_rms_norm_fp8_host(%x: memref<?x4096xbf16> {norm.name = "x"}, %residual: memref<?x4096xbf16> {norm.name = "residual"}, %w: memref<4096xbf16> {norm.name = "w"}, %sum: memref<?x4096xbf16> {norm.name = "sum", norm.output}, %y: memref<?x4096xf8E4M3FN> {norm.name = "y", norm.output}, %scales: memref<?xf32> {norm.name = "scales", norm.output}) {
  norm.launch @add_rms_norm_fp8(%x, %residual, %w, %sum, %y, %scales)
      : memref<?x4096xbf16>, memref<?x4096xbf16>, memref<4096xbf16>, memref<?x4096xbf16>, memref<?x4096xf8E4M3FN>, memref<?xf32>
  return
}

// CHECK-LABEL: func.func @cross_entropy_host
func.func @cross_entropy_host(%x: memref<?x32000xbf16> {norm.name = "x"}, %labels: memref<?xi64> {norm.name = "labels"}, %loss: memref<?xf32> {norm.name = "loss", norm.output}) {
  norm.launch @cross_entropy(%x, %labels, %loss)
      : memref<?x32000xbf16>, memref<?xi64>, memref<?xf32>
  return
}

// CHECK-LABEL: func.func @qk_norm_rotate_half_host
func.func @qk_norm_rotate_half_host(%x: memref<?x32x128xbf16> {norm.name = "x"}, %w: memref<128xbf16> {norm.name = "w"}, %cos: memref<?x64xf32> {norm.name = "cos"}, %sin: memref<?x64xf32> {norm.name = "sin"}, %y: memref<?x32x128xbf16> {norm.name = "y", norm.output}) {
  norm.launch @qk_norm_rotate_half(%x, %w, %cos, %sin, %y)
      : memref<?x32x128xbf16>, memref<128xbf16>, memref<?x64xf32>, memref<?x64xf32>, memref<?x32x128xbf16>
  return
}

// CHECK-LABEL: func.func @variance_and_amax_host
func.func @variance_and_amax_host(%x: memref<?x4096xf32> {norm.name = "x"}, %var: memref<?xf32> {norm.name = "var", norm.output}, %amax: memref<?xf32> {norm.name = "amax", norm.output}) {
  norm.launch @variance_and_amax(%x, %var, %amax)
      : memref<?x4096xf32>, memref<?xf32>, memref<?xf32>
  return
}

// CHECK-LABEL: func.func @cluster_of_4_host
func.func @cluster_of_4_host(%x: memref<?x131072xbf16> {norm.name = "x"}, %y: memref<?x131072xbf16> {norm.name = "y", norm.output}) {
  norm.launch @cluster_of_4(%x, %y)
      : memref<?x131072xbf16>, memref<?x131072xbf16>
  return
}

// CHECK-LABEL: func.func @cluster_with_short_share_host
func.func @cluster_with_short_share_host(%x: memref<?x131071xbf16> {norm.name = "x"}, %s: memref<?xf32> {norm.name = "s", norm.output}) {
  norm.launch @cluster_with_short_share(%x, %s)
      : memref<?x131071xbf16>, memref<?xf32>
  return
}

// CHECK-LABEL: func.func @looped_softmax_host
func.func @looped_softmax_host(%x: memref<?x50257xbf16> {norm.name = "x"}, %y: memref<?x50257xbf16> {norm.name = "y", norm.output}) {
  norm.launch @looped_softmax(%x, %y)
      : memref<?x50257xbf16>, memref<?x50257xbf16>
  return
}

// CHECK-LABEL: func.func @rms_norm_gradient_0_host
func.func @rms_norm_gradient_0_host(%x: memref<?x4096xbf16> {norm.name = "x"}, %w: memref<4096xbf16> {norm.name = "w"}, %rstd: memref<?xf32> {norm.name = "rstd"}, %dy: memref<?x4096xbf16> {norm.name = "dy"}, %dx: memref<?x4096xbf16> {norm.name = "dx", norm.output}, %partial: memref<132x4096xf32> {norm.name = "partial", norm.output}) {
  norm.launch @rms_norm_gradient_0(%x, %w, %rstd, %dy, %dx, %partial)
      : memref<?x4096xbf16>, memref<4096xbf16>, memref<?xf32>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<132x4096xf32>
  return
}
