//! The reference evaluator: walks a scalar program's iteration space in f64.
//!
//! Values are evaluated on demand over a box of the space, each only over the dims it varies over. A reduction widens
//! the box to the whole extent of the dims it removes, and is cut into parts where that would take much memory, so
//! a row at a time costs a row of memory whatever the tensor's size. Partial results are combined pairwise: the
//! f64 error of a sum of N terms grows with log2(N), far below any tolerance.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use thiserror::Error;

use super::access::{AccessError, dims_of, element_offsets};
use super::combine::{combine, constant, reduce_rows, repeat};
use super::grid::{Data, Grid};
use super::operation::{self, OperationError};
use crate::layout::Layout;
use crate::tolerance::{Order, arithmetic_ulps};
use norma_bundle::Element;
use norma_bundle::expression::{EvaluateError, Expression};
use norma_bundle::program::{Number, Operation, Program, Step, Value};

/// A box of the iteration space: one range per dim.
pub type Ranges = [Range<i64>];

/// The most points of a reduction's operands that are held at once.
const MAX_POINTS: u128 = 1 << 21;

/// An input tensor in host memory.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The element type.
    pub element: Element,
    /// Its elements, from the first one on, little-endian.
    pub bytes: &'a [u8],
    /// Extents and strides.
    pub layout: Layout,
}

/// Why a program cannot be evaluated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReferenceError {
    /// A size has no value.
    #[error("in the reference program: {0}")]
    Size(#[from] EvaluateError),
    /// An extent is negative.
    #[error("in the reference program: expected extents of at least 0, got {0}")]
    Extent(i64),
    /// An operation has no value.
    #[error("in step {step} of the reference program: {source}")]
    Operation {
        /// The step's index.
        step: usize,
        /// Why.
        source: OperationError,
    },
    /// A read or write goes astray.
    #[error("in the reference program, tensor '{tensor}': {source}")]
    Access {
        /// The tensor.
        tensor: String,
        /// Why.
        source: AccessError,
    },
    /// The caller did not bind an input, or its memory ends too early.
    #[error("the reference program reads '{0}', which is not bound to enough memory")]
    Unbound(String),
    /// Steps disagree about the kind of a value, which validation of the manifest does not see.
    #[error("in step {0} of the reference program: expected operands of one kind, all float or all integer")]
    Kind(usize),
}

/// A store of a program: what the caller compares with a kernel's output.
#[derive(Clone, Debug)]
pub struct Write<'a> {
    /// The value that is stored.
    pub value: Value,
    /// The output tensor.
    pub tensor: &'a str,
    /// One coordinate per dim of the tensor.
    pub access: &'a [Expression],
    /// The dims of the space that the store varies over, ascending.
    pub dims: Vec<usize>,
}

/// A program with its sizes, scalars and inputs bound.
pub struct Evaluator<'a> {
    program: &'a Program,
    extents: Vec<i64>,
    sizes: &'a BTreeMap<String, i64>,
    scalars: &'a BTreeMap<String, f64>,
    inputs: BTreeMap<String, Input<'a>>,
    definitions: Vec<(usize, usize)>,
    /// The dims each value varies over, ascending.
    dims: Vec<Vec<usize>>,
    /// The rounding error of each value, see `tolerance.rs`.
    ulps: Vec<f64>,
}

/// Applies an operation, with or without rounding its result.
type Apply = fn(&Operation, &[&Data], &[Element]) -> Result<Data, OperationError>;

/// What has been evaluated of one box, by value and the ranges of the value's dims.
type Cache = HashMap<(Value, Vec<Range<i64>>), Rc<Grid>>;

impl<'a> Evaluator<'a> {
    /// Binds a validated program. `scalars` override defaults by name; `sizes` holds every size of the function.
    ///
    /// # Errors
    /// An extent that has no value or a negative one.
    pub fn new(
        program: &'a Program,
        sizes: &'a BTreeMap<String, i64>,
        scalars: &'a BTreeMap<String, f64>,
        inputs: BTreeMap<String, Input<'a>>,
    ) -> Result<Self, ReferenceError> {
        let size_of = |name: &str| sizes.get(name).copied();
        let extents = program
            .space
            .iter()
            .map(|extent| extent.evaluate(&size_of))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(extent) = extents.iter().find(|extent| **extent < 0) {
            return Err(ReferenceError::Extent(*extent));
        }
        let definitions = program.definitions();
        let mut dims: Vec<Vec<usize>> = Vec::with_capacity(definitions.len());
        let mut ulps: Vec<f64> = Vec::with_capacity(definitions.len());
        for step in &program.steps {
            let step_dims = match step {
                Step::Read { access, .. } => dims_of(access),
                Step::Index { dim } => vec![*dim],
                Step::Op(operation) => union(&dims, &operation.operands),
                Step::Reduce { operands, over, .. } => union(&dims, operands)
                    .into_iter()
                    .filter(|dim| !over.contains(dim))
                    .collect(),
                Step::Size { .. } | Step::Scalar { .. } | Step::Constant { .. } | Step::Write { .. } => {
                    vec![]
                }
            };
            let step_ulps = match step {
                Step::Op(operation) => most(&ulps, &operation.operands),
                Step::Reduce { operands, over, .. } => {
                    let terms = over.iter().map(|dim| extents[*dim].max(1)).product();
                    // A reduction that keeps the innermost dim runs down the columns.
                    let innermost = union(&dims, operands).last().is_none_or(|dim| over.contains(dim));
                    let order = if innermost { Order::Tree } else { Order::Sequential };
                    most(&ulps, operands).max(arithmetic_ulps(terms, order))
                }
                _ => arithmetic_ulps(1, Order::Tree),
            };
            dims.extend(std::iter::repeat_n(step_dims, step.result_count()));
            ulps.extend(std::iter::repeat_n(step_ulps, step.result_count()));
        }
        Ok(Evaluator {
            program,
            extents,
            sizes,
            scalars,
            inputs,
            definitions,
            dims,
            ulps,
        })
    }

    /// The extents of the iteration space.
    pub fn extents(&self) -> &[i64] {
        &self.extents
    }

    /// The program's stores, in order.
    pub fn writes(&self) -> Vec<Write<'a>> {
        let write = |step: &'a Step| match step {
            Step::Write {
                value,
                tensor,
                access,
            } => {
                let mut dims = [dims_of(access), self.dims[*value].clone()].concat();
                dims.sort_unstable();
                dims.dedup();
                Some(Write {
                    value: *value,
                    tensor,
                    access,
                    dims,
                })
            }
            _ => None,
        };
        self.program.steps.iter().filter_map(write).collect()
    }

    /// What `write` stores within `region`, before it is rounded to the tensor's type, over all of `write.dims`.
    ///
    /// # Errors
    /// See [`ReferenceError`].
    pub fn stored(&self, write: &Write<'_>, region: &Ranges) -> Result<Grid, ReferenceError> {
        let mut cache = Cache::new();
        let (step, _) = self.definitions[write.value];
        let grid = match &self.program.steps[step] {
            Step::Op(_) => Rc::new(self.operation(step, region, &mut cache, operation::apply_unrounded)?),
            _ => self.value(write.value, region, &mut cache)?,
        };
        let extents = extents_of(&write.dims, region);
        let data = grid.broadcast(&write.dims, &extents).into_owned();
        Ok(Grid {
            dims: write.dims.clone(),
            extents,
            data,
        })
    }

    /// What `write` stores at each of `points`, which have one coordinate per dim of the space; coordinates of dims
    /// that the store does not vary over are ignored.
    ///
    /// # Errors
    /// See [`ReferenceError`].
    pub fn evaluate_at(&self, write: &Write<'_>, points: &[Vec<i64>]) -> Result<Vec<Grid>, ReferenceError> {
        let at = |point: &Vec<i64>| {
            let region: Vec<Range<i64>> = point.iter().map(|index| *index..index + 1).collect();
            self.stored(write, &region)
        };
        points.iter().map(at).collect()
    }

    /// The memory offsets, in elements, that `write` stores to within `region`, in the order of [`Self::stored`].
    ///
    /// # Errors
    /// A coordinate outside of the tensor.
    pub fn stored_offsets(
        &self,
        write: &Write<'_>,
        layout: &Layout,
        region: &Ranges,
    ) -> Result<Vec<i64>, ReferenceError> {
        let dims = dims_of(write.access);
        let found = element_offsets(write.access, layout, self.sizes, region).map_err(|source| {
            ReferenceError::Access {
                tensor: write.tensor.to_owned(),
                source,
            }
        })?;
        let grid = Grid {
            extents: extents_of(&dims, region),
            dims,
            data: Data::Integer(found),
        };
        match grid
            .broadcast(&write.dims, &extents_of(&write.dims, region))
            .into_owned()
        {
            Data::Integer(found) => Ok(found),
            Data::Float { .. } => Ok(Vec::new()),
        }
    }

    /// How many ulp the f32 arithmetic behind a value may be off: the most of the reductions it depends on.
    pub fn arithmetic_ulps(&self, value: Value) -> f64 {
        self.ulps[value]
    }

    fn value(&self, value: Value, region: &Ranges, cache: &mut Cache) -> Result<Rc<Grid>, ReferenceError> {
        let dims = &self.dims[value];
        let key = (
            value,
            dims.iter().map(|dim| region[*dim].clone()).collect::<Vec<_>>(),
        );
        if let Some(known) = cache.get(&key) {
            return Ok(Rc::clone(known));
        }
        let (step, _) = self.definitions[value];
        let grid = match &self.program.steps[step] {
            Step::Read { tensor, access, .. } => self.read(tensor, access, region)?,
            Step::Index { dim } => {
                let range = region[*dim].clone();
                Grid {
                    dims: dims.clone(),
                    extents: extents_of(dims, region),
                    data: Data::Integer(range.collect()),
                }
            }
            Step::Size { value } => {
                let size = value.evaluate(&|name| self.sizes.get(name).copied())?;
                Grid::scalar(Data::Integer(vec![size]))
            }
            Step::Scalar { name, value, element } => {
                let number = self.scalars.get(name).map_or(*value, |set| Number::Float(*set));
                Grid::scalar(constant(number, *element))
            }
            Step::Constant { value, element } => Grid::scalar(constant(*value, *element)),
            Step::Op(_) => self.operation(step, region, cache, operation::apply)?,
            Step::Reduce { over, .. } => {
                let mut widened = region.to_vec();
                for dim in over {
                    widened[*dim] = 0..self.extents[*dim];
                }
                let results = self.reduce(step, &widened, cache)?;
                let first = self
                    .definitions
                    .partition_point(|definition| *definition < (step, 0));
                for (index, result) in results.into_iter().enumerate() {
                    let result_dims = self.dims[first + index].clone();
                    let extents = extents_of(&result_dims, region);
                    let grid = Grid {
                        dims: result_dims,
                        extents,
                        data: result,
                    };
                    cache.insert((first + index, key.1.clone()), Rc::new(grid));
                }
                return cache.get(&key).cloned().ok_or(ReferenceError::Kind(step));
            }
            Step::Write { .. } => return Err(ReferenceError::Kind(step)),
        };
        let grid = Rc::new(grid);
        cache.insert(key, Rc::clone(&grid));
        Ok(grid)
    }

    fn read(&self, tensor: &str, access: &[Expression], region: &Ranges) -> Result<Grid, ReferenceError> {
        let unbound = || ReferenceError::Unbound(tensor.to_owned());
        let input = self.inputs.get(tensor).ok_or_else(unbound)?;
        let found = element_offsets(access, &input.layout, self.sizes, region).map_err(|source| {
            ReferenceError::Access {
                tensor: tensor.to_owned(),
                source,
            }
        })?;
        let patterns = found.iter().map(|offset| {
            usize::try_from(*offset)
                .ok()
                .and_then(|offset| input.element.load(input.bytes, offset))
        });
        let data = match input.element.integer_bits() {
            None => {
                let decode = |pattern: Option<u64>| pattern.map(|bits| input.element.decode_float(bits));
                Data::exact(patterns.map(decode).collect::<Option<_>>().ok_or_else(unbound)?)
            }
            Some(_) => {
                let decode =
                    |pattern: Option<u64>| pattern.map(|bits| input.element.wrap_integer(bits as i64));
                Data::Integer(patterns.map(decode).collect::<Option<_>>().ok_or_else(unbound)?)
            }
        };
        let dims = dims_of(access);
        Ok(Grid {
            extents: extents_of(&dims, region),
            dims,
            data,
        })
    }

    fn operation(
        &self,
        step: usize,
        region: &Ranges,
        cache: &mut Cache,
        apply: Apply,
    ) -> Result<Grid, ReferenceError> {
        let Step::Op(operation) = &self.program.steps[step] else {
            return Err(ReferenceError::Kind(step));
        };
        let dims = union(&self.dims, &operation.operands);
        let extents = extents_of(&dims, region);
        let grids = operation
            .operands
            .iter()
            .map(|operand| self.value(*operand, region, cache))
            .collect::<Result<Vec<_>, _>>()?;
        let operands: Vec<_> = grids.iter().map(|grid| grid.broadcast(&dims, &extents)).collect();
        let types: Vec<Element> = operation
            .operands
            .iter()
            .filter_map(|operand| self.type_of(*operand))
            .collect();
        let data = apply(
            operation,
            &operands.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            &types,
        )
        .map_err(|source| ReferenceError::Operation { step, source })?;
        Ok(Grid { dims, extents, data })
    }

    fn type_of(&self, value: Value) -> Option<Element> {
        let (step, result) = self.definitions[value];
        self.program.steps[step].result_type(result)
    }

    /// One result per accumulator, over the dims of `region` that the reduction keeps.
    fn reduce(&self, step: usize, region: &Ranges, cache: &mut Cache) -> Result<Vec<Data>, ReferenceError> {
        let Step::Reduce {
            combiner,
            operands,
            over,
            types,
        } = &self.program.steps[step]
        else {
            return Err(ReferenceError::Kind(step));
        };
        let dims = union(&self.dims, operands);
        let length = |dim: usize| (region[dim].end - region[dim].start).max(0);
        let points: u128 = dims.iter().map(|dim| length(*dim) as u128).product();
        if points > MAX_POINTS {
            let kept = dims
                .iter()
                .copied()
                .find(|dim| !over.contains(dim) && length(*dim) > 1);
            let longest = dims.iter().copied().max_by_key(|dim| length(*dim));
            if let Some(dim) = kept.or(longest) {
                let middle = region[dim].start + length(dim) / 2;
                let (mut low, mut high) = (region.to_vec(), region.to_vec());
                low[dim].end = middle;
                high[dim].start = middle;
                // Each half has a cache of its own, so that memory is bounded by one part.
                let low = self.reduce(step, &low, &mut Cache::new())?;
                let high = self.reduce(step, &high, &mut Cache::new())?;
                return if kept.is_some() {
                    // The dims before the first kept one that is longer than a point are points, so the halves
                    // follow one another in row-major order.
                    Ok(low
                        .into_iter()
                        .zip(high)
                        .map(|(low, high)| low.append(high))
                        .collect())
                } else {
                    combine(step, combiner, types, low, high)
                };
            }
        }
        let extents = extents_of(&dims, region);
        let mut partials = Vec::with_capacity(operands.len());
        for operand in operands {
            let grid = self.value(*operand, region, cache)?;
            let data = grid.broadcast(&dims, &extents).into_owned();
            partials.push(
                Grid {
                    dims: dims.clone(),
                    extents: extents.clone(),
                    data,
                }
                .with_major(over),
            );
        }
        let kept: usize = dims
            .iter()
            .filter(|dim| !over.contains(dim))
            .map(|dim| length(*dim) as usize)
            .product();
        // A dim that is reduced but that no operand varies over repeats every term.
        let repeats: i64 = over
            .iter()
            .filter(|dim| !dims.contains(dim))
            .map(|dim| length(*dim))
            .product();
        let rows: usize = dims
            .iter()
            .filter(|dim| over.contains(dim))
            .map(|dim| length(*dim) as usize)
            .product();
        let once = reduce_rows(step, combiner, types, partials, rows, kept)?;
        repeat(step, combiner, types, once, repeats, kept)
    }
}

fn union(dims: &[Vec<usize>], values: &[Value]) -> Vec<usize> {
    let mut all: Vec<usize> = values.iter().flat_map(|value| &dims[*value]).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn most(ulps: &[f64], values: &[Value]) -> f64 {
    values
        .iter()
        .map(|value| ulps[*value])
        .fold(arithmetic_ulps(1, Order::Tree), f64::max)
}

fn extents_of(dims: &[usize], region: &Ranges) -> Vec<usize> {
    dims.iter()
        .map(|dim| (region[*dim].end - region[*dim].start).max(0) as usize)
        .collect()
}
