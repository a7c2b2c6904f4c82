//! Streams that record what is launched on them into a graph, instead of running it.

use std::ffi::c_int;
use std::ptr;

use super::api::Handle;
use super::{Current, DriverError, StreamHandle};

const CAPTURE_MODE_RELAXED: c_int = 2;
const CAPTURE_STATUS_NONE: c_int = 0;

/// What a stream is, beyond its handle, which a later stream may have again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StreamIdentity {
    /// The driver's number for the stream, which no other stream of the process ever has.
    stream: u64,
    /// The number of the capture that the stream takes part in.
    capture: Option<u64>,
}

impl StreamIdentity {
    /// Asks the driver about a stream.
    ///
    /// # Errors
    /// What the driver says, for example that a capture on the stream has failed.
    pub(crate) fn of(api: &Current<'_>, stream: StreamHandle) -> Result<StreamIdentity, DriverError> {
        let (mut id, mut status, mut capture) = (0, 0, 0);
        // SAFETY: the handle is a stream's, which the caller of a launch makes sure of; the out-pointers are valid for the
        // calls, and those that are null are not asked for.
        unsafe {
            api.check("cuStreamGetId", (api.stream_id)(stream.handle(), &mut id))?;
            let none = (ptr::null_mut::<Handle>(), ptr::null_mut(), ptr::null_mut());
            let told = (api.capture_info)(stream.handle(), &mut status, &mut capture, none.0, none.1, none.2);
            api.check("cuStreamGetCaptureInfo", told)?;
        }
        Ok(StreamIdentity {
            stream: id,
            capture: (status != CAPTURE_STATUS_NONE).then_some(capture),
        })
    }

    /// Whether it is that stream, capturing or not.
    pub(crate) fn is_on(&self, other: StreamIdentity) -> bool {
        self.stream == other.stream
    }
}

/// While it lives, this thread may allocate and wait although a stream captures, which no call here does on that stream.
pub(crate) struct RelaxedCapture<'c> {
    api: &'c Current<'c>,
    before: c_int,
}

impl<'c> RelaxedCapture<'c> {
    /// Sets this thread's mode.
    ///
    /// # Errors
    /// What the driver says.
    pub(crate) fn enter(api: &'c Current<'c>) -> Result<Self, DriverError> {
        let mut mode = CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is valid for the call, which stores the mode that was.
        let exchanged = unsafe { (api.capture_mode)(&mut mode) };
        api.check("cuThreadExchangeStreamCaptureMode", exchanged)?;
        Ok(RelaxedCapture { api, before: mode })
    }
}

impl Drop for RelaxedCapture<'_> {
    fn drop(&mut self) {
        // SAFETY: the pointer is valid for the call, and the mode is one that the driver gave.
        unsafe { (self.api.capture_mode)(&mut self.before) };
    }
}
