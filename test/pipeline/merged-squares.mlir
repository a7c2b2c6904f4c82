// A mean and the sum of squares around it are computed in one pass, over two dims that do not merge.
// RUN: norma-sim %s --size b=3 --size c=3 --schedule '#norm.schedule<spread = [[loop], [grid], [loop, register(2), warp(4), lane(32), vector(4)]], keep = [l1], merge_reductions = [loop]>' | FileCheck %s
// RUN: norma-sim %s --size b=3 --size c=3 --fill offset --schedule '#norm.schedule<spread = [[loop], [grid, warp(2)], [loop, register(4)]], keep = [l1], merge_reductions = [loop]>' | FileCheck %s
// CHECK: nothing found under 4 seeds
// CHECK: verify {{ *}}right
func.func @statistics(%x: tensor<?x?x5000xf32> {norm.name = "x"})
    -> (tensor<?xf32> {norm.name = "mean"}, tensor<?xf32> {norm.name = "squares"}) {
  %mean, %squares = norm.compute(%in = %x : tensor<?x?x5000xf32>) -> (%out_mean : tensor<?xf32>, %out : tensor<?xf32>)
      space(%b = dim(%in, 0), %c = dim(%in, 1), %p = 5000) {
    %r = arith.constant 6.6666666e-5 : f32
    %0 = norm.read %in[%b, %c, %p] : tensor<?x?x5000xf32>
    %1 = norm.reduce add %0 over(%b, %p) : f32
    %2 = arith.mulf %1, %r : f32
    %3 = arith.subf %0, %2 : f32
    %4 = arith.mulf %3, %3 : f32
    %5 = norm.reduce add %4 over(%b, %p) : f32
    norm.write %2, %out_mean[%c] : tensor<?xf32>
    norm.write %5, %out[%c] : tensor<?xf32>
  }
  return %mean, %squares : tensor<?xf32>, tensor<?xf32>
}
