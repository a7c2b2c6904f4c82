// Warps exchange the partial results of neighbouring columns through shared memory without bank conflicts: each access takes as many
// wavefronts as its bytes need.
// RUN: norma-sim %s --schedule "spread = [[grid], [register(4), warp(8)], [grid, lane(32), vector(8)]]" --traffic --seeds 1 | FileCheck %s
// CHECK-COUNT-18: shared, {{[0-9]+}} warp accesses, [[WAVEFRONTS:[0-9]+]] wavefronts where [[WAVEFRONTS]] would do
// CHECK-NOT: shared,
// CHECK: verify {{ *}}right
func.func @quantize_columns(%x: tensor<64x512xbf16> {norm.name = "x"})
    -> (tensor<64x512xf8E4M3FN> {norm.name = "q"}, tensor<2x512xf8E8M0FNU> {norm.name = "scale"}) {
  %q, %scale = norm.quantize %x {block = array<i64: 32, 1>}
      : tensor<64x512xbf16> -> tensor<64x512xf8E4M3FN> scale(tensor<2x512xf8E8M0FNU>)
  return %q, %scale : tensor<64x512xf8E4M3FN>, tensor<2x512xf8E8M0FNU>
}
