// Each schedule gets a kernel, and each launch becomes a choice among these kernels, exactly one of which runs.
// RUN: norma-opt %s --split-input-file --norm-dispatch-schedules | FileCheck %s

#few = #norm.schedule<spread = [[grid], [loop, warp(8), lane(32)]]>
#many = #norm.schedule<spread = [[grid, warp(8)], [loop, lane(32)]]>

// CHECK: norm.kernel @max_0(%[[X:.*]]: memref<?x4096xf32>, {{.*}} bounds(dim(%[[X]], 0) <= 263) schedule(#norm.schedule<spread = {{\[\[}}grid], [loop, warp(8), lane(32)]]>) {
// CHECK: norm.kernel @max(%[[X:.*]]: memref<?x4096xf32>, {{.*}} bounds(264 <= dim(%[[X]], 0)) schedule(#norm.schedule<spread = {{\[\[}}grid, warp(8)], [loop, lane(32)]]>) attributes {norm.choice = #norm.choice<schedule = <spread = {{\[\[}}grid, warp(8)], [loop, lane(32)]]>, ctas_per_sm = 4>} {
norm.kernel @max(%x: memref<?x4096xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 4096)
    schedule(#few if dim(%x, 0) < 264, #many) attributes {norm.choice = #norm.choice<schedule = #many, ctas_per_sm = 4>} {
  %0 = norm.read %x[%m, %n] : memref<?x4096xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// CHECK-LABEL: func.func @f(
// CHECK: %[[M:.*]] = memref.dim %arg0, %c0
// CHECK-NEXT: affine.if #{{.*}}()[%[[M]]] {
// CHECK-NEXT: norm.launch @max_0(%arg0, %arg1)
// CHECK-NEXT: } else {
// CHECK-NEXT: norm.launch @max(%arg0, %arg1)
// CHECK-NEXT: }
func.func @f(%x: memref<?x4096xf32> {norm.name = "x"}, %y: memref<?xf32> {norm.name = "y", norm.output}) {
  norm.launch @max(%x, %y) : memref<?x4096xf32>, memref<?xf32>
  return
}

// -----

// A condition over several sizes bounds none of them, and the second choice is made where the first condition does not hold.
// CHECK: #[[FIRST:.*]] = affine_set<()[s0, s1] : (s1 - s0 * 2 + 9 >= 0)>
// CHECK: #[[SECOND:.*]] = affine_set<()[s0, s1] : (s0 - 101 >= 0)>
// CHECK: norm.kernel @copy_0(%[[X:.*]]: memref<?x?xf32>, {{.*}} bounds(dim(%[[X]], 0) <= 500) schedule(#norm.schedule<spread = {{\[\[}}grid], [grid]]>)
// CHECK: norm.kernel @copy_1(%[[X:.*]]: memref<?x?xf32>, {{.*}} bounds(101 <= dim(%[[X]], 0) <= 500)
// CHECK: norm.kernel @copy(%[[X:.*]]: memref<?x?xf32>, {{.*}} bounds(dim(%[[X]], 0) <= 100) {
norm.kernel @copy(%x: memref<?x?xf32>, %y: memref<?x?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    bounds(dim(%x, 0) <= 500)
    schedule(#norm.schedule<spread = [[grid], [grid]]> if dim(%x, 0) * 2 < dim(%x, 1) + 10,
             #norm.schedule<spread = [[grid], [grid, lane(32)]]> if 100 < dim(%x, 0)) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  norm.write %0, %y[%m, %n] : memref<?x?xf32>
}

// CHECK-LABEL: func.func @two(
// CHECK: affine.if #[[FIRST]]()
// CHECK: launch @copy_0(
// CHECK: } else {
// CHECK: affine.if #[[SECOND]]()
// CHECK: launch @copy_1(
// CHECK: } else {
// CHECK: launch @copy(
func.func @two(%x: memref<?x?xf32> {norm.name = "x"}, %y: memref<?x?xf32> {norm.name = "y", norm.output}) {
  norm.launch @copy(%x, %y) : memref<?x?xf32>, memref<?x?xf32>
  return
}

// -----

// A condition may be over the number of points, a product of sizes, which bounds none of them.
// CHECK: #[[POINTS:.*]] = affine_set<()[s0, s1] : (-(s0 * s1) + 6399 >= 0)>
// CHECK: norm.kernel @points_0(%{{.*}}) space(%{{.*}}) schedule(#norm.schedule<spread = {{\[\[}}grid], [grid]]>) {
// CHECK: norm.kernel @points(%{{.*}}) space(%{{.*}}) schedule(#norm.schedule<spread = {{\[\[}}grid], [grid, lane(32)]]>) {
norm.kernel @points(%x: memref<?x?xf32>, %y: memref<?x?xf32>) space(%m = dim(%x, 0), %n = dim(%x, 1))
    schedule(#norm.schedule<spread = [[grid], [grid]]> if dim(%x, 0) * dim(%x, 1) < 6400,
             #norm.schedule<spread = [[grid], [grid, lane(32)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  norm.write %0, %y[%m, %n] : memref<?x?xf32>
}

// CHECK-LABEL: func.func @by_points(
// CHECK: affine.if #[[POINTS]]()
// CHECK-NEXT: launch @points_0(
// CHECK-NEXT: } else {
// CHECK-NEXT: launch @points(
func.func @by_points(%x: memref<?x?xf32> {norm.name = "x"}, %y: memref<?x?xf32> {norm.name = "y", norm.output}) {
  norm.launch @points(%x, %y) : memref<?x?xf32>, memref<?x?xf32>
  return
}
