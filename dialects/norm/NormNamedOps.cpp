//===- NormNamedOps.cpp - what the verifiers of named ops share -------------===//
//
// C++ because verifiers are.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::norm;

std::optional<int64_t> mlir::norm::axisPosition(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<AxisSplit> mlir::norm::splitAxes(Operation *op, TypedValue<RankedTensorType> x, ArrayRef<int64_t> axes) {
  RankedTensorType type = x.getType();
  int64_t rank = type.getRank();
  llvm::SmallBitVector isNamed(rank);
  if (axes.empty())
    return op->emitOpError("expected at least one axis");
  for (int64_t axis : axes) {
    std::optional<int64_t> position = axisPosition(axis, rank);
    if (!position)
      return op->emitOpError() << "expected axes between " << -rank << " and " << rank - 1 << ", got " << axis;
    if (isNamed.test(*position))
      return op->emitOpError() << "expected each axis once, got " << axis << " again";
    isNamed.set(*position);
  }
  AxisSplit split{type, {}, {}};
  for (auto [axis, size] : llvm::enumerate(type.getShape()))
    (isNamed.test(axis) ? split.namedShape : split.otherShape).push_back(size);
  return split;
}

LogicalResult mlir::norm::verifyShape(Operation *op, StringRef name, Value value, ArrayRef<int64_t> shape,
                                      const Twine &what) {
  if (!value || cast<RankedTensorType>(value.getType()).getShape() == shape)
    return success();
  return op->emitOpError() << "expected " << name << " to have the shape of " << what << ", got " << value.getType();
}

/// The type that the op computes in.
static Type arithmeticType(Operation *op) {
  auto isF64 = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
  bool isWide = llvm::any_of(op->getOperandTypes(), isF64) || llvm::any_of(op->getResultTypes(), isF64);
  return isWide ? Type(Float64Type::get(op->getContext())) : Type(Float32Type::get(op->getContext()));
}

LogicalResult mlir::norm::verifyStatistic(Operation *op, StringRef name, Value value, ArrayRef<int64_t> shape,
                                          const Twine &what) {
  if (!value)
    return success();
  Type element = arithmeticType(op);
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element && type.getShape() == shape)
    return success();
  return op->emitOpError() << "expected " << name << " to be " << element << " with the shape of " << what << ", got "
                           << type;
}

LogicalResult mlir::norm::verifyBroadcast(Operation *op, StringRef name, Value value, RankedTensorType to) {
  if (!value)
    return success();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  bool fits = shape.size() <= to.getShape().size();
  if (fits)
    for (auto [size, wanted] : llvm::zip_equal(shape, to.getShape().take_back(shape.size())))
      fits &= size == 1 || size == wanted;
  if (fits)
    return success();
  return op->emitOpError() << "expected " << name << " to broadcast to " << to << ", got " << value.getType();
}

LogicalResult mlir::norm::verifyLengths(Operation *op, Value lengths, const AxisSplit &axes) {
  if (lengths && axes.namedShape.size() != 1)
    return op->emitOpError() << "expected lengths of rows along one axis, got " << axes.namedShape.size() << " axes";
  return verifyShape(op, "lengths", lengths, axes.otherShape, axesOf("other", axes.of));
}

FailureOr<Groups> mlir::norm::splitGroups(Operation *op, TypedValue<RankedTensorType> x, int64_t channelAxis,
                                          int64_t groups) {
  RankedTensorType type = x.getType();
  std::optional<int64_t> axis = axisPosition(channelAxis, type.getRank());
  if (!axis || *axis == 0)
    return op->emitOpError() << "expected channel_axis to be an axis of " << type << " but the first, got "
                             << channelAxis;
  int64_t channels = type.getDimSize(*axis);
  if (ShapedType::isDynamic(channels) || groups < 1 || channels < 1 || channels % groups != 0)
    return op->emitOpError() << "expected a static number of channels above 0 that groups divide, got " << groups
                             << " groups in " << type;
  return Groups{channels, {type.getDimSize(0), groups}};
}

LogicalResult mlir::norm::verifyMoments(Operation *op, Value mean, Value rstd, ArrayRef<int64_t> shape,
                                        const Twine &what) {
  if (!mean != !rstd)
    return op->emitOpError() << "expected both mean and rstd or neither";
  std::string of = what.str();
  if (failed(verifyStatistic(op, "mean", mean, shape, of)))
    return failure();
  return verifyStatistic(op, "rstd", rstd, shape, of);
}

LogicalResult mlir::norm::verifyOffset(Operation *op, Value weight, const APFloat &offset) {
  if (weight || offset.isZero())
    return success();
  return op->emitOpError() << "expected weight_offset to be 0 without a weight, got " << offset.convertToFloat();
}

LogicalResult mlir::norm::verifyFinite(Operation *op, StringRef name, const APFloat &value) {
  if (value.isFinite())
    return success();
  return op->emitOpError() << "expected " << name << " to be finite, got " << value.convertToFloat();
}

LogicalResult mlir::norm::verifyNotNegative(Operation *op, StringRef name, const APFloat &value) {
  if (value.isFinite() && !value.isNegative())
    return success();
  return op->emitOpError() << "expected " << name << " to be finite and not negative, got " << value.convertToFloat();
}

std::string mlir::norm::quoted(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << "'" << type << "'";
  return text;
}

std::string mlir::norm::axesOf(StringRef which, Type type) {
  return (Twine("the ") + which + " axes of " + quoted(type)).str();
}
