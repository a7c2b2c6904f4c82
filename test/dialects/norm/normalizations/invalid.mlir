// One case for each numbered constraint of the normalizations, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @rms_norm_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.rms_norm %x {axes = array<i64: 2>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c1_none(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected at least one axis}}
  %0 = norm.rms_norm %x {axes = array<i64>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c1_twice(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected each axis once, got -1 again}}
  %0 = norm.rms_norm %x {axes = array<i64: 1, -1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<2x4xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{expected weight to have the shape of the normalized axes of 'tensor<2x4xf32>' or to broadcast to it, got 'tensor<2xf32>'}}
  %0 = norm.rms_norm %x weight(%w : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c2_bias(%x: tensor<2x4xf32>, %b: tensor<3x1xf32>) {
  // expected-error @+1 {{expected bias to have the shape of the normalized axes of 'tensor<2x4xf32>' or to broadcast to it, got 'tensor<3x1xf32>'}}
  %0 = norm.rms_norm %x bias(%b : tensor<3x1xf32>) {axes = array<i64: 0>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4xf32>', got 'tensor<2x8xf32>'}}
  %0 = norm.rms_norm %x : tensor<2x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @rms_norm_c4(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected rstd to be 'f32' with the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<2xf16>'}}
  %0, %rstd = norm.rms_norm %x : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<2xf16>
  return
}

// -----

func.func @rms_norm_c4_wide(%x: tensor<2x4xf64>) {
  // expected-error @+1 {{expected rstd to be 'f64' with the shape of the other axes of 'tensor<2x4xf64>', got 'tensor<2xf32>'}}
  %0, %rstd = norm.rms_norm %x : tensor<2x4xf64> -> tensor<2x4xf64>, tensor<2xf32>
  return
}

// -----

func.func @rms_norm_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected weight_offset to be 0 without a weight, got 1.0}}
  %0 = norm.rms_norm %x {weight_offset = 1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c6(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got -1.0}}
  %0 = norm.rms_norm %x {eps = -1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.layer_norm %x {axes = array<i64: 2>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c1_none(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected at least one axis}}
  %0 = norm.layer_norm %x {axes = array<i64>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c1_twice(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected each axis once, got -1 again}}
  %0 = norm.layer_norm %x {axes = array<i64: 1, -1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<2x4xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{expected weight to have the shape of the normalized axes of 'tensor<2x4xf32>' or to broadcast to it, got 'tensor<2xf32>'}}
  %0 = norm.layer_norm %x weight(%w : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c2_bias(%x: tensor<2x4xf32>, %b: tensor<3x1xf32>) {
  // expected-error @+1 {{expected bias to have the shape of the normalized axes of 'tensor<2x4xf32>' or to broadcast to it, got 'tensor<3x1xf32>'}}
  %0 = norm.layer_norm %x bias(%b : tensor<3x1xf32>) {axes = array<i64: 0>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4xf32>', got 'tensor<2x8xf32>'}}
  %0 = norm.layer_norm %x : tensor<2x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @layer_norm_c4(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected mean to be 'f32' with the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0, %mean, %rstd = norm.layer_norm %x : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<4xf32>, tensor<2xf32>
  return
}

// -----

func.func @layer_norm_c4_rstd(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected rstd to be 'f32' with the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<2xbf16>'}}
  %0, %mean, %rstd = norm.layer_norm %x : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<2xf32>, tensor<2xbf16>
  return
}

// -----

func.func @layer_norm_c4_one(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected both mean and rstd or neither}}
  %0, %mean = "norm.layer_norm"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected weight_offset to be 0 without a weight, got 1.0}}
  %0 = norm.layer_norm %x {weight_offset = 1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c6(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got -1.0}}
  %0 = norm.layer_norm %x {eps = -1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @l2_norm_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.l2_norm %x {axes = array<i64: 2>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @l2_norm_c1_none(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected at least one axis}}
  %0 = norm.l2_norm %x {axes = array<i64>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @l2_norm_c1_twice(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected each axis once, got -1 again}}
  %0 = norm.l2_norm %x {axes = array<i64: 1, -1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @l2_norm_c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4xf32>', got 'tensor<4x2xf32>'}}
  %0 = norm.l2_norm %x : tensor<2x4xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @l2_norm_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected inverse to be 'f32' with the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0, %i = norm.l2_norm %x : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @l2_norm_c4(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got INF}}
  %0 = norm.l2_norm %x {eps = 0x7F800000 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c7(%x: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.rms_norm %x lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c7_axes(%x: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.rms_norm %x lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c7(%x: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.layer_norm %x lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c7_axes(%x: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.layer_norm %x lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c8(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected eps either as an attribute or as an operand, got both}}
  %0 = norm.rms_norm %x eps(%e) {eps = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_c8(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected eps either as an attribute or as an operand, got both}}
  %0 = norm.layer_norm %x eps(%e) {eps = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @l2_norm_c5(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected eps either as an attribute or as an operand, got both}}
  %0 = norm.l2_norm %x eps(%e) {eps = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}
