//===- NormNotation.h - what a scalar program may be written with -*- C++ -*-===//
//
// A space's parser replaces notation by the ops that it stands for, so that nothing else ever sees it.
//
//===----------------------------------------------------------------------===//

#ifndef NORMA_DIALECTS_NORM_NORMNOTATION_H
#define NORMA_DIALECTS_NORM_NORMNOTATION_H

#include "norm/NormDialect.h"

#include "mlir/IR/AffineMap.h"

namespace mlir::norm {

/// Marks a sum that is written as a mean, until the space around it replaces it.
inline constexpr StringRef MEAN = "norm.mean";

/// Replaces the notation in the body of a space with these extents, and with these guards or none. Errors are emitted at the op.
LogicalResult replaceNotation(Block &body, AffineMap extents, std::optional<AffineMap> guards);

} // namespace mlir::norm

#endif // NORMA_DIALECTS_NORM_NORMNOTATION_H
