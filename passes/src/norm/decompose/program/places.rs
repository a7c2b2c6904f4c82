//! The index of an extremum over dims (argmax, argmin).

use melior::ir::{Type, Value, ValueLike};
use norma_dialects::norm::ReduceKind;

use super::{Extent, Program, Split};
use crate::{
    kernel::{
        extremum::{self, PlaceOrder},
        named_combiner::integer_identity,
        reductions,
    },
    mlir::{
        comparison::{IntegerPredicate, compare_integers},
        pass::PassError,
        types,
        values::key,
    },
};

/// A digit of an index in row-major order: neighbouring dims as one number, of which all but the first dim have a known extent.
struct Digit<'c, 'a> {
    place: Value<'c, 'a>,
    /// The first dim.
    first: Value<'c, 'a>,
    /// The number of points of the other dims.
    others: i64,
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The index of the first largest or smallest `value` over the reduced dims, in their row-major order, as an integer of type `ty`. If
    /// there is a NaN, it is the index of the first one. Over no points it is the largest integer, and where no dim is reduced, 0.
    ///
    /// An extent that only a launch knows is not a factor of what is reduced, because the reduction would wait for it. The index has a digit
    /// for each such dim instead, and is put together from the digits of the extremum.
    pub(in crate::norm::decompose) fn place_of_extreme(
        &self,
        value: Value<'c, 'a>,
        is_largest: bool,
        split: &Split<'c, 'a>,
        ty: Type<'c>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let value = match types::is_float(value.r#type()) {
            true => self.widened(value),
            false => value,
        };
        let digits = self.digits(&split.reduced, ty);
        let places = digits.iter().map(|digit| digit.place).collect::<Vec<_>>();
        let found = extremum::reduce(
            &self.b,
            &split.reduced,
            value,
            &places,
            PlaceOrder::Signed,
            is_largest,
        )?;
        let [_, outermost, others @ ..] = found.as_slice() else {
            return Ok(self.b.integer(ty, 0));
        };
        let mut place = *outermost;
        for (digit, found) in digits[1..].iter().zip(others) {
            let length = reductions::reduce(&self.b, ReduceKind::Add, &[digit.first], self.b.integer(ty, 1))?;
            let length = self.times(length, digit.others, ty);
            let before = self.b.value("arith.muli", &[place, length], ty);
            place = self.b.value("arith.addi", &[before, *found], ty);
        }
        if others.is_empty() {
            return Ok(place);
        }
        let bits = types::bit_width(ty).and_then(|bits| u32::try_from(bits).ok());
        let of_nothing = self
            .b
            .integer(ty, integer_identity(ReduceKind::Min, bits.unwrap_or(64)));
        let is_nothing = compare_integers(&self.b, IntegerPredicate::Equal, *outermost, of_nothing);
        Ok(self.b.value("arith.select", &[is_nothing, of_nothing, place], ty))
    }

    /// The digits of an index over some dims, outermost first: a dim whose extent is not known begins one.
    fn digits(&self, dims: &[Value<'c, 'a>], ty: Type<'c>) -> Vec<Digit<'c, 'a>> {
        let mut digits = Vec::<Digit<'c, 'a>>::new();
        for dim in dims {
            let place = self.b.value("arith.index_cast", &[*dim], ty);
            let position = self.dims.iter().position(|known| key(*known) == key(*dim));
            let extent = position.map(|position| self.extents[position]);
            match (digits.last_mut(), extent) {
                (Some(digit), Some(Extent::Static(extent))) => {
                    let before = self.times(digit.place, extent, ty);
                    digit.place = self.b.value("arith.addi", &[before, place], ty);
                    digit.others = digit.others.saturating_mul(extent);
                }
                _ => digits.push(Digit {
                    place,
                    first: *dim,
                    others: 1,
                }),
            }
        }
        digits
    }

    fn times(&self, value: Value<'c, 'a>, factor: i64, ty: Type<'c>) -> Value<'c, 'a> {
        match factor {
            1 => value,
            _ => self
                .b
                .value("arith.muli", &[value, self.b.integer(ty, factor)], ty),
        }
    }
}
