//! Presents host tensors as a GPU's: wraps a framework's DLPack exchange API and replaces the device.
//!
//! Frameworks cannot create GPU tensors on a machine without a GPU. Their host tensors serve as well, because the stand-in's
//! memory is the host's.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::{SUCCESS, Status};

/// `kDLCPU` and `kDLCUDA`.
const CPU: i32 = 1;
const CUDA: i32 = 2;

/// The beginning of `DLTensor`, up to its device.
#[repr(C)]
pub(crate) struct Tensor {
    data: *mut c_void,
    kind: i32,
    ordinal: i32,
    rest: [u64; 4],
}

/// `DLPackExchangeAPI`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Api {
    version: [u32; 2],
    previous: *const c_void,
    allocate: unsafe extern "C" fn(*mut Tensor, *mut c_void, *mut c_void, *mut c_void) -> c_int,
    managed_from_object: *const c_void,
    object_from_managed: *const c_void,
    borrow: unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int,
    current_stream: unsafe extern "C" fn(c_int, i32, *mut *mut c_void) -> Status,
}

// SAFETY: its contents never change, and DLPack allows its functions to be called from any thread.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

/// The framework's own API.
static ORIGINAL: OnceLock<Api> = OnceLock::new();
/// The wrapped API.
static CHANGED: OnceLock<Api> = OnceLock::new();

/// Wraps a framework's exchange API: device 0 of the stand-in replaces the host, and the current stream is the default
/// stream. Only one framework per process can be wrapped.
///
/// # Safety
/// `original` is a `DLPackExchangeAPI` of version 1.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn norma_stub_exchange_api(original: *const Api) -> *const Api {
    // SAFETY: passed on to the caller.
    let original = *ORIGINAL.get_or_init(|| unsafe { *original });
    CHANGED.get_or_init(|| Api {
        previous: ptr::null(),
        allocate,
        borrow,
        current_stream,
        ..original
    })
}

unsafe extern "C" fn allocate(
    prototype: *mut Tensor,
    out: *mut c_void,
    context: *mut c_void,
    set_error: *mut c_void,
) -> c_int {
    let Some(original) = ORIGINAL.get() else { return -1 };
    // SAFETY: the contract of `DLPackExchangeAPI`.
    unsafe {
        (*prototype).kind = CPU;
        (original.allocate)(prototype, out, context, set_error)
    }
}

unsafe extern "C" fn borrow(object: *mut c_void, out: *mut Tensor) -> c_int {
    let Some(original) = ORIGINAL.get() else { return -1 };
    // SAFETY: the contract of `DLPackExchangeAPI`.
    unsafe {
        let status = (original.borrow)(object, out);
        if status == 0 && (*out).kind == CPU {
            ((*out).kind, (*out).ordinal) = (CUDA, 0);
        }
        status
    }
}

unsafe extern "C" fn current_stream(_kind: c_int, _ordinal: i32, out: *mut *mut c_void) -> Status {
    // SAFETY: the contract of `DLPackExchangeAPI`.
    unsafe { *out = ptr::null_mut() };
    SUCCESS
}

/// Sets whether launches are recorded, for programs that load the stand-in as `libcuda.so.1`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn norma_stub_record(is_recorded: bool) {
    crate::record(is_recorded);
}
