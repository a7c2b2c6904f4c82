// What notation is refused for.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

norm.kernel @type_of_another_value(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n]
  // expected-error @+1 {{expected a buffer of the space around, or its type, got %0}}
  norm.write %0, %0[%n]
}

// -----

func.func @type_without_a_space(%x: memref<4xf32>, %n: index) {
  // expected-error @+1 {{expected a buffer of the space around, or its type, got %x}}
  %0 = norm.read %x[%n]
  return
}

// -----

norm.kernel @mean_of_integers(%x: memref<4x8xi32>, %y: memref<4xi32>) space(%m = 4, %n = 8) {
  %0 = norm.read %x[%m, %n]
  // expected-error @+1 {{expected one value of f32 or f64 for mean, got 'i32'}}
  %1 = norm.reduce mean %0 over(%n) : i32
  norm.write %1, %y[%m]
}

// -----

norm.kernel @mean_with_nth(%x: memref<4x8xf32>, %y: memref<4x2xf32>) space(%m = 4, %n = 8, %j = 2) {
  %0 = norm.read %x[%m, %n]
  // expected-error @+1 {{unsupported: nth of a mean}}
  %1 = norm.reduce mean %0 over(%n) nth(%j) : f32
  norm.write %1, %y[%m, %j]
}

// -----

norm.kernel @mean_over_a_guard(%x: memref<?xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 128, %i = 128) where(%b * 128 + %i < dim(%x, 0)) {
  %0 = norm.read %x[%b * 128 + %i]
  // expected-error @+1 {{unsupported: a mean over a dim with a guard, got i}}
  %1 = norm.reduce mean %0 over(%i) : f32
  norm.write %1, %y[%b]
}

// -----

norm.kernel @mean_over_a_number(%x: memref<4xf32>, %y: memref<4xf32>, %k: index) space(%m = 4, %n = 8) {
  %0 = norm.read %x[%m]
  // expected-error @+1 {{expected dims of the space, got <block argument> of type 'index' at index: 2}}
  %1 = norm.reduce mean %0 over(%k) : f32
  norm.write %1, %y[%m]
}

// -----

norm.kernel @extent_of_a_guard(%x: memref<?xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 128, %i = 128) where(%b * 128 + %i < dim(%x, 0)) {
  // expected-error @+1 {{unsupported: the extent of a dim with a guard, got i}}
  %0 = norm.extent %i : f32
  norm.write %0, %y[%b]
}

// -----

norm.kernel @variables_in_combiners(%x: memref<4x8xf32>, %y: memref<4xf32>) space(%m = 4, %n = 8) {
  %0 = norm.read %x[%m, %n]
  // expected-note @+1 {{required by region isolation constraints}}
  %1 = norm.reduce %0 over(%n) identity [0.0 : f32] : f32 combine {
  ^bb0(%a: f32, %b: f32):
    // expected-error @+1 {{using value defined outside the region}}
    %2 = arith.addf %a, %0 : f32
    norm.yield %2 : f32
  }
  norm.write %1, %y[%m]
}
