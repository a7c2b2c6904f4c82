//! The memory offsets that an access of a program reaches.
//!
//! Almost every access is affine in the dims of the space, and then an element's offset is a constant plus one
//! coefficient per dim. The rest (`floordiv` and `mod` of split dims) is evaluated point by point. Coordinates are checked
//! against the tensor's shape either way.

use std::collections::BTreeMap;
use std::ops::Range;

use super::grid::offsets;
use crate::layout::Layout;
use norma_bundle::expression::{EvaluateError, Expression, Operation};
use norma_bundle::program::{dim_of_symbol, dims_of_access};

/// Why an access has no offset.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum AccessError {
    /// A coordinate has no value.
    #[error(transparent)]
    Coordinate(#[from] EvaluateError),
    /// A coordinate lies outside of the tensor.
    #[error("coordinate '{coordinate}' reaches {value}, expected 0 to {}", extent - 1)]
    OutOfBounds {
        /// The coordinate's expression.
        coordinate: String,
        /// The value that is outside.
        value: i64,
        /// The extent of the tensor's dim.
        extent: i64,
    },
}

/// The offsets, in elements, that `access` reaches within `region`, row-major over the dims it depends on. At a point that does not exist,
/// as `existing` says for each in this order, the offset is 0.
///
/// # Errors
/// A coordinate that overflows or leaves the tensor.
pub fn element_offsets(
    access: &[Expression],
    layout: &Layout,
    sizes: &BTreeMap<String, i64>,
    region: &[Range<i64>],
    existing: Option<&[bool]>,
) -> Result<Vec<i64>, AccessError> {
    let dims = dims_of_access(access);
    let ranges: Vec<&Range<i64>> = dims.iter().map(|dim| &region[*dim]).collect();
    if ranges.iter().any(|range| range.is_empty()) {
        return Ok(Vec::new());
    }
    let size_of = |name: &str| sizes.get(name).copied();
    let affine: Option<Vec<Affine>> = access
        .iter()
        .map(|coordinate| Affine::of(coordinate, &dims, &size_of))
        .collect();
    let extents: Vec<usize> = ranges
        .iter()
        .map(|range| (range.end - range.start) as usize)
        .collect();
    let (None, Some(coordinates)) = (existing, affine) else {
        return offsets_point_by_point(access, layout, &size_of, (&dims, &ranges), &extents, existing);
    };
    let (mut base, mut steps) = (0i64, vec![0i64; dims.len()]);
    for ((coordinate, source), (extent, stride)) in coordinates
        .iter()
        .zip(access)
        .zip(layout.shape.iter().zip(&layout.strides))
    {
        for value in coordinate.bounds(&ranges) {
            check_bounds(source, value, *extent)?;
        }
        base += stride * coordinate.at(ranges.iter().map(|range| range.start));
        for (step, coefficient) in steps.iter_mut().zip(&coordinate.coefficients) {
            *step += stride * coefficient;
        }
    }
    Ok(offsets(base, &extents, &steps))
}

fn offsets_point_by_point(
    access: &[Expression],
    layout: &Layout,
    size_of: &dyn Fn(&str) -> Option<i64>,
    (dims, ranges): (&[usize], &[&Range<i64>]),
    extents: &[usize],
    existing: Option<&[bool]>,
) -> Result<Vec<i64>, AccessError> {
    let count: usize = extents.iter().product();
    let mut found = Vec::with_capacity(count);
    let mut point: Vec<i64> = ranges.iter().map(|range| range.start).collect();
    for number in 0..count {
        let exists = existing.is_none_or(|existing| existing.get(number).copied().unwrap_or_default());
        let bindings = |name: &str| match dim_of_symbol(name) {
            Some(dim) => dims.iter().position(|own| *own == dim).map(|index| point[index]),
            None => size_of(name),
        };
        let mut offset = 0;
        let axes = layout.shape.iter().zip(&layout.strides);
        for (coordinate, (extent, stride)) in access.iter().zip(axes).filter(|_| exists) {
            let value = coordinate.evaluate(&bindings)?;
            check_bounds(coordinate, value, *extent)?;
            offset += value * stride;
        }
        found.push(offset);
        for index in (0..point.len()).rev() {
            point[index] += 1;
            if point[index] < ranges[index].end {
                break;
            }
            point[index] = ranges[index].start;
        }
    }
    Ok(found)
}

fn check_bounds(coordinate: &Expression, value: i64, extent: i64) -> Result<(), AccessError> {
    if (0..extent).contains(&value) {
        return Ok(());
    }
    Err(AccessError::OutOfBounds {
        coordinate: coordinate.to_string(),
        value,
        extent,
    })
}

/// `constant + sum(coefficient * dim)`.
#[derive(Clone, Debug, PartialEq)]
struct Affine {
    constant: i64,
    coefficients: Vec<i64>,
}

impl Affine {
    /// The affine form of `expression` over `dims`, or `None` if it is not affine or overflows.
    fn of(expression: &Expression, dims: &[usize], size_of: &dyn Fn(&str) -> Option<i64>) -> Option<Affine> {
        let constant = |value| Affine {
            constant: value,
            coefficients: vec![0; dims.len()],
        };
        match expression {
            Expression::Integer(value) => Some(constant(*value)),
            Expression::Symbol(name) => match dim_of_symbol(name) {
                Some(dim) => {
                    let index = dims.iter().position(|own| *own == dim)?;
                    let mut affine = constant(0);
                    affine.coefficients[index] = 1;
                    Some(affine)
                }
                None => size_of(name).map(constant),
            },
            Expression::Binary(operation, a, b) => {
                let (a, b) = (Affine::of(a, dims, size_of)?, Affine::of(b, dims, size_of)?);
                match operation {
                    Operation::Add => a.combine(&b, i64::checked_add),
                    Operation::Subtract => a.combine(&b, i64::checked_sub),
                    Operation::Multiply if b.is_constant() => a.scale(b.constant),
                    Operation::Multiply if a.is_constant() => b.scale(a.constant),
                    _ if a.is_constant() && b.is_constant() => {
                        let folded = Expression::binary(*operation, a.constant.into(), b.constant.into());
                        folded.as_integer().map(constant)
                    }
                    _ => None,
                }
            }
        }
    }

    fn is_constant(&self) -> bool {
        self.coefficients.iter().all(|coefficient| *coefficient == 0)
    }

    fn combine(&self, other: &Affine, apply: fn(i64, i64) -> Option<i64>) -> Option<Affine> {
        let pairs = self.coefficients.iter().zip(&other.coefficients);
        Some(Affine {
            constant: apply(self.constant, other.constant)?,
            coefficients: pairs.map(|(a, b)| apply(*a, *b)).collect::<Option<_>>()?,
        })
    }

    fn scale(&self, factor: i64) -> Option<Affine> {
        let scaled = self
            .coefficients
            .iter()
            .map(|coefficient| coefficient.checked_mul(factor));
        Some(Affine {
            constant: self.constant.checked_mul(factor)?,
            coefficients: scaled.collect::<Option<_>>()?,
        })
    }

    fn at(&self, point: impl Iterator<Item = i64>) -> i64 {
        self.constant
            + self
                .coefficients
                .iter()
                .zip(point)
                .map(|(c, x)| c * x)
                .sum::<i64>()
    }

    /// The smallest and the largest value within `ranges`, none of which is empty.
    fn bounds(&self, ranges: &[&Range<i64>]) -> [i64; 2] {
        let end = |largest: bool| {
            let corner = self
                .coefficients
                .iter()
                .zip(ranges)
                .map(move |(coefficient, range)| {
                    if (*coefficient > 0) == largest {
                        range.end - 1
                    } else {
                        range.start
                    }
                });
            self.at(corner)
        };
        [end(false), end(true)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(access: &[&str], shape: &[i64], region: &[Range<i64>]) -> Result<Vec<i64>, AccessError> {
        let access: Vec<Expression> = access
            .iter()
            .map(|source| Expression::parse(source).unwrap())
            .collect();
        let sizes = BTreeMap::from([("k".to_owned(), 4)]);
        element_offsets(&access, &Layout::contiguous(shape).unwrap(), &sizes, region, None)
    }

    #[test]
    fn affine_accesses_are_linear_in_the_dims() {
        assert_eq!(
            found(&["d0", "d1"], &[4, 10], &[2..3, 0..3]).unwrap(),
            [20, 21, 22]
        );
        assert_eq!(
            found(&["d1", "d0"], &[4, 10], &[2..4, 0..2]).unwrap(),
            [2, 12, 3, 13]
        );
        assert_eq!(found(&["d0*k + d1"], &[16], &[1..3, 0..2]).unwrap(), [4, 5, 8, 9]);
        assert_eq!(found(&["d1"], &[4], &[7..9, 1..3]).unwrap(), [1, 2]);
    }

    #[test]
    fn split_dims_are_evaluated_point_by_point() {
        let split = found(
            &["floordiv(d0, 4)", "mod(d0, 4)"],
            &[2, 4],
            std::slice::from_ref(&(2..6)),
        )
        .unwrap();
        assert_eq!(split, [2, 3, 4, 5]);
    }

    #[test]
    fn coordinates_stay_within_the_tensor() {
        let error = found(&["d0 + 1"], &[4], std::slice::from_ref(&(0..4))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "coordinate 'd0 + 1' reaches 4, expected 0 to 3"
        );
        assert!(found(&["mod(d0, 8)"], &[4], std::slice::from_ref(&(0..8))).is_err());
        assert_eq!(
            found(&["d0 + 9"], &[4], std::slice::from_ref(&(2..2))).unwrap(),
            Vec::<i64>::new()
        );
    }
}
