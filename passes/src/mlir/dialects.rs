//! The handles of this workspace's dialects, by the names that MLIR's C API gives its own: the generated pass table
//! names dependent dialects by them.

use mlir_sys::MlirDialectHandle;

// The calls below are linked from the crate that builds the dialects.
use norma_dialects as _;

unsafe extern "C" {
    /// The `norm` dialect.
    pub fn mlirGetDialectHandle__norm__() -> MlirDialectHandle;
    /// The `gl` dialect.
    pub fn mlirGetDialectHandle__gl__() -> MlirDialectHandle;
}
