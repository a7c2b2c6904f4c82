//! `group_norm`: with n over the channels of a group and over all axes of x but the first (the batch, unless channels lie along it) and the channels', and N
//! the number of these elements,
//!
//! ```text
//! mean = sum_n(x) / N
//! rstd = 1 / sqrt(sum_n((x - mean)^2) / N + eps)
//! y    = (x - mean) * rstd * weight + bias
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use super::groups::Groups;
use super::rows::{Operand, indices};
use super::statistics::mean_and_rstd;
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::Scaled;

struct GroupNorm<'a> {
    groups: Groups,
    x: Operand<'a>,
    weight: Option<Operand<'a>>,
    bias: Option<Operand<'a>>,
    eps: Scaled,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (groups, x) = Groups::bind(&call)?;
    Ok(Box::new(GroupNorm {
        weight: groups.of_channels(&call, "weight")?,
        bias: groups.of_channels(&call, "bias")?,
        eps: Scaled::exact(call.float("eps")?),
        groups,
        x,
    }))
}

impl GroupNorm<'_> {
    /// The mean and rstd of one group of one batch entry.
    fn statistics(&self, batch: i64, group: i64) -> (Scaled, Scaled) {
        mean_and_rstd(&self.groups.elements(&self.x, batch, group), self.eps)
    }

    /// The result elements of one channel of one batch entry.
    fn y(&self, index: &[i64], (mean, rstd): (Scaled, Scaled)) -> Vec<Scaled> {
        let channels = &self.groups.channels;
        let row = self.x.row(channels, index);
        let mut row: Vec<Scaled> = row.into_iter().map(|x| (x - mean) * rstd).collect();
        if let Some(weight) = &self.weight {
            for (y, weight) in row.iter_mut().zip(weight.row(channels, index)) {
                *y = *y * weight;
            }
        }
        if let Some(bias) = &self.bias {
            for (y, bias) in row.iter_mut().zip(bias.row(channels, index)) {
                *y = *y + bias;
            }
        }
        row
    }
}

impl Formula for GroupNorm<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "y" => Some(self.groups.unbatched(self.groups.channels.shape())),
            "mean" | "rstd" => Some(self.groups.unbatched(&self.groups.statistics_shape())),
            _ => None,
        }
    }

    fn independent_dims(&self, _result: &str) -> usize {
        self.groups.batch_dims()
    }

    fn ulps(&self, _result: &str) -> f64 {
        self.groups.ulps().max(self.x.ulps())
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        let region = &self.groups.with_batch(region);
        let statistics = |index: &Vec<i64>| self.statistics(index[0], index[1]);
        let found: Vec<Scaled> = match result {
            "mean" => indices(region).iter().map(|index| statistics(index).0).collect(),
            "rstd" => indices(region).iter().map(|index| statistics(index).1).collect(),
            _ => {
                let mut known = BTreeMap::new();
                self.groups.channels.per_element(region, |index| {
                    let group = [index[0], self.groups.group_of(index[1])];
                    let of_group = known
                        .entry(group)
                        .or_insert_with(|| self.statistics(group[0], group[1]));
                    self.y(index, *of_group)
                })
            }
        };
        found.into_iter().collect()
    }
}
