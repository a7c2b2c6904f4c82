//! A part of an output: the elements that one statement computes, over a space that can be cut into boxes.

use std::ops::Range;
use std::rc::Rc;

use crate::error::OracleError;
use crate::layout::Layout;
use crate::named::Formula;
use crate::program::Evaluator;
use crate::program::evaluate::{Ranges, Target, Write, extents_of};
use crate::program::grid::{Data, offsets};
use crate::tensor::Tensor;

/// The most points of a space that are evaluated at once where the space can be cut without repeating work: few enough that
/// their values stay in a cache and the allocator does not ask the system for memory each time.
const BOX: i64 = 1 << 13;

/// Elements of a tensor, and where they come from.
#[derive(Clone)]
pub struct Part<'a> {
    /// The tensor.
    pub tensor: &'a str,
    pub(crate) source: Source<'a>,
}

#[derive(Clone)]
pub(crate) enum Source<'a> {
    /// A store of a program; the space is the program's.
    Program {
        evaluator: Rc<Evaluator<'a>>,
        write: Write<'a>,
    },
    /// A result of a named op; the space is the tensor's own dims.
    Named {
        formula: Rc<dyn Formula + 'a>,
        result: &'a str,
    },
    /// A tensor that several statements have written; the space is the tensor's own dims.
    Memory(Tensor<'a>),
}

/// The elements of a part within a box of its space; `data` and `places` are in the same order.
pub(crate) struct Elements {
    /// The values before they are rounded to the tensor's type.
    pub data: Data,
    /// Their offsets in the tensor's memory, in elements.
    pub places: Vec<i64>,
}

impl Part<'_> {
    /// The extents of the part's space.
    pub fn extents(&self) -> Vec<i64> {
        match &self.source {
            Source::Program { evaluator, .. } => evaluator.extents().to_vec(),
            Source::Named { formula, result } => formula.shape(result).unwrap_or_default(),
            Source::Memory(tensor) => tensor.layout.shape.clone(),
        }
    }

    /// The dims of the space that the elements vary over, ascending.
    pub fn dims(&self) -> Vec<usize> {
        match &self.source {
            Source::Program { write, .. } => write.dims.clone(),
            _ => (0..self.extents().len()).collect(),
        }
    }

    /// How many ulp of the arithmetic, at their scale, the elements may be off.
    pub fn ulps(&self) -> f64 {
        match &self.source {
            Source::Program { evaluator, write } => evaluator.arithmetic_ulps(write.value),
            Source::Named { formula, result } => formula.ulps(result),
            Source::Memory(tensor) => tensor.ulps,
        }
    }

    /// The whole space.
    pub(crate) fn whole(&self) -> Vec<Range<i64>> {
        self.extents().into_iter().map(|extent| 0..extent).collect()
    }

    /// A dim of the space along which it can be cut without repeating work, because the elements share no reduction.
    fn independent_dim(&self) -> Option<usize> {
        match &self.source {
            Source::Program { evaluator, write } => {
                let reduced = evaluator.reduced_dims();
                write.dims.iter().copied().find(|dim| !reduced.contains(dim))
            }
            Source::Named { formula, result } => (formula.independent_dims(result) > 0).then_some(0),
            Source::Memory(tensor) => (!tensor.layout.shape.is_empty()).then_some(0),
        }
    }

    /// Cuts `region` into boxes that take little memory when evaluated one after the other.
    pub(crate) fn boxes(&self, region: &Ranges) -> Vec<Vec<Range<i64>>> {
        let Some(dim) = self.independent_dim() else {
            return vec![region.to_vec()];
        };
        let others = region.iter().enumerate().filter(|(other, _)| *other != dim);
        let slice = others.fold(1i64, |points, (_, range)| {
            points.saturating_mul((range.end - range.start).max(1))
        });
        let step = (BOX / slice).max(1);
        let starts = region[dim].clone().step_by(usize::try_from(step).unwrap_or(1));
        let cut = starts.map(|start| {
            let mut part = region.to_vec();
            part[dim] = start..(start + step).min(region[dim].end);
            part
        });
        cut.collect()
    }

    /// Evaluates the part within `region`; `layout` is the tensor's.
    pub(crate) fn evaluate(&self, layout: &Layout, region: &Ranges) -> Result<Elements, OracleError> {
        let dense = |layout: &Layout| {
            let base = region
                .iter()
                .zip(&layout.strides)
                .map(|(range, stride)| range.start * stride)
                .sum();
            let all: Vec<usize> = (0..region.len()).collect();
            offsets(base, &extents_of(&all, region), &layout.strides)
        };
        Ok(match &self.source {
            Source::Program { evaluator, write } => {
                let data = evaluator.stored(write, region)?.data;
                let (points, places) = evaluator.stored_at(write, layout, region)?;
                let data = match points {
                    None => data,
                    Some(points) => data.gather(&points),
                };
                Elements { data, places }
            }
            Source::Named { formula, result } => Elements {
                data: formula.evaluate(result, region),
                places: dense(layout),
            },
            Source::Memory(tensor) => Elements {
                data: tensor
                    .at(&dense(&tensor.layout))
                    .ok_or_else(|| OracleError::Unbound(self.tensor.to_owned()))?,
                places: dense(layout),
            },
        })
    }

    /// Whether the kernel computes where the elements lie.
    pub(crate) fn is_at_computed_places(&self) -> bool {
        match &self.source {
            Source::Program { write, .. } => matches!(write.target, Target::Computed { .. }),
            _ => false,
        }
    }

    /// The offsets in the tensor's memory, in elements, that a part of a program reaches within `region`; none for another part.
    pub(crate) fn places(&self, layout: &Layout, region: &Ranges) -> Result<Vec<i64>, OracleError> {
        match &self.source {
            Source::Program { evaluator, write } => Ok(evaluator.stored_at(write, layout, region)?.1),
            _ => Ok(Vec::new()),
        }
    }

    /// Whether the element at `coordinates` of the tensor is padding, which nothing writes.
    pub(crate) fn is_padding(&self, coordinates: &[i64]) -> bool {
        match &self.source {
            Source::Named { formula, result } => formula.is_padding(result, coordinates),
            _ => false,
        }
    }

    /// One past the largest coordinate that the part writes, for each dim of its tensor by itself; 0 along a dim without
    /// points.
    pub(crate) fn reached(&self) -> Result<Vec<i64>, OracleError> {
        let Source::Program { evaluator, write } = &self.source else {
            return Ok(self.extents());
        };
        let whole = self.whole();
        // A layout of one unbounded dim, in which a coordinate is its own offset.
        let line = Layout {
            shape: vec![i64::MAX],
            strides: vec![1],
        };
        let reach = |target: Target<'_>| -> Result<i64, OracleError> {
            let of_axis = Write {
                target,
                ..write.clone()
            };
            let (_, places) = evaluator.stored_at(&of_axis, &line, &whole)?;
            Ok(places.into_iter().max().map_or(0, |last| last + 1))
        };
        match &write.target {
            Target::Affine(access) => {
                let axes = access.iter().map(std::slice::from_ref);
                axes.map(|axis| reach(Target::Affine(axis))).collect()
            }
            Target::Computed {
                step,
                coordinates,
                condition,
            } => {
                let (step, condition) = (*step, *condition);
                let axes = coordinates.iter().map(std::slice::from_ref);
                let target = |coordinates| Target::Computed {
                    step,
                    coordinates,
                    condition,
                };
                axes.map(|axis| reach(target(axis))).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use norma_bundle::Element;

    use super::*;

    fn boxes(shape: &[i64]) -> Vec<Vec<Range<i64>>> {
        let layout = Layout::contiguous(shape).unwrap();
        let part = Part {
            tensor: "x",
            source: Source::Memory(Tensor::stored(Element::F32, layout, &[])),
        };
        part.boxes(&part.whole())
    }

    #[test]
    fn spaces_are_cut_into_boxes() {
        assert_eq!(boxes(&[3, BOX]), [[0..1, 0..BOX], [1..2, 0..BOX], [2..3, 0..BOX]]);
        assert_eq!(boxes(&[5, 2]), [[0..5, 0..2]]);
        assert_eq!(boxes(&[BOX + 1, 1]), [[0..BOX, 0..1], [BOX..BOX + 1, 0..1]]);
        assert_eq!(boxes(&[]), [Vec::<Range<i64>>::new()]);
        assert!(boxes(&[0, 7]).is_empty());
    }
}
