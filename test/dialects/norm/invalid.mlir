// One case for each numbered constraint of norm, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @schedule_c1() attributes {
  // expected-error @+1 {{expected a power of two for lane, got 3}}
  a = #norm.schedule<spread = [[lane(3)]]>
} { return }

// -----

func.func @schedule_c1_rest() attributes {
  // expected-error @+1 {{expected at most one factor without a size for a dim, got loop too}}
  a = #norm.schedule<spread = [[grid, loop]]>
} { return }

// -----

func.func @schedule_c1_size() attributes {
  // expected-error @+1 {{expected a factor of at least 1, got 0}}
  a = #norm.schedule<spread = [[grid(0)]]>
} { return }

// -----

func.func @schedule_c2_lanes() attributes {
  // expected-error @+1 {{expected lane factors of at most 32 in all}}
  a = #norm.schedule<spread = [[lane(8)], [lane(8)]]>
} { return }

// -----

func.func @schedule_c2() attributes {
  // expected-error @+1 {{expected warp factors of at most 32 in all}}
  a = #norm.schedule<spread = [[warp(2)], [warp(32), lane(32)]]>
} { return }

// -----

func.func @schedule_c2_cluster() attributes {
  // expected-error @+1 {{expected cluster factors of at most 16 in all}}
  a = #norm.schedule<spread = [[cluster(32)]]>
} { return }

// -----

func.func @schedule_c3() attributes {
  // expected-error @+1 {{expected at least one stage and one consumer group, got 0 and 1}}
  a = #norm.schedule<spread = [[grid]], stages = 0>
} { return }

// -----

func.func @schedule_c3_negative() attributes {
  // expected-error @+1 {{expected no negative number of unrolled bytes, held steps, producer warps or CTAs, got 0, 0, -1 and 0}}
  a = #norm.schedule<spread = [[grid]], producer_warps = -1>
} { return }

// -----

func.func @schedule_c3_negative_steps() attributes {
  // expected-error @+1 {{expected no negative number of unrolled bytes, held steps, producer warps or CTAs, got 0, -2, 0 and 0}}
  a = #norm.schedule<spread = [[loop]], held_steps = -2>
} { return }

// -----

func.func @schedule_c4() attributes {
  // expected-error @+1 {{expected vector to be the innermost factor of its dim}}
  a = #norm.schedule<spread = [[vector(8), lane(32)]]>
} { return }

// -----

func.func @schedule_c4_rest() attributes {
  // expected-error @+1 {{expected a size for warp}}
  a = #norm.schedule<spread = [[warp, lane(32)]]>
} { return }

// -----

func.func @schedule_c5() attributes {
  // expected-error @+1 {{expected none, register, shared, l1 or l2, got 'l3'}}
  a = #norm.schedule<spread = [[grid]], keep = [l3]>
} { return }

// -----

func.func @schedule_c5_level() attributes {
  // expected-error @+1 {{expected grid, split, cluster, loop, warp, lane, register or vector, got 'thread'}}
  a = #norm.schedule<spread = [[thread(32)]]>
} { return }

// -----

func.func @schedule_c6() attributes {
  // expected-error @+1 {{expected aligned_dim to be a dim with a vector factor, got 1}}
  a = #norm.schedule<spread = [[grid], [warp(2), lane(32)]], aligned_dim = 1>
} { return }

// -----

func.func @schedule_c6_position() attributes {
  // expected-error @+1 {{expected aligned_dim to be a dim with a vector factor, got 2}}
  a = #norm.schedule<spread = [[grid], [lane(32), vector(2)]], aligned_dim = 2>
} { return }

// -----

func.func @schedule_c7_level() attributes {
  // expected-error @+1 {{expected merge_reductions of split, cluster, loop, warp and lane, got register}}
  a = #norm.schedule<spread = [[grid], [register(2), lane(32)]], merge_reductions = [register]>
} { return }

// -----

func.func @schedule_c7_order() attributes {
  // expected-error @+1 {{expected merge_reductions from the outermost level to the innermost, each once, got cluster behind loop}}
  a = #norm.schedule<spread = [[grid], [loop, cluster(2), lane(32)]], merge_reductions = [loop, cluster]>
} { return }

// -----

func.func @schedule_c7_keyword() attributes {
  // expected-error @+1 {{expected split, cluster, loop, warp or lane, got 'thread'}}
  a = #norm.schedule<spread = [[grid], [lane(32)]], merge_reductions = [thread]>
} { return }

// -----

func.func @schedule_c8() attributes {
  // expected-error @+1 {{expected producer_registers to be 0 or a multiple of 8 from 24 to 240, got 20}}
  a = #norm.schedule<spread = [[grid]], producer_registers = 20>
} { return }

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

// expected-error @+1 {{expected buffers to be memrefs and scalars after them, got 'tensor<4xf32>'}}
norm.kernel @kernel_c1(%x: tensor<4xf32>) space(%n = 4) {
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

// The parser reports the same error at the space.
// expected-error @+1 {{expected a role for each dim or for none}}
norm.kernel @kernel_c3_syntax() space(%m = 4 : grid, %n = 4) {
}

// -----

// expected-error @+1 {{expected grid, cluster, loop, thread or register, got tile}}
norm.kernel @kernel_c3_keyword() space(%n = 4 : tile) {
}

// -----

// expected-error @+1 {{expected pairs of guards over 1 dims and 0 sizes, got}}
"norm.kernel"() <{sym_name = "kernel_c4", extents = affine_map<() -> (4)>, sizes = array<i64>,
                  guards = affine_map<(d0) -> (d0)>}> ({
^bb0(%n: index):
}) : () -> ()

// -----

// expected-error @+1 {{expected alignments to be powers of two up to 2^31, got 3}}
norm.kernel @kernel_c5(%x: memref<4xf32>) space(%n = 4) align(3) {
}

// -----

// expected-error @+1 {{expected a multiple for a dynamic axis of 'memref<4xf32>', got axis 0}}
norm.kernel @kernel_c6(%x: memref<4xf32>) space(%n = 4) multiples(dim(%x, 0) = 2) {
}

// -----

// expected-error @+1 {{expected a positive multiple, got 0}}
norm.kernel @kernel_c6_zero(%x: memref<?xf32>) space(%n = 4) multiples(dim(%x, 0) = 0) {
}

// -----

// expected-error @+1 {{expected two buffers of one type to be the same memory, got 'memref<8xf32>' and 'memref<4xf32>'}}
norm.kernel @kernel_c7(%x: memref<4xf32>, %y: memref<8xf32>) space(%n = 4) aliases(%y = %x) {
}

// -----

// expected-error @+1 {{expected accesses at the same coordinates to buffers that may be the same memory}}
norm.kernel @kernel_c7_accesses(%x: memref<4x4xf32>, %y: memref<4x4xf32>) space(%m = 4, %n = 4) aliases(%y = %x) {
  // expected-note @below {{another is here}}
  %0 = norm.read %x[%n, %m] : memref<4x4xf32>
  // expected-note @below {{one is here}}
  norm.write %0, %y[%m, %n] : memref<4x4xf32>
}

// -----

// expected-error @+1 {{expected buffers before scalars}}
norm.kernel @kernel_scalar_first(%s: f32, %x: memref<4xf32>) space(%n = 4) {
}

// -----

norm.kernel @read_c1(%x: memref<4x4xf32>) space(%n = 4) {
  // expected-error @+1 {{expected 2 coordinates into 'memref<4x4xf32>', got 1}}
  %0 = norm.read %x[%n] : memref<4x4xf32>
}

// -----

norm.kernel @read_c2(%x: memref<4xf32>) space(%n = 4) {
  %c = arith.constant 0 : index
  // expected-error @+1 {{expected indices to be dims or numbers of the space, got}}
  %0 = norm.read %x[%c] : memref<4xf32>
}

// -----

norm.kernel @read_c3(%x: memref<4xf32>) space(%n = 4) {
  %a = memref.alloc() : memref<4xf32>
  // expected-error @+1 {{expected the buffer to be an argument of the kernel, got}}
  %0 = norm.read %a[%n] : memref<4xf32>
}

// -----

norm.kernel @gather_c1(%x: memref<4x4xf32>) space(%n = 4) {
  // expected-error @+1 {{expected 2 coordinates into 'memref<4x4xf32>', got 1}}
  %0, %1 = norm.gather %x[%n] : memref<4x4xf32>
}

// -----

norm.kernel @gather_c2(%x: memref<4xf32>) space(%n = 4) {
  %a = memref.alloc() : memref<4xf32>
  // expected-error @+1 {{expected the buffer to be an argument of the kernel, got}}
  %0, %1 = norm.gather %a[%n] : memref<4xf32>
}

// -----

norm.kernel @gather_c3(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) {
  // expected-error @+1 {{expected to read an input, got y, a memref<4xf32>, which is written}}
  %0, %1 = norm.gather %y[%n] : memref<4xf32>
  // expected-note @+1 {{written here}}
  norm.write %0, %y[%n] : memref<4xf32>
}

// -----

norm.kernel @gather_c3_overwritten(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) aliases(%y = %x) {
  // expected-error @+1 {{expected an input that no result overwrites, got}}
  %0, %1 = norm.gather %x[%n] : memref<4xf32>
  norm.write %0, %y[%n] : memref<4xf32>
}

// -----

norm.kernel @gather_c4(%x: memref<4xf32>, %l: memref<4xi64>, %y: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %l[%n] : memref<4xi64>
  %1 = arith.index_cast %0 : i64 to index
  // expected-error @+1 {{expected coordinates that add multiples of computed values, got one that divides or multiplies}}
  %2, %3 = norm.gather %x[%1 floordiv 2] : memref<4xf32>
  norm.write %2, %y[%n] : memref<4xf32>
}

// -----

norm.kernel @gather_c5(%x: memref<9x3xf32>, %l: memref<4xi64>, %y: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %l[%n] : memref<4xi64>
  %1 = arith.index_cast %0 : i64 to index
  // expected-error @+1 {{expected coordinate 1 to be within 'memref<9x3xf32>', got 3 at n = 3}}
  %2, %3 = norm.gather %x[%1, %n] : memref<9x3xf32>
  norm.write %2, %y[%n] : memref<4xf32>
}

// -----

norm.kernel @gather_c6(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) {
  // expected-error @+1 {{expected a positive divisor, got 0}}
  %0, %1 = norm.gather %x[%n floordiv 0] : memref<4xf32>
  norm.write %0, %y[%n] : memref<4xf32>
}

// -----

norm.kernel @scatter_c1(%x: memref<4xf32>, %y: memref<4x4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected 2 coordinates into 'memref<4x4xf32>', got 1}}
  norm.scatter %0, %y[%n] : memref<4x4xf32>
}

// -----

norm.kernel @scatter_c2(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  %a = memref.alloc() : memref<4xf32>
  // expected-error @+1 {{expected the buffer to be an argument of the kernel, got}}
  norm.scatter %0, %a[%n] : memref<4xf32>
}

// -----

norm.kernel @scatter_c3(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-note @+1 {{accessed here}}
  norm.write %0, %y[%n] : memref<4xf32>
  // expected-error @+1 {{expected an output that only norm.scatter accesses, got y, a memref<4xf32>}}
  norm.scatter %0, %y[%n] : memref<4xf32>
}

// -----

norm.kernel @scatter_c3_in_place(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) aliases(%y = %x) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected an output that is not the memory of an input, got y, a memref<4xf32>, which may be that of x}}
  norm.scatter %0, %y[%n] : memref<4xf32>
}

// -----

norm.kernel @scatter_c4(%x: memref<4x3xf32>, %l: memref<4xi64>, %y: memref<?xf32>) space(%m = 4, %n = 3) {
  %0 = norm.read %x[%m, %n] : memref<4x3xf32>
  %1 = norm.read %l[%m] : memref<4xi64>
  %2 = arith.index_cast %1 : i64 to index
  // expected-error @+1 {{expected coordinates over every dim that the value varies over, but they leave out n}}
  norm.scatter %0, %y[%2] : memref<?xf32>
}

// -----

norm.kernel @scatter_c5(%x: memref<4xf32>, %l: memref<4xi64>, %y: memref<9x3xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  %1 = norm.read %l[%n] : memref<4xi64>
  %2 = arith.index_cast %1 : i64 to index
  // expected-error @+1 {{expected coordinate 1 to be within 'memref<9x3xf32>', got 3 at n = 3}}
  norm.scatter %0, %y[%2, %n] : memref<9x3xf32>
}

// -----

norm.kernel @scatter_c6(%x: memref<4xf32>, %l: memref<4xi64>, %y: memref<9xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  %1 = norm.read %l[%n] : memref<4xi64>
  %2 = arith.index_cast %1 : i64 to index
  // expected-error @+1 {{expected coordinates that add multiples of computed values, got one that divides or multiplies}}
  norm.scatter %0, %y[%2 mod 9] : memref<9xf32>
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

norm.kernel @write_c2_number(%y: memref<4xf32>, %o: index) space(%n = 4) {
  %c = arith.constant 0.0 : f32
  // expected-error @+1 {{expected indices to be dims of the space, got}}
  norm.write %c, %y[%n + %o] : memref<4xf32>
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
  // expected-error @+1 {{expected the access to use every dim that the value varies over, but it leaves out n}}
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
  // expected-error @+1 {{expected each dim once, got one again at position 1}}
  %1 = norm.reduce add %0 over(%n, %n) : f32
}

// -----

norm.kernel @reduce_over_another_value(%x: memref<4xf32>, %i: index) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected dims of the space, got another value at position 1}}
  %1 = norm.reduce add %0 over(%n, %i) : f32
}

// -----

norm.kernel @reduce_c6(%x: memref<4xf32>) space(%n = 4, %j = 2) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected nth with max or min of an integer of 8 bits or more, got max of 'f32'}}
  %1 = norm.reduce max %0 over(%n) nth(%j) : f32
}

// -----

norm.kernel @reduce_c6_combiner(%x: memref<4xi32>) space(%n = 4, %j = 2) {
  %0 = norm.read %x[%n] : memref<4xi32>
  // expected-error @+1 {{expected nth with max or min of an integer of 8 bits or more, got add of 'i32'}}
  %1 = norm.reduce add %0 over(%n) nth(%j) : i32
}

// -----

norm.kernel @reduce_c6_reduced(%x: memref<4xi32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xi32>
  // expected-error @+1 {{expected nth to be a dim of the space that the reduction is not over, got}}
  %1 = norm.reduce max %0 over(%n) nth(%n) : i32
}

// -----

norm.kernel @reduce_c6_varies(%x: memref<2x4xi32>) space(%j = 2, %n = 4) {
  %0 = norm.read %x[%j, %n] : memref<2x4xi32>
  // expected-error @+1 {{expected nth to be a dim that the value does not vary over, got j}}
  %1 = norm.reduce max %0 over(%n) nth(%j) : i32
}

// -----

func.func @extent_c1(%n: index) {
  // expected-error @+1 {{expected to be in the text of a norm.compute or norm.kernel, which replaces it}}
  %0 = norm.extent %n : f32
  return
}

// -----

// The results vary over the dim that numbers them.
norm.kernel @reduce_nth_varies(%x: memref<4xi32>, %y: memref<1xi32>) space(%m = 1, %n = 4, %j = 2) {
  %0 = norm.read %x[%n] : memref<4xi32>
  %1 = norm.reduce max %0 over(%n) nth(%j) : i32
  // expected-error @+1 {{expected the access to use every dim that the value varies over, but it leaves out}}
  norm.write %1, %y[%m] : memref<1xi32>
}

// -----

norm.kernel @scan_c1(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected an integer for or, got 'f32'}}
  %1 = norm.scan or %0 along(%n) : f32
}

// -----

norm.kernel @scan_c2(%x: memref<4x4xf32>) space(%m = 4, %n = 4) {
  %0 = norm.read %x[%m, %n] : memref<4x4xf32>
  // expected-error @+1 {{expected dims of the space in its order, each once, got}}
  %1 = norm.scan add %0 along(%n, %m) : f32
}

// -----

norm.kernel @scan_c2_none(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected at least one dim}}
  %1 = norm.scan add %0 along() : f32
}

// -----

// The result varies over the dim that the scan runs along.
norm.kernel @scan_varies(%x: memref<4xf32>, %y: memref<1xf32>) space(%m = 1, %n = 4) {
  %one = arith.constant 1.0 : f32
  %1 = norm.scan add %one along(%n) : f32
  // expected-error @+1 {{expected the access to use every dim that the value varies over, but it leaves out}}
  norm.write %1, %y[%m] : memref<1xf32>
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

// -----

func.func @compute_c3(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{expected a norm.write of every result, got none of z, a tensor<?xf32>}}
  %0:2 = norm.compute(%a = %x : tensor<?x4xf32>) -> (%y : tensor<?xf32>, %z : tensor<?xf32>)
      space(%m = dim(%a, 0)) {
    %v = norm.read %a[%m, 0] : tensor<?x4xf32>
    norm.write %v, %y[%m] : tensor<?xf32>
  }
  return
}

// -----

norm.kernel @read_c2_symbol(%x: memref<4xf32>) space(%n = 4) {
  // expected-error @+1 {{expected coordinates over dims alone, got a symbol}}
  %0 = norm.read %x[symbol(%n)] : memref<4xf32>
}

// -----

// No offset makes sixteen elements fit within eight.
norm.kernel @read_c4_number(%x: memref<?x8xf32>, %o: index) space(%m = dim(%x, 0), %n = 16) {
  // expected-error-re @+1 {{expected coordinate 1 to be within 'memref<?x8xf32>', got {{.*}} at m = {{.*}}, n = {{.*}}, o = {{.*}}}}
  %0 = norm.read %x[%m, %n + %o] : memref<?x8xf32>
}

// -----

norm.kernel @read_c4(%x: memref<?x8xf32>) space(%m = dim(%x, 0), %n = 8) {
  // expected-error @+1 {{expected coordinate 1 to be within 'memref<?x8xf32>', got 8 at m = 0, n = 7}}
  %0 = norm.read %x[%m, %n + 1] : memref<?x8xf32>
}

// -----

norm.kernel @read_c4_negative(%x: memref<?x8xf32>) space(%m = dim(%x, 0), %n = 8) {
  // expected-error @+1 {{expected coordinate 1 to be within 'memref<?x8xf32>', got -1 at m = 0, n = 0}}
  %0 = norm.read %x[%m, %n - 1] : memref<?x8xf32>
}

// -----

norm.kernel @read_c4_dynamic(%x: memref<?xf32>) space(%m = dim(%x, 0)) {
  // expected-error @+1 {{expected coordinate 0 to be within 'memref<?xf32>', got}}
  %0 = norm.read %x[%m + 1] : memref<?xf32>
}

// -----

norm.kernel @read_c4_divided(%x: memref<4xf32>) space(%n = 33) {
  // expected-error @+1 {{expected coordinate 0 to be within 'memref<4xf32>', got 4 at n = 32}}
  %0 = norm.read %x[%n floordiv 8] : memref<4xf32>
}

// -----

// The factor is too large for any address.
norm.kernel @large_factor(%x: memref<?xf32>) space(%m = dim(%x, 0), %n = 9223372036854775807) {
  // expected-error @+1 {{unsupported: a coordinate that multiplies dims, divides by a dim or has a factor that does not fit 64 bits}}
  %0 = norm.read %x[%m + %n * 9223372036854775807] : memref<?xf32>
}

// -----

norm.kernel @read_c6(%x: memref<64xf32>) space(%n = 16) {
  // expected-error @+1 {{expected a positive divisor, got -8}}
  %0 = norm.read %x[%n mod -8] : memref<64xf32>
}

// -----

norm.kernel @read_c6_quotient(%x: memref<64xf32>) space(%n = 16) {
  // expected-error @+1 {{expected a positive divisor, got -2}}
  %0 = norm.read %x[%n floordiv -2] : memref<64xf32>
}

// -----

norm.kernel @read_c6_zero(%x: memref<64xf32>) space(%n = 16) {
  // expected-error @+1 {{expected a positive divisor, got 0}}
  %0 = norm.read %x[%n ceildiv 0] : memref<64xf32>
}

// -----

norm.kernel @write_c9(%y: memref<16xf32>) space(%n = 16) {
  %0 = arith.constant 0.0 : f32
  // expected-error @+1 {{expected a positive divisor, got -16}}
  norm.write %0, %y[%n mod -16] : memref<16xf32>
}

// -----

// The parser of the space refuses such a divisor where it stands; a pass could still make one.
// expected-error @+1 {{expected a positive divisor, got 0}}
"norm.kernel"() <{extents = affine_map<()[s0] -> (s0 floordiv 0)>, sizes = array<i64: 0, 0>, sym_name = "kernel_c11"}> ({
^bb0(%x: memref<?xf32>, %n: index):
}) : () -> ()

// -----

// expected-error @+1 {{expected a positive divisor, got -4}}
"norm.kernel"() <{extents = affine_map<()[s0] -> (s0)>, sizes = array<i64: 0, 0>, sym_name = "kernel_c11_guard",
                  guards = affine_map<(d0)[s0] -> (d0 mod -4, s0)>}> ({
^bb0(%x: memref<?xf32>, %n: index):
}) : () -> ()

// -----

// expected-error @+1 {{expected a positive divisor, got 0}}
"norm.kernel"() <{extents = affine_map<()[s0] -> (s0)>, sizes = array<i64: 0, 0>, sym_name = "kernel_c11_condition",
                  conditions = affine_map<()[s0] -> (s0 ceildiv 0, 3)>, alternatives = [#norm.schedule<spread = [[grid]]>]}> ({
^bb0(%x: memref<?xf32>, %n: index):
}) : () -> ()

// -----

func.func @compute_c4(%x: tensor<?xf32>) {
  // expected-error @+1 {{expected a positive divisor, got -2}}
  "norm.compute"(%x) <{extents = affine_map<()[s0] -> (s0 floordiv -2)>, sizes = array<i64: 0, 0>}> ({
  ^bb0(%a: tensor<?xf32>, %n: index):
  }) : (tensor<?xf32>) -> ()
  return
}

// -----

norm.kernel @read_c5(%x: memref<8xf32>) space(%n = 8) {
  // expected-error @+1 {{expected to read an input, got x, a memref<8xf32>, which is written}}
  %0 = norm.read %x[%n] : memref<8xf32>
  // expected-note @+1 {{written here}}
  norm.write %0, %x[%n] : memref<8xf32>
}

// -----

norm.kernel @write_c5(%y: memref<?x8xf32>) space(%m = dim(%y, 0), %n = 9) {
  %0 = arith.constant 0.0 : f32
  // expected-error @+1 {{expected coordinate 1 to be within 'memref<?x8xf32>', got 8 at m = 0, n = 8}}
  norm.write %0, %y[%m, %n] : memref<?x8xf32>
}

// -----

func.func @write_c6(%x: tensor<8xf32>) {
  %0 = norm.compute(%a = %x : tensor<8xf32>) -> (%y : tensor<8xf32>) space(%n = 8) {
    %c = arith.constant 0.0 : f32
    // expected-error @+1 {{expected to write a result, got input a, a tensor<8xf32>}}
    norm.write %c, %a[%n] : tensor<8xf32>
    norm.write %c, %y[%n] : tensor<8xf32>
  }
  return
}

// -----

norm.kernel @write_c7(%y: memref<21xf32>) space(%m = 5, %n = 5) {
  %0 = arith.constant 0.0 : f32
  // expected-error @+1 {{expected each element to be written once, got two writes of}}
  norm.write %0, %y[%m * 4 + %n] : memref<21xf32>
}

// -----

norm.kernel @write_c7_two(%y: memref<8xf32>) space(%n = 4) {
  %0 = arith.constant 0.0 : f32
  // expected-note @+1 {{first written here}}
  norm.write %0, %y[%n] : memref<8xf32>
  // expected-error @+1 {{expected each element to be written once, got two writes of [3], at n = 3 and at n = 0}}
  norm.write %0, %y[%n + 3] : memref<8xf32>
}

// -----

norm.kernel @write_c8(%y: memref<?x8xf32>) space(%m = dim(%y, 0), %n = 4) {
  %0 = arith.constant 0.0 : f32
  // expected-error @+1 {{expected every element of y, a memref<?x8xf32>, to be written, got no write of [0, 7]}}
  norm.write %0, %y[%m, %n] : memref<?x8xf32>
}

// -----

norm.kernel @write_c8_hole(%y: memref<?x16xf32>) space(%m = dim(%y, 0), %n = 8) {
  %0 = arith.constant 0.0 : f32
  // expected-error @+1 {{expected every element of y, a memref<?x16xf32>, to be written, got no write of [0, 15]}}
  norm.write %0, %y[%m, %n * 2] : memref<?x16xf32>
}

// -----

func.func @misspelt(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{expected axes, eps, weight_offset, got epsilon; did you mean eps?}}
  %0 = norm.rms_norm %x {epsilon = 1.0e-2 : f32} : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

norm.kernel @attribute_of_none(%x: memref<4xf32>) space(%n = 4) {
  // expected-error @+1 {{expected access, got volatile}}
  %0 = norm.read %x[%n] {volatile} : memref<4xf32>
}

// -----

// expected-error @+1 {{expected on argument 0 norm.align, norm.buffer, norm.default, norm.devices, norm.dims, norm.max, norm.may_alias, norm.min, norm.multiples, norm.name, norm.output, norm.sizes, got norm.alig; did you mean norm.align?}}
func.func @misspelt_of_argument(%x: tensor<4xf32> {norm.alig = 16 : i64}) {
  return
}

// -----

// expected-error @+1 {{expected on result 0 norm.align, norm.buffer, norm.default, norm.devices, norm.dims, norm.max, norm.may_alias, norm.min, norm.multiples, norm.name, norm.output, norm.sizes, got norm.nam; did you mean norm.name?}}
func.func private @misspelt_of_result() -> (tensor<4xf32> {norm.nam = "x"})

// -----

// expected-error @+1 {{expected norm.choice, norm.gradient, norm.name, norm.part, norm.rounded, norm.schedule, norm.scratch, norm.sharded, norm.zeroed, got norm.schedul; did you mean norm.schedule?}}
func.func private @misspelt_of_function() attributes {norm.schedul}

// -----

norm.kernel @combiner(%x: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  // expected-error @+1 {{expected a value to reduce or a combiner, one of add, mul, max, min, and, or, mean, got average}}
  %1 = norm.reduce average %0 over(%n) : f32
}

// -----

// A value used in its own definition neither ends a check early nor makes it recurse without end.
norm.kernel @own_definition(%y: memref<?xf32>) space(%m = dim(%y, 0)) {
  // expected-error @+2 {{operand #0 does not dominate this use}}
  // expected-note @+1 {{operand defined here}}
  %1 = arith.negf %1 : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: the extent of dim m multiplies or divides sizes}}
norm.kernel @product_of_sizes(%x: memref<?x?xf32>) space(%m = dim(%x, 0) * dim(%x, 1)) {
}

// -----

// expected-error @+1 {{expected alignments to be powers of two up to 2^31, got 4294967296}}
norm.kernel @kernel_c5_large(%x: memref<4xf32>) space(%n = 4) align(4294967296) {
}

// -----

// expected-error @+1 {{expected at most 2^30 points that a CTA holds at once, got 2147483648 for t}}
norm.kernel @kernel_c8() space(%g = 4 : grid, %t = 2147483648 : thread) {
}

// -----

// expected-error @+1 {{expected bounds for a dynamic axis of 'memref<4xf32>', got axis 0}}
norm.kernel @kernel_c9(%x: memref<4xf32>) space(%n = 4) bounds(2 <= dim(%x, 0)) {
}

// -----

// expected-error @+1 {{expected bounds with 0 <= least <= most, got 8 and 4}}
norm.kernel @kernel_c9_order(%x: memref<?xf32>) space(%n = 4) bounds(8 <= dim(%x, 0) <= 4) {
}

// -----

// expected-error @+1 {{expected bounds once for each axis, got axis 0 of buffer 0 twice}}
norm.kernel @kernel_c9_twice(%x: memref<?xf32>) space(%n = 4) bounds(8 <= dim(%x, 0), dim(%x, 0) <= 16) {
}

// -----

// expected-error @+1 {{expected a bound before or behind the size}}
norm.kernel @kernel_without_a_bound(%x: memref<?xf32>) space(%n = 4) bounds(dim(%x, 0)) {
}

// -----

// expected-error @+1 {{expected a pair of conditions over 0 sizes for each of 1 alternatives, got}}
"norm.kernel"() <{sym_name = "kernel_c10", extents = affine_map<() -> (4)>, sizes = array<i64>,
                  alternatives = [#norm.schedule<spread = [[grid]]>]}> ({
^bb0(%n: index):
}) : () -> ()

// -----

// expected-error @+1 {{expected no alternatives in a tiled kernel}}
norm.kernel @kernel_c10_tiled(%x: memref<?xf32>) space(%n = dim(%x, 0) : grid)
    schedule(#norm.schedule<spread = [[grid]]> if dim(%x, 0) < 4) {
}

// -----

// A size that is 0 divides nothing.
// expected-error @+1 {{unsupported: a condition that divides by a size; supported: quotients and remainders by constants}}
norm.kernel @kernel_c10_divided(%x: memref<?x?xf32>) space(%n = dim(%x, 0))
    schedule(#norm.schedule<spread = [[grid]]> if dim(%x, 0) floordiv dim(%x, 1) < 4, #norm.schedule<spread = [[grid]]>) {
}

// -----

// expected-error @+2 {{expected the schedule without a condition to be the last one}}
norm.kernel @kernel_schedule_behind_the_last(%x: memref<?xf32>) space(%n = dim(%x, 0))
    schedule(#norm.schedule<spread = [[grid]]>, #norm.schedule<spread = [[grid]]> if dim(%x, 0) < 4) {
}

// -----

func.func @read_c5_result(%x: tensor<8xf32>) {
  %0 = norm.compute(%a = %x : tensor<8xf32>) -> (%y : tensor<8xf32>) space(%n = 8) {
    // expected-error @+1 {{expected to read an input, got result y, a tensor<8xf32>}}
    %v = norm.read %y[%n] : tensor<8xf32>
  }
  return
}

// -----

func.func @compute_c4_guard(%x: tensor<?xf32>) {
  // expected-error @+1 {{expected a positive divisor, got -4}}
  "norm.compute"(%x) <{extents = affine_map<()[s0] -> (s0)>, sizes = array<i64: 0, 0>,
                       guards = affine_map<(d0)[s0] -> (d0 mod -4, s0)>}> ({
  ^bb0(%a: tensor<?xf32>, %n: index):
  }) : (tensor<?xf32>) -> ()
  return
}

// -----

func.func @compute_c5(%x: tensor<?xf32>) {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 1 sizes, got affine_map<(d0)[s0] -> (d0)>}}
  "norm.compute"(%x) <{extents = affine_map<()[s0] -> (s0)>, sizes = array<i64: 0, 0>,
                       guards = affine_map<(d0)[s0] -> (d0)>}> ({
  ^bb0(%a: tensor<?xf32>, %n: index):
  }) : (tensor<?xf32>) -> ()
  return
}

// -----

// Whether there is a point of the block depends on the block, on which the sum does not depend.
func.func @compute_c6(%w: tensor<128xf32>) -> tensor<5xf32> {
  %0 = norm.compute(%a = %w : tensor<128xf32>) -> (%o : tensor<5xf32>)
      space(%b = 5, %i = 128) where(%b * 128 + %i < 576) {
    %1 = norm.read %a[%i] : tensor<128xf32>
    // expected-error @+1 {{expected to range or vary over all dims of the guard, but it leaves out b}}
    %2 = norm.reduce add %1 over(%i) : f32
    norm.write %2, %o[%b] : tensor<5xf32>
  }
  return %0 : tensor<5xf32>
}

// -----

func.func @compute_c6_scan(%x: tensor<576xf32>) -> tensor<576xf32> {
  %0 = norm.compute(%a = %x : tensor<576xf32>) -> (%o : tensor<576xf32>)
      space(%b = 5, %i = 128) where(%b * 128 + %i < 576) {
    %1 = norm.read %a[%b * 128 + %i] : tensor<576xf32>
    // expected-error @+1 {{unsupported: a scan along a dim with a guard}}
    %2 = norm.scan add %1 along(%i) : f32
    norm.write %2, %o[%b * 128 + %i] : tensor<576xf32>
  }
  return %0 : tensor<576xf32>
}

// -----

func.func @compute_c6_nth(%x: tensor<576xi32>) -> tensor<5x2xi32> {
  %0 = norm.compute(%a = %x : tensor<576xi32>) -> (%o : tensor<5x2xi32>)
      space(%b = 5, %i = 128, %j = 2) where(%b * 128 + %i < 576) {
    %1 = norm.read %a[%b * 128 + %i] : tensor<576xi32>
    // expected-error @+1 {{unsupported: nth along a dim with a guard}}
    %2 = norm.reduce max %1 over(%i) nth(%j) : i32
    norm.write %2, %o[%b, %j] : tensor<5x2xi32>
  }
  return %0 : tensor<5x2xi32>
}

// -----

norm.kernel @kernel_c12(%w: memref<128xf32>, %y: memref<5xf32>) space(%b = 5, %i = 128) where(%b * 128 + %i < 576) {
  %0 = norm.read %w[%i] : memref<128xf32>
  // expected-error @+1 {{expected to range or vary over all dims of the guard, but it leaves out b}}
  %1 = norm.reduce add %0 over(%i) : f32
  norm.write %1, %y[%b] : memref<5xf32>
}

// -----

// Without the guard, the last block would reach beyond the end.
norm.kernel @read_c4_without_guard(%x: memref<576xf32>, %y: memref<5xf32>) space(%b = 5, %i = 128) {
  // expected-error @+1 {{expected coordinate 0 to be within 'memref<576xf32>', got 639 at b = 4, i = 127}}
  %0 = norm.read %x[%b * 128 + %i] : memref<576xf32>
  %1 = norm.reduce max %0 over(%i) : f32
  norm.write %1, %y[%b] : memref<5xf32>
}

// -----

// A guard that ends one point too late.
norm.kernel @read_c4_guard(%x: memref<576xf32>, %y: memref<5xf32>) space(%b = 5, %i = 128) where(%b * 128 + %i < 577) {
  // expected-error @+1 {{expected coordinate 0 to be within 'memref<576xf32>', got 576 at b = 4, i = 64}}
  %0 = norm.read %x[%b * 128 + %i] : memref<576xf32>
  %1 = norm.reduce max %0 over(%i) : f32
  norm.write %1, %y[%b] : memref<5xf32>
}

// -----

// A guard that ends one point too early.
norm.kernel @write_c8_guard(%x: memref<576xf32>, %y: memref<576xf32>) space(%b = 5, %i = 128) where(%b * 128 + %i < 575) {
  %0 = norm.read %x[%b * 128 + %i] : memref<576xf32>
  // expected-error @+1 {{expected every element of y, a memref<576xf32>, to be written, got no write of [575]}}
  norm.write %0, %y[%b * 128 + %i] : memref<576xf32>
}

// -----

// A guard concerns only accesses that use all of its dims.
norm.kernel @write_c5_guard(%x: memref<8xf32>, %y: memref<5xf32>) space(%b = 7, %i = 128) where(%b * 128 + %i < 576) {
  %0 = norm.read %x[%b] : memref<8xf32>
  // expected-error @+1 {{expected coordinate 0 to be within 'memref<5xf32>', got 6 at b = 6}}
  norm.write %0, %y[%b] : memref<5xf32>
}

// -----

norm.kernel @multiplies_in_guard(%x: memref<?xf32>) space(%n = dim(%x, 0)) where(%n * dim(%x, 0) < 5) { // expected-error {{unsupported: a guard that multiplies or divides dims and sizes by each other}}
}
