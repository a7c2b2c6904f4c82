//! Streams, the graphs recorded from them, and the events that time them.

use std::ffi::{c_int, c_uint};
use std::ptr;
use std::rc::Rc;

use super::api::Handle;
use super::{Context, Device, DriverError};

const STREAM_NON_BLOCKING: c_uint = 1;
const CAPTURE_MODE_THREAD_LOCAL: c_int = 1;

/// A stream.
pub struct Stream {
    context: Rc<Context>,
    pub(super) handle: Handle,
}

impl Stream {
    /// Records what `work` launches on this stream into a graph, without running it.
    ///
    /// # Errors
    /// What `work` or the driver says.
    pub fn capture<E: From<DriverError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<Graph, E> {
        let api = &self.context.api;
        // SAFETY: the stream is this object's and is not capturing: `capture` ends what it begins.
        let begun = unsafe { (api.capture_begin)(self.handle, CAPTURE_MODE_THREAD_LOCAL) };
        api.check("cuStreamBeginCapture", begun)?;
        let worked = work();
        let mut graph = ptr::null_mut();
        // SAFETY: the capture was begun above; the out-pointer is valid for the call.
        let ended = unsafe { (api.capture_end)(self.handle, &mut graph) };
        worked?;
        api.check("cuStreamEndCapture", ended)?;
        let mut handle = ptr::null_mut();
        // SAFETY: `graph` was captured above and is not used after it is destroyed; the instance does not need it.
        let made = unsafe {
            let made = (api.graph_instantiate)(&mut handle, graph, 0);
            (api.graph_destroy)(graph);
            made
        };
        api.check("cuGraphInstantiateWithFlags", made)?;
        Ok(Graph {
            context: Rc::clone(&self.context),
            handle,
        })
    }

    /// Waits for everything launched on this stream.
    ///
    /// # Errors
    /// What the driver says, for example an illegal address.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        let api = &self.context.api;
        // SAFETY: the stream is this object's.
        api.check("cuStreamSynchronize", unsafe {
            (api.stream_synchronize)(self.handle)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is this object's; the driver frees it once its work is done.
        unsafe { (self.context.api.stream_destroy)(self.handle) };
    }
}

/// A recorded sequence of launches.
pub struct Graph {
    context: Rc<Context>,
    handle: Handle,
}

impl Graph {
    /// Runs the recorded launches on `stream`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn launch(&self, stream: &Stream) -> Result<(), DriverError> {
        let api = &self.context.api;
        // SAFETY: both handles are alive.
        api.check("cuGraphLaunch", unsafe {
            (api.graph_launch)(self.handle, stream.handle)
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the instance is this object's.
        unsafe { (self.context.api.graph_exec_destroy)(self.handle) };
    }
}

/// A point in a stream, with its time.
pub struct Event {
    context: Rc<Context>,
    handle: Handle,
}

impl Event {
    /// Records the event after what `stream` holds now.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(&self, stream: &Stream) -> Result<(), DriverError> {
        let api = &self.context.api;
        // SAFETY: both handles are alive.
        api.check("cuEventRecord", unsafe {
            (api.event_record)(self.handle, stream.handle)
        })
    }

    /// Microseconds from `start` to this event, once this one has come to pass.
    ///
    /// # Errors
    /// What the driver says, including errors of the kernels in between.
    pub fn microseconds_since(&self, start: &Event) -> Result<f64, DriverError> {
        let api = &self.context.api;
        // SAFETY: the handle is alive.
        api.check("cuEventSynchronize", unsafe {
            (api.event_synchronize)(self.handle)
        })?;
        let mut milliseconds = 0.0;
        // SAFETY: the out-pointer is valid for the call and both handles are alive.
        let status = unsafe { (api.event_elapsed)(&mut milliseconds, start.handle, self.handle) };
        api.check("cuEventElapsedTime", status)?;
        Ok(f64::from(milliseconds) * 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is this object's.
        unsafe { (self.context.api.event_destroy)(self.handle) };
    }
}

impl Device {
    /// Creates a stream that does not wait for the default stream.
    ///
    /// # Errors
    /// What the driver says.
    pub fn stream(&self) -> Result<Stream, DriverError> {
        let api = &self.context.api;
        let mut handle = ptr::null_mut();
        // SAFETY: the out-pointer is valid for the call.
        api.check("cuStreamCreate", unsafe {
            (api.stream_create)(&mut handle, STREAM_NON_BLOCKING)
        })?;
        Ok(Stream {
            context: Rc::clone(&self.context),
            handle,
        })
    }

    /// Creates an event that records time.
    ///
    /// # Errors
    /// What the driver says.
    pub fn event(&self) -> Result<Event, DriverError> {
        let api = &self.context.api;
        let mut handle = ptr::null_mut();
        // SAFETY: the out-pointer is valid for the call; 0 is the default, which keeps time.
        api.check("cuEventCreate", unsafe { (api.event_create)(&mut handle, 0) })?;
        Ok(Event {
            context: Rc::clone(&self.context),
            handle,
        })
    }
}
