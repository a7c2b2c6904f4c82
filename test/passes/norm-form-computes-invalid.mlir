// What is refused, and why.
// RUN: norma-opt %s --split-input-file --norm-form-computes --verify-diagnostics

func.func @elements_that_differ() -> tensor<2xf32> {
  // expected-error @below {{unsupported: a constant tensor<2xf32> whose elements differ; supported: constants of one value, and tensors as arguments}}
  %y = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @unknown_size(%n: index, %s: f32) -> tensor<?xf32> {
  // expected-error @below {{unsupported: 'tensor.splat' of tensor<?xf32>, whose size along axis 0 is no tensor's; supported: sizes that are a tensor.dim of a tensor, or another operand's}}
  %y = tensor.splat %s[%n] : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @difference(%x: tensor<4x8xf32>, %from: tensor<4xf32>) -> tensor<4xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%from : tensor<4xf32>) {
  ^bb0(%v: f32, %acc: f32):
    // expected-error @below {{unsupported: a reduction of result 0 whose region is not op(accumulator, value) by an op that takes any order; supported: arith.addf,}}
    %0 = arith.subf %acc, %v : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The accumulator is in both operands, so that the order counts.
func.func @accumulator_twice(%x: tensor<4x8xf32>, %from: tensor<4xf32>) -> tensor<4xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%from : tensor<4xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %0 = arith.mulf %acc, %v : f32
    // expected-error @below {{unsupported: a reduction of result 0 whose region is not op(accumulator, value)}}
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @no_number(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{unsupported: a number that 'tensor.extract' makes; supported: constants, arguments, and what scalar ops make of them}}
  %s = tensor.extract %x[%c0] : tensor<4xf32>
  // expected-note @below {{it is used here}}
  %y = tensor.splat %s : tensor<4xf32>
  return %y : tensor<4xf32>
}
