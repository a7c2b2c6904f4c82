//===- NormNormalizationVerifiers.cpp - constraints of normalizations --------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

/// Checks the constraints of the weight and bias that an op applies to normalized elements.
template <typename NormalizationOp>
static LogicalResult verifyAffine(NormalizationOp op, const AxisSplit &axes) {
  // rms_norm_c2, layer_norm_c2
  if (failed(verifyAffineShape(op, "weight", op.getWeight(), axes)) ||
      failed(verifyAffineShape(op, "bias", op.getBias(), axes)))
    return failure();
  if (failed(verifyLengths(op, op.getLengths(), axes))) // rms_norm_c7, layer_norm_c7
    return failure();
  return verifyOffset(op, op.getWeight(), op.getWeightOffset()); // rms_norm_c5, layer_norm_c5
}

LogicalResult RMSNormOp::verify() {
  FailureOr<AxisSplit> axes = splitAxes(*this, getX(), getAxes()); // rms_norm_c1
  if (failed(axes) || failed(verifyAffine(*this, *axes)))
    return failure();
  if (failed(verifyShape(*this, "y", getY(), axes->of.getShape(), quoted(axes->of)))) // rms_norm_c3
    return failure();
  // rms_norm_c4
  if (failed(verifyStatistic(*this, "rstd", getRstd(), axes->otherShape, axesOf("other", axes->of))))
    return failure();
  return verifyEps(*this); // rms_norm_c6, rms_norm_c8
}

LogicalResult LayerNormOp::verify() {
  FailureOr<AxisSplit> axes = splitAxes(*this, getX(), getAxes()); // layer_norm_c1
  if (failed(axes) || failed(verifyAffine(*this, *axes)))
    return failure();
  if (failed(verifyShape(*this, "y", getY(), axes->of.getShape(), quoted(axes->of)))) // layer_norm_c3
    return failure();
  // layer_norm_c4
  if (failed(verifyMoments(*this, getMean(), getRstd(), axes->otherShape, axesOf("other", axes->of))))
    return failure();
  return verifyEps(*this); // layer_norm_c6, layer_norm_c8
}

LogicalResult L2NormOp::verify() {
  FailureOr<AxisSplit> axes = splitAxes(*this, getX(), getAxes()); // l2_norm_c1
  if (failed(axes) ||
      failed(verifyShape(*this, "y", getY(), axes->of.getShape(), quoted(axes->of)))) // l2_norm_c2
    return failure();
  // l2_norm_c3
  if (failed(verifyStatistic(*this, "inverse", getInverse(), axes->otherShape, axesOf("other", axes->of))))
    return failure();
  return verifyEps(*this); // l2_norm_c4, l2_norm_c5
}
