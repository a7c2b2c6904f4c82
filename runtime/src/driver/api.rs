//! The driver's functions and structs as `cuda.h` declares them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::{offset_of, transmute};
use std::ptr;

use super::DriverError;

/// `CUresult`; 0 is success.
pub(super) type Status = c_int;
/// `CUdeviceptr_v2`.
pub(super) type Address = u64;

/// `CUcontext`, `CUmodule`, `CUfunction`, `CUstream`, `CUevent`, `CUgraph` or `CUgraphExec`: an opaque pointer.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(pub(super) *mut c_void);

// SAFETY: the driver's objects may be used from any thread; nothing here dereferences the pointer.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    pub(super) const NULL: Handle = Handle(ptr::null_mut());
}

const ERROR_STUB_LIBRARY: Status = 34;
const ERROR_NO_DEVICE: Status = 100;

/// `CUlaunchAttribute`: an id, padding to 8 bytes, and a union of 64 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(super) struct LaunchAttribute {
    pub(super) id: c_uint,
    pub(super) padding: [u8; 4],
    pub(super) value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(super) struct LaunchConfig {
    pub(super) grid: [c_uint; 3],
    pub(super) block: [c_uint; 3],
    pub(super) shared_bytes: c_uint,
    pub(super) stream: Handle,
    pub(super) attributes: *const LaunchAttribute,
    pub(super) attribute_count: c_uint,
}

// The layout that a C compiler gives the structs of cuda.h on a 64-bit machine.
const _: () = {
    assert!(size_of::<LaunchAttribute>() == 72 && offset_of!(LaunchAttribute, value) == 8);
    assert!(size_of::<LaunchConfig>() == 56 && offset_of!(LaunchConfig, stream) == 32);
    assert!(offset_of!(LaunchConfig, attributes) == 40 && offset_of!(LaunchConfig, attribute_count) == 48);
};

/// `CUtensorMap`: 128 opaque bytes, which a kernel takes by value.
#[repr(C, align(128))]
#[derive(Clone)]
pub(crate) struct TensorMapDescriptor(pub(super) [u64; 16]);

/// Declares the table of driver functions and how it is filled.
macro_rules! driver_functions {
    ($($field:ident = $symbol:literal ( $($argument:ty),* );)*) => {
        /// The driver's functions that this crate calls.
        pub(crate) struct Api {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> Status,)*
        }

        impl Api {
            /// Looks the functions up by name.
            ///
            /// # Safety
            /// For each name, `find` must return the function that `cuda.h` declares under it, which must stay valid for as
            /// long as the table is used.
            pub(super) unsafe fn find(
                find: &dyn Fn(&CStr) -> Result<*const c_void, String>,
            ) -> Result<Api, DriverError> {
                $(
                    let $field = find($symbol).map_err(DriverError::NoDriver)?;
                    if $field.is_null() {
                        return Err(DriverError::NoDriver(format!("it has no {:?}", $symbol)));
                    }
                )*
                Ok(Api { $(
                    // SAFETY: the address is that of the function, which has this type.
                    $field: unsafe {
                        transmute::<*const c_void, unsafe extern "C" fn($($argument),*) -> Status>($field)
                    },
                )* })
            }
        }
    };
}

driver_functions! {
    init = c"cuInit" (c_uint);
    error_name = c"cuGetErrorName" (Status, *mut *const c_char);
    error_string = c"cuGetErrorString" (Status, *mut *const c_char);
    device_get = c"cuDeviceGet" (*mut c_int, c_int);
    device_count = c"cuDeviceGetCount" (*mut c_int);
    device_name = c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_attribute = c"cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    context_retain = c"cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    context_release = c"cuDevicePrimaryCtxRelease_v2" (c_int);
    context_current = c"cuCtxGetCurrent" (*mut Handle);
    context_push = c"cuCtxPushCurrent_v2" (Handle);
    context_pop = c"cuCtxPopCurrent_v2" (*mut Handle);
    module_load_data = c"cuModuleLoadData" (*mut Handle, *const c_void);
    module_unload = c"cuModuleUnload" (Handle);
    module_function = c"cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    function_set_attribute = c"cuFuncSetAttribute" (Handle, c_int, c_int);
    occupancy = c"cuOccupancyMaxActiveBlocksPerMultiprocessor" (*mut c_int, Handle, c_int, usize);
    launch = c"cuLaunchKernelEx" (*const LaunchConfig, Handle, *const *const c_void, *const *const c_void);
    tensor_map = c"cuTensorMapEncodeTiled" (
        *mut TensorMapDescriptor, c_int, c_uint, *mut c_void, *const u64, *const u64, *const u32, *const u32,
        c_int, c_int, c_int, c_int
    );
    allocate = c"cuMemAlloc_v2" (*mut Address, usize);
    free = c"cuMemFree_v2" (Address);
    copy_in = c"cuMemcpyHtoD_v2" (Address, *const c_void, usize);
    copy_out = c"cuMemcpyDtoH_v2" (*mut c_void, Address, usize);
    copy = c"cuMemcpyDtoDAsync_v2" (Address, Address, usize, Handle);
    fill = c"cuMemsetD8Async" (Address, u8, usize, Handle);
    stream_create = c"cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy = c"cuStreamDestroy_v2" (Handle);
    stream_synchronize = c"cuStreamSynchronize" (Handle);
    stream_id = c"cuStreamGetId" (Handle, *mut u64);
    capture_info = c"cuStreamGetCaptureInfo_v2" (
        Handle, *mut c_int, *mut u64, *mut Handle, *mut *const Handle, *mut usize
    );
    capture_mode = c"cuThreadExchangeStreamCaptureMode" (*mut c_int);
    capture_begin = c"cuStreamBeginCapture_v2" (Handle, c_int);
    capture_end = c"cuStreamEndCapture" (Handle, *mut Handle);
    graph_instantiate = c"cuGraphInstantiateWithFlags" (*mut Handle, Handle, u64);
    graph_launch = c"cuGraphLaunch" (Handle, Handle);
    graph_destroy = c"cuGraphDestroy" (Handle);
    graph_exec_destroy = c"cuGraphExecDestroy" (Handle);
    event_create = c"cuEventCreate" (*mut Handle, c_uint);
    event_record = c"cuEventRecord" (Handle, Handle);
    event_synchronize = c"cuEventSynchronize" (Handle);
    event_elapsed = c"cuEventElapsedTime" (*mut f32, Handle, Handle);
    event_destroy = c"cuEventDestroy_v2" (Handle);
}

impl Api {
    /// Turns the status that `call` returned into an error, unless it is success.
    #[inline]
    pub(super) fn check(&self, call: &'static str, status: Status) -> Result<(), DriverError> {
        if status == 0 {
            return Ok(());
        }
        Err(self.error(call, status))
    }

    /// The error for a status that is not success.
    #[cold]
    pub(super) fn error(&self, call: &'static str, status: Status) -> DriverError {
        let describe = |function: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text = ptr::null();
            // SAFETY: `text` outlives the call, which stores null or a static string in it.
            let known = unsafe { function(status, &mut text) } == 0 && !text.is_null();
            if !known {
                return status.to_string();
            }
            // SAFETY: the driver's error strings are static and end in a null byte.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let (name, text) = (describe(self.error_name), describe(self.error_string));
        match status {
            ERROR_NO_DEVICE => DriverError::NoDevice(text),
            ERROR_STUB_LIBRARY => DriverError::NoDriver(text),
            _ => DriverError::Call { call, name, text },
        }
    }
}
