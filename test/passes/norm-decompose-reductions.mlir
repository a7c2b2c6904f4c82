// Reductions over axes become the scalar programs that define them.
// RUN: norma-opt %s --split-input-file --norm-decompose | FileCheck %s

// With keepdims, a reduced axis has one element.
// CHECK-LABEL: @mean(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
// CHECK: %[[SUM:.*]] = norm.reduce add %{{.*}} over(%[[N]]) : f32
// CHECK: %[[MEAN:.*]] = arith.mulf %[[SUM]], %{{.*}} : f32
// CHECK: norm.write %{{.*}}[%[[M]], 0] : tensor<?x1xbf16>
func.func @mean(%x: tensor<?x64xbf16>) -> tensor<?x1xbf16> {
  %y = norm.reduce_axes mean %x {keepdims} : tensor<?x64xbf16> -> tensor<?x1xbf16>
  return %y : tensor<?x1xbf16>
}

// -----

// Integers are widened before they are added.
// CHECK-LABEL: @sum_of_integers(
// CHECK: %[[WIDE:.*]] = arith.extsi %{{.*}} : i8 to i64
// CHECK-NEXT: norm.reduce add %[[WIDE]] over(%{{.*}}) : i64
func.func @sum_of_integers(%x: tensor<?x64xi8>) -> tensor<?xi64> {
  %y = norm.reduce_axes sum %x : tensor<?x64xi8> -> tensor<?xi64>
  return %y : tensor<?xi64>
}

// -----

// NaN counts as true.
// CHECK-LABEL: @any(
// CHECK: %[[TRUTH:.*]] = arith.cmpf une, %{{.*}} : f32
// CHECK-NEXT: %[[ANY:.*]] = norm.reduce or %[[TRUTH]] over(%{{.*}}) : i1
// CHECK-NEXT: arith.extui %[[ANY]] : i1 to i8
func.func @any(%x: tensor<?x64xf32>) -> tensor<?xi8> {
  %y = norm.reduce_axes any %x : tensor<?x64xf32> -> tensor<?xi8>
  return %y : tensor<?xi8>
}

// -----

// The value and its position are reduced together; ties go to the earlier position.
// CHECK-LABEL: @argmax(
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[N:.*]] : index to i32
// CHECK-NEXT: %{{.*}}:2 = norm.reduce %{{.*}}, %[[PLACE]] over(%[[N]]) identity [0xFF800000 : f32, 2147483647 : i32] : f32, i32 combine {
// CHECK-NEXT: ^bb0(%[[V0:.*]]: f32, %[[P0:.*]]: i32, %[[V1:.*]]: f32, %[[P1:.*]]: i32):
// CHECK-NEXT: %[[EARLIER:.*]] = arith.cmpi slt, %[[P0]], %[[P1]] : i32
// CHECK-NEXT: arith.cmpf ogt, %[[V0]], %[[V1]] : f32
func.func @argmax(%x: tensor<?x64xf32>) -> tensor<?xi32> {
  %y = norm.reduce_axes argmax %x : tensor<?x64xf32> -> tensor<?xi32>
  return %y : tensor<?xi32>
}

// -----

// The place of several axes is in row-major order, whatever the order in which they are named.
// CHECK-LABEL: @argmax_of_two_axes(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[I:.*]] = 4, %[[J:.*]] = 64)
// CHECK: %[[OUTER:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK: %[[INNER:.*]] = arith.index_cast %[[J]] : index to i32
// CHECK: %[[BEFORE:.*]] = arith.muli %[[OUTER]], %c64_i32 : i32
// CHECK: %[[PLACE:.*]] = arith.addi %[[BEFORE]], %[[INNER]] : i32
// CHECK: %[[FOUND:.*]]:2 = norm.reduce %{{.*}}, %[[PLACE]] over(%[[I]], %[[J]])
// CHECK: norm.write %[[FOUND]]#1, %{{.*}}[%[[M]]] : tensor<?xi32>
func.func @argmax_of_two_axes(%x: tensor<?x4x64xf32>) -> tensor<?xi32> {
  %y = norm.reduce_axes argmax %x {axes = array<i64: 2, 1>} : tensor<?x4x64xf32> -> tensor<?xi32>
  return %y : tensor<?xi32>
}

// -----

// A factor that only a launch knows is applied to what the reduction found, which so does not wait for it. Nothing has the largest place.
// CHECK-LABEL: @argmax_of_dynamic_axes(
// CHECK: space(%[[I:.*]] = dim(%{{.*}}, 0), %[[J:.*]] = dim(%{{.*}}, 1))
// CHECK: %[[FOUND:.*]]:3 = norm.reduce %{{.*}}, %{{.*}}, %{{.*}} over(%[[I]], %[[J]])
// CHECK: %[[COLUMNS:.*]] = norm.reduce add %c1_i64 over(%[[J]]) : i64
// CHECK: %[[BEFORE:.*]] = arith.muli %[[FOUND]]#1, %[[COLUMNS]] : i64
// CHECK: %[[PLACE:.*]] = arith.addi %[[BEFORE]], %[[FOUND]]#2 : i64
// CHECK: %[[IS_NOTHING:.*]] = arith.cmpi eq, %[[FOUND]]#1, %c9223372036854775807_i64 : i64
// CHECK: arith.select %[[IS_NOTHING]], %c9223372036854775807_i64, %[[PLACE]] : i64
func.func @argmax_of_dynamic_axes(%x: tensor<?x?xf32>) -> tensor<i64> {
  %y = norm.reduce_axes argmax %x {axes = array<i64: 0, 1>} : tensor<?x?xf32> -> tensor<i64>
  return %y : tensor<i64>
}

// -----

// CHECK-LABEL: @argmax_of_no_axes(
// CHECK: norm.write %c0_i64, %{{.*}} : tensor<?xi64>
func.func @argmax_of_no_axes(%x: tensor<?xf32>) -> tensor<?xi64> {
  %y = norm.reduce_axes argmax %x {axes = array<i64>} : tensor<?xf32> -> tensor<?xi64>
  return %y : tensor<?xi64>
}

// -----

// CHECK-LABEL: @cumsum(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK-NEXT: %[[SUM:.*]] = norm.scan add %[[WIDE]] along(%[[N]]) : f32
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK-NEXT: norm.write %[[Y]], %{{.*}}[%[[M]], %[[N]]] : tensor<?x64xbf16>
func.func @cumsum(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = norm.cumsum %x : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// Integers are widened before they are added.
// CHECK-LABEL: @cumsum_of_integers(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %{{.*}} = 64)
// CHECK: %[[WIDE:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK-NEXT: norm.scan add exclusive %[[WIDE]] along(%[[M]]) : i64
func.func @cumsum_of_integers(%x: tensor<?x64xi32>) -> tensor<?x64xi64> {
  %y = norm.cumsum %x {axis = 0, exclusive} : tensor<?x64xi32> -> tensor<?x64xi64>
  return %y : tensor<?x64xi64>
}

// -----

// Values of 16 bits and positions among 65 columns fit keys of 32 bits, which a reduction with several results gives in order.
// CHECK-LABEL: @top_k(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 65, %[[J:.*]] = 3)
// CHECK: %[[X:.*]] = norm.read %{{.*}}[%[[M]], %[[N]]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[WIDE]] : f32 to i32
// CHECK: arith.shrsi %[[BITS]], %c16{{.*}} : i32
// CHECK: %[[UPPER:.*]] = arith.shli %{{.*}}, %{{.*}} : i32
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK: %[[LOWER:.*]] = arith.subi %c65535{{.*}}, %[[PLACE]] : i32
// CHECK: %[[KEY:.*]] = arith.ori %[[UPPER]], %[[LOWER]] : i32
// CHECK: norm.reduce max %[[KEY]] over(%[[N]]) nth(%[[J]]) : i32
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M]], %[[J]]] : tensor<?x3xbf16>
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M]], %[[J]]] : tensor<?x3xi32>
func.func @top_k(%x: tensor<?x65xbf16>) -> (tensor<?x3xbf16>, tensor<?x3xi32>) {
  %v, %i = norm.top_k %x {k = 3} : tensor<?x65xbf16> -> tensor<?x3xbf16>, tensor<?x3xi32>
  return %v, %i : tensor<?x3xbf16>, tensor<?x3xi32>
}

// -----

// A row of any length takes keys of 64 bits.
// CHECK-LABEL: @top_k_of_columns(
// CHECK: space(%[[N:.*]] = dim(%{{.*}}, 0), %[[M:.*]] = 64, %[[J:.*]] = 3)
// CHECK: norm.reduce max %{{.*}} over(%[[N]]) nth(%[[J]]) : i64
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[J]], %[[M]]] : tensor<3x64xi8>
func.func @top_k_of_columns(%x: tensor<?x64xi8>) -> (tensor<3x64xi8>, tensor<3x64xi64>) {
  %v, %i = norm.top_k %x {k = 3, axis = 0} : tensor<?x64xi8> -> tensor<3x64xi8>, tensor<3x64xi64>
  return %v, %i : tensor<3x64xi8>, tensor<3x64xi64>
}

// -----

// Gradients are summed at the position that they were taken from; indices of no position contribute nothing.
// CHECK-LABEL: @top_k_grad(
// CHECK: space(%[[J:.*]] = 3, %[[M:.*]] = dim(%{{.*}}, 1), %[[N:.*]] = 65)
// CHECK: %[[DV:.*]] = norm.read %{{.*}}[%[[J]], %[[M]]] : tensor<3x?xbf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[DV]] : bf16 to f32
// CHECK: %[[I:.*]] = norm.read %{{.*}}[%[[J]], %[[M]]] : tensor<3x?xi32>
// CHECK: %[[IS_HERE:.*]] = arith.cmpi eq, %[[N]], %{{.*}} : index
// CHECK: %[[HERE:.*]] = arith.select %[[IS_HERE]], %[[WIDE]], %{{.*}} : f32
// CHECK: %[[SUM:.*]] = norm.reduce add %[[HERE]] over(%[[J]]) : f32
// CHECK: %[[DX:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK: norm.write %[[DX]], %{{.*}}[%[[N]], %[[M]]] : tensor<65x?xf16>
func.func @top_k_grad(%dv: tensor<3x?xbf16>, %i: tensor<3x?xi32>) -> tensor<65x?xf16> {
  %dx = norm.top_k_grad %dv indices(%i : tensor<3x?xi32>) {elements = 65, axis = 0} : tensor<3x?xbf16> -> tensor<65x?xf16>
  return %dx : tensor<65x?xf16>
}
