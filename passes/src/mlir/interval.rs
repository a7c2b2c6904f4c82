//! Interval analysis: bounds of affine expressions from bounds of their dims and symbols.

use melior::ir::AffineExpr;

/// The numbers from `least` to `most`, both included. `i64::MAX` as `most` stands for no upper bound; no size is that large.
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

    /// Bounds `expression`, given the bounds `dims(i)` of dim `i` and `symbols(i)` of symbol `i`.
    pub fn of(
        expression: AffineExpr<'_>,
        dims: &impl Fn(usize) -> Self,
        symbols: &impl Fn(usize) -> Self,
    ) -> Self {
        if expression.is_constant() {
            return Self::exactly(expression.constant_value());
        }
        if expression.is_dim() {
            return dims(expression.dim_position());
        }
        if expression.is_symbol() {
            return symbols(expression.symbol_position());
        }
        if !expression.is_binary() {
            return Self::ANY;
        }
        let (lhs, rhs) = (
            Self::of(expression.lhs(), dims, symbols),
            Self::of(expression.rhs(), dims, symbols),
        );
        let divisor = (rhs.least == rhs.most && rhs.least > 0).then_some(rhs.least);
        if expression.is_add() {
            return lhs.plus(rhs);
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
        // Rounding is monotonic. Values that stand for no bound are kept.
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

    /// The intersection of two intervals.
    pub fn within(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            most: self.most.min(other.most),
        }
    }

    /// Bounds the sum of two numbers.
    pub fn plus(self, other: Self) -> Self {
        // A sum with a term that has no bound has none either, whatever the other term subtracts.
        let sum = |a: i64, b: i64, unbounded: i64| match a == unbounded || b == unbounded {
            true => unbounded,
            false => a.saturating_add(b),
        };
        Self {
            least: sum(self.least, other.least, i64::MIN),
            most: sum(self.most, other.most, i64::MAX),
        }
    }

    /// Bounds the negated number.
    pub fn negated(self) -> Self {
        // A value that stands for no bound becomes that of the other side.
        let negated = |bound: i64| match bound {
            i64::MIN => i64::MAX,
            i64::MAX => i64::MIN,
            bound => -bound,
        };
        Self {
            least: negated(self.most),
            most: negated(self.least),
        }
    }

    /// Bounds the minimum of two numbers.
    pub fn least_of(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.min(other.most),
        }
    }

    /// Bounds the maximum of two numbers.
    pub fn greatest_of(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            most: self.most.max(other.most),
        }
    }

    /// Bounds the quotient of two numbers, rounded down. The result is [`Self::ANY`] if either may be negative. The divisor is not 0.
    pub fn quotient(self, divisor: Self) -> Self {
        if self.least < 0 || divisor.least < 0 {
            return Self::ANY;
        }
        Self {
            least: self.least / divisor.most.max(1),
            most: self.bound().map_or(i64::MAX, |most| most / divisor.least.max(1)),
        }
    }

    /// Bounds the remainder of a division. The result is [`Self::ANY`] if either number may be negative. The divisor is not 0.
    pub fn remainder(self, divisor: Self) -> Self {
        if self.least < 0 || divisor.least < 0 {
            return Self::ANY;
        }
        let below_divisor = divisor.bound().map_or(i64::MAX, |most| most - 1);
        Self {
            least: 0,
            most: self.most.min(below_divisor),
        }
    }

    /// Bounds the product of two numbers.
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

    /// Checked against every value of two sizes: the first from 3 to 9, the second from 0 to 5.
    #[test]
    fn no_value_lies_outside_and_the_bounds_of_one_term_are_reached() {
        let context = Context::new();
        let symbol = |position| AffineExpr::symbol(&context, position);
        let constant = |value| AffineExpr::constant(&context, value);
        let within = |position: usize| match position {
            0 => Interval { least: 3, most: 9 },
            _ => Interval { least: 0, most: 5 },
        };
        let of = |expression| Interval::of(expression, &|_| Interval::ANY, &within);
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
            assert_eq!(of(expression), expected, "{expression}");
        }
        let modulo = of(AffineExpr::modulo(a, constant(4)));
        assert_eq!(modulo, Interval { least: 0, most: 3 });
        let sum = AffineExpr::dim(&context, 0) + b;
        let of_both = Interval::of(sum, &|_| Interval { least: -2, most: 1 }, &within);
        assert_eq!(of_both, Interval { least: -2, most: 6 });
    }

    /// Checked against every value of two numbers: the first from -3 to 4, the second from 1 to 5.
    #[test]
    fn operations_on_numbers_reach_their_bounds() {
        let (a, b) = (Interval { least: -3, most: 4 }, Interval { least: 1, most: 5 });
        type Value = fn(i64, i64) -> i64;
        let cases: [(Interval, Value); 5] = [
            (a.plus(b), |a, b| a + b),
            (a.negated(), |a, _| -a),
            (a.times(b), |a, b| a * b),
            (a.least_of(b), i64::min),
            (a.greatest_of(b), i64::max),
        ];
        for (found, value) in cases {
            let values = (-3..=4).flat_map(|a| (1..=5).map(move |b| value(a, b)));
            let expected = Interval {
                least: values.clone().min().unwrap_or_default(),
                most: values.max().unwrap_or_default(),
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_sum_with_an_unbounded_term_is_unbounded() {
        let fewer = Interval::SIZE.plus(Interval::exactly(-1));
        assert_eq!((fewer.least, fewer.bound()), (-1, None));
        let more = Interval::ANY.plus(Interval::exactly(1));
        assert_eq!(more, Interval::ANY);
    }

    #[test]
    fn divisions_are_bounded_where_nothing_is_negative() {
        let (a, b) = (Interval { least: 5, most: 17 }, Interval { least: 2, most: 4 });
        assert_eq!(a.quotient(b), Interval { least: 1, most: 8 });
        assert_eq!(a.remainder(b), Interval { least: 0, most: 3 });
        assert_eq!(b.remainder(a), Interval { least: 0, most: 4 });
        assert_eq!(Interval::SIZE.quotient(b), Interval::SIZE);
        assert_eq!(Interval::SIZE.remainder(b), Interval { least: 0, most: 3 });
        assert_eq!(b.remainder(Interval::SIZE), Interval { least: 0, most: 4 });
        assert_eq!(b.quotient(Interval::SIZE), Interval { least: 0, most: 4 });
        let signed = Interval { least: -1, most: 3 };
        assert_eq!(signed.quotient(b), Interval::ANY);
        assert_eq!(signed.remainder(b), Interval::ANY);
    }

    #[test]
    fn what_has_no_bound_has_none_after_a_division() {
        let context = Context::new();
        let size = AffineExpr::symbol(&context, 0);
        let half = AffineExpr::ceil_div(size, AffineExpr::constant(&context, 2));
        assert_eq!(
            Interval::of(half, &|_| Interval::ANY, &|_| Interval::SIZE).bound(),
            None
        );
        assert_eq!(
            Interval::of(
                size + AffineExpr::constant(&context, 5),
                &|_| Interval::ANY,
                &|_| Interval::SIZE
            ),
            Interval {
                least: 5,
                most: i64::MAX
            }
        );
    }
}
