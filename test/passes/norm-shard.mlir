// RUN: norma-opt %s --split-input-file --norm-shard | FileCheck %s

// The example of the pass's description.
// CHECK-LABEL: func.func @f_partial(
// CHECK-SAME: %[[X:.*]]: tensor<?x32xf32> {norm.name = "x"}) -> (tensor<1x?xf32> {norm.name = "states0"})
// CHECK-SAME: attributes {norm.sharded = {axes = {x = 1 : i64, y = 1 : i64}, devices = 2 : i64, function = "f"}}
// CHECK: norm.compute(%[[A:.*]] = %[[X]] : {{.*}}) -> (%[[O:.*]] : tensor<1x?xf32>) space(%[[M:.*]] = dim(%[[A]], 0), %[[N:.*]] = 32) {
// CHECK-NEXT: %[[READ:.*]] = norm.read %[[A]][%[[M]], %[[N]]]
// CHECK-NEXT: %[[MAX:.*]] = norm.reduce max %[[READ]] over(%[[N]])
// CHECK-NEXT: norm.write %[[MAX]], %[[O]][0, %[[M]]]
// CHECK-NEXT: }
// CHECK-LABEL: func.func @f_rest(
// CHECK-SAME: %[[X:.*]]: tensor<?x32xf32> {norm.name = "x"}, %[[P:.*]]: tensor<2x1x?xf32> {norm.name = "states0"})
// CHECK-SAME: -> (tensor<?x32xf32> {norm.name = "y"})
// CHECK: norm.compute(%[[A:.*]] = %[[X]] : {{.*}}, %[[S:.*]] = %[[P]] : {{.*}}) -> (%[[O:.*]] : tensor<?x32xf32>) space(%[[M:.*]] = dim(%[[A]], 0), %[[N:.*]] = 32) {
// CHECK-NEXT: %[[READ:.*]] = norm.read %[[A]][%[[M]], %[[N]]]
// CHECK-NEXT: %[[ONE:.*]] = norm.read %[[S]][0, 0, %[[M]]]
// CHECK-NEXT: %[[OTHER:.*]] = norm.read %[[S]][1, 0, %[[M]]]
// CHECK-NEXT: %[[MAX:.*]] = arith.maximumf %[[ONE]], %[[OTHER]]
// CHECK-NEXT: %[[Y:.*]] = arith.subf %[[READ]], %[[MAX]]
// CHECK-NEXT: norm.write %[[Y]], %[[O]][%[[M]], %[[N]]]
// CHECK-NEXT: }
// CHECK-NOT: func.func
func.func @f(%x: tensor<?x64xf32> {norm.name = "x", norm.devices = array<i64: 1, 2>})
    -> (tensor<?x64xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

// -----

// The sum is merged with the maximum that it depends on: one round, of two states.
// CHECK-LABEL: func.func @softmax_partial(
// CHECK-SAME: -> (tensor<2x?xf32> {norm.name = "states0"})
// CHECK: %[[MAX:.*]] = norm.reduce max
// CHECK: %[[SUM:.*]] = norm.reduce add
// CHECK: norm.write %[[MAX]], %{{.*}}[0,
// CHECK-NEXT: norm.write %[[SUM]], %{{.*}}[1,
// CHECK-LABEL: func.func @softmax_rest(
// CHECK-SAME: tensor<4x2x?xf32> {norm.name = "states0"})
// CHECK-NOT: norm.reduce
// CHECK-COUNT-3: arith.maximumf
// CHECK-NOT: norm.reduce
// CHECK: return
func.func @softmax(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 4>}) -> tensor<?x64xf32> {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// A sum, the number of its elements and the sum of squares around their mean; weight and bias have shards too.
// CHECK-LABEL: func.func @layer_norm_partial(
// CHECK-SAME: %{{.*}}: tensor<?x32xf32> {norm.name = "arg0"}) -> (tensor<3x?xf32> {norm.name = "states0"})
// CHECK-LABEL: func.func @layer_norm_rest(
// CHECK-SAME: tensor<?x32xf32>
// CHECK-SAME: tensor<32xf32> {norm.name = "w"}
// CHECK-SAME: tensor<2x3x?xf32> {norm.name = "states0"})
func.func @layer_norm(%x: tensor<?x64xf32> {norm.name = "arg0", norm.devices = array<i64: 1, 2>}, %w: tensor<64xf32> {norm.name = "w"})
    -> tensor<?x64xf32> {
  %y = norm.layer_norm %x weight(%w : tensor<64xf32>) : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// A sum of products with another sum's result cannot be merged.
// CHECK-LABEL: func.func @two_rounds_partial(
// CHECK-SAME: -> (tensor<1x?xf32> {norm.name = "states0"})
// CHECK-LABEL: func.func @two_rounds_partial2(
// CHECK-SAME: tensor<2x1x?xf32> {norm.name = "states0"}) -> (tensor<1x?xf32> {norm.name = "states1"})
// CHECK-LABEL: func.func @two_rounds_rest(
// CHECK-SAME: %[[STATES:.*]]: tensor<2x1x?xf32> {norm.name = "states1"}) -> (tensor<?xf32> {norm.name = "s"})
// CHECK: norm.compute(%[[A:.*]] = %[[STATES]] : {{.*}} space(%{{.*}} = dim(%[[A]], 2)) {
func.func @two_rounds(%x: tensor<?x64xf32> {norm.name = "x", norm.devices = array<i64: 1, 2>}) -> (tensor<?xf32> {norm.name = "s"}) {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    %2 = math.sin %1 : f32
    %3 = arith.mulf %0, %2 : f32
    %4 = math.cos %3 : f32
    %5 = norm.reduce add %4 over(%n) : f32
    norm.write %5, %o[%m] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// -----

// A coordinate is that in the whole row; shards of a dynamic extent have dynamic lengths.
// CHECK-LABEL: func.func @pick_partial(
// CHECK-SAME: %{{.*}}: tensor<?x?xf32> {norm.multiples = array<i64: 1, 8>, norm.name = "x"}, %{{.*}}: tensor<?xi64> {norm.name = "labels"}
// CHECK-SAME: %[[OFFSET:.*]]: index {norm.default = 0 : index, norm.name = "offset"})
// CHECK: %[[BEGIN:[^ ]*]] = %[[OFFSET]] : index
// CHECK: space(%{{.*}} = dim({{.*}}), %[[N:.*]] = dim({{.*}}, 1))
// CHECK: arith.addi %[[BEGIN]], %[[N]] : index
// CHECK-LABEL: func.func @pick_rest(
// CHECK-NOT: index
func.func @pick(%x: tensor<?x?xf32> {norm.name = "x", norm.devices = array<i64: 1, 2>, norm.multiples = array<i64: 1, 8>},
                %labels: tensor<?xi64> {norm.name = "labels"}) -> tensor<?xf32> {
  %s = norm.compute(%a = %x : tensor<?x?xf32>, %l = %labels : tensor<?xi64>) -> (%o : tensor<?xf32>)
      space(%m = dim(%a, 0), %n = dim(%a, 1)) {
    %0 = norm.read %a[%m, %n] : tensor<?x?xf32>
    %1 = norm.read %l[%m] : tensor<?xi64>
    %2 = arith.index_cast %1 : i64 to index
    %3 = arith.cmpi eq, %n, %2 : index
    %zero = arith.constant 0.0 : f32
    %4 = arith.select %3, %0, %zero : f32
    %5 = norm.reduce add %4 over(%n) : f32
    norm.write %5, %o[%m] : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// -----

// A promise about a static extent is adapted to the shard; the strides of a buffer are the shard's own.
// CHECK-LABEL: func.func @promises_partial(
// CHECK-SAME: norm.buffer = memref<?x32xf32, strided<[80, 1]>>
// CHECK-SAME: norm.multiples = array<i64: 4, 32>
func.func @promises(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>, norm.multiples = array<i64: 4, 64>,
                                          norm.buffer = memref<?x64xf32, strided<[80, 1]>>}) -> tensor<?x64xf32> {
  %y = norm.l2_norm %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// A sum over rows needs no exchange: each device sums its own columns.
// CHECK-LABEL: func.func @own_sums_rest(
// CHECK-SAME: -> (tensor<?x32xf32>, tensor<32xf32>)
// CHECK: norm.reduce add
func.func @own_sums(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}) -> (tensor<?x64xf32>, tensor<64xf32>) {
  %y, %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>, %p : tensor<64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
    %3 = norm.reduce add %0 over(%m) : f32
    norm.write %3, %p[%n] : tensor<64xf32>
  }
  return %y, %s : tensor<?x64xf32>, tensor<64xf32>
}

// -----

// Booleans are exchanged as bytes, and positions as integers.
// CHECK-LABEL: func.func @truths_partial(
// CHECK-SAME: tensor<1x?xi64> {norm.name = "states0"}, tensor<1x?xi8> {norm.name = "states1"})
// CHECK: arith.index_cast %{{.*}} : index to i64
// CHECK: arith.extui %{{.*}} : i1 to i8
// CHECK-LABEL: func.func @truths_rest(
// CHECK-COUNT-2: arith.index_cast %{{.*}} : i64 to index
// CHECK: arith.maxsi %{{.*}} : index
// CHECK-COUNT-2: arith.trunci %{{.*}} : i8 to i1
// CHECK: arith.ori %{{.*}} : i1
func.func @truths(%x: tensor<?x64xf32> {norm.devices = array<i64: 1, 2>}) -> tensor<?xi64> {
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xi64>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %zero = arith.constant 0.0 : f32
    %none = arith.constant -1 : index
    %1 = arith.cmpf ogt, %0, %zero : f32
    %2 = arith.select %1, %n, %none : index
    %3 = norm.reduce max %2 over(%n) : index
    %4 = norm.reduce or %1 over(%n) : i1
    %5 = arith.select %4, %3, %none : index
    %6 = arith.index_cast %5 : index to i64
    norm.write %6, %o[%m] : tensor<?xi64>
  }
  return %s : tensor<?xi64>
}

// -----

// CHECK-LABEL: func.func @whole(
// CHECK-NOT: func.func
func.func @whole(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = norm.softmax %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// A sum of all is no state beside those of rows: where there is no row, these are not written.
// CHECK-LABEL: func.func @rows_and_all_partial(
// CHECK-SAME: tensor<1x?xf32> {norm.name = "states0"}, tensor<1xf32> {norm.name = "states1"})
// CHECK-LABEL: func.func @rows_and_all_rest(
func.func @rows_and_all(%x: tensor<?x64xf32> {norm.name = "x", norm.devices = array<i64: 1, 2>}) -> (tensor<?xf32>, tensor<f32>) {
  %s, %t = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?xf32>, %p : tensor<f32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    %2 = norm.reduce add %0 over(%m, %n) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
    norm.write %2, %p[] : tensor<f32>
  }
  return %s, %t : tensor<?xf32>, tensor<f32>
}
