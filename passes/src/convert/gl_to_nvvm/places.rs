//! Elements at computed places, of `gl.gather` and `gl.scatter`: the address of each vector, and what masks it.
//!
//! Within a vector the places and the mask are the same, so that those of its first element move and mask all of it. A vector of which a
//! guard may admit only a part is moved element by element.

use melior::ir::{AffineExpr, AffineMap, OperationRef, Type, ValueLike};

use crate::{
    gl::quotient_form::QuotientForm,
    mlir::{
        affine::{Leaf, substitute},
        conversion::Rejection,
        diagnostic::Diagnostic,
    },
};

use super::{
    access::{Access, Addresses},
    buffer::{Buffer, Stride},
    emit::{Emit, Value},
    form::Scalars,
    global::Vector,
    guards::{Guards, Predicate, Reach},
    tile::{self, Tile},
};

/// What an op at computed places says, with the values before conversion.
pub(super) struct Places<'c, 'a> {
    pub tile: Value<'c, 'a>,
    pub buffer: Value<'c, 'a>,
    pub indices: Vec<Value<'c, 'a>>,
    /// How many computed places there are.
    pub places: usize,
    pub limits: Vec<Value<'c, 'a>>,
    pub access: AffineMap<'c>,
    pub guards: Option<AffineMap<'c>>,
    pub vector: Option<i64>,
}

/// Elements that one instruction moves.
pub(super) struct Piece<'v, 'c, 'a> {
    pub vector: &'v Vector<'c>,
    /// The register of the first element.
    pub register: usize,
    pub pointer: Value<'c, 'a>,
    pub predicate: Predicate<'c, 'a>,
}

impl<'c, 'a> Places<'c, 'a> {
    /// Calls `move_piece` for each piece of the tile that may be moved, in the order of registers. `operands` are the converted buffer,
    /// indices, places, limits and mask.
    pub fn each(
        self,
        e: &Emit<'_, 'c, 'a>,
        op: OperationRef<'c, 'a>,
        operands: &[Value<'c, 'a>],
        mut move_piece: impl FnMut(Piece<'_, 'c, 'a>) -> Result<(), Diagnostic<'c>>,
    ) -> Result<(), Rejection<'c>> {
        let tile = Tile::of(e, self.tile.r#type())?;
        let element = tile::memory_element(e, tile.element);
        let vector = Vector::of(e, &tile.layout, self.vector, element)?;
        let single = Vector::of(e, &tile.layout, None, element)?;
        let (buffer, rest) = operands.split_first().ok_or("expected a buffer")?;
        let (indices, rest) = rest.split_at(self.indices.len());
        let (places, rest) = rest.split_at(self.places);
        let (limits, mask) = rest.split_at(self.limits.len());
        let strides = Buffer::of(e, op, self.buffer)?.strides(e)?;
        let offsets = self.offsets(e, places, &strides)?;
        let mask = match mask.first() {
            Some(mask) => e.elements(*mask).map_err(|error| e.internal(error))?,
            None => Vec::new(),
        };
        let access = self.without_places(e, self.access)?;
        let guards = match self.guards {
            Some(guards) => Some(self.without_places(e, guards)?),
            None => None,
        };
        let registers = (0..tile.layout.num_registers()).collect();
        let place = Access::new(e, &tile.layout, registers, Scalars::new(indices, self.indices))?;
        let addresses = place.addresses(access, *buffer, &strides, element, vector.count)?;
        let guards = place.guards(guards, &Scalars::new(limits, self.limits))?;
        let moved = |register: usize| moved(e, &addresses, &offsets, element, register);
        for first in vector.first_registers() {
            for (vector, register, guard) in pieces(&guards, &vector, &single, first)? {
                let mask = mask.get(register).copied();
                let predicate = guard.and(e, mask.map_or(Predicate::Always, Predicate::When));
                if !matches!(predicate, Predicate::Never) {
                    move_piece(Piece {
                        vector,
                        register,
                        pointer: moved(register),
                        predicate,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// By register, how far the places move the address, in elements; `None` where they do not.
    fn offsets(
        &self,
        e: &Emit<'_, 'c, 'a>,
        places: &[Value<'c, 'a>],
        strides: &[Stride<'c, 'a>],
    ) -> Result<Vec<Option<Value<'c, 'a>>>, Diagnostic<'c>> {
        let mut terms = Vec::<Vec<Value<'c, 'a>>>::new();
        for (axis, stride) in strides.iter().enumerate() {
            let coordinate = self.access.result(axis).map_err(|error| e.internal(error))?;
            let form = QuotientForm::of(coordinate, self.access.dim_count(), 0)
                .ok_or_else(|| e.unsupported("expected a coordinate whose coefficients fit 64 bits"))?;
            let factors = &form.dims[self.indices.len()..];
            for (place, factor) in places.iter().zip(factors).filter(|(_, factor)| **factor != 0) {
                let values = e.elements(*place).map_err(|error| e.internal(error))?;
                terms.resize(values.len(), Vec::new());
                for (terms, value) in terms.iter_mut().zip(values) {
                    let moved = e.scale(value, *factor);
                    terms.push(match stride {
                        Stride::Static(stride) => e.scale(moved, *stride),
                        Stride::Dynamic(stride) => e.muli(moved, *stride),
                    });
                }
            }
        }
        Ok(terms.into_iter().map(|terms| e.sum(terms)).collect())
    }

    /// A map over the indices and the tile's axes alone, with every place at 0.
    fn without_places(
        &self,
        e: &Emit<'_, 'c, 'a>,
        map: AffineMap<'c>,
    ) -> Result<AffineMap<'c>, melior::Error> {
        let context = e.b.context();
        let first = self.indices.len();
        let results = (0..map.result_count()).map(|result| {
            Ok(substitute(map.result(result)?, &mut |leaf| match leaf {
                Leaf::Dim(dim) if dim < first => AffineExpr::dim(context, dim),
                Leaf::Dim(dim) if dim < first + self.places => AffineExpr::constant(context, 0),
                Leaf::Dim(dim) => AffineExpr::dim(context, dim - self.places),
                Leaf::Symbol(symbol) => AffineExpr::symbol(context, symbol),
            }))
        });
        let results = results.collect::<Result<Vec<_>, melior::Error>>()?;
        let (dims, symbols) = (map.dim_count() - self.places, map.symbol_count());
        Ok(AffineMap::new(context, dims, symbols, &results))
    }
}

/// The address of the element in a register.
fn moved<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    addresses: &Addresses<'c, 'a>,
    offsets: &[Option<Value<'c, 'a>>],
    element: Type<'c>,
    register: usize,
) -> Value<'c, 'a> {
    let pointer = addresses.of(e, register);
    match offsets.get(register).copied().flatten() {
        Some(offset) => e.element_pointer(pointer, element, offset),
        None => pointer,
    }
}

/// The pieces of the vector from register `first` on, each with its first register and where guards admit it: the whole vector, or single
/// elements.
fn pieces<'v, 'c, 'a>(
    guards: &Guards<'_, 'c, 'a>,
    vector: &'v Vector<'c>,
    single: &'v Vector<'c>,
    first: usize,
) -> Result<Vec<(&'v Vector<'c>, usize, Predicate<'c, 'a>)>, Diagnostic<'c>> {
    match guards.within(first, vector.count)? {
        Reach::Whole(predicate) => Ok(vec![(vector, first, predicate)]),
        Reach::Part { .. } => (first..first + vector.count)
            .map(|register| Ok((single, register, guards.at(register)?)))
            .collect(),
    }
}
