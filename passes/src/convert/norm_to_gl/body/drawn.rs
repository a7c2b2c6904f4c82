//! Loops whose tiles CTAs draw (*walks*): an `scf.while` over the numbers of tiles, in place of an `scf.for` over steps.
//!
//! A CTA's first tile is that of its own number. Where clusters share a tile, they take the place of CTAs. Numbers grow from draw to
//! draw, so that the steps at the end of the walk, which need guards, are peeled into a loop of their own behind the others, as in a
//! loop that one CTA runs alone.

use melior::ir::{BlockLike, Location, Type, Value};
use norma_dialects::{gl::NextTileOp, norm::Level};

use crate::{
    gl::steps,
    kernel::nests::Nest,
    mlir::{
        comparison::{IntegerPredicate, compare_integers},
        pass::PassError,
        region, walk,
    },
};

use super::Body;

/// A walk whose tiles are drawn.
#[derive(Clone, Copy)]
pub(super) struct Walk<'c, 'a> {
    /// The counter of draws.
    counter: Value<'c, 'a>,
    /// The number of tiles.
    tiles: Value<'c, 'a>,
    /// The number of CTAs, or of clusters, that draw them.
    ctas: Value<'c, 'a>,
    /// The tile that the CTA, or its cluster, works on next.
    next: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// Begins the walk over `tiles` tiles.
    pub(super) fn begin_walk(&mut self, tiles: Value<'c, 'a>) -> Result<(), PassError<'c>> {
        if self.walk.is_some() {
            return Err(self
                .internal("expected one loop over the tiles that CTAs draw")
                .into());
        }
        self.walk = Some(Walk {
            counter: self.entry.argument(self.space.buffers.len())?.into(),
            tiles,
            ctas: self.b.index(self.mapping.extent(Level::Grid)),
            next: self.cluster()?,
        });
        Ok(())
    }

    /// Emits the loop over those tiles of a walk that are below `upper`.
    pub(super) fn drawn_steps(
        &mut self,
        walk: Walk<'c, 'a>,
        nest: &Nest,
        upper: Value<'c, 'a>,
        location: Location<'c>,
    ) -> Result<(), PassError<'c>> {
        if !nest.carried.is_empty() {
            return Err(self
                .internal("expected steps that do not depend on each other")
                .into());
        }
        let index = Type::index(self.b.context());
        let regions = [(); 2].map(|()| region::of_block(&[(index, location)]));
        let of = self
            .b
            .op_with("scf.while", &[walk.next], &[index], &[], regions.into());
        let condition = walk::entry_block(of)?;
        let step = steps::body(of)?;
        self.b.move_to_end(condition);
        let tile: Value<'c, 'a> = condition.argument(0)?.into();
        let is_there = compare_integers(&self.b, IntegerPredicate::UnsignedLess, tile, upper);
        self.b.op("scf.condition", &[is_there, tile], &[]);

        let outside = self.values.clone();
        self.b.move_to_end(step);
        self.define_coordinate(nest.dim, step.argument(0)?.into());
        self.items(&nest.body)?;
        self.b.set_location(location);
        let next = NextTileOp::build(location, walk.counter, walk.tiles, walk.ctas)?;
        let next = self.b.insert(next).result(0)?.into();
        self.b.op("scf.yield", &[next], &[]);
        self.values = outside;
        self.b.move_after(of);
        self.walk = Some(Walk {
            next: of.result(0)?.into(),
            ..walk
        });
        Ok(())
    }
}
