//! Converts Python objects to the tensors of a call.

use norma_runtime::{StreamHandle, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCapsule};

use crate::autograd;
use crate::dlpack::{ExchangeApi, Owned};
use crate::error::Kind;
use crate::signature::shape;

/// A tensor of a call, which is valid for as long as both the object that it came from and this value live.
pub struct Argument {
    /// The tensor.
    pub tensor: Tensor<'static>,
    owned: Option<Owned>,
    /// Whether its framework would record the launch, for gradients. Tensors that `__dlpack__` gives are refused by torch itself.
    is_recorded: bool,
}

/// The tensors of a call, and the stream on which it is launched.
pub struct Arguments {
    pub list: Vec<Argument>,
    pub stream: StreamHandle,
    /// The exchange API of the first tensor's type, if it has one.
    pub api: Option<&'static ExchangeApi>,
}

impl Argument {
    /// Whether its owner forbids writing to it.
    pub fn is_read_only(&self) -> bool {
        self.owned.as_ref().is_some_and(Owned::is_read_only)
    }

    /// Whether its framework would record the launch, for gradients.
    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// Whether it was lent by DLPack's exchange API.
    pub fn is_borrowed(&self) -> bool {
        self.owned.is_none()
    }
}

impl Arguments {
    /// Converts the objects that a call passes.
    ///
    /// Without an explicit stream, the call goes to the current stream of the tensors' framework if DLPack's exchange API
    /// tells it, and otherwise to the default stream. Exporters that use `__dlpack__` are given the stream, so that it waits
    /// for their pending work. Tensors of the exchange API are not: an explicit stream that is not the framework's current one has to
    /// wait for it before the call.
    ///
    /// # Errors
    /// An object is not a tensor, or the exception that its type raises.
    pub fn take(
        objects: &[Bound<'_, PyAny>],
        names: &[String],
        stream: Option<StreamHandle>,
    ) -> PyResult<Arguments> {
        let mut borrowed = Vec::with_capacity(objects.len());
        let (mut api, mut stream) = (None, stream);
        // Objects are seldom of more than one type, and looking up the API of a type is the most expensive step here.
        let mut known: Option<(*mut pyo3::ffi::PyTypeObject, Option<&'static ExchangeApi>)> = None;
        for (index, object) in objects.iter().enumerate() {
            let kind = object.get_type_ptr();
            let offered = match known {
                Some((known, offered)) if known == kind => offered,
                _ => ExchangeApi::of(&object.get_type())?,
            };
            known = Some((kind, offered));
            let tensor = match offered {
                Some(offered) => lend(offered, object, names.get(index).map_or("", String::as_str))?,
                None => None,
            };
            if let (Some(tensor), Some(offered)) = (tensor, offered) {
                if index == 0 {
                    api = Some(offered);
                }
                if stream.is_none() && tensor.device.cuda_ordinal().is_some() {
                    let current = offered.current_stream(object.py(), tensor.device)?;
                    stream = Some(StreamHandle::from_raw(current));
                }
            }
            borrowed.push(tensor);
        }
        let stream = stream.unwrap_or(StreamHandle::DEFAULT);
        // All exporters are told the stream of the launch, which a later object may have decided.
        let mut list = Vec::with_capacity(objects.len());
        for (index, (object, tensor)) in objects.iter().zip(borrowed).enumerate() {
            list.push(match tensor {
                Some(tensor) => Argument {
                    tensor,
                    owned: None,
                    is_recorded: autograd::is_recorded(object)?,
                },
                None => {
                    let name = names.get(index).map_or("", String::as_str);
                    let owned = export(object, name, stream)?;
                    Argument {
                        tensor: owned.tensor(),
                        owned: Some(owned),
                        is_recorded: false,
                    }
                }
            });
        }
        Ok(Arguments { list, stream, api })
    }
}

/// Borrows the tensor of an object; `None` if its type cannot lend tensors.
fn lend(api: &ExchangeApi, object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Tensor<'static>>> {
    let py = object.py();
    let refuse = |got: String| {
        let message = format!("expected '{name}' to be a tensor in the memory of a GPU, got {got}");
        Kind::Argument.exception(py, &message)
    };
    let lent = api.borrow(object).map_err(|error| {
        // Torch adds the frames of its stack to the text.
        let text = error.value(py).to_string();
        refuse(format!(
            "one that cannot be lent: {}",
            text.lines().next().unwrap_or("")
        ))
    })?;
    // SAFETY: the tensor is as its owner describes it.
    let is_missing = |tensor: &Tensor<'_>| tensor.data.is_null() && !unsafe { shape(tensor) }.contains(&0);
    match lent {
        Some(tensor) if is_missing(&tensor) => {
            Err(refuse(format!("a {} without memory", object.get_type().name()?)))
        }
        lent => Ok(lent),
    }
}

/// DLPack's number for the legacy default stream, whose pointer is null.
const LEGACY_DEFAULT_STREAM: usize = 1;
/// `kDLCPU`: memory on which no stream has pending work.
const CPU: i32 = 1;

/// Imports a tensor by DLPack's Python protocol.
fn export(object: &Bound<'_, PyAny>, name: &str, stream: StreamHandle) -> PyResult<Owned> {
    let py = object.py();
    let refuse =
        |got: String| Kind::Argument.exception(py, &format!("expected '{name}' to be a tensor, got {got}"));
    if object.is_instance_of::<PyCapsule>() {
        return Owned::take(object).map_err(refuse);
    }
    let Ok(method) = object.getattr(pyo3::intern!(py, "__dlpack__")) else {
        let got = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "expected '{name}' to be a tensor, which has __dlpack__, got {got}"
        )));
    };
    let device: (i32, i32) = object
        .call_method0(pyo3::intern!(py, "__dlpack_device__"))?
        .extract()?;
    let stream = match stream.as_raw() as usize {
        _ if device.0 == CPU => None,
        0 => Some(LEGACY_DEFAULT_STREAM),
        stream => Some(stream),
    };
    let options = [("stream", stream.into_pyobject(py)?.into_any())].into_py_dict(py)?;
    options.set_item("max_version", (1, 3))?;
    let capsule = match method.call((), Some(&options)) {
        // Exporters older than version 1 accept only a stream.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            options.del_item("max_version")?;
            method.call((), Some(&options))?
        }
        capsule => capsule?,
    };
    if !capsule.is_instance_of::<PyCapsule>() {
        return Err(refuse(format!(
            "{} from its __dlpack__",
            capsule.get_type().name()?
        )));
    }
    Owned::take(&capsule).map_err(refuse)
}
