//! Values with the magnitude at which a kernel's rounding errors may have occurred on the way to them.
//!
//! The *scale* of a value is the largest magnitude that took part in computing it, as far as later steps propagate its rounding
//! error: `x - mean` near zero has the scale of `x`. The result of a function `f` has the larger of two scales: `|f(x)|`, and
//! the operand's scale times `|f'(x)|`. `tolerance.rs` turns scales into bounds.
//!
//! Two scales are special. Zero marks an exact value, whose bits every right kernel must produce: an input, and what follows
//! from inputs by ops that round once (`operation.rs`). [`UNDEFINED`] marks a value that the program leaves open.

use std::ops::{Add, Div, Mul, Neg, Sub};

use norma_bundle::Element;

/// The scale of a value that the program leaves open: poison, or a result that depends on poison.
pub const UNDEFINED: f64 = -1.0;

/// How many ulp of f32 a factor is taken to be off at most, where the product of two errors is what remains of a product.
const FACTOR_ULPS: f64 = 256.0;

/// A value in f64 and its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
    /// The value.
    pub value: f64,
    /// The magnitude at which it may err; 0 if it cannot, [`UNDEFINED`] if it may be anything.
    pub scale: f64,
}

impl Scaled {
    /// A number that is exact as it stands: a stored input, a constant.
    pub fn exact(value: f64) -> Scaled {
        Scaled { value, scale: 0.0 }
    }

    /// A value that may be anything.
    pub fn undefined() -> Scaled {
        Scaled {
            value: f64::NAN,
            scale: UNDEFINED,
        }
    }

    /// Whether every right kernel has this value to the bit.
    pub fn is_exact(self) -> bool {
        self.scale == 0.0
    }

    /// Whether the program leaves the value open.
    pub fn is_undefined(self) -> bool {
        self.scale < 0.0
    }

    /// A product or a quotient, given the scale that it has from its operands. One below the normal numbers of f32 is rounded to multiples
    /// of the least subnormal, as if it were the least normal number: later steps may magnify that error.
    fn rounded(value: f64, scale: f64) -> Scaled {
        let least_normal = f64::from(f32::MIN_POSITIVE);
        let magnitude = match value {
            0.0 => 0.0,
            _ => value.abs().max(least_normal),
        };
        Scaled {
            value,
            scale: magnitude.max(scale),
        }
    }

    /// Raises the scale to at least the value's own magnitude, for an operand that is itself rounded on the way.
    pub fn rescaled(self) -> Scaled {
        Scaled {
            scale: self.scale.max(self.value.abs()),
            ..self
        }
    }

    /// How far a kernel's value may be from this one, if `ulps` ulp of `arithmetic` are allowed at its scale.
    pub fn slack(self, ulps: f64, arithmetic: Element) -> f64 {
        match self.is_exact() {
            true => 0.0,
            false => ulps * arithmetic.ulp(self.rescaled().scale),
        }
    }

    /// The result of a function of `self`, given its value and its derivative there.
    pub fn through(self, value: f64, slope: f64) -> Scaled {
        Scaled {
            value,
            scale: value.abs().max(slope.abs() * self.scale),
        }
    }

    /// The least scale at which `ulps` ulp of `arithmetic` are at least `distance`. The factor of 2 is needed because the ulp
    /// within a binade is that of the binade's lower end.
    pub fn scale_of(distance: f64, ulps: f64, arithmetic: Element) -> f64 {
        2.0 * distance / (ulps * arithmetic.ulp(1.0))
    }

    /// The magnitude.
    pub fn magnitude(self) -> Scaled {
        Scaled {
            value: self.value.abs(),
            scale: self.scale,
        }
    }

    /// The square root. Close to 0 its slope says nothing: an operand that is off by d has a root that is off by sqrt(d) at most. The
    /// bound holds for f64, and so for f32 too.
    pub fn sqrt(self) -> Scaled {
        let root = self.value.sqrt();
        let by_slope = 0.5 / root * self.scale;
        let most = (self.scale / Element::F64.ulp(1.0)).sqrt();
        Scaled {
            value: root,
            scale: root.max(by_slope.min(most)),
        }
    }

    /// `1 / sqrt(self)`.
    pub fn rsqrt(self) -> Scaled {
        let root = self.value.sqrt();
        self.through(1.0 / root, 0.5 / (self.value * root))
    }

    /// The exponential, whose argument is rounded on the way.
    pub fn exp(self) -> Scaled {
        let power = self.value.exp();
        self.rescaled().through(power, power)
    }

    /// The natural logarithm, which errs by some ulp of 1 where it is close to 0.
    pub fn ln(self) -> Scaled {
        let found = self.through(self.value.ln(), 1.0 / self.value);
        found.at_least(1.0)
    }

    /// The hyperbolic tangent, which errs by some ulp of 1 where it is close to 0.
    pub fn tanh(self) -> Scaled {
        let value = self.value.tanh();
        self.through(value, 1.0 - value * value).at_least(1.0)
    }

    /// The same value with its scale raised to at least `scale`.
    fn at_least(self, scale: f64) -> Scaled {
        Scaled {
            scale: self.scale.max(scale),
            ..self
        }
    }

    /// The sum of two partial sums, whose scale is the sum of the terms' magnitudes.
    pub fn add_terms(self, other: Scaled) -> Scaled {
        Scaled {
            value: self.value + other.value,
            scale: self.rescaled().scale + other.rescaled().scale,
        }
    }

    /// IEEE 754-2019 maximum: NaN if either is NaN, and +0 above -0. Whichever operand is the larger in a kernel, the result
    /// errs by no more than the two do; -Inf, such as a masked logit, is -Inf in every kernel, and so the other operand is the larger.
    pub fn maximum(self, other: Scaled) -> Scaled {
        if self.value.is_nan() || other.value.is_nan() {
            return Scaled::exact(f64::NAN);
        }
        let wins = self.value > other.value || (self.value == other.value && self.value.is_sign_positive());
        let (winner, loser) = if wins { (self, other) } else { (other, self) };
        match loser.value == f64::NEG_INFINITY {
            true => winner,
            false => winner.at_least(loser.scale),
        }
    }

    /// IEEE 754-2019 minimum: NaN if either is NaN, and -0 below +0.
    pub fn minimum(self, other: Scaled) -> Scaled {
        -(-self).maximum(-other)
    }

    /// The maximum of two numbers; if one is NaN, the other, as C's `fmax`.
    pub fn maximum_number(self, other: Scaled) -> Scaled {
        match (self.value.is_nan(), other.value.is_nan()) {
            (true, _) => other,
            (_, true) => self,
            _ => self.maximum(other),
        }
    }

    /// The minimum of two numbers; if one is NaN, the other, as C's `fmin`.
    pub fn minimum_number(self, other: Scaled) -> Scaled {
        -(-self).maximum_number(-other)
    }

    /// `self * b + c` with one rounding.
    pub fn multiply_add(self, b: Scaled, c: Scaled) -> Scaled {
        let value = self.value.mul_add(b.value, c.value);
        Scaled {
            value,
            scale: value.abs().max((self * b).scale).max(c.scale),
        }
    }

    /// `self` to the power of `exponent`.
    pub fn power(self, exponent: Scaled) -> Scaled {
        let power = self.value.powf(exponent.value);
        let by_base = (exponent.value * self.value.powf(exponent.value - 1.0)).abs() * self.scale;
        let by_exponent = (power * self.value.abs().ln()).abs() * exponent.scale;
        Scaled {
            value: power,
            scale: power.abs().max(by_base).max(by_exponent),
        }
    }
}

impl Neg for Scaled {
    type Output = Scaled;

    fn neg(self) -> Scaled {
        Scaled {
            value: -self.value,
            scale: self.scale,
        }
    }
}

impl Add for Scaled {
    type Output = Scaled;

    fn add(self, other: Scaled) -> Scaled {
        let value = self.value + other.value;
        Scaled {
            value,
            scale: value.abs().max(self.scale).max(other.scale),
        }
    }
}

impl Sub for Scaled {
    type Output = Scaled;

    fn sub(self, other: Scaled) -> Scaled {
        self + -other
    }
}

impl Mul for Scaled {
    type Output = Scaled;

    /// Each factor's error is scaled by the other factor. The errors add, because those of a square are the same error twice. Where
    /// both factors cancelled, as the deviations of equal numbers from their mean do, the product of the errors remains.
    fn mul(self, other: Scaled) -> Scaled {
        let by_both = self.scale * other.value.abs() + self.value.abs() * other.scale;
        let of_errors = self.scale * other.scale * (FACTOR_ULPS * Element::F32.ulp(1.0));
        Scaled::rounded(self.value * other.value, by_both.max(of_errors))
    }
}

impl Div for Scaled {
    type Output = Scaled;

    /// Errors add as in a product.
    fn div(self, other: Scaled) -> Scaled {
        let value = self.value / other.value;
        let divisor = other.value.abs();
        let by_both = self.scale / divisor + value.abs() * other.scale / divisor;
        Scaled::rounded(value, by_both)
    }
}

/// The sum of the terms, pairwise: its error in f64 grows with log2 of their number, far below any tolerance.
pub fn sum(terms: &[Scaled]) -> Scaled {
    /// A leaf is so short that its sequential sum errs no more than the tree above it.
    const LEAF: usize = 16;
    if terms.len() <= LEAF {
        return terms
            .iter()
            .fold(Scaled::exact(0.0), |sum, term| sum.add_terms(*term));
    }
    let (low, high) = terms.split_at(terms.len() / 2);
    sum(low).add_terms(sum(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(value: f64, scale: f64) -> Scaled {
        Scaled { value, scale }
    }

    #[test]
    fn cancellation_keeps_the_scale_of_the_terms() {
        assert_eq!(
            scaled(1000.5, 1000.5) - Scaled::exact(1000.0),
            scaled(0.5, 1000.5)
        );
        // The difference of two exact numbers is rounded once.
        assert_eq!(Scaled::exact(1000.5) - Scaled::exact(1000.0), scaled(0.5, 0.5));
        assert_eq!(scaled(0.5, 1000.5) * Scaled::exact(2.0), scaled(1.0, 2001.0));
        assert_eq!(scaled(1.0, 1.0) * scaled(1.0, 1.0), scaled(1.0, 2.0));
        assert_eq!(scaled(0.5, 1000.5) / Scaled::exact(2.0), scaled(0.25, 500.25));
        assert_eq!(
            scaled(0.5, 8.0).multiply_add(Scaled::exact(4.0), Scaled::exact(-2.0)),
            scaled(0.0, 32.0)
        );
    }

    #[test]
    fn a_masked_operand_of_a_maximum_adds_no_error() {
        let masked = Scaled::exact(f64::NEG_INFINITY) + Scaled::exact(0.5);
        assert_eq!(masked.scale, f64::INFINITY);
        let logit = scaled(1.5, 8.0);
        assert_eq!((logit.maximum(masked), masked.maximum(logit)), (logit, logit));
        assert_eq!(masked.maximum(masked).value, f64::NEG_INFINITY);
        // An infinite minimum is not what is masked.
        assert_eq!((-logit).minimum(-masked), -logit);
        assert_eq!(logit.maximum(scaled(1.0, 9.0)), scaled(1.5, 9.0));
    }

    #[test]
    fn squares_of_what_cancelled_may_be_off() {
        // The mean of ones is off by some ulp, and the squares of deviations from it are no exact zeros.
        let deviation = scaled(1.0, 1.0) - Scaled::exact(1.0);
        let square = deviation * deviation;
        let off = 3.0 * Element::F32.ulp(1.0);
        assert!(square.slack(4.0, Element::F32) > off * off && !square.is_exact());
        assert!(square.sqrt().slack(4.0, Element::F32) > off);
        // An exact zero makes an exact zero.
        assert!((deviation * Scaled::exact(0.0)).is_exact());
    }

    #[test]
    fn roots_of_squares_below_the_least_number_may_be_0() {
        let number = Scaled::exact(1e-30);
        let length = (number * number).sqrt();
        assert!(length.slack(4.0, Element::F32) > 1e-30);
        assert!(length.slack(4.0, Element::F32) < 1e-15);
        let normal = Scaled::exact(1e-15);
        assert!((normal * normal).sqrt().slack(4.0, Element::F32) < 1e-20);
        assert!(Scaled::exact(0.0).sqrt().is_exact());
    }

    #[test]
    fn sums_have_the_scale_of_all_their_terms() {
        let terms: Vec<Scaled> = (0..100)
            .map(|i| Scaled::exact(if i % 2 == 0 { 3.0 } else { -3.0 }))
            .collect();
        assert_eq!(sum(&terms), scaled(0.0, 300.0));
        assert_eq!(sum(&[]), scaled(0.0, 0.0));
    }

    #[test]
    fn sums_lose_nothing_that_a_tolerance_would_see() {
        // 0.1 a million times: a sequential f64 sum is 1e-6 off, which f32 would not see either; pairwise is exact to 1e-11.
        let terms = vec![Scaled::exact(0.1); 1 << 20];
        assert!((sum(&terms).value - 0.1 * f64::from(1 << 20)).abs() < 1e-10);
    }

    #[test]
    fn maxima_propagate_nan_and_order_zeros() {
        let (nan, zero, one) = (Scaled::exact(f64::NAN), Scaled::exact(0.0), Scaled::exact(1.0));
        assert!(one.maximum(nan).value.is_nan() && nan.minimum(one).value.is_nan());
        assert!((-zero).maximum(zero).value.is_sign_positive());
        assert!(zero.minimum(-zero).value.is_sign_negative());
        assert_eq!(one.maximum_number(nan), one);
        assert_eq!(nan.minimum_number(one), one);
    }
}
