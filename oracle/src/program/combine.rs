//! Reductions: combining accumulators, pairwise and over whole rows of points at once.

use std::ops::Mul;

use super::grid::{Data, Grid};
use super::operation;
use crate::error::OracleError;
use crate::scaled::Scaled;
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
    Ok(partials)
}

/// Combines `data` with itself until it stands for `times` of it.
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
    pairs
        .map(|((left, right), element)| match (&left, &right) {
            (Data::Integer(a), Data::Integer(b)) => {
                let wrap = |(a, b): (&i64, &i64)| element.wrap_integer(integers(*a, *b));
                Ok(Data::Integer(a.iter().zip(b).map(wrap).collect()))
            }
            _ => operation::zip_floats(&left, &right, floats).ok_or(OracleError::Kind(step)),
        })
        .collect()
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
        .map(|((left, right), element)| match (left, right) {
            (Data::Integer(a), Data::Integer(b)) => {
                let wrap = |(a, b): (&i64, &i64)| element.wrap_integer(combine(*a, *b));
                Ok(Data::Integer(a.iter().zip(b).map(wrap).collect()))
            }
            _ => Err(OracleError::Kind(step)),
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
                let ulps = arithmetic_ulps(1, Order::Tree);
                let data = operation::apply(operation, &operands, &operand_types, ulps)
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

/// The accumulators of no terms at all, at `points` points.
fn identities(combiner: &Combiner, types: &[Element], points: usize) -> Vec<Data> {
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

/// The number as an element of that type holds it.
pub(crate) fn constant(number: Number, element: Element) -> Data {
    if element.is_float() {
        Data::exact(vec![element.round(number.as_f64())])
    } else {
        Data::Integer(vec![element.wrap_integer(number.as_i64())])
    }
}
