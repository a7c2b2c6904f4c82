//! Bundles.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use norma_runtime::Files;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

use crate::error::{Kind, exception};
use crate::function::Function;

/// Compiled functions, for one target or several. `bundle["name"]` returns one of them.
#[pyclass(frozen, module = "norma")]
pub struct Bundle {
    functions: BTreeMap<String, Py<Function>>,
    #[pyo3(get)]
    /// The targets that it was compiled for, such as `["sm_90a"]`.
    targets: Vec<String>,
}

impl Bundle {
    fn new(py: Python<'_>, bundle: norma_runtime::Bundle) -> PyResult<Self> {
        let targets = bundle
            .targets()
            .iter()
            .map(|target| target.manifest.target_name().to_owned());
        let targets = targets.collect();
        let bundle = Arc::new(bundle);
        let mut functions = BTreeMap::new();
        for target in bundle.targets() {
            for described in &target.manifest.functions {
                if !functions.contains_key(&described.name) {
                    let function = Py::new(py, Function::new(&bundle, described.clone()))?;
                    functions.insert(described.name.clone(), function);
                }
            }
        }
        Ok(Bundle { functions, targets })
    }
}

#[pymethods]
impl Bundle {
    /// Loads the bundle in a folder that normac wrote. With `ptx_fallback`, functions run by PTX on devices that no cubin
    /// fits; the driver compiles the PTX.
    #[staticmethod]
    #[pyo3(signature = (folder, *, ptx_fallback = false))]
    fn open(py: Python<'_>, folder: PathBuf, ptx_fallback: bool) -> PyResult<Self> {
        let opened = py.detach(|| norma_runtime::Bundle::open(&folder));
        let mut bundle = opened.map_err(|error| exception(py, &error))?;
        bundle.allow_ptx(ptx_fallback);
        Bundle::new(py, bundle)
    }

    /// Creates a bundle from memory: the contents of its files by their paths in its folder. `ptx_fallback` is as for `open`.
    #[staticmethod]
    #[pyo3(signature = (files, *, ptx_fallback = false))]
    fn from_files(py: Python<'_>, files: BTreeMap<String, Vec<u8>>, ptx_fallback: bool) -> PyResult<Self> {
        let files: Files = files
            .into_iter()
            .map(|(path, content)| (path, Cow::Owned(content)))
            .collect();
        let mut bundle = norma_runtime::Bundle::from_files(files).map_err(|error| exception(py, &error))?;
        bundle.allow_ptx(ptx_fallback);
        Bundle::new(py, bundle)
    }

    /// The names of its functions.
    #[getter]
    fn functions(&self) -> Vec<&str> {
        self.functions.keys().map(String::as_str).collect()
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<Function>> {
        let found = self.functions.get(name).map(|function| function.clone_ref(py));
        found.ok_or_else(|| {
            let known = self.functions().join(", ");
            Kind::Function.exception(py, &format!("there is no function '{name}', only {known}"))
        })
    }

    fn __contains__(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// Iterates over the names of its functions, as a mapping does.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyTuple::new(py, self.functions())?.try_iter()
    }

    fn __len__(&self) -> usize {
        self.functions.len()
    }

    fn __repr__(&self) -> String {
        let (functions, targets) = (self.functions().join(", "), self.targets.join(", "));
        format!("<norma.Bundle of {functions} for {targets}>")
    }
}
