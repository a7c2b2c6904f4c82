//! The extension module `norma._runtime`: Python bindings of norma-runtime.
//!
//! It loads bundles and launches their functions on tensors of any framework that supports DLPack. It contains no compiler,
//! because Python programs often load an LLVM of their own; `norma.compile` starts `normac` as a process.

mod argument;
mod autograd;
mod bundle;
mod dlpack;
mod error;
mod function;
mod outputs;
mod signature;
mod stream;
mod view;

use norma_runtime::{Device, Driver, closest_target};
use norma_targets::{TARGETS, Target};
use pyo3::prelude::*;

#[pymodule]
mod _runtime {
    use super::*;

    #[pymodule_export]
    use super::bundle::Bundle;
    #[pymodule_export]
    use super::function::{Function, TensorDescription};
    #[pymodule_export]
    use super::signature::{Framework, SignatureCache};

    /// The version of the package, which is the workspace's.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "it is Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The best target for GPU `device`, such as `"sm_90a"` or, where the memory is nearer to that of a part, `"sm_90a-h100"`.
    #[pyfunction]
    #[pyo3(signature = (device = 0))]
    fn target_of_device(py: Python<'_>, device: u32) -> PyResult<&'static str> {
        let opened = py.detach(|| Device::open(&Driver::shared()?, device));
        let Device {
            capability,
            bandwidth,
            ..
        } = opened.map_err(|error| error::exception(py, &error.into()))?;
        let architectures = TARGETS.iter().map(Target::architecture);
        let target = closest_target(architectures, capability).map(|architecture| match bandwidth {
            Some(bandwidth) => {
                Target::of_device(architecture, bandwidth as f64).map_or(architecture, |target| target.name)
            }
            None => architecture,
        });
        target.ok_or_else(|| {
            let (major, minor) = capability;
            let message =
                format!("no target of the compiler's runs on device {device}, an sm_{major}{minor}");
            error::Kind::Driver.exception(py, &message)
        })
    }
}
