//! Loads bundles and launches their functions on GPUs, with nothing but the driver.
//!
//! A [`Bundle`] comes from a folder or from memory; a [`Function`] is loaded from it onto a [`Device`] and launched on
//! streams of any origin. A call that would go wrong is refused before anything is launched: all conditions of the manifest
//! are checked, by code that is compiled when the function is loaded. `README.md` states the guarantees.

mod bundle;
pub mod capi;
pub mod driver;
mod embedded;
mod error;
mod everywhere;
mod function;
mod plan;
mod scratch;
mod target;
mod tensor;

pub use bundle::{Bundle, Files, Selected, TargetBundle};
pub use driver::{Device, Driver, DriverError, StreamHandle};
pub use embedded::Embedded;
pub use error::Error;
pub use everywhere::FunctionEverywhere;
pub use function::{Function, WorkspaceMemory};
pub use norma_bundle::Element;
pub use target::closest_target;
pub use tensor::{DataType, DeviceKey, Scalar, Tensor};
