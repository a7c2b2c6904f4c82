//! The `gl` dialect: views, attributes, types and enums generated from its ODS.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "ODS text writes subscripts as [m, n]"
)]

include!(concat!(env!("OUT_DIR"), "/gl.rs"));
