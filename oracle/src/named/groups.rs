//! Groups of channels: a tensor as rows, one per channel of each batch entry, and which channels share statistics.

use std::ops::Range;

use super::Call;
use super::rows::{Operand, Rows, position};
use crate::scaled::Scaled;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// A tensor in groups of channels. One whose channels lie along the first axis has no batch, and is taken as a batch of one: with an axis
/// of one element before the others.
pub struct Groups {
    /// One row per channel of each batch entry; all other axes lie along the row.
    pub channels: Rows,
    axis: usize,
    groups: i64,
    has_batch: bool,
}

impl Groups {
    /// The groups of the operand `x` of a call, and `x`.
    pub fn bind<'a>(call: &Call<'a>) -> Result<(Self, Operand<'a>), String> {
        let x = call.operand("x")?;
        let of_channels = position(call.integer("channel_axis")?, &x.layout.shape)?;
        let has_batch = of_channels > 0;
        let axis = of_channels.max(1);
        let shape = batched(&x, has_batch).layout.shape;
        let groups = call.integer("groups")?;
        if groups < 1 || shape[axis] % groups != 0 {
            return Err(format!(
                "expected {groups} groups of channels along axis {of_channels} of {:?}",
                x.layout.shape
            ));
        }
        let others: Vec<i64> = (1..shape.len() as i64)
            .filter(|other| *other != axis as i64)
            .collect();
        let channels = Rows::along(&others, &shape)?;
        let found = Groups {
            channels,
            axis,
            groups,
            has_batch,
        };
        let operand = found.whole("x", x)?;
        Ok((found, operand))
    }

    /// An operand of the tensor's own shape.
    pub fn whole<'a>(&self, name: &str, tensor: Tensor<'a>) -> Result<Operand<'a>, String> {
        self.channels.whole(name, batched(&tensor, self.has_batch))
    }

    /// An operand with one number per group of each batch entry, whose rows are `groups`.
    pub fn statistic<'a>(
        &self,
        groups: &Rows,
        name: &str,
        tensor: Tensor<'a>,
    ) -> Result<Operand<'a>, String> {
        groups.whole(name, batched(&tensor, self.has_batch))
    }

    /// The shape of a result, from its shape with an axis of the batch.
    pub fn unbatched<T: Clone>(&self, shape: &[T]) -> Vec<T> {
        shape[usize::from(!self.has_batch)..].to_vec()
    }

    /// A region of a result, with a range of the batch.
    pub fn with_batch(&self, region: &[Range<i64>]) -> Vec<Range<i64>> {
        let of_batch = (!self.has_batch).then_some(0..1);
        of_batch.into_iter().chain(region.iter().cloned()).collect()
    }

    /// How many leading dims of a result number entries of a batch.
    pub fn batch_dims(&self) -> usize {
        usize::from(self.has_batch)
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

/// The tensor, with an axis of one element before the others if it has no batch.
fn batched<'a>(tensor: &Tensor<'a>, has_batch: bool) -> Tensor<'a> {
    let mut tensor = tensor.clone();
    if !has_batch {
        tensor.layout.shape.insert(0, 1);
        tensor.layout.strides.insert(0, 0);
    }
    tensor
}
