// Softmax and its relatives become the scalar programs that define them.
// RUN: norma-opt %s --split-input-file --norm-decompose | FileCheck %s

// CHECK-LABEL: @softmax(
// CHECK: %[[X:.*]] = arith.extf
// CHECK-NEXT: %[[MAX:.*]] = norm.reduce max %[[X]] over(%[[N:.*]]) : f32
// CHECK-NEXT: %[[DISTANCE:.*]] = arith.subf %[[X]], %[[MAX]] : f32
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[DISTANCE]] : f32
// CHECK-NEXT: %[[SUM:.*]] = norm.reduce add %[[EXP]] over(%[[N]]) : f32
// CHECK-NEXT: arith.divf %[[EXP]], %[[SUM]] : f32
func.func @softmax(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = norm.softmax %x : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// Scale, cap, mask, keep and causal, in this order. Broadcast axes are read at 0.
// CHECK-LABEL: @logits(
// CHECK: space(%[[B:.*]] = dim(%{{.*}}, 0), %[[Q:.*]] = 16, %[[K:.*]] = 32)
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK: arith.divf %[[SCALED]]
// CHECK: math.tanh
// CHECK: %[[CAPPED:.*]] = arith.mulf
// CHECK: norm.read %{{.*}}[0, %[[K]]] : tensor<1x32xf16>
// CHECK: %[[MASKED:.*]] = arith.addf %[[CAPPED]]
// CHECK: norm.read %{{.*}}[%[[B]], 0, %[[K]]] : tensor<?x1x32xi8>
// CHECK: %[[IS_KEPT:.*]] = arith.cmpi ne
// CHECK: %[[KEPT:.*]] = arith.select %[[IS_KEPT]], %[[MASKED]], %{{.*}} : f32
// CHECK: %[[IS_LATER:.*]] = arith.cmpi sgt, %[[K]], %[[Q]] : index
// CHECK: %[[S:.*]] = arith.select %[[IS_LATER]], %{{.*}}, %[[KEPT]] : f32
// CHECK: norm.reduce max %[[S]] over(%[[K]]) : f32
// CHECK: math.log
func.func @logits(%x: tensor<?x16x32xf32>, %m: tensor<1x32xf16>, %k: tensor<?x1x32xi8>) -> tensor<?x16x32xf32> {
  %y = norm.log_softmax %x mask(%m : tensor<1x32xf16>) keep(%k : tensor<?x1x32xi8>)
       {scale = 0.5 : f32, softcap = 8.0 : f32, causal = array<i64: 1, 2>} : tensor<?x16x32xf32> -> tensor<?x16x32xf32>
  return %y : tensor<?x16x32xf32>
}

// -----

// If the maximum is infinite, it is the result.
// CHECK-LABEL: @logsumexp(
// CHECK: %[[MAX:.*]] = norm.reduce max
// CHECK: %[[FINITE:.*]] = arith.addf %[[MAX]], %{{.*}} : f32
// CHECK: %[[IS_INFINITE:.*]] = arith.cmpf oeq
// CHECK: arith.select %[[IS_INFINITE]], %[[MAX]], %[[FINITE]] : f32
func.func @logsumexp(%x: tensor<?x64xf32>) -> tensor<?xf32> {
  %y = norm.logsumexp %x : tensor<?x64xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// linalg.softmax becomes the same program as norm.softmax; its destination only gives the size.
// CHECK-LABEL: @of_linalg(
// CHECK-NOT: linalg.softmax
// CHECK: norm.compute(%{{.*}} = %{{.*}} : tensor<?x64xbf16>) -> (%{{.*}} : tensor<?x64xbf16>) space(%[[M:.*]] = dim({{.*}}, 0), %[[N:.*]] = 64)
// CHECK: arith.extf
// CHECK: norm.reduce max %{{.*}} over(%[[M]])
// CHECK: math.exp
// CHECK: norm.reduce add %{{.*}} over(%[[M]])
// CHECK: arith.divf
// CHECK: arith.truncf
func.func @of_linalg(%x: tensor<?x64xbf16>, %to: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = linalg.softmax dimension(0) ins(%x : tensor<?x64xbf16>) outs(%to : tensor<?x64xbf16>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// Elements at or beyond the row's length are -inf, and their results are 0.
// CHECK-LABEL: @of_lengths(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
// CHECK: %[[LENGTH:.*]] = norm.read %{{.*}}[%[[M]]] : tensor<?xi32>
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %[[PLACE]], %[[LENGTH]] : i32
// CHECK: %[[LOGIT:.*]] = arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : f32
// CHECK: norm.reduce max %[[LOGIT]]
// CHECK: %[[Y:.*]] = arith.divf
// CHECK: %[[WHOLE:.*]] = arith.select %[[EXISTS]], %[[Y]], %{{.*}} : f32
// CHECK: norm.write %[[WHOLE]]
func.func @of_lengths(%x: tensor<?x64xf32>, %l: tensor<?xi32>) -> tensor<?x64xf32> {
  %y = norm.softmax %x lengths(%l : tensor<?xi32>) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
