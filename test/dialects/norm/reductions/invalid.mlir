// One case for each numbered constraint of reductions, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @reduce_axes_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.reduce_axes sum %x {axes = array<i64: 2>} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_axes_c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0 = norm.reduce_axes sum %x : tensor<2x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_axes_c2_keepdims(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4xf32>' with 1 for the named axes, got 'tensor<2xf32>'}}
  %0 = norm.reduce_axes sum %x {keepdims} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_axes_c2_mean(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected mean to have the shape of the other axes of 'tensor<2x4xf32>', got 'tensor<4xf32>'}}
  %0:2 = norm.reduce_axes var %x : tensor<2x4xf32> -> tensor<2xf32> mean(tensor<4xf32>)
  return
}

// -----

func.func @reduce_axes_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y of sum to be a float, got 'i32'}}
  %0 = norm.reduce_axes sum %x : tensor<2x4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @reduce_axes_c3_narrow(%x: tensor<2x4xi32>) {
  // expected-error @+1 {{expected y of max to be an integer no narrower than that of x, got 'i8'}}
  %0 = norm.reduce_axes max %x : tensor<2x4xi32> -> tensor<2xi8>
  return
}

// -----

func.func @reduce_axes_c3_place(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y of argmax to be i32 or i64, got 'f32'}}
  %0 = norm.reduce_axes argmax %x : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_axes_c3_truth(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y of any to be i8, got 'i32'}}
  %0 = norm.reduce_axes any %x : tensor<2x4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @reduce_axes_c4(%x: tensor<2x4xi32>) {
  // expected-error @+1 {{expected mean of floats, got 'i32'}}
  %0 = norm.reduce_axes mean %x : tensor<2x4xi32> -> tensor<2xi64>
  return
}

// -----

func.func @reduce_axes_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected argmin along one axis, got 2}}
  %0 = norm.reduce_axes argmin %x {axes = array<i64: 0, 1>} : tensor<2x4xf32> -> tensor<i64>
  return
}

// -----

func.func @reduce_axes_c6(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected mean and correction with var alone, got them with sum}}
  %0 = norm.reduce_axes sum %x {correction = 1} : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_axes_c6_negative(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected correction not to be negative, got -1}}
  %0 = norm.reduce_axes var %x {correction = -1} : tensor<2x4xf32> -> tensor<2xf32>
  return
}
