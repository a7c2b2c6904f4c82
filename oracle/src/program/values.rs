//! A program's values, evaluated on demand over a box of the iteration space, each only over the dims it varies over.
//!
//! A reduction widens the box to the whole extent of the dims it removes, and is cut into parts where that would take much
//! memory, so a row at a time costs a row of memory whatever the tensor's size. Partial results are combined pairwise: the
//! f64 error of a sum of N terms grows with log2(N), far below any tolerance.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use norma_bundle::Element;
use norma_bundle::expression::Expression;
use norma_bundle::program::{Number, Step, Value, dims_of_access};

use super::combine::{accumulate_in, combine, constant, identities, reduce_rows, repeat};
use super::evaluate::{Evaluator, Ranges, extents_of, most, union};
use super::grid::{Data, Grid};
use super::guards::told_apart;
use super::operation;
use crate::error::OracleError;

/// The most points of a reduction's operands that are held at once.
const MAX_POINTS: u128 = 1 << 21;

/// Whether the result of an operation is rounded to its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// As the definition rounds it, for later steps.
    Defined,
    /// Unrounded, as it is before it is stored.
    None,
}

/// The values evaluated so far, by value and the ranges of its dims.
pub(super) type Cache = HashMap<(Value, Vec<Range<i64>>), Rc<Grid>>;

impl Evaluator<'_> {
    pub(super) fn value(
        &self,
        value: Value,
        region: &Ranges,
        cache: &mut Cache,
    ) -> Result<Rc<Grid>, OracleError> {
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
                    data: Data::integers(range.collect()),
                }
            }
            Step::Size { value } => {
                let size = value.evaluate(&|name| self.sizes.get(name).copied())?;
                Grid::scalar(Data::integers(vec![size]))
            }
            Step::Scalar { name, value, element } => {
                let number = self.scalars.get(name).map_or(*value, |set| Number::Float(*set));
                Grid::scalar(constant(number, *element))
            }
            Step::Constant { value, element } => Grid::scalar(constant(*value, *element)),
            Step::Op(_) => self.operation(step, region, cache, Rounding::Defined)?,
            Step::Nth { .. } => self.nth(step, region, cache)?,
            Step::Scan { .. } => self.scan(step, region, cache)?,
            Step::Reduce {
                over,
                types,
                combiner,
                ..
            } => {
                let mut widened = region.to_vec();
                for dim in over {
                    widened[*dim] = 0..self.extents[*dim];
                }
                let mut results = self.reduce(step, &widened, cache)?;
                for (data, element) in results.iter_mut().zip(types) {
                    accumulate_in(*element, combiner, data);
                }
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
                return cache.get(&key).cloned().ok_or(OracleError::Kind(step));
            }
            Step::Gather { .. } => {
                let [element, inside] = self.gather(step, region, cache)?;
                let first = value - self.definitions[value].1;
                cache.insert((first, key.1.clone()), Rc::new(element));
                cache.insert((first + 1, key.1.clone()), Rc::new(inside));
                return cache.get(&key).cloned().ok_or(OracleError::Kind(step));
            }
            Step::Write { .. } | Step::Scatter { .. } => return Err(OracleError::Kind(step)),
        };
        let grid = Rc::new(grid);
        cache.insert(key, Rc::clone(&grid));
        Ok(grid)
    }

    fn read(&self, tensor: &str, access: &[Expression], region: &Ranges) -> Result<Grid, OracleError> {
        let unbound = || OracleError::Unbound(tensor.to_owned());
        let input = self.inputs.get(tensor).ok_or_else(unbound)?;
        let found = self.offsets(access, tensor, &input.layout, region)?;
        let data = input.at(&found).ok_or_else(unbound)?;
        let dims = dims_of_access(access);
        Ok(Grid {
            extents: extents_of(&dims, region),
            dims,
            data,
        })
    }

    pub(super) fn operation(
        &self,
        step: usize,
        region: &Ranges,
        cache: &mut Cache,
        rounding: Rounding,
    ) -> Result<Grid, OracleError> {
        let Step::Op(operation) = &self.program.steps[step] else {
            return Err(OracleError::Kind(step));
        };
        let dims = self.program.steps[step].dims(&self.dims);
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
        let operands: Vec<&Data> = operands.iter().map(AsRef::as_ref).collect();
        let context = operation::Context {
            types: &types,
            ulps: most(&self.ulps, &operation.operands),
            in_combiner: false,
        };
        let unrounded = operation::apply_unrounded(operation, &operands, context)
            .map_err(|source| OracleError::Operation { step, source })?;
        let data = match rounding {
            Rounding::Defined => operation::rounded(unrounded, operation, context),
            Rounding::None => unrounded,
        };
        Ok(Grid { dims, extents, data })
    }

    fn type_of(&self, value: Value) -> Option<Element> {
        let (step, result) = self.definitions[value];
        self.program.steps[step].result_type(result)
    }

    /// One result per accumulator, over the dims of `region` that the reduction keeps.
    fn reduce(&self, step: usize, region: &Ranges, cache: &mut Cache) -> Result<Vec<Data>, OracleError> {
        let Step::Reduce {
            combiner,
            operands,
            over,
            types,
        } = &self.program.steps[step]
        else {
            return Err(OracleError::Kind(step));
        };
        let dims = told_apart(self.program, &union(&self.dims, operands), over);
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
                    // Every kept dim before this one has a single point, so the halves follow one another in row-major order.
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
        let existing = self.existing(&dims, region)?;
        let neutral = identities(combiner, types, 1);
        let mut partials = Vec::with_capacity(operands.len());
        for (operand, neutral) in operands.iter().zip(neutral) {
            let grid = self.value(*operand, region, cache)?;
            let mut data = grid.broadcast(&dims, &extents).into_owned();
            if let Some(existing) = &existing {
                data = data.replaced(existing, &neutral).ok_or(OracleError::Kind(step))?;
            }
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
