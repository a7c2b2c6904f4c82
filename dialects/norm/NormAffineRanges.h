//===- NormAffineRanges.h - values of affine expressions ---------*- C++ -*-===//
//
// What is plain of the values that an expression over dims, sizes and numbers takes: between what they lie, and whether they are
// all of those up to some number. Dims count from zero to an extent, which is an expression over sizes. Sizes are the first
// symbols, and never negative; numbers that a launch passes are the symbols behind them, and may be anything.
//
//===----------------------------------------------------------------------===//

#ifndef NORMA_DIALECTS_NORM_NORMAFFINERANGES_H
#define NORMA_DIALECTS_NORM_NORMAFFINERANGES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/Support/LLVM.h"

#include <optional>

namespace mlir::norm {

/// The least and the greatest value of an expression, over sizes and numbers.
struct Range {
  AffineExpr least, greatest;
};

/// An upper bound of the factors that flattening the expression into a sum makes; none where it does not fit 64 bits.
std::optional<int64_t> largestFactor(AffineExpr expression);

/// Between what the expression lies while each of its dims has a point; exact if each dim is used once and no `mod` wraps
/// a range of its own.
Range rangeOf(AffineExpr expression, ArrayRef<AffineExpr> extents);

/// Whether an expression over symbols, of which the first `numSizes` are sizes, has no value below zero, as far as its terms say: it
/// may have none, too, where this is false.
bool isNeverNegative(AffineExpr expression, unsigned numSizes, unsigned numSymbols);

/// Adds the factor, without its sign, and the dim of each term of a sum of multiples of dims. False where it is no such sum.
bool collectTerms(AffineExpr expression, SmallVectorImpl<std::pair<int64_t, unsigned>> &terms);

/// How many values each coordinate takes, if these are all from zero on, each at one point of dims that no other coordinate
/// uses: then the points of the dims reach each element of a box once. Such a coordinate is a number whose digits are dims,
/// each with the factor that the digits below it count up to. None for other coordinates, and maybe for such ones.
std::optional<SmallVector<AffineExpr>> boxOf(ArrayRef<AffineExpr> coordinates, ArrayRef<AffineExpr> extents);

} // namespace mlir::norm

#endif // NORMA_DIALECTS_NORM_NORMAFFINERANGES_H
