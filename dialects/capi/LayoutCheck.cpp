// Calls the layout checks written in Rust and turns their messages into diagnostics.

#include "capi/LayoutCheck.h"

#include "capi/Slice.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include <limits>

using namespace mlir;

#ifdef NORMA_WITHOUT_RUST

// A build by CMake, for C++ projects, has no Rust to call.
LogicalResult gl::checkLayout(Attribute, ArrayRef<int64_t>, function_ref<InFlightDiagnostic()>) { return success(); }

LogicalResult gl::checkSharedLayout(Attribute, ArrayRef<int64_t>, function_ref<InFlightDiagnostic()>) {
  return success();
}

int64_t gl::contiguousRun(Attribute, ArrayRef<int64_t>) { return std::numeric_limits<int64_t>::max(); }

bool gl::isSlice(Attribute, Attribute, ArrayRef<int64_t>, int64_t) { return true; }

bool gl::isPartOfCta(Attribute, ArrayRef<int64_t>, ArrayRef<int64_t>) { return true; }

#else

extern "C" bool normaGlCheckLayout(MlirAttribute layout, NormaSlice shape, void (*report)(MlirStringRef, void *),
                                   void *user);
extern "C" bool normaGlCheckSharedLayout(MlirAttribute layout, NormaSlice shape,
                                         void (*report)(MlirStringRef, void *), void *user);
extern "C" int64_t normaGlContiguousRun(MlirAttribute layout, NormaSlice shape);
extern "C" bool normaGlIsSlice(MlirAttribute sliced, MlirAttribute full, NormaSlice shape, int64_t axis);
extern "C" bool normaGlIsPartOfCta(MlirAttribute layout, NormaSlice shape, NormaSlice part);

static void report(MlirStringRef message, void *emitError) {
  (*static_cast<function_ref<InFlightDiagnostic()> *>(emitError))() << unwrap(message);
}

LogicalResult gl::checkLayout(Attribute layout, ArrayRef<int64_t> shape,
                              function_ref<InFlightDiagnostic()> emitError) {
  return success(normaGlCheckLayout(wrap(layout), toSlice(shape), report, &emitError));
}

LogicalResult gl::checkSharedLayout(Attribute layout, ArrayRef<int64_t> shape,
                                    function_ref<InFlightDiagnostic()> emitError) {
  return success(normaGlCheckSharedLayout(wrap(layout), toSlice(shape), report, &emitError));
}

int64_t gl::contiguousRun(Attribute layout, ArrayRef<int64_t> shape) {
  return normaGlContiguousRun(wrap(layout), toSlice(shape));
}

bool gl::isSlice(Attribute sliced, Attribute full, ArrayRef<int64_t> shape, int64_t axis) {
  return normaGlIsSlice(wrap(sliced), wrap(full), toSlice(shape), axis);
}

bool gl::isPartOfCta(Attribute layout, ArrayRef<int64_t> shape, ArrayRef<int64_t> part) {
  return normaGlIsPartOfCta(wrap(layout), toSlice(shape), toSlice(part));
}

#endif // NORMA_WITHOUT_RUST
