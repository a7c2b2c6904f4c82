//! Streams in capture mode, which record launches into a graph instead of running them.

use std::ffi::c_int;
use std::ptr;

use super::api::Handle;
use super::{Current, DriverError, StreamHandle};

const CAPTURE_MODE_RELAXED: c_int = 2;
const CAPTURE_STATUS_NONE: c_int = 0;
const CAPTURE_STATUS_ACTIVE: c_int = 1;
const ERROR_CAPTURE_INVALIDATED: c_int = 901;

/// Identifies a stream, or a capture on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StreamIdentity {
    /// The stream's handle, which the driver may give to a later stream again.
    handle: usize,
    number: Number,
}

/// The driver's number, which is unique among all streams and captures of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Number {
    /// The stream's id.
    Stream(u64),
    /// The id of the capture in which the stream takes part. The id of a capturing stream cannot be asked for: the driver
    /// refuses `cuStreamGetId` with `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, and the capture is invalidated.
    Capture(u64),
}

impl StreamIdentity {
    /// Asks the driver for a stream's identity. The legacy default stream exists once per context and cannot be captured, so
    /// the driver is not asked about it.
    ///
    /// # Errors
    /// The driver's error, for example that a capture on the stream has failed.
    pub(crate) fn of(api: &Current<'_>, stream: StreamHandle) -> Result<StreamIdentity, DriverError> {
        if stream == StreamHandle::DEFAULT {
            return Ok(StreamIdentity {
                handle: 0,
                number: Number::Stream(0),
            });
        }
        let (mut id, mut status, mut capture) = (0, 0, 0);
        // SAFETY: the caller of a launch ensures that the handle is a stream's; the out-pointers are valid for the calls, and
        // null pointers stand for outputs that are not requested.
        let number = unsafe {
            let none = (ptr::null_mut::<Handle>(), ptr::null_mut(), ptr::null_mut());
            let told = (api.capture_info)(stream.handle(), &mut status, &mut capture, none.0, none.1, none.2);
            api.check("cuStreamGetCaptureInfo", told)?;
            match status {
                CAPTURE_STATUS_NONE => {
                    api.check("cuStreamGetId", (api.stream_id)(stream.handle(), &mut id))?;
                    Number::Stream(id)
                }
                CAPTURE_STATUS_ACTIVE => Number::Capture(capture),
                // A capture that has failed has no id.
                _ => return Err(api.error("cuStreamGetCaptureInfo", ERROR_CAPTURE_INVALIDATED)),
            }
        };
        Ok(StreamIdentity {
            handle: stream.as_raw() as usize,
            number,
        })
    }

    /// Whether it is the given stream, or a capture on a stream with the same handle.
    pub(crate) fn is_on(&self, stream: StreamIdentity) -> bool {
        *self == stream || self.handle == stream.handle && matches!(self.number, Number::Capture(_))
    }
}

/// While this value lives, the thread may allocate and synchronize although a stream is capturing; no such call here is made
/// on that stream.
pub(crate) struct RelaxedCapture<'c> {
    api: &'c Current<'c>,
    before: c_int,
}

impl<'c> RelaxedCapture<'c> {
    /// Sets the thread's capture mode to relaxed.
    ///
    /// # Errors
    /// The driver's error.
    pub(crate) fn enter(api: &'c Current<'c>) -> Result<Self, DriverError> {
        let mut mode = CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is valid for the call, which stores the previous mode.
        let exchanged = unsafe { (api.capture_mode)(&mut mode) };
        api.check("cuThreadExchangeStreamCaptureMode", exchanged)?;
        Ok(RelaxedCapture { api, before: mode })
    }
}

impl Drop for RelaxedCapture<'_> {
    fn drop(&mut self) {
        // SAFETY: the pointer is valid for the call, and the mode came from the driver.
        unsafe { (self.api.capture_mode)(&mut self.before) };
    }
}
