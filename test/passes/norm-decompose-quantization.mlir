// Quantization becomes the scalar programs that define it.
// RUN: norma-opt %s --split-input-file --norm-decompose | FileCheck %s

// A static scale needs no reduction.
// CHECK-LABEL: @static_scale(
// CHECK-NOT: norm.reduce
// CHECK: %[[S:.*]] = norm.read %{{.*}}[] : tensor<f32>
// CHECK-NEXT: %[[Q:.*]] = arith.divf %{{.*}}, %[[S]] : f32
// CHECK-NEXT: arith.truncf %[[Q]] : f32 to f8E4M3FN
func.func @static_scale(%x: tensor<?x64xbf16>, %s: tensor<f32>) -> tensor<?x64xf8E4M3FN> {
  %q = norm.quantize %x static_scale(%s : tensor<f32>) : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN>
  return %q : tensor<?x64xf8E4M3FN>
}

// -----

// An axis in blocks becomes two dims, and the scale varies over the outer one. Exponents are read from the bits of the maximum:
// 6291456 is the mantissa of 448, and 8 its exponent.
// CHECK-LABEL: @blocks(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[B:.*]] = 2, %[[J:.*]] = 32)
// CHECK: norm.read %{{.*}}[%[[M]], %[[B]] * 32 + %[[J]]]
// CHECK: %[[AMAX:.*]] = norm.reduce max %{{.*}} over(%[[J]]) : f32
// CHECK: %[[SIZE:.*]] = arith.maximumf %[[AMAX]], %{{.*}} : f32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SIZE]] : f32 to i32
// CHECK: arith.constant 2097151 : i32
// CHECK: arith.constant 8 : i32
// CHECK: arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT: norm.write %{{.*}}[%[[M]], %[[B]]] : tensor<?x2xi8>
// CHECK: norm.write %{{.*}}[%[[M]], %[[B]] * 32 + %[[J]]] : tensor<?x64xf8E4M3FN>
func.func @blocks(%x: tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xi8>) {
  %q, %s = norm.quantize %x {block = array<i64: 1, 32>} : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN> scale(tensor<?x2xi8>)
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xi8>
}

// -----

// The last block of a dynamic axis may be shorter.
// CHECK-LABEL: @blocks_of_rows(
// CHECK: space(%[[B:.*]] = dim(%[[X:.*]], 0) ceildiv 32, %[[I:.*]] = 32, %[[N:.*]] = 64)
// CHECK-SAME: where(%[[B]] * 32 + %[[I]] < dim(%[[X]], 0))
// CHECK: norm.read %{{.*}}[%[[B]] * 32 + %[[I]], %[[N]]]
// CHECK: norm.reduce max %{{.*}} over(%[[I]]) : f32
func.func @blocks_of_rows(%x: tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x64xi8>) {
  %q, %s = norm.quantize %x {block = array<i64: 32, 1>} : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN> scale(tensor<?x64xi8>)
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x64xi8>
}

// -----

// So may that of a static one. Where all blocks are whole there is no guard.
// CHECK-LABEL: @last_block(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[B:.*]] = 5, %[[J:.*]] = 128) where(%[[B]] * 128 + %[[J]] < 576) {
// CHECK: norm.read %{{.*}}[%[[M]], %[[B]] * 128 + %[[J]]]
// CHECK: norm.reduce max %{{.*}} over(%[[J]]) : f32
// CHECK: space(%{{.*}} = dim(%{{.*}}, 0), %{{.*}} = 18, %{{.*}} = 32) {
func.func @last_block(%x: tensor<?x576xf32>)
    -> (tensor<?x576xf8E4M3FN>, tensor<?x5xf32>, tensor<?x576xf8E4M3FN>, tensor<?x18xf32>) {
  %q, %s = norm.quantize %x {block = array<i64: 1, 128>} : tensor<?x576xf32> -> tensor<?x576xf8E4M3FN> scale(tensor<?x5xf32>)
  %r, %t = norm.quantize %x {block = array<i64: 1, 32>} : tensor<?x576xf32> -> tensor<?x576xf8E4M3FN> scale(tensor<?x18xf32>)
  return %q, %s, %r, %t : tensor<?x576xf8E4M3FN>, tensor<?x5xf32>, tensor<?x576xf8E4M3FN>, tensor<?x18xf32>
}

// -----

// A block that is longer than its axis is as long as the axis.
// CHECK-LABEL: @short_axis(
// CHECK: space(%{{.*}} = dim(%{{.*}}, 0), %{{.*}} = 1, %{{.*}} = 24) {
func.func @short_axis(%x: tensor<?x24xf32>) -> (tensor<?x24xf8E4M3FN>, tensor<?x1xf32>) {
  %q, %s = norm.quantize %x {block = array<i64: 1, 128>} : tensor<?x24xf32> -> tensor<?x24xf8E4M3FN> scale(tensor<?x1xf32>)
  return %q, %s : tensor<?x24xf8E4M3FN>, tensor<?x1xf32>
}

// -----

// Two numbers that share a byte are in one block, so that the guard counts bytes.
// CHECK-LABEL: @last_block_of_pairs(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[B:.*]] = 4, %[[P:.*]] = 16, %[[H:.*]] = 2) where(%[[B]] * 16 + %[[P]] < 50) {
// CHECK: norm.read %{{.*}}[%[[M]], %[[B]] * 32 + %[[P]] * 2 + %[[H]]]
// CHECK: norm.write %{{.*}}[%[[M]], %[[B]] * 16 + %[[P]]] : tensor<?x50xi8>
// CHECK-LABEL: @dequantize_last_block_of_pairs(
// CHECK: space(%{{.*}} = dim(%{{.*}}, 0), %[[B:.*]] = 4, %[[P:.*]] = 16, %{{.*}} = 2) where(%[[B]] * 16 + %[[P]] < 50) {
func.func @last_block_of_pairs(%x: tensor<?x100xbf16>) -> (tensor<?x50xi8>, tensor<?x4xi8>) {
  %q, %s = norm.quantize %x {block = array<i64: 1, 32>, e2m1} : tensor<?x100xbf16> -> tensor<?x50xi8> scale(tensor<?x4xi8>)
  return %q, %s : tensor<?x50xi8>, tensor<?x4xi8>
}
func.func @dequantize_last_block_of_pairs(%q: tensor<?x50xi8>, %s: tensor<?x4xi8>) -> tensor<?x100xbf16> {
  %y = norm.dequantize %q scale(%s : tensor<?x4xi8>) {block = array<i64: 1, 32>, e2m1} : tensor<?x50xi8> -> tensor<?x100xbf16>
  return %y : tensor<?x100xbf16>
}

// -----

// Integers are rounded and clamped before they are converted.
// CHECK-LABEL: @integers(
// CHECK: math.roundeven
// CHECK: arith.maxnumf
// CHECK: arith.minnumf
// CHECK-NEXT: arith.fptosi %{{.*}} : f32 to i8
func.func @integers(%x: tensor<?x64xf32>, %s: tensor<f32>) -> tensor<?x64xi8> {
  %q = norm.quantize %x static_scale(%s : tensor<f32>) : tensor<?x64xf32> -> tensor<?x64xi8>
  return %q : tensor<?x64xi8>
}

// -----

// CHECK-LABEL: @dequantize(
// CHECK: %[[Q:.*]] = arith.sitofp %{{.*}} : i8 to f32
// CHECK: %[[S:.*]] = norm.read %{{.*}}[%{{.*}}] : tensor<?xf32>
// CHECK-NEXT: arith.mulf %[[Q]], %[[S]] : f32
func.func @dequantize(%q: tensor<?x64xi8>, %s: tensor<?xf32>) -> tensor<?x64xf32> {
  %y = norm.dequantize %q scale(%s : tensor<?xf32>) {block = array<i64: 1, 0>} : tensor<?x64xi8> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Rounded down, the exponent is that of the maximum minus 8; as f8E8M0FNU the same bits are stored.
// CHECK-LABEL: @rounded_down(
// CHECK: %[[AMAX:.*]] = norm.reduce max
// CHECK: %[[SIZE:.*]] = arith.maximumf %[[AMAX]], %{{.*}} : f32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SIZE]] : f32 to i32
// CHECK: %[[EXPONENT:.*]] = arith.shrui %[[BITS]], %{{.*}} : i32
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK: arith.subi %[[EXPONENT]], %[[EIGHT]] : i32
// CHECK: %[[BYTE:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT: %[[SCALE:.*]] = arith.bitcast %[[BYTE]] : i8 to f8E8M0FNU
// CHECK-NEXT: norm.write %[[SCALE]], %{{.*}} : tensor<?x2xf8E8M0FNU>
func.func @rounded_down(%x: tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = norm.quantize %x {block = array<i64: 1, 32>, round_down}
           : tensor<?x64xf32> -> tensor<?x64xf8E4M3FN> scale(tensor<?x2xf8E8M0FNU>)
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}

// -----

// CHECK-LABEL: @from_powers_of_two(
// CHECK: %[[STORED:.*]] = norm.read %{{.*}} : tensor<?x2xf8E8M0FNU>
// CHECK-NEXT: %[[BITS:.*]] = arith.bitcast %[[STORED]] : f8E8M0FNU to i8
// CHECK-NEXT: arith.extui %[[BITS]] : i8 to i32
func.func @from_powers_of_two(%q: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>) -> tensor<?x64xf32> {
  %y = norm.dequantize %q scale(%s : tensor<?x2xf8E8M0FNU>) {block = array<i64: 1, 32>} : tensor<?x64xf8E4M3FN> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Two numbers that share a byte are a dim of two, innermost: numbers vary over it, and their codes are combined over it.
// Numbers are divided by the rounded scale.
// CHECK-LABEL: @four_bits(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[B:.*]] = 4, %[[P:.*]] = 8, %[[H:.*]] = 2)
// CHECK: norm.read %{{.*}}[%[[M]], %[[B]] * 16 + %[[P]] * 2 + %[[H]]]
// CHECK: norm.reduce max %{{.*}} over(%[[P]], %[[H]]) : f32
// CHECK: %[[STORED:.*]] = arith.truncf %{{.*}} : f32 to f8E4M3FN
// CHECK: %[[SCALE:.*]] = arith.extf %[[STORED]] : f8E4M3FN to f32
// CHECK: %[[DIVISOR:.*]] = arith.mulf %[[SCALE]], %[[T:.*]] : f32
// CHECK: norm.write %[[STORED]], %{{.*}}[%[[M]], %[[B]]] : tensor<?x4xf8E4M3FN>
// CHECK: arith.divf %{{.*}}, %[[DIVISOR]] : f32
// CHECK: %[[PLACE:.*]] = arith.index_cast %[[H]] : index to i32
// CHECK: %[[SHIFT:.*]] = arith.muli %[[PLACE]],
// CHECK: %[[CODE:.*]] = arith.shli %{{.*}}, %[[SHIFT]] : i32
// CHECK: %[[PAIR:.*]] = norm.reduce or %[[CODE]] over(%[[H]]) : i32
// CHECK: %[[BYTE:.*]] = arith.trunci %[[PAIR]] : i32 to i8
// CHECK: norm.write %[[BYTE]], %{{.*}}[%[[M]], %[[B]] * 8 + %[[P]]] : tensor<?x32xi8>
func.func @four_bits(%x: tensor<?x64xbf16>, %t: tensor<f32>) -> (tensor<?x32xi8>, tensor<?x4xf8E4M3FN>) {
  %q, %s = norm.quantize %x tensor_scale(%t : tensor<f32>) {block = array<i64: 1, 16>, e2m1}
           : tensor<?x64xbf16> -> tensor<?x32xi8> scale(tensor<?x4xf8E4M3FN>)
  return %q, %s : tensor<?x32xi8>, tensor<?x4xf8E4M3FN>
}

// -----

// Each byte is read at both points of the dim of its two numbers.
// CHECK-LABEL: @from_four_bits(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[P:.*]] = 32, %[[H:.*]] = 2)
// CHECK: norm.read %{{.*}}[%[[M]], %[[P]]] : tensor<?x32xi8>
// CHECK: norm.read %{{.*}}[%[[M]]] : tensor<?xf8E4M3FN>
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M]], %[[P]] * 2 + %[[H]]] : tensor<?x64xf32>
func.func @from_four_bits(%q: tensor<?x32xi8>, %s: tensor<?xf8E4M3FN>) -> tensor<?x64xf32> {
  %y = norm.dequantize %q scale(%s : tensor<?xf8E4M3FN>) {block = array<i64: 1, 0>, e2m1} : tensor<?x32xi8> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Scales of columns of blocks, one after the other.
// CHECK-LABEL: @column_major(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[B:.*]] = 2, %{{.*}} = 32)
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[B]], %[[M]]] : tensor<2x?xf32>
func.func @column_major(%x: tensor<?x64xf32>) -> (tensor<?x64xi8>, tensor<2x?xf32>) {
  %q, %s = norm.quantize %x scale_layout(column_major) {block = array<i64: 1, 32>} : tensor<?x64xf32> -> tensor<?x64xi8> scale(tensor<2x?xf32>)
  return %q, %s : tensor<?x64xi8>, tensor<2x?xf32>
}

// -----

// Scales in tiles of 128 rows and 4 columns, the last of which may have padding.
// CHECK-LABEL: @swizzled(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[B:.*]] = 5, %{{.*}} = 32)
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M]] floordiv 128, %[[B]] floordiv 4, %[[M]] mod 32, (%[[M]] floordiv 32) mod 4, %[[B]] mod 4] {partial} : tensor<?x2x32x4x4xi8>
func.func @swizzled(%x: tensor<?x160xf32>) -> (tensor<?x160xf8E4M3FN>, tensor<?x2x32x4x4xi8>) {
  %q, %s = norm.quantize %x scale_layout(swizzled_128x4) {block = array<i64: 1, 32>}
      : tensor<?x160xf32> -> tensor<?x160xf8E4M3FN> scale(tensor<?x2x32x4x4xi8>)
  return %q, %s : tensor<?x160xf8E4M3FN>, tensor<?x2x32x4x4xi8>
}

// -----

// CHECK-LABEL: @from_swizzled(
// CHECK: space(%[[M:.*]] = dim(%{{.*}}, 0), %[[B:.*]] = 5, %{{.*}} = 32)
// CHECK: norm.read %{{.*}}[%[[M]] floordiv 128, %[[B]] floordiv 4, %[[M]] mod 32, (%[[M]] floordiv 32) mod 4, %[[B]] mod 4] : tensor<?x2x32x4x4xi8>
func.func @from_swizzled(%q: tensor<?x160xf8E4M3FN>, %s: tensor<?x2x32x4x4xi8>) -> tensor<?x160xf32> {
  %y = norm.dequantize %q scale(%s : tensor<?x2x32x4x4xi8>) scale_layout(swizzled_128x4) {block = array<i64: 1, 32>}
      : tensor<?x160xf8E4M3FN> -> tensor<?x160xf32>
  return %y : tensor<?x160xf32>
}
