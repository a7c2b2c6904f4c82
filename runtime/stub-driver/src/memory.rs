//! Device memory, backed by host memory.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::{
    CAPTURE_UNSUPPORTED, INVALID_CONTEXT, INVALID_VALUE, OUT_OF_MEMORY, SUCCESS, Status, context, during,
    stream,
};

/// The minimum alignment of the driver's allocations, in bytes.
const ALIGNMENT: usize = 256;

static ALLOCATIONS: Mutex<Option<HashMap<u64, Layout>>> = Mutex::new(None);

fn with_allocations<T>(work: impl FnOnce(&mut HashMap<u64, Layout>) -> T) -> T {
    let mut allocations = ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    work(allocations.get_or_insert_default())
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemAlloc_v2(out: *mut u64, bytes: usize) -> Status {
    if context::current().is_none() {
        return INVALID_CONTEXT;
    }
    if stream::forbids_waiting() {
        return CAPTURE_UNSUPPORTED;
    }
    let Ok(layout) = Layout::from_size_align(bytes, ALIGNMENT) else {
        return OUT_OF_MEMORY;
    };
    if bytes == 0 {
        return INVALID_VALUE;
    }
    // SAFETY: the size is not zero.
    let address = unsafe { alloc(layout) };
    if address.is_null() {
        return OUT_OF_MEMORY;
    }
    with_allocations(|allocations| allocations.insert(address as u64, layout));
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = address as u64 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemFree_v2(address: u64) -> Status {
    during::begin("cuMemFree_v2");
    let Some(layout) = with_allocations(|allocations| allocations.remove(&address)) else {
        return INVALID_VALUE;
    };
    // SAFETY: the allocation was made with that layout, and its entry is gone.
    unsafe { dealloc(address as *mut u8, layout) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { ptr::copy(from.cast::<u8>(), to as *mut u8, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { ptr::copy(from as *const u8, to.cast::<u8>(), bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemcpyDtoDAsync_v2(
    to: u64,
    from: u64,
    bytes: usize,
    _stream: *mut c_void,
) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { ptr::copy(from as *const u8, to as *mut u8, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuMemsetD8Async(
    to: u64,
    value: u8,
    bytes: usize,
    _stream: *mut c_void,
) -> Status {
    // SAFETY: `cuda.h`'s contract.
    unsafe { ptr::write_bytes(to as *mut u8, value, bytes) };
    SUCCESS
}
