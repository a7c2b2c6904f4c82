//! Extrema and where they are (argmax, argmin): recognizing a region that accumulates them, and reducing to them.
//!
//! A region is recognized by what it computes, not by which ops it is made of. It may compare the incoming value and place with the
//! accumulated ones, and choose between them. So its results are a function of how these are ordered, and evaluating it for each order tells
//! which extremum it keeps.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    iter,
};

use melior::ir::{
    Attribute, OperationRef, Type, Value, ValueLike,
    attribute::{FloatAttribute, IntegerAttribute},
    operation::OperationLike,
    r#type::IntegerType,
};
use norma_dialects::{norm::ReduceKind, op_name};

use super::{
    named_combiner::{float_identity, integer_identity},
    reductions::reduce_tuples,
};
use crate::mlir::{
    builder::Builder,
    comparison::{IntegerPredicate, Predicate, compare_floats, compare_integers},
    pass::PassError,
    types,
    values::{definition, key},
};

/// A region that keeps the more extreme of two values, and its place.
#[derive(Clone, Copy, Debug)]
pub struct Extremum<'c, 'a> {
    /// Whether it keeps the largest value, and otherwise the smallest.
    pub is_largest: bool,
    /// The value and the place that come in, which depend on no accumulator.
    pub incoming: [Value<'c, 'a>; 2],
    /// Which of the results is the value; the other one is the place.
    pub value_result: usize,
    /// Whether it keeps the smaller place of equal values by comparing the places. Otherwise it keeps the one that came first.
    pub compares_places: bool,
    /// How it tells that a place is the smaller one.
    pub places: PlaceOrder,
}

/// How places are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlaceOrder {
    /// As signed integers, as positions are too, which are never negative.
    #[default]
    Signed,
    /// As unsigned integers.
    Unsigned,
}

impl PlaceOrder {
    /// The predicate that holds if a place comes before another.
    pub fn before(self) -> IntegerPredicate {
        match self {
            Self::Signed => IntegerPredicate::Less,
            Self::Unsigned => IntegerPredicate::UnsignedLess,
        }
    }

    /// The last place that an integer of so many bits can say, as a signed integer.
    fn last(self, bits: u32) -> i64 {
        match self {
            Self::Signed => integer_identity(ReduceKind::Min, bits),
            Self::Unsigned => -1,
        }
    }
}

/// The accumulated or the incoming one of two values or two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Incoming,
    Accumulated,
}

use Side::{Accumulated, Incoming};

/// The role of a value or a place in arrays of both.
const VALUE: usize = 0;
const PLACE: usize = 1;

/// How the incoming value and place compare with the accumulated ones.
#[derive(Clone, Copy, Debug)]
struct Case {
    values: Values,
    places: Ordering,
}

/// How the incoming value compares with the accumulated one.
#[derive(Clone, Copy, Debug)]
enum Values {
    Ordered(Ordering),
    /// One is NaN.
    NaN(Side),
    /// Both are NaN.
    AllNaN,
}

/// What is known of a value of the region in a case.
#[derive(Clone, Copy, Debug)]
enum Known<'c, 'a> {
    /// It is the value or the place of that side.
    Of(usize, Side),
    Truth(bool),
    /// It depends on no accumulator.
    Outside(Value<'c, 'a>),
}

impl<'c: 'a, 'a> Extremum<'c, 'a> {
    /// Recognizes a region by its two accumulators and the values that become them. Over NaN it has to return NaN as the value; the place
    /// is then any.
    pub fn of(accumulators: [Value<'c, 'a>; 2], yielded: [Value<'c, 'a>; 2]) -> Option<Self> {
        (0..2).find_map(|value_result| {
            let swap = |pair: [Value<'c, 'a>; 2]| match value_result {
                0 => pair,
                _ => [pair[1], pair[0]],
            };
            let mut region = Region {
                accumulators: swap(accumulators),
                yielded: swap(yielded),
                incoming: [None, None],
                places: None,
                known: HashMap::new(),
            };
            let (is_largest, compares_places) = region.kept()?;
            Some(Self {
                is_largest,
                incoming: [region.incoming[VALUE]?, region.incoming[PLACE]?],
                value_result,
                compares_places,
                places: region.places.unwrap_or_default(),
            })
        })
    }

    /// Whether a value of the region depends on an accumulator.
    pub fn accumulates(accumulators: &[Value<'c, 'a>], value: Value<'c, 'a>) -> bool {
        let mut open = vec![value];
        let mut seen = HashSet::new();
        while let Some(value) = open.pop() {
            if accumulators.iter().any(|known| key(*known) == key(value)) {
                return true;
            }
            if seen.insert(key(value)) {
                open.extend(definition(value).iter().flat_map(|op| op.operands()));
            }
        }
        false
    }
}

/// A region that may keep an extremum, with its value and its place in this order.
struct Region<'c, 'a> {
    accumulators: [Value<'c, 'a>; 2],
    yielded: [Value<'c, 'a>; 2],
    /// The value and the place that are compared with or chosen besides the accumulated ones.
    incoming: [Option<Value<'c, 'a>>; 2],
    /// How places are compared, as far as it was seen.
    places: Option<PlaceOrder>,
    /// What is known in the case that is looked at, by value.
    known: HashMap<usize, Option<Known<'c, 'a>>>,
}

impl<'c: 'a, 'a> Region<'c, 'a> {
    /// Whether the region keeps the largest value, and whether it compares places; `None` if it keeps no extremum.
    fn kept(&mut self) -> Option<(bool, bool)> {
        let all = [Ordering::Less, Ordering::Equal, Ordering::Greater];
        let is_largest = self.chosen(Values::Ordered(Ordering::Greater), Ordering::Less)?[VALUE] == Incoming;
        for places in all {
            for (order, wins) in [(Ordering::Greater, is_largest), (Ordering::Less, !is_largest)] {
                let expected = if wins { Incoming } else { Accumulated };
                if self.chosen(Values::Ordered(order), places)? != [expected; 2] {
                    return None;
                }
            }
            if !types::is_float(self.accumulators[VALUE].r#type()) {
                continue;
            }
            for side in [Incoming, Accumulated] {
                if self.chosen(Values::NaN(side), places)?[VALUE] != side {
                    return None;
                }
            }
            self.chosen(Values::AllNaN, places)?;
        }
        let mut of_ties = |places| Some(self.chosen(Values::Ordered(Ordering::Equal), places)?[PLACE]);
        let (earlier, later) = (of_ties(Ordering::Less)?, of_ties(Ordering::Greater)?);
        of_ties(Ordering::Equal)?;
        (later == Accumulated).then_some((is_largest, earlier == Incoming))
    }

    /// The sides that the region keeps the value and the place of.
    fn chosen(&mut self, values: Values, places: Ordering) -> Option<[Side; 2]> {
        let case = Case { values, places };
        self.known.clear();
        let mut of = |role: usize| {
            let known = self.known(self.yielded[role], case)?;
            let (found, sides) = self.sides(&[Known::Of(role, Accumulated), known])?;
            (found == role).then_some(sides[1])
        };
        Some([of(VALUE)?, of(PLACE)?])
    }

    fn known(&mut self, value: Value<'c, 'a>, case: Case) -> Option<Known<'c, 'a>> {
        if let Some(known) = self.known.get(&key(value)) {
            return *known;
        }
        let known = self.computed(value, case);
        self.known.insert(key(value), known);
        known
    }

    fn computed(&mut self, value: Value<'c, 'a>, case: Case) -> Option<Known<'c, 'a>> {
        let mut accumulators = self.accumulators.iter();
        if let Some(role) = accumulators.position(|known| key(*known) == key(value)) {
            return Some(Known::Of(role, Accumulated));
        }
        if !Extremum::accumulates(&self.accumulators, value) {
            return Some(Known::Outside(value));
        }
        let op = definition(value)?;
        let operands = op.operands().map(|operand| self.known(operand, case));
        let operands = operands.collect::<Option<Vec<_>>>()?;
        match (op_name(op), operands.as_slice()) {
            ("arith.cmpf", _) => {
                let order = self.order(&operands, case)?.0;
                let bit = match order {
                    Some(Ordering::Equal) => 1,
                    Some(Ordering::Greater) => 2,
                    Some(Ordering::Less) => 4,
                    None => 8,
                };
                // In the order of MLIR's `CmpFPredicate`: ordered predicates are the sets of orders for which they hold.
                let orders = match predicate(op)? {
                    unordered @ 8..=13 => unordered + 1,
                    14 => 8,
                    ordered => ordered,
                };
                Some(Known::Truth(orders & bit != 0))
            }
            ("arith.cmpi", _) => {
                let (order, role) = self.order(&operands, case)?;
                let order = order?;
                let predicate = predicate(op)?;
                let places = match predicate >= IntegerPredicate::UnsignedLess as i64 {
                    true => PlaceOrder::Unsigned,
                    false => PlaceOrder::Signed,
                };
                let tells_order = predicate > IntegerPredicate::NotEqual as i64;
                match role {
                    VALUE if places == PlaceOrder::Unsigned => return None,
                    PLACE if tells_order => self.compares(places)?,
                    _ => {}
                }
                Some(Known::Truth(match predicate {
                    0 => order.is_eq(),
                    1 => order.is_ne(),
                    2 | 6 => order.is_lt(),
                    3 | 7 => order.is_le(),
                    4 | 8 => order.is_gt(),
                    _ => order.is_ge(),
                }))
            }
            ("arith.select", [condition, one, other]) => {
                let is_one = truth(*condition)?;
                let (role, sides) = self.sides(&[*one, *other])?;
                Some(Known::Of(role, if is_one { sides[0] } else { sides[1] }))
            }
            ("arith.andi", [one, other]) => Some(Known::Truth(truth(*one)? & truth(*other)?)),
            ("arith.ori", [one, other]) => Some(Known::Truth(truth(*one)? | truth(*other)?)),
            ("arith.xori", [one, other]) => Some(Known::Truth(truth(*one)? ^ truth(*other)?)),
            ("arith.maximumf" | "arith.maxsi", _) => self.extreme(&operands, case, Ordering::Greater),
            ("arith.minimumf" | "arith.minsi", _) => self.extreme(&operands, case, Ordering::Less),
            _ => None,
        }
    }

    /// The side of a maximum or minimum, which is NaN if any side is.
    fn extreme(&mut self, operands: &[Known<'c, 'a>], case: Case, wanted: Ordering) -> Option<Known<'c, 'a>> {
        let (role, sides) = self.sides(operands)?;
        let (order, _) = self.order(operands, case)?;
        if role == PLACE {
            self.compares(PlaceOrder::Signed)?;
        }
        let side = match (order, case.values) {
            (Some(order), _) => sides[usize::from(order == wanted.reverse())],
            (None, Values::NaN(side)) if sides.contains(&side) => side,
            (None, _) => sides[0],
        };
        Some(Known::Of(role, side))
    }

    /// Notes how places are compared; `None` if others are compared in another way.
    fn compares(&mut self, places: PlaceOrder) -> Option<()> {
        (*self.places.get_or_insert(places) == places).then_some(())
    }

    /// How two operands are ordered, `None` if unordered, and their role.
    fn order(&mut self, operands: &[Known<'c, 'a>], case: Case) -> Option<(Option<Ordering>, usize)> {
        let (role, sides) = self.sides(operands)?;
        let of_incoming = match (role, case.values) {
            (VALUE, Values::AllNaN) => None,
            (VALUE, Values::NaN(side)) if sides.contains(&side) => None,
            // The side that is left is a number, and compared with itself.
            (VALUE, Values::NaN(_)) => Some(Ordering::Equal),
            (VALUE, Values::Ordered(order)) => Some(order),
            _ => Some(case.places),
        };
        let order = match sides {
            [Incoming, Accumulated] => of_incoming,
            [Accumulated, Incoming] => of_incoming.map(Ordering::reverse),
            _ => of_incoming.map(|_| Ordering::Equal),
        };
        Some((order, role))
    }

    /// Whether the two operands are values or places, and the side of each. One of them at least comes from an accumulator or an earlier
    /// choice. The other may depend on no accumulator; it is then the incoming value or place, and has to be the same wherever the region
    /// uses one.
    fn sides(&mut self, operands: &[Known<'c, 'a>]) -> Option<(usize, [Side; 2])> {
        let [one, other] = operands else {
            return None;
        };
        let role = [one, other].into_iter().find_map(|known| match known {
            Known::Of(role, _) => Some(*role),
            _ => None,
        })?;
        let mut side = |known: &Known<'c, 'a>| match known {
            Known::Of(of, side) => (*of == role).then_some(*side),
            Known::Outside(value) => {
                let incoming = self.incoming[role].get_or_insert(*value);
                (key(*incoming) == key(*value)).then_some(Incoming)
            }
            Known::Truth(_) => None,
        };
        Some((role, [side(one)?, side(other)?]))
    }
}

fn predicate(op: OperationRef<'_, '_>) -> Option<i64> {
    norma_dialects::integer(op.attribute("predicate").ok()?).ok()
}

fn truth(known: Known<'_, '_>) -> Option<bool> {
    match known {
        Known::Truth(truth) => Some(truth),
        _ => None,
    }
}

/// Reduces a value over `dims` to its extremum and the first place where it is. If there is a NaN, it is the first NaN. Over no points
/// the place is the largest integer. A place has one or more digits, the most significant first, each an integer of its own, which follow
/// the extremum in the result.
///
/// # Errors
/// MLIR refuses to build the op.
pub fn reduce<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    dims: &[Value<'c, 'a>],
    value: Value<'c, 'a>,
    place: &[Value<'c, 'a>],
    places: PlaceOrder,
    is_largest: bool,
) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
    let kind = if is_largest {
        ReduceKind::Max
    } else {
        ReduceKind::Min
    };
    let of_place = place.iter().map(|digit| {
        let last = places.last(bits(digit.r#type()));
        IntegerAttribute::new(digit.r#type(), last).into()
    });
    let identity = iter::once(extreme_of_nothing(b, kind, value.r#type()))
        .chain(of_place)
        .collect::<Vec<_>>();
    let values = [&[value], place].concat();
    reduce_tuples(b, dims, &values, &identity, |b, one, other| {
        let on_tie = is_earlier(b, places, &one[PLACE..], &other[PLACE..]);
        let is_first = is_beyond(b, [one[VALUE], other[VALUE]], is_largest, on_tie);
        let sides = one.iter().zip(other);
        let kept = sides.map(|(one, other)| b.value("arith.select", &[is_first, *one, *other], one.r#type()));
        kept.collect()
    })
}

/// Whether a place comes before another, both of one or more digits.
fn is_earlier<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    places: PlaceOrder,
    place: &[Value<'c, 'a>],
    other: &[Value<'c, 'a>],
) -> Value<'c, 'a> {
    let truth = IntegerType::new(b.context(), 1).into();
    let digits = place.iter().zip(other).rev();
    let earlier = digits.fold(None, |behind, (one, other)| {
        let is_less = compare_integers(b, places.before(), *one, *other);
        let Some(behind) = behind else {
            return Some(is_less);
        };
        let is_equal = compare_integers(b, IntegerPredicate::Equal, *one, *other);
        let decides = b.value("arith.andi", &[is_equal, behind], truth);
        Some(b.value("arith.ori", &[is_less, decides], truth))
    });
    earlier.unwrap_or_else(|| b.integer(truth, 0))
}

/// The result of a reduction over no elements.
fn extreme_of_nothing<'c>(b: &Builder<'c, '_>, kind: ReduceKind, ty: Type<'c>) -> Attribute<'c> {
    if types::is_float(ty) {
        let identity = float_identity(kind).unwrap_or_default();
        return FloatAttribute::new(b.context(), ty, identity).into();
    }
    IntegerAttribute::new(ty, integer_identity(kind, bits(ty))).into()
}

/// The bits of an integer, of which an index has 64.
fn bits(ty: Type<'_>) -> u32 {
    let bits = types::bit_width(ty).and_then(|bits| u32::try_from(bits).ok());
    bits.unwrap_or(64)
}

/// Whether the first of two values is the one to keep: it is more extreme, where NaN is the most extreme, or they tie and `on_tie` holds.
pub fn is_beyond<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    [lhs, rhs]: [Value<'c, 'a>; 2],
    is_largest: bool,
    on_tie: Value<'c, 'a>,
) -> Value<'c, 'a> {
    let truth = IntegerType::new(b.context(), 1).into();
    let op = |name: &str, operands: &[Value<'c, 'a>]| b.value(name, operands, truth);
    if !types::is_float(lhs.r#type()) {
        let predicate = match is_largest {
            true => IntegerPredicate::Greater,
            false => IntegerPredicate::Less,
        };
        let is_beyond = compare_integers(b, predicate, lhs, rhs);
        let is_tie = compare_integers(b, IntegerPredicate::Equal, lhs, rhs);
        return op("arith.ori", &[is_beyond, op("arith.andi", &[is_tie, on_tie])]);
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
    let of_numbers = op("arith.ori", &[is_beyond, op("arith.andi", &[is_tie, on_tie])]);
    let of_nan = op("arith.select", &[is_other_nan, on_tie, is_nan]);
    op("arith.select", &[is_nan, of_nan, of_numbers])
}
