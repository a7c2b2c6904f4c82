// One case for each numbered constraint of gradients, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @rms_norm_grad_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) {axes = array<i64: 2>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c2(%x: tensor<2x4xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected dy to have the shape of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.rms_norm_grad %x dy(%d : tensor<4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c2_residual(%x: tensor<2x4xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected residual to have the shape of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) residual(%d : tensor<4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c2_dx(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dx to have the shape of 'tensor<2x4xf32>', got 'tensor<4x2xf32>'}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @rms_norm_grad_c3(%x: tensor<2x4xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{expected weight to have the shape of the normalized axes of 'tensor<2x4xf32>' or to broadcast to it, got 'tensor<2xf32>'}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) weight(%w : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c3_dweight(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dweight to have the shape of the normalized axes of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0:2 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32> dweight(tensor<2xf32>)
  return
}

// -----

func.func @rms_norm_grad_c3_dbias(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dbias to have the shape of the normalized axes of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0:2 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32> dbias(tensor<2xf32>)
  return
}

// -----

func.func @rms_norm_grad_c4(%x: tensor<2x4xf32>, %r: tensor<2xbf16>) {
  // expected-error @+1 {{expected rstd to be 'f32' with the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<2xbf16>'}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) rstd(%r : tensor<2xbf16>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected weight_offset to be 0 without a weight, got 1.0}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) {weight_offset = 1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c6(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got -1.0}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) {eps = -1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) {axes = array<i64: 2>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c2(%x: tensor<2x4xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected dy to have the shape of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.layer_norm_grad %x dy(%d : tensor<4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c2_residual(%x: tensor<2x4xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected residual to have the shape of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) residual(%d : tensor<4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c2_dx(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dx to have the shape of 'tensor<2x4xf32>', got 'tensor<4x2xf32>'}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @layer_norm_grad_c3(%x: tensor<2x4xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{expected weight to have the shape of the normalized axes of 'tensor<2x4xf32>' or to broadcast to it, got 'tensor<2xf32>'}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) weight(%w : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c3_dweight(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dweight to have the shape of the normalized axes of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0:2 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32> dweight(tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_grad_c3_dbias(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dbias to have the shape of the normalized axes of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0:2 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32> dbias(tensor<2xf32>)
  return
}

// -----

func.func @layer_norm_grad_c4(%x: tensor<2x4xf32>, %r: tensor<2xf32>) {
  // expected-error @+1 {{expected both mean and rstd or neither}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) rstd(%r : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c4_shape(%x: tensor<2x4xf32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{expected mean to be 'f32' with the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) mean(%r : tensor<4xf32>) rstd(%r : tensor<4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected weight_offset to be 0 without a weight, got 1.0}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) {weight_offset = 1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c6(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got -1.0}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) {eps = -1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @l2_norm_grad_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected at least one axis}}
  %0 = norm.l2_norm_grad %x dy(%x : tensor<2x4xf32>) {axes = array<i64>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @l2_norm_grad_c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dx to have the shape of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0 = norm.l2_norm_grad %x dy(%x : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @l2_norm_grad_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got -1.0}}
  %0 = norm.l2_norm_grad %x dy(%x : tensor<2x4xf32>) {eps = -1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @group_norm_grad_c1(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected channel_axis to be an axis of 'tensor<2x4x8xf32>', got 3}}
  %0 = norm.group_norm_grad %x dy(%x : tensor<2x4x8xf32>) {groups = 2, channel_axis = 3} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @group_norm_grad_c2(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected one group, or groups that divide a static number of channels above 0, got 3 groups in 'tensor<2x4x8xf32>'}}
  %0 = norm.group_norm_grad %x dy(%x : tensor<2x4x8xf32>) {groups = 3} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @group_norm_grad_c3(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected dweight to have the shape of the channels of 'tensor<2x4x8xf32>', got 'tensor<8xf32>'}}
  %0:2 = norm.group_norm_grad %x dy(%x : tensor<2x4x8xf32>) {groups = 2} : tensor<2x4x8xf32> -> tensor<2x4x8xf32> dweight(tensor<8xf32>)
  return
}

// -----

func.func @group_norm_grad_c4(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected dx to have the shape of 'tensor<2x4x8xf32>', got 'tensor<2x8x4xf32>'}}
  %0 = norm.group_norm_grad %x dy(%x : tensor<2x4x8xf32>) {groups = 2} : tensor<2x4x8xf32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @group_norm_grad_c5(%x: tensor<2x4x8xf32>, %m: tensor<2x4xf32>) {
  // expected-error @+1 {{expected mean to be 'f32' with the shape of the groups of 'tensor<2x4x8xf32>', got 'tensor<2x4xf32>'}}
  %0 = norm.group_norm_grad %x dy(%x : tensor<2x4x8xf32>) mean(%m : tensor<2x4xf32>) rstd(%m : tensor<2x4xf32>) {groups = 2} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @group_norm_grad_c6(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got -1.0}}
  %0 = norm.group_norm_grad %x dy(%x : tensor<2x4x8xf32>) {groups = 2, eps = -1.0 : f32} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @softmax_grad_c1(%y: tensor<2x4xf32>) {
  // expected-error @+1 {{expected each axis once, got -1 again}}
  %0 = norm.softmax_grad %y dy(%y : tensor<2x4xf32>) {axes = array<i64: 1, -1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_grad_c2(%y: tensor<2x4xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected dy to have the shape of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.softmax_grad %y dy(%d : tensor<4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_grad_c2_dx(%y: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dx to have the shape of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.softmax_grad %y dy(%y : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @softmax_grad_c3(%y: tensor<2x4xf32>) {
  // expected-error @+1 {{expected scale to be finite, got}}
  %0 = norm.softmax_grad %y dy(%y : tensor<2x4xf32>) {scale = 0x7F800000 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_grad_c1(%y: tensor<2x4xf32>) {
  // expected-error @+1 {{expected each axis once, got -1 again}}
  %0 = norm.log_softmax_grad %y dy(%y : tensor<2x4xf32>) {axes = array<i64: 1, -1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_grad_c2(%y: tensor<2x4xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected dy to have the shape of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.log_softmax_grad %y dy(%d : tensor<4xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_grad_c2_dx(%y: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dx to have the shape of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.log_softmax_grad %y dy(%y : tensor<2x4xf32>) : tensor<2x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @log_softmax_grad_c3(%y: tensor<2x4xf32>) {
  // expected-error @+1 {{expected scale to be finite, got}}
  %0 = norm.log_softmax_grad %y dy(%y : tensor<2x4xf32>) {scale = 0x7F800000 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c3_of_weight(%x: tensor<3x2x4xf32>, %w: tensor<2x4xf32>) {
  // expected-error @+1 {{expected dweight to have the shape of weight, got 'tensor<4xf32>'}}
  %0:2 = norm.rms_norm_grad %x dy(%x : tensor<3x2x4xf32>) weight(%w : tensor<2x4xf32>) : tensor<3x2x4xf32> -> tensor<3x2x4xf32> dweight(tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_grad_c7(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected eps either as an attribute or as an operand, got both}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) eps(%e) {eps = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c7(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected eps either as an attribute or as an operand, got both}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) eps(%e) {eps = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @l2_norm_grad_c4(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected eps either as an attribute or as an operand, got both}}
  %0 = norm.l2_norm_grad %x dy(%x : tensor<2x4xf32>) eps(%e) {eps = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @group_norm_grad_c7(%x: tensor<2x4x8xf32>, %e: f32) {
  // expected-error @+1 {{expected eps either as an attribute or as an operand, got both}}
  %0 = norm.group_norm_grad %x dy(%x : tensor<2x4x8xf32>) eps(%e) {groups = 2, eps = 0.5 : f32} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @softmax_grad_c4(%x: tensor<2x4xf32>, %s: f32) {
  // expected-error @+1 {{expected scale either as an attribute or as an operand, got both}}
  %0 = norm.softmax_grad %x dy(%x : tensor<2x4xf32>) scale(%s) {scale = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_grad_c4(%x: tensor<2x4xf32>, %s: f32) {
  // expected-error @+1 {{expected scale either as an attribute or as an operand, got both}}
  %0 = norm.log_softmax_grad %x dy(%x : tensor<2x4xf32>) scale(%s) {scale = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @cross_entropy_grad_c6(%x: tensor<2x4xf32>, %l: tensor<2xi64>, %d: tensor<2xf32>, %e: f32) {
  // expected-error @+1 {{expected z_loss either as an attribute or as an operand, got both}}
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<2xi64>) dloss(%d : tensor<2xf32>) z_loss(%e) {z_loss = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c8(%x: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_grad_c8_axes(%x: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.rms_norm_grad %x dy(%x : tensor<2x4xf32>) lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c8(%x: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @layer_norm_grad_c8_axes(%x: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.layer_norm_grad %x dy(%x : tensor<2x4xf32>) lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_grad_c5(%y: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.softmax_grad %y dy(%y : tensor<2x4xf32>) lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_grad_c5_axes(%y: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.softmax_grad %y dy(%y : tensor<2x4xf32>) lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_grad_c5(%y: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.log_softmax_grad %y dy(%y : tensor<2x4xf32>) lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_grad_c5_axes(%y: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.log_softmax_grad %y dy(%y : tensor<2x4xf32>) lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}
