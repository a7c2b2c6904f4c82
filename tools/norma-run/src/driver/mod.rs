//! The CUDA driver, loaded at run time: the few calls that a launcher needs, behind types that free what they own.
//!
//! Signatures, struct layouts and `_v2` names are those of `cuda.h` of CUDA 13.0; all of them have existed since
//! CUDA 12.0. Everything here belongs to one thread, on which [`Device::open`] made the device's primary context
//! current; each object holds the library open and the context retained for as long as it lives.

mod api;
mod kernel;
mod memory;
mod stream;

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::rc::Rc;

use thiserror::Error;

use self::api::Api;
pub use self::kernel::{Function, Launch, Parameter, TensorMapShape};
pub use self::memory::Buffer;
pub use self::stream::Stream;

const DEVICE_MULTIPROCESSOR_COUNT: c_int = 16;
const DEVICE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const DEVICE_COMPUTE_CAPABILITY_MINOR: c_int = 76;

/// What goes wrong between here and the device.
#[derive(Debug, Error)]
pub enum DriverError {
    /// There is no driver.
    #[error("no CUDA driver: {0}")]
    NoDriver(String),
    /// There is a driver, but no device for it.
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
}

/// The retained primary context; what every other object here keeps alive.
struct Context {
    api: Api,
    ordinal: c_int,
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: balances the retain of `Device::open`; nothing of the context is left, as everything holds an `Rc`.
        unsafe { (self.api.context_release)(self.ordinal) };
    }
}

/// A GPU whose primary context is current on this thread.
pub struct Device {
    context: Rc<Context>,
    /// The marketing name.
    pub name: String,
    /// The compute capability.
    pub capability: (u32, u32),
    /// How many multiprocessors it has.
    pub multiprocessors: u32,
}

impl Device {
    /// Loads the driver and makes device `ordinal` current.
    ///
    /// # Errors
    /// [`DriverError::NoDriver`] or [`DriverError::NoDevice`] where there is none.
    pub fn open(ordinal: u32) -> Result<Device, DriverError> {
        let api = Api::load()?;
        // SAFETY: 0 is the only flag that cuInit takes.
        api.check("cuInit", unsafe { (api.init)(0) })?;
        let mut count = 0;
        // SAFETY: the out-pointer is valid for the call.
        api.check("cuDeviceGetCount", unsafe { (api.device_count)(&mut count) })?;
        if i64::from(ordinal) >= i64::from(count) {
            return Err(DriverError::NoDevice(format!(
                "expected a device below {count}, got {ordinal}"
            )));
        }
        let mut device = 0;
        // SAFETY: as above; `ordinal` is below the count, so it fits.
        api.check("cuDeviceGet", unsafe {
            (api.device_get)(&mut device, ordinal as c_int)
        })?;
        let mut name = [0 as c_char; 256];
        // SAFETY: the buffer is as long as stated, and the driver ends the name in a null byte within it.
        let named = unsafe { (api.device_name)(name.as_mut_ptr(), name.len() as c_int, device) };
        api.check("cuDeviceGetName", named)?;
        // SAFETY: the last byte is still null, whatever the driver wrote before it.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }
            .to_string_lossy()
            .into_owned();
        let attribute = |which: c_int| {
            let mut value = 0;
            // SAFETY: the out-pointer is valid for the call.
            let status = unsafe { (api.device_attribute)(&mut value, which, device) };
            api.check("cuDeviceGetAttribute", status)
                .map(|()| value.unsigned_abs())
        };
        let capability = (
            attribute(DEVICE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(DEVICE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let multiprocessors = attribute(DEVICE_MULTIPROCESSOR_COUNT)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the out-pointer is valid for the call.
        let retained = unsafe { (api.context_retain)(&mut handle, device) };
        api.check("cuDevicePrimaryCtxRetain", retained)?;
        let context = Rc::new(Context { api, ordinal: device });
        // SAFETY: `handle` was retained above.
        let current = unsafe { (context.api.context_set_current)(handle) };
        context.api.check("cuCtxSetCurrent", current)?;
        Ok(Device {
            context,
            name,
            capability,
            multiprocessors,
        })
    }
}
