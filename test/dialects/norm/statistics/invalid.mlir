// One case for each numbered constraint of statistics, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @group_norm_c1(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected channel_axis to be an axis of 'tensor<2x4x8xf32>', got -4}}
  %0 = norm.group_norm %x {groups = 2, channel_axis = -4} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @group_norm_c2(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected one group, or groups that divide a static number of channels above 0, got 3 groups in 'tensor<2x4x8xf32>'}}
  %0 = norm.group_norm %x {groups = 3} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @group_norm_c2_dynamic(%x: tensor<2x?x8xf32>) {
  // expected-error @+2 {{expected one group, or groups that divide a static number of channels above 0, got 2 groups in 'tensor<2x?x8xf32>'}}
  // expected-note @+1 {{groups of a dynamic size are an axis of their own, with norm.layer_norm over the axes behind it}}
  %0 = norm.group_norm %x {groups = 2} : tensor<2x?x8xf32> -> tensor<2x?x8xf32>
  return
}

// -----

func.func @group_norm_c3(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{expected weight to have the shape of the channels of 'tensor<2x4x8xf32>', got 'tensor<8xf32>'}}
  %0 = norm.group_norm %x weight(%w : tensor<8xf32>) {groups = 2} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @group_norm_c4(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4x8xf32>', got 'tensor<2x8x4xf32>'}}
  %0 = norm.group_norm %x {groups = 2} : tensor<2x4x8xf32> -> tensor<2x8x4xf32>
  return
}

// -----

func.func @group_norm_c5(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected mean to be 'f32' with the shape of the groups of 'tensor<2x4x8xf32>', got 'tensor<2x4xf32>'}}
  %0, %m, %r = norm.group_norm %x {groups = 2} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>, tensor<2x4xf32>, tensor<2x2xf32>
  return
}

// -----

func.func @group_norm_c5_one(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected both mean and rstd or neither}}
  %0, %m = "norm.group_norm"(%x) <{groups = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x2xf32>)
  return
}

// -----

func.func @group_norm_c6(%x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got -1.0}}
  %0 = norm.group_norm %x {groups = 2, eps = -1.0 : f32} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @batch_stats_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected at least one axis}}
  %m, %v = norm.batch_stats %x {axes = array<i64>} : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @batch_stats_c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected mean to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %m, %v = norm.batch_stats %x : tensor<2x4xf32> -> tensor<4xf32>, tensor<2xf32>
  return
}

// -----

func.func @batch_stats_c2_var(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected var to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %m, %v = norm.batch_stats %x : tensor<2x4xf32> -> tensor<2xf32>, tensor<4xf32>
  return
}

// -----

func.func @batch_stats_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected correction not to be negative, got -1}}
  %m, %v = norm.batch_stats %x {correction = -1} : tensor<2x4xf32> -> tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @group_norm_c7(%x: tensor<2x4x8xf32>, %e: f32) {
  // expected-error @+1 {{expected eps either as an attribute or as an operand, got both}}
  %0 = norm.group_norm %x eps(%e) {groups = 2, eps = 0.5 : f32} : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}
