// Functions that are refused, and the reason given.
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

// The accumulator is in both operands, so that the order of the reduction matters.
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
  // expected-error @below {{unsupported: a number that 'tensor.extract' makes; supported: constants, elements of constant tensors of one value, arguments, sizes along axes that are constants, elements of tensors without axes, and what scalar ops make of them}}
  %s = tensor.extract %x[%c0] : tensor<4xf32>
  // expected-note @below {{it is used here}}
  %y = tensor.splat %s : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @joined_sizes(%x: tensor<?x?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{unsupported: 'tensor.collapse_shape' of axes [0, 1] as one, of which another than the first has a dynamic size; supported: groups whose sizes are static but for the first, and ops on tensors of any rank, which need no reshape}}
  %y = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x8xf32> into tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

func.func @parted_sizes(%x: tensor<?xf32>, %m: index, %n: index) -> tensor<?x?xf32> {
  // expected-error @below {{unsupported: 'tensor.expand_shape' of axes [0, 1] as one}}
  %y = tensor.expand_shape %x [[0, 1]] output_shape [%m, %n] : tensor<?xf32> into tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

func.func @stride_of_a_run(%x: tensor<8x32xf32>, %i: index) -> tensor<8x16xf32> {
  // expected-error @below {{unsupported: a slice whose stride along axis 1 is dynamic; supported: strides that are constants}}
  %y = tensor.extract_slice %x[0, 0] [8, 16] [1, %i] : tensor<8x32xf32> to tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

func.func @offset_that_is_no_sum(%x: tensor<8x32xf32>, %i: index) -> tensor<8x16xf32> {
  // expected-error @below {{unsupported: 'arith.muli' in where a slice begins; supported: arguments, and sums, differences and multiples by constants of them}}
  %o = arith.muli %i, %i : index
  // expected-note @below {{it is used here}}
  %y = tensor.extract_slice %x[0, %o] [8, 16] [1, 1] : tensor<8x32xf32> to tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

func.func @offset_of_an_integer(%x: tensor<8x32xf32>, %i: i64) -> tensor<8x16xf32> {
  // expected-error @below {{unsupported: 'arith.index_cast' in where a slice begins}}
  %o = arith.index_cast %i : i64 to index
  // expected-note @below {{it is used here}}
  %y = tensor.extract_slice %x[0, %o] [8, 16] [1, 1] : tensor<8x32xf32> to tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

func.func @size_of_a_run(%x: tensor<8x?xf32>, %n: index) -> tensor<8x?xf32> {
  // expected-error @below {{unsupported: 'tensor.extract_slice' of tensor<8x?xf32>, whose size along axis 1 is no tensor's}}
  %y = tensor.extract_slice %x[0, 0] [8, %n] [1, 1] : tensor<8x?xf32> to tensor<8x?xf32>
  return %y : tensor<8x?xf32>
}

// -----

// The loop that the first result is reduced over indexes the second.
func.func @reduced_over_different_loops(%x: tensor<4x8xf32>, %s: tensor<4xf32>, %z: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  // expected-error @below {{unsupported: result 0 as a reduction over loop 1, which indexes another result; supported: results that are reduced over the same loops}}
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%s, %z : tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%v: f32, %acc: f32, %old: f32):
    %0 = arith.addf %acc, %v : f32
    linalg.yield %0, %v : f32, f32
  } -> (tensor<4xf32>, tensor<4x8xf32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4x8xf32>
}

// -----

// What is accumulated is the same at each step of that loop, and yet counts as often.
func.func @accumulated_over_different_loops(%x: tensor<4xf32>, %s: tensor<4xf32>, %z: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  // expected-error @below {{unsupported: result 0 as a reduction over loop 1, which indexes another result}}
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4xf32>) outs(%s, %z : tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%v: f32, %acc: f32, %old: f32):
    %0 = arith.addf %acc, %v : f32
    linalg.yield %0, %v : f32, f32
  } -> (tensor<4xf32>, tensor<4x8xf32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4x8xf32>
}

// -----

func.func @region_of_another_tensor(%x: tensor<4xf32>, %s: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%v: f32, %old: f32):
    %i = linalg.index 0 : index
    // expected-error @below {{unsupported: 'tensor.extract' of a tensor in a region of linalg; supported: elements that the region has as arguments}}
    %0 = tensor.extract %s[%i] : tensor<4xf32>
    %1 = arith.mulf %v, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Of equal values this keeps the last one.
func.func @last_of_ties(%x: tensor<4x8xf32>, %none: tensor<4xf32>, %first: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%none, %first : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%in: f32, %out: f32, %out_place: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    // expected-error @below {{and two results that are an extremum and the first place where it is}}
    %0 = arith.maximumf %in, %out : f32
    %1 = arith.cmpf oge, %in, %out : f32
    %2 = arith.select %1, %here, %out_place : i64
    linalg.yield %0, %2 : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xi64>
}

// -----

// A NaN leaves the value as it is, and the extremum of numbers is another reduction.
func.func @without_nan(%x: tensor<4x8xf32>, %none: tensor<4xf32>, %first: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%none, %first : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%in: f32, %out: f32, %out_place: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %0 = arith.cmpf ogt, %in, %out : f32
    // expected-error @below {{and two results that are an extremum and the first place where it is}}
    %1 = arith.select %0, %in, %out : f32
    %2 = arith.select %0, %here, %out_place : i64
    linalg.yield %1, %2 : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xi64>
}

// -----

// The place is that of the smallest value, beside the largest.
func.func @place_of_another(%x: tensor<4x8xf32>, %none: tensor<4xf32>, %first: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %y:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%none, %first : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%in: f32, %out: f32, %out_place: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    // expected-error @below {{and two results that are an extremum and the first place where it is}}
    %0 = arith.maximumf %in, %out : f32
    %1 = arith.cmpf olt, %in, %out : f32
    %2 = arith.select %1, %here, %out_place : i64
    linalg.yield %0, %2 : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xi64>
}

// -----

func.func @size_of_an_axis_that_varies(%x: tensor<?x?xf32>, %axis: index) -> tensor<4xindex> {
  // expected-error @below {{unsupported: a number that 'tensor.dim' makes; supported: constants, elements of constant tensors of one value, arguments, sizes along axes that are constants, elements of tensors without axes, and what scalar ops make of them}}
  %n = tensor.dim %x, %axis : tensor<?x?xf32>
  // expected-note @below {{it is used here}}
  %y = tensor.splat %n : tensor<4xindex>
  return %y : tensor<4xindex>
}

// -----

func.func @size_as_offset(%x: tensor<?xf32>, %w: tensor<?xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @below {{unsupported: a number that 'tensor.dim' makes}}
  %n = tensor.dim %w, %c0 : tensor<?xf32>
  // expected-note @below {{it is used here}}
  %y = tensor.extract_slice %x[%n] [8] [1] : tensor<?xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}
