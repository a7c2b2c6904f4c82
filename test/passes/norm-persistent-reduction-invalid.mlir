// A row that one chunk does not cover cannot be resident.
// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-persistent-reduction

// expected-note @+1 {{the kernel's schedule says so}}
norm.kernel @two_chunks(%x: memref<?x64xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %r = 1 : tile, %c = 2 : loop, %t = 32 : tile) schedule(#norm.schedule<chunk = 32>) {
  %0 = norm.read %x[%b + %r, %c * 32 + %t] : memref<?x64xf32>
  // expected-error @+1 {{expected a chunk that covers the row, as the reduction is persistent, got 2 chunks}}
  %1 = norm.reduce add %0 over(%c, %t) : f32
  norm.write %1, %y[%b + %r] : memref<?xf32>
}

// -----

norm.kernel @dynamic(%x: memref<?x?xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %r = 1 : tile, %c = dim(%x, 1) ceildiv 32 : loop, %t = 32 : tile)
    where(%c * 32 + %t < dim(%x, 1)) schedule(#norm.schedule<chunk = 32>) {
  %0 = norm.read %x[%b + %r, %c * 32 + %t] : memref<?x?xf32>
  // expected-error @+1 {{unsupported: a persistent reduction over a dim whose extent only the run knows, expected a static one}}
  %1 = norm.reduce add %0 over(%c, %t) : f32
  norm.write %1, %y[%b + %r] : memref<?xf32>
}

// -----

// expected-error @+1 {{unsupported: reduction = looped_masked, expected reduction = persistent}}
norm.kernel @looped(%x: memref<?x64xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) : grid, %r = 1 : tile, %c = 2 : loop, %t = 32 : tile)
    schedule(#norm.schedule<chunk = 32, reduction = looped_masked>) {
  %0 = norm.read %x[%b + %r, %c * 32 + %t] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%c, %t) : f32
  norm.write %1, %y[%b + %r] : memref<?xf32>
}

// -----

// expected-error @+1 {{expected a kernel with a schedule and roles, as norm-tile leaves it}}
norm.kernel @untiled(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<chunk = 64>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
