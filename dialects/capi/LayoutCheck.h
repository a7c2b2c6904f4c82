// The bridge from C++ verifiers to the algebra of layouts, which is Rust (src/layout_check.rs).

#ifndef NORMA_CAPI_LAYOUTCHECK_H
#define NORMA_CAPI_LAYOUTCHECK_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Diagnostics.h"

namespace mlir::gl {

/// Whether `layout` is the layout of a tile of this shape: every element is held, and nothing lies outside.
llvm::LogicalResult checkLayout(Attribute layout, llvm::ArrayRef<int64_t> shape,
                                llvm::function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::gl

#endif // NORMA_CAPI_LAYOUTCHECK_H
