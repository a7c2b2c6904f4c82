// The bridge from C++ verifiers to the algebra of layouts, which is Rust (src/layout_check.rs).

#ifndef NORMA_CAPI_LAYOUTCHECK_H
#define NORMA_CAPI_LAYOUTCHECK_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Diagnostics.h"

namespace mlir::gl {

/// Whether `layout` is the layout of a tile of this shape: every element is held, and nothing lies outside.
llvm::LogicalResult checkLayout(Attribute layout, llvm::ArrayRef<int64_t> shape,
                                llvm::function_ref<InFlightDiagnostic()> emitError);

/// Whether `layout` is the layout of a shared memory of this shape.
llvm::LogicalResult checkSharedLayout(Attribute layout, llvm::ArrayRef<int64_t> shape,
                                      llvm::function_ref<InFlightDiagnostic()> emitError);

/// The most neighbours along an axis that a thread holds in consecutive registers, aligned to their number. The layout
/// is that of a tile of this shape.
int64_t contiguousRun(Attribute layout, llvm::ArrayRef<int64_t> shape);

/// Whether `sliced` places elements as the slice along `axis` of a tile of `shape` in `full` does, however either of the
/// two is written. The axis and the layouts are valid.
bool isSlice(Attribute sliced, Attribute full, llvm::ArrayRef<int64_t> shape, int64_t axis);

/// Whether `part` is the shape of what one CTA of a cluster holds of a tile of `shape` in `layout`.
bool isPartOfCta(Attribute layout, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> part);

} // namespace mlir::gl

#endif // NORMA_CAPI_LAYOUTCHECK_H
