//! Caches, for an op, the function that serves calls with tensors of the same types, devices and extents.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use norma_bundle::Expression;
use norma_bundle::manifest;
use norma_runtime::{StreamHandle, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::dlpack::ExchangeApi;
use crate::error::Kind;
use crate::function::Function;

/// The parts of a framework that calls use to recognize and allocate tensors.
#[pyclass(frozen, module = "norma")]
pub struct Framework {
    /// The exact types whose objects are plain tensors.
    types: Vec<Py<PyType>>,
    api: &'static ExchangeApi,
    empty_strided: Py<PyAny>,
    empty_like: Py<PyAny>,
    /// Maps MLIR's names of element types to the framework's types.
    dtypes: Py<PyDict>,
}

#[pymethods]
impl Framework {
    /// `empty_strided(shape, strides, dtype=, device=)` and `empty_like(tensor, dtype=)` allocate. Of torch's functions that
    /// allocate by shape, the one that also takes strides executes the fewest instructions, half as many as `torch.empty`.
    #[new]
    fn new(
        types: Vec<Bound<'_, PyType>>,
        empty_strided: Py<PyAny>,
        empty_like: Py<PyAny>,
        dtypes: Py<PyDict>,
    ) -> PyResult<Self> {
        let first = types
            .first()
            .ok_or_else(|| PyValueError::new_err("expected a type of tensors, got none"))?;
        let api = ExchangeApi::of(first)?.ok_or_else(|| {
            PyTypeError::new_err("expected a type of tensors that DLPack's exchange API borrows")
        })?;
        Ok(Framework {
            api,
            types: types.into_iter().map(Bound::unbind).collect(),
            empty_strided,
            empty_like,
            dtypes,
        })
    }
}

/// Maps the signatures of an op's tensors to the compiled functions that serve them.
///
/// A signature contains all dims of the tensors except the leading dims of the first one, which only determine the number of
/// its rows. It also contains which tensors are absent.
#[pyclass(frozen, module = "norma")]
pub struct SignatureCache {
    framework: Py<Framework>,
    /// The number of trailing dims of the first tensor that form a row.
    row_dims: usize,
    known: RwLock<HashMap<Box<[i64]>, Arc<Served>>>,
}

/// The function that serves a signature.
struct Served {
    function: Py<Function>,
    outputs: Vec<Output>,
}

/// How an output is allocated.
struct Output {
    shape: OutputShape,
    /// The allocator's arguments besides the shape.
    options: Option<Py<PyDict>>,
}

/// The shape of an output.
enum OutputShape {
    /// The shape of a tensor of the call, given by its position.
    Like(usize),
    /// The leading dims of the first tensor, which number its rows, followed by these extents for each row.
    Rows(Box<[i64]>),
    /// The dims of a row of the first tensor, which the function may take as one dim.
    Row,
    /// Other extents that are the same for all calls with the signature.
    Fixed(Box<[i64]>),
    /// Extents that depend on the number of rows in another way, such as one for each 128 rows: those that the function
    /// computes from its sizes. Leading dims of the first tensor are one dim of rows in it.
    Computed,
}

/// The tensors of a call that are present, with their positions in it.
type Borrowed = Vec<(usize, Tensor<'static>)>;

/// The maximal number of signatures that are kept. A tensor with neither the shape of the first one nor the shape of its rows
/// contributes all its extents to the signature, and these may be new at each call.
const MOST_SIGNATURES: usize = 1024;
/// How the shape of a tensor is encoded in a signature.
const ABSENT: i64 = -1;
const AS_FIRST: i64 = -2;
const ROWS_OF_FIRST: i64 = -3;
/// A shape that is both that of the rows and that of a row of the first tensor. It has a code of its own, because a tensor of another call
/// may have only one of the two.
const ROWS_AND_ROW_OF_FIRST: i64 = -4;

#[pymethods]
impl SignatureCache {
    #[new]
    fn new(framework: Py<Framework>, row_dims: usize) -> Self {
        SignatureCache {
            framework,
            row_dims,
            known: RwLock::default(),
        }
    }

    /// Launches the function for these tensors and returns its new outputs. Returns `None` if there is no such function yet,
    /// or if the tensors are not dense and aligned as it requires. A tensor that is `None` is absent.
    #[pyo3(signature = (*tensors))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        tensors: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let framework = self.framework.get();
        let Some(borrowed) = framework.borrow(tensors) else {
            return Ok(None);
        };
        let served = self.signature(&borrowed, tensors.len()).and_then(|signature| {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            known.get(signature.as_slice()).cloned()
        });
        let Some(served) = served else { return Ok(None) };
        match self.serve(py, &served, tensors, borrowed) {
            Ok(outputs) => Ok(Some(outputs)),
            Err(error) if Kind::Argument.is(py, &error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Launches a function on tensors as [`SignatureCache::call`] does, and stores it for their signature.
    ///
    /// Raises an error if the tensors do not fit the function.
    #[pyo3(signature = (function, *tensors))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        function: Py<Function>,
        tensors: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let framework = self.framework.get();
        let borrowed = framework.borrow(tensors);
        let signed =
            borrowed.and_then(|borrowed| Some((self.signature(&borrowed, tensors.len())?, borrowed)));
        let Some((signature, borrowed)) = signed else {
            return Err(PyTypeError::new_err(
                "expected plain tensors of the framework, of which the first has the dims of a row",
            ));
        };
        let outputs = self.outputs(py, function.get().described(), tensors, &borrowed)?;
        let served = Arc::new(Served { function, outputs });
        let results = self.serve(py, &served, tensors, borrowed)?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SIGNATURES {
            known.clear();
        }
        known.insert(signature.into(), served);
        Ok(results)
    }
}

impl Framework {
    /// Borrows the tensors of a call; `None` if one of them is of another type, or cannot be lent.
    fn borrow(&self, objects: &Bound<'_, PyTuple>) -> Option<Borrowed> {
        let mut borrowed = Vec::with_capacity(objects.len() + 4);
        for (place, object) in objects.iter_borrowed().enumerate() {
            if object.is_none() {
                continue;
            }
            let kind = object.get_type_ptr();
            if !self.types.iter().any(|known| known.as_ptr() == kind.cast()) {
                return None;
            }
            // One that cannot be lent, such as a sparse one, is not plain either; the caller finds the reason.
            match self.api.borrow(&object) {
                Ok(Some(tensor)) => borrowed.push((place, tensor)),
                Ok(None) | Err(_) => return None,
            }
        }
        Some(borrowed)
    }

    /// The allocator's arguments for an output besides its shape; `None` if `of`, which the output is allocated like, has the
    /// same type.
    fn options(
        &self,
        py: Python<'_>,
        element: &str,
        of: &Bound<'_, PyAny>,
        is_like: bool,
    ) -> PyResult<Option<Py<PyDict>>> {
        let Some(dtype) = self.dtypes.bind(py).get_item(element)? else {
            return Err(PyTypeError::new_err(format!(
                "the framework has no type '{element}'"
            )));
        };
        if is_like && dtype.is(&of.getattr("dtype")?) {
            return Ok(None);
        }
        let options = PyDict::new(py);
        options.set_item("dtype", dtype)?;
        if !is_like {
            options.set_item("device", of.getattr("device")?)?;
        }
        Ok(Some(options.unbind()))
    }
}

impl SignatureCache {
    /// The signature of a call; `None` if the first tensor has too few dims.
    fn signature(&self, tensors: &Borrowed, count: usize) -> Option<Vec<i64>> {
        let (_, first) = tensors.first()?;
        // SAFETY: the tensors are as their owners describe them.
        let shape_of = |tensor: &Tensor<'static>| unsafe { shape(tensor) };
        let shape = shape_of(first);
        let (rows, row) = shape.split_at(shape.len().checked_sub(self.row_dims)?);
        let mut signature = Vec::with_capacity(4 * count + shape.len());
        let mut tensors = tensors.iter().peekable();
        for place in 0..count {
            let Some((_, tensor)) = tensors.next_if(|(of, _)| *of == place) else {
                signature.push(ABSENT);
                continue;
            };
            let (dtype, device) = (tensor.dtype, tensor.device);
            let dtype = i64::from(dtype.code) | i64::from(dtype.bits) << 8 | i64::from(dtype.lanes) << 16;
            signature.extend([dtype, i64::from(device.kind) << 32 | i64::from(device.ordinal)]);
            let own = shape_of(tensor);
            if std::ptr::eq(tensor, first) {
                signature.push(rows.len() as i64);
                signature.extend(row);
            } else if own == shape {
                signature.push(AS_FIRST);
            } else if own == rows && own == row {
                signature.push(ROWS_AND_ROW_OF_FIRST);
            } else if own == rows {
                signature.push(ROWS_OF_FIRST);
            } else {
                signature.push(own.len() as i64);
                signature.extend(own);
            }
        }
        Some(signature)
    }

    /// How the outputs of a function are allocated, by their shapes in its manifest.
    fn outputs(
        &self,
        py: Python<'_>,
        function: &manifest::Function,
        tensors: &Bound<'_, PyTuple>,
        borrowed: &Borrowed,
    ) -> PyResult<Vec<Output>> {
        let framework = self.framework.get();
        // SAFETY: the tensors are as their owners describe them.
        let extents = borrowed.first().map(|(_, first)| unsafe { shape(first) });
        let extents = extents.unwrap_or_default();
        let row = &extents[extents.len().saturating_sub(self.row_dims)..];
        let present: Vec<usize> = (0..tensors.len())
            .filter(|place| {
                tensors
                    .get_borrowed_item(*place)
                    .is_ok_and(|tensor| !tensor.is_none())
            })
            .collect();
        let rows_symbol = function.inputs.first().and_then(|input| input.shape.first());
        let mut outputs = Vec::new();
        for output in &function.outputs {
            let alike = function
                .inputs
                .iter()
                .position(|input| input.shape == output.shape);
            let known: Vec<_> = output.shape.iter().map(Expression::as_integer).collect();
            let fixed: Option<Box<[i64]>> = known.iter().copied().collect();
            let of_each_row: Option<Box<[i64]>> = known.iter().skip(1).copied().collect();
            let of_each_row = of_each_row.filter(|_| output.shape.first() == rows_symbol);
            let shape = match (alike.and_then(|input| present.get(input)), fixed, of_each_row) {
                (Some(place), ..) => OutputShape::Like(*place),
                (None, Some(fixed), _) if *fixed == *row || *fixed == [row.iter().product::<i64>()] => {
                    OutputShape::Row
                }
                (None, Some(fixed), _) => OutputShape::Fixed(fixed),
                (None, None, Some(of_each)) => OutputShape::Rows(of_each),
                (None, None, None) => OutputShape::Computed,
            };
            let (place, is_like) = match shape {
                OutputShape::Like(place) => (place, true),
                _ => (0, false),
            };
            let model = tensors.get_item(place)?;
            let options = framework.options(py, output.dtype.name(), &model, is_like)?;
            outputs.push(Output { shape, options });
        }
        Ok(outputs)
    }

    /// Allocates the outputs and launches the function.
    fn serve<'py>(
        &self,
        py: Python<'py>,
        served: &Served,
        objects: &Bound<'py, PyTuple>,
        borrowed: Borrowed,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let framework = self.framework.get();
        let Some((_, first)) = borrowed.first().copied() else {
            return Err(PyTypeError::new_err("expected tensors, got none"));
        };
        // SAFETY: the tensors are as their owners describe them.
        let extents = unsafe { shape(&first) };
        let (rows, row) = extents.split_at(extents.len() - self.row_dims);
        let mut tensors: Vec<Tensor<'static>> = borrowed.into_iter().map(|(_, tensor)| tensor).collect();
        let mut outputs = Vec::with_capacity(served.outputs.len());
        let is_computed = |output: &Output| matches!(output.shape, OutputShape::Computed);
        let computed = match served.outputs.iter().any(is_computed) {
            true => served.function.get().output_shapes(py, &tensors)?,
            false => Vec::new(),
        };
        for (index, output) in served.outputs.iter().enumerate() {
            let options = output.options.as_ref().map(|options| options.bind(py));
            let new = |shape: &[i64]| {
                let dense = (PyTuple::new(py, shape)?, PyTuple::new(py, strides(shape))?);
                framework.empty_strided.bind(py).call(dense, options)
            };
            let made = match &output.shape {
                OutputShape::Like(place) => {
                    let model = objects.get_item(*place)?;
                    framework.empty_like.bind(py).call((model,), options)
                }
                OutputShape::Rows(of_each) if of_each.is_empty() => new(rows),
                OutputShape::Rows(of_each) => new(&[rows, &of_each[..]].concat()),
                OutputShape::Row => new(row),
                OutputShape::Fixed(extents) => new(extents),
                OutputShape::Computed => new(&computed[index]),
            }?;
            let tensor = framework.api.borrow(&made)?;
            tensors.push(tensor.ok_or_else(|| PyTypeError::new_err("expected an allocator of tensors"))?);
            outputs.push(made);
        }
        let stream = match first.device.cuda_ordinal() {
            Some(_) => StreamHandle::from_raw(framework.api.current_stream(py, first.device)?),
            None => StreamHandle::DEFAULT,
        };
        served.function.get().launch_dense(py, &tensors, stream)?;
        PyTuple::new(py, outputs)
    }
}

/// The strides of a dense tensor in row-major order.
fn strides(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim].max(1);
    }
    strides
}

/// The extents of a tensor.
///
/// # Safety
/// The tensor's shape is as long as its rank.
pub(crate) unsafe fn shape<'t>(tensor: &Tensor<'t>) -> &'t [i64] {
    match usize::try_from(tensor.rank) {
        // SAFETY: passed on to the caller.
        Ok(rank) if rank > 0 => unsafe { std::slice::from_raw_parts(tensor.shape, rank) },
        _ => &[],
    }
}
