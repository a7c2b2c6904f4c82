//! A function of a manifest, prepared for launches: the checks of a call and the launches of its kernels, compiled to code
//! over one array of values.
//!
//! Everything that does not depend on a call's arguments is done here, once; [`Call`] does the rest.

mod call;
mod code;
mod kernels;
mod overlap;
mod tensors;

use std::collections::HashMap;

use norma_bundle::expression::{EvaluateError, Expression};
use norma_bundle::manifest::{Function, SymbolOf, WorkspaceInit};

use crate::error::Error;
pub(crate) use call::{Call, NeededWorkspace};
pub(crate) use code::Values;
use code::{Code, Comparison, Compiler, Section, Slot};
pub(crate) use kernels::{ArgumentPlan, KernelPlan};
use tensors::TensorPlan;

/// A function, prepared for launches.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The description that it was prepared from; messages take names from it.
    pub(crate) function: Function,
    code: Code,
    tensors: Box<[TensorPlan]>,
    /// Strides that several dims share.
    shared_strides: Box<[SharedStride]>,
    /// Computes the values that the tensors' shapes and the conditions use.
    sizes: Section,
    conditions: Box<[Comparison]>,
    pub(crate) kernels: Box<[KernelPlan]>,
    /// The number of scalars that the caller may set.
    pub(crate) scalars: usize,
    /// The scalars that conditions may use: their positions among the scalars, and their values, which are initially the
    /// defaults.
    numbers: Box<[(usize, Slot)]>,
    pub(crate) workspaces: Box<[Workspace]>,
}

/// Memory that the launcher provides, shared by the kernels of a function.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) name: String,
    pub(crate) init: WorkspaceInit,
}

/// A symbol that is the stride of several dims. It is read from a dim whose extent is more than 1, because the stride of a
/// dim of one element is arbitrary.
#[derive(Debug)]
struct SharedStride {
    slot: Slot,
    /// The values of the extent and the stride of each dim.
    dims: Box<[(Slot, Slot)]>,
}

impl Plan {
    /// Prepares a function, and returns the initial values for calls on a device with this number of multiprocessors.
    ///
    /// # Errors
    /// The function uses a size that is not the extent of any tensor, or its shared memory depends on the number of CTAs that
    /// fit.
    pub(crate) fn new(function: &Function, multiprocessors: u32) -> Result<(Plan, Values), Error> {
        let unsupported = |error: EvaluateError| {
            Error::Bundle(format!(
                "cannot prepare '{}' for launches: {error}",
                function.name
            ))
        };
        let mut compiler = Compiler::default();
        let tensors: Vec<&norma_bundle::manifest::Tensor> = function.tensors().collect();
        let places: Vec<Places> = tensors
            .iter()
            .map(|tensor| Places::new(&mut compiler, tensor.shape.len()))
            .collect();
        let (mut names, shared_strides) = symbols(&mut compiler, &tensors, &places);
        let scalar_names: Vec<&str> = function
            .named_scalars()
            .into_iter()
            .map(|(name, ..)| name)
            .collect();
        let mut numbers = Vec::new();
        for (name, default) in function.numbers() {
            let slot = compiler.value(default);
            names.entry(name).or_insert(slot);
            numbers.extend(
                scalar_names
                    .iter()
                    .position(|known| *known == name)
                    .map(|place| (place, slot)),
            );
        }
        let named = |name: &str| names.get(name).copied();
        let compiled = compiler.section(|compiler| {
            let mut planned = Vec::new();
            for (index, (tensor, places)) in tensors.iter().zip(&places).enumerate() {
                let is_output = index >= function.inputs.len();
                planned.push(TensorPlan::new(compiler, tensor, places, is_output, &named)?);
            }
            let conditions = function
                .conditions
                .iter()
                .map(|condition| compiler.condition(condition, &named));
            Ok((planned, conditions.collect::<Result<Box<_>, _>>()?))
        });
        let (sizes, (planned, conditions)) = compiled.map_err(unsupported)?;

        let multiprocessor_count = compiler.input();
        let mut workspaces = Vec::new();
        let mut kernels = Vec::new();
        for kernel in &function.kernels {
            let scope = kernels::Scope {
                function,
                places: &places,
                multiprocessors: multiprocessor_count,
                scalar_names: &scalar_names,
            };
            let planned =
                compiler.branch(|compiler| KernelPlan::new(compiler, kernel, &scope, &mut workspaces));
            kernels.push(planned.map_err(unsupported)?);
        }
        let (code, mut initial) = compiler.finish();
        initial[multiprocessor_count] = i64::from(multiprocessors);
        let plan = Plan {
            function: function.clone(),
            code,
            tensors: planned.into(),
            shared_strides,
            sizes,
            conditions,
            kernels: kernels.into(),
            scalars: scalar_names.len(),
            numbers: numbers.into(),
            workspaces: workspaces.into(),
        };
        Ok((plan, initial))
    }
}

/// The values for the extents and strides of a tensor.
#[derive(Debug)]
pub(crate) struct Places {
    extents: Box<[Slot]>,
    strides: Box<[Slot]>,
}

impl Places {
    fn new(compiler: &mut Compiler, rank: usize) -> Self {
        let mut inputs = || (0..rank).map(|_| compiler.input()).collect();
        Places {
            extents: inputs(),
            strides: inputs(),
        }
    }

    fn of(&self, what: SymbolOf, dim: usize) -> Slot {
        match what {
            SymbolOf::Size => self.extents[dim],
            SymbolOf::Stride => self.strides[dim],
        }
    }
}

/// Maps the function's symbols to their values. A size is the first extent that has this symbol. A stride is the stride of
/// its dim, or a separate value if several dims share it.
fn symbols<'f>(
    compiler: &mut Compiler,
    tensors: &[&'f norma_bundle::manifest::Tensor],
    places: &[Places],
) -> (HashMap<&'f str, Slot>, Box<[SharedStride]>) {
    let mut names = HashMap::new();
    for (tensor, places) in tensors.iter().zip(places) {
        for (extent, slot) in tensor.shape.iter().zip(&places.extents) {
            if let Expression::Symbol(name) = extent {
                names.entry(name.as_str()).or_insert(*slot);
            }
        }
    }
    let mut strides = Vec::<(&str, Vec<(Slot, Slot)>)>::new();
    for (tensor, places) in tensors.iter().zip(places) {
        for (dim, stride) in tensor.strides.iter().enumerate() {
            let Expression::Symbol(name) = stride else {
                continue;
            };
            if names.contains_key(name.as_str()) {
                continue;
            }
            let place = (places.extents[dim], places.strides[dim]);
            match strides.iter_mut().find(|(known, _)| known == name) {
                Some((_, dims)) => dims.push(place),
                None => strides.push((name, vec![place])),
            }
        }
    }
    let mut shared = Vec::new();
    for (name, dims) in strides {
        let slot = match dims.as_slice() {
            [(_, stride)] => *stride,
            _ => {
                let slot = compiler.input();
                let dims = dims.into();
                shared.push(SharedStride { slot, dims });
                slot
            }
        };
        names.insert(name, slot);
    }
    (names, shared.into())
}
