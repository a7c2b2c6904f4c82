//! A function that can be called on any device.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::bundle::Bundle;
use crate::driver::{Device, Driver, DriverError, StreamHandle};
use crate::error::{CallError, Error};
use crate::function::Function;
use crate::tensor::{Scalar, Tensor};

/// A function that is loaded on each device once, by the first call on that device. It may be called from any thread.
pub struct FunctionEverywhere {
    bundle: Arc<Bundle>,
    name: String,
    driver: Arc<Driver>,
    /// One for each device.
    places: Box<[Place]>,
}

/// The function on one device.
#[derive(Default)]
struct Place {
    loaded: OnceLock<Function>,
    /// Held while the function is loaded. Each device has its own: loading waits for the work on its device (measured with
    /// driver 580 on an H200), which may wait for a launch on another.
    loading: Mutex<()>,
}

impl FunctionEverywhere {
    /// Finds the function with this name. Nothing is loaded yet.
    ///
    /// # Errors
    /// A target of the bundle does not have the function, or the driver's error.
    pub fn new(bundle: &Arc<Bundle>, driver: &Arc<Driver>, name: &str) -> Result<Self, Error> {
        for target in bundle.targets() {
            target.manifest.function(Some(name))?;
        }
        let devices = driver.device_count()?;
        Ok(FunctionEverywhere {
            bundle: Arc::clone(bundle),
            name: name.to_owned(),
            driver: Arc::clone(driver),
            places: (0..devices).map(|_| Place::default()).collect(),
        })
    }

    /// Returns the function on device `ordinal`, and loads it if it is not loaded yet, which waits for the work that is on the
    /// device. To avoid a slow first launch, call this beforehand.
    ///
    /// # Errors
    /// There is no such device, or as [`Function::load`].
    pub fn on(&self, ordinal: u32) -> Result<&Function, Error> {
        let place = self.place(ordinal)?;
        if let Some(function) = place.loaded.get() {
            return Ok(function);
        }
        let _turn = place.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = place.loaded.get() {
            return Ok(function);
        }
        let device = Device::open(&self.driver, ordinal)?;
        let function = Function::load(&self.bundle, &device, &self.name)?;
        Ok(place.loaded.get_or_init(|| function))
    }

    fn place(&self, ordinal: u32) -> Result<&Place, Error> {
        let place = self.places.get(ordinal as usize);
        place.ok_or_else(|| {
            let count = self.places.len();
            let message = format!("expected a device below {count}, got {ordinal}");
            DriverError::NoDevice(message).into()
        })
    }

    /// Frees the scratch memory of calls on a stream of device `ordinal`, and of captures on it. Nothing is loaded for it.
    ///
    /// # Errors
    /// There is no such device, or as [`Function::release_scratch`].
    ///
    /// # Safety
    /// As [`Function::release_scratch`].
    pub unsafe fn release_scratch(&self, ordinal: u32, stream: StreamHandle) -> Result<(), Error> {
        match self.place(ordinal)?.loaded.get() {
            // SAFETY: passed on to the caller.
            Some(function) => Ok(unsafe { function.release_scratch(stream) }?),
            None => Ok(()),
        }
    }

    /// The name of the function's first tensor.
    fn first_tensor(&self) -> &str {
        let mut functions = self
            .bundle
            .targets()
            .iter()
            .filter_map(|target| target.manifest.function(Some(&self.name)).ok());
        let first = functions.next().and_then(|function| function.tensors().next());
        first.map_or("", |tensor| &tensor.name)
    }

    /// Launches the function on the device of its first tensor, as [`Function::launch`] does.
    ///
    /// # Errors
    /// As [`FunctionEverywhere::on`] and [`Function::launch`].
    ///
    /// # Safety
    /// As [`Function::launch`].
    pub unsafe fn launch(
        &self,
        tensors: &[&Tensor<'_>],
        scalars: &[Scalar],
        stream: StreamHandle,
    ) -> Result<(), Error> {
        let refuse = |message: String| Err(CallError::Argument(message).of(&self.name));
        let Some(first) = tensors.first() else {
            return refuse("expected tensors, got none".to_owned());
        };
        let Some(device) = first.device.cuda_ordinal() else {
            return refuse(format!(
                "expected '{}' to be in the memory of a GPU, got {}",
                self.first_tensor(),
                first.device
            ));
        };
        // SAFETY: passed on to the caller.
        unsafe { self.on(device)?.launch(tensors, scalars, stream) }
    }
}
