//! Devices, and their primary contexts.

use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::api::{Api, Handle};
use super::{Driver, DriverError};

const DEVICE_MULTIPROCESSOR_COUNT: c_int = 16;
/// In kHz.
const DEVICE_MEMORY_CLOCK_RATE: c_int = 36;
/// In bits.
const DEVICE_MEMORY_BUS_WIDTH: c_int = 37;
const DEVICE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const DEVICE_COMPUTE_CAPABILITY_MINOR: c_int = 76;

/// The retained primary context of a device, which every other object here keeps alive.
pub(super) struct Context {
    driver: Arc<Driver>,
    device: c_int,
    handle: Handle,
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: balances the retain of `Device::open`; nothing of the context is left, because every object holds an `Arc`
        // of it.
        unsafe { (self.driver.api.context_release)(self.device) };
    }
}

/// The driver's functions while a context is current on this thread.
pub(crate) struct Current<'c> {
    api: &'c Api,
    /// Whether the context was pushed onto the thread's stack and has to be popped again.
    is_pushed: bool,
    /// Keeps the value, and what borrows it, on this thread, whose stack it is.
    of_thread: PhantomData<*const ()>,
}

impl Context {
    /// Makes the context current on this thread until the result is dropped, unless it is current already.
    ///
    /// # Errors
    /// The driver's error.
    pub(super) fn enter(&self) -> Result<Current<'_>, DriverError> {
        let api = &self.driver.api;
        let mut current = Handle::NULL;
        // SAFETY: the out-pointer is valid for the call.
        api.check("cuCtxGetCurrent", unsafe { (api.context_current)(&mut current) })?;
        let is_pushed = current != self.handle;
        if is_pushed {
            // SAFETY: the context is retained for as long as `self` lives.
            api.check("cuCtxPushCurrent", unsafe { (api.context_push)(self.handle) })?;
        }
        Ok(Current {
            api,
            is_pushed,
            of_thread: PhantomData,
        })
    }
}

impl Deref for Current<'_> {
    type Target = Api;
    fn deref(&self) -> &Api {
        self.api
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if self.is_pushed {
            let mut popped = Handle::NULL;
            // SAFETY: the context on top is the one that `enter` pushed.
            unsafe { (self.api.context_pop)(&mut popped) };
        }
    }
}

/// A GPU. Clones refer to the same GPU.
#[derive(Clone)]
pub struct Device {
    pub(super) context: Arc<Context>,
    /// The driver's ordinal for it.
    pub ordinal: u32,
    /// The marketing name.
    pub name: String,
    /// The compute capability, major and minor.
    pub capability: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The bandwidth of its memory in bytes a second, which is twice its clock rate times the width of its bus; `None` if the driver does
    /// not know them.
    pub bandwidth: Option<u64>,
}

impl Device {
    /// Opens device `ordinal` of a driver.
    ///
    /// # Errors
    /// [`DriverError::NoDevice`] if there is no device with this ordinal, or the driver's error.
    pub fn open(driver: &Arc<Driver>, ordinal: u32) -> Result<Device, DriverError> {
        let count = driver.device_count()?;
        let api = &driver.api;
        if ordinal >= count {
            return Err(DriverError::NoDevice(format!(
                "expected a device below {count}, got {ordinal}"
            )));
        }
        let mut device = 0;
        // SAFETY: the out-pointer is valid for the call; `ordinal` is below the count, so it fits.
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
        let clock_khz = attribute(DEVICE_MEMORY_CLOCK_RATE).unwrap_or(0);
        let bus_bits = attribute(DEVICE_MEMORY_BUS_WIDTH).unwrap_or(0);
        let bandwidth = 2000 * u64::from(clock_khz) * (u64::from(bus_bits) / 8);
        let mut handle = Handle::NULL;
        // SAFETY: the out-pointer is valid for the call.
        let retained = unsafe { (api.context_retain)(&mut handle, device) };
        api.check("cuDevicePrimaryCtxRetain", retained)?;
        let context = Arc::new(Context {
            driver: Arc::clone(driver),
            device,
            handle,
        });
        Ok(Device {
            context,
            ordinal,
            name,
            capability,
            multiprocessors,
            bandwidth: (bandwidth > 0).then_some(bandwidth),
        })
    }

    /// The driver's functions, with the device's context current on this thread.
    pub(crate) fn enter(&self) -> Result<Current<'_>, DriverError> {
        self.context.enter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::RelaxedCapture;

    /// Has one `name` for every type, and a second one for types that may leave their thread, between which the compiler cannot
    /// choose.
    trait StaysOnThread<Choice> {
        fn name() -> &'static str;
    }

    struct May;

    impl<T> StaysOnThread<()> for T {
        fn name() -> &'static str {
            std::any::type_name::<T>()
        }
    }

    impl<T: Send> StaysOnThread<May> for T {
        fn name() -> &'static str {
            std::any::type_name::<T>()
        }
    }

    /// It does not compile otherwise.
    #[test]
    fn what_changes_the_state_of_a_thread_stays_on_it() {
        assert!(<Current<'_> as StaysOnThread<_>>::name().contains("Current"));
        assert!(<&Current<'_> as StaysOnThread<_>>::name().contains("Current"));
        assert!(<RelaxedCapture<'_> as StaysOnThread<_>>::name().contains("RelaxedCapture"));
    }
}
