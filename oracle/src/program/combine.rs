//! Reductions and scans: combining accumulators, pairwise and over whole rows of points at once.

use std::ops::Mul;

use super::grid::{Data, Grid};
use super::operation;
use crate::error::OracleError;
use crate::scaled::{Scaled, UNDEFINED};
use crate::tolerance::{Order, arithmetic_ulps};
use norma_bundle::Element;
use norma_bundle::program::{Combiner, Number, Region, Step};

/// Combines `rows` rows of `kept` elements pairwise until one is left.
pub(crate) fn reduce_rows(
    step: usize,
    combiner: &Combiner,
    types: &[Element],
    mut partials: Vec<Data>,
    mut rows: usize,
    kept: usize,
) -> Result<Vec<Data>, OracleError> {
    if rows == 0 {
        return Ok(identities(combiner, types, kept));
    }
    let exact: Vec<Vec<bool>> = match combiner {
        Combiner::Add if rows > 1 => {
            let sums = partials.iter().zip(types);
            sums.map(|(data, element)| exact_sums(data, *element, kept))
                .collect()
        }
        _ => Vec::new(),
    };
    while rows > 1 {
        let half = rows / 2;
        let (mut low, mut high, mut odd) = (Vec::new(), Vec::new(), Vec::new());
        for data in partials {
            let (front, back) = data.split(half * kept);
            let (back, last) = back.split(half * kept);
            low.push(front);
            high.push(back);
            odd.push(last);
        }
        let combined = combine(step, combiner, types, low, high)?;
        partials = combined
            .into_iter()
            .zip(odd)
            .map(|(data, last)| data.append(last))
            .collect();
        rows -= half;
    }
    for (data, exact) in partials.iter_mut().zip(exact) {
        if let Data::Float { scales, .. } = data {
            let exact = scales.iter_mut().zip(exact).filter(|(_, exact)| *exact);
            exact.for_each(|(scale, _)| *scale = 0.0);
        }
    }
    Ok(partials)
}

/// Scans `rows` rows of `kept` elements: each row of the result combines the rows up to and including it, or with `exclusive`
/// those before it.
pub(crate) fn scan_rows(
    step: usize,
    combiner: &Combiner,
    element: Element,
    exclusive: bool,
    data: Data,
    rows: usize,
    kept: usize,
) -> Result<Data, OracleError> {
    let types = [element];
    let one = |data: Vec<Data>| data.into_iter().next().ok_or(OracleError::Kind(step));
    let exact = match combiner {
        Combiner::Add => exact_sums(&data, element, kept),
        _ => Vec::new(),
    };
    let mut before = one(identities(combiner, &types, kept))?;
    let (mut found, mut rest) = data.clone().split(0);
    for _ in 0..rows {
        let (row, others) = rest.split(kept);
        let up_to = one(combine(step, combiner, &types, vec![before.clone()], vec![row])?)?;
        found = found.append(if exclusive { before } else { up_to.clone() });
        (before, rest) = (up_to, others);
    }
    if let Data::Float { scales, .. } = &mut found {
        let exact = scales.iter_mut().zip(exact.iter().cycle());
        exact
            .filter(|(_, exact)| **exact)
            .for_each(|(scale, _)| *scale = 0.0);
    }
    Ok(found)
}

/// For each of the `kept` sums of `data`'s rows, whether it is exact in every order: all terms are exact multiples of one power
/// of two, and so small that `element` represents each partial sum.
fn exact_sums(data: &Data, element: Element, kept: usize) -> Vec<bool> {
    if !matches!(data, Data::Float { .. }) || kept == 0 {
        return Vec::new();
    }
    let mut unit = vec![f64::INFINITY; kept];
    let mut total = vec![0.0; kept];
    for (index, term) in data.floats().enumerate() {
        let (unit, total) = (&mut unit[index % kept], &mut total[index % kept]);
        if !term.is_exact() || !term.value.is_finite() {
            *total = f64::INFINITY;
        } else if term.value != 0.0 {
            // The lowest set bit of the mantissa.
            let zeros = (term.value.to_bits() | 1 << 52).trailing_zeros() as i32;
            *unit = unit.min(Element::F64.ulp(term.value) * 2f64.powi(zeros.min(52)));
            *total += term.value.abs();
        }
    }
    let representable = |(unit, total): (f64, f64)| {
        total == 0.0 || (total <= element.largest_finite() && total * element.ulp(1.0) <= 2.0 * unit)
    };
    unit.into_iter().zip(total).map(representable).collect()
}

/// Accounts for the type that a kernel rounds partial results to: a narrow one errs by its own ulp each time. A sum that
/// overflows in some order but not in all is undefined.
pub(crate) fn accumulate_in(element: Element, combiner: &Combiner, data: &mut Data) {
    let Data::Float { scales, .. } = data else {
        return;
    };
    if matches!(combiner, Combiner::Max | Combiner::Min) {
        return;
    }
    let coarser = match element.is_narrow_float() {
        true => element.ulp(1.0) / Element::F32.ulp(1.0),
        false => 1.0,
    };
    for scale in scales
        .iter_mut()
        .filter(|scale| **scale > 0.0 && scale.is_finite())
    {
        *scale = match *combiner == Combiner::Add && *scale > element.largest_finite() {
            true => UNDEFINED,
            false => *scale * coarser,
        };
    }
}

/// Combines `times` copies of `data`, by repeated doubling.
pub(crate) fn repeat(
    step: usize,
    combiner: &Combiner,
    types: &[Element],
    data: Vec<Data>,
    times: i64,
    kept: usize,
) -> Result<Vec<Data>, OracleError> {
    if times == 1 {
        return Ok(data);
    }
    let mut result = identities(combiner, types, kept);
    let (mut power, mut left) = (data, times);
    while left > 0 {
        if left % 2 == 1 {
            result = combine(step, combiner, types, result, power.clone())?;
        }
        power = combine(step, combiner, types, power.clone(), power)?;
        left /= 2;
    }
    Ok(result)
}

/// Combines two accumulators, point by point.
pub(crate) fn combine(
    step: usize,
    combiner: &Combiner,
    types: &[Element],
    left: Vec<Data>,
    right: Vec<Data>,
) -> Result<Vec<Data>, OracleError> {
    type Floats = fn(Scaled, Scaled) -> Scaled;
    let (floats, integers): (Floats, fn(i64, i64) -> i64) = match combiner {
        Combiner::Add => (Scaled::add_terms, i64::wrapping_add),
        Combiner::Mul => (Scaled::mul, i64::wrapping_mul),
        Combiner::Max => (Scaled::maximum, Ord::max),
        Combiner::Min => (Scaled::minimum, Ord::min),
        Combiner::And => return bitwise(step, types, &left, &right, |a, b| a & b),
        Combiner::Or => return bitwise(step, types, &left, &right, |a, b| a | b),
        Combiner::Region(region) => return combine_by_region(step, region, types, left, right),
    };
    let pairs = left.into_iter().zip(right).zip(types);
    let combined = pairs.map(|((left, right), element)| match (&left, &right) {
        (Data::Integer { .. }, _) => operation::zip_integers(&left, &right, *element, integers),
        _ => operation::zip_floats(&left, &right, floats),
    });
    combined.map(|data| data.ok_or(OracleError::Kind(step))).collect()
}

fn bitwise(
    step: usize,
    types: &[Element],
    left: &[Data],
    right: &[Data],
    combine: fn(i64, i64) -> i64,
) -> Result<Vec<Data>, OracleError> {
    let triples = left.iter().zip(right).zip(types);
    triples
        .map(|((left, right), element)| {
            operation::zip_integers(left, right, *element, combine).ok_or(OracleError::Kind(step))
        })
        .collect()
}

fn combine_by_region(
    step: usize,
    region: &Region,
    types: &[Element],
    left: Vec<Data>,
    right: Vec<Data>,
) -> Result<Vec<Data>, OracleError> {
    let points = left.first().map_or(0, Data::len);
    let mut values: Vec<Data> = left.into_iter().chain(right).collect();
    let mut known: Vec<Element> = types.iter().chain(types).copied().collect();
    for inner in &region.steps {
        let (data, element) = match inner {
            Step::Constant { value, element } => {
                let scalar = Grid::scalar(constant(*value, *element));
                (scalar.broadcast(&[0], &[points]).into_owned(), *element)
            }
            Step::Op(operation) => {
                let operands: Vec<&Data> = operation
                    .operands
                    .iter()
                    .map(|operand| &values[*operand])
                    .collect();
                let operand_types: Vec<Element> =
                    operation.operands.iter().map(|operand| known[*operand]).collect();
                let context = operation::Context {
                    types: &operand_types,
                    ulps: arithmetic_ulps(1, Order::Tree),
                    in_combiner: true,
                };
                let data = operation::apply(operation, &operands, context)
                    .map_err(|source| OracleError::Operation { step, source })?;
                (data, operation.element)
            }
            _ => return Err(OracleError::Kind(step)),
        };
        values.push(data);
        known.push(element);
    }
    Ok(region
        .results
        .iter()
        .map(|result| values[*result].clone())
        .collect())
}

/// The identity of each accumulator, at `points` points.
pub(crate) fn identities(combiner: &Combiner, types: &[Element], points: usize) -> Vec<Data> {
    let identity = |(index, element): (usize, &Element)| {
        let (smallest, largest) = match element.integer_bits() {
            None => (Number::Float(f64::NEG_INFINITY), Number::Float(f64::INFINITY)),
            Some(1) => (Number::Integer(0), Number::Integer(1)),
            Some(bits) => (
                Number::Integer(i64::MIN >> (64 - bits)),
                Number::Integer(i64::MAX >> (64 - bits)),
            ),
        };
        let number = match combiner {
            Combiner::Add | Combiner::Or => Number::Integer(0),
            Combiner::And => Number::Integer(-1),
            Combiner::Mul => Number::Integer(1),
            Combiner::Max => smallest,
            Combiner::Min => largest,
            Combiner::Region(region) => region.identities[index],
        };
        Grid::scalar(constant(number, *element))
            .broadcast(&[0], &[points])
            .into_owned()
    };
    types.iter().enumerate().map(identity).collect()
}

/// The number as stored in that element type.
pub(crate) fn constant(number: Number, element: Element) -> Data {
    if element.is_float() {
        Data::exact(vec![element.round(number.as_f64())])
    } else {
        Data::integers(vec![element.wrap_integer(number.as_i64())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(element: Element, terms: &[f64]) -> Scaled {
        let data = vec![Data::exact(terms.to_vec())];
        let mut found = reduce_rows(0, &Combiner::Add, &[element], data, terms.len(), 1).unwrap();
        accumulate_in(element, &Combiner::Add, &mut found[0]);
        found[0].floats().next().unwrap()
    }

    #[test]
    fn a_sum_is_exact_where_every_order_gives_it() {
        assert_eq!(sum(Element::F32, &[1.0, -2.5, 4096.0]), Scaled::exact(4094.5));
        assert!(!sum(Element::F32, &[1.0, 2f64.powi(-24), 2f64.powi(-24)]).is_exact());
        assert!(sum(Element::F32, &[1.0, 2f64.powi(-23)]).is_exact());
        // An order that adds the large terms first is exact, another is not.
        assert!(!sum(Element::F32, &[2f64.powi(24), 1.0, -2f64.powi(24)]).is_exact());
        assert!(!sum(Element::BF16, &[256.0, 1.0]).is_exact());
        assert!(!sum(Element::F32, &[f64::INFINITY, 1.0]).is_exact());
    }

    #[test]
    fn a_narrow_accumulator_errs_by_its_own_ulp() {
        let found = sum(Element::BF16, &[1.0, 1.0 / 512.0]);
        assert_eq!(Element::F32.ulp(found.scale), Element::BF16.ulp(1.0));
    }

    #[test]
    fn a_sum_that_overflows_in_some_order_is_open() {
        assert!(sum(Element::F16, &[60000.0, 60000.0, -60000.0]).is_undefined());
        assert_eq!(sum(Element::F16, &[f64::INFINITY, 1.0]).value, f64::INFINITY);
    }
}
