// Blocks along rows and along columns come from one read, and the last block of a column may be shorter.
// RUN: normac %s --emit=kernel | FileCheck %s
// RUN: norma-sim %s --size m=64 --seeds 2 | FileCheck %s --check-prefix=RIGHT
// RIGHT: verify {{ *}}right
// RUN: norma-sim %s --size m=40 --seeds 2 | FileCheck %s --check-prefix=PARTIAL
// PARTIAL: m=40, m1=2: nothing found
// PARTIAL: verify {{ *}}right

// CHECK-LABEL: func.func @quantize_both_ways(
// CHECK: norm.launch
// CHECK-NOT: norm.launch
func.func @quantize_both_ways(%x: tensor<?x64xbf16> {norm.name = "x"})
    -> (tensor<?x64xf8E4M3FN> {norm.name = "q"}, tensor<?x2xf32> {norm.name = "scale"},
        tensor<?x64xf8E4M3FN> {norm.name = "q_columns"}, tensor<?x64xf32> {norm.name = "scale_columns"}) {
  %q, %scale = norm.quantize %x {block = array<i64: 1, 32>} : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x2xf32>)
  %q_columns, %scale_columns = norm.quantize %x {block = array<i64: 32, 1>}
      : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x64xf32>)
  return %q, %scale, %q_columns, %scale_columns
      : tensor<?x64xf8E4M3FN>, tensor<?x2xf32>, tensor<?x64xf8E4M3FN>, tensor<?x64xf32>
}
