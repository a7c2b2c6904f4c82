//! Types of tiles, and broadcasts of values from one set of tile dims to another.
//!
//! A value that varies over some of the tile's axes is a tile of these axes, in the kernel's layout without the others: threads
//! that differ only along the others hold the same elements. A value that varies over none is a scalar.

use std::{cell::RefCell, collections::HashMap};

use melior::ir::{Attribute, Location, Type, Value};
use norma_dialects::{
    gl::{BroadcastOp, ClusterRankOp},
    layout,
};
use norma_layout::{HardwareDim, LinearLayout};

use crate::{
    mlir::{builder::Builder, context, diagnostic::Diagnostic, pass::PassError, types},
    schedule::{mapping::Mapping, tile},
};

use super::placement::{Axes, Placement};

/// The kernel's layout and what follows from it.
pub(super) struct Tiles<'c> {
    location: Location<'c>,
    layout: LinearLayout,
    projections: RefCell<HashMap<Axes, Attribute<'c>>>,
}

impl<'c> Tiles<'c> {
    /// The tiles of a kernel that the mapping has been applied to.
    pub fn new(
        placement: &Placement,
        mapping: &Mapping,
        location: Location<'c>,
    ) -> Result<Self, Diagnostic<'c>> {
        let layout = tile::layout(mapping).map_err(|error| Diagnostic::user(location, error))?;
        if layout.shape() != placement.tile_shape() {
            let message = format!(
                "expected tile dims of extents {:?}, as the schedule says, got {:?}",
                layout.shape(),
                placement.tile_shape()
            );
            return Err(Diagnostic::user(location, message));
        }
        Ok(Self {
            location,
            layout,
            projections: RefCell::default(),
        })
    }

    /// The number of warps of the CTA.
    pub fn num_warps(&self) -> i64 {
        1 << self.layout.bits(HardwareDim::Warp)
    }

    /// The shape of the part of a tile over `axes` that one CTA of a cluster holds.
    pub fn part_shape(&self, placement: &Placement, axes: Axes) -> Vec<i64> {
        let extents = self.layout.shape().iter().enumerate();
        extents
            .filter(|(axis, _)| axes >> axis & 1 == 1)
            .map(|(axis, extent)| match placement.cluster_axes() >> axis & 1 {
                1 => 1,
                _ => *extent,
            })
            .collect()
    }

    /// The coordinate of the current CTA along an axis, computed from its rank in the cluster and the layout, of type index.
    pub fn place_of_cta<'a>(&self, b: &Builder<'c, 'a>, axis: usize) -> Result<Value<'c, 'a>, PassError<'c>>
    where
        'c: 'a,
    {
        let index = Type::index(b.context());
        let wrong = |error| Diagnostic::internal(b.location(), error);
        let terms = self
            .layout
            .strided_terms(HardwareDim::Block, axis)
            .map_err(wrong)?;
        let rank = b.value(ClusterRankOp::NAME, &[], index);
        // Along an axis that is spread over CTAs alone no two terms share a bit, so that their exclusive or is their sum.
        let places = terms.into_iter().map(|term| {
            let shifted = match term.shift {
                0 => rank,
                shift => b.value("arith.shrui", &[rank, b.index(shift.into())], index),
            };
            let masked = match term.mask {
                Some(mask) => b.value("arith.andi", &[shifted, b.index(mask.into())], index),
                None => shifted,
            };
            match term.multiplier {
                1 => masked,
                multiplier => b.value("arith.muli", &[masked, b.index(multiplier)], index),
            }
        });
        let place = places.reduce(|sum, place| b.value("arith.addi", &[sum, place], index));
        Ok(place.unwrap_or_else(|| b.index(0)))
    }

    /// The type of a value of `element` that varies over `axes`: a scalar if there are none.
    pub fn ty(&self, element: Type<'c>, axes: Axes) -> Result<Type<'c>, Diagnostic<'c>> {
        if axes == 0 {
            return Ok(element);
        }
        self.tile(element, axes)
    }

    /// The tile of `element` over `axes`, of rank 0 if there are none.
    pub fn tile(&self, element: Type<'c>, axes: Axes) -> Result<Type<'c>, Diagnostic<'c>> {
        let shape = self
            .layout
            .shape()
            .iter()
            .enumerate()
            .filter(|(axis, _)| axes >> axis & 1 == 1)
            .map(|(_, extent)| Some(*extent))
            .collect::<Vec<_>>();
        types::tensor(&shape, element, Some(self.projection(axes)?))
            .ok_or_else(|| Diagnostic::internal(self.location, format!("no tile of {element}")))
    }

    fn projection(&self, axes: Axes) -> Result<Attribute<'c>, Diagnostic<'c>> {
        if let Some(known) = self.projections.borrow().get(&axes) {
            return Ok(*known);
        }
        let mut layout = self.layout.clone();
        // The highest axis is removed first, so that the others keep their numbers.
        for axis in (0..self.layout.rank()).rev().filter(|axis| axes >> axis & 1 == 0) {
            layout = layout
                .slice(axis)
                .map_err(|error| Diagnostic::internal(self.location, error))?
                .layout;
        }
        let attribute = layout::to_attribute(context::of(self.location), &layout).into();
        self.projections.borrow_mut().insert(axes, attribute);
        Ok(attribute)
    }

    /// Broadcasts `value`, which varies over `from`, so that it varies over `to`.
    pub fn widen<'a>(
        &self,
        b: &Builder<'c, 'a>,
        value: Value<'c, 'a>,
        element: Type<'c>,
        from: Axes,
        to: Axes,
    ) -> Result<Value<'c, 'a>, PassError<'c>>
    where
        'c: 'a,
    {
        if from & !to != 0 {
            let message = "a value cannot lose the dims it varies over";
            return Err(Diagnostic::internal(b.location(), message).into());
        }
        if from == to {
            return Ok(value);
        }
        if from == 0 {
            return Ok(b.value("tensor.splat", &[value], self.tile(element, to)?));
        }
        let (mut value, mut from) = (value, from);
        let missing = to & !from;
        for axis in (0..self.layout.rank()).filter(|axis| missing >> axis & 1 == 1) {
            from |= 1 << axis;
            let position = Self::position(from, axis) as i64;
            let broadcast = BroadcastOp::build(b.location(), value, position, self.tile(element, from)?)?;
            value = b.insert(broadcast).result(0)?.into();
        }
        Ok(value)
    }

    /// The element of a tile of rank 0 as a scalar; a tile over any `axes` as it is.
    pub fn unwrap<'a>(
        b: &Builder<'c, 'a>,
        value: Value<'c, 'a>,
        element: Type<'c>,
        axes: Axes,
    ) -> Value<'c, 'a>
    where
        'c: 'a,
    {
        if axes == 0 {
            b.value("tensor.extract", &[value], element)
        } else {
            value
        }
    }

    /// The position of a tile dim among the axes of a tile that varies over `axes`.
    pub fn position(axes: Axes, dim: usize) -> usize {
        (axes & ((1 << dim) - 1)).count_ones() as usize
    }
}
