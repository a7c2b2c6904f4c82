//! The numbers that float operations compute with: f32 and f64, by one set of rules.
//!
//! Rules are written out where IEEE 754 or the standard library leaves a choice: the sign of zero in minima and maxima,
//! and NaN operands. [`super::float`] chooses the patterns of NaN results.

/// A binary floating-point number of the host.
pub(super) trait Number: Copy + PartialOrd {
    /// `a + b`.
    fn add(self, b: Self) -> Self;
    /// `a - b`.
    fn sub(self, b: Self) -> Self;
    /// `a * b`.
    fn mul(self, b: Self) -> Self;
    /// `a / b`.
    fn div(self, b: Self) -> Self;
    /// The exact remainder of truncated division.
    fn rem(self, b: Self) -> Self;
    /// `sqrt(a)`.
    fn sqrt(self) -> Self;
    /// IEEE 754-2019 maximumNumber, with +0 larger than -0.
    fn max_num(self, b: Self) -> Self;
    /// IEEE 754-2019 minimumNumber.
    fn min_num(self, b: Self) -> Self;
    /// IEEE 754-2019 maximum: NaN if an operand is.
    fn maximum(self, b: Self) -> Self;
    /// IEEE 754-2019 minimum.
    fn minimum(self, b: Self) -> Self;
    /// Rounded towards zero.
    fn trunc(self) -> Self;
    /// Rounded down.
    fn floor(self) -> Self;
    /// Rounded up.
    fn ceil(self) -> Self;
    /// Rounded to the nearest integer, ties to even.
    fn rint(self) -> Self;
    /// Rounded to the nearest integer, ties away from zero.
    fn round(self) -> Self;
}

macro_rules! number {
    ($type:ident) => {
        impl Number for $type {
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                self + b
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                self - b
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                self / b
            }
            #[inline(always)]
            fn rem(self, b: Self) -> Self {
                self % b
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $type::sqrt(self)
            }
            #[inline(always)]
            fn max_num(self, b: Self) -> Self {
                if b.is_nan() {
                    return self;
                }
                if self > b || (self == b && self.is_sign_positive()) {
                    self
                } else {
                    b
                }
            }
            #[inline(always)]
            fn min_num(self, b: Self) -> Self {
                if b.is_nan() {
                    return self;
                }
                if self < b || (self == b && self.is_sign_negative()) {
                    self
                } else {
                    b
                }
            }
            #[inline(always)]
            fn maximum(self, b: Self) -> Self {
                if self.is_nan() {
                    self
                } else if b.is_nan() {
                    b
                } else {
                    self.max_num(b)
                }
            }
            #[inline(always)]
            fn minimum(self, b: Self) -> Self {
                if self.is_nan() {
                    self
                } else if b.is_nan() {
                    b
                } else {
                    self.min_num(b)
                }
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                $type::trunc(self)
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $type::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $type::ceil(self)
            }
            #[inline(always)]
            fn rint(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn round(self) -> Self {
                $type::round(self)
            }
        }
    };
}

number!(f32);
number!(f64);
