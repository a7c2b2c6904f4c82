//! Translates reads and writes to loads and stores of tiles.
//!
//! Their addresses are over the axes of a tile ([`super::localize`]). At points that a guard masks off, loads give zero and stores
//! do nothing.

use melior::ir::{AffineExpr, BlockLike, Type, Value, ValueLike};
use norma_dialects::{
    gl::{
        CacheAttr, CopyEngine, CopyFromSharedOp, CopyToSharedOp, EvictionPolicy, LoadOp, LocalAllocOp,
        LocalLoadOp, LocalStoreOp, StoreOp,
    },
    norm::{CachePlace, CopyMechanism, ReadOp, WriteOp},
};

use crate::gl::{quotient_form::QuotientForm, shared_memory::row_major};
use crate::kernel::space::{Access, DimSet};
use crate::mlir::{pass::PassError, types, values::key};
use norma_targets::ACCESS_BYTES;

use super::{
    super::{
        placement::{Axes, Place},
        tiles::Tiles,
    },
    Body, Brought, Translated,
    localize::Local,
    set_of,
};

/// Elements that at least so many CTAs touch are kept in the caches, while what a single CTA touches passes through: what so many CTAs
/// share is a small part of all bytes. The scale and the shift of an image, which 64 CTAs with four of its 256 rows each read, keep
/// LayerNorm at 2969 GB/s over 1152 columns; without a hint it reaches 2544, and with one for L1 alone 2735 (H100,
/// docs/measurements/shared-weights.md).
const SHARING_CTAS: i64 = 8;

/// Which of the loop nests that access the same elements one after the other an access is in.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    /// The number of the nest among these, from 1 on.
    number: usize,
    /// How many nests these are.
    total: usize,
}

impl Visit {
    /// Of elements that a single nest accesses.
    pub const ONLY: Self = Self { number: 1, total: 1 };
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    pub(super) fn read(&mut self, position: usize, read: ReadOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let access = self.access(self.space.access(read.op())?)?;
        let result = read.result()?;
        let held_at = self.holds(position);
        if let Some(step) = held_at
            && let Some(held) = self.held_tile(position, step)?
        {
            self.next_visit(position);
            self.define(result, held);
            return Ok(());
        }
        let dims = access.dims();
        let axes = self.placement.axes(&dims);
        let guards = self.guards_over(&dims);
        let local = self.localize(&access.coordinates, &self.sides(&guards), axes)?;
        let element = result.r#type();
        let zero_outside = set_of(&guards);
        if axes != 0 && self.mapping.place(access.buffer) == CachePlace::Shared {
            let brought = match self.mapping.bring {
                CopyMechanism::Load => {
                    let hints = self.cache_hints(&access, Visit::ONLY, true);
                    self.bring_run(element, access.buffer, &local, axes, hints)?
                }
                _ => {
                    let sides = self.sides(&guards);
                    let part = self.localize_part(&access.coordinates, &sides, axes)?;
                    self.bring(element, access.buffer, part, local, axes)?
                }
            };
            let value = self.load_brought(&brought, self.tiles.tile(element, axes)?)?;
            self.brought.insert(key(result), brought);
            let translated = Translated {
                value,
                element,
                axes,
                zero_outside,
            };
            self.define(result, translated);
            return Ok(());
        }
        let other = local.guards.map(|_| self.b.zero(element));
        let visit = self.next_visit(position);
        let visit = if held_at.is_some() { Visit::ONLY } else { visit };
        let load = LoadOp::build(
            self.b.location(),
            self.entry.argument(access.buffer)?.into(),
            &local.indices,
            &local.limits,
            other,
            local.access,
            local.guards,
            self.cache_hints(&access, visit, self.moves_whole_sectors(&access)),
            None,
            None,
            self.tiles.tile(element, axes)?,
        )?;
        let tile = self.b.insert(load).result(0)?.into();
        let translated = Translated {
            value: Tiles::unwrap(&self.b, tile, element, axes),
            element,
            axes,
            zero_outside,
        };
        if let Some(step) = held_at {
            self.held.insert((position, step), translated);
        }
        self.define(result, translated);
        Ok(())
    }

    /// Counts a further nest that reads what the op at a position reads, and returns which one it is.
    pub(super) fn next_visit(&mut self, position: usize) -> Visit {
        self.nests_visited[position] += 1;
        Visit {
            number: self.nests_visited[position],
            total: self.nests_of[position],
        }
    }

    /// Copies a tile to shared memory, each CTA of a cluster its own part.
    fn bring(
        &self,
        element: Type<'c>,
        buffer: usize,
        part: Local<'c, 'a>,
        local: Local<'c, 'a>,
        axes: Axes,
    ) -> Result<Brought<'c, 'a>, PassError<'c>> {
        let engine = self.engine()?;
        let memory = self.memory(element, axes);
        self.b.insert(CopyToSharedOp::build(
            self.b.location(),
            self.entry.argument(buffer)?.into(),
            &part.indices,
            &part.limits,
            memory,
            part.access,
            part.guards,
            engine,
        )?);
        Ok(Brought {
            memory,
            guards: local.guards,
            indices: local.guards.map(|_| local.indices).unwrap_or_default(),
            limits: local.guards.map(|_| local.limits).unwrap_or_default(),
            phase: 0,
        })
    }

    /// The engine that copies tiles to shared memory and from there.
    fn engine(&self) -> Result<CopyEngine, PassError<'c>> {
        match self.mapping.bring {
            CopyMechanism::Bulk => Ok(CopyEngine::Bulk),
            CopyMechanism::CpAsync => Ok(CopyEngine::CpAsync),
            CopyMechanism::Tensor => Ok(CopyEngine::Tensor),
            CopyMechanism::Load => Err(self
                .internal("expected an engine that copies, got plain loads")
                .into()),
        }
    }

    /// Allocates shared memory for a CTA's part of a tile over `axes`.
    fn memory(&self, element: Type<'c>, axes: Axes) -> Value<'c, 'a> {
        let shape = self.tiles.part_shape(self.placement, axes);
        let memory = row_major(self.b.context(), element, &shape);
        self.b.value(LocalAllocOp::NAME, &[], memory.into())
    }

    /// Loads a tile that has been copied to shared memory; elements that guards mask off are zero.
    pub(super) fn load_brought(
        &self,
        brought: &Brought<'c, 'a>,
        tile: Type<'c>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let load = LocalLoadOp::build(
            self.b.location(),
            brought.memory,
            &brought.indices,
            &brought.limits,
            brought.guards,
            (brought.phase > 0).then_some(brought.phase),
            tile,
        )?;
        Ok(self.b.insert(load).result(0)?.into())
    }

    pub(super) fn write(&mut self, write: WriteOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let value = self.value(write.value()?)?;
        let access = self.access(self.space.access(write.op())?)?;
        let dims = access.dims();
        let axes = self.placement.axes(&dims) | value.axes;
        let tile = self.as_tile(value, axes)?;
        let sides = self.sides_of_write(&dims);
        let local = self.localize(&access.coordinates, &sides, axes)?;
        if self.mapping.sends(access.buffer) && self.mapping.bring == CopyMechanism::Load {
            let hints = self.cache_hints(&access, Visit::ONLY, true);
            return self.send_run(tile, value.element, access.buffer, &local, axes, hints);
        }
        if self.mapping.sends(access.buffer) {
            let memory = self.memory(value.element, axes);
            self.b
                .insert(LocalStoreOp::build(self.b.location(), tile, memory, None)?);
            self.b.insert(CopyFromSharedOp::build(
                self.b.location(),
                memory,
                self.entry.argument(access.buffer)?.into(),
                &local.indices,
                &local.limits,
                local.access,
                local.guards,
                self.engine()?,
            )?);
            return Ok(());
        }
        self.b.insert(StoreOp::build(
            self.b.location(),
            tile,
            self.entry.argument(access.buffer)?.into(),
            &local.indices,
            &local.limits,
            local.access,
            local.guards,
            self.cache_hints(&access, Visit::ONLY, self.moves_whole_sectors(&access)),
            None,
        )?);
        Ok(())
    }

    pub(super) fn access(&self, access: Option<Access<'c, 'a>>) -> Result<Access<'c, 'a>, PassError<'c>> {
        Ok(access.ok_or_else(|| self.internal("expected a read or a write"))?)
    }

    /// The guards that apply to a value over `dims`: those over no other dims, without those that hold throughout the current
    /// scope.
    pub(super) fn guards_over(&self, dims: &DimSet) -> Vec<usize> {
        let concerns = |guard: &usize| {
            let sides = &self.space.guards[*guard];
            (0..self.space.dims.len())
                .filter(|dim| sides.iter().any(|side| side.is_function_of_dim(*dim)))
                .all(|dim| dims.contains(&dim))
        };
        (0..self.space.guards.len())
            .filter(|guard| !self.known_guards.contains(guard) && concerns(guard))
            .collect()
    }

    /// A value as a tile over `axes`, which may be none.
    pub(super) fn as_tile(
        &self,
        value: Translated<'c, 'a>,
        axes: Axes,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        match axes {
            0 => {
                let tile = self.tiles.tile(value.element, axes)?;
                Ok(self.b.value("tensor.splat", &[value.value], tile))
            }
            axes => self.widen(value, axes),
        }
    }

    /// The two sides of each guard of a write over `dims`. CTAs that differ along a dim that the write leaves out have the same value:
    /// the first of them writes it.
    pub(super) fn sides_of_write(&self, dims: &DimSet) -> Vec<[AffineExpr<'c>; 2]> {
        let context = self.b.context();
        let mut sides = self.sides(&self.guards_over(dims));
        let left_out = self.placement.grid().filter(|dim| !dims.contains(dim));
        sides.extend(left_out.map(|dim| [AffineExpr::dim(context, dim), AffineExpr::constant(context, 1)]));
        sides
    }

    /// The two sides of each guard.
    pub(super) fn sides(&self, guards: &[usize]) -> Vec<[AffineExpr<'c>; 2]> {
        guards.iter().map(|guard| self.space.guards[*guard]).collect()
    }

    /// The cache hints of an access. Elements that later nests read again stay in the cache in which the schedule keeps them, until
    /// the last nest has read them. Otherwise the dims that are spread over CTAs decide. An access over all of them touches
    /// elements that no other CTA touches, which are evicted first; elements that all CTAs touch, or at least [`SHARING_CTAS`] of
    /// them, are evicted last. What a kernel that is launched later reads may stay in L2. Accesses that do not move whole sectors,
    /// but share them with others of their own CTA, get no hint, which would evict a sector before all of it is used.
    pub(super) fn cache_hints(
        &self,
        access: &Access<'c, 'a>,
        visit: Visit,
        moves_whole_sectors: bool,
    ) -> Option<CacheAttr<'c>> {
        let hints = |l1, l2| Some(CacheAttr::get(self.b.context(), l1, l2));
        let done = match self.read_later.contains(&access.buffer) {
            true => EvictionPolicy::Normal,
            false => EvictionPolicy::First,
        };
        if visit.total > 1 {
            let is_last = visit.number == visit.total;
            match self.mapping.place(access.buffer) {
                CachePlace::L1 if is_last => return hints(EvictionPolicy::First, done),
                CachePlace::L1 => return hints(EvictionPolicy::Last, EvictionPolicy::Last),
                CachePlace::L2 if is_last => return hints(EvictionPolicy::NoAllocate, done),
                CachePlace::L2 => return hints(EvictionPolicy::NoAllocate, EvictionPolicy::Last),
                _ => return None,
            }
        }
        if !moves_whole_sectors {
            return None;
        }
        let dims = access.dims();
        let of_ctas = || self.placement.of_ctas(self.mapping);
        let is_shared_by_all = !of_ctas().any(|dim| dims.contains(&dim));
        let unused = of_ctas().filter(|dim| !dims.contains(dim));
        match self.points(unused) {
            Some(1) => hints(EvictionPolicy::NoAllocate, done),
            Some(..SHARING_CTAS) if !is_shared_by_all => None,
            _ => hints(EvictionPolicy::Last, EvictionPolicy::Last),
        }
    }

    /// Returns the number of points of some dims together; `None` if one of them is dynamic.
    fn points(&self, mut dims: impl Iterator<Item = usize>) -> Option<i64> {
        dims.try_fold(1, |points: i64, dim| {
            let extent = self.space.extents[dim];
            let extent = extent.is_constant().then(|| extent.constant_value())?;
            points.checked_mul(extent)
        })
    }

    /// Whether each thread moves at least 16 contiguous bytes at a time, from addresses that are multiples of 16 bytes.
    pub(super) fn moves_whole_sectors(&self, access: &Access<'c, 'a>) -> bool {
        let Some((address, is_unknown)) = self.address(access) else {
            return false;
        };
        let contiguous = (0..self.space.dims.len()).find_map(|dim| match self.placement.place(dim) {
            Place::Tile(axis) if self.placement.register_axes() >> axis & 1 == 1 => {
                (address.dims[dim] == 1 && !is_unknown.contains(&dim)).then_some((dim, axis))
            }
            _ => None,
        });
        let Some((along, axis)) = contiguous else {
            return false;
        };
        let elements = self.placement.tile_shape()[axis];
        let divides = |stride: i64| stride * access.element_bytes() % ACCESS_BYTES == 0;
        let mut others = (0..address.dims.len()).filter(|dim| *dim != along && !is_unknown.contains(dim));
        let mut quotients = address.quotients.iter();
        let mut numbers = address.symbols.iter();
        elements * access.element_bytes() >= ACCESS_BYTES
            && others.all(|dim| divides(address.dims[dim]))
            && numbers.all(|factor| divides(*factor))
            && quotients
                .all(|(coefficient, quotient)| divides(*coefficient) && quotient.numerator.dims[along] == 0)
    }

    /// The part of an access's address whose strides are known, in elements, as a form over the dims and the symbols; and the
    /// dims that move the address by unknown strides.
    fn address(&self, access: &Access<'c, 'a>) -> Option<(QuotientForm, DimSet)> {
        let (strides, _) = types::strides_and_offset(self.space.buffers[access.buffer].r#type())?;
        let (dims, symbols) = (self.space.dims.len(), self.space.symbols().len());
        let mut address = QuotientForm::zero(dims, symbols);
        let mut is_unknown = DimSet::new();
        for (coordinate, stride) in access.coordinates.iter().zip(strides) {
            let form = QuotientForm::of(*coordinate, dims, symbols)?;
            match stride {
                Some(stride) => address.add(&form, stride)?,
                None => is_unknown.extend((0..dims).filter(|dim| coordinate.is_function_of_dim(*dim))),
            }
        }
        Some((address, is_unknown))
    }
}
