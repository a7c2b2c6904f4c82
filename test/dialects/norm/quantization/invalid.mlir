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

func.func @quantize_c4_last_block(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected scale to have the shape of the blocks of 'tensor<?x8xf32>', got 'tensor<?x2xf32>'}}
  %0:2 = norm.quantize %x {block = array<i64: 1, 3>} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<?x2xf32>)
  return
}

// -----

func.func @quantize_c4_dynamic(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected scale to have the shape of the blocks of 'tensor<?x8xf32>', got 'tensor<4x1xf32>'}}
  %0:2 = norm.quantize %x {block = array<i64: 2, 8>} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<4x1xf32>)
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

func.func @quantize_c2_packed(%x: tensor<?x32xf32>) {
  // expected-error @+1 {{expected q to have the shape of 'tensor<?x32xf32>' packed, got 'tensor<?x32xi8>'}}
  %0:2 = norm.quantize %x {block = array<i64: 1, 16>, e2m1} : tensor<?x32xf32> -> tensor<?x32xi8> scale(tensor<?x2xf32>)
  return
}

// -----

func.func @quantize_c6_e4m3(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{expected round_down with a scale that is a power of two}}
  %0:2 = norm.quantize %x {round_down} : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<f8E4M3FN>)
  return
}

// -----

func.func @quantize_c7(%x: tensor<?x32xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected e2m1 with a q of i8, got 'tensor<?x16xf8E4M3FN>'}}
  %0 = norm.quantize %x static_scale(%s : tensor<f32>) {e2m1} : tensor<?x32xf32> -> tensor<?x16xf8E4M3FN>
  return
}

// -----

func.func @quantize_c7_odd(%x: tensor<?x33xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected e2m1 with a last axis of a static, even extent, got a q of 'tensor<?x16xi8>'}}
  %0 = norm.quantize %x static_scale(%s : tensor<f32>) {e2m1} : tensor<?x33xf32> -> tensor<?x16xi8>
  return
}

// -----

func.func @quantize_c7_dynamic(%x: tensor<32x?xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected e2m1 with a last axis of a static, even extent, got a q of 'tensor<32x?xi8>'}}
  %0 = norm.quantize %x static_scale(%s : tensor<f32>) {e2m1} : tensor<32x?xf32> -> tensor<32x?xi8>
  return
}

// -----

func.func @quantize_c7_no_axis(%x: tensor<f32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected e2m1 with a last axis of a static, even extent, got a q of 'tensor<i8>'}}
  %0 = norm.quantize %x static_scale(%s : tensor<f32>) {e2m1} : tensor<f32> -> tensor<i8>
  return
}

// -----

func.func @quantize_c7_block(%x: tensor<?x30xf32>) {
  // expected-error @+1 {{expected e2m1 with blocks of an even extent along the last axis, got 15}}
  %0:2 = norm.quantize %x {block = array<i64: 1, 15>, e2m1} : tensor<?x30xf32> -> tensor<?x15xi8> scale(tensor<?x2xf8E4M3FN>)
  return
}

// -----

func.func @quantize_c8(%x: tensor<?x8xf32>, %t: tensor<f32>) {
  // expected-error @+1 {{expected tensor_scale with a scale of f8E4M3FN alone}}
  %0:2 = norm.quantize %x tensor_scale(%t : tensor<f32>) : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<f32>)
  return
}

// -----

func.func @quantize_c8_static(%x: tensor<?x8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected tensor_scale with a scale of f8E4M3FN alone}}
  %0 = norm.quantize %x static_scale(%s : tensor<f32>) tensor_scale(%s : tensor<f32>) : tensor<?x8xf32> -> tensor<?x8xi8>
  return
}

// -----

func.func @quantize_c8_shape(%x: tensor<?x8xf32>, %t: tensor<1xf32>) {
  // expected-error @+1 {{expected tensor_scale to have the shape of one number, got 'tensor<1xf32>'}}
  %0:2 = norm.quantize %x tensor_scale(%t : tensor<1xf32>) : tensor<?x8xf32> -> tensor<?x8xi8> scale(tensor<f8E4M3FN>)
  return
}

// -----

func.func @quantize_c9(%x: tensor<?x64xf32>, %s: tensor<?x2xf32>) {
  // expected-error @+1 {{expected scale_layout column_major with a scale of blocks along at least two axes}}
  %0 = norm.quantize %x static_scale(%s : tensor<?x2xf32>) scale_layout(column_major) {block = array<i64: 1, 32>} : tensor<?x64xf32> -> tensor<?x64xi8>
  return
}

// -----

func.func @quantize_c9_axes(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{expected scale_layout swizzled_128x4 with a scale of blocks along at least two axes}}
  %0:2 = norm.quantize %x scale_layout(swizzled_128x4) {block = array<i64: 1, 0>} : tensor<?x64xf32> -> tensor<?x64xi8> scale(tensor<?xi8>)
  return
}

// -----

func.func @quantize_c9_bits(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{expected scale_layout swizzled_128x4 with a scale of 8 bits, got 'tensor<?x1x32x4x4xf32>'}}
  %0:2 = norm.quantize %x scale_layout(swizzled_128x4) {block = array<i64: 1, 32>} : tensor<?x64xf32> -> tensor<?x64xi8> scale(tensor<?x1x32x4x4xf32>)
  return
}

// -----

func.func @quantize_c4_column_major(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{expected scale to have the shape of the blocks of 'tensor<?x64xf32>', column_major, got 'tensor<?x2xf32>'}}
  %0:2 = norm.quantize %x scale_layout(column_major) {block = array<i64: 1, 32>} : tensor<?x64xf32> -> tensor<?x64xi8> scale(tensor<?x2xf32>)
  return
}

// -----

func.func @quantize_c4_swizzled(%x: tensor<129x160xf32>) {
  // expected-error @+1 {{expected scale to have the shape of the blocks of 'tensor<129x160xf32>', swizzled_128x4, got 'tensor<1x2x32x4x4xi8>'}}
  %0:2 = norm.quantize %x scale_layout(swizzled_128x4) {block = array<i64: 1, 32>} : tensor<129x160xf32> -> tensor<129x160xi8> scale(tensor<1x2x32x4x4xi8>)
  return
}

// -----

func.func @dequantize_c1(%q: tensor<?x8xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{expected block to have a number for each axis of 'tensor<?x8xf32>', got 1}}
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
  // expected-error @+1 {{expected scale to have the shape of the blocks of 'tensor<?x8xf32>', got 'tensor<f32>'}}
  %0 = norm.dequantize %q scale(%s : tensor<f32>) {block = array<i64: 1, 0>} : tensor<?x8xi8> -> tensor<?x8xf32>
  return
}

// -----

func.func @dequantize_c2_unpacked(%q: tensor<?x8xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<?x8xi8>' unpacked, got 'tensor<?x8xf32>'}}
  %0 = norm.dequantize %q scale(%s : tensor<f32>) {e2m1} : tensor<?x8xi8> -> tensor<?x8xf32>
  return
}

// -----

func.func @dequantize_c4(%q: tensor<?x8xf8E5M2>, %s: tensor<f32>) {
  // expected-error @+1 {{expected e2m1 with a q of i8, got 'tensor<?x8xf8E5M2>'}}
  %0 = norm.dequantize %q scale(%s : tensor<f32>) {e2m1} : tensor<?x8xf8E5M2> -> tensor<?x16xf32>
  return
}

// -----

func.func @dequantize_c4_dynamic(%q: tensor<?x?xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{expected e2m1 with a last axis of a static, even extent, got a q of 'tensor<?x?xi8>'}}
  %0 = norm.dequantize %q scale(%s : tensor<f32>) {e2m1} : tensor<?x?xi8> -> tensor<?x?xf32>
  return
}

// -----

func.func @dequantize_c4_block(%q: tensor<?x8xi8>, %s: tensor<?x16xf32>) {
  // expected-error @+1 {{expected e2m1 with blocks of an even extent along the last axis, got 1}}
  %0 = norm.dequantize %q scale(%s : tensor<?x16xf32>) {block = array<i64: 1, 1>, e2m1} : tensor<?x8xi8> -> tensor<?x16xf32>
  return
}

// -----

func.func @dequantize_c5(%q: tensor<?x8xi8>, %s: tensor<f32>) {
  // expected-error @+1 {{expected tensor_scale with a scale of f8E4M3FN alone}}
  %0 = norm.dequantize %q scale(%s : tensor<f32>) tensor_scale(%s : tensor<f32>) : tensor<?x8xi8> -> tensor<?x8xf32>
  return
}

// -----

func.func @dequantize_c6(%q: tensor<?x8xi8>, %s: tensor<?xi8>) {
  // expected-error @+1 {{expected scale_layout column_major with a scale of blocks along at least two axes}}
  %0 = norm.dequantize %q scale(%s : tensor<?xi8>) scale_layout(column_major) {block = array<i64: 1, 0>} : tensor<?x8xi8> -> tensor<?x8xf32>
  return
}

// -----

func.func @dequantize_c3_swizzled(%q: tensor<?x64xi8>, %s: tensor<?x2xi8>) {
  // expected-error @+1 {{expected scale to have the shape of the blocks of 'tensor<?x64xf32>', swizzled_128x4, got 'tensor<?x2xi8>'}}
  %0 = norm.dequantize %q scale(%s : tensor<?x2xi8>) scale_layout(swizzled_128x4) {block = array<i64: 1, 32>} : tensor<?x64xi8> -> tensor<?x64xf32>
  return
}
