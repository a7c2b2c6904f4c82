// Cross-entropy becomes the scalar program that defines it; results that are not asked for are not computed.
// RUN: norma-opt %s --split-input-file --norm-decompose | FileCheck %s

// Three reductions, of which only the sum of exponentials waits for the maximum.
// CHECK-LABEL: @plain(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 100)
// CHECK: %[[X:.*]] = arith.extf
// CHECK: %[[LABEL:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK: %[[MAX:.*]] = norm.reduce max %[[X]] over(%[[N]]) : f32
// CHECK: %[[SUM:.*]] = norm.reduce add %{{.*}} over(%[[N]]) : f32
// CHECK: %[[IS_LABEL:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : index
// CHECK: %[[PICKED:.*]] = arith.select %[[IS_LABEL]], %[[X]], %{{.*}} : f32
// CHECK: %[[LOGIT:.*]] = norm.reduce add %[[PICKED]] over(%[[N]]) : f32
// CHECK: arith.subf %[[MAX]], %[[LOGIT]] : f32
// CHECK-NOT: norm.reduce
// CHECK: arith.cmpi ult, %[[LABEL]]
// CHECK: arith.cmpi eq, %[[LABEL]]
// CHECK: norm.write %{{.*}}[%[[M]]] : tensor<?xf32>
// CHECK-NOT: norm.write
func.func @plain(%x: tensor<?x100xbf16>, %l: tensor<?xi32>) -> tensor<?xf32> {
  %loss = norm.cross_entropy %x labels(%l : tensor<?xi32>) : tensor<?x100xbf16> -> tensor<?xf32>
  return %loss : tensor<?xf32>
}

// -----

// The weight of a row is 0 if its label is ignored, and NaN if the label is no class.
// CHECK-LABEL: @row_weight(
// CHECK: norm.write %{{.*}} : tensor<?xf32>
// CHECK: %[[WEIGHT:.*]] = norm.reduce add %{{.*}} over(%{{.*}}) : f32
// CHECK: %[[OR_0:.*]] = arith.select %{{.*}}, %{{.*}}, %[[WEIGHT]] : f32
// CHECK: %[[OR_NAN:.*]] = arith.select %{{.*}}, %[[OR_0]], %{{.*}} : f32
// CHECK: %[[GUARDED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[OR_NAN]] : f32
// CHECK: norm.write %[[GUARDED]], %{{.*}} : tensor<?xf32>
func.func @row_weight(%x: tensor<?x100xf32>, %l: tensor<?xi64>, %w: tensor<100xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %loss, %weight = norm.cross_entropy %x labels(%l : tensor<?xi64>) weight(%w : tensor<100xf32>)
      : tensor<?x100xf32> -> tensor<?xf32> row_weight(tensor<?xf32>)
  return %loss, %weight : tensor<?xf32>, tensor<?xf32>
}

// -----

// If the number of classes is dynamic, whether the label is a class is found by comparing it with each.
// CHECK-LABEL: @dynamic(
// CHECK: norm.reduce or %{{.*}} over(%{{.*}}) : i1
// CHECK: norm.write %{{.*}} : tensor<?xf32>
// CHECK: norm.write %{{.*}} : tensor<?x?xf32>
func.func @dynamic(%x: tensor<?x?xf32>, %l: tensor<?xi64>) -> (tensor<?xf32>, tensor<?x?xf32>) {
  %loss, %d = norm.cross_entropy %x labels(%l : tensor<?xi64>) : tensor<?x?xf32> -> tensor<?xf32> dlogits(tensor<?x?xf32>)
  return %loss, %d : tensor<?xf32>, tensor<?x?xf32>
}

// -----

// A mean divides by the weights of the rows that are not ignored; both sums are over rows.
// CHECK-LABEL: @mean(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 100)
// CHECK: %[[WEIGHTS:.*]] = norm.reduce add %{{.*}} over(%[[M]]) : f32
// CHECK: %[[LOSSES:.*]] = norm.reduce add %{{.*}} over(%[[M]]) : f32
// CHECK: %[[MEAN:.*]] = arith.divf %[[LOSSES]], %[[WEIGHTS]] : f32
// CHECK: norm.write %[[MEAN]], %{{.*}}[] : tensor<f32>
func.func @mean(%x: tensor<?x100xf32>, %l: tensor<?xi64>) -> tensor<f32> {
  %loss = norm.cross_entropy %x labels(%l : tensor<?xi64>) reduction(mean) : tensor<?x100xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
