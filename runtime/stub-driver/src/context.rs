//! Devices, their contexts, and the context that is current on a thread.

use std::cell::RefCell;
use std::env;
use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::{DEVICES, INVALID_CONTEXT, INVALID_VALUE, MULTIPROCESSORS, SUCCESS, Status};

/// The address of an element identifies the context of a device.
static CONTEXTS: [u8; DEVICES as usize] = [0; DEVICES as usize];

thread_local! {
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

fn handle(device: usize) -> *mut c_void {
    (&raw const CONTEXTS[device]).cast_mut().cast()
}

/// The device whose context is current on this thread.
pub(crate) fn current() -> Option<usize> {
    STACK.with_borrow(|stack| stack.last().copied())
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuInit(_flags: c_uint) -> Status {
    SUCCESS
}

/// Stores a pointer to a null-terminated string.
unsafe fn tell(text: &'static [u8], out: *mut *const c_char) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = text.as_ptr().cast() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetErrorName(status: Status, out: *mut *const c_char) -> Status {
    let name: &[u8] = match status {
        INVALID_VALUE => b"CUDA_ERROR_INVALID_VALUE\0",
        crate::OUT_OF_MEMORY => b"CUDA_ERROR_OUT_OF_MEMORY\0",
        crate::INVALID_IMAGE => b"CUDA_ERROR_INVALID_IMAGE\0",
        INVALID_CONTEXT => b"CUDA_ERROR_INVALID_CONTEXT\0",
        crate::NOT_FOUND => b"CUDA_ERROR_NOT_FOUND\0",
        crate::CAPTURE_UNSUPPORTED => b"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED\0",
        crate::CAPTURE_INVALIDATED => b"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED\0",
        _ => return INVALID_VALUE,
    };
    // SAFETY: `cuda.h`'s contract.
    unsafe { tell(name, out) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuGetErrorString(_status: Status, out: *mut *const c_char) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { tell(b"the stand-in refuses it\0", out) }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { *device = ordinal };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { *count = DEVICES as c_int };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetName(out: *mut c_char, length: c_int, _device: c_int) -> Status {
    let name = b"stand-in\0";
    let count = name.len().min(length as usize);
    // SAFETY: `cuda.h`'s contract.
    unsafe { out.copy_from_nonoverlapping(name.as_ptr().cast(), count) };
    SUCCESS
}

/// The width of the memory's bus, in bits: an H200's.
const MEMORY_BUS_BITS: c_int = 6144;

/// The memory clock in kHz from the environment; an H200's if it is not set.
fn memory_clock() -> c_int {
    const OF_H200: c_int = 3_201_000;
    let clock = env::var("NORMA_STUB_MEMORY_CLOCK").ok();
    clock.and_then(|clock| clock.parse().ok()).unwrap_or(OF_H200)
}

/// The compute capability from the environment.
fn capability() -> (c_int, c_int) {
    let told = env::var("NORMA_STUB_CAPABILITY").unwrap_or_default();
    let parsed = told
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parsed.unwrap_or((9, 0))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetAttribute(
    out: *mut c_int,
    which: c_int,
    _device: c_int,
) -> Status {
    let value = match which {
        16 => MULTIPROCESSORS as c_int,
        36 => memory_clock(),
        37 => MEMORY_BUS_BITS,
        75 => capability().0,
        76 => capability().1,
        _ => return INVALID_VALUE,
    };
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = value };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxRetain(out: *mut *mut c_void, device: c_int) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = handle(device as usize) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> Status {
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxGetCurrent(out: *mut *mut c_void) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = current().map_or(std::ptr::null_mut(), handle) };
    SUCCESS
}

/// The device of a context.
fn device_of(context: *mut c_void) -> Option<usize> {
    (0..CONTEXTS.len()).find(|device| handle(*device) == context)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> Status {
    let Some(device) = device_of(context) else {
        return INVALID_CONTEXT;
    };
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        stack.push(device);
    });
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxPushCurrent_v2(context: *mut c_void) -> Status {
    let Some(device) = device_of(context) else {
        return INVALID_CONTEXT;
    };
    STACK.with_borrow_mut(|stack| stack.push(device));
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxPopCurrent_v2(out: *mut *mut c_void) -> Status {
    let Some(device) = STACK.with_borrow_mut(Vec::pop) else {
        return INVALID_CONTEXT;
    };
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = handle(device) };
    SUCCESS
}
