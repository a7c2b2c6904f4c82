// RUN: norma-opt %s --split-input-file --norm-dependent-launch | FileCheck %s
// RUN: norma-opt %s --split-input-file --norm-dependent-launch=target=sm_80 | FileCheck %s --check-prefix=OLD
// OLD-NOT: dependent_launch
//
// A kernel that is always behind another of its function may start early.

// CHECK-LABEL: norm.kernel @first(
// CHECK-NOT: dependent_launch
// CHECK-LABEL: norm.kernel @second(
// CHECK-SAME: schedule(#norm.schedule<spread = {{.*}}, dependent_launch = true>)
// CHECK-LABEL: norm.kernel @given(
// CHECK-NOT: dependent_launch
func.func @several(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
  norm.launch @first(%x, %y) : memref<64xf32>, memref<64xf32>
  norm.launch @second(%y, %z) : memref<64xf32>, memref<64xf32>
  norm.launch @given(%z, %y) : memref<64xf32>, memref<64xf32>
  return
}
norm.kernel @first(%x: memref<64xf32>, %y: memref<64xf32>) space(%n = 64) schedule(#norm.schedule<spread = [[grid, lane(32)]]>)
    attributes {norm.choice = #norm.choice<schedule = <spread = [[grid, lane(32)]]>, ctas_per_sm = 1, registers = 32>} {
  %0 = norm.read %x[%n] : memref<64xf32>
  norm.write %0, %y[%n] : memref<64xf32>
}
norm.kernel @second(%x: memref<64xf32>, %y: memref<64xf32>) space(%n = 64) schedule(#norm.schedule<spread = [[grid, lane(32)]]>)
    attributes {norm.choice = #norm.choice<schedule = <spread = [[grid, lane(32)]]>, ctas_per_sm = 1, registers = 32>} {
  %0 = norm.read %x[%n] : memref<64xf32>
  norm.write %0, %y[%n] : memref<64xf32>
}
norm.kernel @given(%x: memref<64xf32>, %y: memref<64xf32>) space(%n = 64) schedule(#norm.schedule<spread = [[grid, lane(32)]]>) {
  %0 = norm.read %x[%n] : memref<64xf32>
  norm.write %0, %y[%n] : memref<64xf32>
}

// -----

// Of the branches for different sizes only one runs; a launch behind them has one of them in front of it.
// CHECK-LABEL: norm.kernel @few(
// CHECK-NOT: dependent_launch
// CHECK-LABEL: norm.kernel @many(
// CHECK-NOT: dependent_launch
// CHECK-LABEL: norm.kernel @behind(
// CHECK-SAME: dependent_launch = true
#few = affine_set<()[s0] : (64 - s0 >= 0)>
func.func @by_size(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  affine.if #few()[%m] {
    norm.launch @few(%x, %y) : memref<?xf32>, memref<?xf32>
  } else {
    norm.launch @many(%x, %y) : memref<?xf32>, memref<?xf32>
  }
  norm.launch @behind(%y, %x) : memref<?xf32>, memref<?xf32>
  return
}
norm.kernel @few(%x: memref<?xf32>, %y: memref<?xf32>) space(%n = dim(%x, 0)) schedule(#norm.schedule<spread = [[grid, lane(32)]]>)
    attributes {norm.choice = #norm.choice<schedule = <spread = [[grid, lane(32)]]>, ctas_per_sm = 1, registers = 32>} {
  %0 = norm.read %x[%n] : memref<?xf32>
  norm.write %0, %y[%n] : memref<?xf32>
}
norm.kernel @many(%x: memref<?xf32>, %y: memref<?xf32>) space(%n = dim(%x, 0)) schedule(#norm.schedule<spread = [[grid, lane(32)]]>)
    attributes {norm.choice = #norm.choice<schedule = <spread = [[grid, lane(32)]]>, ctas_per_sm = 1, registers = 32>} {
  %0 = norm.read %x[%n] : memref<?xf32>
  norm.write %0, %y[%n] : memref<?xf32>
}
norm.kernel @behind(%x: memref<?xf32>, %y: memref<?xf32>) space(%n = dim(%x, 0)) schedule(#norm.schedule<spread = [[grid, lane(32)]]>)
    attributes {norm.choice = #norm.choice<schedule = <spread = [[grid, lane(32)]]>, ctas_per_sm = 1, registers = 32>} {
  %0 = norm.read %x[%n] : memref<?xf32>
  norm.write %0, %y[%n] : memref<?xf32>
}
