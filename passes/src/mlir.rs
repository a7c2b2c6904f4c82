//! MLIR as passes see it: the context of a run, diagnostics, walking, building, conversion, types, affine expressions, and the driver's
//! entry points. One topic a file; what melior already has is used as it is. Nothing here knows of kernels.

pub mod address_space;
pub mod affine;
pub mod affine_value;
pub mod attribute_text;
pub mod builder;
pub mod combiner;
pub mod comparison;
pub mod context;
pub mod control_flow;
pub mod conversion;
pub mod diagnostic;
pub mod dialects;
pub mod driver;
pub mod fast_math;
pub mod guard;
pub mod interval;
pub mod linear_form;
mod nesting;
pub mod pass;
pub mod region;
pub mod source;
pub mod types;
pub mod values;
pub mod walk;
