//! Sort keys: an integer for each element of a row, such that larger keys come first in the order of `norm.top_k`.
//!
//! The upper bits of a key order values. For floats these are the bits of the value widened to f32, without the low bits that widening
//! adds. As integers, the bits of nonnegative floats are in order; for negative floats the magnitude bits are flipped. The lower bits of a
//! key are the complement of the index, so that of equal values the first has the largest key, and no two keys are equal. Keys have 32 bits
//! where value and index fit, which takes a third of the instructions of 64.

use melior::ir::{Type, Value, ValueLike, r#type::IntegerType};
use norma_dialects::norm::ReduceKind;

use super::{Extent, Program};
use crate::{
    kernel::named_combiner::integer_identity,
    mlir::{
        comparison::{IntegerPredicate, Predicate, compare_floats, compare_integers},
        types,
    },
};

/// The bits of the integers that order values.
const ORDER_BITS: i64 = 32;

/// The format of the keys of a row.
#[derive(Clone, Copy)]
pub(in crate::norm::decompose) struct Keys<'c, 'a> {
    /// The dim along the row.
    along: Value<'c, 'a>,
    /// The type of the elements: floats or integers of at most 32 bits.
    stored: Type<'c>,
    /// The type of the keys.
    ty: Type<'c>,
    /// The number of upper bits, which order values.
    order_bits: i64,
    /// The number of lower bits, which hold complemented indices.
    place_bits: i64,
}

/// The number of bits that order numbers of a type: for floats, the upper bits of f32 that may be set.
fn order_bits(stored: Type<'_>) -> i64 {
    match stored.to_string().as_str() {
        "bf16" => 16,
        "f16" => 19,
        _ => bits(stored),
    }
}

/// The width of a type in bits.
fn bits(ty: Type<'_>) -> i64 {
    types::bit_width(ty).map_or(64, |bits| bits as i64)
}

impl Keys<'_, '_> {
    /// A mask of the lower bits.
    fn places(&self) -> i64 {
        (1 << self.place_bits) - 1
    }

    /// The key that stands for a missing element. It is no element's key, since the lower bits of those are never all 0.
    fn nothing(&self) -> i64 {
        integer_identity(ReduceKind::Max, bits(self.ty) as u32)
    }
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    fn int(&self, bits: i64) -> Type<'c> {
        IntegerType::new(self.b.context(), bits as u32).into()
    }

    /// Builds an op on an integer and a constant of its type.
    fn with(&self, name: &str, value: Value<'c, 'a>, number: i64) -> Value<'c, 'a> {
        let number = self.b.integer(value.r#type(), number);
        self.b.value(name, &[value, number], value.r#type())
    }

    /// Truncates an integer to a type that is no wider.
    fn truncated(&self, value: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
        match value.r#type() == ty {
            true => value,
            false => self.b.value("arith.trunci", &[value], ty),
        }
    }

    /// The format of keys for elements of type `stored` along a dim, of which there are fewer than 2^31.
    pub(in crate::norm::decompose) fn keys(&self, stored: Type<'c>, dim: usize) -> Keys<'c, 'a> {
        let order_bits = order_bits(stored);
        let place_bits = match self.extents[dim] {
            // Enough bits for the extent itself, so that the complement of an index is never 0.
            Extent::Static(extent) => i64::from(i64::BITS - extent.leading_zeros()),
            Extent::Size(_) | Extent::Runs { .. } => i64::from(i32::BITS) - 1,
        };
        let key_bits = match order_bits + place_bits <= 32 {
            true => 32,
            false => 64,
        };
        Keys {
            along: self.dims[dim],
            stored,
            ty: self.int(key_bits),
            order_bits,
            place_bits: key_bits - order_bits,
        }
    }

    /// Converts the upper `bits` bits of an f32, sign-extended, to an integer in the order of floats, and such an integer back to those
    /// bits: the operation is its own inverse.
    fn turned(&self, value: Value<'c, 'a>, bits: i64) -> Value<'c, 'a> {
        let sign = self.with("arith.shrsi", value, ORDER_BITS - 1);
        let flipped = self.with("arith.andi", sign, (1 << (bits - 1)) - 1);
        self.b.value("arith.xori", &[value, flipped], value.r#type())
    }

    /// An integer that orders elements. NaN is larger than all numbers, and -0 equals 0.
    fn order(&self, keys: Keys<'c, 'a>, stored: Value<'c, 'a>) -> Value<'c, 'a> {
        let i32 = self.int(ORDER_BITS);
        if !types::is_float(stored.r#type()) {
            return self.sign_extended(stored, i32);
        }
        let value = self.widened(stored);
        let of_float = self.b.value("arith.bitcast", &[value], i32);
        let upper = self.with("arith.shrsi", of_float, ORDER_BITS - keys.order_bits);
        let order = self.turned(upper, keys.order_bits);
        let [zero, below_zero] = [0, -1].map(|number| self.b.integer(i32, number));
        let is_negative_zero = compare_integers(&self.b, IntegerPredicate::Equal, order, below_zero);
        let order = self
            .b
            .value("arith.select", &[is_negative_zero, zero, order], i32);
        let is_nan = compare_floats(&self.b, Predicate::Unordered, value, value);
        let most = self.b.integer(i32, (1 << (keys.order_bits - 1)) - 1);
        self.b.value("arith.select", &[is_nan, most, order], i32)
    }

    /// The key of a stored element.
    pub(in crate::norm::decompose) fn key(&self, keys: Keys<'c, 'a>, stored: Value<'c, 'a>) -> Value<'c, 'a> {
        let order = self.sign_extended(self.order(keys, stored), keys.ty);
        let upper = self.with("arith.shli", order, keys.place_bits);
        let place = self.b.value("arith.index_cast", &[keys.along], keys.ty);
        let places = self.b.integer(keys.ty, keys.places());
        let lower = self.b.value("arith.subi", &[places, place], keys.ty);
        self.b.value("arith.ori", &[upper, lower], keys.ty)
    }

    /// The value of a key's element, in its stored type; for a missing element the least value of that type.
    pub(in crate::norm::decompose) fn value_of_key(
        &self,
        keys: Keys<'c, 'a>,
        key: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let upper = self.with("arith.shrsi", key, keys.place_bits);
        let order = self.truncated(upper, self.int(ORDER_BITS));
        let (value, least) = match types::is_float(keys.stored) {
            true => {
                let upper = self.turned(order, keys.order_bits);
                let of_float = self.with("arith.shli", upper, ORDER_BITS - keys.order_bits);
                let value = self.b.value("arith.bitcast", &[of_float], self.float);
                let value = match keys.stored == self.float {
                    true => value,
                    false => self.b.value("arith.truncf", &[value], keys.stored),
                };
                (value, self.b.float(keys.stored, f64::NEG_INFINITY))
            }
            false => {
                let least = integer_identity(ReduceKind::Max, bits(keys.stored) as u32);
                (
                    self.truncated(order, keys.stored),
                    self.b.integer(keys.stored, least),
                )
            }
        };
        self.unless_nothing(keys, key, value, least)
    }

    /// The index of a key's element as an integer of type `ty`, of 32 bits or more; for a missing element the largest integer.
    pub(in crate::norm::decompose) fn place_of_key(
        &self,
        keys: Keys<'c, 'a>,
        key: Value<'c, 'a>,
        ty: Type<'c>,
    ) -> Value<'c, 'a> {
        let lower = self.with("arith.andi", key, keys.places());
        let places = self.b.integer(keys.ty, keys.places());
        let place = self.b.value("arith.subi", &[places, lower], keys.ty);
        let place = match bits(ty) < bits(keys.ty) {
            true => self.truncated(place, ty),
            false => self.sign_extended(place, ty),
        };
        let most = self
            .b
            .integer(ty, integer_identity(ReduceKind::Min, bits(ty) as u32));
        self.unless_nothing(keys, key, place, most)
    }

    fn unless_nothing(
        &self,
        keys: Keys<'c, 'a>,
        key: Value<'c, 'a>,
        value: Value<'c, 'a>,
        nothing: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let none = self.b.integer(keys.ty, keys.nothing());
        let is_nothing = compare_integers(&self.b, IntegerPredicate::Equal, key, none);
        self.b
            .value("arith.select", &[is_nothing, nothing, value], value.r#type())
    }
}
