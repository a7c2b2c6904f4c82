//! The C interface. `include/norma/runtime.h` is generated from it by `cargo xtask docs`, comments and all.
//!
//! A function that can fail returns a status, and leaves a text for [`norma_last_error`]. Pointers are valid for what a function
//! reads and writes; those that may be null say so.

mod embedded;
mod function;
mod status;

pub use embedded::{NormaEmbedded, norma_embedded_launch, norma_embedded_load};
pub use function::{
    NormaBundle, NormaFile, NormaFunction, NormaNumber, NormaScalar, NormaScalarKind, norma_bundle_close,
    norma_bundle_from_memory, norma_bundle_open, norma_function_free, norma_function_get,
    norma_function_launch, norma_function_load, norma_function_release_scratch,
};
pub use status::{NormaStatus, norma_last_error};
