//! Between which numbers an affine expression lies, given as much of its symbols.

use melior::ir::AffineExpr;

/// The numbers from `least` to `most`, both included. What is not bounded above has `i64::MAX`, which no size reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least number.
    pub least: i64,
    /// The greatest number.
    pub most: i64,
}

impl Interval {
    /// Any number.
    pub const ANY: Self = Self {
        least: i64::MIN,
        most: i64::MAX,
    };
    /// Any size.
    pub const SIZE: Self = Self {
        least: 0,
        most: i64::MAX,
    };

    /// One number.
    pub fn exactly(value: i64) -> Self {
        Self {
            least: value,
            most: value,
        }
    }

    /// The upper bound, if there is one.
    pub fn bound(self) -> Option<i64> {
        (self.most != i64::MAX).then_some(self.most)
    }

    /// Where `expression` lies if symbol `i` lies in `symbols(i)`; of dims nothing is known.
    pub fn of(expression: AffineExpr<'_>, symbols: &impl Fn(usize) -> Self) -> Self {
        if expression.is_constant() {
            return Self::exactly(expression.constant_value());
        }
        if expression.is_symbol() {
            return symbols(expression.symbol_position());
        }
        if !expression.is_binary() {
            return Self::ANY;
        }
        let (lhs, rhs) = (
            Self::of(expression.lhs(), symbols),
            Self::of(expression.rhs(), symbols),
        );
        let divisor = (rhs.least == rhs.most && rhs.least > 0).then_some(rhs.least);
        if expression.is_add() {
            return Self {
                least: lhs.least.saturating_add(rhs.least),
                most: lhs.most.saturating_add(rhs.most),
            };
        }
        if expression.is_mul() {
            return lhs.times(rhs);
        }
        let Some(divisor) = divisor else {
            return Self::ANY;
        };
        if expression.is_mod() {
            return Self {
                least: 0,
                most: divisor - 1,
            };
        }
        // Rounding keeps the order, and bounds that stand for none stay such.
        let quotient = |value: i64| match value {
            i64::MIN | i64::MAX => value,
            _ if expression.is_floor_div() => value.div_euclid(divisor),
            _ => value.div_euclid(divisor) + i64::from(value.rem_euclid(divisor) != 0),
        };
        Self {
            least: quotient(lhs.least),
            most: quotient(lhs.most),
        }
    }

    /// Where a product of two numbers lies.
    pub fn times(self, other: Self) -> Self {
        let corners = [
            self.least.saturating_mul(other.least),
            self.least.saturating_mul(other.most),
            self.most.saturating_mul(other.least),
            self.most.saturating_mul(other.most),
        ];
        corners.into_iter().map(Self::exactly).fold(
            Self {
                least: i64::MAX,
                most: i64::MIN,
            },
            |hull, corner| Self {
                least: hull.least.min(corner.least),
                most: hull.most.max(corner.most),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use melior::{Context, ir::AffineExpr};

    use super::Interval;

    /// Against every value of two sizes: the first from 3 to 9, the second from 0 to 5.
    #[test]
    fn no_value_lies_outside_and_the_bounds_of_one_term_are_reached() {
        let context = Context::new();
        let symbol = |position| AffineExpr::symbol(&context, position);
        let constant = |value| AffineExpr::constant(&context, value);
        let within = |position: usize| match position {
            0 => Interval { least: 3, most: 9 },
            _ => Interval { least: 0, most: 5 },
        };
        let (a, b) = (symbol(0), symbol(1));
        type Value = fn(i64, i64) -> i64;
        let cases: [(AffineExpr<'_>, Value); 6] = [
            (a + constant(-4), |a, _| a - 4),
            (a * constant(-2), |a, _| -2 * a),
            (AffineExpr::ceil_div(a, constant(4)), |a, _| (a + 3).div_euclid(4)),
            (AffineExpr::floor_div(a + constant(-4), constant(4)), |a, _| {
                (a - 4).div_euclid(4)
            }),
            (a * b, |a, b| a * b),
            (a + b * constant(3), |a, b| a + 3 * b),
        ];
        for (expression, value) in cases {
            let values = (3..=9).flat_map(|a| (0..=5).map(move |b| value(a, b)));
            let expected = Interval {
                least: values.clone().min().unwrap_or_default(),
                most: values.max().unwrap_or_default(),
            };
            assert_eq!(Interval::of(expression, &within), expected, "{expression}");
        }
        let modulo = Interval::of(AffineExpr::modulo(a, constant(4)), &within);
        assert_eq!(modulo, Interval { least: 0, most: 3 });
    }

    #[test]
    fn what_has_no_bound_has_none_after_a_division() {
        let context = Context::new();
        let size = AffineExpr::symbol(&context, 0);
        let half = AffineExpr::ceil_div(size, AffineExpr::constant(&context, 2));
        assert_eq!(Interval::of(half, &|_| Interval::SIZE).bound(), None);
        assert_eq!(
            Interval::of(size + AffineExpr::constant(&context, 5), &|_| Interval::SIZE),
            Interval {
                least: 5,
                most: i64::MAX
            }
        );
    }
}
