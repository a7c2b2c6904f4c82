//===- GlDialect.h - the gl dialect's C++ classes ----------------*- C++ -*-===//
//
// The one header of the dialect; what ODS generates, in the order that it needs.
//
//===----------------------------------------------------------------------===//

#ifndef NORMA_DIALECTS_GL_GLDIALECT_H
#define NORMA_DIALECTS_GL_GLDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "gl/GlDialect.h.inc"
#include "gl/GlEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "gl/GlAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "gl/GlTypes.h.inc"

#define GET_OP_CLASSES
#include "gl/GlOps.h.inc"

#endif // NORMA_DIALECTS_GL_GLDIALECT_H
