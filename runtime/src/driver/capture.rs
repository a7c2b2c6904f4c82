//! Streams that record what is launched on them into a graph, instead of running it.

use std::ffi::c_int;
use std::ptr;

use super::api::Handle;
use super::{Current, DriverError, StreamHandle};

const CAPTURE_MODE_RELAXED: c_int = 2;
const CAPTURE_STATUS_NONE: c_int = 0;

/// What a stream is, or a capture on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StreamIdentity {
    /// The stream's handle, which a later stream may have again.
    handle: usize,
    number: Number,
}

/// The driver's number, which no other stream or capture of the process ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Number {
    /// That of a stream.
    Stream(u64),
    /// That of the capture which a stream takes part in. A stream that captures does not tell its own: the driver refuses
    /// `cuStreamGetId` with `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, and the capture is lost.
    Capture(u64),
}

impl StreamIdentity {
    /// Asks the driver about a stream. The legacy default stream is one for as long as its context lives and takes part in no capture,
    /// so that there is nothing to ask.
    ///
    /// # Errors
    /// What the driver says, for example that a capture on the stream has failed.
    pub(crate) fn of(api: &Current<'_>, stream: StreamHandle) -> Result<StreamIdentity, DriverError> {
        if stream == StreamHandle::DEFAULT {
            return Ok(StreamIdentity {
                handle: 0,
                number: Number::Stream(0),
            });
        }
        let (mut id, mut status, mut capture) = (0, 0, 0);
        // SAFETY: the handle is a stream's, which the caller of a launch makes sure of; the out-pointers are valid for the
        // calls, and those that are null are not asked for.
        let number = unsafe {
            let none = (ptr::null_mut::<Handle>(), ptr::null_mut(), ptr::null_mut());
            let told = (api.capture_info)(stream.handle(), &mut status, &mut capture, none.0, none.1, none.2);
            api.check("cuStreamGetCaptureInfo", told)?;
            if status == CAPTURE_STATUS_NONE {
                api.check("cuStreamGetId", (api.stream_id)(stream.handle(), &mut id))?;
                Number::Stream(id)
            } else {
                Number::Capture(capture)
            }
        };
        Ok(StreamIdentity {
            handle: stream.as_raw() as usize,
            number,
        })
    }

    /// Whether it is that stream, or a capture on a stream of its handle.
    pub(crate) fn is_on(&self, stream: StreamIdentity) -> bool {
        *self == stream || self.handle == stream.handle && matches!(self.number, Number::Capture(_))
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
