// Ops on whole tensors become one program each, in their own element types.
// RUN: norma-opt %s --split-input-file --norm-form-computes | FileCheck %s --implicit-check-not=linalg. --implicit-check-not=tensor.

// CHECK-LABEL: func.func @gate(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[G:.*]]: tensor<?x64xbf16>
// CHECK-NEXT: norm.compute(%[[A:.*]] = %[[X]] : {{.*}}, %[[B:.*]] = %[[G]] : {{.*}}) -> (%[[O:.*]] : tensor<?x64xbf16>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[A]], 0), %[[N:.*]] = 64)
// CHECK-NEXT: %[[V0:.*]] = norm.read %[[A]][%[[M]], %[[N]]]
// CHECK-NEXT: %[[V1:.*]] = norm.read %[[B]][%[[M]], %[[N]]]
// CHECK-NEXT: %[[V2:.*]] = arith.mulf %[[V0]], %[[V1]] : bf16
// CHECK-NEXT: norm.write %[[V2]], %[[O]][%[[M]], %[[N]]]
func.func @gate(%x: tensor<?x64xbf16>, %g: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %y = arith.mulf %x, %g : tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// An operand that is used twice is one input that is read twice; attributes stay.
// CHECK-LABEL: func.func @compare(
// CHECK: norm.compute(%[[A:[^ ]*]] = %{{[^,]*}}) -> (%{{.*}} : tensor<4x8xi1>) space(%{{.*}} = 4, %{{.*}} = 8)
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} fastmath<nnan> : f32
func.func @compare(%x: tensor<4x8xf32>) -> tensor<4x8xi1> {
  %y = arith.cmpf olt, %x, %x fastmath<nnan> : tensor<4x8xf32>
  return %y : tensor<4x8xi1>
}

// -----

// Sizes that an op requires to be equal become the first of them: that of %x for both.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>
// CHECK: %[[E:.*]] = norm.compute(%{{.*}} = %[[Y]] : tensor<?xf32>, %[[S:.*]] = %[[X]] : tensor<?xf32>)
// CHECK-SAME: space(%{{.*}} = dim(%[[S]], 0))
// CHECK: norm.compute(%[[A:.*]] = %[[X]] : tensor<?xf32>, %{{.*}} = %[[E]] : tensor<?xf32>)
// CHECK-SAME: space(%{{.*}} = dim(%[[A]], 0))
func.func @sizes(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %e = math.exp %y : tensor<?xf32>
  %s = arith.addf %x, %e : tensor<?xf32>
  return %s : tensor<?xf32>
}

// -----

// Scalars are copied into the program, back to the function's arguments.
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[S:.*]]: f32
// CHECK: norm.compute(%[[SIZE:.*]] = %[[X]] : tensor<?x8xf32>, %[[IN:.*]] = %[[S]] : f32)
// CHECK-SAME: space(%{{.*}} = dim(%[[SIZE]], 0), %{{.*}} = 8)
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2.{{0*}}e+00 : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[IN]], %[[TWO]] : f32
// CHECK-NEXT: norm.write %[[PRODUCT]]
// CHECK: norm.compute() -> (%{{.*}} : tensor<4xi32>) space(%{{.*}} = 4) {
// CHECK-NEXT: arith.constant 7 : i32
func.func @numbers(%x: tensor<?x8xf32>, %s: f32) -> (tensor<?x8xf32>, tensor<4xi32>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %two = arith.constant 2.0 : f32
  %p = arith.mulf %s, %two : f32
  %y = tensor.splat %p[%m] : tensor<?x8xf32>
  %z = arith.constant dense<7> : tensor<4xi32>
  return %y, %z : tensor<?x8xf32>, tensor<4xi32>
}

// -----

// A size that a number depends on is the number of points of a dim behind those of the result.
// CHECK-LABEL: func.func @size_as_number(
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>
// CHECK: space(%[[M:.*]] = dim(%[[A:.*]], 0), %[[N:.*]] = dim(%[[A]], 1))
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i64
// CHECK-NEXT: %[[COUNT:.*]] = norm.reduce add %[[ONE]] over(%[[N]]) : i64
// CHECK-NEXT: %[[INDEX:.*]] = arith.index_cast %[[COUNT]] : i64 to index
// CHECK-NEXT: %[[INTEGER:.*]] = arith.index_cast %[[INDEX]] : index to i64
// CHECK-NEXT: %[[NUMBER:.*]] = arith.sitofp %[[INTEGER]] : i64 to f32
// CHECK-NEXT: norm.write %[[NUMBER]], %{{.*}}[%[[M]]]
func.func @size_as_number(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %i = arith.index_cast %n : index to i64
  %f = arith.sitofp %i : i64 to f32
  %y = tensor.splat %f[%m] : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// A dim that ranges over that size already is counted; a size that is known is a constant.
// CHECK-LABEL: func.func @sizes_inside(
// CHECK: space(%{{.*}} = 4, %[[N:.*]] = dim(%{{.*}}, 1))
// CHECK-DAG: norm.reduce add %{{.*}} over(%[[N]]) : i64
// CHECK-DAG: arith.constant 4 : index
// CHECK: norm.write
func.func @sizes_inside(%x: tensor<4x?xi64>) -> tensor<4x?xi64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<4x?xi64>
  %n = tensor.dim %x, %c1 : tensor<4x?xi64>
  %p = arith.muli %m, %n : index
  %i = arith.index_cast %p : index to i64
  %e = tensor.empty(%n) : tensor<4x?xi64>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x?xi64>) outs(%e : tensor<4x?xi64>) {
  ^bb0(%v: i64, %o: i64):
    %0 = arith.addi %v, %i : i64
    linalg.yield %0 : i64
  } -> tensor<4x?xi64>
  return %y : tensor<4x?xi64>
}

// -----

// The element of a tensor without axes is a number, too.
// CHECK-LABEL: func.func @element_as_number(
// CHECK-SAME: %{{.*}}: tensor<4xf32>, %[[S:.*]]: tensor<f32>
// CHECK: norm.compute(%[[IN:.*]] = %[[S]] : tensor<f32>)
// CHECK-NEXT: %[[E:.*]] = norm.read %[[IN]][]
// CHECK-NEXT: %[[T:.*]] = math.exp %[[E]] : f32
// CHECK-NEXT: norm.write %[[T]]
func.func @element_as_number(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %e = tensor.extract %s[] : tensor<f32>
  %t = math.exp %e : f32
  %y = tensor.splat %t : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @rearranged(
// CHECK: norm.read %{{.*}}[%[[C:.*]], %[[R:.*]]] : tensor<8x4xf32>
// CHECK-NEXT: norm.write %{{.*}}, %{{.*}}[%[[R]], %[[C]]] : tensor<4x8xf32>
// CHECK: space(%[[I:.*]] = 2, %[[J:.*]] = 4, %[[K:.*]] = 8)
// CHECK-NEXT: norm.read %{{.*}}[%[[J]], %[[K]]] : tensor<4x8xf32>
// CHECK-NEXT: norm.write %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K]]] : tensor<2x4x8xf32>
func.func @rearranged(%x: tensor<8x4xf32>) -> tensor<2x4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %t = linalg.transpose ins(%x : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  %f = tensor.empty() : tensor<2x4x8xf32>
  %b = linalg.broadcast ins(%t : tensor<4x8xf32>) outs(%f : tensor<2x4x8xf32>) dimensions = [0]
  return %b : tensor<2x4x8xf32>
}

// -----

// The ops of a region, its indices, and values that it uses from outside.
// CHECK-LABEL: func.func @generic(
// CHECK: norm.compute(%[[A:.*]] = %{{.*}} : tensor<?x8xf32>, %[[W:.*]] = %{{.*}} : tensor<8xf32>) -> (%[[O:.*]] : tensor<?x8xf32>)
// CHECK-SAME: space(%[[I:.*]] = dim(%[[A]], 0), %[[J:.*]] = 8)
// CHECK-DAG: %[[V:.*]] = norm.read %[[A]][%[[I]], %[[J]]]
// CHECK-DAG: %[[U:.*]] = norm.read %[[W]][%[[J]]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[J]] : index to i32
// CHECK: %[[F:.*]] = arith.sitofp %[[INDEX]] : i32 to f32
// CHECK: %[[HALF:.*]] = arith.constant 5.{{0*}}e-01 : f32
// CHECK: arith.mulf %{{.*}}, %[[HALF]] : f32
func.func @generic(%x: tensor<?x8xf32>, %w: tensor<8xf32>) -> tensor<?x8xf32> {
  %half = arith.constant 0.5 : f32
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<?x8xf32>, tensor<8xf32>) outs(%x : tensor<?x8xf32>) {
  ^bb0(%v: f32, %u: f32, %o: f32):
    %j = linalg.index 1 : index
    %0 = arith.index_cast %j : index to i32
    %1 = arith.sitofp %0 : i32 to f32
    %2 = arith.mulf %u, %half : f32
    %3 = arith.addf %v, %1 : f32
    %4 = arith.addf %3, %2 : f32
    linalg.yield %4 : f32
  } -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// A reduction whose initial value is the identity is a plain reduction; any other is combined with its initial value.
// CHECK-LABEL: func.func @reduced(
// CHECK: norm.compute() -> (%{{.*}} : tensor<4xf32>)
// CHECK: norm.compute(%[[A:[^ ]*]] = %{{[^,]*}}) -> (%[[O:.*]] : tensor<4xf32>) space(%[[M:.*]] = 4, %[[N:.*]] = 8)
// CHECK: %[[SUM:.*]] = norm.reduce add %{{.*}} over(%[[N]]) : f32
// CHECK-NEXT: norm.write %[[SUM]], %[[O]][%[[M]]]
// CHECK: norm.compute(%{{.*}} = %{{.*}} : tensor<4x8xf32>, %[[FROM:.*]] = %{{.*}} : tensor<4xf32>)
// CHECK: %[[MAX:.*]] = norm.reduce max
// CHECK: %[[BEGIN:.*]] = norm.read %[[FROM]]
// CHECK-NEXT: arith.maximumf %[[BEGIN]], %[[MAX]] : f32
func.func @reduced(%x: tensor<4x8xf32>, %from: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce {arith.addf} ins(%x : tensor<4x8xf32>) outs(%z : tensor<4xf32>) dimensions = [1]
  %m = linalg.reduce {arith.maximumf} ins(%x : tensor<4x8xf32>) outs(%from : tensor<4xf32>) dimensions = [1]
  return %s, %m : tensor<4xf32>, tensor<4xf32>
}

// -----

// A sum of squares over two loops, of an operand that is transposed.
// CHECK-LABEL: func.func @sum_of_squares(
// CHECK: space(%[[I:.*]] = 2, %[[J:.*]] = dim(%{{.*}}, 0), %[[K:.*]] = 4)
// CHECK: norm.read %{{.*}}[%[[J]], %[[I]], %[[K]]]
// CHECK: %[[SQUARE:.*]] = arith.mulf
// CHECK: norm.reduce add %[[SQUARE]] over(%[[J]], %[[K]]) : f32
func.func @sum_of_squares(%x: tensor<?x2x4xf32>) -> tensor<2xf32> {
  %z = arith.constant dense<0.0> : tensor<2xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, i, k)>, affine_map<(i, j, k) -> (i)>],
                       iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<?x2x4xf32>) outs(%z : tensor<2xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %0 = arith.mulf %v, %v : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2xf32>
  return %s : tensor<2xf32>
}

// -----

// A result is the same at each step of a loop that indexes another result alone.
// CHECK-LABEL: func.func @row_and_copies(
// CHECK: -> (%[[S:.*]] : tensor<4xf32>, %[[C:.*]] : tensor<4x8xf32>) space(%[[M:.*]] = 4, %[[N:.*]] = 8)
// CHECK: %[[V:.*]] = arith.negf
// CHECK: norm.write %[[V]], %[[S]][%[[M]]]
// CHECK: norm.write %[[V]], %[[C]][%[[M]], %[[N]]]
func.func @row_and_copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4xf32>) outs(%e, %f : tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%v: f32, %s: f32, %c: f32):
    %0 = arith.negf %v : f32
    linalg.yield %0, %0 : f32, f32
  } -> (tensor<4xf32>, tensor<4x8xf32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4x8xf32>
}
