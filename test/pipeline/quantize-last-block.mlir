// The last block of an axis may be shorter: it has a scale of its own, and a guard keeps what is read and written within the tensors.
// RUN: normac %s --emit=kernel | FileCheck %s
// RUN: norma-sim %s --function columns --size m=3 --seeds 2 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function squares --size m=130 --size n=100 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function squares --size m=256 --size n=128 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function squares --size m=0 --size n=5 --seeds 1
// RUN: norma-sim %s --function back --size m=130 --size n=100 --size scales=2 --size scale_columns=1 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function of_a_norm --size m=3 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function of_batches --size b=2 --size m=3 --size n=70 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function columns --size m=3 --seeds 1 --schedule 'columns_0=#norm.schedule<spread = [[grid], [warp(8)], [lane(16), vector(8)]], keep = [shared, none, none], bring = bulk>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function columns --size m=3 --seeds 1 --schedule 'columns_0=#norm.schedule<spread = [[loop, grid(2)], [register(8)], [lane(32), vector(4)]], keep = [shared, none, none], bring = tensor, stages = 2>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function columns --size m=3 --seeds 1 --schedule 'columns_0=#norm.schedule<spread = [[grid], [loop], [lane(32), vector(4)]], keep = [shared, none, none], bring = cp_async>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function long_rows --size m=2 --seeds 1 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function long_rows --size m=2 --seeds 1 --schedule 'long_rows_0=#norm.schedule<spread = [[grid], [grid, register(8)], [register(4), lane(32)]], keep = [shared, shared, register]>' | FileCheck %s --check-prefix=RIGHT
// RIGHT: verify {{ *}}right

// With a guard that leaves the last block whole, it reaches into the next row, and behind the last row out of the tensor.
// RUN: normac %s --emit=tiled | FileCheck %s --check-prefix=TILED
// RUN: normac %s --emit=tiled | sed 's/ < 576/ < 640/' > %t.mlir
// RUN: not norma-sim %t.mlir --oracle %s --function columns --size m=3 --seeds 1 2>&1 | FileCheck %s --check-prefix=DROPPED
// RUN: not norma-sim %t.mlir --oracle %s --function of_a_norm --size m=3 --seeds 1 2>&1 | FileCheck %s --check-prefix=DROPPED
// TILED-LABEL: norm.kernel @columns_0(
// TILED-SAME: < 576
// TILED-LABEL: norm.kernel @of_a_norm_0(
// TILED-SAME: < 576
// DROPPED: error: out-of-bounds access

// Promised whole, the blocks need no guard.
// RUN: normac %s --emit=kernel | FileCheck %s --check-prefix=PROMISED
// PROMISED-LABEL: norm.kernel @promised_0(
// PROMISED-SAME: floordiv 32, %{{[a-z0-9]+}} = 32, %{{[a-z0-9]+}} = 64) align(

// CHECK-LABEL: norm.kernel @columns_0(
// CHECK-SAME: where({{.*}} < 576)
func.func @columns(%x: tensor<?x576xbf16> {norm.name = "x"})
    -> (tensor<?x576xf8E4M3FN> {norm.name = "q"}, tensor<?x5xf32> {norm.name = "scale"}) {
  %q, %s = norm.quantize %x {block = array<i64: 1, 128>} : tensor<?x576xbf16> -> tensor<?x576xf8E4M3FN> scale(tensor<?x5xf32>)
  return %q, %s : tensor<?x576xf8E4M3FN>, tensor<?x5xf32>
}

// CHECK-LABEL: norm.kernel @squares_0(
func.func @squares(%x: tensor<?x?xbf16> {norm.name = "x", norm.sizes = ["m", "n"]})
    -> (tensor<?x?xf8E4M3FN> {norm.name = "q"}, tensor<?x?xf32> {norm.name = "scale"}) {
  %q, %s = norm.quantize %x {block = array<i64: 128, 128>} : tensor<?x?xbf16> -> tensor<?x?xf8E4M3FN> scale(tensor<?x?xf32>)
  return %q, %s : tensor<?x?xf8E4M3FN>, tensor<?x?xf32>
}

// CHECK-LABEL: norm.kernel @back_0(
func.func @back(%q: tensor<?x?xf8E4M3FN> {norm.name = "q", norm.sizes = ["m", "n"]},
                %s: tensor<?x?xf32> {norm.name = "scale", norm.sizes = ["scales", "scale_columns"]}) -> (tensor<?x?xbf16> {norm.name = "y"}) {
  %y = norm.dequantize %q scale(%s : tensor<?x?xf32>) {block = array<i64: 128, 128>} : tensor<?x?xf8E4M3FN> -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}

// A norm and the quantization of its result are one kernel.
// CHECK-LABEL: norm.kernel @of_a_norm_0(
// CHECK-NOT: @of_a_norm_1
func.func @of_a_norm(%x: tensor<?x576xbf16> {norm.name = "x"}, %w: tensor<576xbf16> {norm.name = "w"})
    -> (tensor<?x576xf8E4M3FN> {norm.name = "q"}, tensor<?x5xf32> {norm.name = "scale"}) {
  %y = norm.rms_norm %x weight(%w : tensor<576xbf16>) {eps = 1.0e-6 : f32} : tensor<?x576xbf16> -> tensor<?x576xbf16>
  %q, %s = norm.quantize %y {block = array<i64: 1, 128>} : tensor<?x576xbf16> -> tensor<?x576xf8E4M3FN> scale(tensor<?x5xf32>)
  return %q, %s : tensor<?x576xf8E4M3FN>, tensor<?x5xf32>
}

// The axes before the blocks are one.
// CHECK-LABEL: norm.kernel @of_batches_0(
// CHECK-SAME: space(%{{[a-z0-9]+}} = dim(%{{[a-z0-9]+}}, 0), %{{[a-z0-9]+}} = dim(%{{[a-z0-9]+}}, 1) ceildiv 32, %{{[a-z0-9]+}} = 32)
func.func @of_batches(%x: tensor<?x?x?xbf16> {norm.name = "x", norm.sizes = ["b", "m", "n"]})
    -> (tensor<?x?x?xf8E4M3FN> {norm.name = "q"}, tensor<?x?x?xi8> {norm.name = "scale"}) {
  %q, %s = norm.quantize %x {block = array<i64: 1, 1, 32>} : tensor<?x?x?xbf16> -> tensor<?x?x?xf8E4M3FN> scale(tensor<?x?x?xi8>)
  return %q, %s : tensor<?x?x?xf8E4M3FN>, tensor<?x?x?xi8>
}

func.func @promised(%x: tensor<?x64xbf16> {norm.name = "x", norm.multiples = array<i64: 32, 1>})
    -> (tensor<?x64xf8E4M3FN> {norm.name = "q"}, tensor<?x64xi8> {norm.name = "scale"}) {
  %q, %s = norm.quantize %x {block = array<i64: 32, 1>} : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x64xi8>)
  return %q, %s : tensor<?x64xf8E4M3FN>, tensor<?x64xi8>
}

// Blocks that a CTA accesses as one run of memory, which ends within the last one.
func.func @long_rows(%x: tensor<?x4097xbf16> {norm.name = "x"})
    -> (tensor<?x4097xf8E4M3FN> {norm.name = "q"}, tensor<?x33xf32> {norm.name = "scale"}) {
  %q, %s = norm.quantize %x {block = array<i64: 1, 128>} : tensor<?x4097xbf16> -> tensor<?x4097xf8E4M3FN> scale(tensor<?x33xf32>)
  return %q, %s : tensor<?x4097xf8E4M3FN>, tensor<?x33xf32>
}
