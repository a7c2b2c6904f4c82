//! The status of a call, and the message of an error.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::driver::DriverError;
use crate::error::Error;

/// The status of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormaStatus {
    /// The call succeeded.
    Ok = 0,
    /// An argument is not acceptable, such as a tensor that the kernels are not made for. Nothing was launched.
    Argument = 1,
    /// The bundle cannot be used, or has no such function.
    Bundle = 2,
    /// The bundle has no code for the device.
    Target = 3,
    /// There is no driver, or no such device.
    Device = 4,
    /// The driver refused something.
    Driver = 5,
    /// A fault of this library.
    Internal = 6,
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

impl From<&Error> for NormaStatus {
    fn from(error: &Error) -> Self {
        match error {
            Error::Call { .. } => NormaStatus::Argument,
            Error::Manifest(_) | Error::Function(_) | Error::Bundle(_) => NormaStatus::Bundle,
            Error::Target(_) => NormaStatus::Target,
            Error::Driver(DriverError::NoDriver(_) | DriverError::NoDevice(_)) => NormaStatus::Device,
            Error::Driver(
                DriverError::Call { .. } | DriverError::Occupancy { .. } | DriverError::ClusterRoom { .. },
            ) => NormaStatus::Driver,
        }
    }
}

/// Why a call of the C interface fails.
pub(super) enum Failure {
    /// An argument that no function could take.
    Argument(&'static str),
    /// An error of the library.
    Error(Error),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Error(error.into())
    }
}

/// Runs the work of a call and stores the error message. A panic, which must not unwind into C, is reported as a fault of
/// this library.
pub(super) fn status(work: impl FnOnce() -> Result<(), Failure>) -> NormaStatus {
    let (status, text) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return NormaStatus::Ok,
        Ok(Err(Failure::Argument(text))) => (NormaStatus::Argument, text.to_owned()),
        Ok(Err(Failure::Error(error))) => (NormaStatus::from(&error), error.to_string()),
        Err(_) => (
            NormaStatus::Internal,
            "internal error: the runtime panicked; please report this".to_owned(),
        ),
    };
    // The message is cut at an interior null byte, which a name in a bundle may contain.
    let mut bytes = text.into_bytes();
    bytes.push(0);
    let text = CString::from_vec_with_nul(
        bytes
            .split_inclusive(|byte| *byte == 0)
            .next()
            .unwrap_or(&[0])
            .to_vec(),
    );
    LAST_ERROR.set(text.unwrap_or_default());
    status
}

/// The message of this thread's last failed call, as one line of text. It stays valid until another call of the thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn norma_last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|text| text.as_ptr())
}
