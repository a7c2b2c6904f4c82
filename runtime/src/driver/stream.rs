//! Streams, the graphs recorded from them, and the events that time them.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use super::api::Handle;
use super::device::Context;
use super::{Current, Device, DriverError};

const STREAM_NON_BLOCKING: c_uint = 1;
const CAPTURE_MODE_THREAD_LOCAL: c_int = 1;

/// A stream of any origin, by its pointer of type `CUstream` or `cudaStream_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHandle(Handle);

impl StreamHandle {
    /// The legacy default stream, which synchronizes with all blocking streams.
    pub const DEFAULT: StreamHandle = StreamHandle(Handle::NULL);

    /// Wraps the pointer of a stream, which is only used for launches.
    pub fn from_raw(stream: *mut c_void) -> Self {
        StreamHandle(Handle(stream))
    }

    /// Its pointer.
    pub fn as_raw(self) -> *mut c_void {
        self.0.0
    }

    pub(super) fn handle(self) -> Handle {
        self.0
    }
}

/// A stream that this crate created.
pub struct Stream {
    context: Arc<Context>,
    pub(super) handle: Handle,
}

impl Stream {
    /// Creates a stream that does not wait for the default stream.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(device: &Device) -> Result<Stream, DriverError> {
        let api = device.enter()?;
        let mut handle = Handle::NULL;
        // SAFETY: the out-pointer is valid for the call.
        api.check("cuStreamCreate", unsafe {
            (api.stream_create)(&mut handle, STREAM_NON_BLOCKING)
        })?;
        Ok(Stream {
            context: Arc::clone(&device.context),
            handle,
        })
    }

    /// The handle that launches take.
    pub fn handle(&self) -> StreamHandle {
        StreamHandle(self.handle)
    }

    /// Records the launches of `work` on this stream into a graph, without running them.
    ///
    /// # Errors
    /// An error of `work` or of the driver.
    pub fn capture<E: From<DriverError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<Graph, E> {
        let api = self.context.enter()?;
        // SAFETY: the stream is this object's.
        let begun = unsafe { (api.capture_begin)(self.handle, CAPTURE_MODE_THREAD_LOCAL) };
        api.check("cuStreamBeginCapture", begun)?;
        let capture = Capture {
            api: &api,
            stream: self.handle,
        };
        let worked = work();
        let captured = capture.end();
        worked?;
        let captured = captured?;
        let mut handle = Handle::NULL;
        // SAFETY: the graph was captured above; the instance does not need it.
        let made = unsafe { (api.graph_instantiate)(&mut handle, captured.graph, 0) };
        drop(captured);
        api.check("cuGraphInstantiateWithFlags", made)?;
        Ok(Graph {
            context: Arc::clone(&self.context),
            handle: Mutex::new(handle),
        })
    }

    /// Waits for everything launched on this stream.
    ///
    /// # Errors
    /// The driver's error, for example an illegal address.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        let api = self.context.enter()?;
        // SAFETY: the stream is this object's.
        api.check("cuStreamSynchronize", unsafe {
            (api.stream_synchronize)(self.handle)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let Ok(api) = self.context.enter() else { return };
        // SAFETY: the stream is this object's; the driver frees it once its work is done.
        unsafe { (api.stream_destroy)(self.handle) };
    }
}

/// A capture that has begun. If it is dropped, as by a panic of the work that it records, it ends all the same: otherwise the
/// stream would go on recording, and the thread could not allocate.
struct Capture<'c> {
    api: &'c Current<'c>,
    stream: Handle,
}

impl<'c> Capture<'c> {
    /// Ends the capture.
    ///
    /// # Errors
    /// The driver's error, for example that the capture was invalidated.
    fn end(self) -> Result<CapturedGraph<'c>, DriverError> {
        ManuallyDrop::new(self).stop()
    }

    /// Ends the capture, once.
    fn stop(&self) -> Result<CapturedGraph<'c>, DriverError> {
        let api = self.api;
        let mut graph = Handle::NULL;
        // SAFETY: the stream's capture was begun by this thread; the out-pointer is valid for the call.
        let ended = unsafe { (api.capture_end)(self.stream, &mut graph) };
        let captured = CapturedGraph { api, graph };
        api.check("cuStreamEndCapture", ended)?;
        Ok(captured)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // Nobody is left to take the graph, or to be told of an error.
        drop(self.stop());
    }
}

/// What a capture recorded, before it is made executable.
struct CapturedGraph<'c> {
    api: &'c Current<'c>,
    /// Null if the capture was invalidated.
    graph: Handle,
}

impl Drop for CapturedGraph<'_> {
    fn drop(&mut self) {
        if self.graph != Handle::NULL {
            // SAFETY: the graph is this object's.
            unsafe { (self.api.graph_destroy)(self.graph) };
        }
    }
}

/// A recorded sequence of launches.
pub struct Graph {
    context: Arc<Context>,
    /// Locked while it is launched: the driver does not synchronize uses of a graph by several threads.
    handle: Mutex<Handle>,
}

impl Graph {
    /// Runs the recorded launches on `stream`.
    ///
    /// # Errors
    /// The driver's error.
    pub fn launch(&self, stream: &Stream) -> Result<(), DriverError> {
        let api = self.context.enter()?;
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: both handles are alive.
        api.check("cuGraphLaunch", unsafe {
            (api.graph_launch)(*handle, stream.handle)
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let Ok(api) = self.context.enter() else { return };
        let handle = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the instance is this object's.
        unsafe { (api.graph_exec_destroy)(*handle) };
    }
}

/// A point in a stream, with its time.
pub struct Event {
    context: Arc<Context>,
    handle: Handle,
}

impl Event {
    /// Creates an event that records time.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(device: &Device) -> Result<Event, DriverError> {
        let api = device.enter()?;
        let mut handle = Handle::NULL;
        // SAFETY: the out-pointer is valid for the call; 0 is the default, which keeps time.
        api.check("cuEventCreate", unsafe { (api.event_create)(&mut handle, 0) })?;
        Ok(Event {
            context: Arc::clone(&device.context),
            handle,
        })
    }

    /// Records the event behind the work that is on `stream` now.
    ///
    /// # Errors
    /// The driver's error.
    pub fn record(&self, stream: &Stream) -> Result<(), DriverError> {
        let api = self.context.enter()?;
        // SAFETY: both handles are alive.
        api.check("cuEventRecord", unsafe {
            (api.event_record)(self.handle, stream.handle)
        })
    }

    /// Microseconds from `start` to this event; waits until this event has completed.
    ///
    /// # Errors
    /// The driver's error, including errors of the kernels in between.
    pub fn microseconds_since(&self, start: &Event) -> Result<f64, DriverError> {
        let api = self.context.enter()?;
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
        let Ok(api) = self.context.enter() else { return };
        // SAFETY: the event is this object's.
        unsafe { (api.event_destroy)(self.handle) };
    }
}
