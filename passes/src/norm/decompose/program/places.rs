//! The index of an extremum along a dim (argmax, argmin).

use melior::ir::{
    Attribute, Type, Value, ValueLike,
    attribute::{FloatAttribute, IntegerAttribute},
    r#type::IntegerType,
};
use norma_dialects::norm::ReduceKind;

use super::Program;
use crate::{
    kernel::{
        named_combiner::{float_identity, integer_identity},
        reductions::reduce_tuples,
    },
    mlir::{
        builder::Builder,
        comparison::{IntegerPredicate, Predicate, compare_floats, compare_integers},
        diagnostic::Diagnostic,
        pass::PassError,
        types,
    },
};

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The index of the first largest or smallest `value` along the dim, the only one of `dims`, as an integer of type `ty`. If there is a
    /// NaN, it is the index of the first one. Over no points it is the largest integer.
    pub(in crate::norm::decompose) fn place_of_extreme(
        &self,
        value: Value<'c, 'a>,
        is_largest: bool,
        dims: &[Value<'c, 'a>],
        ty: Type<'c>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let [dim] = dims else {
            return Err(Diagnostic::internal(self.b.location(), "expected places along one dim").into());
        };
        let value = match types::is_float(value.r#type()) {
            true => self.widened(value),
            false => value,
        };
        let place = self.b.value("arith.index_cast", &[*dim], ty);
        let kind = if is_largest {
            ReduceKind::Max
        } else {
            ReduceKind::Min
        };
        let identity = [
            extreme_of_nothing(&self.b, kind, value.r#type()),
            extreme_of_nothing(&self.b, ReduceKind::Min, ty),
        ];
        let found = reduce_tuples(&self.b, dims, &[value, place], &identity, |b, one, other| {
            let is_first = comes_first(b, one, other, is_largest);
            let select = |index: usize| {
                let operands = [is_first, one[index], other[index]];
                b.value("arith.select", &operands, one[index].r#type())
            };
            vec![select(0), select(1)]
        })?;
        Ok(found[1])
    }
}

/// The result of a reduction over no elements.
fn extreme_of_nothing<'c>(b: &Builder<'c, '_>, kind: ReduceKind, ty: Type<'c>) -> Attribute<'c> {
    if types::is_float(ty) {
        let identity = float_identity(kind).unwrap_or_default();
        return FloatAttribute::new(b.context(), ty, identity).into();
    }
    let bits = types::bit_width(ty).and_then(|bits| u32::try_from(bits).ok());
    IntegerAttribute::new(ty, integer_identity(kind, bits.unwrap_or(64))).into()
}

/// Whether the first of two pairs (value, index) is the one to keep: its value is more extreme, where NaN is the most extreme, or it is the
/// same and has the smaller index.
fn comes_first<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    one: &[Value<'c, 'a>],
    other: &[Value<'c, 'a>],
    is_largest: bool,
) -> Value<'c, 'a> {
    let truth = IntegerType::new(b.context(), 1).into();
    let op = |name: &str, operands: &[Value<'c, 'a>]| b.value(name, operands, truth);
    let (lhs, rhs) = (one[0], other[0]);
    let is_earlier = compare_integers(b, IntegerPredicate::Less, one[1], other[1]);
    if !types::is_float(lhs.r#type()) {
        let predicate = match is_largest {
            true => IntegerPredicate::Greater,
            false => IntegerPredicate::Less,
        };
        let is_beyond = compare_integers(b, predicate, lhs, rhs);
        let is_tie = compare_integers(b, IntegerPredicate::Equal, lhs, rhs);
        return op("arith.ori", &[is_beyond, op("arith.andi", &[is_tie, is_earlier])]);
    }
    let predicate = if is_largest {
        Predicate::Greater
    } else {
        Predicate::Less
    };
    let is_beyond = compare_floats(b, predicate, lhs, rhs);
    let is_tie = compare_floats(b, Predicate::Equal, lhs, rhs);
    let [is_nan, is_other_nan] =
        [lhs, rhs].map(|value| compare_floats(b, Predicate::Unordered, value, value));
    // Both comparisons are false if either is NaN.
    let of_numbers = op("arith.ori", &[is_beyond, op("arith.andi", &[is_tie, is_earlier])]);
    let of_nan = op("arith.select", &[is_other_nan, is_earlier, is_nan]);
    op("arith.select", &[is_nan, of_nan, of_numbers])
}
