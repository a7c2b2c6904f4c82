//! Derives the shapes of an op's operands and results from the shape of its first operand.

use norma_dialects::named_op::{ChoiceKind, Shape, Tensor};

use super::{Extent, Preset};
use crate::error::{Error, Result};

impl Preset {
    /// The shape of an operand or result; `None` for a dynamic extent without a name.
    pub(super) fn shape_of(&self, tensor: &Tensor) -> Result<Vec<Option<Extent>>> {
        let all = || self.shape.iter().cloned().map(Some);
        Ok(match tensor.shape {
            Shape::Same => all().collect(),
            Shape::NamedAxes(by) => {
                let named = self.axes(by, 0)?;
                all()
                    .zip(named)
                    .filter_map(|(extent, is_named)| is_named.then_some(extent))
                    .collect()
            }
            Shape::OtherAxes(by) => {
                let keeps = self.is_given(by, 1)?;
                let others = all().zip(self.axes(by, 0)?);
                let one = || keeps.then_some(Some(Extent::Static(1)));
                others
                    .filter_map(|(extent, is_named)| if is_named { one() } else { Some(extent) })
                    .collect()
            }
            Shape::ReducedRows(by) => {
                if self.is_first_case(by, 1)? {
                    let others = all().zip(self.axes(by, 0)?);
                    others
                        .filter_map(|(extent, is_named)| (!is_named).then_some(extent))
                        .collect()
                } else {
                    Vec::new()
                }
            }
            Shape::AxisOf(by) => {
                let count = self.integers(by, 1)?.first().map(|count| Extent::Static(*count));
                let axes = all().zip(self.axes(by, 0)?);
                axes.map(|(extent, is_named)| if is_named { count.clone() } else { extent })
                    .collect()
            }
            Shape::BatchAndGroups(by) => {
                let groups = self.integers(by, 0)?;
                let groups = groups.into_iter().map(|count| Some(Extent::Static(count)));
                let has_batch = !self.axes(by, 1)?.first().is_some_and(|is_channels| *is_channels);
                all().take(usize::from(has_batch)).chain(groups).collect()
            }
            Shape::Blocks(by) => self.blocks(by, 1)?,
            Shape::Scales(by) => {
                let mut scales = self.blocks(by, 2)?;
                let layout = self.word(by, 1)?;
                // The verifier refuses a layout of scales with fewer axes.
                if let (false, Some(rows)) = (layout == "linear", scales.len().checked_sub(2)) {
                    scales[rows..].reverse();
                    if layout == "swizzled_128x4" {
                        let tiles = |extent: Option<Extent>, of_tile: u64| match extent {
                            Some(Extent::Static(extent)) => {
                                Some(Extent::Static(extent.unsigned_abs().div_ceil(of_tile) as i64))
                            }
                            _ => None,
                        };
                        let (rows, columns) = (scales.pop().flatten(), scales.pop().flatten());
                        scales.extend([tiles(rows, 128), tiles(columns, 4)]);
                        scales.extend([32, 4, 4].map(|extent| Some(Extent::Static(extent))));
                    }
                }
                scales
            }
            Shape::Packed(by) if self.is_given(by, 0)? => self.with_last_axis(|extent| Some(extent / 2)),
            Shape::Unpacked(by) if self.is_given(by, 0)? => {
                self.with_last_axis(|extent| extent.checked_mul(2))
            }
            Shape::Packed(_) | Shape::Unpacked(_) => all().collect(),
            Shape::OneNumber(_) | Shape::InPlaceOf(_) => Vec::new(),
        })
    }

    /// The blocks that the first attribute divides the first operand into; the one at `packed`, if there is one, says whether the last axis
    /// counts as twice as long.
    fn blocks(&self, by: &'static [&'static str], packed: usize) -> Result<Vec<Option<Extent>>> {
        let block = self.integers(by, 0)?;
        let of = match self.is_given(by, packed)? {
            true => self.with_last_axis(|extent| extent.checked_mul(2)),
            false => self.shape.iter().cloned().map(Some).collect(),
        };
        let blocks = of.into_iter().zip(block).filter(|(_, block)| *block != 0);
        let blocks = blocks.map(|(extent, block)| match (extent, block) {
            (extent, 1) => extent,
            // The last block may be shorter. The verifier refuses a negative number.
            (Some(Extent::Static(extent)), 2..) => {
                let blocks = extent.unsigned_abs().div_ceil(block.unsigned_abs());
                Some(Extent::Static(blocks as i64))
            }
            _ => None,
        });
        Ok(blocks.collect())
    }

    /// The shape of the first operand with `extent` applied to its last axis; the result is `None` there if that extent is
    /// dynamic.
    fn with_last_axis(&self, extent: impl FnOnce(i64) -> Option<i64>) -> Vec<Option<Extent>> {
        let mut shape: Vec<_> = self.shape.iter().cloned().map(Some).collect();
        if let Some(last) = shape.last_mut() {
            *last = match last.take() {
                Some(Extent::Static(known)) => extent(known).map(Extent::Static),
                _ => None,
            };
        }
        shape
    }

    /// Whether the attribute at `position` of those that a shape depends on is a flag that is set.
    pub(super) fn is_given(&self, by: &'static [&'static str], position: usize) -> Result<bool> {
        Ok(by.len() > position && self.word(by, position)? == "true")
    }

    /// The value given for an attribute that a shape depends on, or its default.
    fn word(&self, by: &'static [&'static str], position: usize) -> Result<&str> {
        let choice = self
            .op
            .choices
            .iter()
            .find(|choice| by.get(position) == Some(&choice.name));
        match choice {
            Some(choice) => Ok(self.choice(choice)),
            None => Err(Error::internal(format!(
                "a shape of '{}' depends on no attribute of it, but on {by:?}",
                self.op.mnemonic
            ))),
        }
    }

    fn integers(&self, by: &'static [&'static str], position: usize) -> Result<Vec<i64>> {
        let name = by.get(position).copied().unwrap_or_default();
        integers(name, self.word(by, position)?)
    }

    /// For each axis of the first operand, whether the attribute names it.
    fn axes(&self, by: &'static [&'static str], position: usize) -> Result<Vec<bool>> {
        let rank = self.shape.len();
        let mut named = vec![false; rank];
        for axis in self.integers(by, position)? {
            let from_start = match axis {
                ..0 => i64::try_from(rank).ok().and_then(|rank| axis.checked_add(rank)),
                _ => Some(axis),
            };
            let slot = from_start
                .and_then(|axis| usize::try_from(axis).ok())
                .and_then(|axis| named.get_mut(axis));
            match slot {
                Some(slot) => *slot = true,
                None => {
                    return Err(Error::user(format!(
                        "expected {} of a shape of rank {rank} to be at least -{rank} and less than {rank}, got {axis}",
                        by.get(position).copied().unwrap_or_default()
                    )));
                }
            }
        }
        Ok(named)
    }

    /// The axis that is sharded: the last one that the op's `axes` or `axis` names, or the last of all for an op without
    /// either.
    pub(super) fn shared_axis(&self) -> Result<usize> {
        const NAMES: [&[&str]; 2] = [&["axes"], &["axis"]];
        let has = |by: &&[&str]| self.op.choices.iter().any(|choice| by.contains(&choice.name));
        let named = match NAMES.into_iter().find(has) {
            Some(by) => self.axes(by, 0)?.into_iter().rposition(|is_named| is_named),
            None => None,
        };
        Ok(named.unwrap_or(self.shape.len().saturating_sub(1)))
    }

    fn is_first_case(&self, by: &'static [&'static str], position: usize) -> Result<bool> {
        let word = self.word(by, position)?;
        let choice = self
            .op
            .choices
            .iter()
            .find(|choice| by.get(position) == Some(&choice.name));
        Ok(choice.is_some_and(|choice| match &choice.kind {
            ChoiceKind::Keyword(keywords) => keywords.first() == Some(&word),
            _ => false,
        }))
    }
}

/// Reads a comma-separated list of integers.
pub(super) fn integers(name: &str, text: &str) -> Result<Vec<i64>> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse()
                .map_err(|_| Error::user(format!("expected {name} to be an integer, got '{word}'")))
        })
        .collect()
}
