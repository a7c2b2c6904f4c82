// A sum that keeps one element of a dim reads it.
// RUN: norma-opt %s --split-input-file --norm-gather-one-hots | FileCheck %s

// The element is read where the label is known, before the reductions; what is computed from it stays behind them.
// CHECK-LABEL: norm.kernel @logit_of_a_label(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x64xbf16>,
// CHECK-SAME: space(%[[M:[^ ]*]] = dim
// CHECK: %[[LABEL:.*]] = norm.read %{{.*}} : memref<?xi64>
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[LABEL]] : i64 to index
// CHECK-NEXT: %[[LOGIT:.*]], %[[INSIDE:.*]] = norm.gather %[[X]][%[[M]], %[[INDEX]]] : memref<?x64xbf16>
// CHECK: %[[MAX:.*]] = norm.reduce max
// CHECK: %[[WIDE:.*]] = arith.extf %[[LOGIT]] : bf16 to f32
// CHECK: %[[DISTANCE:.*]] = arith.subf %[[WIDE]], %[[MAX]] : f32
// CHECK: arith.select %[[INSIDE]], %[[DISTANCE]], %{{.*}} : f32
// CHECK-NOT: norm.reduce
norm.kernel @logit_of_a_label(%x: memref<?x64xbf16>, %l: memref<?xi64>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %zero = arith.constant 0.0 : f32
  %4 = norm.read %l[%m] : memref<?xi64>
  %0 = norm.read %x[%m, %n] : memref<?x64xbf16>
  %1 = arith.extf %0 : bf16 to f32
  %2 = norm.reduce max %1 over(%n) : f32
  %3 = arith.subf %1, %2 : f32
  %5 = arith.index_cast %4 : i64 to index
  %6 = arith.cmpi eq, %n, %5 : index
  %7 = arith.select %6, %3, %zero : f32
  %8 = norm.reduce add %7 over(%n) : f32
  norm.write %8, %y[%m] : memref<?xf32>
}

// -----

// Rows of any length: whether the label is a column is what the gather says of it. Both use one gather.
// CHECK-LABEL: norm.kernel @dynamic(
// CHECK: %{{.*}}, %[[INSIDE:.*]] = norm.gather
// CHECK-NOT: norm.gather
// CHECK-NOT: norm.reduce or
// CHECK: norm.write %[[INSIDE]]
norm.kernel @dynamic(%x: memref<?x?xf32>, %l: memref<?xi64>, %y: memref<?xf32>, %z: memref<?xi1>, %s: memref<?xf32>)
    space(%m = dim(%x, 0), %n = dim(%x, 1)) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %x[%m, %n] : memref<?x?xf32>
  %1 = norm.read %l[%m] : memref<?xi64>
  %2 = arith.index_cast %1 : i64 to index
  %3 = arith.cmpi eq, %2, %n : index
  %4 = arith.select %3, %0, %zero : f32
  %5 = norm.reduce add %4 over(%n) : f32
  %6 = norm.reduce or %3 over(%n) : i1
  %7 = norm.reduce add %0 over(%n) : f32
  norm.write %5, %y[%m] : memref<?xf32>
  norm.write %6, %z[%m] : memref<?xi1>
  norm.write %7, %s[%m] : memref<?xf32>
}

// -----

// Positions of 64 columns fit 32 bits, and the weight of the class is read at the same place.
// CHECK-LABEL: norm.kernel @weighted(
// CHECK: %[[INDEX:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK-DAG: norm.gather %{{.*}}[%{{.*}}, %[[INDEX]]] : memref<?x64xf32>
// CHECK-DAG: norm.gather %{{.*}}[%[[INDEX]]] : memref<64xf32>
norm.kernel @weighted(%x: memref<?x64xf32>, %w: memref<64xf32>, %l: memref<?xi32>, %y: memref<?xf32>, %s: memref<?xf32>)
    space(%m = dim(%x, 0), %n = 64) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %w[%n] : memref<64xf32>
  %2 = arith.mulf %0, %1 : f32
  %3 = norm.read %l[%m] : memref<?xi32>
  %4 = arith.index_cast %n : index to i32
  %5 = arith.cmpi eq, %4, %3 : i32
  %6 = arith.select %5, %2, %zero : f32
  %7 = norm.reduce add %6 over(%n) : f32
  %8 = norm.reduce add %0 over(%n) : f32
  norm.write %7, %y[%m] : memref<?xf32>
  norm.write %8, %s[%m] : memref<?xf32>
}

// -----

// A dim that only the sum is over leaves the space.
// CHECK-LABEL: norm.kernel @only_use(
// CHECK-SAME: space(%[[M:[a-z0-9]+]] = dim(%{{.*}}, 0)) {
// CHECK: %[[LABEL:.*]] = norm.read %{{.*}}[%[[M]]] : memref<?xi64>
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[LABEL]]
// CHECK: %[[X:.*]], %[[INSIDE:.*]] = norm.gather %{{.*}}[%[[M]], %[[INDEX]]]
// CHECK: %[[KEPT:.*]] = arith.select %[[INSIDE]], %[[X]]
// CHECK-NOT: norm.reduce
// CHECK: norm.write %[[KEPT]], %{{.*}}[%[[M]]]
norm.kernel @only_use(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %l[%m] : memref<?xi64>
  %2 = arith.index_cast %1 : i64 to index
  %3 = arith.cmpi eq, %n, %2 : index
  %4 = arith.select %3, %0, %zero : f32
  %5 = norm.reduce add %4 over(%n) : f32
  norm.write %5, %y[%m] : memref<?xf32>
}

// -----

// Left alone: a dim that would have to leave the space, but is the last one or spread by a schedule; and what is kept elsewhere is not 0.
// CHECK-LABEL: norm.kernel @last_dim(
// CHECK-NOT: norm.gather
norm.kernel @last_dim(%x: memref<64xf32>, %l: memref<i64>, %y: memref<f32>) space(%n = 64) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %x[%n] : memref<64xf32>
  %1 = norm.read %l[] : memref<i64>
  %2 = arith.index_cast %1 : i64 to index
  %3 = arith.cmpi eq, %n, %2 : index
  %4 = arith.select %3, %0, %zero : f32
  %5 = norm.reduce add %4 over(%n) : f32
  norm.write %5, %y[] : memref<f32>
}

// CHECK-LABEL: norm.kernel @spread(
// CHECK-NOT: norm.gather
norm.kernel @spread(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 64)
    schedule(#norm.schedule<spread = [[grid], [register(2), lane(32)]]>) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %l[%m] : memref<?xi64>
  %2 = arith.index_cast %1 : i64 to index
  %3 = arith.cmpi eq, %n, %2 : index
  %4 = arith.select %3, %0, %zero : f32
  %5 = norm.reduce add %4 over(%n) : f32
  norm.write %5, %y[%m] : memref<?xf32>
}

// CHECK-LABEL: norm.kernel @others_count(
// CHECK-NOT: norm.gather
norm.kernel @others_count(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?xf32>, %s: memref<?xf32>)
    space(%m = dim(%x, 0), %n = 64) {
  %one = arith.constant 1.0 : f32
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %l[%m] : memref<?xi64>
  %2 = arith.index_cast %1 : i64 to index
  %3 = arith.cmpi eq, %n, %2 : index
  %4 = arith.select %3, %0, %one : f32
  %5 = norm.reduce add %4 over(%n) : f32
  %6 = norm.reduce add %0 over(%n) : f32
  norm.write %5, %y[%m] : memref<?xf32>
  norm.write %6, %s[%m] : memref<?xf32>
}

// -----

// Left alone: another thread may have overwritten the element, and an index beyond the dim may still lie within the axis.
// CHECK-LABEL: norm.kernel @overwritten(
// CHECK-NOT: norm.gather
norm.kernel @overwritten(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?xf32>, %z: memref<?x64xf32>)
    space(%m = dim(%x, 0), %n = 64) aliases(%z = %x) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %l[%m] : memref<?xi64>
  %2 = arith.index_cast %1 : i64 to index
  %3 = arith.cmpi eq, %n, %2 : index
  %4 = arith.select %3, %0, %zero : f32
  %5 = norm.reduce add %4 over(%n) : f32
  norm.write %5, %y[%m] : memref<?xf32>
  norm.write %0, %z[%m, %n] : memref<?x64xf32>
}

// CHECK-LABEL: norm.kernel @part_of_an_axis(
// CHECK-NOT: norm.gather
norm.kernel @part_of_an_axis(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?xf32>, %s: memref<?xf32>)
    space(%m = dim(%x, 0), %n = 32) {
  %zero = arith.constant 0.0 : f32
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.read %l[%m] : memref<?xi64>
  %2 = arith.index_cast %1 : i64 to index
  %3 = arith.cmpi eq, %n, %2 : index
  %4 = arith.select %3, %0, %zero : f32
  %5 = norm.reduce add %4 over(%n) : f32
  %6 = norm.reduce add %0 over(%n) : f32
  norm.write %5, %y[%m] : memref<?xf32>
  norm.write %6, %s[%m] : memref<?xf32>
}
