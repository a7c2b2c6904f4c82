//===- NormReductionVerifiers.cpp - constraints of reductions over axes -----===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::norm;

/// The expected element type of `y`, for messages.
static StringRef expectedResult(AxisReduction kind, Type x) {
  switch (kind) {
  case AxisReduction::Argmax:
  case AxisReduction::Argmin:
    return "i32 or i64";
  case AxisReduction::Any:
  case AxisReduction::All:
    return "i1 or i8";
  default:
    return isa<FloatType>(x) ? "a float" : "an integer no narrower than that of x";
  }
}

static bool isExpectedResult(AxisReduction kind, Type x, Type y) {
  switch (kind) {
  case AxisReduction::Argmax:
  case AxisReduction::Argmin:
    return y.isInteger(32) || y.isInteger(64);
  case AxisReduction::Any:
  case AxisReduction::All:
    return y.isInteger(1) || y.isInteger(8);
  default:
    return isa<FloatType>(x) ? isa<FloatType>(y)
                             : isa<IntegerType>(y) && y.getIntOrFloatBitWidth() >= x.getIntOrFloatBitWidth();
  }
}

static bool takesTruths(AxisReduction kind) { return kind == AxisReduction::Any || kind == AxisReduction::All; }

static bool takesFloats(AxisReduction kind) {
  return kind == AxisReduction::Mean || kind == AxisReduction::SumSq || kind == AxisReduction::Norm ||
         kind == AxisReduction::Var;
}

LogicalResult ReduceAxesOp::verify() {
  AxisReduction kind = getKind();
  StringRef name = stringifyAxisReduction(kind);
  FailureOr<AxisSplit> axes = splitAnyAxes(*this, getX(), getAxes()); // reduce_axes_c1
  if (failed(axes))
    return failure();
  // reduce_axes_c2
  SmallVector<int64_t> shape = axes->otherShape;
  std::string what = axesOf("other", axes->of);
  if (getKeepdims()) {
    shape.assign(axes->of.getShape().begin(), axes->of.getShape().end());
    for (int64_t axis : getAxes())
      shape[*axisPosition(axis, axes->of.getRank())] = 1;
    what = quoted(axes->of) + " with 1 for the named axes";
  }
  if (failed(verifyShape(*this, "y", getY(), shape, what)) || failed(verifyShape(*this, "mean", getMean(), shape, what)))
    return failure();
  Type x = axes->of.getElementType(), y = getY().getType().getElementType();
  // What x may be is checked before what y may be: for another x no y would do.
  if (takesFloats(kind) && !isa<FloatType>(x)) // reduce_axes_c4
    return emitOpError() << "expected " << name << " of floats, got " << x;
  if (x.isInteger(1) && !takesTruths(kind)) // reduce_axes_c4
    return emitOpError() << "expected any or all of i1, got " << name;
  if (!isExpectedResult(kind, x, y)) // reduce_axes_c3
    return emitOpError() << "expected y of " << name << " to be " << expectedResult(kind, x) << ", got " << y;
  // reduce_axes_c5
  bool isPlace = kind == AxisReduction::Argmax || kind == AxisReduction::Argmin;
  uint64_t elements = 1;
  for (int64_t axis : getAxes()) {
    int64_t extent = axes->of.getDimSize(*axisPosition(axis, axes->of.getRank()));
    if (!ShapedType::isDynamic(extent))
      elements = llvm::SaturatingMultiply<uint64_t>(elements, extent);
  }
  if (isPlace && y.isInteger(32) && elements > uint64_t(std::numeric_limits<int32_t>::max()))
    return emitOpError() << "expected y of " << name << " of 2^31 elements or more to be i64, got " << y;
  // reduce_axes_c6
  int64_t correction = getCorrection();
  if (kind != AxisReduction::Var && (getMean() || correction != 0))
    return emitOpError() << "expected mean and correction with var alone, got them with " << name;
  if (correction < 0)
    return emitOpError() << "expected correction not to be negative, got " << correction;
  return success();
}

LogicalResult TopKOp::verify() {
  RankedTensorType x = getX().getType();
  std::optional<int64_t> axis = axisPosition(getAxis(), x.getRank());
  if (!axis) // top_k_c1
    return emitOpError() << "expected axis to be one of " << x << ", got " << int64_t(getAxis());
  // top_k_c2
  int64_t k = getK(), extent = x.getDimSize(*axis);
  if (k < 1 || k > 128 || (!ShapedType::isDynamic(extent) && k > extent))
    return emitOpError() << "expected k between 1 and 128, and no more than there are elements, got " << k;
  if (extent > std::numeric_limits<int32_t>::max())
    return emitOpError() << "expected less than 2^31 elements along axis, got " << extent;
  // top_k_c3
  SmallVector<int64_t> shape(x.getShape());
  shape[*axis] = k;
  std::string what = quoted(x) + " with k elements along axis";
  if (failed(verifyShape(*this, "values", getValues(), shape, what)) ||
      failed(verifyShape(*this, "indices", getIndices(), shape, what)))
    return failure();
  if (getValues().getType().getElementType() != x.getElementType()) // top_k_c4
    return emitOpError() << "expected values of " << x.getElementType() << ", got "
                         << getValues().getType().getElementType();
  return success();
}

LogicalResult TopKGradOp::verify() {
  RankedTensorType dvalues = getDvalues().getType();
  std::optional<int64_t> axis = axisPosition(getAxis(), dvalues.getRank());
  if (!axis) // top_k_grad_c1
    return emitOpError() << "expected axis to be one of " << dvalues << ", got " << int64_t(getAxis());
  int64_t elements = getElements();
  if (elements < 1 || elements > std::numeric_limits<int32_t>::max()) // top_k_grad_c2
    return emitOpError() << "expected elements between 1 and 2^31 - 1, got " << elements;
  // top_k_grad_c3
  SmallVector<int64_t> shape(dvalues.getShape());
  if (failed(verifyShape(*this, "indices", getIndices(), shape, quoted(dvalues))))
    return failure();
  shape[*axis] = elements;
  return verifyShape(*this, "dx", getDx(), shape, quoted(dvalues) + " with as many elements along axis as elements says");
}
