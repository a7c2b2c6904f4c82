// Normalizations and statistics become the scalar programs that define them.
// RUN: norma-opt %s --split-input-file --norm-decompose | FileCheck %s

// The squares are taken around the mean, in the form that norm-merge-reductions looks for.
// CHECK-LABEL: @layer_norm(
// CHECK: norm.compute({{.*}}) -> (%[[Y:.*]] : tensor<?x64xbf16>, %[[MEAN_OUT:.*]] : tensor<?xf32>, %[[RSTD_OUT:.*]] : tensor<?xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
// CHECK: %[[X:.*]] = arith.extf
// CHECK-NEXT: %[[SUM:.*]] = norm.reduce add %[[X]] over(%[[N]]) : f32
// CHECK-NEXT: %[[SHARE:.*]] = arith.constant 1.562500e-02 : f32
// CHECK-NEXT: %[[MEAN:.*]] = arith.mulf %[[SUM]], %[[SHARE]] : f32
// CHECK-NEXT: %[[CENTRED:.*]] = arith.subf %[[X]], %[[MEAN]] : f32
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[CENTRED]], %[[CENTRED]] : f32
// CHECK-NEXT: norm.reduce add %[[SQUARE]] over(%[[N]]) : f32
// CHECK: %[[RSTD:.*]] = math.rsqrt
// CHECK-NEXT: norm.write %[[MEAN]], %[[MEAN_OUT]][%[[M]]]
// CHECK-NEXT: norm.write %[[RSTD]], %[[RSTD_OUT]][%[[M]]]
// CHECK-NEXT: %[[NORMALIZED:.*]] = arith.mulf %[[CENTRED]], %[[RSTD]] : f32
// CHECK-NEXT: %[[OUT:.*]] = arith.truncf %[[NORMALIZED]] : f32 to bf16
// CHECK-NEXT: norm.write %[[OUT]], %[[Y]][%[[M]], %[[N]]]
func.func @layer_norm(%x: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?xf32>, tensor<?xf32>) {
  %y, %mean, %rstd = norm.layer_norm %x : tensor<?x64xbf16> -> tensor<?x64xbf16>, tensor<?xf32>, tensor<?xf32>
  return %y, %mean, %rstd : tensor<?x64xbf16>, tensor<?xf32>, tensor<?xf32>
}

// -----

// Any axes, in any order; a weight has its axes in the order of x. One tensor as weight and bias is one input.
// CHECK-LABEL: @axes(
// CHECK: norm.compute(%{{.*}} = %{{.*}} : tensor<4x?x8xf16>, %[[W:.*]] = %{{.*}} : tensor<4x8xf16>) ->
// CHECK-SAME: space(%[[A:.*]] = 4, %{{.*}} = dim(%{{.*}}, 1), %[[B:.*]] = 8)
// CHECK: norm.reduce add %{{.*}} over(%[[A]], %[[B]]) : f32
// CHECK: norm.read %[[W]][%[[A]], %[[B]]]
// CHECK: norm.read %[[W]][%[[A]], %[[B]]]
func.func @axes(%x: tensor<4x?x8xf16>, %w: tensor<4x8xf16>) -> tensor<4x?x8xf16> {
  %y = norm.layer_norm %x weight(%w : tensor<4x8xf16>) bias(%w : tensor<4x8xf16>) {axes = array<i64: -1, 0>}
       : tensor<4x?x8xf16> -> tensor<4x?x8xf16>
  return %y : tensor<4x?x8xf16>
}

// -----

// The elements of a dynamic axis are counted. Arithmetic is f64 if any type is.
// CHECK-LABEL: @dynamic(
// CHECK: %[[SUM:.*]] = norm.reduce add %{{.*}} over(%[[N:.*]]) : f64
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: %[[COUNT:.*]] = norm.reduce add %[[ONE]] over(%[[N]]) : f64
// CHECK-NEXT: arith.divf %[[SUM]], %[[COUNT]] : f64
func.func @dynamic(%x: tensor<?x?xf64>) -> tensor<?x?xf32> {
  %y = norm.layer_norm %x : tensor<?x?xf64> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: @l2_norm(
// CHECK: %[[ROOT:.*]] = math.sqrt
// CHECK-NEXT: %[[EPS:.*]] = arith.constant 9.99999996E-13 : f32
// CHECK-NEXT: %[[DIVISOR:.*]] = arith.maximumf %[[ROOT]], %[[EPS]] : f32
// CHECK: %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[DIVISOR]] : f32
// CHECK-NEXT: arith.mulf %{{.*}}, %[[INVERSE]] : f32
func.func @l2_norm(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.l2_norm %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// The axis of channels is two dims.
// CHECK-LABEL: @group_norm(
// CHECK: space(%[[B:.*]] = dim(%{{.*}}, 0), %[[P:.*]] = 16, %[[G:.*]] = 4, %[[K:.*]] = 8)
// CHECK: norm.read %{{.*}}[%[[B]], %[[P]], %[[G]] * 8 + %[[K]]]
// CHECK: norm.reduce add %{{.*}} over(%[[P]], %[[K]]) : f32
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[B]], %[[G]]] : tensor<?x4xf32>
// CHECK: norm.read %{{.*}}[%[[G]] * 8 + %[[K]]] : tensor<32xf32>
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[B]], %[[P]], %[[G]] * 8 + %[[K]]]
func.func @group_norm(%x: tensor<?x16x32xbf16>, %w: tensor<32xf32>) -> (tensor<?x16x32xbf16>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %y, %mean, %rstd = norm.group_norm %x weight(%w : tensor<32xf32>) {groups = 4, channel_axis = -1}
      : tensor<?x16x32xbf16> -> tensor<?x16x32xbf16>, tensor<?x4xf32>, tensor<?x4xf32>
  return %y, %mean, %rstd : tensor<?x16x32xbf16>, tensor<?x4xf32>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: @batch_stats(
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[CENTRED:.*]], %[[CENTRED]] : f32
// CHECK-NEXT: %[[SQUARES:.*]] = norm.reduce add %[[SQUARE]] over(%{{.*}}, %{{.*}}) : f32
// CHECK-NEXT: %[[DIVISOR:.*]] = arith.constant 3.100000e+01 : f32
// CHECK: arith.divf %[[SQUARES]], %[[DIVISOR]] : f32
func.func @batch_stats(%x: tensor<4x?x8xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %mean, %var = norm.batch_stats %x {axes = array<i64: 0, 2>, correction = 1} : tensor<4x?x8xf32> -> tensor<?xf32>, tensor<?xf32>
  return %mean, %var : tensor<?xf32>, tensor<?xf32>
}

// -----

// For rows of given lengths, sums leave out elements that do not exist, and those that exist are counted.
// CHECK-LABEL: @of_lengths(
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt
// CHECK: %[[SQUARE:.*]] = arith.mulf
// CHECK: %[[TERM:.*]] = arith.select %[[EXISTS]], %[[SQUARE]], %{{.*}} : f32
// CHECK: %[[SUM:.*]] = norm.reduce add %[[TERM]]
// CHECK: %[[ONE:.*]] = arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[COUNT:.*]] = norm.reduce add %[[ONE]]
// CHECK: arith.divf %[[SUM]], %[[COUNT]]
// CHECK: %[[WHOLE:.*]] = arith.select %[[EXISTS]]
// CHECK: norm.write %[[WHOLE]]
func.func @of_lengths(%x: tensor<?x64xf32>, %l: tensor<?xi64>) -> tensor<?x64xf32> {
  %y = norm.rms_norm %x lengths(%l : tensor<?xi64>) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
