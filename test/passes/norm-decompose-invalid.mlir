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
