//===- NormQuantizationVerifiers.cpp - constraints of quantization ----------===//
//
// One check per numbered constraint of the op's description; the comment beside a check names it, and a test of that
// name breaks it. What ODS verifies is not verified again.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNamedOps.h"

using namespace mlir;
using namespace mlir::norm;

/// The shape of the scales of a tensor, one for each block; fails where `block` is not one of its blocks.
static FailureOr<SmallVector<int64_t>> shapeOfBlocks(Operation *op, RankedTensorType of, ArrayRef<int64_t> block) {
  SmallVector<int64_t> shape;
  if (block.empty())
    return shape;
  if (int64_t(block.size()) != of.getRank())
    return op->emitOpError() << "expected block to have a number for each axis of " << of << ", got " << block.size();
  for (auto [size, extent] : llvm::zip_equal(block, of.getShape())) {
    if (size < 0)
      return op->emitOpError() << "expected block not to be negative, got " << size;
    if (size > 1 && (ShapedType::isDynamic(extent) || extent % size != 0))
      return op->emitOpError() << "expected blocks of " << size << " to divide a static extent of " << of;
    if (size > 0)
      shape.push_back(size == 1 ? extent : extent / size);
  }
  return shape;
}

LogicalResult QuantizeOp::verify() {
  RankedTensorType x = getX().getType();
  FailureOr<SmallVector<int64_t>> shape = shapeOfBlocks(*this, x, getBlock()); // quantize_c1
  if (failed(shape) || failed(verifyShape(*this, "q", getQ(), x.getShape(), quoted(x)))) // quantize_c2
    return failure();
  if (!getStaticScale() == !getScale()) // quantize_c3
    return emitOpError() << "expected either static_scale or the result scale";
  // quantize_c4
  std::string blocks = "the blocks of " + quoted(x);
  if (failed(verifyShape(*this, "static_scale", getStaticScale(), *shape, blocks)) ||
      failed(verifyShape(*this, "scale", getScale(), *shape, blocks)) ||
      failed(verifyShape(*this, "amax", getAmax(), *shape, blocks)))
    return failure();
  if (getPowerOfTwo() && !(getScale() && getScale().getType().getElementType().isF32())) // quantize_c5
    return emitOpError() << "expected power_of_two with a scale of f32 alone";
  if (getRoundDown() && !(getScale() && (getPowerOfTwo() || !getScale().getType().getElementType().isF32()))) // quantize_c6
    return emitOpError() << "expected round_down with a scale that is a power of two";
  return success();
}

LogicalResult DequantizeOp::verify() {
  RankedTensorType q = getQ().getType();
  FailureOr<SmallVector<int64_t>> shape = shapeOfBlocks(*this, q, getBlock()); // dequantize_c1
  if (failed(shape) || failed(verifyShape(*this, "y", getY(), q.getShape(), quoted(q)))) // dequantize_c2
    return failure();
  return verifyShape(*this, "scale", getScale(), *shape, "the blocks of " + quoted(q)); // dequantize_c3
}
