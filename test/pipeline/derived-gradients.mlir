// A derived gradient has as many kernels as the named one, scheduled alike but for the warps of a row: one walk over the rows,
// both inputs of which come through a ring, and a finish of the sums over rows.
// RUN: normac %s --emit=scheduled --target sm_90a | FileCheck %s

// CHECK-LABEL: norm.kernel @rms_named_0(
// CHECK-SAME: schedule([[RMS:#norm.schedule<spread = .*]], keep = [shared, shared, none, none, none], [[RMS_RING:bring = bulk, .*]]>)
// CHECK: norm.kernel @rms_named_0_finish(
// CHECK-SAME: schedule([[RMS_FINISH:#norm.schedule<.*>]]) attributes
func.func @rms_named(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"},
    %dy: tensor<?x4096xbf16> {norm.name = "dy"}) -> (tensor<?x4096xbf16> {norm.name = "dx"}, tensor<4096xbf16> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x4096xbf16>) weight(%w : tensor<4096xbf16>)
             : tensor<?x4096xbf16> -> tensor<?x4096xbf16> dweight(tensor<4096xbf16>)
  return %dx, %dw : tensor<?x4096xbf16>, tensor<4096xbf16>
}

// The derived gradient takes its arguments in another order.
// CHECK-LABEL: norm.kernel @rms_grad_0(
// CHECK-SAME: schedule([[RMS]], keep = [shared, none, shared, none, none], [[RMS_RING]]>)
// CHECK: norm.kernel @rms_grad_0_finish(
// CHECK-SAME: schedule([[RMS_FINISH]]) attributes
// CHECK-NOT: norm.kernel @rms_grad_1
func.func @rms(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"})
    -> (tensor<?x4096xbf16> {norm.name = "y"}) attributes {norm.gradient = ["x", "w"]} {
  %y = norm.rms_norm %x weight(%w : tensor<4096xbf16>) : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// CHECK-LABEL: norm.kernel @layer_named_0(
// CHECK-SAME: schedule([[LAYER:#norm.schedule<spread = .*]], keep = [shared, shared, none, none, none, none], [[LAYER_RING:bring = bulk, .*]]>)
// CHECK: norm.kernel @layer_named_0_finish(
// CHECK-SAME: schedule([[LAYER_FINISH:#norm.schedule<.*>]]) attributes
func.func @layer_named(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"},
    %dy: tensor<?x4096xbf16> {norm.name = "dy"})
    -> (tensor<?x4096xbf16> {norm.name = "dx"}, tensor<4096xbf16> {norm.name = "dw"}, tensor<4096xbf16> {norm.name = "db"}) {
  %dx, %dw, %db = norm.layer_norm_grad %x dy(%dy : tensor<?x4096xbf16>) weight(%w : tensor<4096xbf16>)
                  : tensor<?x4096xbf16> -> tensor<?x4096xbf16> dweight(tensor<4096xbf16>) dbias(tensor<4096xbf16>)
  return %dx, %dw, %db : tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>
}

// CHECK-LABEL: norm.kernel @layer_grad_0(
// CHECK-SAME: schedule(#norm.schedule<spread = {{\[\[}}loop], [grid], [register(2), warp(8), lane(32), vector(8)]], keep = [shared, none, shared, none, none, none], [[LAYER_RING]]>)
// CHECK: norm.kernel @layer_grad_0_finish(
// CHECK-SAME: schedule([[LAYER_FINISH]]) attributes
func.func @layer(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"}, %b: tensor<4096xbf16> {norm.name = "b"})
    -> (tensor<?x4096xbf16> {norm.name = "y"}) attributes {norm.gradient = ["x", "w", "b"]} {
  %y = norm.layer_norm %x weight(%w : tensor<4096xbf16>) bias(%b : tensor<4096xbf16>) : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
