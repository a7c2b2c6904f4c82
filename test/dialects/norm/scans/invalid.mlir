// One case for each numbered constraint of scans, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @cumsum_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between -2 and 1, got 2}}
  %0 = norm.cumsum %x {axis = 2} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @cumsum_c2(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4xf32>', got 'tensor<2x5xf32>'}}
  %0 = norm.cumsum %x : tensor<2x4xf32> -> tensor<2x5xf32>
  return
}

// -----

func.func @cumsum_c3(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y of a float, got 'i32'}}
  %0 = norm.cumsum %x : tensor<2x4xf32> -> tensor<2x4xi32>
  return
}

// -----

func.func @cumsum_c3_narrow(%x: tensor<2x4xi32>) {
  // expected-error @+1 {{expected y of an integer no narrower than that of x, got 'i8'}}
  %0 = norm.cumsum %x : tensor<2x4xi32> -> tensor<2x4xi8>
  return
}
