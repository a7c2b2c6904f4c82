//===- NormAffineRanges.cpp - values of affine expressions -------------------===//

#include "norm/NormAffineRanges.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::norm;

std::optional<int64_t> mlir::norm::largestFactor(AffineExpr expression) {
  if (auto literal = dyn_cast<AffineConstantExpr>(expression)) {
    if (literal.getValue() == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    return std::max<int64_t>(std::abs(literal.getValue()), 1);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return 1;
  std::optional<int64_t> lhs = largestFactor(binary.getLHS()), rhs = largestFactor(binary.getRHS());
  int64_t factor;
  if (!lhs || !rhs ||
      (binary.getKind() == AffineExprKind::Add ? llvm::AddOverflow(*lhs, *rhs, factor)
                                               : llvm::MulOverflow(*lhs, *rhs, factor)))
    return std::nullopt;
  return factor;
}

std::optional<int64_t> mlir::norm::nonPositiveDivisor(AffineMap map) {
  std::optional<int64_t> found;
  map.walkExprs([&](AffineExpr expression) {
    AffineExprKind kind = expression.getKind();
    if (kind != AffineExprKind::FloorDiv && kind != AffineExprKind::CeilDiv && kind != AffineExprKind::Mod)
      return;
    auto divisor = dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(expression).getRHS());
    if (divisor && divisor.getValue() <= 0 && !found)
      found = divisor.getValue();
  });
  return found;
}

Range mlir::norm::rangeOf(AffineExpr expression, ArrayRef<AffineExpr> extents) {
  auto constant = [&](int64_t value) { return getAffineConstantExpr(value, expression.getContext()); };
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return {constant(0), extents[dim.getPosition()] - 1};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return {expression, expression};
  Range lhs = rangeOf(binary.getLHS(), extents);
  if (expression.getKind() == AffineExprKind::Add) {
    Range rhs = rangeOf(binary.getRHS(), extents);
    return {lhs.least + rhs.least, lhs.greatest + rhs.greatest};
  }
  // An affine expression has a constant on the right of everything else.
  AffineExpr rhs = binary.getRHS();
  int64_t factor = cast<AffineConstantExpr>(rhs).getValue();
  switch (expression.getKind()) {
  case AffineExprKind::Mul:
    return factor < 0 ? Range{lhs.greatest * rhs, lhs.least * rhs} : Range{lhs.least * rhs, lhs.greatest * rhs};
  case AffineExprKind::FloorDiv:
    return {lhs.least.floorDiv(rhs), lhs.greatest.floorDiv(rhs)};
  case AffineExprKind::CeilDiv:
    return {lhs.least.ceilDiv(rhs), lhs.greatest.ceilDiv(rhs)};
  default:
    if (lhs.least.floorDiv(rhs) == lhs.greatest.floorDiv(rhs) && isa<AffineConstantExpr>(lhs.least.floorDiv(rhs)))
      return {lhs.least % rhs, lhs.greatest % rhs};
    return {constant(0), constant(factor - 1)};
  }
}

static bool hasNoNegativeTerm(AffineExpr expression, unsigned numSizes) {
  if (auto literal = dyn_cast<AffineConstantExpr>(expression))
    return literal.getValue() >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary) {
    auto symbol = dyn_cast<AffineSymbolExpr>(expression);
    return symbol && symbol.getPosition() < numSizes;
  }
  bool isSumOrProduct = binary.getKind() == AffineExprKind::Add || binary.getKind() == AffineExprKind::Mul;
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!isSumOrProduct && (!divisor || divisor.getValue() <= 0))
    return false;
  return binary.getKind() == AffineExprKind::Mod ||
         (hasNoNegativeTerm(binary.getLHS(), numSizes) && hasNoNegativeTerm(binary.getRHS(), numSizes));
}

bool mlir::norm::isNeverNegative(AffineExpr expression, unsigned numSizes, unsigned numSymbols) {
  return largestFactor(expression) &&
         hasNoNegativeTerm(simplifyAffineExpr(expression, /*numDims=*/0, numSymbols), numSizes);
}

bool mlir::norm::collectTerms(AffineExpr expression, SmallVectorImpl<std::pair<int64_t, unsigned>> &terms) {
  if (isa<AffineConstantExpr>(expression))
    return true;
  if (auto dim = dyn_cast<AffineDimExpr>(expression)) {
    terms.push_back({1, dim.getPosition()});
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return collectTerms(binary.getLHS(), terms) && collectTerms(binary.getRHS(), terms);
  auto dim = dyn_cast<AffineDimExpr>(binary.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !dim || !factor)
    return false;
  terms.push_back({std::abs(factor.getValue()), dim.getPosition()});
  return true;
}

std::optional<SmallVector<AffineExpr>> mlir::norm::boxOf(ArrayRef<AffineExpr> coordinates,
                                                         ArrayRef<AffineExpr> extents) {
  SmallVector<AffineExpr> box;
  llvm::SmallBitVector used(extents.size());
  for (AffineExpr coordinate : coordinates) {
    auto constant = [&](int64_t value) { return getAffineConstantExpr(value, coordinate.getContext()); };
    SmallVector<std::pair<int64_t, unsigned>> terms;
    // A digit that counts down takes the same values, as long as they begin at zero.
    if (rangeOf(coordinate, extents).least != constant(0) || !collectTerms(coordinate, terms))
      return std::nullopt;
    llvm::sort(terms);
    AffineExpr count = constant(1);
    for (auto [factor, dim] : terms) {
      if (used.test(dim) || count != constant(factor))
        return std::nullopt;
      used.set(dim);
      count = count * extents[dim];
    }
    box.push_back(count);
  }
  return box;
}
