//! Reductions whose results a dim counts (`nth`, as for the k largest): each step of the loop over that dim reduces the values
//! beyond the previous result, from which the loop-carried bound separates them.
//!
//! The bound is inclusive. Before the first step it is one end of the type, so that every value lies within it. Once no value
//! is left, the result is the identity, the other end of the type, and the bound stays there.

use melior::ir::{Type, Value, ValueLike, r#type::IntegerType};
use norma_dialects::norm::{ReduceKind, ReduceOp};

use super::{
    super::placement::{Axes, Place},
    Body, Carried, Translated,
};
use crate::{
    kernel::named_combiner::integer_identity,
    mlir::{
        comparison::IntegerPredicate,
        pass::{PassError, PassResult},
        types,
    },
};

/// The order of a reduction's results.
struct Order {
    /// The identity of the combiner, which comes after all values; `first` is the other end of the type.
    last: i64,
    first: i64,
    /// The comparison of whether the first operand comes before the second.
    is_ahead: IntegerPredicate,
    /// The combiner.
    extreme: &'static str,
    /// The difference between the next value and a value.
    step: i64,
}

impl Order {
    fn of(kind: Option<ReduceKind>, element: Type<'_>) -> Self {
        let bits = types::bit_width(element).unwrap_or(64) as u32;
        let (least, most) = (
            integer_identity(ReduceKind::Max, bits),
            integer_identity(ReduceKind::Min, bits),
        );
        match kind {
            Some(ReduceKind::Min) => Self {
                last: most,
                first: least,
                is_ahead: IntegerPredicate::Less,
                extreme: "arith.minsi",
                step: 1,
            },
            _ => Self {
                last: least,
                first: most,
                is_ahead: IntegerPredicate::Greater,
                extreme: "arith.maxsi",
                step: -1,
            },
        }
    }
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    /// The bound of the first result.
    pub(super) fn first_bound(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let axes = self.operand_axes(reduce)? & !self.reduced_axes(reduce);
        let bounds = reduce.values().into_iter().map(|value| {
            let element = value.r#type();
            self.number(Order::of(reduce.kind(), element).first, element, axes)
        });
        bounds.collect()
    }

    /// `value`, a tile over `axes`, with the identity in place of the elements that come before the bound.
    pub(super) fn within_bound(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
        value: Value<'c, 'a>,
        element: Type<'c>,
        axes: Axes,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let Some(bound) = self.bound_of(reduce)? else {
            return Ok(value);
        };
        let of_bound = axes & !self.reduced_axes(reduce);
        let bound = self.tiles.widen(&self.b, bound, element, of_bound, axes)?;
        let order = Order::of(reduce.kind(), element);
        let i1 = IntegerType::new(self.b.context(), 1).into();
        let predicate = self.b.i64_attribute(order.is_ahead as i64);
        let is_ahead = self.b.value_with(
            "arith.cmpi",
            &[value, bound],
            self.tiles.ty(i1, axes)?,
            &[("predicate", predicate)],
        );
        let identity = self.number(order.last, element, axes)?;
        Ok(self
            .b
            .value("arith.select", &[is_ahead, identity, value], value.r#type()))
    }

    /// Sets the bound of the next result to the value after this result.
    pub(super) fn bound_next(
        &mut self,
        reduce: ReduceOp<'c, 'a>,
        found: Translated<'c, 'a>,
    ) -> PassResult<'c> {
        let Some(slot) = self.bound_slot(reduce)? else {
            return Ok(());
        };
        let Translated {
            value, element, axes, ..
        } = found;
        let order = Order::of(reduce.kind(), element);
        // The identity itself has no next value.
        let nearest = self.number(order.last - order.step, element, axes)?;
        let step = self.number(order.step, element, axes)?;
        let ty = self.tiles.ty(element, axes)?;
        let has_next = self.b.value(order.extreme, &[value, nearest], ty);
        let bound = self.b.value("arith.addi", &[has_next, step], ty);
        self.carried.insert(slot, vec![bound]);
        Ok(())
    }

    fn bound_of(&self, reduce: ReduceOp<'c, 'a>) -> Result<Option<Value<'c, 'a>>, PassError<'c>> {
        let slot = self.bound_slot(reduce)?;
        Ok(slot.and_then(|slot| self.carried.get(&slot)?.first().copied()))
    }

    /// Where the bound of a reduction is carried, if a dim counts its results.
    fn bound_slot(&self, reduce: ReduceOp<'c, 'a>) -> Result<Option<Carried>, PassError<'c>> {
        let Some(dim) = self.space.dim_of_nth(reduce) else {
            return Ok(None);
        };
        if self.placement.place(dim) != Place::Loop {
            let message = format!(
                "results counted by dim {dim}, which is in no loop; supported: dims that loops step along"
            );
            return Err(self.unsupported(message).into());
        }
        let position = reduce.results().first().copied();
        let position = position.and_then(|result| self.space.definition(result));
        let position = position.ok_or_else(|| self.internal("expected a reduction of the kernel's body"))?;
        Ok(Some(Carried::Bound(position)))
    }

    /// A number at every element of a tile over `axes`.
    fn number(&self, number: i64, element: Type<'c>, axes: Axes) -> Result<Value<'c, 'a>, PassError<'c>> {
        let scalar = self.b.integer(element, number);
        self.tiles.widen(&self.b, scalar, element, 0, axes)
    }
}
