// The maximum of softmax on a target whose `redux.sync` takes f32 and on one whose does not, over rows with infinities and NaN. The sum is
// exchanged by shuffles on both.
// RUN: normac %s --target sm_100a --emit=ptx | FileCheck %s --check-prefix=FLOATS
// RUN: normac %s --target sm_90a --emit=ptx | FileCheck %s --check-prefix=SHUFFLES
// RUN: norma-sim %s --target sm_100a --size m=3 --seeds 2 | FileCheck %s
// RUN: norma-sim %s --target sm_100a --size m=3 --fill special --seeds 2 | FileCheck %s
// CHECK: verify {{ *}}right

// FLOATS: redux.sync.max.NaN.f32
// FLOATS: shfl.sync.bfly
// SHUFFLES-NOT: redux.sync
// SHUFFLES: shfl.sync.bfly
func.func @softmax(%x: tensor<?x1024xf32> {norm.name = "x"}) -> (tensor<?x1024xf32> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x1024xf32> -> tensor<?x1024xf32>
  return %y : tensor<?x1024xf32>
}
