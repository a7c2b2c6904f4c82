// Named ops become the scalar programs that define them.
// RUN: norma-opt %s --split-input-file --norm-decompose | FileCheck %s --implicit-check-not=norm.rms_norm

// CHECK-LABEL: @rows(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<64xf32>
// CHECK: %[[RESULT:.*]] = norm.compute(%[[A:.*]] = %[[X]] : tensor<?x64xbf16>, %[[G:.*]] = %[[W]] : tensor<64xf32>)
// CHECK-SAME: -> (%[[O:.*]] : tensor<?x64xbf16>) space(%[[M:.*]] = dim(%[[A]], 0), %[[N:.*]] = 64)
// CHECK-NEXT: %[[V0:.*]] = norm.read %[[A]][%[[M]], %[[N]]]
// CHECK-NEXT: %[[V1:.*]] = arith.extf %[[V0]] : bf16 to f32
// CHECK-NEXT: %[[V2:.*]] = arith.mulf %[[V1]], %[[V1]] : f32
// CHECK-NEXT: %[[V3:.*]] = norm.reduce add %[[V2]] over(%[[N]]) : f32
// CHECK-NEXT: %[[RECIPROCAL:.*]] = arith.constant 1.562500e-02 : f32
// CHECK-NEXT: %[[V5:.*]] = arith.mulf %[[V3]], %[[RECIPROCAL]] : f32
// CHECK-NEXT: %[[EPS:.*]] = arith.constant 9.99999974E-6 : f32
// CHECK-NEXT: %[[V7:.*]] = arith.addf %[[V5]], %[[EPS]] : f32
// CHECK-NEXT: %[[V8:.*]] = math.rsqrt %[[V7]] : f32
// CHECK-NEXT: %[[V9:.*]] = arith.mulf %[[V1]], %[[V8]] : f32
// CHECK-NEXT: %[[V10:.*]] = norm.read %[[G]][%[[N]]] : tensor<64xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.mulf %[[V9]], %[[V10]] : f32
// CHECK-NEXT: %[[V12:.*]] = arith.truncf %[[V11]] : f32 to bf16
// CHECK-NEXT: norm.write %[[V12]], %[[O]][%[[M]], %[[N]]]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[RESULT]]
func.func @rows(%x: tensor<?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x64xbf16> {
  %y = norm.rms_norm %x weight(%w : tensor<64xf32>) {eps = 1.0e-5 : f32} : tensor<?x64xbf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// Rank 1: no dim is kept, and rstd has rank 0.
// CHECK-LABEL: @one_row(
// CHECK: norm.compute({{.*}} : tensor<64xf32>) -> (%[[O:.*]] : tensor<64xf32>, %[[R:.*]] : tensor<f32>) space(%[[N:.*]] = 64)
// CHECK-NOT: arith.extf
// CHECK: %[[RSTD:.*]] = math.rsqrt
// CHECK-NEXT: norm.write %[[RSTD]], %[[R]][] : tensor<f32>
// CHECK-NOT: arith.truncf
// CHECK: norm.write %{{.*}}, %[[O]][%[[N]]] : tensor<64xf32>
func.func @one_row(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<f32>) {
  %y, %rstd = norm.rms_norm %x : tensor<64xf32> -> tensor<64xf32>, tensor<f32>
  return %y, %rstd : tensor<64xf32>, tensor<f32>
}

// -----

// Two axes are normalized and two dynamic ones kept; every type differs.
// CHECK-LABEL: @mixed(
// CHECK: norm.compute(%[[A:.*]] = %{{.*}} : tensor<?x?x4x64xbf16>, %[[G:.*]] = %{{.*}} : tensor<4x64xf16>, %[[B:.*]] = %{{.*}} : tensor<4x64xf32>)
// CHECK-SAME: -> (%[[O:.*]] : tensor<?x?x4x64xf16>, %[[R:.*]] : tensor<?x?xf32>)
// CHECK-SAME: space(%[[D0:.*]] = dim(%[[A]], 0), %[[D1:.*]] = dim(%[[A]], 1), %[[D2:.*]] = 4, %[[D3:.*]] = 64)
// CHECK: norm.reduce add %{{.*}} over(%[[D2]], %[[D3]]) : f32
// CHECK: arith.constant 3.906250e-03 : f32
// CHECK: norm.write %{{.*}}, %[[R]][%[[D0]], %[[D1]]] : tensor<?x?xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK: %[[W:.*]] = norm.read %[[G]][%[[D2]], %[[D3]]] : tensor<4x64xf16>
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[W]] : f16 to f32
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: %[[OFFSET:.*]] = arith.addf %[[WIDE]], %[[ONE]] : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[SCALED]], %[[OFFSET]] : f32
// CHECK-NEXT: %[[BIAS:.*]] = norm.read %[[B]][%[[D2]], %[[D3]]] : tensor<4x64xf32>
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[PRODUCT]], %[[BIAS]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK-NEXT: norm.write %[[Y]], %[[O]][%[[D0]], %[[D1]], %[[D2]], %[[D3]]]
func.func @mixed(%x: tensor<?x?x4x64xbf16>, %w: tensor<4x64xf16>, %b: tensor<4x64xf32>)
    -> (tensor<?x?x4x64xf16>, tensor<?x?xf32>) {
  %y, %rstd = norm.rms_norm %x weight(%w : tensor<4x64xf16>) bias(%b : tensor<4x64xf32>)
      {axes = array<i64: -2, -1>, weight_offset = 1.0 : f32}
      : tensor<?x?x4x64xbf16> -> tensor<?x?x4x64xf16>, tensor<?x?xf32>
  return %y, %rstd : tensor<?x?x4x64xf16>, tensor<?x?xf32>
}

// -----

// A bias without a weight is the second input.
// CHECK-LABEL: @bias_alone(
// CHECK: norm.compute(%{{.*}} = %{{.*}} : tensor<8x3xf16>, %[[B:.*]] = %{{.*}} : tensor<3xf16>)
// CHECK: arith.constant 0.333333343 : f32
// CHECK: norm.read %[[B]]
func.func @bias_alone(%x: tensor<8x3xf16>, %b: tensor<3xf16>) -> tensor<8x3xf16> {
  %y = norm.rms_norm %x bias(%b : tensor<3xf16>) : tensor<8x3xf16> -> tensor<8x3xf16>
  return %y : tensor<8x3xf16>
}

// -----

// Kernel form is left as it is.
// CHECK-LABEL: @kernel_form(
// CHECK: norm.compute
// CHECK-NEXT: norm.read
// CHECK-NEXT: norm.write
func.func @kernel_form(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%n = dim(%a, 0)) {
    %0 = norm.read %a[%n] : tensor<?xf32>
    norm.write %0, %o[%n] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// A number that each call sets is a scalar of the program; scalar ops that compute it are copied.
// CHECK-LABEL: @eps_at_run_time(
// CHECK-SAME: %[[INVERSE:[a-z0-9]+]]: f32)
// CHECK: norm.compute({{.*}}, %[[I:.*]] = %[[INVERSE]] : f32)
// CHECK: %[[EPS:.*]] = arith.divf %{{.*}}, %[[I]] : f32
// CHECK: %[[SHIFTED:.*]] = arith.addf %{{.*}}, %[[EPS]] : f32
// CHECK-NEXT: math.rsqrt %[[SHIFTED]] : f32
func.func @eps_at_run_time(%x: tensor<?x64xf32>, %inverse: f32) -> tensor<?x64xf32> {
  %one = arith.constant 1.0 : f32
  %eps = arith.divf %one, %inverse : f32
  %y = norm.rms_norm %x eps(%eps) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// A weight with neither the shape of rows nor of x is broadcast.
// CHECK-LABEL: @broadcast(
// CHECK: norm.compute({{.*}}, %[[W:.*]] = %{{.*}} : tensor<8x64xf32>, %[[B:.*]] = %{{.*}} : tensor<?x1x1x64xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%{{.*}}, 0), %{{.*}} = 16, %[[H:.*]] = 8, %[[N:.*]] = 64)
// CHECK: norm.read %[[W]][%[[H]], %[[N]]]
// CHECK: norm.read %[[B]][%[[M]], 0, 0, %[[N]]]
func.func @broadcast(%x: tensor<?x16x8x64xf32>, %w: tensor<8x64xf32>, %b: tensor<?x1x1x64xf32>) -> tensor<?x16x8x64xf32> {
  %y = norm.rms_norm %x weight(%w : tensor<8x64xf32>) bias(%b : tensor<?x1x1x64xf32>) : tensor<?x16x8x64xf32> -> tensor<?x16x8x64xf32>
  return %y : tensor<?x16x8x64xf32>
}

// -----

// A power of a few factors is their product, rounded once; other powers are those of math.powf.
// CHECK-LABEL: @powers(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : tensor<?x64xbf16> to tensor<?x64xf32>
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[WIDE]], %[[WIDE]] : tensor<?x64xf32>
// CHECK: %[[ONE:.*]] = tensor.splat %{{.*}}[%{{.*}}] : tensor<?x64xf32>
// CHECK-NEXT: %[[INVERSE:.*]] = arith.divf %[[ONE]], %[[SQUARE]] : tensor<?x64xf32>
// CHECK-NEXT: arith.truncf %[[INVERSE]] : tensor<?x64xf32> to tensor<?x64xbf16>
// CHECK: %[[FIVE:.*]] = arith.constant 5.000000e+00 : f32
// CHECK-NEXT: math.powf %{{.*}}, %[[FIVE]] : f32
func.func @powers(%x: tensor<?x64xbf16>, %m: index, %v: f32) -> (tensor<?x64xbf16>, f32) {
  %minus_two = arith.constant -2 : i32
  %exponents = tensor.splat %minus_two[%m] : tensor<?x64xi32>
  %y = math.fpowi %x, %exponents : tensor<?x64xbf16>, tensor<?x64xi32>
  %five = arith.constant 5 : i64
  %w = math.fpowi %v, %five : f32, i64
  return %y, %w : tensor<?x64xbf16>, f32
}
