//! A function that a program in Rust embeds together with its bundle.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::bundle::{Bundle, Files};
use crate::driver::{Driver, StreamHandle};
use crate::error::Error;
use crate::everywhere::FunctionEverywhere;
use crate::tensor::{Scalar, Tensor};

/// A function and its bundle in static memory, for the system's driver. The function is created at its first use.
pub struct Embedded {
    name: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    function: OnceLock<FunctionEverywhere>,
    /// Held while the function is created.
    making: Mutex<()>,
}

impl Embedded {
    /// The function `name` of a bundle of these files, given by their paths from the bundle's folder.
    pub const fn new(name: &'static str, files: &'static [(&'static str, &'static [u8])]) -> Self {
        Embedded {
            name,
            files,
            function: OnceLock::new(),
            making: Mutex::new(()),
        }
    }

    /// The function, on whichever device its tensors are.
    ///
    /// # Errors
    /// There is no driver, or the bundle cannot be used.
    pub fn function(&self) -> Result<&FunctionEverywhere, Error> {
        if let Some(function) = self.function.get() {
            return Ok(function);
        }
        let _turn = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = self.function.get() {
            return Ok(function);
        }
        let file = |(path, bytes): &(&str, &'static [u8])| ((*path).to_owned(), Cow::Borrowed(*bytes));
        let bundle = Bundle::from_files(self.files.iter().map(file).collect::<Files>())?;
        let function = FunctionEverywhere::new(&Arc::new(bundle), &Driver::shared()?, self.name)?;
        Ok(self.function.get_or_init(|| function))
    }

    /// Launches the function on the device of its first tensor.
    ///
    /// # Errors
    /// As [`Embedded::function`] and [`FunctionEverywhere::launch`].
    ///
    /// # Safety
    /// As [`Function::launch`](crate::Function::launch).
    pub unsafe fn launch(
        &self,
        tensors: &[&Tensor<'_>],
        scalars: &[Scalar],
        stream: StreamHandle,
    ) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.function()?.launch(tensors, scalars, stream) }
    }
}
