//===- NormSoftmaxGradVerifiers.cpp - constraints of gradients on logits ------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

/// Checks the constraints of a gradient that is a function of the op's own result.
template <typename GradOp> static LogicalResult verifyOfResult(GradOp op) {
  RankedTensorType y = op.getY().getType();
  FailureOr<AxisSplit> axes = splitAxes(op, op.getY(), op.getAxes()); // softmax_grad_c1, log_softmax_grad_c1
  if (failed(axes))
    return failure();
  // softmax_grad_c2, log_softmax_grad_c2
  if (failed(verifyShape(op, "dy", op.getDy(), y.getShape(), quoted(y))) ||
      failed(verifyShape(op, "dx", op.getDx(), y.getShape(), quoted(y))))
    return failure();
  if (failed(verifyFinite(op, "scale", op.getScale()))) // softmax_grad_c3, log_softmax_grad_c3
    return failure();
  // softmax_grad_c4, log_softmax_grad_c4
  if (failed(verifyInPlace(op, "scale", op.getRuntimeScale(), &GradOp::Properties::scale)))
    return failure();
  return verifyLengths(op, op.getLengths(), *axes); // softmax_grad_c5, log_softmax_grad_c5
}

LogicalResult SoftmaxGradOp::verify() { return verifyOfResult(*this); }

LogicalResult LogSoftmaxGradOp::verify() { return verifyOfResult(*this); }
