// One case for each numbered constraint of norm, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @schedule_c1() attributes {
  // expected-error @+1 {{expected threads_per_row to be a power of two, got 3}}
  a = #norm.schedule<threads_per_row = 3>
} { return }

// -----

func.func @schedule_c2() attributes {
  // expected-error @+1 {{expected at most 1024 threads in a CTA, got 2 rows of 1024}}
  a = #norm.schedule<rows_per_cta = 2, threads_per_row = 1024>
} { return }

// -----

func.func @schedule_c2_cluster() attributes {
  // expected-error @+1 {{expected a cluster of at most 16 CTAs, got 32}}
  a = #norm.schedule<cluster = 32>
} { return }

// -----

func.func @schedule_c3() attributes {
  // expected-error @+1 {{expected at least one stage and no negative number of producer warps or CTAs, got 0, 0 and 0}}
  a = #norm.schedule<stages = 0>
} { return }

// -----

func.func @schedule_c4() attributes {
  // expected-error @+1 {{expected rows_per_thread to be a power of two up to rows_per_cta, got 4}}
  a = #norm.schedule<rows_per_cta = 2, rows_per_thread = 4>
} { return }

// -----

func.func @rms_norm_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes between 1 and the rank 2 of x, got 3}}
  %0 = norm.rms_norm %x {axes = 3} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<2x?xf32>) {
  // expected-error @+1 {{expected static normalized axes, got 'tensor<2x?xf32>'}}
  %0 = norm.rms_norm %x : tensor<2x?xf32> -> tensor<2x?xf32>
  return
}

// -----

func.func @rms_norm_c2_empty(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{expected normalized axes that hold at least one element, got 'tensor<2x0xf32>'}}
  %0 = norm.rms_norm %x : tensor<2x0xf32> -> tensor<2x0xf32>
  return
}

// -----

func.func @rms_norm_c3(%x: tensor<2x4xf32>, %w: tensor<2xf32>) {
  // expected-error @+1 {{expected weight to have the shape of the normalized axes of 'tensor<2x4xf32>', got 'tensor<2xf32>'}}
  %0 = norm.rms_norm %x weight(%w : tensor<2xf32>) : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c4(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected y to have the shape of 'tensor<2x4xf32>', got 'tensor<2x8xf32>'}}
  %0 = norm.rms_norm %x : tensor<2x4xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @rms_norm_c5(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected rstd to be f32 with the shape of the leading axes of 'tensor<2x4xf32>', got 'tensor<2xf16>'}}
  %0, %rstd = norm.rms_norm %x : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<2xf16>
  return
}

// -----

func.func @rms_norm_c6(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected weight_offset to be 0 without a weight, got 1.0}}
  %0 = norm.rms_norm %x {weight_offset = 1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @rms_norm_c7(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected eps to be finite and not negative, got -1.0}}
  %0 = norm.rms_norm %x {eps = -1.0 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @compute_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected block arguments for 1 inputs, 1 results and 1 dims, got}}
  %0 = "norm.compute"(%x) <{extents = affine_map<() -> (4)>, sizes = array<i64>}> ({
  ^bb0(%a: tensor<4xf32>, %o: tensor<4xf32>):
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @compute_c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected an axis of 'tensor<4xf32>', got 1}}
  %0 = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = dim(%a, 1)) {
  }
  return
}

// -----

// expected-error @+1 {{expected buffers to be memrefs, got 'f32'}}
norm.kernel @kernel_c1(%x: f32) space(%n = 4) {
}

// -----

// expected-error @+1 {{expected an axis of 'memref<4xf32>', got 1}}
norm.kernel @kernel_c2(%x: memref<4xf32>) space(%n = dim(%x, 1)) {
}

// -----

// expected-error @+1 {{expected a role for each of 2 dims, got 1}}
"norm.kernel"() <{sym_name = "kernel_c3", extents = affine_map<() -> (4, 4)>, sizes = array<i64>, roles = array<i32: 0>}> ({
^bb0(%m: index, %n: index):
}) : () -> ()

// -----

// The parser says the same at the space.
// expected-error @+1 {{expected a role for each dim or for none}}
norm.kernel @kernel_c3_syntax() space(%m = 4 : grid, %n = 4) {
}

// -----

// expected-error @+1 {{expected pairs of guards over 1 dims and 0 sizes, got}}
"norm.kernel"() <{sym_name = "kernel_c4", extents = affine_map<() -> (4)>, sizes = array<i64>,
                  guards = affine_map<(d0) -> (d0)>}> ({
^bb0(%n: index):
}) : () -> ()

// -----

// expected-error @+1 {{expected alignments to be powers of two, got 3}}
norm.kernel @kernel_c5(%x: memref<4xf32>) space(%n = 4) align(3) {
}

// -----

norm.kernel @read_c1(%x: memref<4x4xf32>) space(%n = 4) {
  // expected-error @+1 {{expected 2 coordinates into 'memref<4x4xf32>', got 1}}
  %0 = norm.read %x[%n] : memref<4x4xf32>
}

// -----

norm.kernel @read_c2(%x: memref<4xf32>) space(%n = 4) {
  %c = arith.constant 0 : index
  // expected-error @+1 {{expected indices to be dims of the space, got}}
  %0 = norm.read %x[%c] : memref<4xf32>
}

// -----

norm.kernel @read_c3(%x: memref<4xf32>) space(%n = 4) {
  %a = memref.alloc() : memref<4xf32>
  // expected-error @+1 {{expected the buffer to be an argument of the kernel, got}}
  %0 = norm.read %a[%n] : memref<4xf32>
}

// -----

norm.kernel @write_c1(%y: memref<4x4xf32>) space(%n = 4) {
  %c = arith.constant 0.0 : f32
  // expected-error @+1 {{expected 2 coordinates into 'memref<4x4xf32>', got 1}}
  norm.write %c, %y[%n] : memref<4x4xf32>
}

// -----

norm.kernel @write_c2(%y: memref<4xf32>) space(%n = 4) {
  %c = arith.constant 0.0 : f32
  %i = arith.constant 0 : index
  // expected-error @+1 {{expected indices to be dims of the space, got}}
  norm.write %c, %y[%i] : memref<4xf32>
}

// -----

norm.kernel @write_c3() space(%n = 4) {
  %a = memref.alloc() : memref<4xf32>
  %c = arith.constant 0.0 : f32
  // expected-error @+1 {{expected the buffer to be an argument of the kernel, got}}
  norm.write %c, %a[%n] : memref<4xf32>
}

// -----

norm.kernel @write_c4(%x: memref<8x4xf32>, %y: memref<8xf32>) space(%m = 8, %n = 4) {
  %0 = norm.read %x[%m, %n] : memref<8x4xf32>
  // expected-error @+1 {{expected the access to use every dim that the value varies over, but it leaves out dim 1}}
  norm.write %0, %y[%m] : memref<8xf32>
}

// -----

norm.kernel @reduce_c1(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected a named combiner or a region, got neither}}
  %1 = norm.reduce %0 over(%n) : f32
}

// -----

norm.kernel @reduce_c2(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected one value for add, got 2}}
  %1, %2 = norm.reduce add %0, %0 over(%n) : f32, f32
}

// -----

norm.kernel @reduce_c2_logical(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected an integer for or, got 'f32'}}
  %1 = norm.reduce or %0 over(%n) : f32
}

// -----

norm.kernel @reduce_c3(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected a combiner of 2 arguments of the values' types, got 'f32'}}
  %1 = norm.reduce %0 over(%n) identity [0.0 : f32] : f32 combine {
  ^bb0(%a: f32):
    norm.yield %a : f32
  }
}

// -----

norm.kernel @reduce_c4(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected an identity of type 'f32', got 0 : i32}}
  %1 = norm.reduce %0 over(%n) identity [0 : i32] : f32 combine {
  ^bb0(%a: f32, %b: f32):
    norm.yield %a : f32
  }
}

// -----

norm.kernel @reduce_c5(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected dims of the space, each once, got}}
  %1 = norm.reduce add %0 over(%n, %n) : f32
}

// -----

norm.kernel @reduce_isolated(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-note @+1 {{required by region isolation constraints}}
  %1 = norm.reduce %0 over(%n) identity [0.0 : f32] : f32 combine {
  ^bb0(%a: f32, %b: f32):
    // expected-error @+1 {{using value defined outside the region}}
    norm.yield %0 : f32
  }
}
