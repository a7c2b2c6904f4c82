//! Sums of exponentials of the distance to an extremum: online softmax.
//!
//! A partial result is the extremum `m` of some elements and, for each sum, the sum `s` with `m` as reference. Two of them with
//! extrema `m0` and `m1` have the extremum `m`, and the sum `s0 e^(k (m0 - m)) + s1 e^(k (m1 - m))`, whose exponents are
//! never positive. An infinite extremum, of no elements or of infinite ones alone, would make both exponents and terms
//! `inf - inf`. So the factor between equal extrema is selected as 1, and terms are computed with 0 in the place of an infinite
//! reference, where every term is then 0.

use melior::ir::{Attribute, Value, ValueLike, attribute::FloatAttribute};
use norma_dialects::norm::ReduceKind;

use super::{Combination, Merge, widened};
use crate::{
    kernel::{
        homomorphism::{Base, Dependence, Follower},
        named_combiner,
        reductions::{reduce, reduce_tuples},
    },
    mlir::{
        builder::Builder,
        comparison::{Predicate, compare_floats},
        pass::PassResult,
    },
};

pub(super) fn merge<'c: 'a, 'a>(merge: &Merge<'_, 'c, 'a>) -> PassResult<'c> {
    let mut b = merge.builder();
    let partial = reduce(&b, merge.kind, &merge.dims.within, merge.source)?;
    let reference = finite(merge, &b, partial);
    let mut values = vec![partial];
    for follower in &merge.group.followers {
        let reference = widened(&b, reference, follower.reference.r#type());
        let term = merge.term_with(&b, follower, reference)?;
        values.push(reduce(&b, ReduceKind::Add, &merge.dims.within, term)?);
    }
    let identity = values
        .iter()
        .enumerate()
        .map(|(position, value)| {
            let identity = if position == 0 { infinite(merge.kind) } else { 0.0 };
            FloatAttribute::new(b.context(), value.r#type(), identity).into()
        })
        .collect::<Vec<Attribute<'c>>>();
    for combination in &merge.dims.combinations {
        values = match combination {
            Combination::AsTuples(dims) => reduce_tuples(&b, dims, &values, &identity, |b, one, other| {
                let extremum = extreme(merge, b, one[0], other[0]);
                let moved = [one, other].map(|side| with_extremum(merge, b, side, extremum));
                let sums = moved[0].iter().zip(&moved[1]);
                let sums = sums.map(|(lhs, rhs)| b.value("arith.addf", &[*lhs, *rhs], lhs.r#type()));
                std::iter::once(extremum).chain(sums).collect()
            })?,
            Combination::OneByOne(dims) => {
                let extremum = reduce(&b, merge.kind, dims, values[0])?;
                let moved = with_extremum(merge, &b, &values, extremum).into_iter();
                let sums = moved.map(|sum| reduce(&b, ReduceKind::Add, dims, sum));
                std::iter::once(Ok(extremum))
                    .chain(sums)
                    .collect::<Result<_, _>>()?
            }
        };
    }
    let (extremum, sums) = (values[0], &values[1..]);
    merge.replace_lead(&b, extremum)?;
    for (follower, sum) in merge.group.followers.iter().zip(sums) {
        let op = merge.space.ops[follower.position];
        b.move_before(op);
        let result = with_reference(merge, &b, follower, extremum, *sum);
        b.replace_all_uses(op.result(0)?.into(), result);
    }
    Ok(())
}

/// The extremum of no elements.
fn infinite(kind: ReduceKind) -> f64 {
    named_combiner::float_identity(kind).unwrap_or(f64::NEG_INFINITY)
}

/// An extremum as the reference of terms: 0 if it is that of no elements.
fn finite<'c: 'a, 'a>(
    merge: &Merge<'_, 'c, 'a>,
    b: &Builder<'c, 'a>,
    extremum: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let ty = extremum.r#type();
    let is_none = compare_floats(b, Predicate::Equal, extremum, b.float(ty, infinite(merge.kind)));
    b.value("arith.select", &[is_none, b.float(ty, 0.0), extremum], ty)
}

fn extreme<'c: 'a, 'a>(
    merge: &Merge<'_, 'c, 'a>,
    b: &Builder<'c, 'a>,
    one: Value<'c, 'a>,
    other: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let (name, _) = named_combiner::op(merge.kind, true);
    b.value(name, &[one, other], one.r#type())
}

/// Changes the sums of a partial result, whose first value is its extremum, to another extremum as reference.
fn with_extremum<'c: 'a, 'a>(
    merge: &Merge<'_, 'c, 'a>,
    b: &Builder<'c, 'a>,
    partial: &[Value<'c, 'a>],
    extremum: Value<'c, 'a>,
) -> Vec<Value<'c, 'a>> {
    let is_same = compare_floats(b, Predicate::Equal, partial[0], extremum);
    let mut factors = Vec::<(Base, f64, Value<'c, 'a>)>::new();
    let mut sums = Vec::new();
    for (follower, sum) in merge.group.followers.iter().zip(&partial[1..]) {
        let Dependence::Exponential { base, rate } = follower.dependence else {
            continue;
        };
        let ty = sum.r#type();
        let known = factors
            .iter()
            .find(|known| (known.0, known.1, known.2.r#type()) == (base, rate, ty));
        let factor = match known {
            Some(known) => known.2,
            None => {
                let [from, to] = [partial[0], extremum].map(|value| widened(b, value, ty));
                let factor = factor(b, base, rate, from, to);
                let factor = b.value("arith.select", &[is_same, b.float(ty, 1.0), factor], ty);
                factors.push((base, rate, factor));
                factor
            }
        };
        sums.push(b.value("arith.mulf", &[*sum, factor], ty));
    }
    sums
}

/// What a sum is multiplied by when its reference changes: `base^(rate (from - to))`.
fn factor<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    base: Base,
    rate: f64,
    from: Value<'c, 'a>,
    to: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let ty = from.r#type();
    let mut exponent = b.value("arith.subf", &[from, to], ty);
    if rate != 1.0 {
        exponent = b.value("arith.mulf", &[exponent, b.float(ty, rate)], ty);
    }
    b.value(base.op(), &[exponent], ty)
}

/// Changes a sum to the reference of the user's program. Where the extremum is infinite, the result is NaN where the user's is.
fn with_reference<'c: 'a, 'a>(
    merge: &Merge<'_, 'c, 'a>,
    b: &Builder<'c, 'a>,
    follower: &Follower<'c, 'a>,
    extremum: Value<'c, 'a>,
    sum: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let Dependence::Exponential { base, rate } = follower.dependence else {
        return sum;
    };
    let ty = sum.r#type();
    let from = widened(b, finite(merge, b, extremum), ty);
    let to = merge.reference_now(follower, extremum);
    let factor = factor(b, base, rate, from, to);
    b.value("arith.mulf", &[sum, factor], ty)
}
