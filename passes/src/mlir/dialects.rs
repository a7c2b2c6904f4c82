//! The handles of this workspace's dialects, named as MLIR's C API names its own: the generated pass table refers to dependent dialects by
//! these names.

use mlir_sys::MlirDialectHandle;

// The functions below are linked from the crate that builds the dialects.
use norma_dialects as _;

unsafe extern "C" {
    /// The `norm` dialect.
    pub fn mlirGetDialectHandle__norm__() -> MlirDialectHandle;
    /// The `gl` dialect.
    pub fn mlirGetDialectHandle__gl__() -> MlirDialectHandle;
}
