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
    // At the end of a thread there may be no place for the message any more.
    drop(LAST_ERROR.try_with(|last| last.replace(text.unwrap_or_default())));
    status
}

/// The message of this thread's last failed call, as one line of text. It stays valid until another call of the thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn norma_last_error() -> *const c_char {
    let message = LAST_ERROR.try_with(|text| text.borrow().as_ptr());
    message.unwrap_or_else(|_| c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    fn fail() -> NormaStatus {
        status(|| Err(Failure::Argument("expected anything else")))
    }

    /// Calls the interface when its thread ends, as the destructor of a thread's object in C++ does, and sends the result.
    struct AtEnd(Cell<Option<mpsc::Sender<(NormaStatus, bool)>>>);

    impl Drop for AtEnd {
        fn drop(&mut self) {
            let status = fail();
            let sender = self.0.take().unwrap();
            sender.send((status, norma_last_error().is_null())).unwrap();
        }
    }

    thread_local! {
        static AT_END: AtEnd = const { AtEnd(Cell::new(None)) };
    }

    #[test]
    fn calls_at_the_end_of_a_thread_have_a_status() {
        let (sender, receiver) = mpsc::channel();
        let ended = thread::spawn(|| {
            // What a thread uses first is destroyed last.
            AT_END.with(|at_end| at_end.0.set(Some(sender)));
            fail()
        });
        assert_eq!(ended.join().unwrap(), NormaStatus::Argument);
        assert_eq!(receiver.recv().unwrap(), (NormaStatus::Argument, false));
    }
}
