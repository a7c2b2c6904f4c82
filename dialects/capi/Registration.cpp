// The handles by which C and Rust register the dialects.

#include "gl/GlDialect.h"
#include "mlir-c/IR.h"
#include "mlir/CAPI/Registration.h"
#include "norm/NormDialect.h"

// The DEFINE macro declares nothing: without these declarations the functions would have C++ names.
extern "C" {
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Norm, norm);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Gl, gl);
}

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Norm, norm, mlir::norm::NormDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Gl, gl, mlir::gl::GlDialect)
