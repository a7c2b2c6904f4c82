// RUN: norma-opt %s --norm-merge-reductions --verify-diagnostics

// expected-error @+1 {{expected a kernel with roles, as norm-tile leaves it}}
norm.kernel @untiled(%x: memref<?x64xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [loop, lane(32)]], keep = [l2], merge_reductions = [loop]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %y[%m] : memref<?xf32>
}
