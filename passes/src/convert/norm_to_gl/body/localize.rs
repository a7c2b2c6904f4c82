//! Rewrites affine expressions over the kernel's dims and symbols to expressions over one tile.
//!
//! The dims of the grid and of loops, and numbers that are computed for a whole tile, become scalars; the other dims become the
//! axes of the tile.

use std::collections::HashMap;

use melior::ir::{AffineExpr, AffineMap, Value};

use crate::gl::quotient_form::QuotientForm;
use crate::mlir::{
    affine::{Leaf, substitute, symbols},
    pass::PassError,
    values::key,
};

use super::{
    super::{
        placement::{Axes, Place},
        tiles::Tiles,
    },
    Body,
};

/// Expressions over a tile's own dims, and what their dims and symbols stand for.
pub(super) struct Local<'c, 'a> {
    /// The coordinates in a buffer.
    pub access: AffineMap<'c>,
    /// The guards, if there are any.
    pub guards: Option<AffineMap<'c>>,
    /// The grid coordinates, the numbers and the computed scalars that come first among the dims.
    pub indices: Vec<Value<'c, 'a>>,
    /// Computed tiles over the tile's axes, which come behind them, before the tile's axes.
    pub places: Vec<Value<'c, 'a>>,
    /// The sizes that the guards' symbols stand for.
    pub limits: Vec<Value<'c, 'a>>,
}

/// Where the values of symbols are found among the dims of a local expression.
#[derive(Default)]
struct Symbols<'c, 'a> {
    /// The positions of scalars among the indices, by symbol.
    of_indices: HashMap<usize, usize>,
    /// The positions of tiles among the places, by symbol.
    of_places: HashMap<usize, usize>,
    /// The tiles.
    places: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// Rewrites expressions over all dims of the space, and over its symbols (coordinates) or its sizes (guards), in terms of
    /// the scalar coordinates and the symbols in use, the axes of a tile over `axes`, and the sizes in use. Other tile dims,
    /// and the dims of loops that are not open, are taken at their first point.
    pub(super) fn localize(
        &mut self,
        coordinates: &[AffineExpr<'c>],
        guards: &[[AffineExpr<'c>; 2]],
        axes: Axes,
    ) -> Result<Local<'c, 'a>, PassError<'c>> {
        self.localize_with(coordinates, guards, axes, 0)
    }

    /// As [`Self::localize`], for the part of the tile that a CTA of a cluster holds: the CTA's coordinate along axes that are
    /// spread over CTAs is a scalar, and the part has one point along them.
    pub(super) fn localize_part(
        &mut self,
        coordinates: &[AffineExpr<'c>],
        guards: &[[AffineExpr<'c>; 2]],
        axes: Axes,
    ) -> Result<Local<'c, 'a>, PassError<'c>> {
        self.localize_with(coordinates, guards, axes, axes & self.placement.cluster_axes())
    }

    /// As [`Self::localize`], with the CTA's coordinates, which are scalars, for the axes in `of_cta`.
    fn localize_with(
        &mut self,
        coordinates: &[AffineExpr<'c>],
        guards: &[[AffineExpr<'c>; 2]],
        axes: Axes,
        of_cta: Axes,
    ) -> Result<Local<'c, 'a>, PassError<'c>> {
        let context = self.b.context();
        let guards = guards.as_flattened();
        let expressions = || coordinates.iter().chain(guards);
        let (scalars, mut indices) = self.scalar_coordinates(
            |dim| expressions().any(|expression| expression.is_function_of_dim(dim)),
            of_cta,
        )?;
        let values = self.symbol_values(coordinates, axes, &mut indices)?;

        let before_axes = indices.len() + values.places.len();
        let num_local = before_axes + axes.count_ones() as usize;
        let local_dim = |dim: usize| {
            let position = match self.placement.place(dim) {
                Place::Tile(axis) if (axes & !of_cta) >> axis & 1 == 1 => {
                    Some(before_axes + Tiles::position(axes, axis))
                }
                _ => scalars.iter().position(|used| *used == dim),
            };
            match position {
                Some(position) => AffineExpr::dim(context, position),
                None => AffineExpr::constant(context, 0),
            }
        };
        let dims = (0..self.space.dims.len()).map(local_dim).collect::<Vec<_>>();
        let into_local = AffineMap::new(context, num_local, self.space.sizes.len(), &dims);

        let (guards, limits) = self.localize_guards(guards, into_local)?;
        let coordinates = coordinates.iter().map(|coordinate| {
            substitute(coordinate.compose(into_local), &mut |leaf| match leaf {
                Leaf::Dim(dim) => AffineExpr::dim(context, dim),
                Leaf::Symbol(symbol) => {
                    let place = || indices.len() + values.of_places[&symbol];
                    let position = values.of_indices.get(&symbol).copied();
                    AffineExpr::dim(context, position.unwrap_or_else(place))
                }
            })
        });
        let coordinates = coordinates.collect::<Vec<_>>();
        Ok(Local {
            access: AffineMap::new(context, num_local, 0, &coordinates),
            guards,
            indices,
            places: values.places,
            limits,
        })
    }

    /// The dims in use that have a scalar coordinate, and these coordinates: those of the grid, of open loops, and of the axes in
    /// `of_cta`.
    fn scalar_coordinates(
        &mut self,
        is_used: impl Fn(usize) -> bool,
        of_cta: Axes,
    ) -> Result<(Vec<usize>, Vec<Value<'c, 'a>>), PassError<'c>> {
        let (mut dims, mut coordinates) = (Vec::new(), Vec::new());
        for dim in (0..self.space.dims.len()).filter(|dim| is_used(*dim)) {
            let coordinate = match self.placement.place(dim) {
                Place::Tile(axis) if of_cta >> axis & 1 == 1 => Some(self.coordinate_of_cta(axis)?),
                Place::Tile(_) => None,
                Place::Grid | Place::Loop => {
                    let coordinate = self.values.get(&key(self.space.dims[dim]));
                    coordinate.map(|coordinate| coordinate.value)
                }
            };
            if let Some(coordinate) = coordinate {
                dims.push(dim);
                coordinates.push(coordinate);
            }
        }
        Ok((dims, coordinates))
    }

    /// The values of the symbols that `coordinates` use. Scalars are added to `indices`; the others are tiles over `axes`.
    fn symbol_values(
        &mut self,
        coordinates: &[AffineExpr<'c>],
        axes: Axes,
        indices: &mut Vec<Value<'c, 'a>>,
    ) -> Result<Symbols<'c, 'a>, PassError<'c>> {
        let mut found = Symbols::default();
        let values = self.space.symbols();
        for symbol in coordinates.iter().flat_map(|coordinate| symbols(*coordinate)) {
            if found.of_indices.contains_key(&symbol) || found.of_places.contains_key(&symbol) {
                continue;
            }
            let value = self.value(values[symbol])?;
            if value.axes == 0 {
                found.of_indices.insert(symbol, indices.len());
                indices.push(value.value);
            } else {
                found.of_places.insert(symbol, found.places.len());
                found.places.push(self.widen(value, axes)?);
            }
        }
        Ok(found)
    }

    /// Rewrites the sides of guards by a map from all dims to local ones, with only those sizes as symbols that they use, and
    /// returns these sizes. Without guards there is no map.
    fn localize_guards(
        &mut self,
        guards: &[AffineExpr<'c>],
        into_local: AffineMap<'c>,
    ) -> Result<(Option<AffineMap<'c>>, Vec<Value<'c, 'a>>), PassError<'c>> {
        let context = self.b.context();
        let (num_dims, num_symbols) = (self.space.dims.len(), self.space.sizes.len());
        let num_local = into_local.dim_count();
        let mut limits = Vec::new();
        let mut renumbered = Vec::with_capacity(num_symbols);
        for symbol in 0..num_symbols {
            // Which symbols an expression without a form uses, such as a product of two sizes, is not known: it gets all of them.
            let uses = |side: &AffineExpr<'c>| {
                QuotientForm::of(*side, num_dims, num_symbols).is_none_or(|form| form.uses_symbol(symbol))
            };
            renumbered.push(AffineExpr::symbol(context, limits.len()));
            if guards.iter().any(uses) {
                limits.push(self.size(symbol)?);
            }
        }
        let sides = guards.iter().map(|side| side.compose(into_local));
        let sides = sides.collect::<Vec<_>>();
        let mut map = AffineMap::new(context, num_local, num_symbols, &sides);
        for (symbol, limit) in renumbered.into_iter().enumerate() {
            let symbol = AffineExpr::symbol(context, symbol);
            map = map.replace(symbol, limit, num_local, num_symbols);
        }
        let sides = (0..guards.len())
            .map(|side| map.result(side))
            .collect::<Result<Vec<_>, _>>()?;
        let map = (!guards.is_empty()).then(|| AffineMap::new(context, num_local, limits.len(), &sides));
        Ok((map, limits))
    }
}
