//! The driver's functions and structs as `cuda.h` declares them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::ptr;

use libloading::Library;

use super::DriverError;

/// `CUresult`; 0 is success.
pub(super) type Status = c_int;
/// `CUdeviceptr_v2`.
pub(super) type Address = u64;
/// `CUcontext`, `CUmodule`, `CUfunction`, `CUstream`, `CUevent`, `CUgraph` and `CUgraphExec` are opaque pointers.
pub(super) type Handle = *mut c_void;

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
    pub(super) attributes: *mut LaunchAttribute,
    pub(super) attribute_count: c_uint,
}

// What a C compiler makes of cuda.h on a 64-bit machine.
const _: () = {
    assert!(size_of::<LaunchAttribute>() == 72 && offset_of!(LaunchAttribute, value) == 8);
    assert!(size_of::<LaunchConfig>() == 56 && offset_of!(LaunchConfig, stream) == 32);
    assert!(offset_of!(LaunchConfig, attributes) == 40 && offset_of!(LaunchConfig, attribute_count) == 48);
};

/// `CUtensorMap`: 128 opaque bytes, which a kernel takes by value.
#[repr(C, align(128))]
#[derive(Clone)]
pub struct TensorMapDescriptor(pub(super) [u64; 16]);

/// Declares the table of driver functions and how it is filled.
macro_rules! driver_functions {
    ($($field:ident = $symbol:literal ( $($argument:ty),* );)*) => {
        /// The driver's functions that this program calls.
        pub(super) struct Api {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> Status,)*
            /// Keeps the functions above mapped.
            _library: Library,
        }

        impl Api {
            /// Finds the driver and its functions.
            pub(super) fn load() -> Result<Api, DriverError> {
                let missing = |error: libloading::Error| DriverError::NoDriver(error.to_string());
                // SAFETY: the driver's initialisation routines have no requirement on the caller.
                let library = unsafe { Library::new("libcuda.so.1") }.map_err(missing)?;
                $(
                    // SAFETY: the type is the symbol's in cuda.h.
                    let $field = *unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) -> Status>($symbol)
                    }.map_err(missing)?;
                )*
                Ok(Api { $($field,)* _library: library })
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
    context_set_current = c"cuCtxSetCurrent" (Handle);
    module_load_data = c"cuModuleLoadData" (*mut Handle, *const c_void);
    module_unload = c"cuModuleUnload" (Handle);
    module_function = c"cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    function_set_attribute = c"cuFuncSetAttribute" (Handle, c_int, c_int);
    occupancy = c"cuOccupancyMaxActiveBlocksPerMultiprocessor" (*mut c_int, Handle, c_int, usize);
    launch = c"cuLaunchKernelEx" (*const LaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void);
    tensor_map = c"cuTensorMapEncodeTiled" (
        *mut TensorMapDescriptor, c_int, c_uint, *mut c_void, *const u64, *const u64, *const u32, *const u32,
        c_int, c_int, c_int, c_int
    );
    allocate = c"cuMemAlloc_v2" (*mut Address, usize);
    free = c"cuMemFree_v2" (Address);
    copy_in = c"cuMemcpyHtoD_v2" (Address, *const c_void, usize);
    copy_out = c"cuMemcpyDtoH_v2" (*mut c_void, Address, usize);
    fill = c"cuMemsetD8_v2" (Address, u8, usize);
    synchronize = c"cuCtxSynchronize" ();
    stream_create = c"cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy = c"cuStreamDestroy_v2" (Handle);
    stream_synchronize = c"cuStreamSynchronize" (Handle);
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
    /// The error that `call` returned as `status`, if it is one.
    pub(super) fn check(&self, call: &'static str, status: Status) -> Result<(), DriverError> {
        if status == 0 {
            return Ok(());
        }
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
            ERROR_NO_DEVICE => Err(DriverError::NoDevice(text)),
            ERROR_STUB_LIBRARY => Err(DriverError::NoDriver(text)),
            _ => Err(DriverError::Call { call, name, text }),
        }
    }
}
