//! A stand-in for CUDA's driver, for tests on machines without a GPU: it keeps the books and runs nothing.
//!
//! Memory is the host's. A launch is checked as the driver would check it (the current context, the shared memory that was
//! asked for, captures) and recorded with its parameters, of which it takes as many bytes as the cubin says. Rust tests
//! call it in process ([`function`], [`launches`]); other programs find it as `libcuda.so.1`, and each launch is a line of the
//! file that `NORMA_STUB_LOG` names. `NORMA_STUB_CAPABILITY` is the compute capability of its devices, `9.0` unless told.
//!
//! Every `extern "C"` function here is one of `cuda.h`, under its name and with its contract: pointers are valid for what the
//! function reads and writes, handles are those that the stand-in gave out.

mod context;
mod exchange;
mod memory;
mod module;
mod record;
mod stream;
mod tensor_map;

use std::ffi::{CStr, c_int, c_void};

pub use record::{LaunchRecord, launches, record};
pub use stream::number as stream_number;

/// `CUresult`.
type Status = c_int;

const SUCCESS: Status = 0;
const INVALID_VALUE: Status = 1;
const OUT_OF_MEMORY: Status = 2;
const INVALID_IMAGE: Status = 200;
const INVALID_CONTEXT: Status = 201;
const NOT_FOUND: Status = 500;
const CAPTURE_UNSUPPORTED: Status = 900;

/// How many devices there are.
pub const DEVICES: u32 = 2;
/// The multiprocessors of each.
pub const MULTIPROCESSORS: u32 = 132;
/// The most dynamic shared memory of a CTA, in bytes.
pub const LARGEST_SHARED: u32 = 232_448;
/// How many CTAs of any kernel fit a multiprocessor.
pub const CTAS_PER_MULTIPROCESSOR: u32 = 2;

/// Declares which functions there are.
macro_rules! functions {
    ($($module:ident: $($name:ident)*;)*) => {
        /// The driver's function of that name; null if the stand-in lacks it.
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
