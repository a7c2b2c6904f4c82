//! `group_norm_grad`: with n over the channels of a group and over all axes of x but the first (the batch, unless channels lie along it) and the channels', N
//! the number of these elements, and m over all axes but the channels',
//!
//! ```text
//! mean    = sum_n(x) / N, unless it is given
//! rstd    = 1 / sqrt(sum_n((x - mean)^2) / N + eps), unless it is given
//! h       = (x - mean) * rstd
//! g       = dy * weight
//! dx      = (g - sum_n(g) / N - h * rstd * sum_n(g * (x - mean)) / N) * rstd + residual
//! dweight = sum_m(dy * h)
//! dbias   = sum_m(dy)
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use super::groups::Groups;
use super::normalization_grad::{input_gradient, with_residual};
use super::rows::{Operand, Rows, indices};
use super::statistics::mean_and_rstd;
use super::{Call, Formula};
use crate::program::grid::Data;
use crate::scaled::{Scaled, sum};
use crate::tolerance::{Order, arithmetic_ulps};

struct GroupNormGrad<'a> {
    groups: Groups,
    x: Operand<'a>,
    dy: Operand<'a>,
    weight: Option<Operand<'a>>,
    moments: Option<Moments<'a>>,
    residual: Option<Operand<'a>>,
    eps: Scaled,
}

/// The mean and rstd of each group, as the forward op returned them.
struct Moments<'a> {
    /// The groups as rows of one element each.
    rows: Rows,
    mean: Operand<'a>,
    rstd: Operand<'a>,
}

pub(super) fn bind(call: Call<'_>) -> Result<Box<dyn Formula + '_>, String> {
    let (groups, x) = Groups::bind(&call)?;
    let rows = Rows::along(&[], &groups.statistics_shape())?;
    let moments = match (call.optional("mean")?, call.optional("rstd")?) {
        (Some(mean), Some(rstd)) => Some(Moments {
            mean: groups.statistic(&rows, "mean", mean)?,
            rstd: groups.statistic(&rows, "rstd", rstd)?,
            rows,
        }),
        _ => None,
    };
    let whole = |name: &str, tensor| groups.whole(name, tensor);
    let residual = call.optional("residual")?;
    Ok(Box::new(GroupNormGrad {
        dy: whole("dy", call.operand("dy")?)?,
        weight: groups.of_channels(&call, "weight")?,
        residual: residual.map(|tensor| whole("residual", tensor)).transpose()?,
        eps: Scaled::exact(call.float("eps")?),
        groups,
        x,
        moments,
    }))
}

impl GroupNormGrad<'_> {
    /// The mean and rstd of one group of one batch entry.
    fn statistics(&self, batch: i64, group: i64) -> (Scaled, Scaled) {
        match &self.moments {
            Some(Moments { rows, mean, rstd }) => {
                let index = [batch, group];
                (mean.number_at(rows, &index), rstd.number_at(rows, &index))
            }
            None => mean_and_rstd(&self.groups.elements(&self.x, batch, group), self.eps),
        }
    }

    /// The gradient with respect to the elements of one group of one batch entry, channel by channel.
    fn dx(&self, batch: i64, group: i64) -> Vec<Scaled> {
        let elements = |operand: &Operand| self.groups.elements(operand, batch, group);
        let (mean, rstd) = self.statistics(batch, group);
        let centred: Vec<Scaled> = elements(&self.x).into_iter().map(|x| x - mean).collect();
        let mut g = elements(&self.dy);
        if let Some(weight) = &self.weight {
            for (g, weight) in g.iter_mut().zip(elements(weight)) {
                *g = *g * weight;
            }
        }
        let residual = self.residual.as_ref().map(elements);
        let dx = input_gradient(&g, &centred, (true, rstd), self.ulps("dx"));
        with_residual(dx, residual)
    }

    /// The terms that a channel's elements contribute to the gradient of its bias, or otherwise of its weight.
    fn terms(&self, channel: i64, is_bias: bool) -> Vec<Scaled> {
        let batches = 0..self.groups.channels.shape()[0];
        let of_batch = |batch: i64| {
            let index = [batch, channel];
            let dy = self.dy.row(&self.groups.channels, &index);
            if is_bias {
                return dy;
            }
            let (mean, rstd) = self.statistics(batch, self.groups.group_of(channel));
            let x = self.x.row(&self.groups.channels, &index);
            dy.iter()
                .zip(x)
                .map(|(dy, x)| *dy * ((x - mean) * rstd))
                .collect()
        };
        batches.flat_map(of_batch).collect()
    }
}

impl Formula for GroupNormGrad<'_> {
    fn shape(&self, result: &str) -> Option<Vec<i64>> {
        match result {
            "dx" => Some(self.groups.unbatched(self.groups.channels.shape())),
            "dweight" | "dbias" => Some(vec![self.groups.count()]),
            _ => None,
        }
    }

    fn independent_dims(&self, _result: &str) -> usize {
        self.groups.batch_dims()
    }

    fn ulps(&self, result: &str) -> f64 {
        // dx combines one sum over a group with values normalized by another: the errors of both add.
        let operands = (2.0 * self.groups.ulps()).max(self.x.ulps()).max(self.dy.ulps());
        match result {
            "dx" => operands,
            _ => {
                let terms = self.groups.channels.shape()[0] * self.groups.channels.length();
                operands.max(arithmetic_ulps(terms, Order::Sequential))
            }
        }
    }

    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data {
        if result != "dx" {
            let channels = indices(region).into_iter();
            return channels
                .map(|index| sum(&self.terms(index[0], result == "dbias")))
                .collect();
        }
        let region = &self.groups.with_batch(region);
        let mut known = BTreeMap::new();
        let length = self.groups.channels.length() as usize;
        let found = self.groups.channels.per_element(region, |index| {
            let group = self.groups.group_of(index[1]);
            let of_group = known
                .entry([index[0], group])
                .or_insert_with(|| self.dx(index[0], group));
            let before = self
                .groups
                .channels_of(group)
                .take_while(|channel| *channel < index[1]);
            let start = before.count() * length;
            of_group[start..start + length].to_vec()
        });
        found.into_iter().collect()
    }
}
