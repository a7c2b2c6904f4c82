//! What frameworks that differentiate know of their tensors, and launches would bypass: whether operations on one are recorded, and how
//! often it was written.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Whether the framework would record an operation on this tensor, for its gradient, which a launch does not do.
///
/// # Errors
/// The exception that the framework raises.
pub fn is_recorded(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let requires = match object.getattr(pyo3::intern!(py, "requires_grad")) {
        Ok(requires) => requires.is_truthy()?,
        Err(_) => false,
    };
    if !requires {
        return Ok(false);
    }
    // Within torch.no_grad() nothing is recorded; the forward of a function of one's own is such a place.
    match torch(py)? {
        Some(torch) => torch
            .call_method0(pyo3::intern!(py, "is_grad_enabled"))?
            .extract(),
        None => Ok(true),
    }
}

/// Counts a tensor as written, so that a backward that needs its earlier content is refused by torch.
///
/// # Errors
/// The exception that the framework raises.
pub fn mark_written(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    if let Some(torch) = torch(py)?
        && object.is_instance(&torch.getattr(pyo3::intern!(py, "Tensor"))?)?
    {
        let tensors = PyTuple::new(py, [object])?;
        torch
            .getattr(pyo3::intern!(py, "_C"))?
            .call_method1(pyo3::intern!(py, "_increment_version"), (tensors,))?;
    }
    Ok(())
}

/// The module torch, if the program has imported it.
fn torch(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let modules = py
        .import(pyo3::intern!(py, "sys"))?
        .getattr(pyo3::intern!(py, "modules"))?
        .cast_into::<PyDict>()?;
    modules.get_item(pyo3::intern!(py, "torch"))
}
