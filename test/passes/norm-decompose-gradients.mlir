// Gradients become the scalar programs that define them: sums along a row and sums over rows cross in one program, and results
// that are not asked for are not computed.
// RUN: norma-opt %s --split-input-file --norm-decompose | FileCheck %s

// No sum along the row waits for rstd, whether it is given or not.
// CHECK-LABEL: @rms_norm_grad(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
// CHECK: %[[X:.*]] = arith.extf
// CHECK: norm.reduce add %{{.*}} over(%[[N]]) : f32
// CHECK: %[[RSTD:.*]] = math.rsqrt
// CHECK: %[[DY:.*]] = arith.extf
// CHECK: %[[G:.*]] = arith.mulf %[[DY]], %{{.*}} : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[X]], %[[G]] : f32
// CHECK-NEXT: norm.reduce add %[[PRODUCT]] over(%[[N]]) : f32
// CHECK: %[[H:.*]] = arith.mulf %[[X]], %[[RSTD]] : f32
// CHECK: %[[ACROSS:.*]] = arith.subf %[[G]], %{{.*}} : f32
// CHECK-NEXT: %[[DX:.*]] = arith.mulf %[[ACROSS]], %[[RSTD]] : f32
// CHECK: norm.write %{{.*}}[%[[M]], %[[N]]]
// CHECK: %[[TERM:.*]] = arith.mulf %[[DY]], %[[H]] : f32
// CHECK-NEXT: %[[DW:.*]] = norm.reduce add %[[TERM]] over(%[[M]]) : f32
// CHECK-NEXT: norm.write %[[DW]], %{{.*}}[%[[N]]] : tensor<64xf32>
// CHECK-NOT: norm.reduce
func.func @rms_norm_grad(%x: tensor<?x64xbf16>, %dy: tensor<?x64xbf16>, %w: tensor<64xf32>) -> (tensor<?x64xbf16>, tensor<64xf32>) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x64xbf16>) weight(%w : tensor<64xf32>)
             : tensor<?x64xbf16> -> tensor<?x64xbf16> dweight(tensor<64xf32>)
  return %dx, %dw : tensor<?x64xbf16>, tensor<64xf32>
}

// -----

// Given statistics are read, and a residual is added last.
// CHECK-LABEL: @layer_norm_grad(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
// CHECK: %[[MEAN:.*]] = norm.read %{{.*}}[%[[M]]] : tensor<?xf32>
// CHECK: %[[CENTRED:.*]] = arith.subf %{{.*}}, %[[MEAN]] : f32
// CHECK: %[[RSTD:.*]] = norm.read %{{.*}}[%[[M]]] : tensor<?xf32>
// CHECK-COUNT-2: norm.reduce add %{{.*}} over(%[[N]]) : f32
// CHECK: %[[BUT_MEAN:.*]] = arith.subf %{{.*}}, %{{.*}} : f32
// CHECK: %[[ACROSS:.*]] = arith.subf %[[BUT_MEAN]], %{{.*}} : f32
// CHECK: %[[DX:.*]] = arith.mulf %[[ACROSS]], %[[RSTD]] : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[DX]], %{{.*}} : f32
// CHECK: norm.write %[[SUM]]
// CHECK: norm.reduce add %{{.*}} over(%[[M]]) : f32
// CHECK-NOT: norm.reduce
func.func @layer_norm_grad(%x: tensor<?x64xf32>, %dy: tensor<?x64xf32>, %m: tensor<?xf32>, %r: tensor<?xf32>)
    -> (tensor<?x64xf32>, tensor<64xf32>) {
  %dx, %db = norm.layer_norm_grad %x dy(%dy : tensor<?x64xf32>) mean(%m : tensor<?xf32>) rstd(%r : tensor<?xf32>)
             residual(%dy : tensor<?x64xf32>) : tensor<?x64xf32> -> tensor<?x64xf32> dbias(tensor<64xf32>)
  return %dx, %db : tensor<?x64xf32>, tensor<64xf32>
}

// -----

// A single row has weights of its own: nothing is summed over rows.
// CHECK-LABEL: @one_row(
// CHECK: space(%[[N:.*]] = 64)
// CHECK: norm.write %{{.*}}[%[[N]]] : tensor<64xf32>
// CHECK-NEXT: %[[TERM:.*]] = arith.mulf
// CHECK-NEXT: norm.write %[[TERM]], %{{.*}}[%[[N]]] : tensor<64xf32>
// CHECK-NEXT: }
func.func @one_row(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %dx, %dw = norm.rms_norm_grad %x dy(%x : tensor<64xf32>) : tensor<64xf32> -> tensor<64xf32> dweight(tensor<64xf32>)
  return %dx, %dw : tensor<64xf32>, tensor<64xf32>
}

// -----

// Weights of channels are summed over the batch and all points.
// CHECK-LABEL: @group_norm_grad(
// CHECK: space(%[[B:.*]] = dim(%{{.*}}, 0), %[[G:.*]] = 4, %[[K:.*]] = 2, %[[P:.*]] = 16)
// CHECK-COUNT-2: norm.reduce add %{{.*}} over(%[[K]], %[[P]]) : f32
// CHECK: norm.write %{{.*}}[%[[B]], %[[G]] * 2 + %[[K]], %[[P]]]
// CHECK: norm.reduce add %{{.*}} over(%[[B]], %[[P]]) : f32
// CHECK-NEXT: norm.write %{{.*}}[%[[G]] * 2 + %[[K]]] : tensor<8xf32>
func.func @group_norm_grad(%x: tensor<?x8x16xf32>, %m: tensor<?x4xf32>) -> (tensor<?x8x16xf32>, tensor<8xf32>) {
  %dx, %dw = norm.group_norm_grad %x dy(%x : tensor<?x8x16xf32>) mean(%m : tensor<?x4xf32>) rstd(%m : tensor<?x4xf32>) {groups = 4}
             : tensor<?x8x16xf32> -> tensor<?x8x16xf32> dweight(tensor<8xf32>)
  return %dx, %dw : tensor<?x8x16xf32>, tensor<8xf32>
}

// -----

// Both sums share a pass; a length that the forward op raised to eps has no gradient along x.
// CHECK-LABEL: @l2_norm_grad(
// CHECK: %[[SQUARES:.*]] = norm.reduce add
// CHECK: %[[LENGTH:.*]] = math.sqrt %[[SQUARES]] : f32
// CHECK: norm.reduce add
// CHECK: %[[IS_LONG:.*]] = arith.cmpf oge, %[[LENGTH]], %{{.*}} : f32
// CHECK: arith.select %[[IS_LONG]]
func.func @l2_norm_grad(%x: tensor<?x64xf32>, %dy: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %dx = norm.l2_norm_grad %x dy(%dy : tensor<?x64xf32>) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %dx : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @softmax_grad(
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[Y:.*]], %[[DY:.*]] : f32
// CHECK-NEXT: %[[SUM:.*]] = norm.reduce add %[[PRODUCT]] over(%{{.*}}) : f32
// CHECK-NEXT: %[[CENTRED:.*]] = arith.subf %[[DY]], %[[SUM]] : f32
// CHECK-NEXT: %[[DX:.*]] = arith.mulf %[[Y]], %[[CENTRED]] : f32
// CHECK-NEXT: norm.write %[[DX]]
func.func @softmax_grad(%y: tensor<?x64xf32>, %dy: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %dx = norm.softmax_grad %y dy(%dy : tensor<?x64xf32>) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %dx : tensor<?x64xf32>
}

// -----

// Elements at or beyond the row's length are in no sum, and their gradients are 0; a residual is added to that.
// CHECK-LABEL: @rms_norm_grad_of_lengths(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
// CHECK: %[[LENGTH:.*]] = norm.read %{{.*}}[%[[M]]] : tensor<?xi32>
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %[[LENGTH]] : i32
// CHECK: %[[G:.*]] = arith.mulf %{{.*}}, %[[DY:.*]] : f32
// CHECK: %[[PRODUCT:.*]] = arith.select %[[EXISTS]], %[[G]], %{{.*}} : f32
// CHECK-NEXT: norm.reduce add %[[PRODUCT]] over(%[[N]]) : f32
// CHECK: norm.reduce add %{{.*}} over(%[[N]]) : f32
// CHECK: %[[DX:.*]] = arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[DX]], %{{.*}} : f32
// CHECK-NEXT: norm.write %[[SUM]]
// CHECK: %[[TERM:.*]] = arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: norm.reduce add %[[TERM]] over(%[[M]]) : f32
// CHECK: %[[DB:.*]] = arith.select %[[EXISTS]], %[[DY]], %{{.*}} : f32
// CHECK-NEXT: norm.reduce add %[[DB]] over(%[[M]]) : f32
func.func @rms_norm_grad_of_lengths(%x: tensor<?x64xf32>, %dy: tensor<?x64xf32>, %r: tensor<?xf32>, %l: tensor<?xi32>)
    -> (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %dx, %dw, %db = norm.rms_norm_grad %x dy(%dy : tensor<?x64xf32>) rstd(%r : tensor<?xf32>) residual(%dy : tensor<?x64xf32>)
                  lengths(%l : tensor<?xi32>) : tensor<?x64xf32> -> tensor<?x64xf32> dweight(tensor<64xf32>) dbias(tensor<64xf32>)
  return %dx, %dw, %db : tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----

// CHECK-LABEL: @softmax_grad_of_lengths(
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i64
// CHECK: %[[PRODUCT:.*]] = arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: norm.reduce add %[[PRODUCT]]
// CHECK: %[[DX:.*]] = arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: norm.write %[[DX]]
func.func @softmax_grad_of_lengths(%y: tensor<?x64xf32>, %dy: tensor<?x64xf32>, %l: tensor<?xi64>) -> tensor<?x64xf32> {
  %dx = norm.softmax_grad %y dy(%dy : tensor<?x64xf32>) lengths(%l : tensor<?xi64>) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %dx : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: @log_softmax_grad(
// CHECK: %[[SUM:.*]] = norm.reduce add %[[DY:.*]] over(%{{.*}}) : f32
// CHECK-NEXT: %[[P:.*]] = math.exp
// CHECK-NEXT: %[[SHARE:.*]] = arith.mulf %[[P]], %[[SUM]] : f32
// CHECK-NEXT: %[[DS:.*]] = arith.subf %[[DY]], %[[SHARE]] : f32
// CHECK: arith.mulf %[[DS]], %{{.*}} : f32
func.func @log_softmax_grad(%y: tensor<?x64xf32>, %dy: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %dx = norm.log_softmax_grad %y dy(%dy : tensor<?x64xf32>) {scale = 0.5 : f32} : tensor<?x64xf32> -> tensor<?x64xf32>
  return %dx : tensor<?x64xf32>
}

// -----

// With the forward op's lse nothing is reduced over the classes.
// CHECK-LABEL: @cross_entropy_grad(
// CHECK-NOT: norm.reduce
// CHECK: math.exp
// CHECK-NOT: norm.reduce
// CHECK: norm.write %{{.*}} : tensor<?x100xbf16>
func.func @cross_entropy_grad(%x: tensor<?x100xbf16>, %l: tensor<?xi64>, %g: tensor<?xf32>, %lse: tensor<?xf32>) -> tensor<?x100xbf16> {
  %d = norm.cross_entropy_grad %x labels(%l : tensor<?xi64>) dloss(%g : tensor<?xf32>) lse(%lse : tensor<?xf32>)
       : tensor<?x100xbf16> -> tensor<?x100xbf16>
  return %d : tensor<?x100xbf16>
}

// -----

// A gradient of the sum of all losses is one number.
// CHECK-LABEL: @cross_entropy_grad_of_sum(
// CHECK: norm.read %{{.*}}[] : tensor<f32>
// CHECK: norm.write %{{.*}} : tensor<?x100xbf16>
func.func @cross_entropy_grad_of_sum(%x: tensor<?x100xbf16>, %l: tensor<?xi64>, %g: tensor<f32>, %lse: tensor<?xf32>) -> tensor<?x100xbf16> {
  %d = norm.cross_entropy_grad %x labels(%l : tensor<?xi64>) dloss(%g : tensor<f32>) lse(%lse : tensor<?xf32>)
       : tensor<?x100xbf16> -> tensor<?x100xbf16>
  return %d : tensor<?x100xbf16>
}
