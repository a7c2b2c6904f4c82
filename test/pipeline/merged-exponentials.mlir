// Merged reductions compute what the program says, even if steps, threads or whole rows have only infinite elements.
// RUN: norma-sim %s --size m=3 --schedule '#norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(4)]], keep = [l1], merge_reductions = [loop]>' | FileCheck %s
// RUN: norma-sim %s --size m=3 --fill special --schedule '#norm.schedule<spread = [[grid, warp(2)], [loop, warp(2), lane(32)]], keep = [l2], merge_reductions = [loop]>' | FileCheck %s
// RUN: norma-sim %s --size m=3 --fill large --schedule '#norm.schedule<spread = [[grid], [loop, register(4)]], keep = [none], merge_reductions = [loop]>' | FileCheck %s
// CHECK: nothing found under 4 seeds
// CHECK: verify {{ *}}right

// Rows start with at least 2900 elements of -inf, and are all -inf where the length is 101 or more.
func.func @masked_softmax(%x: tensor<?x3001xf32> {norm.name = "x"}, %length: tensor<?xi32> {norm.name = "length"})
    -> (tensor<?x3001xf32> {norm.name = "y"}, tensor<?xf32> {norm.name = "max"}) {
  %y, %max = norm.compute(%in = %x : tensor<?x3001xf32>, %l = %length : tensor<?xi32>)
      -> (%out : tensor<?x3001xf32>, %out_max : tensor<?xf32>) space(%m = dim(%in, 0), %n = 3001) {
    %none = arith.constant 0xFF800000 : f32
    %start = arith.constant 2900 : i32
    %0 = norm.read %in[%m, %n] : tensor<?x3001xf32>
    %1 = norm.read %l[%m] : tensor<?xi32>
    %2 = arith.addi %1, %start : i32
    %3 = arith.index_cast %n : index to i32
    %4 = arith.cmpi sgt, %3, %2 : i32
    %5 = arith.select %4, %0, %none : f32
    %6 = norm.reduce max %5 over(%n) : f32
    %7 = arith.subf %5, %6 : f32
    %8 = math.exp %7 : f32
    %9 = norm.reduce add %8 over(%n) : f32
    %10 = arith.divf %8, %9 : f32
    norm.write %10, %out[%m, %n] : tensor<?x3001xf32>
    norm.write %6, %out_max[%m] : tensor<?xf32>
  }
  return %y, %max : tensor<?x3001xf32>, tensor<?xf32>
}
