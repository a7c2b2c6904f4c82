//===- NormQuantizationVerifiers.cpp - constraints of quantization ----------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::norm;

/// Returns the shape of a tensor's scales, one for each block, the last of which along an axis may be shorter; fails if `block` is not
/// the size of one.
static FailureOr<SmallVector<int64_t>> shapeOfBlocks(Operation *op, RankedTensorType of, ArrayRef<int64_t> block) {
  SmallVector<int64_t> shape;
  if (block.empty())
    return shape;
  if (int64_t(block.size()) != of.getRank())
    return op->emitOpError() << "expected block to have a number for each axis of " << of << ", got " << block.size();
  for (auto [size, extent] : llvm::zip_equal(block, of.getShape())) {
    if (size < 0)
      return op->emitOpError() << "expected block not to be negative, got " << size;
    if (size > 0)
      shape.push_back(ShapedType::isDynamic(extent) ? extent : llvm::divideCeil(extent, size));
  }
  return shape;
}

/// Checks that each element of `packed` can hold two neighbours along the last axis of a tensor of shape `shape` in blocks of `block`.
static LogicalResult verifyPacking(Operation *op, RankedTensorType packed, ArrayRef<int64_t> shape,
                                   ArrayRef<int64_t> block) {
  if (!packed.getElementType().isInteger(8))
    return op->emitOpError() << "expected e2m1 with a q of i8, got " << packed;
  if (shape.empty() || ShapedType::isDynamic(shape.back()) || shape.back() % 2 != 0)
    return op->emitOpError() << "expected e2m1 with a last axis of a static, even extent, got a q of " << packed;
  if (block.size() == shape.size() && block.back() % 2 != 0)
    return op->emitOpError() << "expected e2m1 with blocks of an even extent along the last axis, got " << block.back();
  return success();
}

/// Checks the factor on the scales of all blocks. An absent one is fine.
static LogicalResult verifyTensorScale(Operation *op, Value tensorScale, Value scale) {
  if (tensorScale && !(scale && isa<Float8E4M3FNType>(getElementTypeOrSelf(scale))))
    return op->emitOpError() << "expected tensor_scale with a scale of f8E4M3FN alone";
  return verifyShape(op, "tensor_scale", tensorScale, {}, "one number");
}

/// Checks the shape of scales in a layout; `shape` is that of the blocks. Absent scales are fine.
static LogicalResult verifyScales(Operation *op, Value scale, ScaleLayout layout, SmallVector<int64_t> shape,
                                  std::string what) {
  if (scale && layout != ScaleLayout::Linear) {
    auto tiles = [](int64_t extent, int64_t ofTile) -> int64_t {
      return ShapedType::isDynamic(extent) ? extent : llvm::divideCeil(extent, ofTile);
    };
    int64_t columns = shape.pop_back_val(), rows = shape.pop_back_val();
    if (layout == ScaleLayout::ColumnMajor)
      shape.append({columns, rows});
    else
      shape.append({tiles(rows, 128), tiles(columns, 4), 32, 4, 4});
    what += ", " + stringifyScaleLayout(layout).str();
  }
  return verifyShape(op, "scale", scale, shape, what);
}

/// Checks that scales of blocks along `rank` axes can have a layout.
static LogicalResult verifyLayout(Operation *op, Value scale, ScaleLayout layout, size_t rank) {
  if (layout == ScaleLayout::Linear)
    return success();
  if (!scale || rank < 2)
    return op->emitOpError() << "expected scale_layout " << stringifyScaleLayout(layout)
                             << " with a scale of blocks along at least two axes";
  if (layout == ScaleLayout::Swizzled128x4 && getElementTypeOrSelf(scale).getIntOrFloatBitWidth() != 8)
    return op->emitOpError() << "expected scale_layout swizzled_128x4 with a scale of 8 bits, got " << scale.getType();
  return success();
}

/// Whether scales of that type are always powers of two.
static bool isPowerOfTwo(Type scale) { return isa<Float8E8M0FNUType, IntegerType>(scale); }

LogicalResult QuantizeOp::verify() {
  RankedTensorType x = getX().getType();
  FailureOr<SmallVector<int64_t>> shape = shapeOfBlocks(*this, x, getBlock()); // quantize_c1
  if (failed(shape))
    return failure();
  if (getE2m1() && failed(verifyPacking(*this, getQ().getType(), x.getShape(), getBlock()))) // quantize_c7
    return failure();
  SmallVector<int64_t> ofCodes(x.getShape());
  if (getE2m1())
    ofCodes.back() /= 2;
  std::string what = quoted(x) + (getE2m1() ? " packed" : "");
  if (failed(verifyShape(*this, "q", getQ(), ofCodes, what))) // quantize_c2
    return failure();
  if (!getStaticScale() == !getScale()) // quantize_c3
    return emitOpError() << "expected either static_scale or the result scale";
  if (failed(verifyLayout(*this, getScale(), getScaleLayout(), shape->size()))) // quantize_c9
    return failure();
  // quantize_c4
  std::string blocks = "the blocks of " + quoted(x);
  if (failed(verifyShape(*this, "static_scale", getStaticScale(), *shape, blocks)) ||
      failed(verifyScales(*this, getScale(), getScaleLayout(), *shape, blocks)) ||
      failed(verifyShape(*this, "amax", getAmax(), *shape, blocks)))
    return failure();
  Type scale = getScale() ? getScale().getType().getElementType() : Type();
  if (getPowerOfTwo() && !(scale && scale.isF32())) // quantize_c5
    return emitOpError() << "expected power_of_two with a scale of f32 alone";
  if (getRoundDown() && !(scale && (getPowerOfTwo() || isPowerOfTwo(scale)))) // quantize_c6
    return emitOpError() << "expected round_down with a scale that is a power of two";
  return verifyTensorScale(*this, getTensorScale(), getScale()); // quantize_c8
}

LogicalResult DequantizeOp::verify() {
  RankedTensorType q = getQ().getType(), y = getY().getType();
  SmallVector<int64_t> ofNumbers(q.getShape());
  if (getE2m1()) {
    if (!ofNumbers.empty() && !ShapedType::isDynamic(ofNumbers.back()))
      ofNumbers.back() *= 2;
    if (failed(verifyPacking(*this, q, ofNumbers, getBlock()))) // dequantize_c4
      return failure();
  }
  std::string what = quoted(q) + (getE2m1() ? " unpacked" : "");
  if (failed(verifyShape(*this, "y", getY(), ofNumbers, what))) // dequantize_c2
    return failure();
  FailureOr<SmallVector<int64_t>> shape = shapeOfBlocks(*this, y, getBlock()); // dequantize_c1
  if (failed(shape) || failed(verifyLayout(*this, getScale(), getScaleLayout(), shape->size()))) // dequantize_c6
    return failure();
  if (failed(verifyScales(*this, getScale(), getScaleLayout(), *shape, "the blocks of " + quoted(y)))) // dequantize_c3
    return failure();
  return verifyTensorScale(*this, getTensorScale(), getScale()); // dequantize_c5
}
