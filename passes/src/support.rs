//! What passes are written with: the run context, diagnostics, walking, building, conversion, types,
//! spaces, combiners, shared memory, and the driver entry points. One topic a file; what melior already has is used as
//! it is.

pub mod builder;
pub mod combiner;
pub mod context;
pub mod conversion;
pub mod diagnostic;
pub mod dialects;
pub mod driver;
pub mod guard;
pub mod linear_form;
mod nesting;
pub mod pass;
pub mod reduced_dim;
pub mod shared_memory;
pub mod source;
pub mod space;
pub mod space_rewrite;
pub mod types;
pub mod walk;
