//! The norm and gl dialects: ODS, the little C++ MLIR needs, and typed Rust views.
//!
//! [`norm`] and [`gl`] hold what is generated from ODS: a view over each op, a wrapper for each attribute and type, an enum for
//! each enum. [`attributes`] names the attributes that ODS does not know. [`conditions`] gives the conditions on dynamic sizes
//! under which a kernel is valid. [`named_op`] defines the table of named ops. [`layout`] converts layout attributes to layouts and
//! back. [`register`] makes the dialects known to a context.

pub mod attributes;
pub mod conditions;
pub mod gl;
pub mod layout;
mod layout_check;
pub mod named_op;
pub mod norm;
mod slice;
#[allow(dead_code, reason = "which parts the generated views call depends on the ODS")]
mod view;

pub use layout_check::MOST_REGISTERS;
use melior::dialect::{DialectHandle, DialectRegistry};
pub use view::{
    ContextLike, GlobalEffect, affine_map, affine_map_attribute, dense_i64, inequality, inequality_attribute,
    integer, integer_of, op_name, string, symbol, symbol_name, symbol_path,
};

unsafe extern "C" {
    // `mlirGetDialectHandle__<name>__` is what MLIR_DEFINE_CAPI_DIALECT_REGISTRATION calls them (capi/Registration.cpp).
    fn mlirGetDialectHandle__norm__() -> mlir_sys::MlirDialectHandle;
    fn mlirGetDialectHandle__gl__() -> mlir_sys::MlirDialectHandle;
}

/// Adds both dialects to `registry`.
pub fn register(registry: &DialectRegistry) {
    // SAFETY: the handles are static data.
    let handles = unsafe { [mlirGetDialectHandle__norm__(), mlirGetDialectHandle__gl__()] };
    for handle in handles {
        // SAFETY: the handle is valid, as above.
        unsafe { DialectHandle::from_raw(handle) }.insert_dialect(registry);
    }
}
