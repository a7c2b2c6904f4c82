//===- NormNamedOps.h - what the verifiers of named ops share ----*- C++ -*-===//
//
// C++ because verifiers are. Each check here is called under the comment of the constraint that it checks.
//
//===----------------------------------------------------------------------===//

#ifndef NORMA_DIALECTS_NORM_NORMNAMEDOPS_H
#define NORMA_DIALECTS_NORM_NORMNAMEDOPS_H

#include "norm/NormDialect.h"

namespace mlir::norm {

/// The axes of a tensor, divided into those that an op names and the others, each ascending.
struct AxisSplit {
  RankedTensorType of;
  SmallVector<int64_t> namedShape, otherShape;
};

/// The position of an axis, where a negative one counts from the end; nothing if there is no such axis.
std::optional<int64_t> axisPosition(int64_t axis, int64_t rank);

/// Divides the axes of `x`; fails where `axes` are none, not of `x`, or not distinct.
FailureOr<AxisSplit> splitAxes(Operation *op, TypedValue<RankedTensorType> x, ArrayRef<int64_t> axes);

/// As `splitAxes`, for an op for which `axes` may be none.
FailureOr<AxisSplit> splitAnyAxes(Operation *op, TypedValue<RankedTensorType> x, ArrayRef<int64_t> axes);

/// Checks that an operand or result has this shape, which a message calls the shape of `what`. An absent value is fine.
LogicalResult verifyShape(Operation *op, StringRef name, Value value, ArrayRef<int64_t> shape, const Twine &what);

/// Checks that a result has the type of the arithmetic and this shape, which a message calls the shape of `what`. An absent value
/// is fine.
LogicalResult verifyStatistic(Operation *op, StringRef name, Value value, ArrayRef<int64_t> shape, const Twine &what);

/// Checks that an operand broadcasts to `to` by NumPy's rules. An absent value is fine.
LogicalResult verifyBroadcast(Operation *op, StringRef name, Value value, RankedTensorType to);

/// Checks that a weight or bias has the shape of the named axes, or else broadcasts. An absent value is fine.
LogicalResult verifyAffineShape(Operation *op, StringRef name, Value value, const AxisSplit &axes);

/// Checks that lengths have the shape of the other axes, and that rows lie along one axis. Absent lengths are fine.
LogicalResult verifyLengths(Operation *op, Value lengths, const AxisSplit &axes);

/// The channels of a tensor, divided into groups.
struct Groups {
  int64_t channels;
  /// An axis of the batch, unless the channels lie along the first axis, and one of groups.
  SmallVector<int64_t> statisticsShape;
};

/// Divides the channels of `x`; fails where `channelAxis` is no axis, or `groups` do not divide a static number of channels and
/// are not one.
FailureOr<Groups> splitGroups(Operation *op, TypedValue<RankedTensorType> x, int64_t channelAxis, int64_t groups);

/// Checks that a mean and the reciprocal of a standard deviation are both there or neither, and statistics of the shape of `what`.
LogicalResult verifyMoments(Operation *op, Value mean, Value rstd, ArrayRef<int64_t> shape, const Twine &what);

/// Checks that what is added to a weight is 0 where there is no weight.
LogicalResult verifyOffset(Operation *op, Value weight, const APFloat &offset);

/// Checks that an attribute is finite.
LogicalResult verifyFinite(Operation *op, StringRef name, const APFloat &value);

/// Checks that an attribute is finite and not negative.
LogicalResult verifyNotNegative(Operation *op, StringRef name, const APFloat &value);

/// Checks that an attribute `name`, if a number takes its place at run time, `hasDefault`.
LogicalResult verifyInPlace(Operation *op, StringRef name, Value number, bool hasDefault);

/// Checks that an attribute of the op has its default if a number takes its place at run time.
template <typename NamedOp, typename Member>
LogicalResult verifyInPlace(NamedOp op, StringRef name, Value number, Member NamedOp::Properties::*attribute) {
  typename NamedOp::Properties defaults;
  NamedOp::populateDefaultProperties(op->getName(), defaults);
  return verifyInPlace(op.getOperation(), name, number, op.getProperties().*attribute == defaults.*attribute);
}

/// Checks the constraints of `eps` and of the number that takes its place at run time.
template <typename NamedOp> LogicalResult verifyEps(NamedOp op) {
  if (failed(verifyNotNegative(op, "eps", op.getEps())))
    return failure();
  return verifyInPlace(op, "eps", op.getRuntimeEps(), &NamedOp::Properties::eps);
}

/// The type in quotes, for messages.
std::string quoted(Type type);

/// `the other axes of '<type>'`, say.
std::string axesOf(StringRef which, Type type);

} // namespace mlir::norm

#endif // NORMA_DIALECTS_NORM_NORMNAMEDOPS_H
