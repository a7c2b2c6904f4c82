//! Translates scans. A tile is scanned along its axes from the innermost to the outermost. The results along an axis are
//! combined with the total of what comes before along the axes outside of it, and all results with the total of the loop's
//! earlier steps.

use melior::ir::{Attribute, Value, ValueLike};
use norma_dialects::{
    gl::ScanOp as TileScanOp,
    norm::{ReduceKind, ScanOp},
};

use crate::{
    kernel::{named_combiner, space::DimSet},
    mlir::pass::PassError,
};

use super::{
    super::{
        placement::{Axes, Place},
        tiles::Tiles,
    },
    Body, Carried, Guards, Translated,
};

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// Translates a scan or, in loops along its dims, one step of it.
    pub(super) fn scan(&mut self, position: usize, scan: ScanOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let kind = scan.kind()?;
        let dims = self.space.dims_scanned_by(scan);
        self.check_held(&dims)?;
        let operand = self.value(scan.value()?)?;
        let element = operand.element;
        let along = self.placement.axes(&dims);
        let axes = self.placement.axes(&self.space.dims_of(scan.result()?));
        let wide = Translated {
            value: self.widen(operand, axes)?,
            axes,
            ..operand
        };
        let first = self.first_of_scan(kind, scan)?;
        let neutral = if kind == ReduceKind::Add { Guards::MAX } else { 0 };
        let mut total = self.masked(wide, &dims, neutral, |body| Ok(body.b.constant(first, element)))?;
        // From the innermost axis on, the prefixes along each axis, at fixed coordinates along the axes outside of it.
        let mut parts = Vec::new();
        let mut left = axes;
        let scanned = (0..self.placement.tile_shape().len()).rev();
        for dim in scanned.filter(|dim| along >> dim & 1 == 1) {
            let is_exclusive = scan.exclusive() || !parts.is_empty();
            let identity = is_exclusive.then_some(first);
            let (prefix, all) = self.scan_axis(scan, total, dim, left, identity)?;
            parts.push((prefix, left));
            left &= !(1 << dim);
            total = Tiles::unwrap(&self.b, all, element, left);
        }
        if let Some(carried) = self.carried.get(&Carried::Total(position)) {
            let before = *carried
                .first()
                .ok_or_else(|| self.internal("expected what the steps before come to"))?;
            let after = self.combine_by(kind, element, before, total, left)?;
            self.carried.insert(Carried::Total(position), vec![after]);
            // Without an axis of the tile a step has one point.
            let of_step = if scan.exclusive() { before } else { after };
            parts.push((if parts.is_empty() { of_step } else { before }, left));
        }
        let mut parts = parts.into_iter().rev();
        let (mut result, mut of) = parts
            .next()
            .ok_or_else(|| self.internal("expected a scan along a dim"))?;
        for (inner, axes) in parts {
            let outer = self.tiles.widen(&self.b, result, element, of, axes)?;
            result = self.combine_by(kind, element, outer, inner, axes)?;
            of = axes;
        }
        let translated = Translated {
            value: result,
            element,
            axes: of,
            zero_outside: 0,
        };
        self.define(scan.result()?, translated);
        Ok(())
    }

    /// The total that a scan carries into the first step of a loop.
    pub(super) fn before_first_step(
        &mut self,
        scan: ScanOp<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let element = scan.value()?.r#type();
        let along = self.placement.axes(&self.space.dims_scanned_by(scan));
        let axes = self.placement.axes(&self.space.dims_of(scan.result()?)) & !along;
        let first = self.first_of_scan(scan.kind()?, scan)?;
        let first = self.b.constant(first, element);
        Ok(vec![self.tiles.widen(&self.b, first, element, 0, axes)?])
    }

    /// Scans a tile over `axes` along the axis of `dim`; returns the prefixes and the total.
    fn scan_axis(
        &self,
        scan: ScanOp<'c, 'a>,
        tile: Value<'c, 'a>,
        dim: usize,
        axes: Axes,
        identity: Option<Attribute<'c>>,
    ) -> Result<(Value<'c, 'a>, Value<'c, 'a>), PassError<'c>> {
        let element = crate::mlir::types::element(tile.r#type());
        let scan = TileScanOp::build(
            self.b.location(),
            tile,
            None,
            Tiles::position(axes, dim) as i64,
            scan.reverse(),
            identity,
            tile.r#type(),
            self.tiles.tile(element, axes & !(1 << dim))?,
            self.named_combiner(scan.kind()?, element)?,
        )?;
        let scan = self.b.insert(scan);
        Ok((scan.result(0)?.into(), scan.result(1)?.into()))
    }

    fn first_of_scan(&self, kind: ReduceKind, scan: ScanOp<'c, 'a>) -> Result<Attribute<'c>, PassError<'c>> {
        let first = named_combiner::first_of_scan(self.b.context(), kind, scan.value()?.r#type());
        Ok(first.ok_or_else(|| self.internal("expected no logical combiner of floats"))?)
    }

    /// Refuses dims whose points a CTA does not visit in their order: dims of the grid or a cluster, and a loop's dim behind
    /// one of the tile, as the steps of loops are outside of the tile.
    fn check_held(&self, dims: &DimSet) -> Result<(), PassError<'c>> {
        let mut is_within_tile = false;
        for dim in dims {
            let (is_grid, is_loop) = match self.placement.place(*dim) {
                Place::Grid => (true, false),
                Place::Loop => (false, true),
                Place::Tile(axis) => {
                    is_within_tile = true;
                    (self.placement.cluster_axes() >> axis & 1 == 1, false)
                }
            };
            if is_grid || (is_loop && is_within_tile) {
                let message = format!(
                    "a scan along dim {dim}, of which a CTA does not come by all points in their order; supported: dims that a CTA \
                     holds, within loops over them"
                );
                return Err(self.unsupported(message).into());
            }
        }
        Ok(())
    }
}
