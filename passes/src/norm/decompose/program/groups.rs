//! Tensors whose channels are divided into groups: the axis of channels is two dims, one over groups and one over the channels of a group,
//! so that reductions can range over all of a group.

use melior::ir::{OperationRef, Value, ValueLike, operation::OperationLike};

use super::{Coordinate, Extent, Program, Split};
use crate::mlir::{pass::PassError, types};

/// A program over a tensor with groups of channels.
pub(in crate::norm::decompose) struct Grouped<'c, 'a> {
    /// The program.
    pub(in crate::norm::decompose) program: Program<'c, 'a>,
    /// The dims; the channels of a group and all axes but the batch, which is the first unless channels lie along that, are reduced.
    pub(in crate::norm::decompose) split: Split<'c, 'a>,
    /// The coordinates of an element of the tensor.
    pub(in crate::norm::decompose) element: Vec<Coordinate<'c, 'a>>,
    /// The coordinate of its channel among all channels.
    pub(in crate::norm::decompose) channel: Coordinate<'c, 'a>,
    /// The dims other than those of the channel.
    pub(in crate::norm::decompose) sharing: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Grouped<'c, 'a> {
    /// Begins the definition of `named`, whose first operand has `groups` groups of channels along an axis; a negative axis counts from the
    /// end.
    pub(in crate::norm::decompose) fn begin(
        named: OperationRef<'c, 'a>,
        channel_axis: i64,
        groups: i64,
    ) -> Result<Self, PassError<'c>> {
        let shape = types::shape(named.operand(0)?.r#type()).unwrap_or_default();
        let axis = channel_axis.rem_euclid(shape.len().max(1) as i64) as usize;
        let channels = shape.get(axis).copied().flatten();
        // A dynamic number of channels is that of the only group, whose index is 0 whatever the factor.
        let of_group = channels.map_or(1, |channels| channels / groups.max(1));

        let mut extents = Program::axes(named)?;
        let extent = channels.map_or(Extent::Size(axis), |_| Extent::Static(of_group));
        extents.splice(axis..=axis, [Extent::Static(groups), extent]);
        let program = Program::begin_over(named, extents, &[])?;
        let dims = program.dims();
        let channel = Coordinate::Joined(vec![(dims[axis], of_group), (dims[axis + 1], 1)]);
        let mut element = Coordinate::of(dims);
        element.splice(axis..=axis + 1, [channel.clone()]);
        let mut sharing = dims.to_vec();
        sharing.drain(axis..=axis + 1);
        Ok(Self {
            split: program.split_by(|dim| dim != axis && (dim != 0 || axis == 0)),
            program,
            element,
            channel,
            sharing,
        })
    }
}
