// The guarantees of norm-split-reductions, one per function.
// RUN: norma-opt %s --split-input-file --norm-split-reductions | FileCheck %s

// The description's example: a part of the dim is a dim of its own, its results are in scratch, and a second kernel reduces
// them.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<64xf32>)
// CHECK-NEXT: %[[P:.*]] = memref.alloc() {alignment = 256 : i64, norm.name = "partial0", norm.scratch} : memref<8x64xf32>
// CHECK-NEXT: norm.launch @sum_0(%[[X]], %[[P]]) : memref<?x64xf32>, memref<8x64xf32>
// CHECK-NEXT: norm.launch @sum_0_finish(%[[Y]], %[[P]]) : memref<64xf32>, memref<8x64xf32>
func.func @sum(%x: memref<?x64xf32>, %y: memref<64xf32>) {
  norm.launch @sum_0(%x, %y) : memref<?x64xf32>, memref<64xf32>
  return
}
// CHECK: norm.kernel @sum_0(%[[X:.*]]: memref<?x64xf32>, %[[P:.*]]: memref<8x64xf32>)
// CHECK-SAME: space(%[[Q:.*]] = dim(%{{.*}}, 0) ceildiv 8, %[[S:.*]] = 8, %[[N:.*]] = 64) where(%[[Q]] * 8 + %[[S]] < dim(%{{.*}}, 0))
// CHECK-SAME: spread = {{\[\[}}loop], [grid], [lane(32), vector(2)]]
// The first kernel keeps the choice that was made for it, so that the assembler's report can be related to it; the second has none.
// CHECK-SAME: attributes {norm.choice = #norm.choice<schedule = <spread = {{\[\[}}loop, split(8)], [lane(32), vector(2)]]>, ctas_per_sm = 9>, norm.part}
// CHECK-NEXT: %[[V:.*]] = norm.read %{{.*}}[%[[Q]] * 8 + %[[S]], %[[N]]]
// CHECK-NEXT: %[[R:.*]] = norm.reduce add %[[V]] over(%[[Q]]) : f32
// CHECK-NEXT: norm.write %[[R]], %{{.*}}[%[[S]], %[[N]]] : memref<8x64xf32>
// CHECK: norm.kernel @sum_0_finish(%{{.*}}: memref<64xf32>, %{{.*}}: memref<8x64xf32>) space(%[[S:.*]] = 8, %[[N:.*]] = 64) {
// CHECK-NEXT: %[[V:.*]] = norm.read %{{.*}}[%[[S]], %[[N]]] : memref<8x64xf32>
// CHECK-NEXT: %[[R:.*]] = norm.reduce add %[[V]] over(%[[S]]) : f32
// CHECK-NEXT: norm.write %[[R]], %{{.*}}[%[[N]]] : memref<64xf32>
norm.kernel @sum_0(%x: memref<?x64xf32>, %y: memref<64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, split(8)], [lane(32), vector(2)]]>)
    attributes {norm.choice = #norm.choice<schedule = <spread = [[loop, split(8)], [lane(32), vector(2)]]>, ctas_per_sm = 9>} {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<64xf32>
}

// -----

// The part is a dim before the one along which tiles are aligned, and only the first kernel has such tiles.
// CHECK-LABEL: norm.kernel @rows_that_begin_anywhere(
// CHECK-SAME: spread = {{\[\[}}loop], [grid], [lane(16), vector(8)]], aligned_dim = 2>
// CHECK-LABEL: norm.kernel @rows_that_begin_anywhere_finish(
// CHECK-NOT: aligned_dim
norm.kernel @rows_that_begin_anywhere(%x: memref<?x65xbf16>, %y: memref<65xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[loop, split(8)], [lane(16), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.reduce add %0 over(%m) : bf16
  norm.write %1, %y[%n] : memref<65xbf16>
}

// -----

// Ops that do not depend on the reduction stay in the first kernel; those that do are in the second, which reads again what
// they need.
// CHECK-LABEL: norm.kernel @gradient(
// CHECK: norm.write %{{.*}} : memref<?x64xf32>
// CHECK: norm.reduce add
// CHECK: norm.write %{{.*}} : memref<4x64xf32>
// CHECK-LABEL: norm.kernel @gradient_finish(
// CHECK-SAME: %{{.*}}: memref<64xf32>, %{{.*}}: memref<64xf32>, %{{.*}}: memref<4x64xf32>)
// CHECK-NEXT: norm.read %{{.*}} : memref<64xf32>
// CHECK-NEXT: norm.read %{{.*}} : memref<4x64xf32>
// CHECK-NEXT: norm.reduce add
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: norm.write %{{.*}} : memref<64xf32>
// CHECK-NOT: norm.write
norm.kernel @gradient(%x: memref<?x64xf32>, %w: memref<64xf32>, %dx: memref<?x64xf32>, %dw: memref<64xf32>)
    space(%m = dim(%x, 0), %n = 64) schedule(#norm.schedule<spread = [[loop, split(4)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %w[%n] : memref<64xf32>
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %dx[%m, %n] : memref<?x64xf32>
  %3 = norm.reduce add %0 over(%m) : f32
  %4 = arith.mulf %3, %1 : f32
  norm.write %4, %dw[%n] : memref<64xf32>
}

// -----

// Each accumulator of a combiner has scratch of its own; parts that divide the dim need no guard.
// CHECK-LABEL: norm.kernel @pair(
// CHECK-NOT: where
// CHECK: norm.write %{{.*}}#0, %{{.*}} : memref<4x8xf32>
// CHECK-NEXT: norm.write %{{.*}}#1, %{{.*}} : memref<4x8xf32>
// CHECK-LABEL: norm.kernel @pair_finish(
// CHECK: norm.reduce %{{.*}}, %{{.*}} over(%{{.*}}) identity [0.000000e+00 : f32, 0.000000e+00 : f32]
norm.kernel @pair(%x: memref<64x8xf32>, %y: memref<8xf32>) space(%m = 64, %n = 8)
    schedule(#norm.schedule<spread = [[split(4), loop, lane(4)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<64x8xf32>
  %1:2 = norm.reduce %0, %0 over(%m) identity [0.0 : f32, 0.0 : f32] : f32, f32 combine {
  ^bb0(%a0: f32, %b0: f32, %a1: f32, %b1: f32):
    %a = arith.addf %a0, %a1 : f32
    %b = arith.addf %b0, %b1 : f32
    norm.yield %a, %b : f32, f32
  }
  %2 = arith.subf %1#0, %1#1 : f32
  norm.write %2, %y[%n] : memref<8xf32>
}

// -----

// Of two splits whose second reduction depends on the first, the second becomes one over CTAs in the first kernel.
// CHECK-LABEL: norm.kernel @nested(
// CHECK-SAME: spread = {{\[\[}}loop], [grid], [loop, grid(4)], [lane(8)]]
// CHECK-LABEL: norm.kernel @nested_finish(
// CHECK: norm.reduce add
// CHECK-NEXT: norm.reduce max
norm.kernel @nested(%x: memref<64x64x8xf32>, %y: memref<8xf32>) space(%a = 64, %b = 64, %n = 8)
    schedule(#norm.schedule<spread = [[loop, split(8)], [loop, split(4)], [lane(8)]]>) {
  %0 = norm.read %x[%a, %b, %n] : memref<64x64x8xf32>
  %1 = norm.reduce add %0 over(%a) : f32
  %2 = norm.reduce max %1 over(%b) : f32
  norm.write %2, %y[%n] : memref<8xf32>
}

// -----

// The dim may also be used as a value, which the first kernel computes from its parts.
// CHECK-LABEL: norm.kernel @coordinate(
// CHECK: arith.index_cast
// CHECK: norm.reduce max
// CHECK-LABEL: norm.kernel @coordinate_finish(
norm.kernel @coordinate(%x: memref<64x8xf32>, %y: memref<8xf32>) space(%m = 64, %n = 8)
    schedule(#norm.schedule<spread = [[loop, split(4), lane(2)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<64x8xf32>
  %1 = arith.index_cast %m : index to i32
  %2 = arith.sitofp %1 : i32 to f32
  %3 = arith.mulf %0, %2 : f32
  %4 = norm.reduce max %3 over(%m) : f32
  norm.write %4, %y[%n] : memref<8xf32>
}

// -----

// A part of a dim that only the first kernel uses is not a dim of the second, and its guard is dropped too.
// CHECK-LABEL: norm.kernel @both(
// CHECK-LABEL: norm.kernel @both_finish_1(
// CHECK-SAME: space(%{{[^ ]*}} = 8, %{{[^ ]*}} = 4, %{{[^ ]*}} = 8) align
norm.kernel @both(%x: memref<63x31x8xf32>, %y: memref<8xf32>) space(%a = 63, %b = 31, %n = 8) align(16, 16)
    schedule(#norm.schedule<spread = [[loop, split(8), lane(2)], [loop, split(4)], [lane(8)]]>) {
  %0 = norm.read %x[%a, %b, %n] : memref<63x31x8xf32>
  %1 = norm.reduce add %0 over(%a, %b) : f32
  norm.write %1, %y[%n] : memref<8xf32>
}

// -----

// Ops at the points of the dim that use the results are a third kernel, which reads the results of the reductions.
// CHECK-LABEL: func.func @scale(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?x64xf32>, %[[Z:.*]]: memref<?xf32>)
// CHECK: %[[S:.*]] = memref.alloc({{.*}}) {{{.*}}norm.scratch} : memref<?xf32>
// CHECK: %[[P:.*]] = memref.alloc({{.*}}) {{{.*}}norm.scratch} : memref<4x?xf32>
// CHECK: norm.launch @scale_0(%[[X]], %[[P]])
// CHECK: norm.launch @scale_0_finish(%{{.*}}, %[[P]])
// CHECK: norm.launch @scale_0_apply(%[[X]], %[[Y]], %[[S]])
func.func @scale(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?xf32>) {
  norm.launch @scale_0(%x, %y, %z) : memref<?x64xf32>, memref<?x64xf32>, memref<?xf32>
  return
}
// CHECK-LABEL: norm.kernel @scale_0(
// CHECK-SAME: spread = {{\[\[}}grid], [grid], [lane(16)]]
// CHECK: norm.reduce add
// CHECK-NOT: norm.reduce
// CHECK-LABEL: norm.kernel @scale_0_finish(
// CHECK: %[[R:.*]] = norm.reduce add
// CHECK: norm.write %[[R]]
// CHECK: %[[Q:.*]] = math.rsqrt %[[R]]
// CHECK: norm.write %[[Q]]
// CHECK-LABEL: norm.kernel @scale_0_apply(
// CHECK-NOT: norm.reduce
// CHECK: %[[V:.*]] = norm.read %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x64xf32>
// CHECK: %[[Q:.*]] = norm.read %{{.*}}[%{{.*}}] : memref<?xf32>
// CHECK: arith.mulf %[[V]], %[[Q]]
norm.kernel @scale_0(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [split(4), lane(16)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = arith.mulf %0, %0 : f32
  %2 = norm.reduce add %1 over(%n) : f32
  norm.write %2, %z[%m] : memref<?xf32>
  %3 = math.rsqrt %2 : f32
  %4 = arith.mulf %0, %3 : f32
  norm.write %4, %y[%m, %n] : memref<?x64xf32>
}

// -----

// A sum that depends on a maximum leaves one sum per part, relative to the part's own maximum, and tuples are combined.
// CHECK-LABEL: norm.kernel @denominator(
// CHECK: %[[V:.*]] = norm.read
// CHECK: %[[M:.*]] = norm.reduce max %[[V]] over(%{{.*}}) : f32
// CHECK: math.exp
// CHECK: %[[S:.*]] = norm.reduce add %{{.*}} over(%{{.*}}) : f32
// CHECK: norm.write %[[M]], %{{.*}} : memref<4x?xf32>
// CHECK-NEXT: norm.write %[[S]], %{{.*}} : memref<4x?xf32>
// CHECK-LABEL: norm.kernel @denominator_finish(
// CHECK: %[[M:.*]] = norm.read %{{.*}} : memref<4x?xf32>
// CHECK: %[[S:.*]] = norm.read %{{.*}} : memref<4x?xf32>
// CHECK: norm.reduce %[[M]], %[[S]] over(%{{.*}}) identity [0xFF800000 : f32, 0.000000e+00 : f32]
norm.kernel @denominator(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [split(4), lane(16)]], merge_reductions = [split]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = norm.reduce add %3 over(%n) : f32
  norm.write %4, %y[%m] : memref<?xf32>
}

// -----

// Scratch has no name that an argument or a result of a function has.
// CHECK-LABEL: func.func @names(
// CHECK-NEXT: memref.alloc() {alignment = 256 : i64, norm.name = "partial2", norm.scratch} : memref<8x64xf32>
func.func @names(%x: memref<?x64xf32> {norm.name = "partial0"}, %y: memref<64xf32> {norm.name = "partial1", norm.output}) {
  norm.launch @names_0(%x, %y) : memref<?x64xf32>, memref<64xf32>
  return
}
norm.kernel @names_0(%x: memref<?x64xf32>, %y: memref<64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[loop, split(8)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<64xf32>
}

// -----

// A write over memory that the last kernel reads comes with it: the first kernel would overwrite what is still needed.
// CHECK-LABEL: norm.kernel @in_place(
// CHECK-NOT: norm.write %{{.*}} : memref<?x64xf32>
// CHECK-LABEL: norm.kernel @in_place_finish(
// CHECK-NOT: norm.write %{{.*}} : memref<?x64xf32>
// CHECK-LABEL: norm.kernel @in_place_apply(
// CHECK-COUNT-2: norm.write %{{.*}} : memref<?x64xf32>
norm.kernel @in_place(%x: memref<?x64xf32>, %u: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<?x64xf32>)
    space(%m = dim(%x, 0), %n = 64) aliases(%y = %x)
    schedule(#norm.schedule<spread = [[loop, split(8)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %u[%m, %n] : memref<?x64xf32>
  %2 = norm.reduce add %1 over(%m) : f32
  %3 = arith.addf %0, %0 : f32
  norm.write %3, %y[%m, %n] : memref<?x64xf32>
  %4 = arith.mulf %0, %2 : f32
  norm.write %4, %z[%m, %n] : memref<?x64xf32>
}

// -----

// A result of a whole column over memory that is read is written once all parts have read it.
// CHECK-LABEL: norm.kernel @column_in_place(
// CHECK-NOT: norm.write %{{.*}} : memref<64xf32>
// CHECK-LABEL: norm.kernel @column_in_place_finish(
// CHECK-COUNT-2: norm.write %{{.*}} : memref<64xf32>
norm.kernel @column_in_place(%x: memref<64xf32>, %u: memref<?x64xf32>, %y: memref<64xf32>, %z: memref<64xf32>)
    space(%m = dim(%u, 0), %n = 64) aliases(%y = %x)
    schedule(#norm.schedule<spread = [[loop, split(8)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%n] : memref<64xf32>
  %1 = norm.read %u[%m, %n] : memref<?x64xf32>
  %2 = norm.reduce add %1 over(%m) : f32
  %3 = arith.addf %0, %0 : f32
  norm.write %3, %y[%n] : memref<64xf32>
  %4 = arith.mulf %0, %2 : f32
  norm.write %4, %z[%n] : memref<64xf32>
}

// -----

// Two kernels write parts of a result.
// CHECK-LABEL: norm.kernel @two_writes(
// CHECK: norm.write %{{.*}}, %{{.*}}[0, %{{.*}}] {partial} : memref<2x?xf32>
// CHECK-LABEL: norm.kernel @two_writes_apply(
// CHECK: norm.write %{{.*}}, %{{.*}}[1, %{{.*}}] {partial} : memref<2x?xf32>
norm.kernel @two_writes(%x: memref<?x8xf32>, %y: memref<2x?xf32>) space(%m = dim(%x, 0), %n = 8)
    schedule(#norm.schedule<spread = [[loop, split(4), lane(4)], [lane(8)]], keep = [l2]>) {
  %0 = norm.read %x[%m, %n] : memref<?x8xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  %2 = norm.reduce max %0 over(%m, %n) : f32
  norm.write %1, %y[0, %m] : memref<2x?xf32>
  norm.write %2, %y[1, %m] : memref<2x?xf32>
}

// -----

// Parts that have room for all points of a bounded dim leave nothing outside of them.
// CHECK-LABEL: norm.kernel @bounded(
// CHECK-SAME: space(%{{.*}} = 2, %{{.*}} = 2, %{{.*}} = 64
norm.kernel @bounded(%x: memref<?x64xf32>, %y: memref<64xf32>) space(%m = dim(%x, 0), %n = 64) bounds(dim(%x, 0) <= 4)
    schedule(#norm.schedule<spread = [[loop, split(2), register(2)], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<64xf32>
}
