// RUN: norma-opt %s --split-input-file --norm-differentiate | FileCheck %s

// The example of the pass's description.
// CHECK-LABEL: func.func @f(
// CHECK-NOT: norm.gradient
// CHECK-LABEL: func.func @f_grad(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32> {norm.name = "x"}, %[[DY:.*]]: tensor<?xf32> {norm.name = "dy"})
// CHECK-SAME: -> (tensor<?x64xf32> {norm.name = "dx"})
// CHECK: norm.compute(%[[A:.*]] = %[[X]] : {{.*}}, %[[G:.*]] = %[[DY]] : {{.*}}) -> (%[[O:.*]] : tensor<?x64xf32>) space(%[[M:.*]] = dim(%[[A]], 0), %[[N:.*]] = 64) {
// CHECK-NEXT: %[[READ:.*]] = norm.read %[[A]][%[[M]], %[[N]]]
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[READ]]
// CHECK-NEXT: %[[GRADIENT:.*]] = norm.read %[[G]][%[[M]]]
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[GRADIENT]], %[[EXP]]
// CHECK-NEXT: norm.write %[[PRODUCT]], %[[O]][%[[M]], %[[N]]]
// CHECK-NEXT: }
func.func @f(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"})
    attributes {norm.gradient = ["x"]} {
  %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = math.exp %0 : f32
    %2 = norm.reduce add %1 over(%n) : f32
    norm.write %2, %o[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// Two sums along a row and one over rows, as many as the named gradient has; the bias is not needed.
// CHECK-LABEL: func.func @rms_norm_grad(
// CHECK-SAME: %{{.*}}: tensor<?x64xbf16> {norm.multiples = array<i64: 8, 1>, norm.name = "x"}, {{.*}}"b"}, %{{.*}}: tensor<?x64xbf16> {norm.name = "dresult0"})
// CHECK-SAME: -> (tensor<64xf32> {norm.name = "dw"}, tensor<?x64xbf16> {norm.multiples = array<i64: 8, 1>, norm.name = "dx"}, tensor<64xbf16> {norm.name = "db"})
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
// CHECK: norm.reduce add %{{.*}} over(%[[N]])
// CHECK: math.rsqrt
// CHECK: norm.reduce add %{{.*}} over(%[[M]])
// CHECK: norm.reduce add %{{.*}} over(%[[M]])
// CHECK: norm.reduce add %{{.*}} over(%[[N]])
// CHECK-NOT: norm.reduce
func.func @rms_norm(%x: tensor<?x64xbf16> {norm.name = "x", norm.multiples = array<i64: 8, 1>}, %w: tensor<64xf32> {norm.name = "w"},
                    %b: tensor<64xbf16> {norm.name = "b"}) -> tensor<?x64xbf16> attributes {norm.gradient = ["w", "x", "b"]} {
  %y = norm.rms_norm %x weight(%w : tensor<64xf32>) bias(%b : tensor<64xbf16>) : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// The gradient of the maximum cancels.
// CHECK-LABEL: func.func @softmax_grad(
// CHECK: norm.reduce max
// CHECK: norm.reduce add
// CHECK: norm.reduce add
// CHECK-NOT: norm.reduce
// CHECK-NOT: arith.cmpf
// CHECK: return
func.func @softmax(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {norm.gradient} {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// So does that of the maximum in the logarithm of a sum, which is used only where it is finite.
// CHECK-LABEL: func.func @cross_entropy_grad(
// CHECK: norm.reduce max
// CHECK-NOT: math.log
// CHECK-NOT: arith.cmpf
// CHECK: return
func.func @cross_entropy(%x: tensor<?x64xf32>, %labels: tensor<?xi64>) -> tensor<?xf32> attributes {norm.gradient} {
  %y = norm.cross_entropy %x labels(%labels : tensor<?xi64>) : tensor<?x64xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Equal extremes share the gradient.
// CHECK-LABEL: func.func @max_grad(
// CHECK: %[[MAX:.*]] = norm.reduce max %[[X:.*]] over(%[[N:.*]])
// CHECK: %[[IS:.*]] = arith.cmpf oeq, %[[X]], %[[MAX]]
// CHECK: %[[ONE:.*]] = arith.select %[[IS]]
// CHECK: %[[COUNT:.*]] = norm.reduce add %[[ONE]] over(%[[N]])
// CHECK: %[[SHARE:.*]] = arith.divf %{{.*}}, %[[COUNT]]
// CHECK: %[[DX:.*]] = arith.mulf %[[SHARE]], %[[ONE]]
// CHECK: norm.write %[[DX]]
func.func @max(%x: tensor<?x64xf32>) -> tensor<?xf32> attributes {norm.gradient} {
  %y = norm.reduce_axes max %x : tensor<?x64xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// What a select does not choose is 0 whatever it is multiplied by: conditions are applied last, also within sums.
// CHECK-LABEL: func.func @rows_of_lengths_grad(
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt
// CHECK: %[[RSTD:.*]] = math.rsqrt
// CHECK: %[[H:.*]] = arith.mulf %{{.*}}, %[[RSTD]] : f32
// CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %[[H]] : f32
// CHECK: %[[TERM:.*]] = arith.select %[[EXISTS]], %[[PRODUCT]], %{{.*}} : f32
// CHECK-NEXT: %[[DW:.*]] = norm.reduce add %[[TERM]]
// CHECK: %[[TERM:.*]] = arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: norm.reduce add %[[TERM]]
// CHECK: %[[DX:.*]] = arith.select %[[EXISTS]], %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: norm.write %[[DX]]
// CHECK-NEXT: norm.write %[[DW]]
func.func @rows_of_lengths(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %l: tensor<?xi32>) -> tensor<?x64xf32>
    attributes {norm.gradient = ["arg0", "arg1"]} {
  %y = norm.rms_norm %x weight(%w : tensor<64xf32>) lengths(%l : tensor<?xi32>) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Halves that are read separately are written separately.
// CHECK-LABEL: func.func @halves_grad(
// CHECK: norm.write %{{.*}}[%[[M:.*]], %[[K:.*]]]
// CHECK: norm.write %{{.*}}[%[[M]], %[[K]] + 32]
// CHECK-NOT: norm.write
func.func @halves(%x: tensor<?x64xf32>) -> tensor<?x32xf32> attributes {norm.gradient} {
  %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x32xf32>) space(%m = dim(%a, 0), %k = 32) {
    %0 = norm.read %a[%m, %k] : tensor<?x64xf32>
    %1 = norm.read %a[%m, %k + 32] : tensor<?x64xf32>
    %2 = arith.mulf %0, %1 : f32
    norm.write %2, %o[%m, %k] : tensor<?x32xf32>
  }
  return %y : tensor<?x32xf32>
}

// -----

// The part that waits for a sum over all rows is a separate compute; both gradients of x are added once, before they are rounded.
// CHECK-LABEL: func.func @two_computes_grad(
// CHECK-COUNT-3: norm.compute
// CHECK-NOT: norm.compute
func.func @two_computes(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {norm.gradient} {
  %n = norm.rms_norm %x : tensor<?x64xf32> -> tensor<?x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %s = linalg.reduce {arith.addf} ins(%n : tensor<?x64xf32>) outs(%zero : tensor<64xf32>) dimensions = [0]
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf32>
  %to = tensor.empty(%m) : tensor<?x64xf32>
  %b = linalg.broadcast ins(%s : tensor<64xf32>) outs(%to : tensor<?x64xf32>) dimensions = [0]
  %y = arith.mulf %n, %b : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// An element is part of the sums from its position on: its gradient is the sum of their adjoints, in the opposite order.
// CHECK-LABEL: func.func @cumsum(
// CHECK-LABEL: func.func @cumsum_grad(
// CHECK: space(%{{.*}} = 4, %[[N:.*]] = 8)
// CHECK: %[[DY:.*]] = norm.read
// CHECK: norm.scan add reverse %[[DY]] along(%[[N]]) : f32
// CHECK-NOT: norm.scan
func.func @cumsum(%x: tensor<4x8xf32> {norm.name = "x"}) -> (tensor<4x8xf32> {norm.name = "y"}) attributes {norm.gradient = ["x"]} {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    %1 = norm.scan add %0 along(%n) : f32
    norm.write %1, %o[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// If it is part of the sums before its position only, its gradient is the sum of the adjoints before it.
// CHECK-LABEL: func.func @cumsum_behind(
// CHECK-LABEL: func.func @cumsum_behind_grad(
// CHECK: norm.scan add exclusive %{{.*}} along(%{{.*}}) : f32
func.func @cumsum_behind(%x: tensor<4x8xf32> {norm.name = "x"}) -> (tensor<4x8xf32> {norm.name = "y"}) attributes {norm.gradient = ["x"]} {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    %1 = norm.scan add exclusive reverse %0 along(%n) : f32
    norm.write %1, %o[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}
