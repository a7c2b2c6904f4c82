//! The CUDA driver, loaded at run time: the few calls that a launcher needs, behind types that free what they own.
//!
//! Signatures, struct layouts and `_v2` names are those of `cuda.h` of CUDA 13.0; all of them have existed since CUDA 12.0.
//! Everything may be used from any thread: a function that needs a context makes the device's primary context, which the CUDA
//! runtime and frameworks share, current while it runs. Each object keeps the driver and the context alive for as long as it
//! lives.

mod api;
mod capture;
mod device;
mod kernel;
mod memory;
mod stream;

use std::error::Error as _;
use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;
use thiserror::Error;

use self::api::Api;
pub(crate) use self::api::TensorMapDescriptor;
pub(crate) use self::capture::{RelaxedCapture, StreamIdentity};
pub(crate) use self::device::Current;
pub use self::device::Device;
pub(crate) use self::kernel::{Kernel, Launch, Module, TensorMapShape};
pub use self::memory::Buffer;
pub use self::stream::{Event, Graph, Stream, StreamHandle};

/// The system's driver.
const LIBRARY: &str = "libcuda.so.1";

/// An error of the driver or the device.
#[derive(Clone, Debug, Error)]
pub enum DriverError {
    /// There is no driver.
    #[error("no CUDA driver: {0}")]
    NoDriver(String),
    /// There is a driver, but no device.
    #[error("no GPU: {0}")]
    NoDevice(String),
    /// A call failed.
    #[error("{call} failed: {name} ({text})")]
    Call {
        /// The driver's function.
        call: &'static str,
        /// The error's name, such as `CUDA_ERROR_OUT_OF_MEMORY`.
        name: String,
        /// The driver's description.
        text: String,
    },
    /// Not one CTA of a kernel can be resident on a multiprocessor, by its threads, registers or shared memory.
    #[error(
        "kernel '{kernel}' does not fit the device: a multiprocessor holds none of its CTAs of {threads} threads with \
         {shared_bytes} bytes of dynamic shared memory"
    )]
    Occupancy {
        /// The kernel.
        kernel: String,
        /// The threads of a CTA.
        threads: u32,
        /// The dynamic shared memory of a CTA, in bytes.
        shared_bytes: u32,
    },
    /// No group of multiprocessors has room for a cluster of a kernel, which is larger than what every device with clusters has room for.
    #[error(
        "kernel '{kernel}' does not fit the device, which has no room for a cluster of {ctas} CTAs; normac --portable-clusters chooses \
         schedules without such clusters"
    )]
    ClusterRoom {
        /// The kernel.
        kernel: String,
        /// The CTAs of a cluster.
        ctas: u32,
    },
}

/// Why the library was not loaded.
fn unloaded(error: &libloading::Error) -> String {
    let reason = reason(error);
    let prefix = format!("{LIBRARY}: ");
    format!(
        "cannot load {prefix}{}",
        reason.strip_prefix(&prefix).unwrap_or(&reason)
    )
}

/// The dynamic linker's message; `libloading` itself says only which call failed.
fn reason(error: &libloading::Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), |linker| linker.to_string())
}

/// A driver that has been initialised.
pub struct Driver {
    api: Api,
    /// Keeps the functions mapped, if a library was opened for them.
    _library: Option<Library>,
}

impl Driver {
    /// The system's driver, `libcuda.so.1`.
    ///
    /// # Errors
    /// [`DriverError::NoDriver`] if there is none or it is too old, [`DriverError::NoDevice`] if it has no device.
    pub fn open() -> Result<Arc<Driver>, DriverError> {
        // SAFETY: the driver's initialisation routines have no requirement on the caller.
        let library = unsafe { Library::new(LIBRARY) };
        let library = library.map_err(|error| DriverError::NoDriver(unloaded(&error)))?;
        let find = |name: &CStr| {
            // SAFETY: nothing is read through the address here.
            let symbol = unsafe { library.get::<*const c_void>(name) };
            symbol.map(|symbol| *symbol).map_err(|error| reason(&error))
        };
        // SAFETY: the library's symbols are the driver's functions, and it stays open beside the table.
        let api = unsafe { Api::find(&find) }?;
        Driver::initialised(api, Some(library))
    }

    /// The system's driver, shared by all callers; the first call opens it, and it stays open.
    ///
    /// # Errors
    /// As [`Driver::open`].
    pub fn shared() -> Result<Arc<Driver>, DriverError> {
        static SHARED: Mutex<Option<Arc<Driver>>> = Mutex::new(None);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = shared.as_ref() {
            return Ok(Arc::clone(driver));
        }
        Ok(Arc::clone(shared.insert(Driver::open()?)))
    }

    /// A driver whose functions are already in this process, such as a stand-in for tests.
    ///
    /// # Errors
    /// As [`Driver::open`]; `find` returns null for a missing function.
    ///
    /// # Safety
    /// For each name, `find` must return null or a function that may be called as `cuda.h` declares it, for as long as the
    /// driver and the objects created by it live.
    pub unsafe fn with_functions(find: impl Fn(&CStr) -> *const c_void) -> Result<Arc<Driver>, DriverError> {
        // SAFETY: passed on to the caller.
        let api = unsafe { Api::find(&|name| Ok(find(name))) }?;
        Driver::initialised(api, None)
    }

    fn initialised(api: Api, library: Option<Library>) -> Result<Arc<Driver>, DriverError> {
        // SAFETY: 0 is the only flag that cuInit takes.
        api.check("cuInit", unsafe { (api.init)(0) })?;
        Ok(Arc::new(Driver {
            api,
            _library: library,
        }))
    }

    /// The number of devices.
    ///
    /// # Errors
    /// The driver's error.
    pub fn device_count(&self) -> Result<u32, DriverError> {
        let mut count = 0;
        // SAFETY: the out-pointer is valid for the call.
        let counted = unsafe { (self.api.device_count)(&mut count) };
        self.api.check("cuDeviceGetCount", counted)?;
        Ok(count.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_loaded_is_named_with_the_reason() {
        // SAFETY: there is no such library, so that none is initialised.
        let error = unsafe { Library::new("libnorma_none.so.1") }.unwrap_err();
        assert_eq!(
            unloaded(&error),
            "cannot load libcuda.so.1: libnorma_none.so.1: cannot open shared object file: No such file or directory"
        );
    }
}
