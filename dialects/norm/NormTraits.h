//===- NormTraits.h - what every op of norm is checked for -------*- C++ -*-===//
//
// C++ because an op's trait is.
//
//===----------------------------------------------------------------------===//

#ifndef NORMA_DIALECTS_NORM_NORMTRAITS_H
#define NORMA_DIALECTS_NORM_NORMTRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::norm {

/// Refuses an attribute without a dialect's prefix that the op does not have.
LogicalResult verifyKnownAttributes(Operation *op);

template <typename ConcreteType>
class KnownAttributes : public OpTrait::TraitBase<ConcreteType, KnownAttributes> {
public:
  static LogicalResult verifyTrait(Operation *op) { return verifyKnownAttributes(op); }
};

} // namespace mlir::norm

#endif // NORMA_DIALECTS_NORM_NORMTRAITS_H
