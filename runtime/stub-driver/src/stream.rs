//! Streams, captures, graphs and events. All work on a stream completes immediately.

use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::record::{self, LaunchRecord};
use crate::{CAPTURE_INVALIDATED, CAPTURE_UNSUPPORTED, INVALID_VALUE, SUCCESS, Status, during};

const CAPTURE_MODE_RELAXED: c_int = 2;
const CAPTURE_STATUS_NONE: c_int = 0;
const CAPTURE_STATUS_ACTIVE: c_int = 1;
const CAPTURE_STATUS_INVALIDATED: c_int = 2;

static NUMBERS: AtomicU64 = AtomicU64::new(1);
/// The number of captures so far, which numbers the next one.
static CAPTURES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static CAPTURE_MODE: Cell<c_int> = const { Cell::new(0) };
    static CAPTURES_OF_THREAD: Cell<u64> = const { Cell::new(0) };
    static GRAPHS_OF_THREAD: Cell<i64> = const { Cell::new(0) };
}

/// A stream. The default stream has no such object.
pub(crate) struct Stream {
    pub(crate) number: u64,
    capture: Mutex<Option<Capture>>,
}

/// A capture: its number, the launches that it has recorded, and whether a call that no capture allows has made it invalid.
struct Capture {
    number: u64,
    launches: Vec<LaunchRecord>,
    is_invalid: bool,
}

/// # Safety
/// The handle is null or a stream that is not destroyed.
unsafe fn stream<'a>(handle: *mut c_void) -> Option<&'a Stream> {
    // SAFETY: passed on to the caller.
    unsafe { handle.cast::<Stream>().as_ref() }
}

impl Stream {
    fn with_capture<T>(&self, work: impl FnOnce(&mut Option<Capture>) -> T) -> T {
        work(&mut self.capture.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Refuses a call on a stream that is capturing, as the driver 580 of an H200 does, and makes the capture invalid.
///
/// # Safety
/// The handle is null or a stream that is not destroyed.
unsafe fn refuse_in_capture(handle: *mut c_void) -> Status {
    // SAFETY: passed on to the caller.
    let stream = unsafe { stream(handle) };
    let refused = stream.map(|stream| {
        stream.with_capture(|capture| match capture {
            Some(capture) => {
                capture.is_invalid = true;
                CAPTURE_UNSUPPORTED
            }
            None => SUCCESS,
        })
    });
    refused.unwrap_or(SUCCESS)
}

/// The number of a stream, 0 for the default stream.
///
/// # Safety
/// The handle is null or a stream that is not destroyed.
pub unsafe fn number(handle: *mut c_void) -> u64 {
    // SAFETY: passed on to the caller.
    unsafe { stream(handle) }.map_or(0, |stream| stream.number)
}

/// The number of graphs and instances of graphs that this thread has created, less those that it has destroyed.
pub fn graphs_of_thread() -> i64 {
    GRAPHS_OF_THREAD.get()
}

/// The handle of a new graph, or of an instance of one.
fn graph(launches: Vec<LaunchRecord>) -> *mut c_void {
    GRAPHS_OF_THREAD.set(GRAPHS_OF_THREAD.get() + 1);
    Box::into_raw(Box::new(launches)).cast()
}

/// Whether a capture of this thread forbids calls that may synchronize, such as allocating memory and loading modules.
pub(crate) fn forbids_waiting() -> bool {
    CAPTURES_OF_THREAD.get() > 0 && CAPTURE_MODE.get() != CAPTURE_MODE_RELAXED
}

/// Records a launch, or adds it to the stream's capture.
///
/// # Safety
/// The handle is null or a stream that is not destroyed.
pub(crate) unsafe fn launch(handle: *mut c_void, launch: LaunchRecord) -> Status {
    // SAFETY: passed on to the caller.
    let captured = unsafe { stream(handle) }.and_then(|stream| {
        stream.with_capture(|capture| {
            let capture = capture.as_mut()?;
            if capture.is_invalid {
                return Some(CAPTURE_INVALIDATED);
            }
            capture.launches.push(launch.clone());
            Some(SUCCESS)
        })
    });
    captured.unwrap_or_else(|| {
        record::add(launch);
        SUCCESS
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamCreate(out: *mut *mut c_void, _flags: c_uint) -> Status {
    let stream = Stream {
        number: NUMBERS.fetch_add(1, Ordering::Relaxed),
        capture: Mutex::new(None),
    };
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = Box::into_raw(Box::new(stream)).cast() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamDestroy_v2(handle: *mut c_void) -> Status {
    // SAFETY: the stream came from `cuStreamCreate`.
    drop(unsafe { Box::from_raw(handle.cast::<Stream>()) });
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamSynchronize(handle: *mut c_void) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { refuse_in_capture(handle) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamGetId(handle: *mut c_void, out: *mut u64) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe {
        *out = number(handle);
        refuse_in_capture(handle)
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamGetCaptureInfo_v2(
    handle: *mut c_void,
    status: *mut c_int,
    number: *mut u64,
    _graph: *mut *mut c_void,
    _dependencies: *mut *const c_void,
    _count: *mut usize,
) -> Status {
    // SAFETY: `cuda.h`'s contract.
    let (told, capture) = unsafe { stream(handle) }.map_or((CAPTURE_STATUS_NONE, None), |stream| {
        stream.with_capture(|capture| match capture {
            None => (CAPTURE_STATUS_NONE, None),
            Some(capture) if capture.is_invalid => (CAPTURE_STATUS_INVALIDATED, None),
            Some(capture) => (CAPTURE_STATUS_ACTIVE, Some(capture.number)),
        })
    });
    // SAFETY: `cuda.h`'s contract; the number may be left out.
    unsafe {
        *status = told;
        if let (Some(capture), false) = (capture, number.is_null()) {
            *number = capture;
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { *mode = CAPTURE_MODE.replace(*mode) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamBeginCapture_v2(handle: *mut c_void, _mode: c_int) -> Status {
    // SAFETY: `cuda.h`'s contract.
    let Some(stream) = (unsafe { stream(handle) }) else {
        return CAPTURE_UNSUPPORTED;
    };
    stream.with_capture(|capture| {
        *capture = Some(Capture {
            number: CAPTURES.fetch_add(1, Ordering::Relaxed),
            launches: Vec::new(),
            is_invalid: false,
        });
    });
    CAPTURES_OF_THREAD.set(CAPTURES_OF_THREAD.get() + 1);
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamEndCapture(handle: *mut c_void, out: *mut *mut c_void) -> Status {
    // SAFETY: `cuda.h`'s contract.
    let capture = unsafe { stream(handle) }.and_then(|stream| stream.with_capture(Option::take));
    let Some(capture) = capture else {
        return INVALID_VALUE;
    };
    CAPTURES_OF_THREAD.set(CAPTURES_OF_THREAD.get() - 1);
    let (status, graph) = match capture.is_invalid {
        true => (CAPTURE_INVALIDATED, ptr::null_mut()),
        false => (SUCCESS, graph(capture.launches)),
    };
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = graph };
    status
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphInstantiateWithFlags(
    out: *mut *mut c_void,
    captured: *mut c_void,
    _flags: u64,
) -> Status {
    // SAFETY: the graph came from `cuStreamEndCapture`.
    let launches = unsafe { &*captured.cast::<Vec<LaunchRecord>>() };
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = graph(launches.clone()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphLaunch(graph: *mut c_void, stream: *mut c_void) -> Status {
    during::begin("cuGraphLaunch");
    // SAFETY: the instance came from `cuGraphInstantiateWithFlags`.
    let launches = unsafe { &*graph.cast::<Vec<LaunchRecord>>() };
    // SAFETY: `cuda.h`'s contract.
    let number = unsafe { number(stream) };
    for launch in launches {
        record::add(LaunchRecord {
            stream: number,
            ..launch.clone()
        });
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphDestroy(graph: *mut c_void) -> Status {
    // SAFETY: the graph came from `cuStreamEndCapture`.
    drop(unsafe { Box::from_raw(graph.cast::<Vec<LaunchRecord>>()) });
    GRAPHS_OF_THREAD.set(GRAPHS_OF_THREAD.get() - 1);
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGraphExecDestroy(graph: *mut c_void) -> Status {
    // SAFETY: the instance came from `cuGraphInstantiateWithFlags`, which represents it like a graph.
    unsafe { cuGraphDestroy(graph) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventCreate(out: *mut *mut c_void, _flags: c_uint) -> Status {
    // SAFETY: `cuda.h`'s contract. An event needs no memory of its own.
    unsafe { *out = ptr::dangling_mut() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventRecord(_event: *mut c_void, _stream: *mut c_void) -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventSynchronize(_event: *mut c_void) -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventElapsedTime(
    milliseconds: *mut f32,
    _start: *mut c_void,
    _end: *mut c_void,
) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { *milliseconds = 1.0 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventDestroy_v2(_event: *mut c_void) -> Status {
    SUCCESS
}
