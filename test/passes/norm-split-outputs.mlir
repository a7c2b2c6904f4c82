// Outputs that do not vary over a kept dim which may be empty get a kernel without that dim.
// RUN: norma-opt %s --split-input-file --norm-split-outputs | FileCheck %s

// CHECK-LABEL: func.func @host(
// CHECK-NEXT: norm.launch @both(%[[X:.*]], %[[W:.*]], %[[Y:.*]], %[[Z:.*]]) :
// CHECK-NEXT: norm.launch @both_0(%[[X]], %[[W]], %[[Y]], %[[Z]]) :
// CHECK-NEXT: return
// CHECK: norm.kernel @both(
// CHECK-SAME: space(%m = dim(%x, 0), %n = 8)
// CHECK-NEXT: %[[V:.*]] = norm.read %x[%m]
// CHECK-NEXT: norm.write %[[V]], %y[%m]
// CHECK-NEXT: }
// CHECK: norm.kernel @both_0(
// CHECK-SAME: space(%n = 8)
// CHECK-NEXT: %[[V:.*]] = norm.read %w[%n]
// CHECK-NEXT: norm.write %[[V]], %z[%n]
// CHECK-NEXT: }
func.func @host(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %z: memref<8xf32>) {
  norm.launch @both(%x, %w, %y, %z) : memref<?xf32>, memref<8xf32>, memref<?xf32>, memref<8xf32>
  return
}
norm.kernel @both(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %z: memref<8xf32>)
    space(%m = dim(%x, 0), %n = 8) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
  %1 = norm.read %w[%n] : memref<8xf32>
  norm.write %1, %z[%n] : memref<8xf32>
}

// -----

// The only output loses the dim, in its own kernel.
// CHECK-LABEL: norm.kernel @only(
// CHECK-SAME: space(%n = 8)
// CHECK-NEXT: norm.read %x[%n]
// CHECK-NOT: norm.kernel
norm.kernel @only(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<?xf32>) space(%m = dim(%z, 0), %n = 8) {
  %0 = norm.read %x[%n] : memref<8xf32>
  norm.write %0, %y[%n] : memref<8xf32>
}

// -----

// A static dim has points, and a reduction over no points is its identity.
// CHECK-LABEL: norm.kernel @static(
// CHECK-SAME: space(%m = 4, %n = 8)
// CHECK: norm.write %{{.*}}, %y[%n]
// CHECK-NOT: norm.kernel @static_0
norm.kernel @static(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<4x8xf32>) space(%m = 4, %n = 8) {
  %0 = norm.read %x[%n] : memref<8xf32>
  norm.write %0, %y[%n] : memref<8xf32>
  norm.write %0, %z[%m, %n] : memref<4x8xf32>
}
// CHECK-LABEL: norm.kernel @reduced(
// CHECK-SAME: space(%m = dim(%x, 0), %n = 8)
// CHECK-NOT: norm.kernel
norm.kernel @reduced(%x: memref<?x8xf32>, %s: memref<8xf32>) space(%m = dim(%x, 0), %n = 8) {
  %0 = norm.read %x[%m, %n] : memref<?x8xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %s[%n] : memref<8xf32>
}

// -----

// A dim that always has a point leaves no output unwritten.
// CHECK-LABEL: norm.kernel @has_points(
// CHECK-SAME: space(%m = dim(%x, 0), %n = 8) bounds(1 <= dim(%x, 0)) {
// CHECK-NOT: norm.kernel
norm.kernel @has_points(%x: memref<?xf32>, %w: memref<8xf32>, %y: memref<?xf32>, %z: memref<8xf32>)
    space(%m = dim(%x, 0), %n = 8) bounds(1 <= dim(%x, 0)) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
  %1 = norm.read %w[%n] : memref<8xf32>
  norm.write %1, %z[%n] : memref<8xf32>
}

// -----

// A reduction that no output needs keeps no dim in a kernel.
// CHECK-LABEL: norm.kernel @dead(
// CHECK-SAME: space(%n = 8)
// CHECK-NOT: norm.reduce
// CHECK-NOT: norm.kernel
norm.kernel @dead(%x: memref<?x8xf32>, %w: memref<8xf32>, %y: memref<8xf32>) space(%m = dim(%x, 0), %n = 8) {
  %0 = norm.read %x[%m, %n] : memref<?x8xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  %2 = norm.read %w[%n] : memref<8xf32>
  norm.write %2, %y[%n] : memref<8xf32>
}

// -----

// Schedule and guards of each kernel are over the dims that it has.
// CHECK-LABEL: norm.kernel @scheduled(
// CHECK-SAME: space(%m = dim(%x, 0), %a = 4, %n = 8) where(%a * 8 + %n < 31)
// CHECK-SAME: spread = {{\[\[}}grid], [loop], [lane(8)]]
// CHECK: norm.kernel @scheduled_0(
// CHECK-SAME: space(%a = 4, %n = 8) where(%a * 8 + %n < 31)
// CHECK-SAME: spread = {{\[\[}}loop], [lane(8)]]
norm.kernel @scheduled(%x: memref<?x31xf32>, %w: memref<31xf32>, %y: memref<?xf32>, %z: memref<f32>)
    space(%m = dim(%x, 0), %a = 4, %n = 8) where(%a * 8 + %n < 31)
    schedule(#norm.schedule<spread = [[grid], [loop], [lane(8)]]>) {
  %0 = norm.read %x[%m, %a * 8 + %n] : memref<?x31xf32>
  %1 = norm.reduce add %0 over(%a, %n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
  %2 = norm.read %w[%a * 8 + %n] : memref<31xf32>
  %3 = norm.reduce add %2 over(%a, %n) : f32
  norm.write %3, %z[] : memref<f32>
}

// -----

// Each schedule for some sizes loses the dims too, and what was chosen for the kernel as it was is no choice for either one.
// CHECK-LABEL: norm.kernel @by_size(
// CHECK-SAME: space(%m = dim(%x, 0), %n = 8) schedule(#norm.schedule<spread = {{\[\[}}grid], [lane(8)]]> if dim(%x, 0) < 16, #norm.schedule<spread = {{\[\[}}grid, warp(4)], [lane(2), vector(4)]], aligned_dim = 1>) {
// CHECK-LABEL: norm.kernel @by_size_0(
// CHECK-SAME: space(%n = 8) schedule(#norm.schedule<spread = {{\[\[}}lane(8)]]> if dim(%x, 0) < 16, #norm.schedule<spread = {{\[\[}}lane(2), vector(4)]], aligned_dim = 0>) {
#many = #norm.schedule<spread = [[grid, warp(4)], [lane(2), vector(4)]], aligned_dim = 1>
norm.kernel @by_size(%x: memref<?x8xf32>, %w: memref<8xf32>, %y: memref<?x8xf32>, %z: memref<8xf32>)
    space(%m = dim(%x, 0), %n = 8)
    schedule(#norm.schedule<spread = [[grid], [lane(8)]]> if dim(%x, 0) < 16, #many)
    attributes {norm.choice = #norm.choice<schedule = #many, ctas_per_sm = 4>} {
  %0 = norm.read %x[%m, %n] : memref<?x8xf32>
  norm.write %0, %y[%m, %n] : memref<?x8xf32>
  %1 = norm.read %w[%n] : memref<8xf32>
  norm.write %1, %z[%n] : memref<8xf32>
}

// -----

// A kernel all of whose writes use all dims keeps what was chosen for it.
// CHECK-LABEL: norm.kernel @chosen(
// CHECK-SAME: attributes {norm.choice
norm.kernel @chosen(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0))
    schedule(#norm.schedule<spread = [[grid, lane(32)]]>)
    attributes {norm.choice = #norm.choice<schedule = <spread = [[grid, lane(32)]]>, ctas_per_sm = 4>} {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
}

// Blocks of an axis without elements are none, and yet each row has its own result. Without the blocks there is no guard.
// CHECK-LABEL: norm.kernel @beside_blocks(
// CHECK-SAME: space(%m = dim(%x, 0), %b = dim(%x, 1) ceildiv 32, %i = 32) where(%b * 32 + %i < dim(%x, 1))
// CHECK: norm.kernel @beside_blocks_0(
// CHECK-SAME: space(%m = dim(%x, 0), %i = 32) {
norm.kernel @beside_blocks(%x: memref<?x?xf32>, %v: memref<?xf32>, %y: memref<?x?xf32>, %z: memref<?xf32>)
    space(%m = dim(%x, 0), %b = dim(%x, 1) ceildiv 32, %i = 32) where(%b * 32 + %i < dim(%x, 1)) {
  %0 = norm.read %x[%m, %b * 32 + %i] : memref<?x?xf32>
  %1 = norm.reduce max %0 over(%i) : f32
  norm.write %1, %y[%m, %b] : memref<?x?xf32>
  %2 = norm.read %v[%m] : memref<?xf32>
  norm.write %2, %z[%m] : memref<?xf32>
}

// -----

// With batch-invariant, dims that count rows are split off whatever their extent, so that what reduces a row is the same kernel.
// RUN: norma-opt %s --split-input-file --norm-split-outputs=batch-invariant | FileCheck %s --check-prefix=ROWS
// CHECK-LABEL: norm.kernel @rows(
// CHECK-NOT: norm.kernel
// ROWS: norm.kernel @rows(
// ROWS-SAME: space(%m = 4, %n = 8)
// ROWS: norm.kernel @rows_0(
// ROWS-SAME: space(%n = 8)
norm.kernel @rows(%x: memref<4x8xf32>, %w: memref<8xf32>, %y: memref<4xf32>, %z: memref<f32>) space(%m = 4, %n = 8) {
  %0 = norm.read %x[%m, %n] : memref<4x8xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<4xf32>
  %2 = norm.read %w[%n] : memref<8xf32>
  %3 = norm.reduce add %2 over(%n) : f32
  norm.write %3, %z[] : memref<f32>
}
