// Every op and attribute of norm parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @compute
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
func.func @compute(%x: tensor<?x64xf32>) -> tensor<?xf32> {
  // CHECK: norm.compute(%[[A:.*]] = %[[X]] : tensor<?x64xf32>) -> (%[[O:.*]] : tensor<?xf32>)
  // CHECK-SAME: space(%[[M:.*]] = dim(%[[A]], 0), %[[N:.*]] = 64)
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    // CHECK: norm.read %[[A]][%[[M]], %[[N]]] : tensor<?x64xf32>
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    // CHECK: norm.reduce add %{{.*}} over(%[[N]]) : f32
    %1 = norm.reduce add %0 over(%n) : f32
    // CHECK: norm.write %{{.*}}, %[[O]][%[[M]]] : tensor<?xf32>
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// Guards of a space, over its dims and sizes.
// CHECK-LABEL: func.func @guards
func.func @guards(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: space(%[[B:.*]] = dim(%[[A:.*]], 0) ceildiv 128, %[[I:.*]] = 128) where(%[[B]] * 128 + %[[I]] < dim(%[[A]], 0), %[[I]] < 128) {
  %s = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>)
      space(%b = dim(%a, 0) ceildiv 128, %i = 128) where(%b * 128 + %i < dim(%a, 0), %i < 128) {
    %0 = norm.read %a[%b * 128 + %i] : tensor<?xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    norm.write %1, %o[%b] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// Elements at computed places, and a run that begins at one.
// CHECK-LABEL: norm.kernel @gather
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32>, %{{.*}} space(%[[M:.*]] = dim(%{{.*}}, 0))
norm.kernel @gather(%x: memref<?x64xf32>, %l: memref<?xi64>, %y: memref<?xf32>) space(%m = dim(%x, 0)) {
  %0 = norm.read %l[%m] : memref<?xi64>
  %1 = arith.index_cast %0 : i64 to index
  // CHECK: %[[VALUE:.*]], %{{.*}} = norm.gather %[[X]][%[[M]], %{{.*}}] : memref<?x64xf32>
  %value, %inside = norm.gather %x[%m, %1] : memref<?x64xf32>
  norm.write %value, %y[%m] : memref<?xf32>
}

// CHECK-LABEL: norm.kernel @runs
// CHECK: norm.gather %{{.*}}[%{{.*}} * 2 + %{{.*}} + 1] if %{{.*}} : memref<?xf32>
norm.kernel @runs(%x: memref<?xf32>, %l: memref<?xi64>, %y: memref<?x8xf32>) space(%m = dim(%l, 0), %n = 8) {
  %0 = norm.read %l[%m] : memref<?xi64>
  %1 = arith.index_cast %0 : i64 to index
  %zero = arith.constant 0 : i64
  %is_run = arith.cmpi ne, %0, %zero : i64
  %value, %inside = norm.gather %x[%1 * 2 + %n + 1] if %is_run : memref<?xf32>
  norm.write %value, %y[%m, %n] : memref<?x8xf32>
}

// CHECK-LABEL: norm.kernel @scattered
// CHECK: norm.scatter %{{.*}}, %{{.*}}[%{{.*}} + %{{.*}}] if %{{.*}} : memref<?xf32>
// CHECK: norm.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x8xf32>
norm.kernel @scattered(%x: memref<?x8xf32>, %l: memref<?xi64>, %y: memref<?xf32>, %z: memref<?x8xf32>) space(%m = dim(%x, 0), %n = 8) {
  %0 = norm.read %x[%m, %n] : memref<?x8xf32>
  %1 = norm.read %l[%m] : memref<?xi64>
  %2 = arith.index_cast %1 : i64 to index
  %zero = arith.constant 0 : i64
  %is_run = arith.cmpi ne, %1, %zero : i64
  norm.scatter %0, %y[%n + %2] if %is_run : memref<?xf32>
  norm.scatter %0, %z[%2, %n] : memref<?x8xf32>
}

// A scan's result varies over the dims that it runs along.
// CHECK-LABEL: norm.kernel @scans
// CHECK-SAME: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[N:.*]] = 64)
norm.kernel @scans(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %z: memref<64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  // CHECK: norm.scan add %{{.*}} along(%[[N]]) : f32
  %1 = norm.scan add %0 along(%n) : f32
  norm.write %1, %y[%m, %n] : memref<?x64xf32>
  %one = arith.constant 1.0 : f32
  // CHECK: norm.scan max exclusive %{{.*}} along(%[[N]]) : f32
  %2 = norm.scan max exclusive %one along(%n) : f32
  norm.write %2, %z[%n] : memref<64xf32>
  // CHECK: norm.scan add reverse %{{.*}} along(%[[N]]) : f32
  %3 = norm.scan add reverse %0 along(%n) : f32
}

// A reduction with several results varies over the dim that numbers them.
// CHECK-LABEL: norm.kernel @largest
// CHECK-SAME: space(%[[N:.*]] = 64, %[[J:.*]] = 3)
norm.kernel @largest(%x: memref<64xi32>, %y: memref<3xi32>) space(%n = 64, %j = 3) {
  %0 = norm.read %x[%n] : memref<64xi32>
  // CHECK: norm.reduce max %{{.*}} over(%[[N]]) nth(%[[J]]) : i32
  %1 = norm.reduce max %0 over(%n) nth(%j) : i32
  norm.write %1, %y[%j] : memref<3xi32>
}

// A dim's index is a value like any other.
// CHECK-LABEL: norm.kernel @positions
norm.kernel @positions(%y: memref<8xindex>) space(%n = 8) {
  // CHECK: norm.write %[[N:.*]], %{{.*}}[%[[N]]] : memref<8xindex>
  norm.write %n, %y[%n] : memref<8xindex>
}

// Extents, roles, guards, alignments and a schedule.
// CHECK-LABEL: norm.kernel @tiled
// CHECK-SAME: (%[[X:.*]]: memref<?x64xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X]], 0) ceildiv 2 : grid, %[[R:.*]] = 2 : thread, %{{.*}} = 2 : cluster, %{{.*}} = 1 : loop, %[[T:.*]] = 32 : register)
// CHECK-SAME: where(%[[B]] * 2 + %[[R]] < dim(%[[X]], 0))
// CHECK-SAME: align(16, 4)
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid, warp(2)], [cluster(2), loop, register(8), vector(4)]],
// CHECK-SAME: keep = [shared, none], bring = bulk, stages = 3, held_steps = 2, producer_warps = 4, producer_registers = 24, consumer_groups = 3, hand_out = dynamic, dependent_launch = true, early_reads = true, min_ctas_per_sm = 2>)
norm.kernel @tiled(%x: memref<?x64xf32>, %y: memref<?xf32>)
    space(%b = dim(%x, 0) ceildiv 2 : grid, %r = 2 : thread, %k = 2 : cluster, %c = 1 : loop, %t = 32 : register)
    where(%b * 2 + %r < dim(%x, 0))
    align(16, 4)
    schedule(#norm.schedule<spread = [[grid, warp(2)], [cluster(2), loop, register(8), vector(4)]], keep = [shared, none],
                            bring = bulk, stages = 3, held_steps = 2, producer_warps = 4, producer_registers = 24, consumer_groups = 3,
                            hand_out = dynamic, dependent_launch = true,
                            early_reads = true, min_ctas_per_sm = 2>) {
  // CHECK: norm.read %[[X]][%[[B]] * 2 + %[[R]], %[[T]]] : memref<?x64xf32>
  %0 = norm.read %x[%b * 2 + %r, %t] : memref<?x64xf32>
  // CHECK: norm.cache %{{.*}} in register : f32
  %1 = norm.cache %0 in register : f32
  // CHECK: norm.reduce max %{{.*}} over(%{{.*}}, %[[T]]) : f32
  %2 = norm.reduce max %1 over(%c, %t) : f32
  norm.write %2, %y[%b * 2 + %r] : memref<?xf32>
}

// Affine expressions keep their grouping.
// CHECK-LABEL: norm.kernel @expressions
norm.kernel @expressions(%x: memref<?xf32>, %y: memref<?xf32>) space(%q = dim(%x, 0) floordiv 32, %j = 32) {
  // CHECK: norm.read %{{.*}}[(%[[Q:.*]] * 32 + %[[J:.*]]) mod 7 + %[[J]] floordiv 4]
  %0 = norm.read %x[(%q * 32 + %j) mod 7 + %j floordiv 4] : memref<?xf32>
  norm.write %0, %y[%q * 32 + %j] : memref<?xf32>
}

// A combiner of two values, with its identity.
// CHECK-LABEL: norm.kernel @online_softmax
norm.kernel @online_softmax(%x: memref<?x50257xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 50257) {
  %0 = norm.read %x[%m, %n] : memref<?x50257xf32>
  %one = arith.constant 1.0 : f32
  // CHECK: norm.reduce %{{.*}}, %{{.*}} over(%{{.*}}) identity [0xFF800000 : f32, 0.000000e+00 : f32] : f32, f32 combine {
  %max, %sum = norm.reduce %0, %one over(%n) identity [0xFF800000 : f32, 0.0 : f32] : f32, f32 combine {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
  ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
    %m2 = arith.maximumf %m0, %m1 : f32
    %s2 = arith.addf %s0, %s1 : f32
    // CHECK: norm.yield %{{.*}}, %{{.*}} : f32, f32
    norm.yield %m2, %s2 : f32, f32
  }
  norm.write %sum, %y[%m] : memref<?xf32>
}

// CHECK-LABEL: func.func @launch
func.func @launch(%x: memref<?x64xf32>, %y: memref<?xf32>) {
  // CHECK: norm.launch @tiled(%{{.*}}, %{{.*}}) : memref<?x64xf32>, memref<?xf32>
  norm.launch @tiled(%x, %y) : memref<?x64xf32>, memref<?xf32>
  return
}

// CHECK-LABEL: func.func @attributes
func.func @attributes() attributes {
  // The defaults are those of the ODS, and are not printed.
  // CHECK-SAME: a = #norm.schedule<spread = {{\[\[}}]]>
  a = #norm.schedule<spread = [[]]>,
  // Every level, with a size where it may have one.
  // CHECK-SAME: b = #norm.schedule<spread = {{\[\[}}grid(3), split, cluster(2), loop(5)], [grid, split(4), register(2), warp(4), lane(32), vector(8)]], keep = [none, register, shared, l1, l2]>
  b = #norm.schedule<spread = [[grid(3), split, cluster(2), loop(5)],
                               [grid, split(4), register(2), warp(4), lane(32), vector(8)]],
                     keep = [none, register, shared, l1, l2]>
} {
  return
}

// CHECK-LABEL: func.func @compute_with_scalars
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[E:.*]]: f32
func.func @compute_with_scalars(%x: tensor<4xf32>, %eps: f32) -> tensor<4xf32> {
  // CHECK: norm.compute(%[[SCALAR:.*]] = %[[E]] : f32, %{{.*}} = %[[X]] : tensor<4xf32>) -> (%{{.*}} : tensor<4xf32>) space(
  %y = norm.compute(%e = %eps : f32, %a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    // CHECK: arith.addf %{{.*}}, %[[SCALAR]]
    %1 = arith.addf %0, %e : f32
    norm.write %1, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: norm.kernel @kernel_with_promises
// CHECK-SAME: (%[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>, %[[E:.*]]: f32, %{{.*}}: index) space(%{{.*}} = dim(%[[X]], 0))
// CHECK-SAME: align(16, 16) multiples(dim(%[[X]], 0) = 8, dim(%[[Y]], 0) = 8) bounds(8 <= dim(%[[X]], 0) <= 64, dim(%[[Y]], 0) <= 64)
// CHECK-SAME: aliases(%[[Y]] = %[[X]]) {
norm.kernel @kernel_with_promises(%x: memref<?xf32>, %y: memref<?xf32>, %e: f32, %k: index) space(%n = dim(%x, 0))
    align(16, 16) multiples(dim(%x, 0) = 8, dim(%y, 0) = 8) bounds(8 <= dim(%x, 0) <= 64, dim(%y, 0) <= 64)
    aliases(%y = %x) {
  %0 = norm.read %x[%n] : memref<?xf32>
  %1 = arith.addf %0, %e : f32
  norm.write %1, %y[%n] : memref<?xf32>
}

// CHECK-LABEL: norm.kernel @kernel_with_alternatives
// CHECK-SAME: (%[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>) space(%{{.*}} = dim(%[[X]], 0)) bounds(1 <= dim(%[[Y]], 0))
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}grid]]> if dim(%[[X]], 0) < 264, #norm.schedule<spread = {{\[\[}}grid, lane(8)]]> if 4096 < dim(%[[Y]], 0) * 2, #norm.schedule<spread = {{\[\[}}grid, lane(32)]]>) {
norm.kernel @kernel_with_alternatives(%x: memref<?xf32>, %y: memref<?xf32>) space(%n = dim(%x, 0))
    bounds(1 <= dim(%y, 0))
    schedule(#norm.schedule<spread = [[grid]]> if dim(%x, 0) < 264,
             #norm.schedule<spread = [[grid, lane(8)]]> if 4096 < dim(%y, 0) * 2,
             #norm.schedule<spread = [[grid, lane(32)]]>) {
  %0 = norm.read %x[%n] : memref<?xf32>
  norm.write %0, %y[%n] : memref<?xf32>
}

// CHECK-LABEL: func.func @host
func.func @host(%x: memref<?xf32>, %eps: f32) {
  // CHECK: %[[SMS:.*]] = norm.num_sms
  // CHECK: %[[S:.*]] = memref.alloc(%[[SMS]])
  // CHECK: norm.launch @two(%{{.*}}, %[[S]], %{{.*}}) : memref<?xf32>, memref<?xf32>, f32
  %0 = norm.num_sms
  %s = memref.alloc(%0) {norm.scratch} : memref<?xf32>
  norm.launch @two(%x, %s, %eps) : memref<?xf32>, memref<?xf32>, f32
  return
}
