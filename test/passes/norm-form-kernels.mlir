// Programs become kernels, tensors buffers, and results arguments.
// RUN: norma-opt %s --split-input-file --norm-form-kernels | FileCheck %s --implicit-check-not=norm.compute

// CHECK-LABEL: func.func @double(
// CHECK-SAME: %[[X:.*]]: memref<?xf32> {norm.name = "x"}, %[[Y:.*]]: memref<?xf32> {norm.name = "y", norm.output}) {
// CHECK-NEXT: norm.launch @double_0(%[[X]], %[[Y]]) : memref<?xf32>, memref<?xf32>
// CHECK-NEXT: return
// CHECK: norm.kernel @double_0(%[[A:.*]]: memref<?xf32>, %[[O:.*]]: memref<?xf32>)
// CHECK-SAME: space(%[[N:.*]] = dim(%[[A]], 0)) align(16, 16)
// CHECK-NEXT: %[[V0:.*]] = norm.read %[[A]][%[[N]]] : memref<?xf32>
// CHECK-NEXT: %[[V1:.*]] = arith.addf %[[V0]], %[[V0]] : f32
// CHECK-NEXT: norm.write %[[V1]], %[[O]][%[[N]]] : memref<?xf32>
func.func @double(%x: tensor<?xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%n = dim(%a, 0)) {
    %0 = norm.read %a[%n] : tensor<?xf32>
    %1 = arith.addf %0, %0 : f32
    norm.write %1, %o[%n] : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}

// -----

// Attributes that describe strides and alignment go into the kernel; other attributes stay.
// CHECK-LABEL: func.func @described(
// CHECK-SAME: memref<?x8xbf16, strided<[?, 1]>> {norm.name = "x", other.tag},
// CHECK-SAME: memref<8x4xf32, strided<[1, 8]>> {norm.name = "arg1"},
// CHECK-SAME: memref<?x8xf32> {norm.name = "result0", norm.output})
// CHECK: norm.kernel @described_0
// CHECK-SAME: memref<?x8xbf16, strided<[?, 1]>>
// CHECK-SAME: memref<8x4xf32, strided<[1, 8]>>
// CHECK-SAME: align(4, 16, 32)
func.func @described(%x: tensor<?x8xbf16> {norm.name = "x", norm.align = 4 : i64, other.tag,
                                           norm.buffer = memref<?x8xbf16, strided<[?, 1]>>},
                     %w: tensor<8x4xf32> {norm.buffer = memref<8x4xf32, strided<[1, 8]>>})
    -> (tensor<?x8xf32> {norm.align = 32 : i64}) {
  %y = norm.compute(%a = %x : tensor<?x8xbf16>, %b = %w : tensor<8x4xf32>) -> (%o : tensor<?x8xf32>)
      space(%m = dim(%a, 0), %n = 8, %k = 4) {
    %0 = norm.read %a[%m, %n] : tensor<?x8xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.read %b[%n, %k] : tensor<8x4xf32>
    %3 = arith.mulf %1, %2 : f32
    %4 = norm.reduce add %3 over(%k) : f32
    norm.write %4, %o[%m, %n] : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

// Several programs are several kernels, in order; a taken name is passed over; results may be returned in any order.
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[X:.*]]: memref<4xf32> {{.*}}, %[[R0:.*]]: memref<f32> {{.*}}, %[[R1:.*]]: memref<4xf32> {{.*}}, %[[R2:.*]]: memref<f32>
// CHECK-NEXT: norm.launch @two_0(%[[X]], %[[R1]], %[[R2]])
// CHECK-NEXT: norm.launch @two_2(%[[X]], %[[R0]])
// CHECK-NEXT: return
// CHECK: norm.kernel @two_0
// CHECK: norm.write %{{.*}}, %{{.*}}[%{{.*}}] : memref<4xf32>
// CHECK: norm.write %{{.*}}, %{{.*}}[] : memref<f32>
// CHECK: norm.kernel @two_2
func.func @two(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>) {
  %y, %s = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<4xf32>, %t : tensor<f32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    norm.write %0, %o[%n] : tensor<4xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    norm.write %1, %t[] : tensor<f32>
  }
  %z = norm.compute(%a = %x : tensor<4xf32>) -> (%o : tensor<f32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[] : tensor<f32>
  }
  return %z, %y, %s : tensor<f32>, tensor<4xf32>, tensor<f32>
}
func.func @two_1(%x: memref<4xf32>, %y: memref<4xf32> {norm.output}) {
  norm.launch @copy(%x, %y) : memref<4xf32>, memref<4xf32>
  return
}

// -----

// A function that launches kernels is left as it is.
// CHECK-LABEL: func.func @formed(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32> {norm.output}) {
// CHECK-NEXT: norm.launch @formed_0
// CHECK-NEXT: return
func.func @formed(%x: memref<4xf32>, %y: memref<4xf32> {norm.output}) {
  norm.launch @formed_0(%x, %y) : memref<4xf32>, memref<4xf32>
  return
}
norm.kernel @formed_0(%x: memref<4xf32>, %y: memref<4xf32>) space(%n = 4) {
  %0 = norm.read %x[%n] : memref<4xf32>
  norm.write %0, %y[%n] : memref<4xf32>
}

// -----

// An output may be over an input of a launch whose kernel says so, and of launches before it.
// CHECK-LABEL: func.func @formed_in_place(
// CHECK-SAME: norm.may_alias = "x"
func.func @formed_in_place(%x: memref<?x8xf32> {norm.name = "x", norm.sizes = ["rows", ""], norm.min = array<i64: 1, 0>},
                           %s: memref<?xf32> {norm.output}, %y: memref<?x8xf32> {norm.output, norm.may_alias = "x"}, %z: memref<?x8xf32> {norm.output}) {
  norm.launch @formed_sum(%x, %s) : memref<?x8xf32>, memref<?xf32>
  norm.launch @formed_scale(%x, %s, %y) : memref<?x8xf32>, memref<?xf32>, memref<?x8xf32>
  norm.launch @formed_scale(%y, %s, %z) : memref<?x8xf32>, memref<?xf32>, memref<?x8xf32>
  return
}
norm.kernel @formed_sum(%x: memref<?x8xf32>, %s: memref<?xf32>) space(%m = dim(%x, 0), %n = 8) {
  %0 = norm.read %x[%m, %n]
  %1 = norm.reduce add %0 over(%n) : f32
  norm.write %1, %s[%m]
}
norm.kernel @formed_scale(%x: memref<?x8xf32>, %s: memref<?xf32>, %y: memref<?x8xf32>) space(%m = dim(%x, 0), %n = 8) aliases(%y = %x) {
  %0 = norm.read %x[%m, %n]
  %1 = norm.read %s[%m]
  %2 = arith.mulf %0, %1 : f32
  norm.write %2, %y[%m, %n]
}

// -----

// Only one of the launches in the branches of a choice happens.
// CHECK-LABEL: func.func @chosen_in_place(
#is_long = affine_set<()[s0] : (s0 - 1000 >= 0)>
func.func @chosen_in_place(%x: memref<?xf32> {norm.name = "x"}, %y: memref<?xf32> {norm.output, norm.may_alias = "x"}) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  affine.if #is_long()[%n] {
    norm.launch @double_one(%x, %y) : memref<?xf32>, memref<?xf32>
  } else {
    norm.launch @double_one(%x, %y) : memref<?xf32>, memref<?xf32>
  }
  return
}
norm.kernel @double_one(%x: memref<?xf32>, %y: memref<?xf32>) space(%n = dim(%x, 0)) aliases(%y = %x) {
  %0 = norm.read %x[%n]
  %1 = arith.addf %0, %0 : f32
  norm.write %1, %y[%n]
}

// -----

// A kernel's name is an identifier, whatever the function's is.
// CHECK: norm.kernel @row_sum_0(
// CHECK-NOT: norm.kernel
func.func @row.sum(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %y = norm.compute(%a = %x : tensor<4x8xf32>) -> (%o : tensor<4xf32>) space(%m = 4, %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<4x8xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// A tensor that a later compute reads is scratch, as large as the writes reach; a result that is read again is in its own
// buffer; a compute that no result depends on makes no kernel.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:.*]]: memref<?x8xf32> {{.*}}, %[[Y:.*]]: memref<?xf32> {norm.name = "scratch0", norm.output}, %[[Z:.*]]: memref<?xf32>
// CHECK: %[[M:.*]] = memref.dim %[[X]], %{{.*}} : memref<?x8xf32>
// CHECK: %[[S:.*]] = memref.alloc(%[[M]]) {alignment = 256 : i64, norm.name = "scratch1", norm.scratch} : memref<?x8xf32>
// CHECK: norm.launch @chain_0(%[[X]], %[[S]])
// CHECK: %[[M2:.*]] = affine.apply #{{.*}}()[%{{.*}}]
// CHECK: %[[T:.*]] = memref.alloc(%[[M2]]) {alignment = 256 : i64, norm.name = "scratch2", norm.scratch} : memref<?xf32>
// CHECK: norm.launch @chain_1(%[[S]], %[[Y]], %[[T]])
// CHECK: norm.launch @chain_2(%[[Y]], %[[T]], %[[Z]])
// CHECK-NEXT: return
// CHECK: norm.kernel @chain_0({{.*}}) space({{.*}}) align(16, 256)
// CHECK: norm.kernel @chain_1({{.*}}) space({{.*}}) align(256, 16, 256)
// CHECK: norm.kernel @chain_2({{.*}}) space({{.*}}) align(16, 256, 16)
// CHECK-NOT: norm.kernel
func.func @chain(%x: tensor<?x8xf32>) -> (tensor<?xf32> {norm.name = "scratch0"}, tensor<?xf32>) {
  %s = norm.compute(%a = %x : tensor<?x8xf32>) -> (%o : tensor<?x8xf32>) space(%m = dim(%a, 0), %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<?x8xf32>
    norm.write %0, %o[%m, %n] : tensor<?x8xf32>
  }
  %unused = norm.compute(%a = %s : tensor<?x8xf32>) -> (%o : tensor<?x8xf32>) space(%m = dim(%a, 0), %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<?x8xf32>
    norm.write %0, %o[%m, %n] : tensor<?x8xf32>
  }
  %y, %t = norm.compute(%a = %s : tensor<?x8xf32>) -> (%o : tensor<?xf32>, %p : tensor<?xf32>)
      space(%m = dim(%a, 0), %h = 2, %n = 4) {
    %0 = norm.read %a[%m, %h * 4 + %n] : tensor<?x8xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    %2 = norm.reduce add %1 over(%h) : f32
    norm.write %1, %p[%m * 2 + %h] : tensor<?xf32>
    norm.write %2, %o[%m] : tensor<?xf32>
  }
  %z = norm.compute(%a = %y : tensor<?xf32>, %b = %t : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0)) {
    %0 = norm.read %a[%m] : tensor<?xf32>
    %1 = norm.read %b[%m] : tensor<?xf32>
    %2 = arith.addf %0, %1 : f32
    norm.write %2, %o[%m] : tensor<?xf32>
  }
  return %y, %z : tensor<?xf32>, tensor<?xf32>
}

// -----

// Scalars come after the buffers, in kernels and launches.
// CHECK-LABEL: func.func @scalars(
// CHECK-SAME: %[[E:.*]]: f32 {norm.default = 1.000000e+00 : f32, norm.name = "eps"}, %[[X:.*]]: memref<4xf32> {{.*}}, %[[K:.*]]: index {norm.default = 3 : index, norm.name = "arg2"}, %[[Y:.*]]: memref<4xf32>
// CHECK: norm.launch @scalars_0(%[[X]], %[[Y]], %[[E]], %[[K]]) : memref<4xf32>, memref<4xf32>, f32, index
// CHECK: norm.kernel @scalars_0(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>, %[[EPS:.*]]: f32, %[[COUNT:.*]]: index) space(
// CHECK: arith.index_cast %[[COUNT]]
// CHECK: arith.addf %{{.*}}, %[[EPS]]
func.func @scalars(%eps: f32 {norm.name = "eps", norm.default = 1.0 : f32}, %x: tensor<4xf32>,
                   %k: index {norm.default = 3 : index}) -> tensor<4xf32> {
  %y = norm.compute(%e = %eps : f32, %a = %x : tensor<4xf32>, %c = %k : index) -> (%o : tensor<4xf32>) space(%n = 4) {
    %0 = norm.read %a[%n] : tensor<4xf32>
    %1 = arith.index_cast %c : index to i32
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.mulf %0, %2 : f32
    %4 = arith.addf %3, %e : f32
    norm.write %4, %o[%n] : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Names of sizes stay on buffers.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: memref<?x4xf32> {norm.name = "x", norm.sizes = ["rows", ""]}
func.func @sizes(%x: tensor<?x4xf32> {norm.name = "x", norm.sizes = ["rows", ""]}) -> tensor<?x4xf32> {
  %y = norm.compute(%a = %x : tensor<?x4xf32>) -> (%o : tensor<?x4xf32>) space(%m = dim(%a, 0), %n = 4) {
    %0 = norm.read %a[%m, %n] : tensor<?x4xf32>
    norm.write %0, %o[%m, %n] : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}

// Promises about sizes go to the kernels, and to scratch that has such a size.
// CHECK-LABEL: func.func @multiples(
// CHECK-SAME: memref<?x?xf32> {norm.multiples = array<i64: 1, 8>, norm.name = "x"}
// CHECK: norm.kernel @multiples_0(%[[X:.*]]: memref<?x?xf32>, %[[S:.*]]: memref<?x?xf32>) {{.*}} multiples(dim(%[[X]], 1) = 8, dim(%[[S]], 0) = 8)
// CHECK: norm.kernel @multiples_1(%[[T:.*]]: memref<?x?xf32>, %{{.*}}: memref<?x?xf32>) {{.*}} multiples(dim(%[[T]], 0) = 8) {
func.func @multiples(%x: tensor<?x?xf32> {norm.name = "x", norm.multiples = array<i64: 1, 8>}) -> tensor<?x?xf32> {
  %t = norm.compute(%a = %x : tensor<?x?xf32>) -> (%o : tensor<?x?xf32>) space(%m = dim(%a, 0), %n = dim(%a, 1)) {
    %0 = norm.read %a[%m, %n] : tensor<?x?xf32>
    norm.write %0, %o[%n, %m] : tensor<?x?xf32>
  }
  %y = norm.compute(%a = %t : tensor<?x?xf32>) -> (%o : tensor<?x?xf32>) space(%n = dim(%a, 0), %m = dim(%a, 1)) {
    %0 = norm.read %a[%n, %m] : tensor<?x?xf32>
    norm.write %0, %o[%m, %n] : tensor<?x?xf32>
  }
  return %y : tensor<?x?xf32>
}

// -----

// So do bounds; a computed size of scratch has the bounds that follow from its operands.
// CHECK-LABEL: func.func @bounds(
// CHECK-SAME: memref<?x?xf32> {norm.max = array<i64: -1, 64>, norm.min = array<i64: 1, 8>, norm.name = "x"}
// CHECK: norm.kernel @bounds_0(%[[X:.*]]: memref<?x?xf32>, %[[S:.*]]: memref<?x?xf32>) {{.*}} bounds(1 <= dim(%[[X]], 0), 8 <= dim(%[[X]], 1) <= 64, 16 <= dim(%[[S]], 0) <= 128, 1 <= dim(%[[S]], 1))
func.func @bounds(%x: tensor<?x?xf32> {norm.name = "x", norm.min = array<i64: 1, 8>, norm.max = array<i64: -1, 64>}) -> tensor<?x?xf32> {
  %t = norm.compute(%a = %x : tensor<?x?xf32>) -> (%o : tensor<?x?xf32>)
      space(%m = dim(%a, 0), %n = dim(%a, 1), %h = 2) {
    %0 = norm.read %a[%m, %n] : tensor<?x?xf32>
    norm.write %0, %o[%n * 2 + %h, %m] : tensor<?x?xf32>
  }
  %y = norm.compute(%a = %t : tensor<?x?xf32>) -> (%o : tensor<?x?xf32>) space(%n = dim(%a, 0), %m = dim(%a, 1)) {
    %0 = norm.read %a[%n, %m] : tensor<?x?xf32>
    norm.write %0, %o[%m, %n] : tensor<?x?xf32>
  }
  return %y : tensor<?x?xf32>
}

// -----

// A result that may alias an argument: each element is written after its last read.
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: {norm.may_alias = "x", norm.name = "result0", norm.output}
// CHECK: norm.kernel @in_place_0(%[[X:.*]]: memref<?x8xf32>, %[[Y:.*]]: memref<?x8xf32>) {{.*}} aliases(%[[Y]] = %[[X]])
func.func @in_place(%x: tensor<?x8xf32> {norm.name = "x"}) -> (tensor<?x8xf32> {norm.may_alias = "x"}) {
  %y = norm.compute(%a = %x : tensor<?x8xf32>) -> (%o : tensor<?x8xf32>) space(%m = dim(%a, 0), %n = 8) {
    %0 = norm.read %a[%m, %n] : tensor<?x8xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

// A guard stays, unless a promise says that all blocks are whole.
// CHECK-LABEL: norm.kernel @blocks_0(
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X:.*]], 0) ceildiv 128, %[[I:.*]] = 128) where(%[[B]] * 128 + %[[I]] < dim(%[[X]], 0))
func.func @blocks(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>)
      space(%b = dim(%a, 0) ceildiv 128, %i = 128) where(%b * 128 + %i < dim(%a, 0)) {
    %1 = norm.read %a[%b * 128 + %i] : tensor<?xf32>
    %2 = norm.reduce max %1 over(%i) : f32
    norm.write %2, %o[%b] : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

// -----

// CHECK-LABEL: norm.kernel @whole_blocks_0(
// CHECK-SAME: space(%[[B:.*]] = dim(%[[X:.*]], 0) floordiv 128, %[[I:.*]] = 128) align(
func.func @whole_blocks(%x: tensor<?xf32> {norm.multiples = array<i64: 256>}) -> tensor<?xf32> {
  %0 = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>)
      space(%b = dim(%a, 0) ceildiv 128, %i = 128) where(%b * 128 + %i < dim(%a, 0)) {
    %1 = norm.read %a[%b * 128 + %i] : tensor<?xf32>
    %2 = norm.reduce max %1 over(%i) : f32
    norm.write %2, %o[%b] : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

// -----

// CHECK-LABEL: norm.kernel @other_blocks_0(
// CHECK-SAME: space(%{{.*}} = dim(%{{.*}}, 0) ceildiv 128, %{{.*}} = 128) where(
func.func @other_blocks(%x: tensor<?xf32> {norm.multiples = array<i64: 64>}) -> tensor<?xf32> {
  %0 = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>)
      space(%b = dim(%a, 0) ceildiv 128, %i = 128) where(%b * 128 + %i < dim(%a, 0)) {
    %1 = norm.read %a[%b * 128 + %i] : tensor<?xf32>
    %2 = norm.reduce max %1 over(%i) : f32
    norm.write %2, %o[%b] : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

// -----

// A result that stays in scratch reaches as far as its guard.
// CHECK-LABEL: func.func @through_scratch(
// CHECK: memref.alloc({{.*}}norm.scratch
// CHECK: norm.kernel @through_scratch_0(
// CHECK-SAME: where(
// CHECK: norm.kernel @through_scratch_1(
// CHECK-SAME: space(%[[N:.*]] = dim(%{{.*}}, 0)) align(
func.func @through_scratch(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>)
      space(%b = dim(%a, 0) ceildiv 128, %i = 128) where(%b * 128 + %i < dim(%a, 0)) {
    %1 = norm.read %a[%b * 128 + %i] : tensor<?xf32>
    norm.write %1, %o[%b * 128 + %i] : tensor<?xf32>
  }
  %3 = norm.compute(%a = %0 : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%n = dim(%a, 0)) {
    %1 = norm.read %a[%n] : tensor<?xf32>
    norm.write %1, %o[%n] : tensor<?xf32>
  }
  return %3 : tensor<?xf32>
}
