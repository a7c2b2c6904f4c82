//! Reads and writes as loads and stores of tiles.
//!
//! What is affine in the kernel's dims becomes affine in the grid coordinates in use, as scalars, and the axes of the
//! tile at hand. Where a guard keeps points out, loads give zero and stores do nothing.

use melior::ir::{AffineExpr, AffineMap, BlockLike, Type, Value, ValueLike};
use norma_dialects::{
    gl::{CacheAttr, EvictionPolicy, LoadOp, StoreOp},
    norm::{Eviction, ReadOp, WriteOp},
};

use crate::kernel::space::{Access, DimSet};
use crate::mlir::{linear_form::LinearForm, pass::PassError, types};

use super::{
    super::{
        placement::{Axes, Place},
        tiles::Tiles,
    },
    Body, Translated,
};

/// Expressions over a tile's own dims, and what their dims and symbols stand for.
pub(super) struct Local<'c, 'a> {
    /// The coordinates in a buffer.
    pub access: AffineMap<'c>,
    /// The guards, if there are any.
    pub guards: Option<AffineMap<'c>>,
    /// The grid coordinates that come before the tile's axes.
    pub indices: Vec<Value<'c, 'a>>,
    /// The sizes that the guards' symbols stand for.
    pub limits: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    pub(super) fn read(&mut self, read: ReadOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let access = self.access(self.space.access(read.op())?)?;
        let axes = self.tile_axes(&access, 0)?;
        let local = self.localize_access(&access, &access.dims(), axes)?;
        let result = read.result()?;
        let element = result.r#type();
        let other = local.guards.map(|_| self.zero(element));
        let load = LoadOp::build(
            self.b.location(),
            self.entry.argument(access.buffer)?.into(),
            &local.indices,
            &local.limits,
            other,
            local.access,
            local.guards,
            self.cache_hints(&access),
            None,
            self.tiles.ty(element, axes)?,
        )?;
        let translated = Translated {
            value: self.b.insert(load).result(0)?.into(),
            element,
            axes,
            zero_outside: local.guards.is_some(),
        };
        self.define(result, translated);
        Ok(())
    }

    pub(super) fn write(&mut self, write: WriteOp<'c, 'a>) -> Result<(), PassError<'c>> {
        let value = self.value(write.value()?)?;
        let access = self.access(self.space.access(write.op())?)?;
        let axes = self.tile_axes(&access, value.axes)?;
        let tile = self.widen(value, axes)?;
        let mut dims = access.dims();
        if axes != self.placement.axes(&dims) {
            // The value is the same along the other axes, and the guards over them leave one point.
            dims = self.placement.dims_over(axes);
        }
        let local = self.localize_access(&access, &dims, axes)?;
        self.b.insert(StoreOp::build(
            self.b.location(),
            tile,
            self.entry.argument(access.buffer)?.into(),
            &local.indices,
            &local.limits,
            local.access,
            local.guards,
            self.cache_hints(&access),
            None,
        )?);
        Ok(())
    }

    fn access(&self, access: Option<Access<'c, 'a>>) -> Result<Access<'c, 'a>, PassError<'c>> {
        Ok(access.ok_or_else(|| self.internal("expected a read or a write"))?)
    }

    /// The tile dims that an access or the value that it moves varies over.
    fn tile_axes(&self, access: &Access<'c, 'a>, of_value: Axes) -> Result<Axes, PassError<'c>> {
        match self.placement.axes(&access.dims()) | of_value {
            0 => {
                let kind = if access.is_write { "write" } else { "read" };
                let message =
                    format!("expected a {kind} that varies over a tile dim, got one for the whole CTA");
                Err(self.unsupported(message).into())
            }
            axes => Ok(axes),
        }
    }

    fn localize_access(
        &mut self,
        access: &Access<'c, 'a>,
        dims: &DimSet,
        axes: Axes,
    ) -> Result<Local<'c, 'a>, PassError<'c>> {
        let guards = self.guards_over(dims)?;
        self.localize(&access.coordinates, &guards, axes)
    }

    /// The guards over `dims` alone. A guard over some of them and others cannot be said of a tile over `dims`; one over
    /// none of them is no concern of it.
    pub(super) fn guards_over(&self, dims: &DimSet) -> Result<Vec<[AffineExpr<'c>; 2]>, PassError<'c>> {
        let mut guards = Vec::new();
        for guard @ [lhs, rhs] in &self.space.guards {
            let over = (0..self.space.dims.len())
                .filter(|dim| guard.iter().any(|side| side.is_function_of_dim(*dim)))
                .collect::<DimSet>();
            if over.is_subset(dims) {
                guards.push(*guard);
            } else if self.placement.axes(over.intersection(dims)) != 0 {
                let message =
                    format!("expected an access that uses all or none of the dims of guard {lhs} < {rhs}");
                return Err(self.unsupported(message).into());
            }
        }
        Ok(guards)
    }

    /// Expressions over all dims of the space and its sizes, in terms of the grid coordinates in use, the axes of a tile
    /// over `axes`, and the sizes in use.
    pub(super) fn localize(
        &mut self,
        coordinates: &[AffineExpr<'c>],
        guards: &[[AffineExpr<'c>; 2]],
        axes: Axes,
    ) -> Result<Local<'c, 'a>, PassError<'c>> {
        let context = self.b.context();
        let (num_dims, num_symbols) = (self.space.dims.len(), self.space.sizes.len());
        let guards = guards.as_flattened();
        let is_used = |dim: &usize| {
            let mut expressions = coordinates.iter().chain(guards);
            expressions.any(|expression| expression.is_function_of_dim(*dim))
        };
        let grid = self.placement.grid().filter(is_used).collect::<Vec<_>>();
        let indices = grid
            .iter()
            .map(|dim| Ok(self.value(self.space.dims[*dim])?.value))
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        let num_local = indices.len() + axes.count_ones() as usize;
        let dims = (0..num_dims)
            .map(|dim| match self.placement.place(dim) {
                Place::Grid => grid.iter().position(|used| *used == dim),
                Place::Tile(axis) if axes >> axis & 1 == 1 => {
                    Some(indices.len() + Tiles::position(axes, axis))
                }
                Place::Tile(_) => None,
            })
            .map(|position| match position {
                Some(position) => AffineExpr::dim(context, position),
                None => AffineExpr::constant(context, 0),
            })
            .collect::<Vec<_>>();
        let into_local = AffineMap::new(context, num_local, num_symbols, &dims);

        let mut limits = Vec::new();
        let mut symbols = Vec::with_capacity(num_symbols);
        for symbol in 0..num_symbols {
            // What is no sum is taken to use every symbol.
            let uses = |side: &AffineExpr<'c>| {
                LinearForm::of(*side, num_dims, num_symbols).is_none_or(|form| form.symbols[symbol] != 0)
            };
            symbols.push(AffineExpr::symbol(context, limits.len()));
            if guards.iter().any(uses) {
                limits.push(self.size(symbol)?);
            }
        }
        let local = |expressions: &[AffineExpr<'c>], num_symbols: usize| {
            let results = expressions
                .iter()
                .map(|expression| expression.compose(into_local))
                .collect::<Vec<_>>();
            AffineMap::new(context, num_local, num_symbols, &results)
        };
        let mut local_guards = local(guards, num_symbols);
        for (symbol, limit) in symbols.into_iter().enumerate() {
            let symbol = AffineExpr::symbol(context, symbol);
            local_guards = local_guards.replace(symbol, limit, num_local, num_symbols);
        }
        let local_guards = (0..guards.len())
            .map(|side| local_guards.result(side))
            .collect::<Result<Vec<_>, _>>()?;
        let guards =
            (!guards.is_empty()).then(|| AffineMap::new(context, num_local, limits.len(), &local_guards));
        Ok(Local {
            access: local(coordinates, 0),
            guards,
            indices,
            limits,
        })
    }

    /// The hints that the schedule wants: no other CTA touches what an access over all grid dims does, and every CTA
    /// touches what an access over none of them does.
    fn cache_hints(&self, access: &Access<'c, 'a>) -> Option<CacheAttr<'c>> {
        if self.space.kernel.schedule()?.eviction() != Eviction::Streaming {
            return None;
        }
        let dims = access.dims();
        let (mut used, mut all) = (0, 0);
        for dim in self.placement.grid() {
            all += 1;
            used += usize::from(dims.contains(&dim));
        }
        let (l1, l2) = match used {
            used if used == all => (EvictionPolicy::NoAllocate, EvictionPolicy::First),
            0 => (EvictionPolicy::Last, EvictionPolicy::Last),
            _ => return None,
        };
        Some(CacheAttr::get(self.b.context(), l1, l2))
    }

    fn zero(&self, element: Type<'c>) -> Value<'c, 'a> {
        if types::is_float(element) {
            self.b.float(element, 0.0)
        } else {
            self.b.integer(element, 0)
        }
    }
}
