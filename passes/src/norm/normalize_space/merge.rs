//! Decides which adjacent dims of a space can be merged, on a copy of what the kernel says about them.
//!
//! Dims `p` and `q`, adjacent in this order, can be merged if every access that uses either has them as the plain coordinates of two
//! adjacent axes that can be joined, or has `p * extent(q) + q` as the coordinate of one axis, every reduction and scan has both or
//! neither, nothing computes with their coordinates, and no guard is over them. The coordinate of the joined axis is
//! `p * size(q's axis) + q`, so that size has to be q's extent: an access might otherwise use only a part of its buffer. A write that covers
//! its buffer needs no proof, nor does an access of a tensor that the function is called with, if the extent is the size of another one.

use std::collections::BTreeSet;

use melior::{
    Context,
    ir::{AffineExpr, AffineMap},
};

use super::{buffer::Buffer, origins::Origins};
use crate::{
    kernel::guards::{self, Guard},
    mlir::affine::{Leaf, substitute, symbols},
};

/// One read or write.
#[derive(Clone, Debug)]
pub(super) struct Access<'c> {
    pub(super) buffer: usize,
    /// Whether it is a write that reaches each element of its buffer: one that is not partial, and no scatter.
    pub(super) covers_buffer: bool,
    /// One coordinate for each axis, over the dims that the kernel began with, and its scalars as symbols.
    pub(super) coordinates: Vec<AffineExpr<'c>>,
}

/// A kernel's space while dims are merged. Dims keep their original numbers; `dims` has those that have not been merged into the dim
/// before them.
#[derive(Clone, Debug)]
pub(super) struct Mergeable<'c> {
    pub(super) context: &'c Context,
    pub(super) dims: Vec<usize>,
    /// By dim, over `sizes`.
    pub(super) extents: Vec<AffineExpr<'c>>,
    /// The buffer and axis that each symbol of the extents stands for. Symbols that joined axes leave behind are unused.
    pub(super) sizes: Vec<(usize, usize)>,
    pub(super) buffers: Vec<Buffer<'c>>,
    /// Where launches have the sizes of the buffers from, by the axes that the buffers began with.
    pub(super) origins: Origins,
    pub(super) accesses: Vec<Access<'c>>,
    /// Pairs of buffers that may be the same memory.
    pub(super) aliases: Vec<(usize, usize)>,
    /// Sets of dims each of which has both of two merged dims, or neither: those that a reduction removes, those that a scan is along, and
    /// a dim that counts the results of a reduction. A scan along both passes over the points of the second for each point of the first.
    pub(super) combined: Vec<BTreeSet<usize>>,
    /// Dims whose coordinates are used as values.
    pub(super) values: BTreeSet<usize>,
    /// Over the dims that the kernel began with, and `sizes`.
    pub(super) guards: Vec<Guard<'c>>,
}

/// The space that is left.
pub(super) struct Left<'c> {
    /// The extents of its dims, over `sizes`.
    pub(super) extents: AffineMap<'c>,
    /// Pairs (buffer, axis).
    pub(super) sizes: Vec<i64>,
    /// Its guards, if there are any.
    pub(super) guards: Option<AffineMap<'c>>,
}

/// What becomes of the buffers when two dims are merged: the axis, by buffer, that is joined with the next one.
type Joined = Vec<Option<usize>>;

impl<'c> Mergeable<'c> {
    /// Merges all dims that can be merged; returns how many dims are gone.
    pub(super) fn merge_all(&mut self) -> u64 {
        let before = self.dims.len();
        let mut position = 0;
        while position + 1 < self.dims.len() {
            match self.merge(self.dims[position], self.dims[position + 1]) {
                Some(()) => {
                    self.dims.remove(position + 1);
                }
                None => position += 1,
            }
        }
        (before - self.dims.len()) as u64
    }

    /// Merges `q` into `p`, its neighbour before it; `None`, with nothing changed, if they cannot be merged.
    fn merge(&mut self, p: usize, q: usize) -> Option<()> {
        let split = |dims: &BTreeSet<usize>| dims.contains(&p) != dims.contains(&q);
        if self.values.contains(&p) || self.values.contains(&q) || self.combined.iter().any(split) {
            return None;
        }
        let sides = || self.guards.as_flattened().iter();
        if sides().any(|side| side.is_function_of_dim(p) || side.is_function_of_dim(q)) {
            return None;
        }
        let mut joined = self.joined_axes(p, q)?;
        self.join_sizes(p, q, &mut joined)?;
        if self
            .accesses
            .iter()
            .any(|access| !access.covers_buffer && self.leaves_gaps(access, q, &joined))
        {
            return None;
        }
        let loses_its_size =
            |dim: &usize| ![p, q].contains(dim) && self.names_joined(self.extents[*dim], &joined);
        if self.dims.iter().any(loses_its_size) || sides().any(|side| self.names_joined(*side, &joined)) {
            return None;
        }
        let extent = self.merged_extent(p, q, &joined)?;

        self.extents[p] = match extent {
            Extent::Known(extent) => AffineExpr::constant(self.context, extent),
            Extent::Size(buffer, axis) => {
                self.sizes.push((buffer, axis));
                AffineExpr::symbol(self.context, self.sizes.len() - 1)
            }
        };
        for (buffer, axis) in joined
            .iter()
            .enumerate()
            .filter_map(|(buffer, axis)| Some((buffer, (*axis)?)))
        {
            self.buffers[buffer].join(axis);
            for size in self
                .sizes
                .iter_mut()
                .filter(|size| size.0 == buffer && size.1 > axis)
            {
                size.1 -= 1;
            }
        }
        let both = self.both(p, q);
        let merged = AffineExpr::dim(self.context, p);
        for access in &mut self.accesses {
            if let Some(axis) = joined[access.buffer] {
                access.coordinates.remove(axis + 1);
            }
            for coordinate in &mut access.coordinates {
                if Some(*coordinate) == both {
                    *coordinate = merged;
                }
            }
        }
        Some(())
    }

    /// The coordinate of an axis along which `p` and `q` lie, `p * extent(q) + q`, if the extent is known.
    fn both(&self, p: usize, q: usize) -> Option<AffineExpr<'c>> {
        let dim = |dim: usize| AffineExpr::dim(self.context, dim);
        let extent = self.extents[q];
        extent.is_constant().then(|| dim(p) * extent + dim(q))
    }

    /// The axes that `p` and `q` are the coordinates of; `None` if an access uses the two in another way, or if accesses of one buffer
    /// differ in these axes.
    fn joined_axes(&self, p: usize, q: usize) -> Option<Joined> {
        let both = self.both(p, q);
        let mut joined: Vec<Option<Option<usize>>> = vec![None; self.buffers.len()];
        for access in &self.accesses {
            let is_used = |axis: &usize| {
                let coordinate = access.coordinates[*axis];
                coordinate.is_function_of_dim(p) || coordinate.is_function_of_dim(q)
            };
            let is_plain = |axis: usize, dim: usize| {
                let coordinate = access.coordinates[axis];
                coordinate.is_dim() && coordinate.dim_position() == dim
            };
            let axes = (0..access.coordinates.len()).filter(is_used).collect::<Vec<_>>();
            let axis = match axes[..] {
                [] => None,
                [axis] if Some(access.coordinates[axis]) == both => None,
                [outer, inner] if inner == outer + 1 && is_plain(outer, p) && is_plain(inner, q) => {
                    Some(outer)
                }
                _ => return None,
            };
            if axis.is_some_and(|axis| !self.buffers[access.buffer].can_join(axis)) {
                return None;
            }
            if *joined[access.buffer].get_or_insert(axis) != axis {
                return None;
            }
        }
        // A buffer that nothing accesses follows the one that may be the same memory, so that both keep one type.
        for (output, input) in &self.aliases {
            for (buffer, other) in [(*output, *input), (*input, *output)] {
                joined[buffer] = joined[buffer].or(joined[other]);
            }
        }
        Some(joined.into_iter().map(Option::flatten).collect())
    }

    /// Joins the axes of buffers that nothing accesses and whose sizes are the extents of `p` and `q`, so that the merged extent is still a
    /// size of theirs; `None` if that is not possible.
    fn join_sizes(&self, p: usize, q: usize, joined: &mut Joined) -> Option<()> {
        for symbol in [p, q].into_iter().flat_map(|dim| symbols(self.extents[dim])) {
            let (buffer, _) = self.sizes[symbol];
            let is_accessed = self.accesses.iter().any(|access| access.buffer == buffer);
            if is_accessed || joined[buffer].is_some() {
                continue;
            }
            let outer_axes = 0..self.buffers[buffer].shape.len().saturating_sub(1);
            let mut can_join = outer_axes.filter(|axis| {
                self.have_sizes_of(p, q, buffer, *axis) && self.buffers[buffer].can_join(*axis)
            });
            joined[buffer] = Some(can_join.next()?);
        }
        Some(())
    }

    /// Whether the extents of `p` and `q` are the sizes of an axis of a buffer and of the next one.
    fn have_sizes_of(&self, p: usize, q: usize, buffer: usize, axis: usize) -> bool {
        self.is_size_of(self.extents[p], buffer, axis) && self.is_size_of(self.extents[q], buffer, axis + 1)
    }

    /// Whether the access may use less than the whole of the axis that `q` is the coordinate of.
    fn leaves_gaps(&self, access: &Access<'c>, q: usize, joined: &Joined) -> bool {
        let (extent, buffer) = (self.extents[q], access.buffer);
        let is_whole = |axis: usize| {
            self.is_size_of(extent, buffer, axis) || self.is_launched_with(extent, buffer, axis)
        };
        joined[buffer].is_some_and(|axis| !is_whole(axis + 1))
    }

    /// Whether every launch makes sure that the extent of a dim, which is the coordinate of an access along an axis of a buffer, is the size
    /// of that axis.
    fn is_launched_with(&self, extent: AffineExpr<'c>, buffer: usize, axis: usize) -> bool {
        let axes = |(buffer, axis): (usize, usize)| (buffer, self.buffers[buffer].axes(axis));
        extent.is_symbol()
            && self
                .origins
                .are_equal(axes(self.sizes[extent.symbol_position()]), axes((buffer, axis)))
    }

    fn is_size_of(&self, extent: AffineExpr<'c>, buffer: usize, axis: usize) -> bool {
        if extent.is_constant() {
            self.buffers[buffer].shape[axis] == Some(extent.constant_value())
        } else {
            extent.is_symbol() && self.sizes[extent.symbol_position()] == (buffer, axis)
        }
    }

    /// Whether the expression is over the size of an axis that is joined with another.
    fn names_joined(&self, expression: AffineExpr<'c>, joined: &Joined) -> bool {
        symbols(expression).into_iter().any(|symbol| {
            let (buffer, axis) = self.sizes[symbol];
            joined[buffer].is_some_and(|outer| axis == outer || axis == outer + 1)
        })
    }

    /// The product of two extents, if it is a number or the size of a joined axis.
    fn merged_extent(&self, p: usize, q: usize, joined: &Joined) -> Option<Extent> {
        let (outer, inner) = (self.extents[p], self.extents[q]);
        if outer.is_constant() && inner.is_constant() {
            let product = outer.constant_value().checked_mul(inner.constant_value())?;
            return Some(Extent::Known(product));
        }
        let is_covered = |buffer: &usize| {
            let mut accesses = self.accesses.iter();
            accesses.any(|access| access.buffer == *buffer && access.covers_buffer)
        };
        let has_size = |buffer: &usize| {
            joined[*buffer].is_some_and(|axis| self.have_sizes_of(p, q, *buffer, axis) || is_covered(buffer))
        };
        let buffer = (0..self.buffers.len()).find(has_size)?;
        Some(Extent::Size(buffer, joined[buffer]?))
    }

    /// The space that is left.
    pub(super) fn left(&self) -> Left<'c> {
        let mut used = Vec::<(usize, usize)>::new();
        let mut renumbered = |expression: AffineExpr<'c>| {
            substitute(expression, &mut |leaf| match leaf {
                // A guard is over dims that are left, and an extent over none.
                Leaf::Dim(dim) => {
                    let position = self.dims.iter().position(|left| *left == dim);
                    AffineExpr::dim(self.context, position.unwrap_or(0))
                }
                Leaf::Symbol(symbol) => {
                    let size = self.sizes[symbol];
                    let position = used.iter().position(|other| *other == size).unwrap_or_else(|| {
                        used.push(size);
                        used.len() - 1
                    });
                    AffineExpr::symbol(self.context, position)
                }
            })
        };
        let extents = self.dims.iter().map(|dim| renumbered(self.extents[*dim]));
        let extents = extents.collect::<Vec<_>>();
        let guards = self.guards.iter().map(|guard| guard.map(&mut renumbered));
        let guards = guards.collect::<Vec<_>>();
        let sizes = used
            .iter()
            .flat_map(|(buffer, axis)| [*buffer as i64, *axis as i64]);
        Left {
            extents: AffineMap::new(self.context, 0, used.len(), &extents),
            sizes: sizes.collect(),
            guards: guards::map_of(self.context, &guards, self.dims.len(), used.len()),
        }
    }
}

enum Extent {
    Known(i64),
    /// Of a buffer's axis.
    Size(usize, usize),
}
