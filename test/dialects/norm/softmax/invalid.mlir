// One case for each numbered constraint of softmax and its relatives, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @softmax_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got -3}}
  %0 = norm.softmax %x {axes = array<i64: -3>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_of_a_number(%x: tensor<f32>) {
  // expected-error @+1 {{expected a tensor with axes, got 'tensor<f32>'}}
  %0 = norm.softmax %x : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @softmax_c2(%x: tensor<2x4xf32>, %m: tensor<2x2xf32>) {
  // expected-error @+1 {{expected mask to broadcast to 'tensor<2x4xf32>', got 'tensor<2x2xf32>'}}
  %0 = norm.softmax %x mask(%m : tensor<2x2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_c2_keep(%x: tensor<2x4xf32>, %k: tensor<1x2x4xi1>) {
  // expected-error @+1 {{expected keep to broadcast to 'tensor<2x4xf32>', got 'tensor<1x2x4xi1>'}}
  %0 = norm.softmax %x keep(%k : tensor<1x2x4xi1>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4xf32>', got 'tensor<2x5xf32>'}}
  %0 = norm.softmax %x : tensor<2x4xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @softmax_c4(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected scale to be finite, got nan}}
  %0 = norm.softmax %x {scale = 0x7FC00000 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_c4_softcap(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected softcap to be finite and not negative, got -1.0}}
  %0 = norm.softmax %x {softcap = -1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected causal to name two axes of 'tensor<2x4xf32>', got array<i64: 0, -2>}}
  %0 = norm.softmax %x {causal = array<i64: 0, -2>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got -3}}
  %0 = norm.log_softmax %x {axes = array<i64: -3>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c2(%x: tensor<2x4xf32>, %m: tensor<2x2xf32>) {
  // expected-error @+1 {{expected mask to broadcast to 'tensor<2x4xf32>', got 'tensor<2x2xf32>'}}
  %0 = norm.log_softmax %x mask(%m : tensor<2x2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c2_keep(%x: tensor<2x4xf32>, %k: tensor<1x2x4xi1>) {
  // expected-error @+1 {{expected keep to broadcast to 'tensor<2x4xf32>', got 'tensor<1x2x4xi1>'}}
  %0 = norm.log_softmax %x keep(%k : tensor<1x2x4xi1>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0 = norm.log_softmax %x : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @log_softmax_c4(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected scale to be finite, got nan}}
  %0 = norm.log_softmax %x {scale = 0x7FC00000 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c4_softcap(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected softcap to be finite and not negative, got -1.0}}
  %0 = norm.log_softmax %x {softcap = -1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected causal to name two axes of 'tensor<2x4xf32>', got array<i64: 0, -2>}}
  %0 = norm.log_softmax %x {causal = array<i64: 0, -2>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @logsumexp_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got -3}}
  %0 = norm.logsumexp %x {axes = array<i64: -3>} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @logsumexp_c2(%x: tensor<2x4xf32>, %m: tensor<2x2xf32>) {
  // expected-error @+1 {{expected mask to broadcast to 'tensor<2x4xf32>', got 'tensor<2x2xf32>'}}
  %0 = norm.logsumexp %x mask(%m : tensor<2x2xf32>) : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @logsumexp_c2_keep(%x: tensor<2x4xf32>, %k: tensor<1x2x4xi1>) {
  // expected-error @+1 {{expected keep to broadcast to 'tensor<2x4xf32>', got 'tensor<1x2x4xi1>'}}
  %0 = norm.logsumexp %x keep(%k : tensor<1x2x4xi1>) : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @logsumexp_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.logsumexp %x : tensor<2x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @logsumexp_c4(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected scale to be finite, got nan}}
  %0 = norm.logsumexp %x {scale = 0x7FC00000 : f32} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @logsumexp_c4_softcap(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected softcap to be finite and not negative, got -1.0}}
  %0 = norm.logsumexp %x {softcap = -1.0 : f32} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @logsumexp_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected causal to name two axes of 'tensor<2x4xf32>', got array<i64: 0, -2>}}
  %0 = norm.logsumexp %x {causal = array<i64: 0, -2>} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @softmax_c6(%x: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.softmax %x lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @softmax_c6_axes(%x: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.softmax %x lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c6(%x: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.log_softmax %x lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c6_axes(%x: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.log_softmax %x lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @logsumexp_c6(%x: tensor<2x4xf32>, %l: tensor<4xi32>) {
  // expected-error @+1 {{expected lengths to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xi32>'}}
  %0 = norm.logsumexp %x lengths(%l : tensor<4xi32>) : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @logsumexp_c6_axes(%x: tensor<2x4xf32>, %l: tensor<i64>) {
  // expected-error @+1 {{expected lengths of rows along one axis, got 2 axes}}
  %0 = norm.logsumexp %x lengths(%l : tensor<i64>) {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<f32>
  return
}

// -----

func.func @softmax_c7(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected scale either as an attribute or as an operand, got both}}
  %0 = norm.softmax %x scale(%e) {scale = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @log_softmax_c7(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected softcap either as an attribute or as an operand, got both}}
  %0 = norm.log_softmax %x softcap(%e) {softcap = 0.5 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @logsumexp_c7(%x: tensor<2x4xf32>, %e: f32) {
  // expected-error @+1 {{expected softcap either as an attribute or as an operand, got both}}
  %0 = norm.logsumexp %x scale(%e) softcap(%e) {softcap = 0.5 : f32} : tensor<2x4xf32> -> tensor<2xf32>
  return
}
