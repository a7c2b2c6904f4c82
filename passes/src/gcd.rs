//! The greatest common divisor.

/// The greatest common divisor of two numbers, not negative. Everything divides 0.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::gcd;

    #[test]
    fn zero_is_divided_by_everything() {
        assert_eq!(gcd(0, 24), 24);
        assert_eq!(gcd(0, -24), 24);
    }

    #[test]
    fn a_divisor_of_both_is_the_greatest() {
        assert_eq!(gcd(18, 24), 6);
        assert_eq!(gcd(-18, 24), 6);
        assert_eq!(gcd(7, 24), 1);
    }
}
