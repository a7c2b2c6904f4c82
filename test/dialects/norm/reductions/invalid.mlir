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
  // expected-error @+1 {{expected y of any to be i1 or i8, got 'i32'}}
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

// Of integers no y would do, and so what x may be is told first.
func.func @reduce_axes_c4_of_float(%x: tensor<2x4xi32>) {
  // expected-error @+1 {{expected mean of floats, got 'i32'}}
  %0 = norm.reduce_axes mean %x : tensor<2x4xi32> -> tensor<2xf32>
  return
}

// -----

func.func @reduce_axes_c4_truth(%x: tensor<2x4xi1>) {
  // expected-error @+1 {{expected any or all of i1, got sum}}
  %0 = norm.reduce_axes sum %x : tensor<2x4xi1> -> tensor<2xi8>
  return
}

// -----

func.func @reduce_axes_c5(%x: tensor<65536x?x32768xf32>) {
  // expected-error @+1 {{expected y of argmin of 2^31 elements or more to be i64, got 'i32'}}
  %0 = norm.reduce_axes argmin %x {axes = array<i64: 0, 1, 2>} : tensor<65536x?x32768xf32> -> tensor<i32>
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

// -----

func.func @top_k_c1(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{expected axis to be one of 'tensor<2x8xf32>', got 2}}
  %0:2 = norm.top_k %x {axis = 2, k = 2} : tensor<2x8xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  return
}

// -----

func.func @top_k_c2(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{expected k between 1 and 128, and no more than there are elements, got 9}}
  %0:2 = norm.top_k %x {k = 9} : tensor<2x8xf32> -> tensor<2x9xf32>, tensor<2x9xi32>
  return
}

// -----

func.func @top_k_c2_most(%x: tensor<2x?xf32>) {
  // expected-error @+1 {{expected k between 1 and 128, and no more than there are elements, got 129}}
  %0:2 = norm.top_k %x {k = 129} : tensor<2x?xf32> -> tensor<2x129xf32>, tensor<2x129xi32>
  return
}

// -----

func.func @top_k_c2_long(%x: tensor<2x2147483648xi8>) {
  // expected-error @+1 {{expected less than 2^31 elements along axis, got 2147483648}}
  %0:2 = norm.top_k %x {k = 1} : tensor<2x2147483648xi8> -> tensor<2x1xi8>, tensor<2x1xi64>
  return
}

// -----

func.func @top_k_c3(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{expected values to have the shape of 'tensor<2x8xf32>' with k elements along axis, got 'tensor<2x3xf32>'}}
  %0:2 = norm.top_k %x {k = 2} : tensor<2x8xf32> -> tensor<2x3xf32>, tensor<2x2xi32>
  return
}

// -----

func.func @top_k_c3_indices(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{expected indices to have the shape of 'tensor<2x8xf32>' with k elements along axis, got 'tensor<2xi32>'}}
  %0:2 = norm.top_k %x {k = 2} : tensor<2x8xf32> -> tensor<2x2xf32>, tensor<2xi32>
  return
}

// -----

func.func @top_k_c4(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{expected values of 'f32', got 'bf16'}}
  %0:2 = norm.top_k %x {k = 2} : tensor<2x8xf32> -> tensor<2x2xbf16>, tensor<2x2xi32>
  return
}

// -----

func.func @top_k_grad_c1(%dv: tensor<2x3xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{expected axis to be one of 'tensor<2x3xf32>', got -3}}
  %0 = norm.top_k_grad %dv indices(%i : tensor<2x3xi32>) {axis = -3, elements = 8} : tensor<2x3xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @top_k_grad_c2(%dv: tensor<2x3xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{expected elements between 1 and 2^31 - 1, got 0}}
  %0 = norm.top_k_grad %dv indices(%i : tensor<2x3xi32>) {elements = 0} : tensor<2x3xf32> -> tensor<2x0xf32>
  return
}

// -----

func.func @top_k_grad_c3(%dv: tensor<2x3xf32>, %i: tensor<2x2xi32>) {
  // expected-error @+1 {{expected indices to have the shape of 'tensor<2x3xf32>', got 'tensor<2x2xi32>'}}
  %0 = norm.top_k_grad %dv indices(%i : tensor<2x2xi32>) {elements = 8} : tensor<2x3xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @top_k_grad_c3_dx(%dv: tensor<2x3xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{expected dx to have the shape of 'tensor<2x3xf32>' with as many elements along axis as elements says, got 'tensor<2x?xf32>'}}
  %0 = norm.top_k_grad %dv indices(%i : tensor<2x3xi32>) {elements = 8} : tensor<2x3xf32> -> tensor<2x?xf32>
  return
}
