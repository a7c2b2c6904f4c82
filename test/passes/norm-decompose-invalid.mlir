// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-decompose

func.func @wide(%x: tensor<4x64xf64>, %to: tensor<4x64xf64>) -> tensor<4x64xf64> {
  // expected-error @below {{unsupported: 'linalg.softmax' of f64; supported: bf16, f16, f32}}
  %y = linalg.softmax dimension(1) ins(%x : tensor<4x64xf64>) outs(%to : tensor<4x64xf64>) -> tensor<4x64xf64>
  return %y : tensor<4x64xf64>
}

// -----

func.func @on_buffers(%x: memref<4x64xf32>, %to: memref<4x64xf32>) {
  // expected-error @below {{unsupported: 'linalg.softmax' on buffers; supported: on tensors}}
  linalg.softmax dimension(1) ins(%x : memref<4x64xf32>) outs(%to : memref<4x64xf32>)
  return
}

// -----

func.func @power_of_any_exponent(%x: f32, %n: i32) -> f32 {
  // expected-error @below {{unsupported: 'math.fpowi' by what is no constant up to 2^24; supported: such constants, and math.powf}}
  %y = math.fpowi %x, %n : f32, i32
  return %y : f32
}

// -----

func.func @power_of_f64(%x: f64) -> f64 {
  %five = arith.constant 5 : i32
  // expected-error @below {{unsupported: 'math.fpowi' of f64 by 5; supported: exponents between -4 and 4}}
  %y = math.fpowi %x, %five : f64, i32
  return %y : f64
}
