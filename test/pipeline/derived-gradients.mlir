// A gradient that is derived is as many kernels as the one that has a name: one walk over the rows, which come through a ring, and a
// finish of the weight's sums.
// RUN: normac %s --emit=scheduled --target sm_90a | FileCheck %s

// CHECK-LABEL: norm.kernel @rms_named_0(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop], [grid], {{.*}} bring = bulk, stages = 3
// CHECK: norm.kernel @rms_named_0_finish(
func.func @rms_named(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"},
    %dy: tensor<?x4096xbf16> {norm.name = "dy"}) -> (tensor<?x4096xbf16> {norm.name = "dx"}, tensor<4096xbf16> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x4096xbf16>) weight(%w : tensor<4096xbf16>)
             : tensor<?x4096xbf16> -> tensor<?x4096xbf16> dweight(tensor<4096xbf16>)
  return %dx, %dw : tensor<?x4096xbf16>, tensor<4096xbf16>
}

// CHECK-LABEL: norm.kernel @rms_grad_0(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop], [grid], {{.*}} bring = bulk, stages = {{[36]}}
// CHECK: norm.kernel @rms_grad_0_finish(
// CHECK-NOT: norm.kernel @rms_grad_1
func.func @rms(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"})
    -> (tensor<?x4096xbf16> {norm.name = "y"}) attributes {norm.gradient = ["x", "w"]} {
  %y = norm.rms_norm %x weight(%w : tensor<4096xbf16>) : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
