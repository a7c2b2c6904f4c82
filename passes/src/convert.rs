//! Conversions from one level to the next. One file, or folder, a pass, named after it.

pub(crate) mod gl_to_nvvm;
pub(crate) mod math_to_nvvm_approx;
pub(crate) mod norm_to_gl;
