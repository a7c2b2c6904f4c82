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
  if (axes.empty())
    return op->emitOpError("expected at least one axis");
  return splitAnyAxes(op, x, axes);
}

FailureOr<AxisSplit> mlir::norm::splitAnyAxes(Operation *op, TypedValue<RankedTensorType> x, ArrayRef<int64_t> axes) {
  RankedTensorType type = x.getType();
  int64_t rank = type.getRank();
  if (rank == 0 && !axes.empty())
    return op->emitOpError() << "expected a tensor with axes, got " << type;
  llvm::SmallBitVector isNamed(rank);
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

/// Whether a shape broadcasts to `to` by NumPy's rules.
static bool broadcasts(ArrayRef<int64_t> shape, ArrayRef<int64_t> to) {
  if (shape.size() > to.size())
    return false;
  return llvm::all_of(llvm::zip_equal(shape, to.take_back(shape.size())), [](auto sizes) {
    auto [size, wanted] = sizes;
    return size == 1 || size == wanted;
  });
}

LogicalResult mlir::norm::verifyBroadcast(Operation *op, StringRef name, Value value, RankedTensorType to) {
  if (!value || broadcasts(cast<RankedTensorType>(value.getType()).getShape(), to.getShape()))
    return success();
  return op->emitOpError() << "expected " << name << " to broadcast to " << to << ", got " << value.getType();
}

LogicalResult mlir::norm::verifyAffineShape(Operation *op, StringRef name, Value value, const AxisSplit &axes) {
  if (!value)
    return success();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  if (shape == ArrayRef(axes.namedShape) || broadcasts(shape, axes.of.getShape()))
    return success();
  return op->emitOpError() << "expected " << name << " to have the shape of " << axesOf("normalized", axes.of)
                           << " or to broadcast to it, got " << value.getType();
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
  if (!axis)
    return op->emitOpError() << "expected channel_axis to be an axis of " << type << ", got " << channelAxis;
  int64_t channels = type.getDimSize(*axis);
  bool divides = groups == 1 || (!ShapedType::isDynamic(channels) && groups > 1 && channels % groups == 0);
  if (!divides || channels == 0) {
    InFlightDiagnostic error = op->emitOpError();
    error << "expected one group, or groups that divide a static number of channels above 0, got " << groups
          << " groups in " << type;
    if (ShapedType::isDynamic(channels) && groups > 1)
      error.attachNote()
          << "groups of a dynamic size are an axis of their own, with norm.layer_norm over the axes behind it";
    return error;
  }
  if (*axis == 0)
    return Groups{channels, {groups}};
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

LogicalResult mlir::norm::verifyInPlace(Operation *op, StringRef name, Value number, bool hasDefault) {
  if (!number || hasDefault)
    return success();
  return op->emitOpError() << "expected " << name << " either as an attribute or as an operand, got both";
}

std::string mlir::norm::quoted(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << "'" << type << "'";
  return text;
}

std::string mlir::norm::axesOf(StringRef which, Type type) {
  return (Twine("the ") + which + " axes of " + quoted(type)).str();
}
