// Adjacent dims that every access, reduction and buffer can treat as one are merged.
// RUN: norma-opt %s --split-input-file --norm-normalize-space | FileCheck %s

// CHECK-LABEL: func.func @negate(
// CHECK-SAME: %[[X:.*]]: memref<?x?x8xf32>, %[[Y:.*]]: memref<?x?x8xf32>
// CHECK: %[[CX:.*]] = memref.collapse_shape %[[X]] {{\[}}[0, 1, 2]] : memref<?x?x8xf32> into memref<?xf32>
// CHECK: %[[CY:.*]] = memref.collapse_shape %[[Y]] {{\[}}[0, 1, 2]] : memref<?x?x8xf32> into memref<?xf32>
// CHECK: norm.launch @negate_0(%[[CX]], %[[CY]]) : memref<?xf32>, memref<?xf32>
// CHECK: norm.kernel @negate_0(%[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>) space(%[[A:.*]] = dim(%[[X]], 0))
// CHECK-NEXT: norm.read %[[X]][%[[A]]] : memref<?xf32>
// CHECK-NEXT: arith.negf
// CHECK-NEXT: norm.write %{{.*}}, %[[Y]][%[[A]]] : memref<?xf32>
func.func @negate(%x: memref<?x?x8xf32>, %y: memref<?x?x8xf32>) {
  norm.launch @negate_0(%x, %y) : memref<?x?x8xf32>, memref<?x?x8xf32>
  return
}
norm.kernel @negate_0(%x: memref<?x?x8xf32>, %y: memref<?x?x8xf32>)
    space(%a = dim(%x, 0), %b = dim(%x, 1), %c = 8) {
  %0 = norm.read %x[%a, %b, %c] : memref<?x?x8xf32>
  %1 = arith.negf %0 : f32
  norm.write %1, %y[%a, %b, %c] : memref<?x?x8xf32>
}

// -----

// Kept dims merge with kept ones and reduced with reduced ones; every buffer that has them is collapsed, one that has
// neither is not.
// CHECK-LABEL: func.func @rows(
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1], [2, 3]] : memref<?x?x4x64xbf16> into memref<?x256xbf16>
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1]] : memref<4x64xf32> into memref<256xf32>
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1], [2, 3]]
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1]] : memref<?x?xf32> into memref<?xf32>
// CHECK: norm.launch @rows_0(%{{.*}}, %{{.*}}, %arg2, %{{.*}}, %{{.*}}) : memref<?x256xbf16>, memref<256xf32>, memref<f32>, memref<?x256xbf16>, memref<?xf32>
// CHECK: norm.kernel @rows_0(%[[X:.*]]: memref<?x256xbf16>, %[[W:.*]]: memref<256xf32>, %[[S:.*]]: memref<f32>, %[[Y:.*]]: memref<?x256xbf16>, %[[R:.*]]: memref<?xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[X]], 0), %[[N:.*]] = 256) align(16, 16, 4, 16, 16)
// CHECK: norm.read %[[X]][%[[M]], %[[N]]] : memref<?x256xbf16>
// CHECK: norm.reduce add %{{.*}} over(%[[N]]) : f32
// CHECK: norm.write %{{.*}}, %[[R]][%[[M]]] : memref<?xf32>
// CHECK: norm.read %[[W]][%[[N]]] : memref<256xf32>
// CHECK: norm.read %[[S]][] : memref<f32>
// CHECK: norm.write %{{.*}}, %[[Y]][%[[M]], %[[N]]]
func.func @rows(%x: memref<?x?x4x64xbf16>, %w: memref<4x64xf32>, %s: memref<f32>, %y: memref<?x?x4x64xbf16>,
                %r: memref<?x?xf32>) {
  norm.launch @rows_0(%x, %w, %s, %y, %r) : memref<?x?x4x64xbf16>, memref<4x64xf32>, memref<f32>,
      memref<?x?x4x64xbf16>, memref<?x?xf32>
  return
}
norm.kernel @rows_0(%x: memref<?x?x4x64xbf16>, %w: memref<4x64xf32>, %s: memref<f32>, %y: memref<?x?x4x64xbf16>,
                    %r: memref<?x?xf32>)
    space(%a = dim(%x, 0), %b = dim(%x, 1), %c = 4, %d = 64) align(16, 16, 4, 16, 16) {
  %0 = norm.read %x[%a, %b, %c, %d] : memref<?x?x4x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce add %1 over(%c, %d) : f32
  norm.write %2, %r[%a, %b] : memref<?x?xf32>
  %3 = norm.read %w[%c, %d] : memref<4x64xf32>
  %4 = norm.read %s[] : memref<f32>
  %5 = arith.mulf %3, %4 : f32
  %6 = arith.mulf %2, %5 : f32
  %7 = arith.truncf %6 : f32 to bf16
  norm.write %7, %y[%a, %b, %c, %d] : memref<?x?x4x64xbf16>
}

// -----

// Static strides allow merging if the outer stride is the inner size times the inner stride, or if an axis has one element; the
// inner stride remains. Rank 4 in the middle: 2 * 3 rows of 5.
// CHECK-LABEL: func.func @strided(
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1, 2], [3]] : memref<2x1x3x5xf32, strided<[24, 99, 8, 1]>> into memref<6x5xf32, strided<[8, 1]>>
// CHECK: memref.collapse_shape %{{.*}} {{\[}}[0, 1, 2], [3]] : memref<2x1x3x5xf32> into memref<6x5xf32>
// CHECK: norm.kernel @strided_0({{.*}}) space(%[[M:.*]] = 6, %[[N:.*]] = 5)
func.func @strided(%x: memref<2x1x3x5xf32, strided<[24, 99, 8, 1]>>, %y: memref<2x1x3x5xf32>) {
  norm.launch @strided_0(%x, %y) : memref<2x1x3x5xf32, strided<[24, 99, 8, 1]>>, memref<2x1x3x5xf32>
  return
}
norm.kernel @strided_0(%x: memref<2x1x3x5xf32, strided<[24, 99, 8, 1]>>, %y: memref<2x1x3x5xf32>)
    space(%a = 2, %b = 1, %c = 3, %d = 5) {
  %0 = norm.read %x[%a, %b, %c, %d] : memref<2x1x3x5xf32, strided<[24, 99, 8, 1]>>
  norm.write %0, %y[%a, %b, %c, %d] : memref<2x1x3x5xf32>
}

// -----

// Rows that are further apart than they are long stay apart from their columns, and so do dynamic strides.
// CHECK-LABEL: norm.kernel @apart_by_strides(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0), %{{.*}} = 3, %{{.*}} = 5)
norm.kernel @apart_by_strides(%x: memref<?x3x5xf32, strided<[?, 8, 1]>>, %y: memref<?x3x5xf32>)
    space(%a = dim(%x, 0), %b = 3, %c = 5) {
  %0 = norm.read %x[%a, %b, %c] : memref<?x3x5xf32, strided<[?, 8, 1]>>
  norm.write %0, %y[%a, %b, %c] : memref<?x3x5xf32>
}

// -----

// CHECK-LABEL: norm.kernel @apart_by_transposition(
// CHECK-SAME: space(%{{.*}} = 3, %{{.*}} = 5)
norm.kernel @apart_by_transposition(%x: memref<3x5xf32>, %y: memref<5x3xf32>) space(%a = 3, %b = 5) {
  %0 = norm.read %x[%a, %b] : memref<3x5xf32>
  norm.write %0, %y[%b, %a] : memref<5x3xf32>
}

// -----

// CHECK-LABEL: norm.kernel @apart_by_broadcast(
// CHECK-SAME: space(%{{.*}} = 3, %{{.*}} = 5)
norm.kernel @apart_by_broadcast(%x: memref<3x5xf32>, %w: memref<5xf32>, %y: memref<3x5xf32>) space(%a = 3, %b = 5) {
  %0 = norm.read %x[%a, %b] : memref<3x5xf32>
  %1 = norm.read %w[%b] : memref<5xf32>
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%a, %b] : memref<3x5xf32>
}

// -----

// CHECK-LABEL: norm.kernel @apart_by_reduction(
// CHECK-SAME: space(%{{.*}} = 3, %{{.*}} = 5)
norm.kernel @apart_by_reduction(%x: memref<3x5xf32>, %y: memref<3x5xf32>) space(%a = 3, %b = 5) {
  %0 = norm.read %x[%a, %b] : memref<3x5xf32>
  %1 = norm.reduce max %0 over(%b) : f32
  %2 = arith.subf %0, %1 : f32
  norm.write %2, %y[%a, %b] : memref<3x5xf32>
}

// -----

// CHECK-LABEL: norm.kernel @apart_by_use_as_value(
// CHECK-SAME: space(%{{.*}} = 3, %{{.*}} = 5)
norm.kernel @apart_by_use_as_value(%y: memref<3x5xi64>) space(%a = 3, %b = 5) {
  %0 = arith.index_cast %b : index to i64
  norm.write %0, %y[%a, %b] : memref<3x5xi64>
}

// -----

// The read is of the first 5 of 8 columns, so rows are not end to end.
// CHECK-LABEL: norm.kernel @apart_by_part(
// CHECK-SAME: space(%{{.*}} = 3, %{{.*}} = 5)
norm.kernel @apart_by_part(%x: memref<3x8xf32>, %y: memref<3x5xf32>) space(%a = 3, %b = 5) {
  %0 = norm.read %x[%a, %b] : memref<3x8xf32>
  norm.write %0, %y[%a, %b] : memref<3x5xf32>
}

// -----

// Nothing says that the two inputs are of one size.
// CHECK-LABEL: norm.kernel @apart_by_unknown_size(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0), %{{.*}} = dim(%{{.*}}, 1))
norm.kernel @apart_by_unknown_size(%x: memref<?x?xf32>, %z: memref<?x?xf32>, %y: memref<?x?xf32>)
    space(%a = dim(%x, 0), %b = dim(%x, 1)) {
  %0 = norm.read %x[%a, %b] : memref<?x?xf32>
  %1 = norm.read %z[%a, %b] : memref<?x?xf32>
  %2 = arith.addf %0, %1 : f32
  norm.write %2, %y[%a, %b] : memref<?x?xf32>
}

// -----

// One buffer that is read in two ways cannot be collapsed.
// CHECK-LABEL: norm.kernel @apart_by_second_read(
// CHECK-SAME: space(%{{.*}} = 4, %{{.*}} = 8)
norm.kernel @apart_by_second_read(%x: memref<4x8xf32>, %y: memref<4x8xf32>) space(%a = 4, %b = 8) {
  %0 = norm.read %x[%a, %b] : memref<4x8xf32>
  %1 = norm.read %x[%a, 0] : memref<4x8xf32>
  %2 = arith.subf %0, %1 : f32
  norm.write %2, %y[%a, %b] : memref<4x8xf32>
}

// -----

// The axes after joined ones move up, and so do their sizes and affine coordinates.
// CHECK-LABEL: norm.kernel @affine(
// CHECK-SAME: %[[X:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?x?x4xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[X]], 0), %[[Q:.*]] = dim(%[[X]], 1) floordiv 5, %[[J:.*]] = 4)
// CHECK: norm.read %[[X]][%[[M]], %[[Q]] * 5 + %[[J]]] : memref<?x?xf32>
// CHECK: norm.write %{{.*}}, %[[Y]][%[[M]], %[[Q]], %[[J]]] : memref<?x?x4xf32>
norm.kernel @affine(%x: memref<?x?x?xf32>, %y: memref<?x?x?x4xf32>)
    space(%a = dim(%x, 0), %b = dim(%x, 1), %q = dim(%x, 2) floordiv 5, %j = 4) {
  %0 = norm.read %x[%a, %b, %q * 5 + %j] : memref<?x?x?xf32>
  norm.write %0, %y[%a, %b, %q, %j] : memref<?x?x?x4xf32>
}

// -----

// Tiled kernels are left alone.
// CHECK-LABEL: norm.kernel @tiled(
// CHECK-SAME: space(%{{.*}} = 3 : grid, %{{.*}} = 4 : thread)
norm.kernel @tiled(%x: memref<3x4xf32>, %y: memref<3x4xf32>) space(%a = 3 : grid, %b = 4 : thread) {
  %0 = norm.read %x[%a, %b] : memref<3x4xf32>
  norm.write %0, %y[%a, %b] : memref<3x4xf32>
}

// -----

// The dim that numbers the results of a reduction is not merged.
// CHECK-LABEL: norm.kernel @largest(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0), %[[N:.*]] = 32, %[[J:.*]] = 3)
// CHECK: norm.reduce max %{{.*}} over(%[[N]]) nth(%[[J]]) : i32
norm.kernel @largest(%x: memref<?x4x8xi32>, %y: memref<?x3xi32>) space(%m = dim(%x, 0), %a = 4, %b = 8, %j = 3) {
  %0 = norm.read %x[%m, %a, %b] : memref<?x4x8xi32>
  %1 = norm.reduce max %0 over(%a, %b) nth(%j) : i32
  norm.write %1, %y[%m, %j] : memref<?x3xi32>
}

// -----

// A scan along both of two dims becomes one along the merged dim; a scan along the inner one alone keeps them apart.
// CHECK-LABEL: norm.kernel @scan(
// CHECK-SAME: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 32)
// CHECK: norm.scan add %{{.*}} along(%[[N]]) : f32
norm.kernel @scan(%x: memref<?x4x8xf32>, %y: memref<?x4x8xf32>) space(%m = dim(%x, 0), %a = 4, %b = 8) {
  %0 = norm.read %x[%m, %a, %b] : memref<?x4x8xf32>
  %1 = norm.scan add %0 along(%a, %b) : f32
  norm.write %1, %y[%m, %a, %b] : memref<?x4x8xf32>
}

// -----

// What is known of two sizes says something of their product only together: one of the two may be 0 whatever the other is at least,
// and any multiple is one of 1. What says nothing is gone.
// CHECK-LABEL: norm.kernel @one_is_bounded(
// CHECK-SAME: space(%{{[a-z]+}} = dim(%{{[a-z]+}}, 0)) {
norm.kernel @one_is_bounded(%x: memref<?x?xf32>, %y: memref<?x?xf32>) space(%a = dim(%x, 0), %b = dim(%x, 1))
    bounds(5 <= dim(%x, 0)) {
  %0 = norm.read %x[%a, %b] : memref<?x?xf32>
  norm.write %0, %y[%a, %b] : memref<?x?xf32>
}
// CHECK-LABEL: norm.kernel @the_other_is_bounded(
// CHECK-SAME: space(%{{[a-z]+}} = dim(%{{[a-z]+}}, 0)) {
norm.kernel @the_other_is_bounded(%x: memref<?x?xf32>, %y: memref<?x?xf32>) space(%a = dim(%x, 0), %b = dim(%x, 1))
    bounds(5 <= dim(%x, 1)) {
  %0 = norm.read %x[%a, %b] : memref<?x?xf32>
  norm.write %0, %y[%a, %b] : memref<?x?xf32>
}
// CHECK-LABEL: norm.kernel @both_are_bounded(
// CHECK-SAME: multiples(dim(%{{[a-z]+}}, 0) = 8) bounds(6 <= dim(%{{[a-z]+}}, 0)) {
norm.kernel @both_are_bounded(%x: memref<?x?xf32>, %y: memref<?x?xf32>) space(%a = dim(%x, 0), %b = dim(%x, 1))
    multiples(dim(%x, 1) = 8) bounds(2 <= dim(%x, 0), 3 <= dim(%x, 1)) {
  %0 = norm.read %x[%a, %b] : memref<?x?xf32>
  norm.write %0, %y[%a, %b] : memref<?x?xf32>
}
// CHECK-LABEL: norm.kernel @multiple_of_one(
// CHECK-SAME: space(%{{[a-z]+}} = dim(%{{[a-z]+}}, 0)) {
norm.kernel @multiple_of_one(%x: memref<?x?xf32>, %y: memref<?x?xf32>) space(%a = dim(%x, 0), %b = dim(%x, 1))
    multiples(dim(%x, 1) = 1) {
  %0 = norm.read %x[%a, %b] : memref<?x?xf32>
  norm.write %0, %y[%a, %b] : memref<?x?xf32>
}

// Dims of a guard stay, and the guard follows the dims and the axes.
// CHECK-LABEL: norm.kernel @beside_blocks(
// CHECK-SAME: space(%a = dim(%x, 0), %c = dim(%x, 1) ceildiv 32, %i = 32) where(%c * 32 + %i < dim(%x, 1)) {
norm.kernel @beside_blocks(%x: memref<?x?x?xf32>, %y: memref<?x?x?xf32>)
    space(%a = dim(%x, 0), %b = dim(%x, 1), %c = dim(%x, 2) ceildiv 32, %i = 32)
    where(%c * 32 + %i < dim(%x, 2)) {
  %0 = norm.read %x[%a, %b, %c * 32 + %i] : memref<?x?x?xf32>
  norm.write %0, %y[%a, %b, %c * 32 + %i] : memref<?x?x?xf32>
}
// CHECK-LABEL: norm.kernel @of_a_guard(
// CHECK-SAME: space(%{{.*}} = 4, %{{.*}} = 5) where(
norm.kernel @of_a_guard(%x: memref<4x5xf32>, %y: memref<f32>) space(%a = 4, %b = 5) where(%a + %b < 7) {
  %0 = norm.read %x[%a, %b] : memref<4x5xf32>
  %1 = norm.reduce add %0 over(%a, %b) : f32
  norm.write %1, %y[] : memref<f32>
}

// -----

// Two dims that lie along one axis, and along two of another buffer, are one.
// CHECK-LABEL: norm.kernel @along_one_axis(
// CHECK-SAME: %x: memref<8x320xf32>, %w: memref<320xf32>, %y: memref<8x320xf32>)
// CHECK-SAME: space(%n = 8, %[[C:.*]] = 320)
// CHECK: norm.read %x[%n, %[[C]]]
// CHECK: norm.read %w[%[[C]]]
// CHECK: norm.write %{{.*}}, %y[%n, %[[C]]]
norm.kernel @along_one_axis(%x: memref<8x320xf32>, %w: memref<320xf32>, %y: memref<8x32x10xf32>)
    space(%n = 8, %g = 32, %c = 10) {
  %0 = norm.read %x[%n, %g * 10 + %c] : memref<8x320xf32>
  %1 = norm.read %w[%g * 10 + %c] : memref<320xf32>
  %2 = arith.addf %0, %1 : f32
  norm.write %2, %y[%n, %g, %c] : memref<8x32x10xf32>
}

// -----

// Steps that are not the extent leave gaps.
// CHECK-LABEL: norm.kernel @with_gaps(
// CHECK-SAME: space(%n = 8, %g = 32, %c = 10)
norm.kernel @with_gaps(%x: memref<8x384xf32>, %y: memref<8x32x10xf32>) space(%n = 8, %g = 32, %c = 10) {
  %0 = norm.read %x[%n, %g * 12 + %c] : memref<8x384xf32>
  norm.write %0, %y[%n, %g, %c] : memref<8x32x10xf32>
}

// -----

// Rows at the ids of two dims have one dim, unless one of them is added to the computed place, which the access checks.
// CHECK-LABEL: norm.kernel @ids_of_two_dims(
// CHECK-SAME: %[[IDS:.*]]: memref<?xi32>, %[[X:.*]]: memref<?x8xf32>, %[[Y:.*]]: memref<?x8xf32>) space(%[[M:.*]] = dim(%[[IDS]], 0), %[[N:.*]] = 8)
// CHECK: norm.gather %[[X]][%[[ID:.*]], %[[N]]] : memref<?x8xf32>
// CHECK-LABEL: norm.kernel @runs_of_two_dims(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0), %[[I:.*]] = 4, %[[N:.*]] = 8)
// CHECK: norm.gather %{{.*}}[%{{.*}} + %[[I]], %[[N]]] : memref<?x8xf32>
func.func @ids(%i: memref<?x4xi32>, %x: memref<?x8xf32>, %y: memref<?x4x8xf32>, %l: memref<?xi32>) {
  norm.launch @ids_of_two_dims(%i, %x, %y) : memref<?x4xi32>, memref<?x8xf32>, memref<?x4x8xf32>
  norm.launch @runs_of_two_dims(%l, %x, %y) : memref<?xi32>, memref<?x8xf32>, memref<?x4x8xf32>
  return
}
norm.kernel @ids_of_two_dims(%i: memref<?x4xi32>, %x: memref<?x8xf32>, %y: memref<?x4x8xf32>) space(%a = dim(%i, 0), %b = 4, %n = 8) {
  %0 = norm.read %i[%a, %b] : memref<?x4xi32>
  %1 = arith.index_cast %0 : i32 to index
  %2, %3 = norm.gather %x[%1, %n] : memref<?x8xf32>
  norm.write %2, %y[%a, %b, %n] : memref<?x4x8xf32>
}
norm.kernel @runs_of_two_dims(%l: memref<?xi32>, %x: memref<?x8xf32>, %y: memref<?x4x8xf32>) space(%a = dim(%l, 0), %i = 4, %n = 8) {
  %0 = norm.read %l[%a] : memref<?xi32>
  %1 = arith.index_cast %0 : i32 to index
  %2, %3 = norm.gather %x[%1 + %i, %n] : memref<?x8xf32>
  norm.write %2, %y[%a, %i, %n] : memref<?x4x8xf32>
}

// -----

// What does not cover its buffer has rows that lie further apart than they are long.
// CHECK-LABEL: norm.kernel @padded(
// CHECK-SAME: %{{.*}}: memref<4x128xf32>) space(%[[P:.*]] = 4, %[[Q:.*]] = 100)
// CHECK: norm.write %{{.*}}[%[[P]], %[[Q]]] {partial}
norm.kernel @padded(%x: memref<4x100xf32>, %y: memref<4x128xf32>) space(%p = 4, %q = 100) {
  %0 = norm.read %x[%p, %q] : memref<4x100xf32>
  norm.write %0, %y[%p, %q] {partial} : memref<4x128xf32>
}

// -----

// An argument that is not read follows the result that may be the same memory.
// CHECK-LABEL: norm.kernel @unread_alias(
// CHECK-SAME: %x: memref<?xf32>, %s: memref<f32>, %y: memref<?xf32>) space(%m = dim(%y, 0))
norm.kernel @unread_alias(%x: memref<?x128xf32>, %s: memref<f32>, %y: memref<?x128xf32>) space(%m = dim(%y, 0), %n = 128)
    aliases(%y = %x) {
  %0 = norm.read %s[] : memref<f32>
  norm.write %0, %y[%m, %n] : memref<?x128xf32>
}

// -----

// A launch refuses tensors of other sizes than those that they are accessed at, so that a second tensor is read as a whole. So is scratch
// of the sizes of a tensor.
// CHECK-LABEL: func.func @two_tensors(
// CHECK: norm.launch @two_tensors_0(%{{.*}}, %{{.*}}, %{{.*}}) : memref<?xf32>, memref<?xf32>, memref<?xf32>
// CHECK-LABEL: norm.kernel @two_tensors_0(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0))
func.func @two_tensors(%x: memref<?x?x8xf32>, %y: memref<?x?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.dim %x, %c0 : memref<?x?x8xf32>
  %b = memref.dim %x, %c1 : memref<?x?x8xf32>
  %z = memref.alloc(%a, %b) {norm.name = "z", norm.scratch} : memref<?x?x8xf32>
  norm.launch @two_tensors_0(%x, %z, %y) : memref<?x?x8xf32>, memref<?x?x8xf32>, memref<?x?x8xf32>
  return
}
norm.kernel @two_tensors_0(%x: memref<?x?x8xf32>, %z: memref<?x?x8xf32>, %y: memref<?x?x8xf32>)
    space(%a = dim(%x, 0), %b = dim(%x, 1), %c = 8) {
  %0 = norm.read %x[%a, %b, %c] : memref<?x?x8xf32>
  %1 = norm.read %z[%a, %b, %c] : memref<?x?x8xf32>
  %2 = arith.addf %0, %1 : f32
  norm.write %2, %y[%a, %b, %c] : memref<?x?x8xf32>
}

// -----

// No launch compares the sizes of views, nor those of scratch whose sizes are computed, and each launch of a kernel counts.
// CHECK-LABEL: norm.kernel @views(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0), %{{.*}} = dim(%{{.*}}, 1))
// CHECK-LABEL: norm.kernel @scratch(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0), %{{.*}} = dim(%{{.*}}, 1))
func.func @unknown_sizes(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.collapse_shape %z [[0], [1, 2]] : memref<?x?x?xf32> into memref<?x?xf32>
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  %more = arith.addi %n, %c1 : index
  %1 = memref.alloc(%m, %more) {norm.name = "s", norm.scratch} : memref<?x?xf32>
  norm.launch @views(%x, %y, %y) : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  norm.launch @views(%x, %0, %y) : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  norm.launch @scratch(%x, %1, %y) : memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>
  return
}
norm.kernel @views(%x: memref<?x?xf32>, %z: memref<?x?xf32>, %y: memref<?x?xf32>) space(%a = dim(%x, 0), %b = dim(%x, 1)) {
  %0 = norm.read %x[%a, %b] : memref<?x?xf32>
  %1 = norm.read %z[%a, %b] : memref<?x?xf32>
  %2 = arith.addf %0, %1 : f32
  norm.write %2, %y[%a, %b] : memref<?x?xf32>
}
norm.kernel @scratch(%x: memref<?x?xf32>, %z: memref<?x?xf32>, %y: memref<?x?xf32>) space(%a = dim(%x, 0), %b = dim(%x, 1)) {
  %0 = norm.read %x[%a, %b] : memref<?x?xf32>
  %1 = norm.read %z[%a, %b] : memref<?x?xf32>
  %2 = arith.addf %0, %1 : f32
  norm.write %2, %y[%a, %b] : memref<?x?xf32>
}
