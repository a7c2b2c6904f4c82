// Views of tensors become programs that read each element from its place, and are fused with their users.
// RUN: norma-opt %s --split-input-file --norm-form-computes | FileCheck %s --implicit-check-not=tensor.
// RUN: norma-opt %s --split-input-file --norm-form-computes --norm-fuse-computes | FileCheck %s --check-prefix=FUSED

// The side with more axes has the dims; the axes of the other side are linear combinations of these.
// CHECK-LABEL: func.func @heads(
// CHECK: norm.compute(%[[X:[^ ]*]] = %{{[^,]*}}) -> (%[[E:.*]] : tensor<?x4x8xf32>) space(%[[M:.*]] = dim(%[[X]], 0), %[[H:.*]] = 4, %[[C:.*]] = 8)
// CHECK-NEXT: norm.read %[[X]][%[[M]], %[[H]] * 8 + %[[C]]] : tensor<?x32xf32>
// CHECK-NEXT: norm.write %{{.*}}, %[[E]][%[[M]], %[[H]], %[[C]]]
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M:.*]], %[[H:.*]] * 8 + %[[C:.*]]] : tensor<?x32xf32>
// FUSED-LABEL: func.func @heads(
// FUSED: norm.compute(%[[X:.*]] = %{{.*}} : tensor<?x32xf32>, %[[W:.*]] = %{{.*}} : tensor<?x32xf32>) -> (%[[O:.*]] : tensor<?x32xf32>)
// FUSED-SAME: space(%[[M:.*]] = dim(%[[X]], 0), %[[H:.*]] = 4, %[[C:.*]] = 8)
// FUSED: %[[V:.*]] = norm.read %[[X]][%[[M]], %[[H]] * 8 + %[[C]]]
// FUSED: norm.reduce max %[[V]] over(%[[C]])
// FUSED: norm.read %[[W]][%[[M]], %[[H]] * 8 + %[[C]]]
// FUSED: norm.write %{{.*}}, %[[O]][%[[M]], %[[H]] * 8 + %[[C]]]
// FUSED-NOT: norm.compute
func.func @heads(%x: tensor<?x32xf32>, %w: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x32xf32>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [%m, 4, 8] : tensor<?x32xf32> into tensor<?x4x8xf32>
  %s = norm.compute(%a = %e : tensor<?x4x8xf32>) -> (%o : tensor<?x4x8xf32>) space(%i = dim(%a, 0), %h = 4, %k = 8) {
    %0 = norm.read %a[%i, %h, %k] : tensor<?x4x8xf32>
    %1 = norm.reduce max %0 over(%k) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%i, %h, %k] : tensor<?x4x8xf32>
  }
  %r = tensor.collapse_shape %s [[0], [1, 2]] : tensor<?x4x8xf32> into tensor<?x32xf32>
  %y = arith.mulf %r, %w : tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// The part of a dynamic size that other axes leave is a quotient; the size of a joined axis is a product.
// CHECK-LABEL: func.func @sizes(
// CHECK: space(%[[I:.*]] = dim(%[[X:.*]], 0) floordiv 8, %[[J:.*]] = 8)
// CHECK-NEXT: norm.read %[[X]][%[[I]] * 8 + %[[J]]] : tensor<?xf32>
// CHECK: space(%[[I:.*]] = dim(%[[E:.*]], 0), %[[J:.*]] = 8)
// CHECK-NEXT: norm.read %[[E]][%[[I]], %[[J]]]
// CHECK-NEXT: norm.write %{{.*}}, %{{.*}}[%[[I]] * 8 + %[[J]]] : tensor<?xf32>
// CHECK: space(%{{.*}} = dim(%{{.*}}, 0))
// FUSED-LABEL: func.func @sizes(
// FUSED: space(%[[I:.*]] = dim(%[[X:.*]], 0) floordiv 8, %[[J:.*]] = 8)
// FUSED-NOT: norm.compute
func.func @sizes(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.divsi %n, %c8 : index
  %e = tensor.expand_shape %x [[0, 1]] output_shape [%m, 8] : tensor<?xf32> into tensor<?x8xf32>
  %c = tensor.collapse_shape %e [[0, 1]] : tensor<?x8xf32> into tensor<?xf32>
  %y = math.exp %c : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Axes of one element have no dim, wherever they are. A cast keeps all axes, and the size that it states also holds before it.
// FUSED-LABEL: func.func @axes_of_one(
// CHECK-LABEL: func.func @axes_of_one(
// CHECK: norm.compute(%[[X:[^ ]*]] = %{{[^,]*}}) -> (%{{.*}} : tensor<?xf32>) space(%[[M:.*]] = 3)
// CHECK-NEXT: norm.read %[[X]][%[[M]], 0] : tensor<?x1xf32>
// CHECK-NEXT: norm.write %{{.*}}, %{{.*}}[%[[M]]] : tensor<?xf32>
// CHECK: space(%[[M:.*]] = 3)
// CHECK-NEXT: norm.read %[[C:.*]][%[[M]]] : tensor<?xf32>
// CHECK-NEXT: norm.write %{{.*}}, %{{.*}}[%[[M]]] : tensor<3xf32>
// CHECK: space() {
// CHECK-NEXT: norm.read %{{.*}}[0, 0] : tensor<1x1xf32>
// CHECK-NEXT: norm.write %{{.*}}, %{{.*}}[] : tensor<f32>
func.func @axes_of_one(%x: tensor<?x1xf32>, %z: tensor<1x1xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<?x1xf32> into tensor<?xf32>
  %y = tensor.cast %c : tensor<?xf32> to tensor<3xf32>
  %s = tensor.collapse_shape %z [] : tensor<1x1xf32> into tensor<f32>
  return %y, %s : tensor<3xf32>, tensor<f32>
}

// -----

// Offsets and strides, and an axis that the result drops.
// CHECK-LABEL: func.func @slices(
// CHECK: space(%[[M:.*]] = dim(%[[X:.*]], 0), %[[N:.*]] = 8)
// CHECK-NEXT: norm.read %[[X]][%[[M]], 2, %[[N]] * 3 + 5] : tensor<?x4x32xf32>
// CHECK-NEXT: norm.write %{{.*}}, %{{.*}}[%[[M]], %[[N]]]
// FUSED-LABEL: func.func @slices(
// FUSED: norm.read %[[X:.*]][%[[M:.*]], 2, %[[N:.*]] * 3 + 5]
// FUSED: norm.reduce add %{{.*}} over(%[[N]])
// FUSED-NOT: norm.compute
func.func @slices(%x: tensor<?x4x32xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %m = tensor.dim %x, %c0 : tensor<?x4x32xf32>
  %s = tensor.extract_slice %x[0, 2, %c5] [%m, 1, 8] [1, 1, 3] : tensor<?x4x32xf32> to tensor<?x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %y = linalg.reduce {arith.addf} ins(%s : tensor<?x8xf32>) outs(%f : tensor<?xf32>) dimensions = [1]
  return %y : tensor<?xf32>
}

// -----

// A view of a constant is that constant: the reduction begins with its identity.
// FUSED-LABEL: func.func @constant(
// CHECK-LABEL: func.func @constant(
// CHECK: norm.reduce add
// CHECK-NEXT: norm.write
func.func @constant(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x2xf32>
  %f = tensor.collapse_shape %zero [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %y = linalg.reduce {arith.addf} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1]
  return %y : tensor<4xf32>
}

// -----

// A slice with dynamic offsets: the arguments that give them are scalars of the program, and symbols of its access.
// CHECK-LABEL: func.func @part_from(
// CHECK: norm.compute(%[[X:[^ ]*]] = %{{.*}} : tensor<?x64xf32>, %[[A:[^ ]*]] = %{{.*}} : index, %[[B:[^ ]*]] = %{{.*}} : index) -> (%[[Y:.*]] : tensor<?x16xf32>) space(%[[M:.*]] = dim(%[[X]], 0), %[[N:.*]] = 16)
// CHECK-NEXT: norm.read %[[X]][%[[M]], %[[N]] * 2 + %[[A]] * 8 - %[[B]] + 1] : tensor<?x64xf32>
// CHECK-NEXT: norm.write %{{.*}}, %[[Y]][%[[M]], %[[N]]]
// FUSED-LABEL: func.func @part_from(
// FUSED: norm.compute(%[[X:[^ ]*]] = %{{.*}} : tensor<?x64xf32>, %[[A:[^ ]*]] = %{{.*}} : index, %[[B:[^ ]*]] = %{{.*}} : index)
// FUSED: %[[V:.*]] = norm.read %[[X]][%[[M:.*]], %[[N:.*]] * 2 + %[[A]] * 8 - %[[B]] + 1]
// FUSED: norm.reduce max %[[V]] over(%[[N]])
// FUSED-NOT: norm.compute
func.func @part_from(%x: tensor<?x64xf32>, %a: index, %b: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %0 = arith.muli %c8, %a : index
  %1 = arith.subi %0, %b : index
  %o = arith.addi %1, %c1 : index
  %s = tensor.extract_slice %x[0, %o] [%m, 16] [1, 2] : tensor<?x64xf32> to tensor<?x16xf32>
  %y = norm.compute(%i = %s : tensor<?x16xf32>) -> (%r : tensor<?xf32>) space(%p = dim(%i, 0), %n = 16) {
    %v = norm.read %i[%p, %n] : tensor<?x16xf32>
    %w = norm.reduce max %v over(%n) : f32
    norm.write %w, %r[%p] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// A computed tensor is evaluated where it is read: its coordinates include the offset too.
// FUSED-LABEL: func.func @coordinates(
// FUSED: norm.compute(%{{.*}} = %{{.*}} : tensor<32xf32>, %[[O:[^ ]*]] = %{{.*}} : index) -> (%{{.*}} : tensor<8xf32>) space(%[[N:.*]] = 8)
// FUSED-DAG: norm.read %{{.*}}[%[[N]] + %[[O]]] : tensor<32xf32>
// FUSED-DAG: arith.addi %[[N]], %[[O]] : index
// FUSED-NOT: norm.compute
func.func @coordinates(%x: tensor<32xf32>, %o: index) -> tensor<8xf32> {
  %p = norm.compute(%i = %x : tensor<32xf32>) -> (%r : tensor<32xf32>) space(%n = 32) {
    %v = norm.read %i[%n] : tensor<32xf32>
    %k = arith.index_cast %n : index to i32
    %f = arith.sitofp %k : i32 to f32
    %w = arith.mulf %v, %f : f32
    norm.write %w, %r[%n] : tensor<32xf32>
  }
  %s = tensor.extract_slice %p[%o] [8] [1] : tensor<32xf32> to tensor<8xf32>
  return %s : tensor<8xf32>
}
