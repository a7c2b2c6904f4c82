// Kernels that norm-split-reductions refuses.
// RUN: norma-opt %s --split-input-file --norm-split-reductions --verify-diagnostics

// expected-error @below {{expected a reduction over dim 0, which the schedule splits}}
norm.kernel @kept(%x: memref<64x8xf32>, %y: memref<64xf32>) space(%m = 64, %n = 8)
    schedule(#norm.schedule<spread = [[loop, split(8)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<64x8xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<64xf32>
}

// -----

// expected-error @below {{unsupported: a split of dim 0 without a size; supported: a number of parts}}
norm.kernel @no_size(%x: memref<64x8xf32>, %y: memref<8xf32>) space(%m = 64, %n = 8)
    schedule(#norm.schedule<spread = [[split, lane(4)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<64x8xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<8xf32>
}

// -----

// expected-error @below {{expected factors of dim 0 that hold its 64 points, got 8}}
norm.kernel @too_few(%x: memref<64x8xf32>, %y: memref<8xf32>) space(%m = 64, %n = 8)
    schedule(#norm.schedule<spread = [[split(4), lane(2)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<64x8xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<8xf32>
}

// -----

// expected-error @below {{expected a factor without a size for dim 0, whose extent is dynamic}}
norm.kernel @too_few_of_unknown(%x: memref<?x8xf32>, %y: memref<8xf32>) space(%m = dim(%x, 0), %n = 8)
    schedule(#norm.schedule<spread = [[split(4), lane(2)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x8xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<8xf32>
}

// -----

// expected-error @below {{unsupported: a split that takes all of dim 0; supported: parts of several points}}
norm.kernel @more_parts_than_points(%x: memref<3x8xf32>, %y: memref<f32>) space(%m = 3, %n = 8)
    schedule(#norm.schedule<spread = [[loop, split(8)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<3x8xf32>
  %1 = norm.reduce add %0 over(%m, %n) : f32
  norm.write %1, %y[] : memref<f32>
}

// -----

// expected-error @below {{unsupported: two splits of dim 0; supported: one}}
norm.kernel @twice(%x: memref<64x8xf32>, %y: memref<8xf32>) space(%m = 64, %n = 8)
    schedule(#norm.schedule<spread = [[loop, split(4), lane(2), split(2)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<64x8xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<8xf32>
}

// -----

// expected-error @below {{unsupported: a factor without a size inside of others for dim 0, whose extent is dynamic}}
norm.kernel @inner_rest(%x: memref<?x8xf32>, %y: memref<8xf32>) space(%m = dim(%x, 0), %n = 8)
    schedule(#norm.schedule<spread = [[split(4), loop], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x8xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%n] : memref<8xf32>
}

// -----

// expected-error @below {{unsupported: a split of dim 0, where a reduction over it ranges over what another one gives; supported: reductions that do not hang on each other, or that merge_reductions = [split] merges}}
norm.kernel @nested(%x: memref<64x8xf32>, %y: memref<8xf32>) space(%m = 64, %n = 8)
    schedule(#norm.schedule<spread = [[loop, split(4)], [lane(8)]]>) {
  %0 = norm.read %x[%m, %n] : memref<64x8xf32>
  %1 = norm.reduce add %0 over(%m) : f32
  %2 = math.absf %1 : f32
  %3 = norm.reduce add %2 over(%m) : f32
  norm.write %3, %y[%n] : memref<8xf32>
}

// -----

// expected-error @below {{unsupported: held_steps = 2 in a schedule with a split, whose parts other kernels read again; supported: 0}}
norm.kernel @held_steps(%x: memref<?x4096xf32>, %y: memref<?x4096xf32>) space(%m = dim(%x, 0), %n = 4096)
    schedule(#norm.schedule<spread = [[grid], [loop, split(4), lane(32)]], keep = [l1], held_steps = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x4096xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.divf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x4096xf32>
}

// -----

// expected-error @below {{unsupported: a split of dim 1, which is aligned_dim; supported: a split of another dim}}
norm.kernel @aligned(%x: memref<?x65xbf16>, %y: memref<?xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[grid], [split(2), loop, lane(2), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.reduce add %0 over(%n) : bf16
  norm.write %1, %y[%m] : memref<?xbf16>
}

// -----

// The rows of a part have to begin alike: with twelve parts every second one of its rows begins four elements later.
// expected-error @below {{unsupported: aligned_dim = 1 where a reduction over rows keeps it; supported: reductions along it}}
norm.kernel @parts_of_rows_that_begin_differently(%x: memref<?x65xbf16>, %y: memref<65xbf16>) space(%m = dim(%x, 0), %n = 65)
    schedule(#norm.schedule<spread = [[loop, split(12)], [lane(16), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.reduce add %0 over(%m) : bf16
  norm.write %1, %y[%n] : memref<65xbf16>
}

// -----

// A result that is no sum over parts would be written by all of them, at different places of their tiles.
// expected-error @below {{unsupported: aligned_dim = 1 where a result is the same for rows that begin differently; supported: results for each row}}
norm.kernel @result_of_no_part(%x: memref<?x65xbf16>, %w: memref<65xbf16>, %y: memref<65xbf16>, %z: memref<65xbf16>)
    space(%m = dim(%x, 0), %n = 65) schedule(#norm.schedule<spread = [[loop, split(8)], [lane(16), vector(8)]], aligned_dim = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x65xbf16>
  %1 = norm.reduce add %0 over(%m) : bf16
  norm.write %1, %y[%n] : memref<65xbf16>
  %2 = norm.read %w[%n] : memref<65xbf16>
  norm.write %2, %z[%n] : memref<65xbf16>
}

// -----

// Each part of the second dim sums up as many points of the first one as the part has.
// expected-error @below {{unsupported: a split of dim 1 besides another one, where a reduction over it ranges over what is the same along it; supported: one split}}
norm.kernel @two_splits(%x: memref<64xf32>, %y: memref<f32>) space(%m = 64, %n = 3)
    schedule(#norm.schedule<spread = [[loop, split(4)], [loop, split(2)]]>) {
  %0 = norm.read %x[%m] : memref<64xf32>
  %1 = norm.reduce add %0 over(%m, %n) : f32
  norm.write %1, %y[] : memref<f32>
}
