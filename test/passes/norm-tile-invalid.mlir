// What no pass applies yet, and spaces that are not one row per point, are refused at their place.
// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-tile

// expected-error @+1 {{expected a kernel with a schedule, got none}}
norm.kernel @no_schedule(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: a cluster of 2 CTAs, expected cluster = 1}}
norm.kernel @cluster(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) schedule(#norm.schedule<chunk = 64, cluster = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: grid = persistent, expected grid = flat}}
norm.kernel @grid(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) schedule(#norm.schedule<chunk = 64, grid = persistent>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: copy = bulk, expected copy = load}}
norm.kernel @copy(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) schedule(#norm.schedule<chunk = 64, copy = bulk>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: 2 stages, expected stages = 1}}
norm.kernel @stages(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) schedule(#norm.schedule<chunk = 64, stages = 2>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: 1 producer warps, expected producer_warps = 0}}
norm.kernel @producers(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) schedule(#norm.schedule<chunk = 64, producer_warps = 1>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: dependent_launch = true, expected dependent_launch = false}}
norm.kernel @dependent(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) schedule(#norm.schedule<chunk = 64, dependent_launch = true>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: a kernel without a reduction, expected at least one norm.reduce}}
norm.kernel @copy_rows(%x: memref<?x64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) schedule(#norm.schedule<>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  norm.write %0, %y[%m, %n] : memref<?x64xf32>
}

// -----

norm.kernel @two_dims(%x: memref<?x4x16xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %p = 4, %n = 16)
    schedule(#norm.schedule<>) {
  %0 = norm.read %x[%m, %p, %n] : memref<?x4x16xf32>
  // expected-error @+1 {{unsupported: a reduction over 2 dims that do not merge, expected one dim}}
  %1 = norm.reduce add %0 over(%p, %n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}

// -----

norm.kernel @both_ways(%x: memref<8x16xf32>, %y: memref<8xf32>, %z: memref<16xf32>) space(%m = 8, %n = 16)
    schedule(#norm.schedule<>) {
  %0 = norm.read %x[%m, %n] : memref<8x16xf32>
  // expected-note @+1 {{the first reduction is here}}
  %1 = norm.reduce add %0 over(%n) : f32
  // expected-error @+1 {{unsupported: reductions over different dims, expected all over dims 1, got one over dims 0}}
  %2 = norm.reduce add %0 over(%m) : f32
  norm.write %1, %y[%m] : memref<8xf32>
  norm.write %2, %z[%n] : memref<16xf32>
}

// -----

// expected-error @+1 {{unsupported: 4096 elements of a row per thread, expected at most 512}}
norm.kernel @unrolled(%x: memref<8x4096xf32>, %y: memref<8xf32>) space(%m = 8, %n = 4096)
    schedule(#norm.schedule<threads_per_row = 1, rows_per_cta = 32, chunk = 4096>) {
  %0 = norm.read %x[%m, %n] : memref<8x4096xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<8xf32>
}
