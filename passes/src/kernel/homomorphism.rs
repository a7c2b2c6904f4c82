//! Pairs of reductions of which the second depends on the first, but need not wait for it, because partial results of both can be combined.
//!
//! Softmax needs the maximum of a row before the sum of `exp(x - max)`, and a variance needs the mean before the sum of `(x - mean)^2`: two
//! passes over the row. But changing the reference that the second reduction is computed with, from a partial result to the final one,
//! changes its result in a known way: for another maximum, a sum of exponentials is multiplied by a factor, and around another mean, a sum
//! of squares grows by the number of points times the square of the difference. So both reductions can be computed for parts of the row,
//! each with the part's own reference, and the parts combined, in one pass.
//!
//! Whether this is possible is a property of the scalar program between the two reductions, which this module derives. Let `u` be the
//! operand of the first reduction, and `v` the *reference*: the single value computed from its result through which the second operand
//! depends on it. Then the second reduction is a sum and
//!
//! - its operand is `exp(k (u - v) + a) b`, behind a maximum with positive `k` or a minimum with negative `k`, where `a` and `b` do not
//!   depend on `v`: replacing `v` by another reference `w` multiplies the sum by `exp(k (v - w))`. The exponent must not overflow for a
//!   partial reference unless it does for the final one. So `a` has to be the same for all points that are reduced together: then the
//!   exponent, `k (u - v) + a`, is largest at the point of the extremum. And `v` may change by no more than the extremum does; or
//! - its operand is `k (u - v)^2`, behind a sum: for `n` points of mean `m` the sum of squares around `v` is the sum of squares around `m`
//!   plus `n (m - v)^2` (Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979).
//!
//! The first kind is the online softmax of Milakov and Gimelshein, Online normalizer calculation for softmax, 2018. A third kind, computing
//! a variance as the difference of a sum of squares and a squared sum, suffers from cancellation and is never made.

mod class;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use class::{Class, Rest, is_exponential, product, sum};
use melior::ir::{Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    norm::{ReduceKind, ReduceOp},
    op_name,
};

use super::space::{DimSet, Space};
use crate::mlir::{
    types,
    values::{key, number},
};

/// The base of an exponential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// `math.exp`.
    E,
    /// `math.exp2`.
    Two,
}

impl Base {
    /// The op's full name.
    pub fn op(self) -> &'static str {
        match self {
            Self::E => "math.exp",
            Self::Two => "math.exp2",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::E, Self::Two].into_iter().find(|base| base.op() == name)
    }
}

/// How the terms of a sum depend on the reference `v`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dependence {
    /// The terms are `base^(rate (u - v))` times a factor that does not depend on `v`.
    Exponential {
        /// The exponential's base.
        base: Base,
        /// The coefficient of the exponent: positive behind a maximum, negative behind a minimum.
        rate: f64,
    },
    /// The terms are `factor (u - v)^2`.
    Squares {
        /// The factor of all terms.
        factor: f64,
    },
}

/// A sum that need not wait for the first reduction of its group.
#[derive(Clone, Copy, Debug)]
pub struct Follower<'c, 'a> {
    /// The position of the sum in the body.
    pub position: usize,
    /// The single value through which the sum depends on the first reduction. It does not vary over the reduced dims.
    pub reference: Value<'c, 'a>,
    /// How the sum depends on the reference.
    pub dependence: Dependence,
}

/// A reduction, and the sums that need not wait for it.
#[derive(Clone, Debug)]
pub struct Group<'c, 'a> {
    /// The position of the first reduction: a maximum or minimum with exponentials behind it, or a sum with squares.
    pub lead: usize,
    /// The sums that need not wait for the first reduction; at least one.
    pub followers: Vec<Follower<'c, 'a>>,
}

/// Finds every group of a kernel, in the order of their first reductions. A reduction belongs to one group at most.
pub fn groups<'c, 'a>(space: &Space<'c, 'a>) -> Vec<Group<'c, 'a>> {
    // A follower waits for the first reduction directly: a reduction in between would have to be a follower too.
    let mut waiting = BTreeMap::<usize, Vec<usize>>::new();
    for position in (0..space.ops.len()).filter(|position| ReduceOp::from_op(space.ops[*position]).is_some())
    {
        for operand in space.ops[position].operands() {
            for lead in space.waits_for_last(operand).iter() {
                waiting.entry(lead).or_default().push(position);
            }
        }
    }
    let mut groups = Vec::new();
    let mut taken = BTreeSet::new();
    for (lead, waiting) in waiting {
        let Some(analysis) = Analysis::of(space, lead).filter(|_| !taken.contains(&lead)) else {
            continue;
        };
        let followers = waiting
            .into_iter()
            .filter(|position| !taken.contains(position))
            .filter_map(|position| analysis.follower(position))
            .collect::<Vec<_>>();
        if !followers.is_empty() {
            taken.insert(lead);
            taken.extend(followers.iter().map(|follower| follower.position));
            groups.push(Group { lead, followers });
        }
    }
    groups
}

/// The search for followers of one reduction.
struct Analysis<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    lead: usize,
    kind: ReduceKind,
    over: DimSet,
    /// The operand of the first reduction, before any widening.
    source: Value<'c, 'a>,
}

/// The largest depth of ops to which a term is traced.
const DEPTH: usize = 128;

/// The state of the search in one term.
#[derive(Default)]
struct Search<'c, 'a> {
    /// The single value through which the term depends on the first reduction, once it is found.
    reference: Option<Value<'c, 'a>>,
    /// The classes of values seen so far: an expression may share subexpressions, which would otherwise be visited once for each use.
    classes: HashMap<usize, Option<Class>>,
}

impl<'s, 'c, 'a> Analysis<'s, 'c, 'a> {
    fn of(space: &'s Space<'c, 'a>, lead: usize) -> Option<Self> {
        let reduce = ReduceOp::from_op(space.ops[lead])?;
        let kind = reduce.kind()?;
        let value = *reduce.values().first()?;
        let is_lead = matches!(kind, ReduceKind::Add | ReduceKind::Max | ReduceKind::Min);
        (is_lead && types::is_float(value.r#type())).then(|| Self {
            space,
            lead,
            kind,
            over: space.dims_reduced_by(reduce),
            source: narrow(space, value),
        })
    }

    fn waits(&self, value: Value<'c, 'a>) -> bool {
        self.space.waits_for(value).contains(self.lead)
    }

    /// The reduction at `position` as a follower of the first one.
    fn follower(&self, position: usize) -> Option<Follower<'c, 'a>> {
        let reduce = ReduceOp::from_op(self.space.ops[position])?;
        let [term] = reduce.values()[..] else {
            return None;
        };
        let is_sum = reduce.kind() == Some(ReduceKind::Add) && types::is_float(term.r#type());
        let is_beside = self.space.dims_reduced_by(reduce) == self.over
            && self.space.dims_of(term) == self.space.dims_of(self.source);
        if !is_sum || !is_beside || !self.waits(term) || self.waits_in_between(term) {
            return None;
        }
        let mut search = Search::default();
        let Class::Of(dependence) = self.class(term, &mut search, DEPTH)? else {
            return None;
        };
        let reference = search.reference?;
        let fits = match dependence {
            Dependence::Exponential { rate, .. } => {
                let falls = match self.kind {
                    ReduceKind::Max => rate > 0.0,
                    ReduceKind::Min => rate < 0.0,
                    _ => false,
                };
                falls && self.moves_with_extremum(reference, DEPTH)
            }
            Dependence::Squares { .. } => self.kind == ReduceKind::Add,
        };
        if !fits {
            return None;
        }
        let can_follow =
            self.has_types_of(dependence, reference, term) && !self.waits_beside(term, reference);
        can_follow.then_some(Follower {
            position,
            reference,
            dependence,
        })
    }

    /// Whether a term waits for another reduction that itself waits for the first one. This cheap test rejects most pairs without a
    /// traversal of the ops between them.
    fn waits_in_between(&self, term: Value<'c, 'a>) -> bool {
        let before = self.space.waits_for(self.source);
        let waits = self.space.waits_for(term);
        let others = waits.without(&before).filter(|other| *other != self.lead);
        others
            .filter_map(|other| self.space.ops[other].result(0).ok())
            .any(|result| self.waits(result.into()))
    }

    /// Whether a term waits for a reduction that the first one does not wait for, other than through the reference. Through the reference
    /// it may, because each partial result has a reference of its own: a mean may be a sum divided by the number of points, which is a
    /// reduction too.
    fn waits_beside(&self, term: Value<'c, 'a>, reference: Value<'c, 'a>) -> bool {
        let before = self.space.waits_for(self.source);
        let mut open = vec![term];
        let mut seen = BTreeSet::new();
        while let Some(value) = open.pop() {
            if value == reference || !seen.insert(key(value)) {
                continue;
            }
            let Some(position) = self.space.definition(value) else {
                continue;
            };
            let waits = self.space.waits_for(value);
            if !waits.contains(position) {
                open.extend(self.space.ops[position].operands());
            } else if waits.without(&before).next().is_some() {
                return true;
            }
        }
        false
    }

    /// Whether a reference changes by no more than the extremum does. Then the exponent at the point of the extremum is largest for the
    /// final reference, so that no exponent overflows for a partial reference only. A `select` is taken to replace an extremum that stands
    /// for no element (an infinity) by another value.
    fn moves_with_extremum(&self, reference: Value<'c, 'a>, depth: usize) -> bool {
        let Some((position, depth)) = self.space.definition(reference).zip(depth.checked_sub(1)) else {
            return false;
        };
        let op = self.space.ops[position];
        if position == self.lead {
            return true;
        }
        let moves = |index: usize| {
            op.operand(index)
                .is_ok_and(|value| self.moves_with_extremum(value, depth))
        };
        let stays = |index: usize| op.operand(index).is_ok_and(|value| !self.waits(value));
        let moves_or_stays = |index: usize| moves(index) || stays(index);
        match op_name(op) {
            "arith.extf" => moves(0),
            "arith.subf" => moves(0) && stays(1),
            "arith.addf" => (moves(0) && stays(1)) || (stays(0) && moves(1)),
            "arith.maximumf" | "arith.maxnumf" | "arith.minimumf" | "arith.minnumf" => {
                moves_or_stays(0) && moves_or_stays(1)
            }
            "arith.select" => moves_or_stays(1) && moves_or_stays(2),
            _ => false,
        }
    }

    /// Whether the types allow partial results to be combined: a partial extremum may have to be widened to stand for the reference, and
    /// the number of elements of a sum of squares needs a float of at least 32 bits.
    fn has_types_of(&self, dependence: Dependence, reference: Value<'c, 'a>, term: Value<'c, 'a>) -> bool {
        let Ok(result) = self.space.ops[self.lead].result(0).map(Value::from) else {
            return false;
        };
        let bits = |value: Value<'c, 'a>| types::bit_width(value.r#type()).unwrap_or(0);
        let is_same = result.r#type() == reference.r#type();
        let fits = match dependence {
            Dependence::Exponential { .. } => is_same || bits(result) < bits(reference),
            Dependence::Squares { .. } => is_same && bits(result) >= 32,
        };
        fits && term.r#type() == reference.r#type()
    }

    /// The class of a value; `None` if it depends on the reference in no known way.
    fn class(&self, value: Value<'c, 'a>, search: &mut Search<'c, 'a>, depth: usize) -> Option<Class> {
        if let Some(class) = search.classes.get(&key(value)) {
            return *class;
        }
        let class = self.derive(value, search, depth.checked_sub(1)?);
        search.classes.insert(key(value), class);
        class
    }

    /// The class of a value that does not depend on the reference.
    fn free(&self, value: Value<'c, 'a>) -> Class {
        let is_uniform = self.space.dims_of(value).is_disjoint(&self.over);
        Class::free(if is_uniform { Rest::Uniform } else { Rest::PerPoint })
    }

    /// Computes [`Self::class`] from the classes of the operands.
    fn derive(&self, value: Value<'c, 'a>, search: &mut Search<'c, 'a>, depth: usize) -> Option<Class> {
        if narrow(self.space, value) == self.source {
            return Some(Class::Linear {
                of_u: 1.0,
                of_v: 0.0,
                rest: Rest::Zero,
            });
        }
        if self.space.dims_of(value).is_disjoint(&self.over) && self.waits(value) {
            let first = *search.reference.get_or_insert(value);
            return (first == value).then_some(Class::Linear {
                of_u: 0.0,
                of_v: 1.0,
                rest: Rest::Zero,
            });
        }
        let Some(position) = self.space.definition(value) else {
            return Some(self.free(value));
        };
        let op = self.space.ops[position];
        let waits = self.waits(value);
        let mut operand = |index: usize| self.class(op.operand(index).ok()?, &mut *search, depth);
        match op_name(op) {
            "arith.extf" => operand(0),
            "arith.negf" => Some(operand(0)?.scaled(-1.0)),
            "arith.addf" => sum(operand(0)?, operand(1)?),
            "arith.subf" => sum(operand(0)?, operand(1)?.scaled(-1.0)),
            "arith.mulf" => {
                let [lhs, rhs] = [op.operand(0).ok()?, op.operand(1).ok()?];
                if let Some(factor) = number(rhs) {
                    return Some(operand(0)?.scaled(factor));
                }
                if let Some(factor) = number(lhs) {
                    return Some(operand(1)?.scaled(factor));
                }
                product(operand(0)?, operand(1)?, lhs == rhs)
            }
            "arith.divf" => {
                let (dividend, divisor) = (operand(0)?, operand(1)?);
                match number(op.operand(1).ok()?) {
                    Some(factor) => Some(dividend.scaled(1.0 / factor)),
                    None if divisor.is_free() => match dividend {
                        Class::Of(Dependence::Exponential { .. }) => Some(dividend),
                        _ => dividend.is_free().then_some(self.free(value)),
                    },
                    None => None,
                }
            }
            "arith.select" if !self.waits(op.operand(0).ok()?) => {
                let branches = [op.operand(1).ok()?, op.operand(2).ok()?];
                let zero = branches.map(|branch| number(branch) == Some(0.0));
                match (operand(1)?, operand(2)?) {
                    (one, _) if zero[1] && is_exponential(one) => Some(one),
                    (_, other) if zero[0] && is_exponential(other) => Some(other),
                    (one, other) if one == other && is_exponential(one) => Some(one),
                    (one, other) => (one.is_free() && other.is_free()).then_some(self.free(value)),
                }
            }
            _ if !waits => Some(self.free(value)),
            name => {
                let rate = operand(0)?.difference(Rest::Uniform)?;
                let base = Base::of(name)?;
                Some(Class::Of(Dependence::Exponential { base, rate }))
            }
        }
        .or_else(|| (!waits).then(|| self.free(value)))
    }
}

/// Returns the value that `value` was widened from, which is numerically the same.
fn narrow<'c, 'a>(space: &Space<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let widened = |value| {
        let op = space.ops[space.definition(value)?];
        (op_name(op) == "arith.extf").then(|| op.operand(0).ok())?
    };
    std::iter::successors(Some(value), |value| widened(*value))
        .last()
        .unwrap_or(value)
}
