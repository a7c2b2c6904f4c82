//===- NormNormalizationGradVerifiers.cpp - constraints of normalizations' gradients ===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

/// Checks that operands and results with an element for each of `x` have its shape.
template <typename GradOp> static LogicalResult verifyElements(GradOp op) {
  RankedTensorType x = op.getX().getType();
  ArrayRef<int64_t> shape = x.getShape();
  return success(succeeded(verifyShape(op, "dy", op.getDy(), shape, quoted(x))) &&
                 succeeded(verifyShape(op, "residual", op.getResidual(), shape, quoted(x))) &&
                 succeeded(verifyShape(op, "dx", op.getDx(), shape, quoted(x))));
}

/// Checks that a weight, and the gradients of it and of a bias, have the shape of `what`.
template <typename GradOp>
static LogicalResult verifyWeights(GradOp op, ArrayRef<int64_t> shape, const Twine &what) {
  std::string of = what.str();
  return success(succeeded(verifyShape(op, "weight", op.getWeight(), shape, of)) &&
                 succeeded(verifyShape(op, "dweight", op.getDweight(), shape, of)) &&
                 succeeded(verifyShape(op, "dbias", op.getDbias(), shape, of)));
}

/// The constraints of a gradient over axes with a weight, but for its statistics.
template <typename GradOp> static FailureOr<AxisSplit> verifyOverAxes(GradOp op) {
  FailureOr<AxisSplit> axes = splitAxes(op, op.getX(), op.getAxes()); // rms_norm_grad_c1, layer_norm_grad_c1
  if (failed(axes) || failed(verifyElements(op)))                     // rms_norm_grad_c2, layer_norm_grad_c2
    return failure();
  // rms_norm_grad_c3, layer_norm_grad_c3
  if (failed(verifyAffineShape(op, "weight", op.getWeight(), *axes)))
    return failure();
  LogicalResult weights = op.getWeight() ? verifyWeights(op, op.getWeight().getType().getShape(), "weight")
                                         : verifyWeights(op, axes->namedShape, axesOf("normalized", axes->of));
  if (failed(weights))
    return failure();
  if (failed(verifyOffset(op, op.getWeight(), op.getWeightOffset()))) // rms_norm_grad_c5, layer_norm_grad_c5
    return failure();
  // rms_norm_grad_c6, layer_norm_grad_c6, rms_norm_grad_c7, layer_norm_grad_c7
  if (failed(verifyEps(op)))
    return failure();
  if (failed(verifyLengths(op, op.getLengths(), *axes))) // rms_norm_grad_c8, layer_norm_grad_c8
    return failure();
  return axes;
}

LogicalResult RMSNormGradOp::verify() {
  FailureOr<AxisSplit> axes = verifyOverAxes(*this);
  if (failed(axes))
    return failure();
  // rms_norm_grad_c4
  return verifyStatistic(*this, "rstd", getRstd(), axes->otherShape, axesOf("other", axes->of));
}

LogicalResult LayerNormGradOp::verify() {
  FailureOr<AxisSplit> axes = verifyOverAxes(*this);
  if (failed(axes))
    return failure();
  // layer_norm_grad_c4
  return verifyMoments(*this, getMean(), getRstd(), axes->otherShape, axesOf("other", axes->of));
}

LogicalResult L2NormGradOp::verify() {
  FailureOr<AxisSplit> axes = splitAxes(*this, getX(), getAxes()); // l2_norm_grad_c1
  if (failed(axes) || failed(verifyElements(*this)))               // l2_norm_grad_c2
    return failure();
  return verifyEps(*this); // l2_norm_grad_c3, l2_norm_grad_c4
}

LogicalResult GroupNormGradOp::verify() {
  FailureOr<Groups> groups = splitGroups(*this, getX(), getChannelAxis(), getGroups()); // group_norm_grad_c1, group_norm_grad_c2
  if (failed(groups))
    return failure();
  std::string x = quoted(getX().getType());
  if (failed(verifyWeights(*this, {groups->channels}, "the channels of " + x))) // group_norm_grad_c3
    return failure();
  if (failed(verifyElements(*this))) // group_norm_grad_c4
    return failure();
  // group_norm_grad_c5
  if (failed(verifyMoments(*this, getMean(), getRstd(), groups->statisticsShape, "the groups of " + x)))
    return failure();
  return verifyEps(*this); // group_norm_grad_c6, group_norm_grad_c7
}
