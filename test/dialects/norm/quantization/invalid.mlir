// One case for each numbered constraint of quantization, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @quantize_c1(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected block to have a number for each axis of 'tensor<?x8xf32>', got 1}}
  %0:2 = norm.quantize %x {block = array<i64: 8>} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<1xf32>)
  return
}

// -----

func.func @quantize_c1_negative(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected block not to be negative, got -1}}
  %0:2 = norm.quantize %x {block = array<i64: 1, -1>} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<?xf32>)
  return
}

// -----

func.func @quantize_c1_divide(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected blocks of 3 to divide a static extent of 'tensor<?x8xf32>'}}
  %0:2 = norm.quantize %x {block = array<i64: 1, 3>} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<?x2xf32>)
  return
}

// -----

func.func @quantize_c1_dynamic(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected blocks of 2 to divide a static extent of 'tensor<?x8xf32>'}}
  %0:2 = norm.quantize %x {block = array<i64: 2, 8>} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<?x1xf32>)
  return
}

// -----

func.func @quantize_c2(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected q to have the shape of 'tensor<?x8xf32>', got 'tensor<?x4xi8>'}}
  %0:2 = norm.quantize %x : tensor<?x8xf32> -> tensor<?x4xi8> scale(tensor<f32>)
  return
}

// -----

func.func @quantize_c3(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected either static_scale or the result scale}}
  %0 = norm.quantize %x : tensor<?x8xf32> -> tensor<?x8xi8>
  return
}

// -----

func.func @quantize_c3_both(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected either static_scale or the result scale}}
  %0:2 = norm.quantize %x static_scale(%s : tensor<f32>) : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<f32>)
  return
}

// -----

func.func @quantize_c4(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected static_scale to have the shape of the blocks of 'tensor<?x8xf32>', got 'tensor<f32>'}}
  %0 = norm.quantize %x static_scale(%s : tensor<f32>) {block = array<i64: 1, 0>} : tensor<?x8xf32> -> tensor<?x8xi8>
  return
}

// -----

func.func @quantize_c4_scale(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected scale to have the shape of the blocks of 'tensor<?x8xf32>', got 'tensor<?x4xi8>'}}
  %0:2 = norm.quantize %x {block = array<i64: 1, 4>} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<?x4xi8>)
  return
}

// -----

func.func @quantize_c4_amax(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected amax to have the shape of the blocks of 'tensor<?x8xf32>', got 'tensor<?xf32>'}}
  %0:2 = norm.quantize %x static_scale(%s : tensor<f32>) : tensor<?x8xf32> -> tensor<?x8xi8> amax(tensor<?xf32>)
  return
}

// -----

func.func @quantize_c5(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected power_of_two with a scale of f32 alone}}
  %0 = norm.quantize %x static_scale(%s : tensor<f32>) {power_of_two} : tensor<?x8xf32> -> tensor<?x8xi8>
  return
}

// -----

func.func @quantize_c5_e8m0(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected power_of_two with a scale of f32 alone}}
  %0:2 = norm.quantize %x {power_of_two} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<i8>)
  return
}

// -----

func.func @quantize_c6(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{expected round_down with a scale that is a power of two}}
  %0:2 = norm.quantize %x {round_down} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<f32>)
  return
}

// -----

func.func @quantize_c6_static(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected round_down with a scale that is a power of two}}
  %0 = norm.quantize %x static_scale(%s : tensor<f32>) {round_down} : tensor<?x8xf32> -> tensor<?x8xi8>
  return
}

// -----

func.func @dequantize_c1(%q: tensor<?x8xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{expected block to have a number for each axis of 'tensor<?x8xi8>', got 1}}
  %0 = norm.dequantize %q scale(%s : tensor<f32>) {block = array<i64: 8>} : tensor<?x8xi8> -> tensor<?x8xf32>
  return
}

// -----

func.func @dequantize_c2(%q: tensor<?x8xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<?x8xi8>', got 'tensor<8xf32>'}}
  %0 = norm.dequantize %q scale(%s : tensor<f32>) : tensor<?x8xi8> -> tensor<8xf32>
  return
}

// -----

func.func @dequantize_c3(%q: tensor<?x8xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{expected scale to have the shape of the blocks of 'tensor<?x8xi8>', got 'tensor<f32>'}}
  %0 = norm.dequantize %q scale(%s : tensor<f32>) {block = array<i64: 1, 0>} : tensor<?x8xi8> -> tensor<?x8xf32>
  return
}
