// Reasons for computes to stay apart, as remarks state them: the reader becomes a kernel of its own.
// RUN: norma-opt %s --split-input-file --norm-form-computes --norm-fuse-computes=explain=true --verify-diagnostics | FileCheck %s

// A reduction along rows waits for the result of one along columns.
// CHECK-LABEL: func.func @crossing(
// CHECK-COUNT-2: norm.compute
func.func @crossing(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-note @below {{what this makes goes through memory}}
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%m) : f32
    norm.write %1, %o[%n] : tensor<64xf32>
  }
  // expected-remark @below {{a kernel of its own: reductions over different dims would wait for each other}}
  %y = norm.compute(%a = %x : tensor<?x64xf32>, %b = %s : tensor<64xf32>) -> (%o : tensor<?x64xf32>)
      space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.read %b[%n] : tensor<64xf32>
    %2 = arith.subf %0, %1 : f32
    %3 = norm.reduce add %2 over(%n) : f32
    %4 = arith.subf %2, %3 : f32
    norm.write %4, %o[%m, %n] : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

// -----

// A sum over columns that nothing waits for goes along with the rows.
// CHECK-LABEL: func.func @last(
// CHECK-COUNT-1: norm.compute
// CHECK-NOT: norm.compute
func.func @last(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<64xf32>) {
  // expected-note @below {{with this}}
  %y = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  // expected-remark @below {{2 ops are one kernel}}
  %s = norm.compute(%a = %y : tensor<?x64xf32>) -> (%o : tensor<64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce add %0 over(%m) : f32
    norm.write %1, %o[%n] : tensor<64xf32>
  }
  return %y, %s : tensor<?x64xf32>, tensor<64xf32>
}

// -----

// Two writes make the tensor that is read, and no coordinate decides which of them is read.
// CHECK-LABEL: func.func @parts(
// CHECK-COUNT-2: norm.compute
func.func @parts(%x: tensor<?x32xf32>) -> tensor<?x64xf32> {
  // expected-note @below {{what this makes goes through memory}}
  %s = norm.compute(%a = %x : tensor<?x32xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 32) {
    %0 = norm.read %a[%m, %n] : tensor<?x32xf32>
    %1 = arith.negf %0 : f32
    norm.write %0, %o[%m, %n] : tensor<?x64xf32>
    norm.write %1, %o[%m, %n + 32] : tensor<?x64xf32>
  }
  // expected-remark @below {{a kernel of its own: it is read at coordinates that do not say which point makes it}}
  %y = math.exp %s : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// A returned result varies over columns that its reader lacks, and the other way round.
// CHECK-LABEL: func.func @spaces(
// CHECK-COUNT-2: norm.compute
func.func @spaces(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x24xf32>) {
  // expected-note @below {{what this makes goes through memory}}
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  // expected-remark @below {{a kernel of its own: it is needed elsewhere too, and neither space is part of the other}}
  %y = norm.compute(%a = %s : tensor<?x64xf32>) -> (%o : tensor<?x24xf32>) space(%m = dim(%a, 0), %k = 24) {
    %0 = norm.read %a[%m, %k + 3] : tensor<?x64xf32>
    norm.write %0, %o[%m, %k] : tensor<?x24xf32>
  }
  return %s, %y : tensor<?x64xf32>, tensor<?x24xf32>
}

// -----

// One number per sample, which all of its rows need.
// CHECK-LABEL: func.func @wider(
// CHECK-COUNT-2: norm.compute
func.func @wider(%c: tensor<?x64xf32>, %x: tensor<?x?x32xf32>) -> tensor<?x?x32xf32> {
  // expected-note @below {{what this makes goes through memory}}
  %s = norm.compute(%a = %c : tensor<?x64xf32>) -> (%o : tensor<?xf32>) space(%b = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%b, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    norm.write %1, %o[%b] : tensor<?xf32>
  }
  // expected-remark @below {{a kernel of its own: what a reduction comes to is needed at points that it does not range over}}
  %y = norm.compute(%a = %x : tensor<?x?x32xf32>, %t = %s : tensor<?xf32>) -> (%o : tensor<?x?x32xf32>)
      space(%b = dim(%a, 0), %r = dim(%a, 1), %k = 32) {
    %0 = norm.read %a[%b, %r, %k] : tensor<?x?x32xf32>
    %1 = norm.read %t[%b] : tensor<?xf32>
    %2 = arith.mulf %0, %1 : f32
    norm.write %2, %o[%b, %r, %k] : tensor<?x?x32xf32>
  }
  return %y : tensor<?x?x32xf32>
}

// -----

// The sum of a row and that of the next one.
// CHECK-LABEL: func.func @again(
// CHECK-COUNT-2: norm.compute
func.func @again(%x: tensor<8x64xf32>) -> tensor<7xf32> {
  // expected-note @below {{what this makes goes through memory}}
  %s = norm.compute(%a = %x : tensor<8x64xf32>) -> (%o : tensor<8xf32>) space(%m = 8, %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<8x64xf32>
    %1 = norm.reduce add %0 over(%n) : f32
    norm.write %1, %o[%m] : tensor<8xf32>
  }
  // expected-remark @below {{a kernel of its own: a reduction would be computed more than once}}
  %y = norm.compute(%a = %s : tensor<8xf32>) -> (%o : tensor<7xf32>) space(%i = 7) {
    %0 = norm.read %a[%i] : tensor<8xf32>
    %1 = norm.read %a[%i + 1] : tensor<8xf32>
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%i] : tensor<7xf32>
  }
  return %y : tensor<7xf32>
}

// -----

// CHECK-LABEL: func.func @everywhere(
// CHECK-COUNT-2: norm.compute
func.func @everywhere(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-note @below {{what this makes goes through memory}}
  %s = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<f32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%m, %n) : f32
    norm.write %1, %o[] : tensor<f32>
  }
  // expected-remark @below {{a kernel of its own: everything waits for a reduction of everything}}
  %y = norm.compute(%a = %x : tensor<?x64xf32>, %b = %s : tensor<f32>) -> (%o : tensor<?x64xf32>)
      space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.read %b[] : tensor<f32>
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @in_place(
// CHECK-COUNT-2: norm.compute
func.func @in_place(%x: tensor<?x64xf32> {norm.name = "x"}, %w: tensor<4xf32>)
    -> (tensor<?x64xf32> {norm.may_alias = "x"}, tensor<?x64x4xf32>) {
  // expected-note @below {{what this makes goes through memory}}
  %h = math.exp %x : tensor<?x64xf32>
  // expected-remark @below {{a kernel of its own: a result may be the same memory as 'x', which would be read elsewhere than it is written}}
  %s = norm.compute(%a = %h : tensor<?x64xf32>, %b = %w : tensor<4xf32>) -> (%o : tensor<?x64x4xf32>)
      space(%m = dim(%a, 0), %n = 64, %k = 4) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.read %b[%k] : tensor<4xf32>
    %2 = arith.mulf %0, %1 : f32
    norm.write %2, %o[%m, %n, %k] : tensor<?x64x4xf32>
  }
  return %h, %s : tensor<?x64xf32>, tensor<?x64x4xf32>
}

// -----

// The first program has all points of its blocks, which a guard of the second would leave out.
// CHECK-LABEL: func.func @foreign_guard(
// CHECK-COUNT-2: norm.compute
func.func @foreign_guard(%x: tensor<5x128xf32>) -> (tensor<5x128xf32>, tensor<5xf32>) {
  // expected-note @below {{what this makes goes through memory}}
  %y = norm.compute(%a = %x : tensor<5x128xf32>) -> (%o : tensor<5x128xf32>) space(%b = 5, %i = 128) {
    %0 = norm.read %a[%b, %i] : tensor<5x128xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%b, %i] : tensor<5x128xf32>
  }
  // expected-remark @below {{a kernel of its own: a guard of the one would leave out points of the other}}
  %s = norm.compute(%a = %y : tensor<5x128xf32>) -> (%o : tensor<5xf32>)
      space(%b = 5, %i = 128) where(%b * 128 + %i < 576) {
    %0 = norm.read %a[%b, %i] : tensor<5x128xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    norm.write %1, %o[%b] : tensor<5xf32>
  }
  return %y, %s : tensor<5x128xf32>, tensor<5xf32>
}

// -----

// A CTA does not hold rows of 65536 integers, and each of the results takes a pass over the row, which would compute it again.
// CHECK-LABEL: func.func @long_rows(
// CHECK-COUNT-2: norm.compute
func.func @long_rows(%x: tensor<?x65536xi32>) -> tensor<?x3xi32> {
  // expected-note @below {{what this makes goes through memory}}
  %twice = arith.addi %x, %x : tensor<?x65536xi32>
  // expected-remark @below {{a kernel of its own: a reduction with several results would compute what it ranges over again for each of them}}
  %most = norm.compute(%a = %twice : tensor<?x65536xi32>) -> (%o : tensor<?x3xi32>) space(%m = dim(%a, 0), %n = 65536, %j = 3) {
    %0 = norm.read %a[%m, %n] : tensor<?x65536xi32>
    %1 = norm.reduce max %0 over(%n) nth(%j) : i32
    norm.write %1, %o[%m, %j] : tensor<?x3xi32>
  }
  return %most : tensor<?x3xi32>
}

// -----

// A reduction over blocks alone does not know which elements of a block there are.
// CHECK-LABEL: func.func @over_blocks(
// CHECK-COUNT-2: norm.compute
func.func @over_blocks(%x: tensor<?x576xf32>) -> (tensor<?x576xf32>, tensor<?xf32>) {
  // expected-note @below {{what this makes goes through memory}}
  %q, %s = norm.compute(%a = %x : tensor<?x576xf32>) -> (%p : tensor<?x576xf32>, %o : tensor<?x5xf32>)
      space(%m = dim(%a, 0), %b = 5, %i = 128) where(%b * 128 + %i < 576) {
    %0 = norm.read %a[%m, %b * 128 + %i] : tensor<?x576xf32>
    %1 = norm.reduce max %0 over(%i) : f32
    norm.write %1, %o[%m, %b] : tensor<?x5xf32>
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %p[%m, %b * 128 + %i] : tensor<?x576xf32>
  }
  // expected-remark @below {{a kernel of its own: a guard of the one would leave out points of the other}}
  %l = norm.compute(%a = %s : tensor<?x5xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0), %b = 5) {
    %0 = norm.read %a[%m, %b] : tensor<?x5xf32>
    %1 = norm.reduce max %0 over(%b) : f32
    norm.write %1, %o[%m] : tensor<?xf32>
  }
  return %q, %l : tensor<?x576xf32>, tensor<?xf32>
}

// -----

// Of such a row, what is computed from each of the results alone goes along; what comes back to them would take the passes again.
// CHECK-LABEL: func.func @results_of_long_rows(
// CHECK-COUNT-2: norm.compute
// CHECK-NOT: norm.compute
func.func @results_of_long_rows(%x: tensor<?x65536xi32>) -> (tensor<?x3xi32>, tensor<?x3xi32>) {
  // expected-note @below {{with this}}
  %most = norm.compute(%a = %x : tensor<?x65536xi32>) -> (%o : tensor<?x3xi32>) space(%m = dim(%a, 0), %n = 65536, %j = 3) {
    %0 = norm.read %a[%m, %n] : tensor<?x65536xi32>
    %1 = norm.reduce max %0 over(%n) nth(%j) : i32
    norm.write %1, %o[%m, %j] : tensor<?x3xi32>
  }
  // expected-remark @below {{2 ops are one kernel}}
  // expected-note @below {{what this makes goes through memory}}
  %twice = arith.addi %most, %most : tensor<?x3xi32>
  // expected-remark @below {{a kernel of its own: a reduction with several results would compute what it ranges over again for each of them}}
  %parts = norm.compute(%a = %twice : tensor<?x3xi32>) -> (%o : tensor<?x3xi32>) space(%m = dim(%a, 0), %i = 3) {
    %0 = norm.read %a[%m, %i] : tensor<?x3xi32>
    %1 = norm.reduce add %0 over(%i) : i32
    %2 = arith.divsi %0, %1 : i32
    norm.write %2, %o[%m, %i] : tensor<?x3xi32>
  }
  return %twice, %parts : tensor<?x3xi32>, tensor<?x3xi32>
}

// -----

// Four results are read as two by two, and no one dim counts them.
// CHECK-LABEL: func.func @results_in_two_axes(
// CHECK-COUNT-2: norm.compute
func.func @results_in_two_axes(%x: tensor<?x64xi32>) -> tensor<?x2x2xi32> {
  // expected-note @below {{what this makes goes through memory}}
  %most = norm.compute(%a = %x : tensor<?x64xi32>) -> (%o : tensor<?x4xi32>) space(%m = dim(%a, 0), %n = 64, %j = 4) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xi32>
    %1 = norm.reduce max %0 over(%n) nth(%j) : i32
    norm.write %1, %o[%m, %j] : tensor<?x4xi32>
  }
  // expected-remark @below {{a kernel of its own: the results of a reduction, which a dim counts, are needed at other coordinates}}
  %y = norm.compute(%a = %most : tensor<?x4xi32>) -> (%o : tensor<?x2x2xi32>) space(%m = dim(%a, 0), %i = 2, %k = 2) {
    %0 = norm.read %a[%m, %i * 2 + %k] : tensor<?x4xi32>
    norm.write %0, %o[%m, %i, %k] : tensor<?x2x2xi32>
  }
  return %y : tensor<?x2x2xi32>
}

// -----

// A scan is fused with nothing, and keeps apart what comes before it and what comes after it.
// CHECK-LABEL: func.func @scan(
// CHECK-COUNT-3: norm.compute
func.func @scan(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-note @below {{what this makes goes through memory}}
  %rows = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  // expected-remark @below {{a kernel of its own: a scan is fused with nothing}}
  // expected-note @below {{what this makes goes through memory}}
  %sums = norm.compute(%a = %rows : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.scan add %0 along(%n) : f32
    norm.write %1, %o[%m, %n] : tensor<?x64xf32>
  }
  // expected-remark @below {{a kernel of its own: a scan is fused with nothing}}
  // expected-remark @below {{a kernel of its own: an op between them needs the one and is needed by the other}}
  %y = arith.subf %rows, %sums : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Neither reads what the other makes; that they share a read is no use where each would wait for all of the other.
// CHECK-LABEL: func.func @siblings_crossing(
// CHECK-COUNT-2: norm.compute
func.func @siblings_crossing(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // expected-note @below {{this reads the same tensor}}
  %rows = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%n) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  // expected-remark @below {{a kernel of its own: reductions over different dims would wait for each other}}
  %columns = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%a, 0), %n = 64) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xf32>
    %1 = norm.reduce max %0 over(%m) : f32
    %2 = arith.subf %0, %1 : f32
    norm.write %2, %o[%m, %n] : tensor<?x64xf32>
  }
  return %rows, %columns : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// The one reads a row that the other has no dim for.
// CHECK-LABEL: func.func @siblings_of_other_spaces(
// CHECK-COUNT-2: norm.compute
func.func @siblings_of_other_spaces(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<64xf32>) {
  // expected-note @below {{this reads the same tensor}}
  %all = math.exp %x : tensor<?x64xf32>
  // expected-remark @below {{a kernel of its own: they read the same tensor at points of different spaces}}
  %first = norm.compute(%a = %x : tensor<?x64xf32>) -> (%o : tensor<64xf32>) space(%n = 64) {
    %0 = norm.read %a[0, %n] : tensor<?x64xf32>
    norm.write %0, %o[%n] : tensor<64xf32>
  }
  return %all, %first : tensor<?x64xf32>, tensor<64xf32>
}

// -----

// How many rows there are is up to whoever passes the memory of the result.
// CHECK-LABEL: func.func @sized_by_a_result(
// CHECK-COUNT-2: norm.compute
func.func @sized_by_a_result(%x: tensor<64xf32>) -> tensor<?x64xf32> {
  // expected-note @below {{what this makes goes through memory}}
  %exp = math.exp %x : tensor<64xf32>
  // expected-remark @below {{a kernel of its own: an extent of the one is the size of a result}}
  %rows = norm.compute(%a = %exp : tensor<64xf32>) -> (%o : tensor<?x64xf32>) space(%m = dim(%o, 0), %n = 64) {
    %0 = norm.read %a[%n] : tensor<64xf32>
    norm.write %0, %o[%m, %n] : tensor<?x64xf32>
  }
  return %rows : tensor<?x64xf32>
}

// -----

// Of two parts that end at different places, neither says how long the result is.
// CHECK-LABEL: func.func @parts_of_different_ends(
// CHECK-COUNT-2: norm.compute
func.func @parts_of_different_ends(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-note @below {{what this makes goes through memory}}
  %parts = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0)) {
    %0 = norm.read %a[%m] : tensor<?xf32>
    norm.write %0, %o[%m * 2] : tensor<?xf32>
    norm.write %0, %o[%m * 2 + 1] : tensor<?xf32>
  }
  // expected-remark @below {{a kernel of its own: the writes of the one do not say how large its result is}}
  %y = math.exp %parts : tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Two computes that have a size in common, and no element, have no reason to be one.
// CHECK-LABEL: func.func @same_size(
// CHECK-COUNT-2: norm.compute
func.func @same_size(%x: tensor<?x64xf32>, %y: tensor<64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %exp = math.exp %x : tensor<?x64xf32>
  %rows = norm.compute(%a = %y : tensor<64xf32>, %b = %x : tensor<?x64xf32>) -> (%o : tensor<?x64xf32>)
      space(%m = dim(%b, 0), %n = 64) {
    %0 = norm.read %a[%n] : tensor<64xf32>
    norm.write %0, %o[%m, %n] : tensor<?x64xf32>
  }
  return %exp, %rows : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// Each of a row's largest is summed over the rows: a loop over the largest would be around that over the rows, and the other way around.
// CHECK-LABEL: func.func @over_each_result(
// CHECK-COUNT-2: norm.compute
func.func @over_each_result(%x: tensor<?x64xi32>) -> tensor<5xi32> {
  // expected-note @below {{what this makes goes through memory}}
  %v = norm.compute(%a = %x : tensor<?x64xi32>) -> (%o : tensor<?x5xi32>) space(%m = dim(%a, 0), %n = 64, %k = 5) {
    %0 = norm.read %a[%m, %n] : tensor<?x64xi32>
    %1 = norm.reduce max %0 over(%n) nth(%k) : i32
    norm.write %1, %o[%m, %k] : tensor<?x5xi32>
  }
  // expected-remark @below {{a kernel of its own: reductions over different dims would wait for each other}}
  %y = norm.compute(%a = %v : tensor<?x5xi32>) -> (%o : tensor<5xi32>) space(%m = dim(%a, 0), %k = 5) {
    %0 = norm.read %a[%m, %k] : tensor<?x5xi32>
    %1 = norm.reduce add %0 over(%m) : i32
    norm.write %1, %o[%k] : tensor<5xi32>
  }
  return %y : tensor<5xi32>
}

// -----

// CHECK-LABEL: func.func @in_place_and_for_each_row(
// CHECK-COUNT-2: norm.compute
func.func @in_place_and_for_each_row(%x: tensor<64xf32> {norm.name = "x"})
    -> (tensor<64xf32> {norm.may_alias = "x"}, tensor<128x64xf32>) {
  // expected-note @below {{what this makes goes through memory}}
  %h = math.exp %x : tensor<64xf32>
  // expected-remark @below {{a kernel of its own: a result may be the same memory as 'x', which would be read elsewhere than it is written}}
  %s = norm.compute(%a = %h : tensor<64xf32>) -> (%o : tensor<128x64xf32>) space(%m = 128, %n = 64) {
    %0 = norm.read %a[%n] : tensor<64xf32>
    norm.write %0, %o[%m, %n] : tensor<128x64xf32>
  }
  return %h, %s : tensor<64xf32>, tensor<128x64xf32>
}
