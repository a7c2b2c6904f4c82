//===- NormSoftmaxVerifiers.cpp - constraints of softmax and its relatives --===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

/// The constraints of an op on logits, but for the shape of its result.
template <typename OpOfLogits> static FailureOr<AxisSplit> verifyLogits(OpOfLogits op) {
  RankedTensorType x = op.getX().getType();
  FailureOr<AxisSplit> axes = splitAxes(op, op.getX(), op.getAxes()); // softmax_c1, log_softmax_c1, logsumexp_c1
  if (failed(axes))
    return failure();
  // softmax_c2, log_softmax_c2, logsumexp_c2
  if (failed(verifyBroadcast(op, "mask", op.getMask(), x)) || failed(verifyBroadcast(op, "keep", op.getKeep(), x)))
    return failure();
  // softmax_c4, log_softmax_c4, logsumexp_c4
  if (failed(verifyFinite(op, "scale", op.getScale())) || failed(verifyNotNegative(op, "softcap", op.getSoftcap())))
    return failure();
  // softmax_c7, log_softmax_c7, logsumexp_c7
  if (failed(verifyInPlace(op, "scale", op.getRuntimeScale(), &OpOfLogits::Properties::scale)) ||
      failed(verifyInPlace(op, "softcap", op.getRuntimeSoftcap(), &OpOfLogits::Properties::softcap)))
    return failure();
  if (failed(verifyLengths(op, op.getLengths(), *axes))) // softmax_c6, log_softmax_c6, logsumexp_c6
    return failure();
  if (op.getCausal().empty())
    return axes;
  // softmax_c5, log_softmax_c5, logsumexp_c5
  SmallVector<std::optional<int64_t>> positions =
      llvm::map_to_vector(op.getCausal(), [&](int64_t axis) { return axisPosition(axis, x.getRank()); });
  if (positions.size() != 2 || !positions[0] || !positions[1] || positions[0] == positions[1])
    return op.emitOpError() << "expected causal to name two axes of " << x << ", got " << op.getCausalAttr();
  return axes;
}

LogicalResult SoftmaxOp::verify() {
  FailureOr<AxisSplit> axes = verifyLogits(*this);
  if (failed(axes))
    return failure();
  return verifyShape(*this, "y", getY(), axes->of.getShape(), quoted(axes->of)); // softmax_c3
}

LogicalResult LogSoftmaxOp::verify() {
  FailureOr<AxisSplit> axes = verifyLogits(*this);
  if (failed(axes))
    return failure();
  return verifyShape(*this, "y", getY(), axes->of.getShape(), quoted(axes->of)); // log_softmax_c3
}

LogicalResult LogSumExpOp::verify() {
  FailureOr<AxisSplit> axes = verifyLogits(*this);
  if (failed(axes))
    return failure();
  return verifyShape(*this, "y", getY(), axes->otherShape, axesOf("other", axes->of)); // logsumexp_c3
}
