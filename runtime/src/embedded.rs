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
    /// Whether the function may run by PTX; held while the function is created.
    allows_ptx: Mutex<bool>,
}

impl Embedded {
    /// The function `name` of a bundle of these files, given by their paths from the bundle's folder.
    pub const fn new(name: &'static str, files: &'static [(&'static str, &'static [u8])]) -> Self {
        Embedded {
            name,
            files,
            function: OnceLock::new(),
            allows_ptx: Mutex::new(false),
        }
    }

    /// Lets the function run by PTX on devices that no cubin fits; the driver compiles the PTX when the function is loaded. Call
    /// this before the function is loaded or launched anywhere. `normac --ptx-fallback` writes bundles that have PTX.
    ///
    /// # Errors
    /// The function is in use without PTX.
    pub fn allow_ptx(&self) -> Result<(), Error> {
        let mut allows_ptx = self.allows_ptx.lock().unwrap_or_else(PoisonError::into_inner);
        if self.function.get().is_some() && !*allows_ptx {
            let message =
                "expected PTX to be allowed before the function is loaded or launched, got a function in use";
            return Err(Error::Call {
                function: self.name.to_owned(),
                message: message.to_owned(),
            });
        }
        *allows_ptx = true;
        Ok(())
    }

    /// The function, on whichever device its tensors are.
    ///
    /// # Errors
    /// There is no driver, or the bundle cannot be used.
    pub fn function(&self) -> Result<&FunctionEverywhere, Error> {
        match self.function.get() {
            Some(function) => Ok(function),
            None => self.made(&Driver::shared()?),
        }
    }

    /// The function, which is created if this is the first use.
    fn made(&self, driver: &Arc<Driver>) -> Result<&FunctionEverywhere, Error> {
        let allows_ptx = self.allows_ptx.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = self.function.get() {
            return Ok(function);
        }
        let file = |(path, bytes): &(&str, &'static [u8])| ((*path).to_owned(), Cow::Borrowed(*bytes));
        let mut bundle = Bundle::from_files(self.files.iter().map(file).collect::<Files>())?;
        bundle.allow_ptx(*allows_ptx);
        let function = FunctionEverywhere::new(&Arc::new(bundle), driver, self.name)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = include_str!("../../bundle/testdata/scale.json");
    const CUBIN: &[u8] = include_bytes!("../../bundle/testdata/scale.sm_90a.cubin");
    const PTX: &[u8] = b"//\n.version 8.0\n.target sm_80\n.address_size 64\n\
        .visible .entry scale_0(.param .u64 a, .param .u64 b, .param .f32 s, .param .u64 m)\n{\n\tret;\n}\n";

    /// The stand-in, whose devices have compute capability 9.0.
    fn driver() -> Arc<Driver> {
        // SAFETY: the stand-in's functions are those of `cuda.h`.
        unsafe { Driver::with_functions(norma_stub_driver::function) }.unwrap()
    }

    /// `scale` with a cubin for sm_80, which the devices cannot run, and PTX.
    fn for_older_devices() -> Embedded {
        let manifest = MANIFEST.replace("sm_90a", "sm_80").replace(
            "\"cubin\": \"scale_0.sm_80.cubin\"",
            "\"cubin\": \"scale_0.sm_80.cubin\", \"ptx\": \"scale_0.ptx\"",
        );
        let files: [(&str, &[u8]); 3] = [
            ("manifest.json", manifest.leak().as_bytes()),
            ("scale_0.sm_80.cubin", CUBIN),
            ("scale_0.ptx", PTX),
        ];
        Embedded::new("scale", Box::leak(Box::new(files)))
    }

    fn loaded(embedded: &Embedded, driver: &Arc<Driver>) -> Result<(), String> {
        let function = embedded.made(driver).map_err(|error| error.to_string())?;
        function.on(0).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn ptx_runs_only_if_it_is_allowed_first() {
        let driver = driver();
        let embedded = for_older_devices();
        let error = loaded(&embedded, &driver).unwrap_err();
        assert!(
            error.contains("the bundle is for sm_80, the GPU is sm_90")
                && error.contains("it has PTX of sm_80"),
            "{error}"
        );
        assert_eq!(
            embedded.allow_ptx().unwrap_err().to_string(),
            "cannot launch 'scale': expected PTX to be allowed before the function is loaded or launched, got a function in use"
        );

        let embedded = for_older_devices();
        embedded.allow_ptx().unwrap();
        loaded(&embedded, &driver).unwrap();
        // Those who allow the same do not disturb each other.
        embedded.allow_ptx().unwrap();
    }

    #[test]
    fn damaged_code_is_refused() {
        let name = norma_bundle::content::name("scale_0.sm_90a.cubin", CUBIN);
        let manifest = MANIFEST.replace("scale_0.sm_90a.cubin", &name);
        let mut damaged = CUBIN.to_vec();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 1500].fill(0);
        let files: [(&str, &[u8]); 2] = [
            ("manifest.json", manifest.leak().as_bytes()),
            (name.clone().leak(), damaged.leak()),
        ];
        let error = loaded(&Embedded::new("scale", Box::leak(Box::new(files))), &driver()).unwrap_err();
        let expected = format!("cannot use '{name}': it is damaged: expected content with hash ");
        assert!(error.starts_with(&expected), "{error}");
    }
}
