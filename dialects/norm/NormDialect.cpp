//===- NormDialect.cpp - registration of the norm dialect ------------------===//
//
// C++ because a dialect's classes are; there is nothing here that ODS could say.
//
//===----------------------------------------------------------------------===//

#include "norm/NormDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::norm;

#include "norm/NormDialect.cpp.inc"
#include "norm/NormEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "norm/NormAttrs.cpp.inc"

void NormDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "norm/NormAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "norm/NormOps.cpp.inc"
      >();
}
