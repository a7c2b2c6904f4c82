// A read of a later phase is issued with the first phase if the schedule asks for it; otherwise nothing changes.
// RUN: norma-opt %s --norm-hoist-reads | FileCheck %s

// CHECK-LABEL: norm.kernel @early
// CHECK-NEXT: norm.read %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x64xf32>
// CHECK-NEXT: norm.read %{{.*}}[%{{.*}}] : memref<64xf32>
// CHECK-NEXT: norm.reduce
norm.kernel @early(%x: memref<?x64xf32>, %w: memref<64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]], early_reads = true>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = norm.read %w[%n] : memref<64xf32>
  %3 = arith.mulf %1, %2 : f32
  norm.write %3, %y[%m, %n] : memref<?x64xf32>
}

// CHECK-LABEL: norm.kernel @as_written
// CHECK-NEXT: norm.read %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x64xf32>
// CHECK-NEXT: norm.reduce
norm.kernel @as_written(%x: memref<?x64xf32>, %w: memref<64xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [lane(32), vector(2)]]>) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = norm.read %w[%n] : memref<64xf32>
  %3 = arith.mulf %1, %2 : f32
  norm.write %3, %y[%m, %n] : memref<?x64xf32>
}
