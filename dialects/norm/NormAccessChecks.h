//===- NormAccessChecks.h - what accesses do to their buffers ----*- C++ -*-===//
//
// C++ because the proofs need MLIR's Presburger library, which its C API does not have.
//
//===----------------------------------------------------------------------===//

#ifndef NORMA_DIALECTS_NORM_NORMACCESSCHECKS_H
#define NORMA_DIALECTS_NORM_NORMACCESSCHECKS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"

namespace mlir::norm {

/// What the sizes and numbers of a launch must satisfy: `lhs == rhs` or `lhs >= rhs`, over symbols.
struct Condition {
  AffineExpr lhs, rhs;
  bool isEquality;
};

/// Conditions, and what each symbol of them stands for.
struct Conditions {
  /// Stands in place of an axis where the symbol is a number that the launch passes.
  static constexpr int64_t NUMBER = -1;

  SmallVector<Condition> all;
  /// What each symbol is, by arguments of the block: first the sizes, as (buffer, axis), and behind them the numbers of type
  /// `index`, as (number, NUMBER).
  SmallVector<std::pair<int64_t, int64_t>> symbols;
};

/// Marks a kernel with guards that a split of a reduction has left: it was checked before the split.
inline constexpr StringRef PART = "norm.part";

/// Checks every access of a norm.compute or an untiled norm.kernel that is no part of one, whose other constraints hold: accesses
/// stay in bounds, and every element of an output is written once. Errors are emitted at the access; what depends on dynamic
/// sizes or on numbers is in the result. Fails for another op too.
FailureOr<Conditions> conditionsOf(Operation *op);

} // namespace mlir::norm

#endif // NORMA_DIALECTS_NORM_NORMACCESSCHECKS_H
