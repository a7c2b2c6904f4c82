// Calls the layout checks written in Rust and turns their messages into diagnostics.

#include "capi/LayoutCheck.h"

#include "capi/Slice.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;

#ifdef NORMA_WITHOUT_RUST

// A build by CMake, for C++ projects, has no Rust to call.
LogicalResult gl::checkLayout(Attribute, ArrayRef<int64_t>, function_ref<InFlightDiagnostic()>) { return success(); }

#else

extern "C" bool normaGlCheckLayout(MlirAttribute layout, NormaSlice shape, void (*report)(MlirStringRef, void *),
                                   void *user);

LogicalResult gl::checkLayout(Attribute layout, ArrayRef<int64_t> shape,
                              function_ref<InFlightDiagnostic()> emitError) {
  auto report = [](MlirStringRef message, void *user) {
    (*static_cast<function_ref<InFlightDiagnostic()> *>(user))() << unwrap(message);
  };
  return success(normaGlCheckLayout(wrap(layout), toSlice(shape), report, &emitError));
}

#endif // NORMA_WITHOUT_RUST
