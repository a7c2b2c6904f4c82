//! Functions of a bundle, and their calls.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use norma_bundle::Expression;
use norma_bundle::manifest;
use norma_runtime::{Bundle, DataType, Driver, Error, FunctionEverywhere, Scalar, StreamHandle, Tensor};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::argument::{Argument, Arguments};
use crate::autograd;
use crate::error::{Kind, exception};
use crate::outputs::Sizes;
use crate::stream;
use crate::view::View;

/// A compiled function. Calling it launches its kernels.
///
/// `function(*inputs, out=None, stream=None, allocator=None, **named)` launches its kernels on tensors of any framework that supports
/// DLPack, and returns the outputs.
///
/// Inputs are passed by position or by name, scalars by name. Outputs are `out`, one tensor or a tuple; or the results of
/// `allocator(shape, dtype, device)` for each; or new tensors of the first input's type, if its framework offers an
/// allocator, as torch does. A launch is not recorded for gradients, so tensors that require grad are refused outside of
/// `torch.no_grad()`. `stream` is a pointer or a framework's stream object; by default the kernels are launched on
/// the current stream of the inputs' framework, or on the default stream if the framework does not tell its current one.
/// With another stream than the framework's current one, the caller orders the two, as for any kernel: `stream` has to wait for
/// what produces the inputs, and memory that is freed or allocated on the current stream has to outlast the launch. So `out` should
/// be given.
#[pyclass(frozen, module = "norma")]
pub struct Function {
    bundle: Arc<Bundle>,
    described: manifest::Function,
    /// The names of inputs and outputs, in the order of a launch.
    tensors: Vec<String>,
    scalars: Vec<String>,
    views: Vec<Option<View>>,
    /// Loaded at the first call, so that inspecting a bundle needs no driver.
    loaded: OnceLock<FunctionEverywhere>,
    /// Held while the function is loaded.
    loading: Mutex<()>,
}

impl Function {
    pub(crate) fn new(bundle: &Arc<Bundle>, described: manifest::Function) -> Self {
        let scalars = described.named_scalars();
        Function {
            bundle: Arc::clone(bundle),
            tensors: described.tensors().map(|tensor| tensor.name.clone()).collect(),
            scalars: scalars.into_iter().map(|(name, ..)| name.to_owned()).collect(),
            views: described.tensors().map(View::new).collect(),
            described,
            loaded: OnceLock::new(),
            loading: Mutex::new(()),
        }
    }

    /// The function for every device. It waits for another thread that is loading it, so the caller must not hold the
    /// interpreter.
    fn everywhere(&self) -> Result<&FunctionEverywhere, Error> {
        if let Some(function) = self.loaded.get() {
            return Ok(function);
        }
        let _turn = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = self.loaded.get() {
            return Ok(function);
        }
        let function = FunctionEverywhere::new(&self.bundle, &Driver::shared()?, &self.described.name)?;
        Ok(self.loaded.get_or_init(|| function))
    }

    /// Creates an exception about the arguments of a call.
    fn refusal(&self, py: Python<'_>, message: &str) -> PyErr {
        let name = &self.described.name;
        Kind::Argument.exception(py, &format!("cannot launch '{name}': {message}"))
    }

    /// Launches the kernels; other threads may run Python meanwhile.
    ///
    /// # Safety
    /// As [`norma_runtime::Function::launch`].
    unsafe fn enqueue(
        &self,
        py: Python<'_>,
        tensors: &[&Tensor<'_>],
        scalars: &[Scalar],
        stream: StreamHandle,
    ) -> PyResult<()> {
        let call = Call { tensors, stream };
        let launched = py.detach(move || {
            let Call { tensors, stream } = { call };
            // SAFETY: passed on to the caller.
            unsafe { self.everywhere()?.launch(tensors, scalars, stream) }
        });
        launched.map_err(|error| exception(py, &error))
    }

    /// Separates the arguments of a call into the inputs, by position and then by name, and the scalars, which are always
    /// passed by name.
    fn bind<'py>(
        &self,
        inputs: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Vec<Bound<'py, PyAny>>, Vec<Scalar>)> {
        let expected = self.described.inputs.len();
        let given = inputs.len();
        if given > expected {
            let message = format!("expected {}, got {given}", counted(expected, "input"));
            return Err(self.refusal(inputs.py(), &message));
        }
        let mut objects: Vec<_> = inputs.iter().map(Some).collect();
        objects.resize(expected, None);
        let mut scalars = vec![Scalar::Default; self.scalars.len()];
        for (name, value) in named.into_iter().flatten() {
            let name: String = name.extract()?;
            let input = self.tensors[..expected].iter().position(|known| *known == name);
            let scalar = self.scalars.iter().position(|known| *known == name);
            match (input, scalar) {
                (Some(index), _) if objects[index].is_none() => objects[index] = Some(value),
                (Some(_), _) => return Err(PyTypeError::new_err(format!("got two values for '{name}'"))),
                (None, Some(index)) => scalars[index] = self.number(&name, &value)?,
                (None, None) => {
                    let known = self.tensors[..expected].iter().chain(&self.scalars);
                    let known: Vec<&str> = known.map(String::as_str).collect();
                    let function = &self.described.name;
                    return Err(PyTypeError::new_err(format!(
                        "'{function}' takes {}, out, stream and allocator, got '{name}'",
                        known.join(", ")
                    )));
                }
            }
        }
        let mut bound = Vec::with_capacity(self.tensors.len());
        for (object, name) in objects.into_iter().zip(&self.tensors) {
            let missing = || self.refusal(inputs.py(), &format!("expected input '{name}', got none"));
            bound.push(object.ok_or_else(missing)?);
        }
        Ok((bound, scalars))
    }

    /// The outputs that the caller passed: one tensor, or a sequence with one for each output.
    fn given_outputs<'py>(&self, out: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let expected = self.described.outputs.len();
        let outputs: Vec<_> = match (out.cast::<PyTuple>(), out.cast::<PyList>()) {
            (Ok(tuple), _) => tuple.iter().collect(),
            (_, Ok(list)) => list.iter().collect(),
            _ => vec![out.clone()],
        };
        if outputs.len() != expected {
            let (expected, got) = (counted(expected, "output"), outputs.len());
            let message = format!("expected {expected} in out=, got {got}");
            return Err(self.refusal(out.py(), &message));
        }
        Ok(outputs)
    }

    /// Converts a scalar argument of a call.
    fn number(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Scalar> {
        if let Ok(integer) = value.extract::<i64>() {
            return Ok(Scalar::Integer(integer));
        }
        let py = value.py();
        value.extract::<f64>().map(Scalar::Float).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(py) {
                let message = format!("expected '{name}' to be a number of f64's range, got one beyond it");
                return self.refusal(py, &message);
            }
            match value.get_type().name() {
                Ok(kind) if error.is_instance_of::<PyTypeError>(py) => {
                    PyTypeError::new_err(format!("expected '{name}' to be a number, got {kind}"))
                }
                _ => error,
            }
        })
    }

    /// Allocates the outputs, with the caller's allocator or else with that of the inputs' type.
    fn new_outputs<'py>(
        &self,
        py: Python<'py>,
        inputs: &Arguments,
        allocator: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let refuse = |message: String| self.refusal(py, &message);
        // Only the memory of a GPU has an allocator here, so an input in other memory would be taken for a type without one.
        for (argument, name) in inputs.list.iter().zip(&self.tensors) {
            let device = argument.tensor.device;
            if device.cuda_ordinal().is_none() {
                return Err(refuse(format!(
                    "expected '{name}' to be in the memory of a GPU, got {device}"
                )));
            }
        }
        let tensors = inputs.list.iter().map(|argument| &argument.tensor);
        // SAFETY: the tensors are as their owners describe them.
        let sizes = unsafe { Sizes::read(&self.described, tensors) }.map_err(refuse)?;
        let device = inputs.list.first().map(|argument| argument.tensor.device);
        let mut outputs = Vec::new();
        for output in &self.described.outputs {
            let shape = sizes.shape(output).map_err(refuse)?;
            outputs.push(match (allocator, inputs.api, device) {
                (Some(allocator), _, device) => {
                    let ordinal = device.map_or(0, |device| device.ordinal);
                    let shape = PyTuple::new(py, &shape)?;
                    allocator.call1((shape, output.dtype.name(), ordinal))?
                }
                (None, Some(api), Some(device)) => {
                    let mut prototype = Tensor::dense(0, 0, output.dtype, &shape);
                    prototype.device = device;
                    prototype.dtype = DataType::from(output.dtype);
                    api.allocate(py, &mut prototype)?
                }
                _ => {
                    let name = &output.name;
                    return Err(refuse(format!(
                        "expected out= or allocator= for output '{name}', as its inputs' type offers no allocator"
                    )));
                }
            });
        }
        Ok(outputs)
    }

    /// The function's description in the manifest.
    pub(crate) fn described(&self) -> &manifest::Function {
        &self.described
    }

    /// Launches the kernels on dense tensors, inputs and then outputs, each viewed with the shape that the function expects.
    ///
    /// # Errors
    /// As for a call; nothing is launched then.
    pub(crate) fn launch_dense(
        &self,
        py: Python<'_>,
        tensors: &[Tensor<'static>],
        stream: StreamHandle,
    ) -> PyResult<()> {
        self.check_count(py, tensors.len())?;
        let mut extents = vec![0; self.ranks()];
        let viewed = self.viewed(py, tensors, &mut extents)?;
        let tensors: Vec<&Tensor<'_>> = viewed.iter().collect();
        // SAFETY: as in `__call__`.
        unsafe { self.enqueue(py, &tensors, &[], stream) }
    }

    /// The shapes of the outputs of a launch on dense inputs, each viewed with the shape that the function expects.
    ///
    /// # Errors
    /// The number of inputs is wrong, one of them does not fit, or a shape does not follow from them.
    pub(crate) fn output_shapes(
        &self,
        py: Python<'_>,
        inputs: &[Tensor<'static>],
    ) -> PyResult<Vec<Vec<i64>>> {
        let expected = self.described.inputs.len();
        if inputs.len() != expected {
            let (expected, got) = (counted(expected, "input"), inputs.len());
            return Err(self.refusal(py, &format!("expected {expected}, got {got}")));
        }
        let mut extents = vec![0; self.ranks()];
        let viewed = self.viewed(py, inputs, &mut extents)?;
        // SAFETY: the tensors are as their owners describe them, and the views have shapes of their own.
        let sizes = unsafe { Sizes::read(&self.described, viewed.iter()) };
        let shapes = sizes.and_then(|sizes| {
            let outputs = self.described.outputs.iter();
            outputs.map(|output| sizes.shape(output)).collect()
        });
        shapes.map_err(|message| self.refusal(py, &message))
    }

    /// The sum of the ranks of all views.
    fn ranks(&self) -> usize {
        self.views.iter().flatten().map(View::rank).sum()
    }

    /// Views dense tensors with the shapes that the function expects, which are written to `extents`. Those whose shapes do
    /// not follow from their numbers of elements remain as they are.
    ///
    /// # Errors
    /// A tensor does not have the elements of its view.
    fn viewed<'v>(
        &self,
        py: Python<'_>,
        tensors: &[Tensor<'static>],
        extents: &'v mut [i64],
    ) -> PyResult<Vec<Tensor<'v>>> {
        let mut free = extents;
        let mut viewed = Vec::with_capacity(tensors.len());
        for ((tensor, view), name) in tensors.iter().zip(&self.views).zip(&self.tensors) {
            viewed.push(match view {
                Some(view) => {
                    let (shape, rest) = free.split_at_mut(view.rank());
                    free = rest;
                    // SAFETY: the tensor is as its owner describes it.
                    unsafe { view.apply(tensor, shape) }
                        .map_err(|what| self.refusal(py, &format!("expected '{name}' {what}")))?
                }
                None => *tensor,
            });
        }
        Ok(viewed)
    }

    /// Refuses a launch with too few or too many tensors.
    fn check_count(&self, py: Python<'_>, got: usize) -> PyResult<()> {
        let expected = self.tensors.len();
        match got == expected {
            true => Ok(()),
            false => {
                let expected = counted(expected, "tensor");
                Err(self.refusal(py, &format!("expected {expected}, got {got}")))
            }
        }
    }

    /// Refuses tensors whose gradients are recorded, as they would be lost; `names` are theirs.
    fn check_unrecorded(&self, py: Python<'_>, tensors: &[Argument], names: &[String]) -> PyResult<()> {
        match tensors.iter().zip(names).find(|(tensor, _)| tensor.is_recorded()) {
            None => Ok(()),
            Some((_, name)) => Err(self.refusal(
                py,
                &format!(
                    "expected '{name}' to be a tensor without gradient, got one that requires grad; detach it, or use norma.torch"
                ),
            )),
        }
    }

    /// Refuses outputs that are read-only.
    fn check_writable(&self, py: Python<'_>, outputs: &[Argument]) -> PyResult<()> {
        let names = &self.tensors[self.described.inputs.len()..];
        for (output, name) in outputs.iter().zip(names) {
            if output.is_read_only() {
                let message = format!("expected output '{name}' to be writable, got a read-only tensor");
                return Err(self.refusal(py, &message));
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Function {
    /// Launches the kernels; the documentation of the type, which `help` shows, says on what.
    #[pyo3(signature = (*inputs, out = None, stream = None, allocator = None, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        inputs: &Bound<'py, PyTuple>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        allocator: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = stream.map(stream::handle).transpose()?;
        let (inputs, scalars) = self.bind(inputs, named)?;
        let taken = Arguments::take(&inputs, &self.tensors, stream)?;
        self.check_unrecorded(py, &taken.list, &self.tensors)?;
        let outputs = match out {
            Some(out) => self.given_outputs(out)?,
            None => self.new_outputs(py, &taken, allocator)?,
        };
        let names = &self.tensors[inputs.len()..];
        let written = Arguments::take(&outputs, names, Some(taken.stream))?;
        self.check_unrecorded(py, &written.list, names)?;
        self.check_writable(py, &written.list)?;
        let all = taken.list.iter().chain(&written.list);
        let tensors: Vec<&Tensor<'_>> = all.map(|argument| &argument.tensor).collect();
        // SAFETY: the tensors are as their owners describe them. Those that `__dlpack__` gave are ordered on the stream by their owners,
        // and so are borrowed ones on their framework's current stream; of another stream the caller guarantees it.
        unsafe { self.enqueue(py, &tensors, &scalars, taken.stream) }?;
        if out.is_some() {
            mark_written(&outputs, &written.list)?;
        }
        match <[_; 1]>::try_from(outputs) {
            Ok([output]) => Ok(output),
            Err(outputs) => Ok(PyTuple::new(py, outputs)?.into_any()),
        }
    }

    /// Launches the kernels on dense tensors, inputs and then outputs. Each tensor is viewed with the shape that the function
    /// expects, whatever its own: `(batch, tokens, 4096)` as rows of 4096. This is the launch with the least overhead.
    #[pyo3(signature = (*tensors))]
    fn launch_viewed(&self, py: Python<'_>, tensors: &Bound<'_, PyTuple>) -> PyResult<()> {
        let objects: Vec<_> = tensors.iter().collect();
        self.check_count(py, objects.len())?;
        let taken = Arguments::take(&objects, &self.tensors, None)?;
        self.check_unrecorded(py, &taken.list, &self.tensors)?;
        let inputs = self.described.inputs.len();
        self.check_writable(py, &taken.list[inputs..])?;
        let tensors: Vec<_> = taken.list.iter().map(|argument| argument.tensor).collect();
        self.launch_dense(py, &tensors, taken.stream)?;
        mark_written(&objects[inputs..], &taken.list[inputs..])
    }

    /// The function's name.
    #[getter]
    fn name(&self) -> &str {
        &self.described.name
    }

    /// Descriptions of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<TensorDescription> {
        self.described.inputs.iter().map(TensorDescription::new).collect()
    }

    /// Descriptions of the outputs.
    #[getter]
    fn outputs(&self) -> Vec<TensorDescription> {
        self.described
            .outputs
            .iter()
            .map(TensorDescription::new)
            .collect()
    }

    /// The names of the scalars that a call may set.
    #[getter]
    fn scalars(&self) -> Vec<String> {
        self.scalars.clone()
    }

    fn __repr__(&self) -> String {
        let names = |tensors: &[manifest::Tensor]| {
            let names = tensors.iter().map(|tensor| tensor.name.as_str());
            names.collect::<Vec<_>>().join(", ")
        };
        let (name, inputs, outputs) = (
            &self.described.name,
            names(&self.described.inputs),
            names(&self.described.outputs),
        );
        format!("<norma.Function {name}({inputs}) -> {outputs}>")
    }
}

/// The arguments of the part of a call that runs without holding the interpreter.
struct Call<'c> {
    tensors: &'c [&'c Tensor<'c>],
    stream: StreamHandle,
}

// SAFETY: it stays on its thread. Its pointers refer to memory that the tensors' owners keep, and the caller's arguments hold
// references to the owners.
unsafe impl Send for Call<'_> {}

/// Tells the framework of tensors that it lent that they were written.
fn mark_written(objects: &[Bound<'_, PyAny>], arguments: &[Argument]) -> PyResult<()> {
    let lent = objects
        .iter()
        .zip(arguments)
        .filter(|(_, argument)| argument.is_borrowed());
    lent.map(|(object, _)| object)
        .try_for_each(autograd::mark_written)
}

/// A number of things, in words.
fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}

/// A function's requirements for a tensor.
#[pyclass(frozen, get_all, module = "norma")]
pub struct TensorDescription {
    /// The tensor's name.
    name: String,
    /// The type of the elements, in MLIR's spelling.
    dtype: String,
    /// The extent of each dim, or the expression that determines it.
    shape: Vec<Extent>,
    /// The alignment of the first element, in bytes.
    align: u64,
}

/// A known extent, or an expression over sizes that the call determines.
#[derive(Clone, IntoPyObject)]
enum Extent {
    Known(i64),
    Expression(String),
}

impl TensorDescription {
    fn new(tensor: &manifest::Tensor) -> Self {
        let extent = |extent: &Expression| match extent.as_integer() {
            Some(extent) => Extent::Known(extent),
            None => Extent::Expression(extent.to_string()),
        };
        TensorDescription {
            name: tensor.name.clone(),
            dtype: tensor.dtype.name().to_owned(),
            shape: tensor.shape.iter().map(extent).collect(),
            align: tensor.align,
        }
    }
}

#[pymethods]
impl TensorDescription {
    fn __repr__(&self) -> String {
        let extents = self.shape.iter().map(|extent| match extent {
            Extent::Known(extent) => extent.to_string(),
            Extent::Expression(expression) => expression.clone(),
        });
        let extents: Vec<String> = extents.collect();
        format!("{}: {}[{}]", self.name, self.dtype, extents.join(", "))
    }
}
