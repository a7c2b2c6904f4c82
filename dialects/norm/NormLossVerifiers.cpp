//===- NormLossVerifiers.cpp - constraints of losses and their gradients ----===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

/// The constraints of logits, labels and weights.
template <typename LossOp> static FailureOr<AxisSplit> verifyClasses(LossOp op) {
  // cross_entropy_c1, cross_entropy_grad_c1
  FailureOr<AxisSplit> axes = splitAxes(op, op.getLogits(), {int64_t(op.getAxis())});
  if (failed(axes))
    return failure();
  // cross_entropy_c2, cross_entropy_grad_c2
  if (failed(verifyShape(op, "labels", op.getLabels(), axes->otherShape, axesOf("other", axes->of))))
    return failure();
  // cross_entropy_c3, cross_entropy_grad_c3
  if (failed(verifyShape(op, "weight", op.getWeight(), axes->namedShape, "the classes of " + quoted(axes->of))))
    return failure();
  // cross_entropy_c5, cross_entropy_grad_c4
  if (failed(verifyShape(op, "dlogits", op.getDlogits(), axes->of.getShape(), quoted(axes->of))))
    return failure();
  // cross_entropy_c6, cross_entropy_grad_c5
  APFloat smoothing = op.getLabelSmoothing();
  if (!smoothing.isFinite() || smoothing.isNegative() || smoothing > APFloat(1.0f))
    return op.emitOpError() << "expected label_smoothing between 0 and 1, got " << smoothing.convertToFloat();
  if (failed(verifyNotNegative(op, "z_loss", op.getZLoss())) ||
      failed(verifyNotNegative(op, "softcap", op.getSoftcap())))
    return failure();
  // cross_entropy_c8, cross_entropy_grad_c6
  using Properties = typename LossOp::Properties;
  if (failed(verifyInPlace(op, "label_smoothing", op.getRuntimeLabelSmoothing(), &Properties::label_smoothing)) ||
      failed(verifyInPlace(op, "z_loss", op.getRuntimeZLoss(), &Properties::z_loss)) ||
      failed(verifyInPlace(op, "softcap", op.getRuntimeSoftcap(), &Properties::softcap)))
    return failure();
  return axes;
}

LogicalResult CrossEntropyOp::verify() {
  FailureOr<AxisSplit> axes = verifyClasses(*this);
  if (failed(axes))
    return failure();
  // cross_entropy_c4
  std::string others = axesOf("other", axes->of);
  if (failed(verifyShape(*this, "lse", getLse(), axes->otherShape, others)) ||
      failed(verifyShape(*this, "row_weight", getRowWeight(), axes->otherShape, others)))
    return failure();
  if (getReduction() == LossReduction::None)
    return verifyShape(*this, "loss", getLoss(), axes->otherShape, others);
  return verifyShape(*this, "loss", getLoss(), {}, "a number, which a reduction leaves"); // cross_entropy_c7
}

LogicalResult CrossEntropyGradOp::verify() {
  FailureOr<AxisSplit> axes = verifyClasses(*this);
  if (failed(axes))
    return failure();
  // cross_entropy_grad_c2
  std::string others = axesOf("other", axes->of);
  bool isOneForAll = getDloss().getType().getRank() == 0;
  if (!isOneForAll && failed(verifyShape(*this, "dloss", getDloss(), axes->otherShape, others)))
    return failure();
  return verifyShape(*this, "lse", getLse(), axes->otherShape, others);
}
