// Reductions of named ops are merged where a schedule asks for it: a row passes once for all of them, and results stay right.
// RUN: normac %s --emit=tiled --schedule '#norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(4)]], keep = [l1], merge_reductions = [loop]>' | FileCheck %s
// RUN: norma-sim %s --function softmax --size m=3 --fill special --schedule '#norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(4)]], keep = [l1], merge_reductions = [loop]>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function layer_norm --size m=3 --fill offset --schedule '#norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(4)]], keep = [l1], merge_reductions = [loop]>' | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function cross_entropy --size m=3 --fill large --schedule '#norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(4)]], keep = [l1], merge_reductions = [loop]>' | FileCheck %s --check-prefix=RIGHT
// RIGHT: nothing found under 4 seeds
// RIGHT: verify {{ *}}right

// CHECK-LABEL: norm.kernel @softmax_0
// CHECK: norm.reduce {{.*}} identity [0xFF800000 : f32, 0.000000e+00 : f32] : f32, f32 combine
func.func @softmax(%x: tensor<?x3001xf32> {norm.name = "x"}) -> (tensor<?x3001xf32> {norm.name = "y"}) {
  %y = norm.softmax %x {scale = 0.5 : f32} : tensor<?x3001xf32> -> tensor<?x3001xf32>
  return %y : tensor<?x3001xf32>
}

// CHECK-LABEL: norm.kernel @layer_norm_0
// CHECK: norm.reduce {{.*}} combine
func.func @layer_norm(%x: tensor<?x3001xf32> {norm.name = "x"}) -> (tensor<?x3001xf32> {norm.name = "y"}) {
  %y = norm.layer_norm %x : tensor<?x3001xf32> -> tensor<?x3001xf32>
  return %y : tensor<?x3001xf32>
}

// The label's logit is picked in the same pass.
// CHECK-LABEL: norm.kernel @cross_entropy_0
// CHECK: norm.reduce {{.*}} identity [0xFF800000 : f32, 0.000000e+00 : f32] : f32, f32 combine
func.func @cross_entropy(%x: tensor<?x3001xf32> {norm.name = "x"}, %l: tensor<?xi64> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}) {
  %loss = norm.cross_entropy %x labels(%l : tensor<?xi64>) {label_smoothing = 0.125 : f32, z_loss = 0.0625 : f32}
          : tensor<?x3001xf32> -> tensor<?xf32>
  return %loss : tensor<?xf32>
}

// With rows of dynamic length, the mean waits for the number of elements, which is a reduction too; the squares need not wait.
// RUN: norma-sim %s --function dynamic_layer_norm --size m=3 --size n=776 --fill offset --schedule '#norm.schedule<spread = [[grid], [loop, register(2), warp(4), lane(32), vector(4)]], keep = [l1], merge_reductions = [loop]>' | FileCheck %s --check-prefix=RIGHT
// CHECK-LABEL: norm.kernel @dynamic_layer_norm_0
// CHECK: norm.reduce {{.*}} combine
func.func @dynamic_layer_norm(%x: tensor<?x?xf32> {norm.name = "x", norm.sizes = ["m", "n"], norm.multiples = array<i64: 1, 4>})
    -> (tensor<?x?xf32> {norm.name = "y"}) {
  %y = norm.layer_norm %x : tensor<?x?xf32> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
