//! The check of tiles' layouts that the `gl` dialect's C++ verifiers call (capi/LayoutCheck.h), since the algebra is Rust.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
};

use melior::{StringRef, ir::Attribute};
use mlir_sys::{MlirAttribute, MlirStringRef};

use crate::{layout, slice::Slice};

/// Whether `layout` is the layout of a tile of this shape. If not, `report` is called once with what is wrong.
///
/// # Safety
///
/// `layout` is a valid attribute, `shape` lives for the call, and `report` may be called with `user`.
#[unsafe(no_mangle)]
unsafe extern "C" fn normaGlCheckLayout(
    layout: MlirAttribute,
    shape: Slice<i64>,
    report: unsafe extern "C" fn(MlirStringRef, *mut c_void),
    user: *mut c_void,
) -> bool {
    // SAFETY: the caller promises a valid attribute and a shape that lives for the call.
    let (attribute, shape) = unsafe { (Attribute::from_raw(layout), shape.as_slice()) };
    // A panic must not unwind into C++.
    let message = match catch_unwind(AssertUnwindSafe(|| layout::distributed(attribute, shape))) {
        Ok(Ok(_)) => return true,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("internal compiler error: the layout of {shape:?} cannot be computed"),
    };
    // SAFETY: the caller promises that it may be called; the message lives for the call.
    unsafe { report(StringRef::new(&message).to_raw(), user) };
    false
}
