//! Guards of a space: which points of its dims there are.
//!
//! A guard `lhs < rhs` concerns what uses all of its dims. Most guards limit a coordinate that the dims linearize, such as
//! `block * 128 + within < n`: then there are exactly the points at which the coordinate is below the limit.

use std::collections::BTreeSet;

use melior::{
    Context,
    ir::{AffineExpr, AffineMap},
};

use crate::mlir::linear_form::LinearForm;

/// The sides of a guard: there is no point of its dims at which the first is not less than the second.
pub type Guard<'c> = [AffineExpr<'c>; 2];

/// The guards of a map, which holds their sides one after the other.
///
/// # Errors
///
/// The map has no such result, which is an internal error.
pub fn of_map(map: AffineMap<'_>) -> Result<Vec<Guard<'_>>, melior::Error> {
    let pairs = 0..map.result_count() / 2;
    pairs
        .map(|pair| Ok([map.result(2 * pair)?, map.result(2 * pair + 1)?]))
        .collect()
}

/// The map that holds the sides of guards, over `dims` dims and `symbols` symbols; `None` if there are no guards.
pub fn map_of<'c>(
    context: &'c Context,
    guards: &[Guard<'c>],
    dims: usize,
    symbols: usize,
) -> Option<AffineMap<'c>> {
    (!guards.is_empty()).then(|| AffineMap::new(context, dims, symbols, guards.as_flattened()))
}

/// The dims of a guard.
pub fn dims_of(guard: &Guard<'_>) -> BTreeSet<usize> {
    let mut dims = BTreeSet::new();
    let mut open = guard.to_vec();
    while let Some(expression) = open.pop() {
        if expression.is_dim() {
            dims.insert(expression.dim_position());
        } else if expression.is_binary() {
            open.extend([expression.lhs(), expression.rhs()]);
        }
    }
    dims
}

/// Whether a guard concerns what uses `dims`.
pub fn concerns(guard: &Guard<'_>, dims: &BTreeSet<usize>) -> bool {
    dims_of(guard).is_subset(dims)
}

/// How many of the numbers 0, 1, 2, … a coordinate over `dims` dims still takes under a guard; without the guard it takes those below
/// `count`.
///
/// The coordinate has to be the guard's left side, or a factor times it plus dims that enumerate the numbers below the factor; of these
/// dims only the factors are checked, which have to be smaller. `None` for other coordinates, and if the guard is not known to leave at
/// most `count`.
pub fn left_by<'c>(
    guard: &Guard<'c>,
    coordinate: AffineExpr<'c>,
    dims: usize,
    count: AffineExpr<'c>,
    context: &'c Context,
) -> Option<AffineExpr<'c>> {
    let [lhs, limit] = guard;
    let (form, own) = (
        LinearForm::of(coordinate, dims, 0)?,
        LinearForm::of(*lhs, dims, 0)?,
    );
    let is_over_dims = (0..dims).any(|dim| limit.is_function_of_dim(dim));
    let first = own.dims.iter().position(|factor| *factor != 0)?;
    let factor = form.dims[first].checked_div(own.dims[first])?;
    let is_multiple = form.dims.iter().zip(&own.dims).all(|(of_coordinate, of_guard)| {
        match *of_guard {
            // A digit below the factor.
            0 => *of_coordinate < factor.max(1),
            of_guard => of_guard.checked_mul(factor) == Some(*of_coordinate),
        }
    });
    if is_over_dims || factor < 1 || !is_multiple || own.constant != 0 || form.constant != 0 {
        return None;
    }
    let left = *limit * AffineExpr::constant(context, factor);
    is_at_most(left, count).then_some(left)
}

/// Whether a number is known to be at most `count`: both are constants, or `count` is the number rounded up to a multiple.
fn is_at_most(number: AffineExpr<'_>, count: AffineExpr<'_>) -> bool {
    if number.is_constant() && count.is_constant() {
        return number.constant_value() <= count.constant_value();
    }
    if number == count {
        return true;
    }
    let rounded = |quotient: AffineExpr<'_>, multiple: i64| {
        quotient.is_ceil_div()
            && quotient.lhs() == number
            && quotient.rhs().is_constant()
            && (1..=multiple).contains(&quotient.rhs().constant_value())
    };
    count.is_mul() && count.rhs().is_constant() && rounded(count.lhs(), count.rhs().constant_value())
}

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        ir::{AffineExpr, AffineMap, Attribute, AttributeLike},
    };

    use super::left_by;

    /// What the guard of the first two results leaves of the third, which has as many values as the fourth says.
    fn left(text: &str) -> Option<String> {
        let context = Context::new();
        let attribute = Attribute::parse(&context, &format!("affine_map<{text}>")).unwrap();
        // SAFETY: the attribute is an affine map and the context is alive.
        let map = unsafe { AffineMap::from_raw(mlir_sys::mlirAffineMapAttrGetValue(attribute.to_raw())) };
        let at = |result| -> AffineExpr<'_> { map.result(result).unwrap() };
        let left = left_by(&[at(0), at(1)], at(2), map.dim_count(), at(3), &context);
        left.map(|left| left.to_string())
    }

    #[test]
    fn a_guard_leaves_the_numbers_below_its_limit() {
        let whole = "(d0, d1)[s0] -> (d0 * 128 + d1, s0, d0 * 128 + d1, (s0 ceildiv 128) * 128)";
        assert_eq!(left(whole), Some("s0".to_owned()));
        let pairs = "(d0, d1, d2) -> (d0 * 8 + d1, 50, d0 * 16 + d1 * 2 + d2, 112)";
        assert_eq!(left(pairs), Some("100".to_owned()));
    }

    #[test]
    fn a_guard_of_another_coordinate_leaves_no_known_number() {
        for other in [
            "(d0, d1)[s0] -> (d0 * 128 + d1, s0, d0, s0 ceildiv 128)",
            "(d0, d1)[s0] -> (d0 * 128 + d1, s0, d0 * 128 + d1 + 1, (s0 ceildiv 128) * 128)",
            "(d0, d1)[s0] -> (d0 * 64 + d1, s0, d0 * 128 + d1, (s0 ceildiv 128) * 128)",
            "(d0, d1)[s0] -> (d0 * 128 + d1, s0, d0 * 128 + d1, s0 floordiv 128)",
            "(d0, d1) -> (d0 * 128 + d1, 200, d0 * 128 + d1, 128)",
        ] {
            assert_eq!(left(other), None, "{other}");
        }
    }
}
