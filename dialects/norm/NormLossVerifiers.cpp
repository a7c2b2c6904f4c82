//===- NormLossVerifiers.cpp - constraints of losses ------------------------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

LogicalResult CrossEntropyOp::verify() {
  FailureOr<AxisSplit> axes = splitAxes(*this, getLogits(), {int64_t(getAxis())}); // cross_entropy_c1
  if (failed(axes))
    return failure();
  std::string others = axesOf("other", axes->of);
  if (failed(verifyShape(*this, "labels", getLabels(), axes->otherShape, others))) // cross_entropy_c2
    return failure();
  // cross_entropy_c3
  if (failed(verifyShape(*this, "weight", getWeight(), axes->namedShape, "the classes of " + quoted(axes->of))))
    return failure();
  // cross_entropy_c4
  if (failed(verifyShape(*this, "loss", getLoss(), axes->otherShape, others)) ||
      failed(verifyShape(*this, "lse", getLse(), axes->otherShape, others)))
    return failure();
  // cross_entropy_c5
  if (failed(verifyShape(*this, "dlogits", getDlogits(), axes->of.getShape(), quoted(axes->of))))
    return failure();
  // cross_entropy_c6
  APFloat smoothing = getLabelSmoothing();
  if (!smoothing.isFinite() || smoothing.isNegative() || smoothing > APFloat(1.0f))
    return emitOpError() << "expected label_smoothing between 0 and 1, got " << smoothing.convertToFloat();
  if (failed(verifyNotNegative(*this, "z_loss", getZLoss())))
    return failure();
  return verifyNotNegative(*this, "softcap", getSoftcap());
}
