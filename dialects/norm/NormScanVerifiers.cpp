//===- NormScanVerifiers.cpp - constraints of scans along an axis -------------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

LogicalResult CumsumOp::verify() {
  FailureOr<AxisSplit> axes = splitAxes(*this, getX(), {static_cast<int64_t>(getAxis())}); // cumsum_c1
  if (failed(axes))
    return failure();
  if (failed(verifyShape(*this, "y", getY(), axes->of.getShape(), quoted(axes->of)))) // cumsum_c2
    return failure();
  Type x = axes->of.getElementType(), y = getY().getType().getElementType();
  // cumsum_c3
  if (isa<FloatType>(x) && !isa<FloatType>(y))
    return emitOpError() << "expected y of a float, got " << y;
  if (isa<IntegerType>(x) && (!isa<IntegerType>(y) || y.getIntOrFloatBitWidth() < x.getIntOrFloatBitWidth()))
    return emitOpError() << "expected y of an integer no narrower than that of x, got " << y;
  return success();
}
