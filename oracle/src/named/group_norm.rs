//! `group_norm`: with n over the channels of a group and all axes of x but the first and the channels', and N their number
//! of elements,
//!
//! ```text
//! mean = sum_n(x) / N
//! rstd = 1 / sqrt(sum_n((x - mean)^2) / N + eps)
//! y    = (x - mean) * rstd * weight + bias
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use super::rows::{Operand, Rows, indices, position};
use super::statistics::mean_and_rstd;
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tolerance::{Order, arithmetic_ulps};

struct GroupNorm<'a> {
    /// The tensor as the channels of one of the batch: all other axes lie along a row.
    channels: Rows,
    axis: usize,
    groups: i64,
    x: Operand<'a>,
    weight: Option<Operand<'a>>,
    bias: Option<Operand<'a>>,
    eps: Scaled,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let x = call.operand("x")?;
    let shape = x.layout.shape.clone();
    let axis = position(call.integer("channel_axis")?, &shape)?;
    let groups = call.integer("groups")?;
    if axis == 0 || groups < 1 || shape[axis] % groups != 0 {
        return Err(format!(
            "expected {groups} groups of channels along axis {axis} of {shape:?}"
        ));
    }
    let others: Vec<i64> = (1..shape.len() as i64)
        .filter(|other| *other != axis as i64)
        .collect();
    let channels = Rows::along(&others, &shape)?;
    let of_channels = |name: &str| {
        let tensor = call.optional(name)?;
        tensor
            .map(|tensor| channels.of_axis(name, tensor, axis))
            .transpose()
    };
    Ok(Box::new(GroupNorm {
        axis,
        groups,
        weight: of_channels("weight")?,
        bias: of_channels("bias")?,
        eps: Scaled::exact(call.float("eps")?),
        x: channels.whole("x", x)?,
        channels,
    }))
}

impl GroupNorm<'_> {
    fn group_of(&self, channel: i64) -> i64 {
        channel * self.groups / self.channels.shape()[self.axis]
    }

    /// The mean and rstd of a group of one of the batch.
    fn statistics(&self, batch: i64, group: i64) -> (Scaled, Scaled) {
        let channels = 0..self.channels.shape()[self.axis];
        let of_group = channels.filter(|channel| self.group_of(*channel) == group);
        let elements: Vec<Scaled> = of_group
            .flat_map(|channel| self.x.row(&self.channels, &[batch, channel]))
            .collect();
        mean_and_rstd(&elements, self.eps)
    }

    /// The elements of a channel of one of the batch.
    fn y(&self, batch: i64, channel: i64, (mean, rstd): (Scaled, Scaled)) -> Vec<Scaled> {
        let index = [batch, channel];
        let row = self.x.row(&self.channels, &index);
        let mut row: Vec<Scaled> = row.into_iter().map(|x| (x - mean) * rstd).collect();
        if let Some(weight) = &self.weight {
            for (y, weight) in row.iter_mut().zip(weight.row(&self.channels, &index)) {
                *y = *y * weight;
            }
        }
        if let Some(bias) = &self.bias {
            for (y, bias) in row.iter_mut().zip(bias.row(&self.channels, &index)) {
                *y = *y + bias;
            }
        }
        row
    }
}

impl Formula for GroupNorm<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "y" => Some(self.channels.shape().to_vec()),
            "mean" | "rstd" => Some(vec![self.channels.shape()[0], self.groups]),
            _ => None,
        }
    }

    fn independent_dims(&self) -> usize {
        1
    }

    fn ulps(&self, _result: &str) -> f64 {
        let of_group = self.channels.length() * self.channels.shape()[self.axis] / self.groups;
        arithmetic_ulps(of_group, Order::Sequential).max(self.x.ulps())
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let statistics = |index: Vec<i64>| self.statistics(index[0], index[1]);
        let found: Vec<Scaled> = match result {
            "mean" => indices(region)
                .into_iter()
                .map(|index| statistics(index).0)
                .collect(),
            "rstd" => indices(region)
                .into_iter()
                .map(|index| statistics(index).1)
                .collect(),
            _ => {
                let mut known = BTreeMap::new();
                self.channels.per_element(region, |index| {
                    let group = [index[0], self.group_of(index[1])];
                    let of_group = known
                        .entry(group)
                        .or_insert_with(|| self.statistics(group[0], group[1]));
                    self.y(index[0], index[1], *of_group)
                })
            }
        };
        found.into_iter().collect()
    }
}
