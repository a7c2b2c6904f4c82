//! The C interface. `cargo xtask docs` generates `include/norma/runtime.h` from it, comments included.
//!
//! A function that can fail returns a status, and stores a message for [`norma_last_error`]. Pointers must be valid for what
//! a function reads and writes; pointers that may be null are documented as such.

mod embedded;
mod function;
mod status;

pub use embedded::{NormaEmbedded, norma_embedded_allow_ptx, norma_embedded_launch, norma_embedded_load};
pub use function::{
    NormaBundle, NormaFile, NormaFunction, NormaNumber, NormaScalar, NormaScalarKind, norma_bundle_allow_ptx,
    norma_bundle_close, norma_bundle_from_memory, norma_bundle_open, norma_function_free, norma_function_get,
    norma_function_launch, norma_function_load, norma_function_release_scratch,
};
pub use status::{NormaStatus, norma_last_error};
