// RUN: norma-opt %s --split-input-file --verify-diagnostics --convert-norm-to-gl

// expected-error@+1 {{expected a tiled kernel, got one without roles}}
norm.kernel @untiled(%x: memref<8x32xf32>, %y: memref<8xf32>) space(%m = 8, %n = 32) {
  %0 = norm.read %x[%m, %n] : memref<8x32xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<8xf32>
}

// -----

// expected-error@+1 {{expected a kernel with a schedule; run norm-select-schedule first}}
norm.kernel @unscheduled(%x: memref<8x32xf32>, %y: memref<8xf32>) space(%b = 8 : grid, %t = 32 : thread) {
  %0 = norm.read %x[%b, %t] : memref<8x32xf32>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[%b] : memref<8xf32>
}

// -----

// expected-error@+1 {{expected tile dims whose extents are powers of two, got 48}}
norm.kernel @ragged(%x: memref<8x48xf32>, %y: memref<8xf32>) space(%b = 8 : grid, %t = 48 : thread)
    schedule(#norm.schedule<spread = [[grid], [warp(2), lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<8x48xf32>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[%b] : memref<8xf32>
}

// -----

// expected-error@+1 {{expected tile dims of extents [32, 2], as the schedule says, got [64]}}
norm.kernel @other_tile(%x: memref<8x64xf32>, %y: memref<8xf32>) space(%b = 8 : grid, %t = 64 : thread)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%b, %t] : memref<8x64xf32>
  %1 = norm.reduce add %0 over(%t) : f32
  norm.write %1, %y[%b] : memref<8xf32>
}

// -----

norm.kernel @over_grid(%x: memref<8x32xf32>, %y: memref<32xf32>) space(%b = 8 : grid, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[grid], [lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<8x32xf32>
  // expected-error@+1 {{unsupported: expected reductions over dims that a CTA holds whole, got dim 0}}
  %1 = norm.reduce add %0 over(%b) : f32
  norm.write %1, %y[%t] : memref<32xf32>
}

// -----

norm.kernel @shared(%x: memref<8x32xf32>, %y: memref<8x32xf32>) space(%b = 8 : grid, %t = 32 : thread)
    schedule(#norm.schedule<spread = [[grid], [lane(32)]]>) {
  %0 = norm.read %x[%b, %t] : memref<8x32xf32>
  // expected-error@+1 {{expected a value that was brought to shared memory}}
  %1 = norm.cache %0 in shared : f32
  norm.write %1, %y[%b, %t] : memref<8x32xf32>
}
