//! Types of tiles, and values on their way from one set of tile dims to a larger one.

use melior::ir::{Attribute, Location, Type, Value};
use norma_dialects::{
    gl::{BlockedAttr, BroadcastOp, SliceAttr},
    norm::ScheduleAttr,
};
use norma_targets::WARP_SIZE;

use crate::mlir::{builder::Builder, context, diagnostic::Diagnostic, pass::PassError, types};

use super::placement::{Axes, Placement};

/// The kernel's layout and what follows from it.
pub(super) struct Tiles<'c> {
    location: Location<'c>,
    shape: Vec<i64>,
    layout: Attribute<'c>,
    num_warps: i64,
}

impl<'c> Tiles<'c> {
    /// The layout that the schedule asks for: along the last tile dim, `threads_per_row` threads with `vector` elements
    /// each, and as many rows beside each other as the CTA has threads for; further rows repeat the layout in registers.
    pub fn new(
        placement: &Placement,
        schedule: ScheduleAttr<'c>,
        location: Location<'c>,
    ) -> Result<Self, Diagnostic<'c>> {
        let shape = placement.tile_shape().to_vec();
        let last = shape.len() - 1;
        let rows = schedule.rows_per_cta() / schedule.rows_per_thread();
        let per_row = schedule.threads_per_row();
        let num_warps = (rows * per_row / WARP_SIZE).max(1);
        let lanes = per_row.min(WARP_SIZE);
        let warps = (per_row / WARP_SIZE).max(1);
        if last == 0 && (lanes < WARP_SIZE || warps < num_warps) {
            return Err(Diagnostic::unsupported(
                location,
                "expected two tile dims when rows share a warp or a CTA, got one",
            ));
        }
        let spread = |inner: i64, outer: i64| {
            let mut extents = vec![1; shape.len()];
            if last > 0 {
                extents[last - 1] = outer;
            }
            extents[last] = inner;
            extents
        };
        let order = (0..shape.len() as i64).rev().collect::<Vec<_>>();
        let layout = BlockedAttr::get_checked(
            location,
            &spread(schedule.vector(), 1),
            &spread(lanes, WARP_SIZE / lanes),
            &spread(warps, num_warps / warps),
            &order,
            &[],
        )
        .ok_or_else(|| Diagnostic::internal(location, "no layout for the schedule"))?;
        Ok(Self {
            location,
            shape,
            layout: layout.into(),
            num_warps,
        })
    }

    /// Warps of the CTA.
    pub fn num_warps(&self) -> i64 {
        self.num_warps
    }

    /// The set of every tile dim.
    fn all(&self) -> Axes {
        (1 << self.shape.len()) - 1
    }

    /// The type of a value of `element` that varies over `axes`: a scalar if there are none.
    pub fn ty(&self, element: Type<'c>, axes: Axes) -> Result<Type<'c>, Diagnostic<'c>> {
        if axes == 0 {
            return Ok(element);
        }
        let context = context::of(self.location);
        let mut layout = self.layout;
        // The highest axis goes first, so that the numbers of the others stay what they are.
        for axis in (0..self.shape.len()).rev().filter(|axis| axes >> axis & 1 == 0) {
            layout = SliceAttr::get(context, axis as i64, layout).into();
        }
        let shape = (0..self.shape.len())
            .filter(|axis| axes >> axis & 1 == 1)
            .map(|axis| Some(self.shape[axis]))
            .collect::<Vec<_>>();
        types::tensor(&shape, element, Some(layout))
            .ok_or_else(|| Diagnostic::internal(self.location, format!("no tile of {element}")))
    }

    /// `value`, which varies over `from`, as a value that varies over `to`.
    ///
    /// # Errors
    ///
    /// Unsupported if slices cannot be undone in the order they nest in.
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
        if from == 0 && to != 0 {
            return Ok(b.value("tensor.splat", &[value], self.ty(element, to)?));
        }
        let (mut value, mut from) = (value, from);
        while from != to {
            // The outermost slice is along the lowest axis that is missing.
            let lowest = (!from & self.all()).trailing_zeros();
            if to >> lowest & 1 == 0 {
                let message = "expected values to be broadcast along the first of the dims that they lack";
                return Err(Diagnostic::unsupported(b.location(), message).into());
            }
            let axis = Self::position(from, lowest as usize) as i64;
            from |= 1 << lowest;
            let broadcast = BroadcastOp::build(b.location(), value, axis, self.ty(element, from)?)?;
            value = b.insert(broadcast).result(0)?.into();
        }
        Ok(value)
    }

    /// The position of a tile dim among the axes of a tile that varies over `axes`.
    pub fn position(axes: Axes, dim: usize) -> usize {
        (axes & ((1 << dim) - 1)).count_ones() as usize
    }
}
