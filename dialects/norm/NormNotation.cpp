//===- NormNotation.cpp - replaces notation by what it stands for ----------===//
//
// A mean is a sum times the reciprocal of a known number of points, or divided by a number of points that only a launch knows. Such a
// number is a sum of ones, which later passes need no rules of their own for. A constant that a combiner takes from outside is copied
// into it, because a combiner is moved as it is.
//
//===----------------------------------------------------------------------===//

#include "norm/NormNotation.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::norm;

namespace {

/// Replaces the notation of one body.
class Notation {
public:
  Notation(Block &body, AffineMap extents, std::optional<AffineMap> guards)
      : body(body), extents(extents), guards(guards) {}

  LogicalResult replaceMean(ReduceOp mean) {
    Location loc = mean.getLoc();
    auto type = mean.getValues().size() == 1 ? dyn_cast<FloatType>(mean.getValues().front().getType()) : FloatType();
    if (!type || (!type.isF32() && !type.isF64()))
      return emitError(loc) << "expected one value of f32 or f64 for mean, got " << mean.getValues().getTypes();
    if (mean.getNth())
      return emitError(loc) << "unsupported: nth of a mean";
    if (failed(checkDims(mean, mean.getDims())))
      return failure();
    OpBuilder b(mean);
    Value sum = add(b, loc, mean.getValues().front(), mean.getDims());
    Value result;
    if (std::optional<double> count = knownCount(mean.getDims()))
      result = arith::MulFOp::create(b, loc, sum, number(b, loc, type, 1.0 / *count));
    else
      result = arith::DivFOp::create(b, loc, sum, add(b, loc, number(b, loc, type, 1.0), mean.getDims()));
    mean.getResult(0).replaceAllUsesWith(result);
    mean.erase();
    return success();
  }

  LogicalResult replaceExtent(ExtentOp extent) {
    Location loc = extent.getLoc();
    Value dim = extent.getDim();
    if (failed(checkDims(extent, dim)))
      return failure();
    OpBuilder b(extent);
    Type type = extent.getType();
    Value result;
    if (std::optional<double> count = knownCount(dim)) {
      result = number(b, loc, type, *count);
    } else {
      Type summed = type.isIndex() ? b.getI64Type() : type;
      result = add(b, loc, number(b, loc, summed, 1.0), dim);
      if (summed != type)
        result = arith::IndexCastOp::create(b, loc, type, result);
    }
    extent.replaceAllUsesWith(result);
    extent.erase();
    return success();
  }

private:
  /// Checks that these are dims of the space, and none of a guard, which leaves out some of the dim's points.
  LogicalResult checkDims(Operation *op, ValueRange dims) {
    for (Value dim : dims) {
      std::optional<unsigned> position = positionOf(dim);
      if (!position)
        return emitError(op->getLoc()) << "expected dims of the space, got " << dim;
      if (guards && guards->isFunctionOfDim(*position))
        return emitError(op->getLoc()) << "unsupported: " << (isa<ReduceOp>(op) ? "a mean over" : "the extent of")
                                       << " a dim with a guard, got " << dimName(cast<BlockArgument>(dim));
    }
    return success();
  }

  std::optional<unsigned> positionOf(Value dim) {
    auto argument = dyn_cast<BlockArgument>(dim);
    unsigned first = body.getNumArguments() - extents.getNumResults();
    if (!argument || argument.getOwner() != &body || argument.getArgNumber() < first)
      return std::nullopt;
    return argument.getArgNumber() - first;
  }

  /// The number of points of these dims together, if no size of a buffer decides it.
  std::optional<double> knownCount(ValueRange dims) {
    double count = 1.0;
    for (Value dim : dims) {
      auto extent = dyn_cast<AffineConstantExpr>(extents.getResult(*positionOf(dim)));
      if (!extent)
        return std::nullopt;
      count *= extent.getValue();
    }
    return count;
  }

  static Value add(OpBuilder &b, Location loc, Value value, ValueRange dims) {
    auto kind = ReduceKindAttr::get(b.getContext(), ReduceKind::Add);
    return ReduceOp::create(b, loc, value.getType(), kind, value, dims, /*nth=*/Value(), /*identity=*/ArrayAttr())
        .getResult(0);
  }

  static Value number(OpBuilder &b, Location loc, Type type, double value) {
    TypedAttr attribute;
    if (isa<FloatType>(type))
      attribute = b.getFloatAttr(type, value);
    else
      attribute = b.getIntegerAttr(type, static_cast<int64_t>(value));
    return arith::ConstantOp::create(b, loc, attribute);
  }

  Block &body;
  AffineMap extents;
  std::optional<AffineMap> guards;
};

/// Copies the constants that a combiner takes from the body around it to its start.
void copyConstants(Block &body, Region &combiner) {
  if (combiner.empty())
    return;
  IRMapping copies;
  auto b = OpBuilder::atBlockBegin(&combiner.front());
  combiner.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *definition = operand.get().getDefiningOp();
      if (!definition || definition->getBlock() != &body || !definition->hasTrait<OpTrait::ConstantLike>())
        continue;
      if (!copies.contains(operand.get()))
        b.clone(*definition, copies);
      operand.set(copies.lookup(operand.get()));
    }
  });
}

} // namespace

LogicalResult mlir::norm::replaceNotation(Block &body, AffineMap extents, std::optional<AffineMap> guards) {
  Notation notation(body, extents, guards);
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (auto extent = dyn_cast<ExtentOp>(op)) {
      if (failed(notation.replaceExtent(extent)))
        return failure();
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      copyConstants(body, reduce.getCombiner());
      if (reduce->hasAttr(MEAN) && failed(notation.replaceMean(reduce)))
        return failure();
    }
  }
  return success();
}
