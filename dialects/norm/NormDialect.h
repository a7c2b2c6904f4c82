//===- NormDialect.h - the norm dialect's C++ classes ------------*- C++ -*-===//
//
// The one header of the dialect; what ODS generates, in the order that it needs.
//
//===----------------------------------------------------------------------===//

#ifndef NORMA_DIALECTS_NORM_NORMDIALECT_H
#define NORMA_DIALECTS_NORM_NORMDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "norm/NormDialect.h.inc"
#include "norm/NormEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "norm/NormAttrs.h.inc"

#include "norm/NormTraits.h"

#define GET_OP_CLASSES
#include "norm/NormOps.h.inc"

namespace mlir::norm {

/// The user's name for an argument of a space's block, without the percent sign: its name in the source, which its location keeps,
/// or else its number.
std::string dimName(BlockArgument argument);

} // namespace mlir::norm

#endif // NORMA_DIALECTS_NORM_NORMDIALECT_H
