//! The evaluator: a scalar program with its sizes and inputs bound, walked in f64.
//!
//! [`Evaluator::stored`] computes what a store of the program writes within a box of the iteration space; `values.rs` evaluates
//! the values that it depends on, on demand.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use norma_bundle::expression::Expression;
use norma_bundle::program::{Program, Step, Value, dims_of_access};

use super::access::element_offsets;
use super::grid::{Data, Grid};
use super::values::{Cache, Rounding};
use crate::error::OracleError;
use crate::layout::Layout;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// A box of the iteration space: one range per dim.
pub type Ranges = [Range<i64>];

/// A store of a program: what the caller compares with a kernel's output.
#[derive(Clone, Debug)]
pub struct Write<'a> {
    /// The value that is stored.
    pub value: Value,
    /// The output tensor.
    pub tensor: &'a str,
    /// Where it is stored.
    pub target: Target<'a>,
    /// The dims of the space that the store varies over, ascending.
    pub dims: Vec<usize>,
}

/// Where a store writes.
#[derive(Clone, Debug)]
pub enum Target<'a> {
    /// At coordinates over dims, one per dim of the tensor.
    Affine(&'a [Expression]),
    /// At computed coordinates, where a condition holds and all of them lie within the tensor.
    Computed {
        /// The step that stores.
        step: usize,
        /// One per dim of the tensor.
        coordinates: &'a [Value],
        /// Without one, it holds.
        condition: Option<Value>,
    },
}

/// A program with its sizes, scalars and inputs bound.
pub struct Evaluator<'a> {
    pub(super) program: &'a Program,
    pub(super) extents: Vec<i64>,
    pub(crate) sizes: BTreeMap<String, i64>,
    pub(super) scalars: &'a BTreeMap<String, f64>,
    pub(super) inputs: BTreeMap<String, Tensor<'a>>,
    pub(super) definitions: Vec<(usize, usize)>,
    /// The dims each value varies over, ascending.
    pub(super) dims: Vec<Vec<usize>>,
    /// How many ulp each value may be off; see `tolerance.rs`.
    pub(super) ulps: Vec<f64>,
}

impl<'a> Evaluator<'a> {
    /// Binds a validated program. `scalars` override defaults by name; `sizes` holds every size that the program uses,
    /// `inputs` every tensor that it reads.
    ///
    /// # Errors
    /// An extent that has no value or a negative one.
    pub fn new(
        program: &'a Program,
        sizes: BTreeMap<String, i64>,
        scalars: &'a BTreeMap<String, f64>,
        inputs: BTreeMap<String, Tensor<'a>>,
    ) -> Result<Self, OracleError> {
        let size_of = |name: &str| sizes.get(name).copied();
        let extents = program
            .space
            .iter()
            .map(|extent| extent.evaluate(&size_of))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(extent) = extents.iter().find(|extent| **extent < 0) {
            return Err(OracleError::Extent(*extent));
        }
        let definitions = program.definitions();
        let mut dims: Vec<Vec<usize>> = Vec::with_capacity(definitions.len());
        let mut ulps: Vec<f64> = Vec::with_capacity(definitions.len());
        for step in &program.steps {
            let step_dims = step.dims(&dims);
            let step_ulps = match step {
                Step::Read { tensor, .. } => inputs.get(tensor).map_or(0.0, |tensor| tensor.ulps),
                Step::Op(operation) => most(&ulps, &operation.operands),
                Step::Reduce { operands, over, .. } => {
                    most(&ulps, operands).max(combining_ulps(&union(&dims, operands), over, &extents))
                }
                Step::Scan { operand, along, .. } => {
                    most(&ulps, &[*operand]).max(combining_ulps(&step_dims, along, &extents))
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

    /// The dims that some reduction removes or numbers its results by, or that a scan runs along.
    pub(crate) fn reduced_dims(&self) -> Vec<usize> {
        let over = self.program.steps.iter().flat_map(|step| match step {
            Step::Reduce { over, .. } | Step::Scan { along: over, .. } => over.clone(),
            Step::Nth { over, nth, .. } => [over.as_slice(), &[*nth]].concat(),
            _ => Vec::new(),
        });
        over.collect()
    }

    /// The program's stores, in order.
    pub fn writes(&self) -> Vec<Write<'a>> {
        let write = |(index, step): (usize, &'a Step)| match step {
            Step::Write {
                value,
                tensor,
                access,
                ..
            } => {
                let mut dims = [dims_of_access(access), self.dims[*value].clone()].concat();
                dims.sort_unstable();
                dims.dedup();
                Some(Write {
                    value: *value,
                    tensor,
                    target: Target::Affine(access),
                    dims,
                })
            }
            Step::Scatter {
                value,
                tensor,
                coordinates,
                condition,
            } => Some(Write {
                value: *value,
                tensor,
                target: Target::Computed {
                    step: index,
                    coordinates,
                    condition: *condition,
                },
                dims: union(&self.dims, &step.operands().collect::<Vec<_>>()),
            }),
            _ => None,
        };
        self.program.steps.iter().enumerate().filter_map(write).collect()
    }

    /// The values that `write` stores within `region` over all of `write.dims`, before they are rounded to the tensor's type, those at
    /// points that do not exist ([`Self::existing`]) included.
    ///
    /// # Errors
    /// See [`OracleError`].
    pub fn stored(&self, write: &Write<'_>, region: &Ranges) -> Result<Grid, OracleError> {
        let mut cache = Cache::new();
        let (step, _) = self.definitions[write.value];
        let grid = match &self.program.steps[step] {
            Step::Op(_) => Rc::new(self.operation(step, region, &mut cache, Rounding::None)?),
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

    /// The points within `region` at which `write` stores anything, as positions in the order of [`Self::stored`], or `None` for all of
    /// them; and the memory offsets that it stores to there, in elements.
    ///
    /// # Errors
    /// A coordinate over dims that is outside of the tensor, or a computed one that the program leaves open.
    pub fn stored_at(
        &self,
        write: &Write<'_>,
        layout: &Layout,
        region: &Ranges,
    ) -> Result<(Option<Vec<i64>>, Vec<i64>), OracleError> {
        let (offsets, is_inside) = match write.target {
            Target::Affine(access) => (self.stored_offsets(write, access, layout, region)?, None),
            Target::Computed {
                step,
                coordinates,
                condition,
            } => {
                let found = self.places(
                    step,
                    (coordinates, condition),
                    layout,
                    (&write.dims, region),
                    &mut Cache::new(),
                )?;
                if found.is_open.contains(&true) {
                    return Err(OracleError::Kind(step));
                }
                (found.offsets, Some(found.is_inside))
            }
        };
        let existing = self.existing(&write.dims, region)?;
        if existing.is_none() && is_inside.is_none() {
            return Ok((None, offsets));
        }
        let holds = |flags: &Option<Vec<bool>>, point: usize| flags.as_ref().is_none_or(|flags| flags[point]);
        let is_stored = |point: &usize| holds(&existing, *point) && holds(&is_inside, *point);
        let points: Vec<usize> = (0..offsets.len()).filter(is_stored).collect();
        let offsets = points.iter().map(|point| offsets[*point]).collect();
        let points = points.into_iter().map(|point| point as i64);
        Ok((Some(points.collect()), offsets))
    }

    /// The memory offsets, in elements, of an access of `write` within `region`, in the order of [`Self::stored`]; 0 at points that do not
    /// exist.
    fn stored_offsets(
        &self,
        write: &Write<'_>,
        access: &[Expression],
        layout: &Layout,
        region: &Ranges,
    ) -> Result<Vec<i64>, OracleError> {
        let dims = dims_of_access(access);
        let found = self.offsets(access, write.tensor, layout, region)?;
        let grid = Grid {
            extents: extents_of(&dims, region),
            dims,
            data: Data::integers(found),
        };
        match grid
            .broadcast(&write.dims, &extents_of(&write.dims, region))
            .into_owned()
        {
            Data::Integer { values, .. } => Ok(values),
            Data::Float { .. } => Ok(Vec::new()),
        }
    }

    /// The memory offsets that `access` to `tensor` reaches within `region`, over the dims it depends on; 0 at points that do not exist.
    pub(crate) fn offsets(
        &self,
        access: &[Expression],
        tensor: &str,
        layout: &Layout,
        region: &Ranges,
    ) -> Result<Vec<i64>, OracleError> {
        let existing = self.existing(&dims_of_access(access), region)?;
        let found = element_offsets(access, layout, &self.sizes, region, existing.as_deref());
        found.map_err(|source| OracleError::Access {
            tensor: tensor.to_owned(),
            source,
        })
    }

    /// How many ulp the f32 arithmetic behind a value may be off: the most of the reductions it depends on.
    pub fn arithmetic_ulps(&self, value: Value) -> f64 {
        self.ulps[value]
    }
}

/// How many ulp a kernel may be off after combining values that vary over `dims` along the dims of `over`.
fn combining_ulps(dims: &[usize], over: &[usize], extents: &[i64]) -> f64 {
    let terms = over.iter().map(|dim| extents[*dim].max(1)).product();
    // A reduction that keeps the innermost dim runs sequentially down columns.
    let innermost = dims.last().is_none_or(|dim| over.contains(dim));
    let order = if innermost { Order::Tree } else { Order::Sequential };
    arithmetic_ulps(terms, order)
}

/// The dims that any of the values varies over, ascending.
pub(super) fn union(dims: &[Vec<usize>], values: &[Value]) -> Vec<usize> {
    let mut all: Vec<usize> = values.iter().flat_map(|value| &dims[*value]).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

pub(super) fn most(ulps: &[f64], values: &[Value]) -> f64 {
    values
        .iter()
        .map(|value| ulps[*value])
        .fold(arithmetic_ulps(1, Order::Tree), f64::max)
}

pub(crate) fn extents_of(dims: &[usize], region: &Ranges) -> Vec<usize> {
    dims.iter()
        .map(|dim| (region[*dim].end - region[*dim].start).max(0) as usize)
        .collect()
}
