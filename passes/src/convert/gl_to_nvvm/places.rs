//! The computed places of `gl.gather` and `gl.scatter`: how far they move each register's address, and what masks it.

use melior::ir::{AffineExpr, AffineMap, Type};

use crate::{
    gl::quotient_form::QuotientForm,
    mlir::{
        affine::{Leaf, substitute},
        diagnostic::Diagnostic,
    },
};

use super::{
    emit::{Emit, Value},
    guards::Predicate,
    params::Stride,
};

/// The computed places of a tile's elements, which are dims of its access behind the indices, and its mask.
pub(super) struct Places<'c, 'a> {
    /// The position of the first place among the dims.
    first: usize,
    count: usize,
    /// By register, how far the places move the address, in elements; `None` where they do not.
    offsets: Vec<Option<Value<'c, 'a>>>,
    /// By register; none for a tile that nothing masks.
    mask: Vec<Value<'c, 'a>>,
}

impl<'c, 'a> Places<'c, 'a> {
    pub fn of(
        e: &Emit<'_, 'c, 'a>,
        map: AffineMap<'c>,
        first: usize,
        places: &[Value<'c, 'a>],
        mask: Option<&Value<'c, 'a>>,
        strides: &[Stride<'c, 'a>],
    ) -> Result<Self, Diagnostic<'c>> {
        let elements = |value: &Value<'c, 'a>| e.elements(*value).map_err(|error| e.internal(error));
        let mask = mask.map(elements).transpose()?.unwrap_or_default();
        let mut terms = Vec::<Vec<Value<'c, 'a>>>::new();
        for (axis, stride) in strides.iter().enumerate() {
            let coordinate = map.result(axis).map_err(|error| e.internal(error))?;
            let form = QuotientForm::of(coordinate, map.dim_count(), 0)
                .ok_or_else(|| e.unsupported("expected a coordinate whose coefficients fit 64 bits"))?;
            for (place, factor) in places.iter().zip(&form.dims[first..]) {
                if *factor == 0 {
                    continue;
                }
                let values = elements(place)?;
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
        Ok(Self {
            first,
            count: places.len(),
            offsets: terms.into_iter().map(|terms| e.sum(terms)).collect(),
            mask,
        })
    }

    /// The map over the other dims, with every place at 0.
    pub fn left_out_of(
        &self,
        e: &Emit<'_, 'c, 'a>,
        map: AffineMap<'c>,
    ) -> Result<AffineMap<'c>, melior::Error> {
        let context = e.b.context();
        let behind = self.first + self.count;
        let results = (0..map.result_count()).map(|result| {
            Ok(substitute(map.result(result)?, &mut |leaf| match leaf {
                Leaf::Dim(dim) if dim < self.first => AffineExpr::dim(context, dim),
                Leaf::Dim(dim) if dim < behind => AffineExpr::constant(context, 0),
                Leaf::Dim(dim) => AffineExpr::dim(context, dim - self.count),
                Leaf::Symbol(symbol) => AffineExpr::symbol(context, symbol),
            }))
        });
        let results = results.collect::<Result<Vec<_>, melior::Error>>()?;
        let (dims, symbols) = (map.dim_count() - self.count, map.symbol_count());
        Ok(AffineMap::new(context, dims, symbols, &results))
    }

    pub fn mask(&self, register: usize) -> Predicate<'c, 'a> {
        self.mask
            .get(register)
            .map_or(Predicate::Always, |mask| Predicate::When(*mask))
    }

    /// The address of the element in a register, given the one with every place at 0.
    pub fn moved(
        &self,
        e: &Emit<'_, 'c, 'a>,
        pointer: Value<'c, 'a>,
        element: Type<'c>,
        register: usize,
    ) -> Value<'c, 'a> {
        match self.offsets.get(register).copied().flatten() {
            Some(offset) => e.element_pointer(pointer, element, offset),
            None => pointer,
        }
    }
}
