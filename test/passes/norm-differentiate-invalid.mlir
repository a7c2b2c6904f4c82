// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-differentiate

func.func @floor(%x: tensor<?xf32> {norm.name = "x"}) -> tensor<?xf32> attributes {norm.gradient} {
  // expected-error @below {{unsupported: a gradient through 'math.floor', which has no derivative; supported: arith.addf, arith.subf}}
  %y = math.floor %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// A conversion to an integer and back to a float is a step function.
func.func @through_integers(%x: tensor<?xf32>) -> tensor<?xf32> attributes {norm.gradient} {
  %i = arith.fptosi %x : tensor<?xf32> to tensor<?xi32>
  // expected-error @below {{unsupported: a gradient through 'arith.sitofp', which has no derivative}}
  %y = arith.sitofp %i : tensor<?xi32> to tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// The position of the maximum is an integer, and no other result is left.
// expected-error @below {{expected an argument that a result of floats changes with, got 'x'; norm.gradient may name those that are meant}}
func.func @argmax(%x: tensor<?x64xf32> {norm.name = "x"}) -> tensor<?xi64> attributes {norm.gradient = ["x"]} {
  %y = norm.reduce_axes argmax %x : tensor<?x64xf32> -> tensor<?xi64>
  return %y : tensor<?xi64>
}

// -----

func.func @combiner(%x: tensor<?x64xf32>) -> tensor<?xf32> attributes {norm.gradient} {
  %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    // expected-error @below {{unsupported: a gradient through a reduction by a combiner that is written out; supported: add, mul, max and min of floats}}
    %1 = norm.reduce %0 over(%n) identity [0.0 : f32] : f32 combine {
    ^bb0(%one: f32, %other: f32):
      %2 = arith.addf %one, %other : f32
      norm.yield %2 : f32
    }
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// An element that several points read, which of them being decided by a remainder.
func.func @modulo(%x: tensor<4xf32>) -> tensor<64xf32> attributes {norm.gradient} {
  // expected-error @below {{unsupported: a gradient with respect to a tensor<4xf32> of which not every element is read once}}
  %y = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<64xf32>) space(%n = 64) {
    // expected-note @below {{it is read here}}
    %0 = norm.read %a[%n mod 4] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<64xf32>
  }
  return %y : tensor<64xf32>
}

// -----

// Both halves of an axis are read, but not all of it.
func.func @parts(%x: tensor<96xf32>) -> tensor<32xf32> attributes {norm.gradient} {
  // expected-error @below {{unsupported: a gradient with respect to a tensor<96xf32> of which not every element is read once}}
  %y = norm.compute(%a = %x : tensor<96xf32>) -> (%o : tensor<32xf32>) space(%n = 32) {
    // expected-note @below {{it is read here}}
    %0 = norm.read %a[%n] : tensor<96xf32>
    // expected-note @below {{it is read here}}
    %1 = norm.read %a[%n + 32] : tensor<96xf32>
    %2 = arith.addf %0, %1 : f32
    norm.write %2, %o[%n] : tensor<32xf32>
  }
  return %y : tensor<32xf32>
}

// -----

// A diagonal.
func.func @diagonal(%x: tensor<8x8xf32>) -> tensor<8xf32> attributes {norm.gradient} {
  // expected-error @below {{unsupported: a gradient with respect to a tensor<8x8xf32> of which not every element is read once}}
  %y = norm.compute(%a = %x : tensor<8x8xf32>) -> (%o : tensor<8xf32>) space(%n = 8) {
    // expected-note @below {{it is read here}}
    %0 = norm.read %a[%n, %n] : tensor<8x8xf32>
    norm.write %0, %o[%n] : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}

// -----

// expected-error @below {{expected the name of an argument, got 'z'}}
func.func @no_argument(%x: tensor<?xf32>) -> tensor<?xf32> attributes {norm.gradient = ["z"]} {
  %y = math.exp %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error @below {{expected an argument that is a tensor of floats, got 'labels' of tensor<?xi64>}}
func.func @integers(%x: tensor<?x8xf32>, %l: tensor<?xi64> {norm.name = "labels"}) -> tensor<?xf32>
    attributes {norm.gradient = ["labels"]} {
  %y = norm.cross_entropy %x labels(%l : tensor<?xi64>) : tensor<?x8xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error @below {{expected norm.gradient to be an array of names of arguments, or nothing but itself, got 1 : i64}}
func.func @number(%x: tensor<?xf32>) -> tensor<?xf32> attributes {norm.gradient = 1} {
  %y = math.exp %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error @below {{expected names that differ, got 'arg0' again}}
func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> attributes {norm.gradient = ["arg0", "arg0"]} {
  %y = math.exp %x : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error @below {{expected no other 'f_grad', which is the name of this function's gradient}}
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> attributes {norm.gradient} {
  %y = math.exp %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
// expected-note @below {{it is here}}
func.func @f_grad(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

func.func @unformed(%x: tensor<4x8xf32>) -> tensor<5x8xf32> attributes {norm.gradient} {
  // expected-error @below {{unsupported: the gradient of a function with 'tensor.pad'; supported: functions of one block, of what becomes norm.compute}}
  %t = tensor.pad %x low[0, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    %zero = arith.constant 0.0 : f32
    tensor.yield %zero : f32
  } : tensor<4x8xf32> to tensor<5x8xf32>
  %y = norm.rms_norm %t : tensor<5x8xf32> -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// -----

func.func @scanned(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {norm.gradient} {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4x8xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    // expected-error @below {{unsupported: a gradient through a scan by another combiner than a sum of floats; supported: add of floats}}
    %1 = norm.scan max %0 along(%n) : f32
    norm.write %1, %o[%m, %n] : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// Elements before and after a part with a dynamic offset have a gradient of 0, which no write would cover.
func.func @part_from(%x: tensor<?x64xf32>, %o: index) -> tensor<?x16xf32> attributes {norm.gradient} {
  // expected-error @below {{unsupported: a gradient with respect to a tensor<?x64xf32> of which not every element is read once}}
  %y = norm.compute(%a = %x : tensor<?x64xf32>, %p = %o : index) -> (%r : tensor<?x16xf32>) space(%m = dim(%a, 0), %n = 16) {
    // expected-note @below {{it is read here}}
    %0 = norm.read %a[%m, %n + %p] : tensor<?x64xf32>
    norm.write %0, %r[%m, %n] : tensor<?x16xf32>
  }
  return %y : tensor<?x16xf32>
}

// -----

func.func @guards(%x: tensor<?x576xf32> {norm.name = "x"}) -> tensor<?x5xf32> attributes {norm.gradient} {
  // expected-error @below {{unsupported: a gradient of a program with guards; supported: programs over all points of their dims}}
  %y = norm.compute(%a = %x : tensor<?x576xf32>) -> (%o : tensor<?x5xf32>)
      space(%m = dim(%a, 0), %b = 5, %i = 128) where(%b * 128 + %i < 576) {
    %0 = norm.read %a[%m, %b * 128 + %i] : tensor<?x576xf32>
    %1 = norm.reduce add %0 over(%i) : f32
    norm.write %1, %o[%m, %b] : tensor<?x5xf32>
  }
  return %y : tensor<?x5xf32>
}
