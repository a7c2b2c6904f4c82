//===- NormAffineRanges.h - values of affine expressions ---------*- C++ -*-===//
//
// Simple facts about the values of an expression over dims, sizes and numbers: an interval that contains them, and whether they are
// all integers from zero up to some number. Dims count from zero to an extent, which is an expression over sizes. Sizes are the
// first symbols, and never negative; numbers that a launch passes are the symbols behind them, and may be anything.
//
//===----------------------------------------------------------------------===//

#ifndef NORMA_DIALECTS_NORM_NORMAFFINERANGES_H
#define NORMA_DIALECTS_NORM_NORMAFFINERANGES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/Support/LLVM.h"

#include <optional>

namespace mlir::norm {

/// The least and the greatest value of an expression, over sizes and numbers.
struct Range {
  AffineExpr least, greatest;
};

/// An upper bound of the factors that flattening the expression into a sum makes; none where it does not fit 64 bits.
std::optional<int64_t> largestFactor(AffineExpr expression);

/// The first constant divisor of a quotient or remainder in the map that is not positive; none if all of them are. What is computed of
/// the values of expressions takes divisors to be positive.
std::optional<int64_t> nonPositiveDivisor(AffineMap map);

/// An interval that contains the values of the expression, provided that each of its dims has a point; exact if each dim is used
/// once and no `mod` wraps a range of its own.
Range rangeOf(AffineExpr expression, ArrayRef<AffineExpr> extents);

/// Whether the terms of an expression over symbols, of which the first `numSizes` are sizes, show that it is never negative. An
/// expression may be never negative although this is false.
bool isNeverNegative(AffineExpr expression, unsigned numSizes, unsigned numSymbols);

/// Adds the absolute factor and the dim of each term of a sum of multiples of dims. Returns false if the expression is no such sum.
bool collectTerms(AffineExpr expression, SmallVectorImpl<std::pair<int64_t, unsigned>> &terms);

/// Returns the number of values of each coordinate, if these are all integers from zero on, and each is taken at one point of dims
/// that no other coordinate uses: the points of the dims then reach each element of a box exactly once. Such a coordinate is a
/// mixed-radix number whose digits are dims, each with a factor that is the number of values of the digits below it. Returns none
/// for other coordinates, and possibly for such ones.
std::optional<SmallVector<AffineExpr>> boxOf(ArrayRef<AffineExpr> coordinates, ArrayRef<AffineExpr> extents);

} // namespace mlir::norm

#endif // NORMA_DIALECTS_NORM_NORMAFFINERANGES_H
