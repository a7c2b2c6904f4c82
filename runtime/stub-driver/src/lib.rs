//! A stand-in for CUDA's driver, for tests on machines without a GPU: it records launches and runs nothing.
//!
//! Device memory is the host's. A launch is checked as the driver would check it (the current context, the shared memory that
//! was requested, captures) and recorded with its parameters, of which it reads as many bytes as the cubin declares. Rust
//! tests call it in process ([`function`], [`launches`]). Other programs load it as `libcuda.so.1`, and it writes a line for
//! each launch to the file that `NORMA_STUB_LOG` names. `NORMA_STUB_CAPABILITY` sets the compute capability of its devices;
//! the default is `9.0`. `NORMA_STUB_MEMORY_CLOCK` sets the clock of their memory in kHz; the default is an H200's.
//!
//! Every `extern "C"` function here is one of `cuda.h`, with its name and contract: pointers are valid for what the function
//! reads and writes, and handles are those that the stand-in returned.

mod context;
mod during;
mod exchange;
mod memory;
mod module;
mod record;
mod stream;
mod tensor_map;

use std::ffi::{CStr, c_int, c_void};

pub use during::during_next;
pub use record::{LaunchRecord, launches, record};
pub use stream::{graphs_of_thread, number as stream_number};

/// `CUresult`.
type Status = c_int;

const SUCCESS: Status = 0;
const INVALID_VALUE: Status = 1;
const OUT_OF_MEMORY: Status = 2;
const INVALID_IMAGE: Status = 200;
const INVALID_CONTEXT: Status = 201;
const NOT_FOUND: Status = 500;
const CAPTURE_UNSUPPORTED: Status = 900;
const CAPTURE_INVALIDATED: Status = 901;
const INVALID_CLUSTER_SIZE: Status = 912;

/// The number of devices.
pub const DEVICES: u32 = 2;
/// The number of multiprocessors of each device.
pub const MULTIPROCESSORS: u32 = 132;
/// The largest dynamic shared memory of a CTA, in bytes.
pub const LARGEST_SHARED: u32 = 232_448;
/// The most threads of a CTA that fit a multiprocessor.
pub const LARGEST_BLOCK: u32 = 1024;
/// The most CTAs of a cluster of a kernel that does not ask for more.
const PORTABLE_CLUSTER: u32 = 8;
/// The most threads of a cluster for which there is room.
pub const THREADS_OF_CLUSTER: u32 = 8192;
/// The number of CTAs that fit a multiprocessor, of any kernel of which one fits.
pub const CTAS_PER_MULTIPROCESSOR: u32 = 2;

/// Declares the functions that the stand-in has.
macro_rules! functions {
    ($($module:ident: $($name:ident)*;)*) => {
        /// The driver's function with this name; null if the stand-in lacks it.
        pub fn function(name: &CStr) -> *const c_void {
            match name.to_str() {
                $($(Ok(stringify!($name)) => $module::$name as *const c_void,)*)*
                _ => std::ptr::null(),
            }
        }
    };
}

functions! {
    context: cuInit cuGetErrorName cuGetErrorString cuDeviceGet cuDeviceGetCount cuDeviceGetName cuDeviceGetAttribute
        cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuCtxGetCurrent cuCtxPushCurrent_v2 cuCtxPopCurrent_v2
        cuCtxSetCurrent;
    memory: cuMemAlloc_v2 cuMemFree_v2 cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpyDtoDAsync_v2 cuMemsetD8Async;
    module: cuModuleLoadData cuModuleUnload cuModuleGetFunction cuFuncSetAttribute
        cuOccupancyMaxActiveBlocksPerMultiprocessor cuLaunchKernelEx;
    stream: cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize cuStreamGetId cuStreamGetCaptureInfo_v2
        cuThreadExchangeStreamCaptureMode cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphInstantiateWithFlags
        cuGraphLaunch cuGraphDestroy cuGraphExecDestroy cuEventCreate cuEventRecord cuEventSynchronize
        cuEventElapsedTime cuEventDestroy_v2;
    tensor_map: cuTensorMapEncodeTiled;
}
