//! Compares the simulator's arithmetic with results measured on an H200, in `h200.txt`, bit for bit.

use norma_simulator::Approximation;
use norma_simulator::arithmetic::{self, LANES, Lanes};
use norma_simulator::program::{
    ApproximateFunction, Conversion, FloatOp, FloatPredicate, Format, IntegerOp, Rounding,
};

/// The variant of an enum by its name.
fn variant<T: Copy + std::fmt::Debug>(all: &[T], name: &str) -> T {
    *all.iter()
        .find(|variant| format!("{variant:?}") == name)
        .unwrap_or_else(|| unreachable!("no variant {name}"))
}

fn format(name: &str) -> Format {
    use Format::*;
    variant(&[F64, F32, F16, BF16, F8E4M3FN, F8E5M2], name)
}

fn rounding(name: &str) -> Rounding {
    use Rounding::*;
    variant(&[NearestEven, NearestAway, Zero, Down, Up], name)
}

fn float_op(name: &str) -> FloatOp {
    use FloatOp::*;
    let all = [
        Add, Sub, Mul, Div, Neg, Abs, Sqrt, MaxNum, MinNum, Maximum, Minimum, Trunc, Floor, Ceil, Rint,
    ];
    variant(&all, name)
}

fn integer_op(name: &str) -> IntegerOp {
    use IntegerOp::*;
    let all = [
        MulHighSigned,
        MulHighUnsigned,
        DivSigned,
        DivUnsigned,
        RemSigned,
        RemUnsigned,
        Shl,
        LShr,
        AShr,
        PopulationCount,
        LeadingZeros,
        BitReverse,
        AbsSigned,
    ];
    variant(&all, name)
}

fn predicate(name: &str) -> FloatPredicate {
    use FloatPredicate::*;
    variant(&[Olt, Ult, One, Une, Ord, Uno, Ueq], name)
}

fn function(name: &str) -> ApproximateFunction {
    use ApproximateFunction::*;
    variant(&[Reciprocal, SquareRoot, ReciprocalSquareRoot, Exp2], name)
}

/// `s32`, `u8`: whether it has a sign, and its width.
fn integer_type(name: &str) -> (bool, u8) {
    (name.starts_with('s'), name[1..].parse().expect("a width"))
}

/// The simulator's result of an operation, which is named as in the file.
fn evaluate(operation: &str, [a, b, c]: [u64; 3]) -> u64 {
    let mut to = [0; LANES];
    let [a, b, c]: [Lanes; 3] = [[a; LANES], [b; LANES], [c; LANES]];
    let words: Vec<&str> = operation.split(' ').collect();
    let flush = words.last() == Some(&"ftz");
    match words[..] {
        ["float", op, of, ..] => arithmetic::float(float_op(op), format(of), flush, 1, &mut to, &a, &b),
        ["fma", of, ..] => arithmetic::fused_multiply_add(format(of), flush, 1, &mut to, [&a, &b, &c]),
        ["compare", op] => arithmetic::compare_float(predicate(op), Format::F32, 1, &mut to, &a, &b),
        ["integer", op, bits] => {
            arithmetic::integer(integer_op(op), bits.parse().expect("a width"), 1, &mut to, &a, &b);
        }
        ["permute"] => arithmetic::permute_bytes(1, &mut to, &a, &b, &c),
        ["approximate", op, ..] => {
            arithmetic::approximate(function(op), flush, Approximation::Exact, 1, &mut to, &a, &b);
        }
        ["convert", from, result, mode, ref options @ ..] => {
            let conversion = Conversion::Float {
                from: format(from),
                to: format(result),
                rounding: rounding(mode),
                saturate: options.contains(&"satfinite"),
                relu: options.contains(&"relu"),
            };
            arithmetic::convert(conversion, 1, &mut to, &a);
        }
        ["to-integer", from, result, mode] => {
            let (signed, bits) = integer_type(result);
            let conversion = Conversion::FloatToInteger {
                from: format(from),
                to: bits,
                signed,
                rounding: rounding(mode),
            };
            arithmetic::convert(conversion, 1, &mut to, &a);
        }
        ["to-float", from, result] => {
            let (signed, bits) = integer_type(from);
            let conversion = Conversion::IntegerToFloat {
                from: bits,
                signed,
                to: format(result),
            };
            arithmetic::convert(conversion, 1, &mut to, &a);
        }
        _ => unreachable!("no operation {operation}"),
    }
    to[0]
}

/// Approximate results may differ from the correctly rounded ones by the two units that the PTX ISA allows, where they
/// are numbers.
fn agrees(operation: &str, simulated: u64, measured: u64) -> bool {
    let number = |bits: u64| bits & 0x7fff_ffff != 0 && f32::from_bits(bits as u32).is_finite();
    if operation.starts_with("approximate") && number(simulated) && number(measured) {
        simulated.abs_diff(measured) <= 2
    } else {
        simulated == measured
    }
}

#[test]
fn arithmetic_is_that_of_an_h200() {
    let mut operation = "";
    let mut rows = 0;
    for line in include_str!("h200.txt").lines() {
        let numbers: Result<Vec<u64>, _> = line
            .split(' ')
            .map(|word| u64::from_str_radix(word, 16))
            .collect();
        match numbers.as_deref() {
            Ok([operands @ .., measured]) => {
                let mut padded = [0; 3];
                padded[..operands.len()].copy_from_slice(operands);
                let simulated = evaluate(operation, padded);
                assert!(
                    agrees(operation, simulated, *measured),
                    "{operation} {line}: simulated {simulated:x}"
                );
                rows += 1;
            }
            _ if line.starts_with('#') || line.is_empty() => {}
            _ => operation = line,
        }
    }
    assert!(rows > 2000, "only {rows} rows");
}
