//! Groups of channels: a tensor as rows, one per channel of each batch entry, and which channels share statistics.

use super::Call;
use super::rows::{Operand, Rows, position};
use crate::scaled::Scaled;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// A tensor in groups of channels.
pub struct Groups {
    /// One row per channel of each batch entry; all other axes lie along the row.
    pub channels: Rows,
    axis: usize,
    groups: i64,
}

impl Groups {
    /// The groups of the operand `x` of a call, and `x`.
    pub fn bind<'a>(call: &Call<'a>) -> Result<(Self, Operand<'a>), String> {
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
        let operand = channels.whole("x", x)?;
        let found = Groups {
            channels,
            axis,
            groups,
        };
        Ok((found, operand))
    }

    /// An optional operand with one element per channel.
    pub fn of_channels<'a>(&self, call: &Call<'a>, name: &str) -> Result<Option<Operand<'a>>, String> {
        let of_axis = |tensor: Tensor<'a>| self.channels.of_axis(name, tensor, self.axis);
        call.optional(name)?.map(of_axis).transpose()
    }

    /// How many channels there are.
    pub fn count(&self) -> i64 {
        self.channels.shape()[self.axis]
    }

    /// The shape of a tensor with one number per group of each batch entry.
    pub fn statistics_shape(&self) -> Vec<i64> {
        vec![self.channels.shape()[0], self.groups]
    }

    /// The group of a channel.
    pub fn group_of(&self, channel: i64) -> i64 {
        channel * self.groups / self.count()
    }

    /// The channels of a group.
    pub fn channels_of(&self, group: i64) -> impl Iterator<Item = i64> + '_ {
        (0..self.count()).filter(move |channel| self.group_of(*channel) == group)
    }

    /// The elements of an operand that belong to one group of one batch entry, channel by channel.
    pub fn elements(&self, operand: &Operand, batch: i64, group: i64) -> Vec<Scaled> {
        let channels = self.channels_of(group);
        channels
            .flat_map(|channel| operand.row(&self.channels, &[batch, channel]))
            .collect()
    }

    /// How many ulp a kernel may be off after a sum over a group.
    pub fn ulps(&self) -> f64 {
        arithmetic_ulps(
            self.channels.length() * self.count() / self.groups,
            Order::Sequential,
        )
    }
}
