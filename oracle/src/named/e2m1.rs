//! Floats of 4 bits, e2m1, two of which lie in an i8 (OCP Microscaling Formats specification 1.0, section 5.3.3).

/// The largest number.
pub const LARGEST: f64 = 6.0;
/// The magnitudes of the codes 0 to 7, whose sign bit is clear.
const MAGNITUDES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, LARGEST];
/// The sign bit of a code.
const SIGN: i64 = 8;

/// The code of the nearest number, ties to the even code. Numbers beyond the range saturate; NaN becomes the largest.
pub fn encode(number: f64) -> i64 {
    if number.is_nan() {
        return MAGNITUDES.len() as i64 - 1;
    }
    let magnitude = number.abs().min(LARGEST);
    let mut code = 0;
    for (other, above) in MAGNITUDES.iter().enumerate().skip(1) {
        let (here, there) = (magnitude - MAGNITUDES[code], above - magnitude);
        if there < here || (there == here && other % 2 == 0) {
            code = other;
        }
    }
    code as i64 | if number.is_sign_negative() { SIGN } else { 0 }
}

/// The number of a code.
pub fn decode(code: i64) -> f64 {
    let magnitude = MAGNITUDES[(code & (SIGN - 1)) as usize];
    if code & SIGN == 0 { magnitude } else { -magnitude }
}

/// Packs two codes into the bits of an i8, the first into the low four.
pub fn pack(codes: [i64; 2]) -> i64 {
    codes[0] | codes[1] << 4
}

/// The code at place 0 or 1 of a packed i8.
pub fn unpack(pair: i64, place: i64) -> i64 {
    (pair >> (4 * place)) & 0xf
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The midpoints between neighbouring numbers, and the code that each rounds to.
    const MIDPOINTS: [(f32, i64); 7] = [
        (0.25, 0),
        (0.75, 2),
        (1.25, 2),
        (1.75, 4),
        (2.5, 4),
        (3.5, 6),
        (5.0, 6),
    ];

    #[test]
    fn roundings_change_at_the_midpoints_which_go_to_even_codes() {
        for (below, (midpoint, at)) in (0..).zip(MIDPOINTS) {
            for (sign, of_sign) in [(1.0, 0), (-1.0, SIGN)] {
                let code = |number: f32| encode(f64::from(sign * number));
                assert_eq!(code(midpoint.next_down()), below | of_sign, "below {midpoint}");
                assert_eq!(code(midpoint), at | of_sign, "{midpoint}");
                assert_eq!(
                    code(midpoint.next_up()),
                    (below + 1) | of_sign,
                    "above {midpoint}"
                );
            }
        }
    }

    #[test]
    fn every_code_is_that_of_its_number() {
        for code in 0..16 {
            assert_eq!(encode(decode(code)), code);
            assert_eq!(unpack(pack([3, code]), 1), code);
            assert_eq!(unpack(pack([code, 3]), 0), code);
        }
        assert!(decode(8).is_sign_negative());
    }

    #[test]
    fn what_it_cannot_hold_is_the_largest_number() {
        assert_eq!([f64::NAN, f64::INFINITY, 1e30, -7.0].map(encode), [7, 7, 7, 15]);
    }
}
