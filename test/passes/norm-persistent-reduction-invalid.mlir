// Loops are recognised by roles.
// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-persistent-reduction

// expected-error @+1 {{expected a kernel with roles, as norm-tile leaves it}}
norm.kernel @untiled(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
