//! Evaluates forms at a thread's elements.
//!
//! A form's value at a register is `uniform + places + jump + constant`. Scalars contribute `uniform`, which is the same for
//! the whole CTA and computed in 64 bits. A thread's coordinates contribute `places`, computed in 32 bits where they fit.
//! Registers differ by `constant` and, where quotients and swizzles are involved, by a value that is not a constant, a *jump*.
//! Registers share the value of a jump as far as divisibility shows that it is the same.

use std::collections::HashMap;

use norma_layout::LinearLayout;

use crate::{
    gcd::gcd,
    gl::{
        bounds, divisibility,
        quotient_form::{Quotient, QuotientForm},
    },
    mlir::{diagnostic::Diagnostic, interval::Interval, values::key},
};

use super::{
    emit::{Emit, Value},
    threads::{self, AxisCoordinates},
};

/// The scalars of forms as i64, with a divisor and the range of each.
pub(super) struct Scalars<'c, 'a> {
    pub values: Vec<Value<'c, 'a>>,
    pub divisors: Vec<i64>,
    ranges: Vec<Range>,
}

impl<'c, 'a> Scalars<'c, 'a> {
    /// The converted `values` of the operands `originals`.
    pub fn new(values: &[Value<'c, 'a>], originals: Vec<Value<'c, 'a>>) -> Self {
        Self {
            values: values.to_vec(),
            divisors: originals.iter().copied().map(divisibility::of_scalar).collect(),
            ranges: values.iter().zip(originals).map(range_of).collect(),
        }
    }

    /// The range of the sum of [`Self::terms`].
    fn range(&self, coefficients: &[i64]) -> Range {
        let terms = self.ranges.iter().zip(coefficients);
        terms
            .filter(|(_, coefficient)| **coefficient != 0)
            .map(|(range, coefficient)| Some(scaled_range((*range)?, *coefficient)))
            .fold(Some((0, 0)), sum_of_ranges)
    }

    /// The scalars times their coefficients, without those whose coefficient is zero.
    pub fn terms(&self, e: &Emit<'_, 'c, 'a>, coefficients: &[i64]) -> Vec<Value<'c, 'a>> {
        self.values
            .iter()
            .zip(coefficients)
            .filter(|(_, coefficient)| **coefficient != 0)
            .map(|(value, coefficient)| e.scale(*value, *coefficient))
            .collect()
    }
}

/// The least and the greatest value, if they are known.
pub(super) type Range = Option<(i128, i128)>;

/// The range of a scalar, from its definition both before and after conversion: loops are converted before the ops in them.
fn range_of((converted, original): (&Value<'_, '_>, Value<'_, '_>)) -> Range {
    let Interval { least, most } = bounds::of_scalar(original).within(bounds::of_scalar(*converted));
    Some((least.into(), most.into()))
}

/// The range of a sum, given the ranges of its terms.
pub(super) fn sum_of_ranges(one: Range, other: Range) -> Range {
    let ((low, high), (other_low, other_high)) = (one?, other?);
    Some((low + other_low, high + other_high))
}

/// The range of the products of a range's values and a factor.
fn scaled_range((low, high): (i128, i128), factor: i64) -> (i128, i128) {
    let (one, other) = (low * i128::from(factor), high * i128::from(factor));
    (one.min(other), one.max(other))
}

/// The range of the products of a factor and the numbers from 0 to `max`.
fn range_of_product(max: i64, factor: i64) -> (i128, i128) {
    scaled_range((0, max.into()), factor)
}

/// Whether a range fits signed 32 bits.
pub(super) fn fits_i32((low, high): (i128, i128)) -> bool {
    low >= i32::MIN.into() && high <= i32::MAX.into()
}

/// A term at some registers that is not a constant.
#[derive(Clone, Copy)]
pub(super) struct Jump<'c, 'a> {
    /// i64.
    pub value: Value<'c, 'a>,
    pub range: Range,
}

/// A thread's coordinate along an axis, i32, times a factor.
pub(super) struct Place<'c, 'a> {
    value: Value<'c, 'a>,
    max: i64,
    factor: i64,
}

impl<'c, 'a> Place<'c, 'a> {
    fn range(&self) -> (i128, i128) {
        range_of_product(self.max, self.factor)
    }

    /// The product, i64: multiplied in 32 bits where it fits and is not negative.
    pub fn wide(&self, e: &Emit<'_, 'c, 'a>) -> Value<'c, 'a> {
        if self.is_narrow() {
            e.widen(e.scale(self.value, self.factor))
        } else {
            e.scale(e.widen(self.value), self.factor)
        }
    }

    /// Whether the product is in 0 to 2^31 - 1.
    pub fn is_narrow(&self) -> bool {
        self.factor >= 0 && fits_i32(self.range())
    }
}

/// A form's value at the registers of a [`Thread`], in their order.
pub(super) struct Values<'c, 'a> {
    /// i64.
    pub uniform: Option<Value<'c, 'a>>,
    /// The range of `uniform`; only 0 without it.
    pub range_of_uniform: Range,
    pub places: Vec<Place<'c, 'a>>,
    pub jumps: Vec<Option<Jump<'c, 'a>>>,
    pub constants: Vec<i64>,
    /// A divisor of everything but the constants; 0 if there is nothing else.
    pub divisor: i64,
}

impl<'c, 'a> Values<'c, 'a> {
    /// The range of the places' sum.
    pub fn range_of_places(&self) -> (i128, i128) {
        self.places
            .iter()
            .map(Place::range)
            .fold((0, 0), |(low, high), (l, h)| (low + l, high + h))
    }

    /// The range of the value at a register, without its constant.
    pub fn range_without_constant(&self, position: usize) -> Range {
        let common = sum_of_ranges(self.range_of_uniform, Some(self.range_of_places()));
        sum_of_ranges(
            common,
            self.jumps[position].map_or(Some((0, 0)), |jump| jump.range),
        )
    }

    /// The range of the values at all registers, without the uniform part.
    pub fn range_of_others(&self) -> Range {
        let of_places = Some(self.range_of_places());
        let each = self.jumps.iter().zip(&self.constants).map(|(jump, constant)| {
            let of_jump = jump.map_or(Some((0, 0)), |jump| jump.range);
            let of_constant = Some((i128::from(*constant), i128::from(*constant)));
            sum_of_ranges(sum_of_ranges(of_places, of_jump), of_constant)
        });
        let hull = |one: Range, other: Range| {
            let ((low, high), (other_low, other_high)) = (one?, other?);
            Some((low.min(other_low), high.max(other_high)))
        };
        each.reduce(hull).flatten()
    }

    /// The sum of the places in 32 bits, if it fits in whatever order they are added; `None` otherwise, and if there are no
    /// places.
    pub fn narrow_places(&self, e: &Emit<'_, 'c, 'a>) -> Option<Value<'c, 'a>> {
        fits_i32(self.range_of_places()).then_some(())?;
        e.sum(self.places.iter().map(|place| e.scale(place.value, place.factor)))
    }

    /// The lower 32 bits of what is the same at every register. They are all of it if the sum fits them, even if its terms do
    /// not.
    pub fn narrow_common(&self, e: &Emit<'_, 'c, 'a>) -> Option<Value<'c, 'a>> {
        let uniform = self.uniform.map(|uniform| e.narrow(uniform));
        let lower = |factor: i64| i64::from(factor as i32);
        let places = self.places.iter();
        let places = places.map(|place| e.scale(place.value, lower(place.factor)));
        e.sum(uniform.into_iter().chain(places))
    }

    /// What is the same at every register, i64.
    pub fn common(&self, e: &Emit<'_, 'c, 'a>) -> Option<Value<'c, 'a>> {
        let places = match self.places.as_slice() {
            [_, _, ..] => self.narrow_places(e).map(|sum| vec![e.widen_signed(sum)]),
            _ => None,
        };
        let places = places.unwrap_or_else(|| self.places.iter().map(|place| place.wide(e)).collect());
        e.sum(self.uniform.into_iter().chain(places))
    }
}

/// The layout of a tile at one thread: evaluates forms over scalars and the tile's axes.
pub(super) struct Thread<'b, 'c, 'a> {
    e: &'b Emit<'b, 'c, 'a>,
    axes: Vec<AxisCoordinates<'c, 'a>>,
    registers: Vec<usize>,
}

impl<'b, 'c, 'a> Thread<'b, 'c, 'a> {
    /// A thread of `layout`, which evaluates forms at the elements in `registers`.
    pub fn new(
        e: &'b Emit<'b, 'c, 'a>,
        layout: &LinearLayout,
        registers: Vec<usize>,
    ) -> Result<Self, Diagnostic<'c>> {
        Ok(Self {
            e,
            axes: threads::coordinates(e, layout)?,
            registers,
        })
    }

    /// The number of registers at which forms are evaluated.
    pub fn count(&self) -> usize {
        self.registers.len()
    }

    /// The values of a form whose dims are `indices` and then the tile's axes, and whose symbols are `limits`.
    ///
    /// # Errors
    ///
    /// Unsupported where a register's constant does not fit 64 bits.
    pub fn evaluate(
        &self,
        form: &QuotientForm,
        indices: &Scalars<'c, 'a>,
        limits: &Scalars<'c, 'a>,
    ) -> Result<Values<'c, 'a>, Diagnostic<'c>> {
        let mut form = form.clone();
        let mut remainders = Vec::new();
        while let Some(remainder) = form.take_remainder(indices.values.len()) {
            remainders.push(remainder);
        }
        let mut values = self.of_scalars(&form, &remainders, indices, limits)?;
        let axes = self.axes.iter().zip(&form.dims[indices.values.len()..]);
        for (axis, &factor) in axes.filter(|(_, factor)| **factor != 0) {
            self.add_axis(&mut values, axis, factor)?;
        }
        for (coefficient, quotient) in &form.quotients {
            let quotient = self.quotient(quotient, indices, limits)?;
            self.add_quotient(&mut values, quotient, *coefficient)?;
        }
        Ok(values)
    }

    /// The values of the parts of a form that are the same at every element: its constant, the terms of scalars, and
    /// `remainders` of scalars, each times a factor.
    fn of_scalars(
        &self,
        form: &QuotientForm,
        remainders: &[(i64, Quotient)],
        indices: &Scalars<'c, 'a>,
        limits: &Scalars<'c, 'a>,
    ) -> Result<Values<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let mut uniform = indices.terms(e, &form.dims);
        uniform.extend(limits.terms(e, &form.symbols));
        let mut range_of_uniform = sum_of_ranges(indices.range(&form.dims), limits.range(&form.symbols));
        for (factor, Quotient { numerator, divisor }) in remainders {
            let terms = indices.terms(e, &numerator.dims).into_iter();
            let terms = terms.chain(limits.terms(e, &numerator.symbols));
            let constant = (numerator.constant != 0).then(|| e.i64(numerator.constant));
            let Some(sum) = e.sum(terms.chain(constant)) else {
                return Err(e.internal("expected a remainder of something"));
            };
            uniform.push(e.scale(e.modulo(sum, *divisor), *factor));
            range_of_uniform = sum_of_ranges(range_of_uniform, Some(range_of_product(divisor - 1, *factor)));
        }
        let scalars =
            (form.dims.iter().zip(&indices.divisors)).chain(form.symbols.iter().zip(&limits.divisors));
        Ok(Values {
            uniform: e.sum(uniform),
            range_of_uniform,
            places: Vec::new(),
            jumps: vec![None; self.count()],
            constants: vec![form.constant; self.count()],
            divisor: scalars
                .map(|(coefficient, divisor)| coefficient.saturating_mul(*divisor))
                .chain(remainders.iter().map(|(factor, _)| *factor))
                .fold(0, gcd),
        })
    }

    /// Adds the coordinates along an axis times a factor: as a place if all registers have it in common, otherwise as jumps.
    fn add_axis(
        &self,
        values: &mut Values<'c, 'a>,
        axis: &AxisCoordinates<'c, 'a>,
        factor: i64,
    ) -> Result<(), Diagnostic<'c>> {
        let e = self.e;
        let constants = self.registers.iter().map(|&register| axis.constants[register]);
        self.add_constants(values, constants, factor)?;
        values.divisor = gcd(values.divisor, factor.saturating_mul(axis.divisor));
        if let [place] = axis.places[..] {
            values.places.extend(place.map(|value| Place {
                value,
                max: axis.max,
                factor,
            }));
            return Ok(());
        }
        let jumps = axis
            .places
            .iter()
            .map(|place| {
                place.map(|place| Jump {
                    value: e.scale(e.widen(place), factor),
                    range: Some(range_of_product(axis.max, factor)),
                })
            })
            .collect::<Vec<_>>();
        let jumps = self
            .registers
            .iter()
            .map(|&register| jumps[axis.place_of[register]]);
        self.add_jumps(values, jumps.collect());
        Ok(())
    }

    /// Adds a quotient's values times a coefficient. Registers that share a jump of the quotient share the product.
    fn add_quotient(
        &self,
        values: &mut Values<'c, 'a>,
        quotient: Values<'c, 'a>,
        coefficient: i64,
    ) -> Result<(), Diagnostic<'c>> {
        let e = self.e;
        values.divisor = gcd(values.divisor, coefficient);
        if let Some(term) = quotient.uniform {
            values.uniform = e.sum(values.uniform.into_iter().chain([e.scale(term, coefficient)]));
            values.range_of_uniform = None;
        }
        self.add_constants(values, quotient.constants.into_iter(), coefficient)?;
        let mut scaled = HashMap::new();
        let jumps = quotient.jumps.into_iter().map(|jump| {
            jump.map(|jump| {
                *scaled.entry(key(jump.value)).or_insert_with(|| Jump {
                    value: e.scale(jump.value, coefficient),
                    range: jump.range.map(|range| scaled_range(range, coefficient)),
                })
            })
        });
        let jumps = jumps.collect();
        self.add_jumps(values, jumps);
        Ok(())
    }

    /// The values of a quotient. Let m divide both the divisor and what the registers have in common: then registers whose
    /// constants round down to the same multiple of m have the same quotient.
    fn quotient(
        &self,
        quotient: &Quotient,
        indices: &Scalars<'c, 'a>,
        limits: &Scalars<'c, 'a>,
    ) -> Result<Values<'c, 'a>, Diagnostic<'c>> {
        let e = self.e;
        let Quotient { numerator, divisor } = quotient;
        let divisor = *divisor;
        let values = self.evaluate(numerator, indices, limits)?;
        let step = gcd(divisor, values.divisor);
        let range_of_common = sum_of_ranges(values.range_of_uniform, Some(values.range_of_places()));
        let common = values.common(e);
        let mut known: HashMap<(Option<usize>, i64), Result<Jump<'c, 'a>, i64>> = HashMap::new();
        let mut result = Values {
            uniform: None,
            range_of_uniform: Some((0, 0)),
            places: Vec::new(),
            jumps: Vec::with_capacity(self.count()),
            constants: Vec::with_capacity(self.count()),
            divisor: 1,
        };
        for (constant, jump) in values.constants.iter().zip(&values.jumps) {
            let rest = constant.rem_euclid(divisor) / step * step;
            let value = *known
                .entry((jump.map(|jump| key(jump.value)), rest))
                .or_insert_with(|| {
                    let range = sum_of_ranges(range_of_common, jump.map_or(Some((0, 0)), |jump| jump.range));
                    let range = sum_of_ranges(range, Some((rest.into(), rest.into())));
                    let by = i128::from(divisor);
                    let quotients = range.map(|(low, high)| (low.div_euclid(by), high.div_euclid(by)));
                    if let Some((low, high)) = quotients
                        && low == high
                    {
                        // The dividend fits 64 bits, and so does the quotient.
                        return Err(low as i64);
                    }
                    let terms = common.into_iter().chain(jump.map(|jump| jump.value));
                    let Some(sum) = e.sum(terms.chain((rest != 0).then(|| e.i64(rest)))) else {
                        return Err(rest.div_euclid(divisor));
                    };
                    Ok(Jump {
                        value: e.floor_div_within(sum, divisor, range),
                        range: quotients,
                    })
                });
            result
                .constants
                .push(constant.div_euclid(divisor) + value.err().unwrap_or(0));
            result.jumps.push(value.ok());
        }
        let is_uniform = values.places.is_empty() && values.jumps.iter().all(Option::is_none);
        if let (true, 1, Some(Some(jump))) = (is_uniform, known.len(), result.jumps.first()) {
            result.uniform = Some(jump.value);
            result.range_of_uniform = jump.range;
            result.jumps.fill(None);
        }
        Ok(result)
    }

    fn add_constants(
        &self,
        values: &mut Values<'c, 'a>,
        constants: impl Iterator<Item = i64>,
        factor: i64,
    ) -> Result<(), Diagnostic<'c>> {
        for (sum, constant) in values.constants.iter_mut().zip(constants) {
            *sum = constant
                .checked_mul(factor)
                .and_then(|term| sum.checked_add(term))
                .ok_or_else(|| self.e.unsupported("expected coordinates that fit 64 bits"))?;
        }
        Ok(())
    }

    fn add_jumps(&self, values: &mut Values<'c, 'a>, jumps: Vec<Option<Jump<'c, 'a>>>) {
        let mut sums = HashMap::new();
        for (sum, jump) in values.jumps.iter_mut().zip(jumps) {
            *sum = match (*sum, jump) {
                (one, None) => one,
                (None, other) => other,
                (Some(one), Some(other)) => {
                    let sum = sums.entry((key(one.value), key(other.value)));
                    Some(*sum.or_insert_with(|| Jump {
                        value: self.e.addi(one.value, other.value),
                        range: sum_of_ranges(one.range, other.range),
                    }))
                }
            };
        }
    }
}
