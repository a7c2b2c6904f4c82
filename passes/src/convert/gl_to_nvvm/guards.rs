//! Decides where the guards of an access hold, for each element of a thread and as far as possible at compile time.

use std::collections::{HashMap, HashSet};

use melior::ir::ValueLike;

use crate::mlir::{comparison::IntegerPredicate, diagnostic::Diagnostic, values::key};

use super::{
    emit::{Emit, Value},
    form::{Values, fits_i32},
};

/// Whether a thread reads or writes an element.
#[derive(Clone, Copy)]
pub(super) enum Predicate<'c, 'a> {
    Always,
    Never,
    When(Value<'c, 'a>),
}

impl<'c, 'a> Predicate<'c, 'a> {
    /// Whether both hold.
    pub fn and(self, e: &Emit<'_, 'c, 'a>, other: Self) -> Self {
        match (self, other) {
            (Self::Never, _) | (_, Self::Never) => Self::Never,
            (Self::Always, predicate) | (predicate, Self::Always) => predicate,
            (Self::When(one), Self::When(other)) => Self::When(e.andi(one, other)),
        }
    }

    /// Whether this holds and `other` does not.
    pub fn and_not(self, e: &Emit<'_, 'c, 'a>, other: Self) -> Self {
        let inverse = match other {
            Self::Always => Self::Never,
            Self::Never => Self::Always,
            Self::When(value) => Self::When(e.xori(value, e.bool(true))),
        };
        self.and(e, inverse)
    }

    /// As a value of type i1.
    pub fn value(self, e: &Emit<'_, 'c, 'a>) -> Value<'c, 'a> {
        match self {
            Self::Always => e.bool(true),
            Self::Never => e.bool(false),
            Self::When(value) => value,
        }
    }
}

/// Which part of a run of neighbouring registers the guards admit.
#[derive(Clone, Copy)]
pub(super) enum Reach<'c, 'a> {
    /// All of it where the predicate holds, otherwise nothing.
    Whole(Predicate<'c, 'a>),
    /// Any part of it.
    Part {
        /// Whether all of it is admitted.
        all: Predicate<'c, 'a>,
        /// Whether any of it may be admitted.
        any: Predicate<'c, 'a>,
    },
}

impl<'c, 'a> Reach<'c, 'a> {
    /// Whether all of the run is admitted.
    pub fn all(self) -> Predicate<'c, 'a> {
        match self {
            Self::Whole(predicate) | Self::Part { all: predicate, .. } => predicate,
        }
    }

    /// Whether any of the run may be admitted.
    pub fn any(self) -> Predicate<'c, 'a> {
        match self {
            Self::Whole(predicate) | Self::Part { any: predicate, .. } => predicate,
        }
    }
}

/// The guards of an access, all of which have to hold.
pub(super) struct Guards<'b, 'c, 'a> {
    pub e: &'b Emit<'b, 'c, 'a>,
    pub each: Vec<Guard<'c, 'a>>,
}

impl<'c, 'a> Guards<'_, 'c, 'a> {
    /// Whether all guards hold at the register at `position` among the access's registers.
    pub fn at(&self, position: usize) -> Result<Predicate<'c, 'a>, Diagnostic<'c>> {
        self.each.iter().try_fold(Predicate::Always, |predicate, guard| {
            Ok(predicate.and(self.e, guard.at(self.e, position)?))
        })
    }

    /// `part`, which holds the registers from `first` on, with `other` where the guards fail.
    pub fn masked(
        &self,
        part: Value<'c, 'a>,
        first: usize,
        other: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let mut elements = e.elements(part).map_err(|error| e.internal(error))?;
        for (element, register) in elements.iter_mut().zip(first..) {
            *element = match self.at(register)? {
                Predicate::Always => *element,
                Predicate::Never => other,
                Predicate::When(holds) => e.select(holds, *element, other),
            };
        }
        e.pack(&elements)
    }

    /// The number of registers that the guards admit, i32, of the `count` registers from `first` on, if the admitted ones are
    /// always the first of these; `None` if they need not be.
    pub fn prefix(&self, first: usize, count: usize) -> Result<Option<Value<'c, 'a>>, Diagnostic<'c>> {
        let e = self.e;
        let grows = |guard: &Guard<'c, 'a>| {
            guard.is_ordered(first, count) && guard.values.constants[first..first + count].is_sorted()
        };
        if !self.each.iter().all(grows) {
            return Ok(None);
        }
        let mut there = Vec::with_capacity(count);
        for position in first..first + count {
            let holds = self.at(position)?.value(e);
            there.push(e.b.value("arith.extui", &[holds], e.int(32)));
        }
        Ok(e.sum(there))
    }

    /// Which part of the `count` registers from `first` on the guards admit.
    pub fn within(&self, first: usize, count: usize) -> Result<Reach<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let (mut all, mut any) = (Predicate::Always, Predicate::Always);
        let mut is_whole = true;
        for guard in &self.each {
            if !guard.is_ordered(first, count) {
                is_whole = false;
                all = all.and(e, guard.at_each(e, first, count)?);
                continue;
            }
            let [least, most] = guard.ends(first, count);
            let is_steady = guard.is_steady(least, most);
            let of_all = guard.at(e, if is_steady { least } else { most })?;
            let of_any = match of_all {
                Predicate::Always => continue,
                _ if is_steady => of_all,
                _ => guard.at(e, least)?,
            };
            if let Predicate::Never = of_any {
                return Ok(Reach::Whole(Predicate::Never));
            }
            is_whole &= is_steady;
            all = all.and(e, of_all);
            any = any.and(e, of_any);
        }
        Ok(match is_whole {
            true => Reach::Whole(all),
            false => Reach::Part { all, any },
        })
    }
}

/// One guard: a form that has to be negative.
pub(super) struct Guard<'c, 'a> {
    values: Values<'c, 'a>,
    /// The part that all registers have in common and, in `jumped`, its sum with each of their jumps. Both are in 32 bits where
    /// everything fits, because the machine compares 64 bits by two instructions.
    common: Option<Value<'c, 'a>>,
    jumped: HashMap<usize, Value<'c, 'a>>,
}

impl<'c, 'a> Guard<'c, 'a> {
    /// The guard `values < 0`.
    pub fn of(e: &Emit<'_, 'c, 'a>, mut values: Values<'c, 'a>) -> Self {
        if !fits_32_bits(&values) {
            saturate(e, &mut values);
        }
        let is_narrow = fits_32_bits(&values);
        let common = match is_narrow {
            true => values.narrow_common(e),
            false => values.common(e),
        };
        let mut jumped = HashMap::new();
        for jump in values.jumps.iter().flatten() {
            jumped.entry(key(jump.value)).or_insert_with(|| {
                let jump = match is_narrow {
                    true => e.narrow(jump.value),
                    false => jump.value,
                };
                common.into_iter().fold(jump, |sum, common| e.addi(common, sum))
            });
        }
        Self {
            values,
            common,
            jumped,
        }
    }

    /// Whether it holds at the register at `position`.
    pub fn at(&self, e: &Emit<'_, 'c, 'a>, position: usize) -> Result<Predicate<'c, 'a>, Diagnostic<'c>> {
        let (jump, constant) = (self.values.jumps[position], self.values.constants[position]);
        if let Some((low, high)) = self.values.range_without_constant(position) {
            if high + i128::from(constant) < 0 {
                return Ok(Predicate::Always);
            }
            if low + i128::from(constant) >= 0 {
                return Ok(Predicate::Never);
            }
        }
        let value = match jump {
            None => self.common,
            Some(jump) => self.jumped.get(&key(jump.value)).copied(),
        };
        // A form of nothing but a constant has a range of one value, and is decided above.
        let value = value.ok_or_else(|| e.internal("expected a value to compare"))?;
        let bound = constant
            .checked_neg()
            .ok_or_else(|| e.unsupported("expected guards of 64 bits"))?;
        let bound = e.b.integer(value.r#type(), bound);
        Ok(Predicate::When(e.compare(IntegerPredicate::Less, value, bound)))
    }

    /// Whether it holds at every one of the `count` registers from `first` on.
    fn at_each(
        &self,
        e: &Emit<'_, 'c, 'a>,
        first: usize,
        count: usize,
    ) -> Result<Predicate<'c, 'a>, Diagnostic<'c>> {
        (first..first + count).try_fold(Predicate::Always, |all, position| {
            Ok(all.and(e, self.at(e, position)?))
        })
    }

    /// Whether the `count` registers from `first` on differ by constants only.
    fn is_ordered(&self, first: usize, count: usize) -> bool {
        let jump = |position: usize| self.values.jumps[position].map(|jump| key(jump.value));
        (first..first + count).all(|position| jump(position) == jump(first))
    }

    /// Whether it holds at both of two registers, which differ by constants only, or at neither. If the rest is a multiple of
    /// d, its sum with a constant c is negative if and only if its sum with the multiple of d that c rounds down to is.
    fn is_steady(&self, one: usize, other: usize) -> bool {
        let rounded =
            |position: usize| self.values.constants[position].div_euclid(self.values.divisor.max(1));
        rounded(one) == rounded(other)
    }

    /// The registers of the least and of the greatest constant.
    fn ends(&self, first: usize, count: usize) -> [usize; 2] {
        let by_constant = |position: &usize| self.values.constants[*position];
        let positions = first..first + count;
        [
            positions.clone().min_by_key(by_constant).unwrap_or(first),
            positions.max_by_key(by_constant).unwrap_or(first),
        ]
    }
}

/// Whether a guard's value at each register, without its constant, fits 32 bits, and so does the bound that it is compared
/// with.
fn fits_32_bits(values: &Values<'_, '_>) -> bool {
    (0..values.constants.len()).all(|position| {
        let bound = -i128::from(values.constants[position]);
        let range = values.range_without_constant(position);
        range.is_some_and(fits_i32) && fits_i32((bound, bound))
    })
}

/// The least number of comparisons for which the uniform part of a guard is saturated. That takes seven instructions, and saves
/// one of each comparison (SASS of sm_90a).
const SATURATED: usize = 8;

/// Saturates the uniform part of a guard, such as the distance to the end of a row of any length, to the range in which it
/// matters, so that it fits 32 bits. Below this range the guard holds at every register, and above it at none.
fn saturate<'c, 'a>(e: &Emit<'_, 'c, 'a>, values: &mut Values<'c, 'a>) {
    let (Some(uniform), Some((low, high))) = (values.uniform, values.range_of_others()) else {
        return;
    };
    let (least, most) = (-high - 1, -low);
    // Registers between which the guard cannot change, as within a vector, share a comparison.
    let compared = (values.jumps.iter().zip(&values.constants))
        .map(|(jump, constant)| {
            let rounded = constant.div_euclid(values.divisor.max(1));
            (jump.map(|jump| key(jump.value)), rounded)
        })
        .collect::<HashSet<_>>();
    if compared.len() >= SATURATED && fits_i32((least, most)) {
        let raised =
            e.b.value("arith.maxsi", &[uniform, e.i64(least as i64)], e.int(64));
        values.uniform = Some(e.b.value("arith.minsi", &[raised, e.i64(most as i64)], e.int(64)));
        values.range_of_uniform = Some((least, most));
    }
}
