//! Converts the runtime's errors to Python's exceptions, whose classes are in `norma/errors.py`.

use norma_runtime::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The exception class that an error becomes.
#[derive(Clone, Copy)]
pub enum Kind {
    /// The arguments of a call do not fit the function.
    Argument,
    /// A bundle cannot be used.
    Bundle,
    /// The driver or the device failed, or there is none.
    Driver,
    /// A bundle has no such function.
    Function,
}

impl Kind {
    /// Creates an exception with this message.
    pub fn exception(self, py: Python<'_>, message: &str) -> PyErr {
        match self.class(py) {
            Ok(class) => PyErr::from_type(class.clone(), message.to_owned()),
            Err(error) => error,
        }
    }

    /// Whether an exception is of this kind.
    pub fn is(self, py: Python<'_>, error: &PyErr) -> bool {
        self.class(py).is_ok_and(|class| error.is_instance(py, class))
    }

    fn class(self, py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
        static CLASSES: [PyOnceLock<Py<PyType>>; 4] = [const { PyOnceLock::new() }; 4];
        let name = match self {
            Kind::Argument => "ArgumentError",
            Kind::Bundle => "BundleError",
            Kind::Driver => "DriverError",
            Kind::Function => "FunctionNotFoundError",
        };
        CLASSES[self as usize].import(py, "norma.errors", name)
    }
}

/// Converts an error of the runtime to an exception.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let kind = match error {
        Error::Call { .. } => Kind::Argument,
        Error::Manifest(_) | Error::Bundle(_) | Error::Target(_) => Kind::Bundle,
        Error::Function(_) => Kind::Function,
        Error::Driver(_) => Kind::Driver,
    };
    kind.exception(py, &error.to_string())
}
