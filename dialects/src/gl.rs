//! The `gl` dialect: views, attributes, types and enums generated from its ODS.

#[allow(
    clippy::undocumented_unsafe_blocks,
    reason = "generated code has no comments; codegen/src/definitions.rs says why each call is sound"
)]
#[allow(
    rustdoc::broken_intra_doc_links,
    reason = "ODS text writes subscripts as [m, n]"
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/gl.rs"));
}

pub use generated::*;
