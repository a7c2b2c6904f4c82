// Computes that fit together become one.
// RUN: norma-opt %s --split-input-file --norm-form-computes --norm-fuse-computes | FileCheck %s

// The result of a reduction is read at the dim that it is kept for; the other dim is shared because both read %x by it.
// CHECK-LABEL: func.func @f(
// CHECK-NEXT: %[[Y:.*]] = norm.compute(%[[A:.*]] = %{{.*}} : tensor<?x64xf32>) -> (%[[O:.*]] : tensor<?x64xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[A]], 0), %[[N:.*]] = 64)
// CHECK-NEXT: %[[V0:.*]] = norm.read %[[A]][%[[M]], %[[N]]]
// CHECK-NEXT: %[[V1:.*]] = norm.reduce max %[[V0]] over(%[[N]]) : f32
// CHECK-NEXT: %[[V2:.*]] = arith.subf %[[V0]], %[[V1]] : f32
// CHECK-NEXT: norm.write %[[V2]], %[[O]][%[[M]], %[[N]]]
// CHECK: return %[[Y]]
func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  %y = norm.compute(%a = %x : tensor<?x64xf32>, %b = %s : tensor<?xf32>) -> (%o : tensor<?x64xf32>)
      space(%i = dim(%a, 0), %j = 64) {
    %0 = norm.read %a[%i, %j] : tensor<?x64xf32>
    %1 = norm.read %b[%i] : tensor<?xf32>
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%i, %j] : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

// -----

// A result that is also returned is written too, and is rounded for its readers as it was in memory.
// CHECK-LABEL: func.func @returned(
// CHECK-NEXT: %[[BOTH:.*]]:2 = norm.compute
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : bf16
// CHECK: %[[WIDE:.*]] = arith.extf %[[SUM]] : bf16 to f32
// CHECK: norm.reduce add %[[WIDE]]
// CHECK-NOT: norm.compute
// CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
func.func @returned(%x: tensor<?x64xbf16>, %r: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<?xf32>) {
  %h = arith.addf %x, %r : tensor<?x64xbf16>
  %s = norm.compute(%a = %h : tensor<?x64xbf16>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce add %1 over(%n) : f32
    norm.write %2, %o[%m] : tensor<?xf32>
  }
  return %h, %s : tensor<?x64xbf16>, tensor<?xf32>
}

// -----

// Coordinates of one program in terms of another's: transposed, and numbered by two dims instead of one.
// CHECK-LABEL: func.func @coordinates(
// CHECK: norm.compute(%[[A:[^ ]*]] = %{{[^,]*}}) -> (%[[O:.*]] : tensor<4x?xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[A]], 0), %[[G:.*]] = 4, %[[I:.*]] = 16)
// CHECK: norm.read %[[A]][%[[M]], %[[G]] * 16 + %[[I]]] : tensor<?x64xf32>
// CHECK: math.exp
// CHECK: norm.reduce add %{{.*}} over(%[[I]])
// CHECK: norm.write %{{.*}}, %[[O]][%[[G]], %[[M]]]
// CHECK-NOT: norm.compute
func.func @coordinates(%x: tensor<?x64xf32>) -> tensor<4x?xf32> {
  %e = math.exp %x : tensor<?x64xf32>
  %s = norm.compute(%a = %e : tensor<?x64xf32>) -> (%o : tensor<4x?xf32>) space(%m = dim(%a, 0), %g = 4, %i = 16) {
    %0 = norm.read %a[%m, %g * 16 + %i] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%i) : f32
    norm.write %1, %o[%g, %m] : tensor<4x?xf32>
  }
  return %s : tensor<4x?xf32>
}

// -----

// A row whose halves are read separately is reduced half by half, so that the reduced values are those that are needed afterwards.
// CHECK-LABEL: func.func @halves(
// CHECK: norm.compute(%[[A:[^ ]*]] = %{{[^,]*}}) -> (%[[O:.*]] : tensor<?x32xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[A]], 0), %[[K:.*]] = 32)
// CHECK: %[[LOW:.*]] = norm.read %[[A]][%[[M]], %[[K]]]
// CHECK: %[[HIGH:.*]] = norm.read %[[A]][%[[M]], %[[K]] + 32]
// CHECK: %[[BOTH:.*]] = arith.maximumf %[[LOW]], %[[HIGH]] : f32
// CHECK: norm.reduce max %[[BOTH]] over(%[[K]])
// CHECK-NOT: norm.reduce
// CHECK-NOT: norm.read
// CHECK: norm.write %{{.*}}, %[[O]][%[[M]], %[[K]]]
// CHECK-NOT: norm.compute
func.func @halves(%x: tensor<?x64xf32>) -> tensor<?x32xf32> {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  %y = norm.compute(%a = %s : tensor<?x64xf32>) -> (%o : tensor<?x32xf32>) space(%m = dim(%a, 0), %k = 32) {
    %0 = norm.read %a[%m, %k] : tensor<?x64xf32>
    %1 = norm.read %a[%m, %k + 32] : tensor<?x64xf32>
    %2 = arith.mulf %0, %1 : f32
    norm.write %2, %o[%m, %k] : tensor<?x32xf32>
  }
  return %y : tensor<?x32xf32>
}

// -----

// The part that is read does not divide the row that is reduced: the reduction has a dim of its own.
// CHECK-LABEL: func.func @a_part(
// CHECK: norm.compute(%[[A:[^ ]*]] = %{{[^,]*}}) -> (%[[O:.*]] : tensor<?x24xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[A]], 0), %[[N:.*]] = 64, %[[K:.*]] = 24)
// CHECK: norm.reduce max %{{.*}} over(%[[N]])
// CHECK: norm.read %[[A]][%[[M]], %[[K]] + 3]
// CHECK: norm.write %{{.*}}, %[[O]][%[[M]], %[[K]]]
// CHECK-NOT: norm.compute
func.func @a_part(%x: tensor<?x64xf32>) -> tensor<?x24xf32> {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  %y = norm.compute(%a = %s : tensor<?x64xf32>) -> (%o : tensor<?x24xf32>) space(%m = dim(%a, 0), %k = 24) {
    %0 = norm.read %a[%m, %k + 3] : tensor<?x64xf32>
    norm.write %0, %o[%m, %k] : tensor<?x24xf32>
  }
  return %y : tensor<?x24xf32>
}

// -----

// An elementwise value that is read by programs that stay apart is computed in each of them.
// CHECK-LABEL: func.func @copied(
// CHECK-COUNT-2: math.absf
// CHECK-NOT: math.absf
func.func @copied(%x: tensor<?x64xf32>) -> (tensor<?xf32>, tensor<?x64xf32>) {
  %a = math.absf %x : tensor<?x64xf32>
  %all = norm.compute(%in = %a : tensor<?x64xf32>) -> (%o : tensor<f32>) space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%m, %n) : f32
    norm.write %1, %o[] : tensor<f32>
  }
  %rows, %y = norm.compute(%in = %a : tensor<?x64xf32>, %s = %all : tensor<f32>) -> (%o : tensor<?xf32>, %p : tensor<?x64xf32>)
      space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x64xf32>
    %1 = norm.read %s[] : tensor<f32>
    %2 = arith.divf %0, %1 : f32
    %3 = norm.reduce add %2 over(%n) : f32
    norm.write %3, %o[%m] : tensor<?xf32>
    norm.write %2, %p[%m, %n] : tensor<?x64xf32>
  }
  return %rows, %y : tensor<?xf32>, tensor<?x64xf32>
}

// -----

// Programs that read the same elements at every one of their dims.
// CHECK-LABEL: func.func @siblings(
// CHECK-NEXT: norm.compute(%[[A:.*]] = %{{.*}} : tensor<?x64xf32>, %{{.*}} = %{{.*}} : tensor<64xf32>)
// CHECK-SAME: -> (%{{.*}} : tensor<?xf32>, %{{.*}} : tensor<?x64xf32>)
// CHECK-COUNT-1: norm.read %[[A]]
// CHECK-NOT: norm.read %[[A]]
// CHECK: return
func.func @siblings(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> (tensor<?xf32>, tensor<?x64xf32>) {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  %y = norm.compute(%a = %x : tensor<?x64xf32>, %b = %w : tensor<64xf32>) -> (%o : tensor<?x64xf32>)
      space(%i = dim(%a, 0), %j = 64) {
    %0 = norm.read %a[%i, %j] : tensor<?x64xf32>
    %1 = norm.read %b[%j] : tensor<64xf32>
    %2 = arith.mulf %0, %1 : f32
    norm.write %2, %o[%i, %j] : tensor<?x64xf32>
  }
  return %s, %y : tensor<?xf32>, tensor<?x64xf32>
}

// -----

// Sharing a comparatively small input is no reason to walk two tensors together.
// CHECK-LABEL: func.func @shared_weight(
// CHECK-COUNT-2: norm.compute
func.func @shared_weight(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>, %w: tensor<64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %w : tensor<?x64xf32>, tensor<64xf32>) outs(%x : tensor<?x64xf32>) {
  ^bb0(%v: f32, %u: f32, %o: f32):
    %p = arith.mulf %v, %u : f32
    linalg.yield %p : f32
  } -> tensor<?x64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%z, %w : tensor<?x64xf32>, tensor<64xf32>) outs(%z : tensor<?x64xf32>) {
  ^bb0(%v: f32, %u: f32, %o: f32):
    %p = arith.mulf %v, %u : f32
    linalg.yield %p : f32
  } -> tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// Groups of channels that another program numbers by one dim: that dim is split.
// CHECK-LABEL: func.func @split_dim(
// CHECK: norm.compute(%[[A:[^ ]*]] = %{{[^,]*}}) -> (%[[O:.*]] : tensor<?x64xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[A]], 0), %[[G:.*]] = 4, %[[I:.*]] = 16)
// CHECK: norm.reduce max %{{.*}} over(%[[I]])
// CHECK: math.absf
// CHECK: norm.write %{{.*}}, %[[O]][%[[M]], %[[G]] * 16 + %[[I]]]
// CHECK-NOT: norm.compute
func.func @split_dim(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %g = 4, %i = 16) {
    %0 = norm.read %a[%m, %g * 16 + %i] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %g * 16 + %i] : tensor<?x64xf32>
  }
  %y = math.absf %s : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// A result that overwrites an argument may join a program with a reduction over it: the loop that reads the argument last writes it.
// CHECK-LABEL: func.func @in_place(
// CHECK: norm.compute
// CHECK-NOT: norm.compute
func.func @in_place(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf32> {norm.may_alias = "x"}, tensor<?xf32>) {
  %h = math.exp %x : tensor<?x64xf32>
  %s = norm.compute(%a = %h : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %h, %s : tensor<?x64xf32>, tensor<?xf32>
}

// -----

// A combiner region, a scalar argument and a coordinate are fused too.
// CHECK-LABEL: func.func @combiner(
// CHECK: norm.compute(%{{.*}} = %{{.*}} : tensor<?x64xf32>, %[[E:.*]] = %{{.*}} : f32)
// CHECK: arith.index_cast %[[N:.*]] : index to i32
// CHECK: norm.reduce %{{.*}}, %{{.*}} over(%[[N]]) identity
// CHECK: arith.addf %{{.*}}, %[[E]] : f32
// CHECK-NOT: norm.compute
func.func @combiner(%x: tensor<?x64xf32>, %eps: f32) -> tensor<?xf32> {
  %h = math.exp %x : tensor<?x64xf32>
  %s = norm.compute(%a = %h : tensor<?x64xf32>, %e = %eps : f32) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = arith.index_cast %n : index to i32
    %max, %at = norm.reduce %0, %1 over(%n) identity [0xFF800000 : f32, 0 : i32] : f32, i32 combine {
    ^bb0(%a0: f32, %i0: i32, %a1: f32, %i1: i32):
      %is_greater = arith.cmpf ogt, %a1, %a0 : f32
      %2 = arith.select %is_greater, %a1, %a0 : f32
      %3 = arith.select %is_greater, %i1, %i0 : i32
      norm.yield %2, %3 : f32, i32
    }
    %4 = arith.sitofp %at : i32 to f32
    %5 = arith.addf %max, %4 : f32
    %6 = arith.addf %5, %e : f32
    norm.write %6, %o[%m] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// -----

// Reductions over different dims of tiles that a CTA holds become one kernel: both axes of a square in blocks, from one read.
// CHECK-LABEL: func.func @held_square(
// CHECK: norm.compute
// CHECK: norm.reduce max %[[X:.*]] over(%[[I:.*]]) : f32
// CHECK: norm.reduce max %[[X]] over(%[[J:.*]]) : f32
// CHECK-NOT: norm.compute
func.func @held_square(%x: tensor<?x32x32xf32>) -> (tensor<?x32x32xf32>, tensor<?x32x32xf32>) {
  %y = norm.compute(%a = %x : tensor<?x32x32xf32>) -> (%o : tensor<?x32x32xf32>) space(%m = dim(%a, 0), %i = 32, %j = 32) {
    %0 = norm.read %a[%m, %i, %j] : tensor<?x32x32xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %o[%m, %i, %j] : tensor<?x32x32xf32>
  }
  %z = norm.compute(%a = %x : tensor<?x32x32xf32>) -> (%o : tensor<?x32x32xf32>) space(%m = dim(%a, 0), %i = 32, %j = 32) {
    %0 = norm.read %a[%m, %i, %j] : tensor<?x32x32xf32>
    %1 = norm.reduce max %0 over(%j) : f32
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %o[%m, %i, %j] : tensor<?x32x32xf32>
  }
  return %y, %z : tensor<?x32x32xf32>, tensor<?x32x32xf32>
}

// -----

// If the tiles are longer, so that neither could be held until the other is done, each reduction is a kernel.
// CHECK-LABEL: func.func @long_square(
// CHECK-COUNT-2: norm.compute
func.func @long_square(%x: tensor<?x256x256xf32>) -> (tensor<?x256x256xf32>, tensor<?x256x256xf32>) {
  %y = norm.compute(%a = %x : tensor<?x256x256xf32>) -> (%o : tensor<?x256x256xf32>) space(%m = dim(%a, 0), %i = 256, %j = 256) {
    %0 = norm.read %a[%m, %i, %j] : tensor<?x256x256xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %o[%m, %i, %j] : tensor<?x256x256xf32>
  }
  %z = norm.compute(%a = %x : tensor<?x256x256xf32>) -> (%o : tensor<?x256x256xf32>) space(%m = dim(%a, 0), %i = 256, %j = 256) {
    %0 = norm.read %a[%m, %i, %j] : tensor<?x256x256xf32>
    %1 = norm.reduce max %0 over(%j) : f32
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %o[%m, %i, %j] : tensor<?x256x256xf32>
  }
  return %y, %z : tensor<?x256x256xf32>, tensor<?x256x256xf32>
}

// -----

// Blocks of a row whose last one is shorter range over the points of the row: what makes the row is computed where a guard says that
// there is an element.
// CHECK-LABEL: func.func @blocks(
// CHECK: norm.compute(%[[A:.*]] = %{{.*}} : tensor<?x576xf32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[A]], 0), %[[B:.*]] = 5, %[[I:.*]] = 128) where(%[[B]] * 128 + %[[I]] < 576) {
// CHECK: %[[X:.*]] = norm.read %[[A]][%[[M]], %[[B]] * 128 + %[[I]]]
// CHECK: norm.reduce add %[[X]] over(%[[B]], %[[I]]) : f32
// CHECK: norm.reduce max %{{.*}} over(%[[I]]) : f32
// CHECK-NOT: norm.compute
func.func @blocks(%x: tensor<?x576xf32>) -> (tensor<?x5xf32>, tensor<?x576xf32>) {
  %y = norm.compute(%a = %x : tensor<?x576xf32>) -> (%o : tensor<?x576xf32>) space(%m = dim(%a, 0), %n = 576) {
    %0 = norm.read %a[%m, %n] : tensor<?x576xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x576xf32>
  }
  %s = norm.compute(%a = %y : tensor<?x576xf32>) -> (%o : tensor<?x5xf32>)
      space(%m = dim(%a, 0), %b = 5, %i = 128) where(%b * 128 + %i < 576) {
    %0 = norm.read %a[%m, %b * 128 + %i] : tensor<?x576xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    norm.write %1, %o[%m, %b] : tensor<?x5xf32>
  }
  return %s, %y : tensor<?x5xf32>, tensor<?x576xf32>
}

// -----

// What a reduction with several results ranges over is computed before it, and what is computed from each result comes behind. All are
// over the dim that counts the results; a sum over that dim is there for each of them.
// CHECK-LABEL: func.func @several_results(
// CHECK-NEXT: %{{.*}}:2 = norm.compute(%[[X:.*]] = %{{.*}} : tensor<?x64xi32>)
// CHECK-SAME: space(%[[M:.*]] = dim(%[[X]], 0), %[[N:.*]] = 64, %[[J:.*]] = 3)
// CHECK-NEXT: %[[V:.*]] = norm.read %[[X]][%[[M]], %[[N]]]
// CHECK-NEXT: %[[LEAST:.*]] = norm.reduce min %[[V]] over(%[[N]]) : i32
// CHECK-NEXT: %[[ABOVE:.*]] = arith.subi %[[V]], %[[LEAST]] : i32
// CHECK-NEXT: %[[FOUND:.*]] = norm.reduce max %[[ABOVE]] over(%[[N]]) nth(%[[J]]) : i32
// CHECK-NEXT: %[[TWICE:.*]] = arith.addi %[[FOUND]], %[[FOUND]] : i32
// CHECK-NEXT: %[[SUM:.*]] = norm.reduce add %[[TWICE]] over(%[[J]]) : i32
// CHECK-NEXT: %[[PART:.*]] = arith.divsi %[[TWICE]], %[[SUM]] : i32
// CHECK-NEXT: norm.write %[[FOUND]], %{{.*}}[%[[M]], %[[J]]]
// CHECK-NEXT: norm.write %[[PART]], %{{.*}}[%[[M]], %[[J]]]
// CHECK-NOT: norm.compute
func.func @several_results(%x: tensor<?x64xi32>) -> (tensor<?x3xi32>, tensor<?x3xi32>) {
  %above = norm.compute(%a = %x : tensor<?x64xi32>) -> (%o : tensor<?x64xi32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xi32>
    %1 = norm.reduce min %0 over(%n) : i32
    %2 = arith.subi %0, %1 : i32
    norm.write %2, %o[%m, %n] : tensor<?x64xi32>
  }
  %most = norm.compute(%a = %above : tensor<?x64xi32>) -> (%o : tensor<?x3xi32>) space(%m = dim(%a, 0), %n = 64, %j = 3) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xi32>
    %1 = norm.reduce max %0 over(%n) nth(%j) : i32
    norm.write %1, %o[%m, %j] : tensor<?x3xi32>
  }
  %twice = arith.addi %most, %most : tensor<?x3xi32>
  %parts = norm.compute(%a = %twice : tensor<?x3xi32>) -> (%o : tensor<?x3xi32>) space(%m = dim(%a, 0), %i = 3) {
    %0 = norm.read %a[%m, %i] : tensor<?x3xi32>
    %1 = norm.reduce add %0 over(%i) : i32
    %2 = arith.divsi %0, %1 : i32
    norm.write %2, %o[%m, %i] : tensor<?x3xi32>
  }
  return %most, %parts : tensor<?x3xi32>, tensor<?x3xi32>
}

// -----

// Blocks of rows and of columns, both with a shorter last one, in one read; an element of the result is read by a dim of its own.
// CHECK-LABEL: func.func @both_ways(
// CHECK: space(%[[R:.*]] = dim(%[[A:.*]], 0) ceildiv 32, %[[I:.*]] = 32, %[[C:.*]] = 3, %[[J:.*]] = 32)
// CHECK-SAME: where(
// CHECK-DAG: %[[R]] * 32 + %[[I]] < dim(%[[A]], 0)
// CHECK-DAG: %[[C]] * 32 + %[[J]] < 80
// CHECK-NOT: norm.compute
func.func @both_ways(%x: tensor<?x80xf32>) -> (tensor<?x3xf32>, tensor<?x80xf32>, tensor<?x80xf32>) {
  %r = norm.compute(%a = %x : tensor<?x80xf32>) -> (%o : tensor<?x3xf32>)
      space(%m = dim(%a, 0), %c = 3, %j = 32) where(%c * 32 + %j < 80) {
    %0 = norm.read %a[%m, %c * 32 + %j] : tensor<?x80xf32>
    %1 = norm.reduce max %0 over(%j) : f32
    norm.write %1, %o[%m, %c] : tensor<?x3xf32>
  }
  %c, %q = norm.compute(%a = %x : tensor<?x80xf32>) -> (%o : tensor<?x80xf32>, %p : tensor<?x80xf32>)
      space(%b = dim(%a, 0) ceildiv 32, %i = 32, %n = 80) where(%b * 32 + %i < dim(%a, 0)) {
    %0 = norm.read %a[%b * 32 + %i, %n] : tensor<?x80xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    norm.write %1, %o[%b, %n] : tensor<?x80xf32>
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %p[%b * 32 + %i, %n] : tensor<?x80xf32>
  }
  %d = arith.addf %q, %q : tensor<?x80xf32>
  return %r, %c, %d : tensor<?x3xf32>, tensor<?x80xf32>, tensor<?x80xf32>
}

// -----

// As many results as there are elements: the dim that counts results does not become the one along rows.
// CHECK-LABEL: func.func @all_results(
// CHECK-NEXT: norm.compute
// CHECK-SAME: space(%{{.*}} = 4, %[[J:.*]] = 8, %[[N:.*]] = 8)
// CHECK: norm.reduce min %{{.*}} over(%[[N]]) : i32
// CHECK: norm.reduce max %{{.*}} over(%[[N]]) nth(%[[J]]) : i32
func.func @all_results(%x: tensor<4x8xi32>, %z: tensor<4x8xi32>) -> tensor<4x8xi32> {
  %least = norm.compute(%a = %x : tensor<4x8xi32>) -> (%o : tensor<4xi32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xi32>
    %1 = norm.reduce min %0 over(%n) : i32
    norm.write %1, %o[%m] : tensor<4xi32>
  }
  %sorted = norm.compute(%a = %z : tensor<4x8xi32>, %b = %least : tensor<4xi32>) -> (%o : tensor<4x8xi32>)
      space(%m = 4, %j = 8, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xi32>
    %1 = norm.read %b[%m] : tensor<4xi32>
    %2 = arith.subi %0, %1 : i32
    %3 = norm.reduce max %2 over(%n) nth(%j) : i32
    norm.write %3, %o[%m, %j] : tensor<4x8xi32>
  }
  return %sorted : tensor<4x8xi32>
}

// -----

// The first of several results, where there is only one, is that of a reduction without a dim that counts them.
// CHECK-LABEL: func.func @one_result(
// CHECK-NEXT: norm.compute
// CHECK: norm.reduce max %{{.*}} over(%{{.*}}) : i32
// CHECK-NOT: norm.compute
func.func @one_result(%x: tensor<?x64xi32>) -> tensor<?x1xi32> {
  %most = norm.compute(%a = %x : tensor<?x64xi32>) -> (%o : tensor<?x1xi32>) space(%m = dim(%a, 0), %n = 64, %j = 1) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xi32>
    %1 = norm.reduce max %0 over(%n) nth(%j) : i32
    norm.write %1, %o[%m, %j] : tensor<?x1xi32>
  }
  %twice = arith.addi %most, %most : tensor<?x1xi32>
  return %twice : tensor<?x1xi32>
}

// -----

// A gather: the elements at the places that were found, where the row is.
// CHECK-LABEL: func.func @gathered(
// CHECK-NEXT: norm.compute
// CHECK-SAME: space(%{{.*}}, %[[N:.*]] = 64, %[[J:.*]] = 3)
// CHECK: norm.reduce max %{{.*}} over(%[[N]]) nth(%[[J]]) : i32
// CHECK: norm.reduce add %{{.*}} over(%[[N]]) : i32
// CHECK-NOT: norm.compute
func.func @gathered(%x: tensor<4x64xi32>, %s: tensor<4x64xi32>) -> tensor<4x3xi32> {
  %twice = arith.addi %x, %s : tensor<4x64xi32>
  %places = norm.compute(%a = %twice : tensor<4x64xi32>) -> (%o : tensor<4x3xi32>) space(%m = 4, %n = 64, %j = 3) {
    %0 = norm.read %a[%m, %n] : tensor<4x64xi32>
    %1 = norm.reduce max %0 over(%n) nth(%j) : i32
    norm.write %1, %o[%m, %j] : tensor<4x3xi32>
  }
  %found = norm.compute(%a = %s : tensor<4x64xi32>, %p = %places : tensor<4x3xi32>) -> (%o : tensor<4x3xi32>)
      space(%m = 4, %n = 64, %j = 3) {
    %0 = norm.read %a[%m, %n] : tensor<4x64xi32>
    %1 = norm.read %p[%m, %j] : tensor<4x3xi32>
    %2 = arith.index_cast %n : index to i32
    %3 = arith.cmpi eq, %1, %2 : i32
    %zero = arith.constant 0 : i32
    %4 = arith.select %3, %0, %zero : i32
    %5 = norm.reduce add %4 over(%n) : i32
    norm.write %5, %o[%m, %j] : tensor<4x3xi32>
  }
  return %found : tensor<4x3xi32>
}

// -----

// A write that leaves padding still does when it is fused.
// CHECK-LABEL: func.func @padding(
// CHECK-NEXT: norm.compute
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M:.*]] floordiv 8, %[[M]] mod 8] {partial} : tensor<?x8xi32>
// CHECK-NOT: norm.compute
func.func @padding(%x: tensor<?xi32>) -> tensor<?x8xi32> {
  %y = arith.addi %x, %x : tensor<?xi32>
  %t = norm.compute(%a = %y : tensor<?xi32>) -> (%o : tensor<?x8xi32>) space(%m = dim(%a, 0)) {
    %0 = norm.read %a[%m] : tensor<?xi32>
    norm.write %0, %o[%m floordiv 8, %m mod 8] {partial} : tensor<?x8xi32>
  }
  return %t : tensor<?x8xi32>
}

// -----

// A dim of one point is dropped, unless it may count rows whose number nothing may depend on; one that another compute has no dim for is
// dropped in any case.
// RUN: norma-opt %s --split-input-file --norm-fuse-computes=batch-invariant | FileCheck %s --check-prefix=ROWS
// CHECK-LABEL: func.func @one_row(
// CHECK: norm.compute({{.*}}) space(%{{[a-z0-9]+}} = 64) {
// ROWS-LABEL: func.func @one_row(
// ROWS: norm.compute({{.*}}) space(%{{[a-z0-9]+}} = 1, %{{[a-z0-9]+}} = 64) {
// ROWS-NOT: norm.compute
// ROWS: return
func.func @one_row(%x: tensor<1x64xf32>) -> tensor<1x64xf32> {
  %s = norm.compute(%a = %x : tensor<1x64xf32>) -> (%o : tensor<1x1xf32>) space(%m = 1, %k = 1, %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<1x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    norm.write %1, %o[%m, %k] : tensor<1x1xf32>
  }
  %y = norm.compute(%a = %x : tensor<1x64xf32>, %b = %s : tensor<1x1xf32>) -> (%o : tensor<1x64xf32>) space(%i = 1, %j = 64) {
    %0 = norm.read %a[%i, %j] : tensor<1x64xf32>
    %1 = norm.read %b[%i, 0] : tensor<1x1xf32>
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%i, %j] : tensor<1x64xf32>
  }
  return %y : tensor<1x64xf32>
}

// -----

// Nothing waits for a count of points that another reduction ranges over: it is of no more points than that.
// CHECK-LABEL: func.func @counted(
// CHECK: norm.compute(
// CHECK-DAG: norm.reduce add %{{.*}} over(%[[N:.*]]) : f32
// CHECK-DAG: norm.reduce add %{{.*}} over(%[[N]]) : i32
// CHECK-NOT: norm.compute(
// CHECK: return
func.func @counted(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %mean = norm.compute(%a = %x : tensor<?x?xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = dim(%a, 1)) {
    %one = arith.constant 1 : i32
    %0 = norm.read %a[%m, %n]
    %1 = norm.reduce add %0 over(%n) : f32
    %2 = norm.reduce add %one over(%n) : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.divf %1, %3 : f32
    norm.write %4, %o[%m]
  }
  %y = norm.compute(%a = %x : tensor<?x?xf32>, %b = %mean : tensor<?xf32>) -> (%o : tensor<?x?xf32>) space(%m = dim(%a, 0), %n = dim(%a, 1)) {
    %0 = norm.read %a[%m, %n]
    %1 = norm.read %b[%m]
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n]
  }
  return %y : tensor<?x?xf32>
}

// -----

// A compute that takes only a size from a tensor is written anew when the maker of the tensor is gone.
// CHECK-LABEL: func.func @size_of_what_was_fused(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x64xf32>
// CHECK: norm.compute(%{{.*}} = %[[X]] : tensor<?x64xf32>)
// CHECK: norm.compute(%{{.*}} = %{{.*}} : tensor<64xf32>, %[[A:.*]] = %[[X]] : tensor<?x64xf32>)
// CHECK-SAME: space(%{{.*}} = dim(%[[A]], 0)
func.func @size_of_what_was_fused(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> (tensor<?xf32>, tensor<?x64xf32>) {
  %h = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = arith.negf %0 : f32
    norm.write %1, %o[%m, %n] : tensor<?x64xf32>
  }
  %s = norm.compute(%a = %h : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  %z = norm.compute(%a = %h : tensor<?x64xf32>, %b = %w : tensor<64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %b[%n] : tensor<64xf32>
    norm.write %0, %o[%m, %n] : tensor<?x64xf32>
  }
  return %s, %z : tensor<?xf32>, tensor<?x64xf32>
}
