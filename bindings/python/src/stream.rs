//! Converts the stream arguments that callers pass.

use std::ffi::c_void;

use norma_runtime::StreamHandle;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The handle of a stream that is given by its pointer, by an object with `__cuda_stream__` (the protocol of cuda.core), or
/// by an object with the attribute that contains the pointer in torch or CuPy.
///
/// # Errors
/// The object is none of these.
pub fn handle(object: &Bound<'_, PyAny>) -> PyResult<StreamHandle> {
    let py = object.py();
    if let Ok(pointer) = object.extract::<usize>() {
        return Ok(StreamHandle::from_raw(pointer as *mut c_void));
    }
    if let Ok(protocol) = object.getattr(pyo3::intern!(py, "__cuda_stream__")) {
        let (_version, pointer): (u32, usize) = protocol.call0()?.extract()?;
        return Ok(StreamHandle::from_raw(pointer as *mut c_void));
    }
    for attribute in ["cuda_stream", "ptr"] {
        if let Ok(pointer) = object
            .getattr(attribute)
            .and_then(|pointer| pointer.extract::<usize>())
        {
            return Ok(StreamHandle::from_raw(pointer as *mut c_void));
        }
    }
    let got = object.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "expected a stream: its pointer as an integer, or an object with __cuda_stream__, cuda_stream or ptr, got {got}"
    )))
}
