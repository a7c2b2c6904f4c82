//! Sums of squares of the distance to a value that follows from a sum, such as a mean: Chan's update.
//!
//! A partial result is the sum of some elements, their number, and, for each follower, the sum of squares around the elements' mean.
//! Two of them have the sum of squares `q0 + q1 + (mean1 - mean0)^2 n0 n1 / (n0 + n1)`. Around any other reference than the mean it is
//! larger by `n (mean - reference)^2`, which is 0 up to rounding where the reference is the mean.

use melior::ir::{Attribute, Type, Value, ValueLike, attribute::FloatAttribute};
use norma_dialects::norm::ReduceKind;

use super::{Combination, Merge, count};
use crate::{
    kernel::{
        homomorphism::Dependence,
        reductions::{reduce, reduce_tuples},
    },
    mlir::{
        builder::Builder,
        comparison::{Predicate, compare_floats},
        fast_math::{self, RECIPROCAL},
        pass::{PassError, PassResult},
        types,
        values::definition,
    },
};

/// The positions of the sum and of the number of elements in a tuple; sums of squares follow them.
const SUM: usize = 0;
const COUNT: usize = 1;
const SQUARES: usize = 2;

pub(super) fn merge<'c: 'a, 'a>(merge: &Merge<'_, 'c, 'a>) -> PassResult<'c> {
    let mut b = merge.builder();
    let ty = merge.source.r#type();
    let mut over = merge.dims.within.clone();
    let mut partial = added(merge, &b, &over, &over, &[merge.source, b.float(ty, 1.0)])?;
    let mean = mean(&b, partial[SUM], partial[COUNT]);
    for follower in &merge.group.followers {
        let term = merge.term_with(&b, follower, mean)?;
        partial.push(reduce(&b, ReduceKind::Add, &over, term)?);
    }
    for combination in &merge.dims.combinations {
        over.extend(combination.dims());
        partial = match combination {
            Combination::AsTuples(dims) => {
                let identity = no_elements(&b, ty, partial.len());
                let mut met = reduce_tuples(&b, dims, &partial, &identity, |b, one, other| {
                    combine(merge, b, one, other)
                })?;
                met[COUNT] = known_count(merge, &b, &over, ty).unwrap_or(met[COUNT]);
                met
            }
            Combination::OneByOne(dims) => {
                let mut met = added(merge, &b, dims, &over, &partial[..SQUARES])?;
                let mean = self::mean(&b, met[SUM], met[COUNT]);
                for (follower, squares) in merge.group.followers.iter().zip(&partial[SQUARES..]) {
                    let around = around(&b, follower.dependence, &partial, *squares, mean);
                    met.push(reduce(&b, ReduceKind::Add, dims, around)?);
                }
                met
            }
        };
    }
    merge.replace_lead(&b, partial[SUM])?;
    for (follower, squares) in merge.group.followers.iter().zip(&partial[SQUARES..]) {
        let op = merge.space.ops[follower.position];
        b.move_before(op);
        let reference = merge.reference_now(follower, partial[SUM]);
        let result = around(&b, follower.dependence, &partial, *squares, reference);
        b.replace_all_uses(op.result(0)?.into(), result);
    }
    Ok(())
}

/// The number of elements of each partial result over the dims `over`, where it is the same for all of them.
fn known_count<'c: 'a, 'a>(
    merge: &Merge<'_, 'c, 'a>,
    b: &Builder<'c, 'a>,
    over: &[Value<'c, 'a>],
    ty: Type<'c>,
) -> Option<Value<'c, 'a>> {
    let count = count::of_each(merge.space, merge.source, over)?;
    Some(b.float(ty, count as f64))
}

/// The identity of a tuple: adding -0 changes nothing, not even a zero's sign.
fn no_elements<'c: 'a, 'a>(b: &Builder<'c, 'a>, ty: Type<'c>, length: usize) -> Vec<Attribute<'c>> {
    let of = |position| if position == SUM { -0.0 } else { 0.0 };
    (0..length)
        .map(|position| FloatAttribute::new(b.context(), ty, of(position)).into())
        .collect()
}

/// The sum and the number of elements over `dims`, after which each partial result covers all of `over`. A number that is not known is
/// summed in the same reduction as the elements, so that both cover the same points. In a program that is not tiled all reductions
/// cover the points of the space, and they stay apart, so that they can be merged again once the program is tiled: the part of a split
/// batch norm whose sums met in one tuple would read its elements twice.
fn added<'c: 'a, 'a>(
    merge: &Merge<'_, 'c, 'a>,
    b: &Builder<'c, 'a>,
    dims: &[Value<'c, 'a>],
    over: &[Value<'c, 'a>],
    values: &[Value<'c, 'a>],
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let ty = values[SUM].r#type();
    if let Some(count) = known_count(merge, b, over, ty) {
        return Ok(vec![reduce(b, ReduceKind::Add, dims, values[SUM])?, count]);
    }
    if merge.space.roles.is_none() {
        let sums = values
            .iter()
            .map(|value| Ok(reduce(b, ReduceKind::Add, dims, *value)?));
        return sums.collect();
    }
    let identity = no_elements(b, ty, values.len());
    reduce_tuples(b, dims, values, &identity, |b, one, other| {
        let pairs = one.iter().zip(other);
        pairs
            .map(|(one, other)| b.value("arith.addf", &[*one, *other], ty))
            .collect()
    })
}

/// The sum of squares around `reference` of elements whose sum and number come first in `partial`, and whose sum of squares
/// around their own mean is `squares`.
fn around<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    dependence: Dependence,
    partial: &[Value<'c, 'a>],
    squares: Value<'c, 'a>,
    reference: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let ty = squares.r#type();
    let zero = b.float(ty, 0.0);
    let distance = square(b, mean(b, partial[SUM], partial[COUNT]), reference);
    let more = scaled(b, dependence, distance, partial[COUNT]);
    // A partial result of no elements has no squares, however far the reference seems to be.
    let has_points = compare_floats(b, Predicate::Greater, partial[COUNT], zero);
    let more = b.value("arith.select", &[has_points, more, zero], ty);
    b.value("arith.addf", &[squares, more], ty)
}

/// The mean of `count` elements; 0 if there are none. The product with the rounded reciprocal is off by half an ulp more at most,
/// and takes no division where the number is known.
fn mean<'c: 'a, 'a>(b: &Builder<'c, 'a>, sum: Value<'c, 'a>, count: Value<'c, 'a>) -> Value<'c, 'a> {
    let ty = sum.r#type();
    b.value("arith.mulf", &[sum, reciprocal(b, count)], ty)
}

/// The reciprocal of a number of elements; 1 if there are none.
fn reciprocal<'c: 'a, 'a>(b: &Builder<'c, 'a>, count: Value<'c, 'a>) -> Value<'c, 'a> {
    let ty = count.r#type();
    b.value("arith.divf", &[b.float(ty, 1.0), at_least_one(b, count)], ty)
}

/// As [`reciprocal`], but off by up to 2 ulp in f32.
fn approximate_reciprocal<'c: 'a, 'a>(b: &Builder<'c, 'a>, count: Value<'c, 'a>) -> Value<'c, 'a> {
    let exact = reciprocal(b, count);
    if let Some(division) = definition(exact).filter(|_| types::is_f32(exact.r#type())) {
        fast_math::set_flags(b, division, &[RECIPROCAL]);
    }
    exact
}

fn at_least_one<'c: 'a, 'a>(b: &Builder<'c, 'a>, count: Value<'c, 'a>) -> Value<'c, 'a> {
    let ty = count.r#type();
    b.value("arith.maximumf", &[count, b.float(ty, 1.0)], ty)
}

/// The square of the distance of two values.
fn square<'c: 'a, 'a>(b: &Builder<'c, 'a>, one: Value<'c, 'a>, other: Value<'c, 'a>) -> Value<'c, 'a> {
    let ty = one.r#type();
    let distance = b.value("arith.subf", &[one, other], ty);
    b.value("arith.mulf", &[distance, distance], ty)
}

/// `square` times `weight`, and times the constant factor that all terms of the follower have.
fn scaled<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    dependence: Dependence,
    square: Value<'c, 'a>,
    weight: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let ty = square.r#type();
    let product = b.value("arith.mulf", &[square, weight], ty);
    match dependence {
        Dependence::Squares { factor } if factor != 1.0 => {
            b.value("arith.mulf", &[product, b.float(ty, factor)], ty)
        }
        _ => product,
    }
}

fn combine<'c: 'a, 'a>(
    merge: &Merge<'_, 'c, 'a>,
    b: &Builder<'c, 'a>,
    one: &[Value<'c, 'a>],
    other: &[Value<'c, 'a>],
) -> Vec<Value<'c, 'a>> {
    let ty = one[SUM].r#type();
    let sum = b.value("arith.addf", &[one[SUM], other[SUM]], ty);
    let count = b.value("arith.addf", &[one[COUNT], other[COUNT]], ty);
    // By approximate reciprocals, of which each combination takes three: an error of 2 ulp in them changes the distance of two means by
    // as much as rounding their elements does, and the weight of its square by a part in 2^22.
    let mean = |partial: &[Value<'c, 'a>]| {
        let reciprocal = approximate_reciprocal(b, partial[COUNT]);
        b.value("arith.mulf", &[partial[SUM], reciprocal], ty)
    };
    let distance = square(b, mean(one), mean(other));
    // A side without elements adds nothing, however far its mean seems to be.
    let product = b.value("arith.mulf", &[one[COUNT], other[COUNT]], ty);
    let weight = b.value("arith.mulf", &[product, approximate_reciprocal(b, count)], ty);
    let both = compare_floats(b, Predicate::Greater, product, b.float(ty, 0.0));
    let mut results = vec![sum, count];
    let squares = one[SQUARES..].iter().zip(&other[SQUARES..]);
    for (follower, (lhs, rhs)) in merge.group.followers.iter().zip(squares) {
        let more = scaled(b, follower.dependence, distance, weight);
        let more = b.value("arith.select", &[both, more, b.float(ty, 0.0)], ty);
        let known = b.value("arith.addf", &[*lhs, *rhs], ty);
        results.push(b.value("arith.addf", &[known, more], ty));
    }
    results
}
