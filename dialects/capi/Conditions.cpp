// Gives Rust the conditions on sizes and numbers that a space's accesses need, which C++ finds (norm/NormAccessChecks.h).

#include "mlir-c/AffineExpr.h"
#include "mlir/CAPI/AffineExpr.h"
#include "mlir/CAPI/IR.h"
#include "norm/NormAccessChecks.h"
#include "norm/NormDialect.h"

using namespace mlir;
using namespace mlir::norm;

/// Calls `onSymbol` for each symbol, in order: with a buffer and an axis for a size, and with a number and -1 for a number, both as
/// positions among the arguments of the block. Then calls `onCondition` with each condition over these symbols. Returns whether
/// `op` is a norm.compute or an untiled norm.kernel that verifies; if not, calls nothing.
extern "C" bool normaNormConditions(MlirOperation op, void (*onSymbol)(int64_t argument, int64_t axis, void *user),
                                    void (*onCondition)(MlirAffineExpr lhs, MlirAffineExpr rhs, bool isEquality,
                                                        void *user),
                                    void *user) {
  FailureOr<Conditions> conditions = conditionsOf(unwrap(op));
  if (failed(conditions))
    return false;
  for (auto [argument, axis] : conditions->symbols)
    onSymbol(argument, axis, user);
  for (const Condition &condition : conditions->all)
    onCondition(wrap(condition.lhs), wrap(condition.rhs), condition.isEquality, user);
  return true;
}
