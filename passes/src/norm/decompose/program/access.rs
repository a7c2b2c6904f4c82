//! Reads of operands and writes of results.

use melior::ir::{AffineExpr, AffineMap, Value, ValueLike, r#type::IntegerType};
use norma_dialects::norm::{ReadOp, WriteOp};

use super::Program;
use crate::mlir::{
    pass::{PassError, PassResult},
    types,
};

/// The coordinate of an access along one axis of a buffer.
#[derive(Clone)]
pub(in crate::norm::decompose) enum Coordinate<'c, 'a> {
    /// A dim.
    Dim(Value<'c, 'a>),
    /// 0: the axis has one element.
    Zero,
    /// A sum of dims, each times a factor, outermost first: `block * 32 + within`.
    Joined(Vec<(Value<'c, 'a>, i64)>),
    /// A digit of a dim's point as a mixed-radix number: `(row floordiv stride) mod radix`, the outermost digit without a radix.
    Digit {
        of: Value<'c, 'a>,
        stride: i64,
        radix: Option<i64>,
    },
}

impl<'c, 'a> Coordinate<'c, 'a> {
    /// A dim for each axis.
    pub(in crate::norm::decompose) fn of(dims: &[Value<'c, 'a>]) -> Vec<Self> {
        dims.iter().map(|dim| Self::Dim(*dim)).collect()
    }
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The dims that an access uses, and the coordinates as a map over them.
    fn access(&self, coordinates: &[Coordinate<'c, 'a>]) -> (Vec<Value<'c, 'a>>, AffineMap<'c>) {
        let context = self.b.context();
        let mut dims = Vec::new();
        let mut dim = |value: Value<'c, 'a>| {
            dims.push(value);
            AffineExpr::dim(context, dims.len() - 1)
        };
        let results = coordinates
            .iter()
            .map(|coordinate| match coordinate {
                Coordinate::Dim(value) => dim(*value),
                Coordinate::Digit { of, stride, radix } => {
                    let constant = |number: i64| AffineExpr::constant(context, number);
                    let digits = AffineExpr::floor_div(dim(*of), constant(*stride));
                    radix.map_or(digits, |radix| AffineExpr::modulo(digits, constant(radix)))
                }
                Coordinate::Zero => AffineExpr::constant(context, 0),
                Coordinate::Joined(terms) => terms
                    .iter()
                    .map(|(value, factor)| dim(*value) * AffineExpr::constant(context, *factor))
                    .reduce(|sum, term| sum + term)
                    .unwrap_or_else(|| AffineExpr::constant(context, 0)),
            })
            .collect::<Vec<_>>();
        let map = AffineMap::new(context, dims.len(), 0, &results);
        (dims, map)
    }

    /// Reads an element of an operand, in the type in which it is stored.
    pub(in crate::norm::decompose) fn read_stored(
        &self,
        operand: Value<'c, 'a>,
        coordinates: &[Coordinate<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let (dims, access) = self.access(coordinates);
        let read = ReadOp::build(self.b.location(), self.buffer(operand)?, &dims, access)?;
        Ok(self.b.insert(read).result(0)?.into())
    }

    /// Reads an element of an operand, widened to the arithmetic's type.
    pub(in crate::norm::decompose) fn read_at(
        &self,
        operand: Value<'c, 'a>,
        coordinates: &[Coordinate<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        Ok(self.widened(self.read_stored(operand, coordinates)?))
    }

    /// Reads the element of an operand at `dims`, one for each axis, widened to the arithmetic's type.
    pub(in crate::norm::decompose) fn read(
        &self,
        operand: Value<'c, 'a>,
        dims: &[Value<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        self.read_at(operand, &Coordinate::of(dims))
    }

    /// The coordinates of an operand that is broadcast to the shape of the first operand by NumPy's rules.
    pub(in crate::norm::decompose) fn broadcast(&self, operand: Value<'c, 'a>) -> Vec<Coordinate<'c, 'a>> {
        let shape = types::shape(operand.r#type()).unwrap_or_default();
        let dims = &self.dims[self.dims.len().saturating_sub(shape.len())..];
        let coordinates = shape.iter().zip(dims);
        coordinates
            .map(|(size, dim)| match size {
                Some(1) => Coordinate::Zero,
                _ => Coordinate::Dim(*dim),
            })
            .collect()
    }

    /// Reads an element of a tensor of i1 or i8: whether it is nonzero.
    pub(in crate::norm::decompose) fn truth(
        &self,
        operand: Value<'c, 'a>,
        coordinates: &[Coordinate<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        Ok(self.is_not_zero(self.read_stored(operand, coordinates)?))
    }

    /// Reads the element of a tensor of integers at `dims`, as an i64.
    pub(in crate::norm::decompose) fn integer(
        &self,
        operand: Value<'c, 'a>,
        dims: &[Value<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let value = self.read_stored(operand, &Coordinate::of(dims))?;
        Ok(self.sign_extended(value, IntegerType::new(self.b.context(), 64).into()))
    }

    /// Rounds a number to the element type of a result, if it has another type, and writes it.
    pub(in crate::norm::decompose) fn write_at(
        &self,
        value: Value<'c, 'a>,
        result: Value<'c, 'a>,
        coordinates: &[Coordinate<'c, 'a>],
    ) -> PassResult<'c> {
        self.store(value, result, coordinates, false)
    }

    /// As [`Self::write_at`], for a result that may have padding.
    pub(in crate::norm::decompose) fn write_part_at(
        &self,
        value: Value<'c, 'a>,
        result: Value<'c, 'a>,
        coordinates: &[Coordinate<'c, 'a>],
    ) -> PassResult<'c> {
        self.store(value, result, coordinates, true)
    }

    fn store(
        &self,
        value: Value<'c, 'a>,
        result: Value<'c, 'a>,
        coordinates: &[Coordinate<'c, 'a>],
        partial: bool,
    ) -> PassResult<'c> {
        let buffer = self.buffer(result)?;
        let element = types::element(buffer.r#type());
        let value = self.narrowed(value, element);
        let (dims, access) = self.access(coordinates);
        let write = WriteOp::build(self.b.location(), value, buffer, &dims, access, partial)?;
        self.b.insert(write);
        Ok(())
    }

    /// Rounds a number to the element type of a result and writes it at `dims`, one for each axis.
    pub(in crate::norm::decompose) fn write(
        &self,
        value: Value<'c, 'a>,
        result: Value<'c, 'a>,
        dims: &[Value<'c, 'a>],
    ) -> PassResult<'c> {
        self.write_at(value, result, &Coordinate::of(dims))
    }

    /// As [`Self::write`], for an optional result.
    pub(in crate::norm::decompose) fn write_if_asked(
        &self,
        value: Value<'c, 'a>,
        result: Option<Value<'c, 'a>>,
        dims: &[Value<'c, 'a>],
    ) -> PassResult<'c> {
        match result {
            Some(result) => self.write(value, result, dims),
            None => Ok(()),
        }
    }
}
