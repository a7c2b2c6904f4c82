// Walks over rows that begin anywhere: the rows of a CTA are eight apart, so that what all rows share is read as the words around each vector
// once, in front of the walk, and extended from 16 bits in each step. A step loads the next row before it computes.
// RUN: normac %s --schedule '#norm.schedule<spread = [[loop, grid(2), grid(8)], [register(4), warp(2), lane(32), vector(8)]], stages = 2, aligned_dim = 1>' --emit=gl-lowered | FileCheck %s
// CHECK-LABEL: gpu.func @walked_0
// CHECK-DAG:   gl.load %arg1 {{.*}} vector 8 alignment 2 :
// CHECK-DAG:   gl.load %arg2 {{.*}} vector 8 alignment 2 :
// CHECK:       scf.for
// CHECK:       gl.load %arg0 {{.*}} vector 8 alignment 16 :
// CHECK:       gl.optimization_barrier
// CHECK-NOT:   gl.load %arg1
// CHECK:       gl.store
// CHECK:       gpu.return

// Fewer rows than CTAs, as many as some have twice, and rows of all alignments.
// RUN: norma-sim %s --size m=1 --schedule '#norm.schedule<spread = [[loop, grid(2), grid(8)], [register(4), warp(2), lane(32), vector(8)]], stages = 2, aligned_dim = 1>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --size m=37 --fill special --schedule '#norm.schedule<spread = [[loop, grid(2), grid(8)], [register(4), warp(2), lane(32), vector(8)]], stages = 2, aligned_dim = 1>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --size m=50 --fill offset --schedule '#norm.schedule<spread = [[loop, grid(2), grid(8)], [register(4), warp(2), lane(32), vector(8)]], stages = 2, aligned_dim = 1>' | FileCheck %s --check-prefix=RIGHT
// RIGHT: verify {{ *}}right

// The same rows by pairs of CTAs, through rings, to which whole 16 bytes are copied.
// RUN: norma-sim %s --size m=1 --schedule '#norm.schedule<spread = [[loop, grid(1), grid(8)], [register(2), cluster(2), warp(2), lane(32), vector(8)]], keep = [shared, none, none, none], bring = bulk, stages = 3, producer_warps = 1, aligned_dim = 1>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --size m=37 --fill special --schedule '#norm.schedule<spread = [[loop, grid(1), grid(8)], [register(2), cluster(2), warp(2), lane(32), vector(8)]], keep = [shared, none, none, none], bring = bulk, stages = 3, producer_warps = 1, aligned_dim = 1>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --size m=50 --fill offset --schedule '#norm.schedule<spread = [[loop, grid(1), grid(8)], [register(2), cluster(2), warp(2), lane(32), vector(8)]], keep = [shared, none, none, none], bring = bulk, stages = 3, producer_warps = 1, aligned_dim = 1>' | FileCheck %s --check-prefix=RIGHT
func.func @walked(%x: tensor<?x1003xbf16>, %w: tensor<1003xbf16>, %b: tensor<1003xbf16>) -> tensor<?x1003xbf16> {
  %y = norm.layer_norm %x weight(%w : tensor<1003xbf16>) bias(%b : tensor<1003xbf16>) : tensor<?x1003xbf16> -> tensor<?x1003xbf16>
  return %y : tensor<?x1003xbf16>
}
