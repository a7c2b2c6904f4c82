//! The scalar ops of a kernel: the single table of the `arith` and `math` ops that kernels may contain.
//!
//! Several things derive from it: the oracle's evaluation, which matches on [`ScalarOp`] and so does not compile unless it
//! covers every op; the compiler's refusal of other ops; gradients ([`crate::derivative`]); the list in
//! `dialects/norm/norm.md` ([`markdown`]); and a test that compiles and simulates every entry in every type.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LOG2_E, LOG10_E};
use std::fmt::Write;

use crate::derivative::{Derivative, Partial, Relation};
use crate::element::Element::{self, BF16, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, F64, I1, I8, I32, I64};

/// The float types that kernels compute in.
const FLOATS: &[Element] = &[F16, BF16, F32, F64];
/// The float types that may be stored in memory, and that kernels convert to and from.
const STORED_FLOATS: &[Element] = &[F8E4M3FN, F8E5M2, F16, BF16, F32, F64];
/// The float types up to the width of f32, which the special function unit supports.
const UP_TO_F32: &[Element] = &[F16, BF16, F32];
/// The integer types that kernels compute in; `index` is an i64.
const INTEGERS: &[Element] = &[I1, I8, I32, I64];
/// The integer types of whole bytes.
const NUMBERS: &[Element] = &[I8, I32, I64];
/// The types that may be bitcast.
const PATTERNS: &[Element] = &[F8E4M3FN, F8E5M2, F8E8M0FNU, F16, BF16, F32, F64, I8, I32, I64];

/// The operands and the result of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// This many operands of one of the op's types, and a result of the same type.
    Same(usize),
    /// Two operands of one of the op's types, a predicate, and an i1.
    Compare,
    /// An i1, and two operands and a result of one of the op's types.
    Select,
    /// One operand of the op's types, and a result that the [`Conversion`] allows.
    Convert(Conversion),
}

/// How a conversion restricts the type of its result, given the operand's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// A wider float.
    WidenFloat,
    /// A narrower float.
    NarrowFloat,
    /// Any integer but i1.
    ToInteger,
    /// Any float that kernels compute in.
    ToFloat,
    /// A wider integer.
    WidenInteger,
    /// A narrower integer.
    NarrowInteger,
    /// From or to `index`.
    Index,
    /// The same number of bits.
    Bits,
}

/// How far a kernel's result may be from the exact value of the op.
///
/// Errors are in ulp of f32 for operands up to f32, before the result is rounded to its type, and of f64 for f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// The exact value, rounded once to the result's type: every correct kernel computes the same bits.
    Rounded,
    /// The error is at most the larger of `ulps` ulp of the result and `of_one` ulp of 1. Operands and results below the
    /// smallest normal number of f32 may be flushed to zero.
    Within {
        /// In ulp of the result.
        ulps: f64,
        /// In ulp of 1.
        of_one: f64,
    },
}

/// The table's entry for an op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The op.
    pub op: ScalarOp,
    /// MLIR's full name.
    pub name: &'static str,
    /// Its operands and result.
    pub form: Form,
    /// The types of its operands; for a selection, the types of the selected values.
    pub types: &'static [Element],
    /// The value that it computes from its operands `a`, `b` and `c`.
    pub computes: &'static str,
    /// How accurate the result is.
    pub accuracy: Accuracy,
    /// The instructions that it is lowered to.
    pub lowering: &'static str,
    /// Its derivatives with respect to its operands.
    pub derivative: Derivative,
}

/// Declares the ops and their rows together, so that none exists without the other.
macro_rules! table {
    ($($op:ident $name:literal $form:expr, $types:expr, $computes:literal, $accuracy:expr, $lowering:literal, $derivative:expr;)*) => {
        /// An op of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the table says what each is")]
        pub enum ScalarOp {
            $($op,)*
        }

        /// Every op that kernels may contain, besides constants.
        pub const TABLE: &[Row] = &[$(Row {
            op: ScalarOp::$op,
            name: $name,
            form: $form,
            types: $types,
            computes: $computes,
            accuracy: $accuracy,
            lowering: $lowering,
            derivative: $derivative,
        },)*];
    };
}

use Accuracy::Rounded;
use Derivative::{OfTruth, Partial as Along};
use Form::{Compare, Convert, Same, Select as Choose};
use Partial::{Call, Difference, Holds, Is, Negated, Number, Operand, Product, Quotient, Result as Y, Sum};
use Relation::{AtLeast, Equal, Greater, Unordered};

const fn within(ulps: f64, of_one: f64) -> Accuracy {
    Accuracy::Within { ulps, of_one }
}

const A: Partial = Operand(0);
const B: Partial = Operand(1);
const C: Partial = Operand(2);
const ZERO: Partial = Number(0.0);
const HALF: Partial = Number(0.5);
const ONE: Partial = Number(1.0);
/// The smallest root that a derivative divides by, f32's smallest normal number. It makes the derivative finite at 0, where
/// it would be infinite, so that a product with 0 stays 0. The gradient of a vector's length at 0 thus is 0.
const LEAST_ROOT: f64 = f32::MIN_POSITIVE as f64;

const A_IS_LARGER: Partial = Sum(&Holds(Greater, &A, &B), &Product(&HALF, &Holds(Equal, &A, &B)));
const B_IS_LARGER: Partial = Sum(&Holds(Greater, &B, &A), &Product(&HALF, &Holds(Equal, &A, &B)));
const LARGER: &[Partial] = &[A_IS_LARGER, B_IS_LARGER];
const SMALLER: &[Partial] = &[B_IS_LARGER, A_IS_LARGER];
const A_IS_NAN: Partial = Holds(Unordered, &A, &A);
const B_IS_NAN: Partial = Holds(Unordered, &B, &B);
const LARGER_NUMBER: &[Partial] = &[Sum(&A_IS_LARGER, &B_IS_NAN), Sum(&B_IS_LARGER, &A_IS_NAN)];
const SMALLER_NUMBER: &[Partial] = &[Sum(&B_IS_LARGER, &B_IS_NAN), Sum(&A_IS_LARGER, &A_IS_NAN)];
/// At a bound the gradient passes to the number, as in PyTorch.
const CLAMPED: &[Partial] = &[
    Product(&Holds(AtLeast, &A, &B), &Holds(AtLeast, &C, &A)),
    Holds(Greater, &B, &Call(ScalarOp::MinimumF, &[A, C])),
    Product(&Holds(Greater, &A, &C), &Holds(AtLeast, &C, &B)),
];
/// It divides by b twice rather than by b * b, which overflows and underflows at numbers whose derivative does not.
const QUOTIENT: &[Partial] = &[
    Quotient(&ONE, &B),
    Negated(&Product(&Quotient(&A, &B), &Quotient(&ONE, &B))),
];
/// As in PyTorch, the derivative with respect to a is 0 where b is 0, and the one with respect to b is 0 where a is 0 and b is
/// not negative. There the exponent and the operand of the logarithm are replaced by 0 and 1, because their products with 0
/// would be NaN.
const POWER: &[Partial] = &[
    Product(
        &B,
        &Call(
            ScalarOp::PowF,
            &[A, Sum(&Difference(&B, &ONE), &Holds(Equal, &B, &ZERO))],
        ),
    ),
    Product(
        &Y,
        &Call(
            ScalarOp::Log,
            &[Sum(
                &A,
                &Product(&Holds(Equal, &A, &ZERO), &Holds(AtLeast, &B, &ZERO)),
            )],
        ),
    ),
];

table! {
    AddF "arith.addf" Same(2), FLOATS, "a + b", Rounded, "add.rn", Along(&[ONE, ONE]);
    SubF "arith.subf" Same(2), FLOATS, "a - b", Rounded, "sub.rn", Along(&[ONE, Number(-1.0)]);
    MulF "arith.mulf" Same(2), FLOATS, "a * b", Rounded, "mul.rn", Along(&[B, A]);
    DivF "arith.divf" Same(2), FLOATS, "a / b", within(3.0, 0.0), "div.rn; f32 where b varies over fewer dims: a * div.rn(1, b), for each element of a result of at most 16 bits otherwise: div.full", Along(QUOTIENT);
    NegF "arith.negf" Same(1), FLOATS, "-a", Rounded, "neg", Along(&[Number(-1.0)]);
    MaximumF "arith.maximumf" Same(2), FLOATS, "the larger; NaN if either is NaN; +0 above -0", Rounded, "max.NaN", Along(LARGER);
    MinimumF "arith.minimumf" Same(2), FLOATS, "the smaller; NaN if either is NaN; -0 below +0", Rounded, "min.NaN", Along(SMALLER);
    MaxNumF "arith.maxnumf" Same(2), FLOATS, "the larger; the other if one is NaN", Rounded, "max", Along(LARGER_NUMBER);
    MinNumF "arith.minnumf" Same(2), FLOATS, "the smaller; the other if one is NaN", Rounded, "min", Along(SMALLER_NUMBER);
    AddI "arith.addi" Same(2), INTEGERS, "a + b, wrapped", Rounded, "add", Derivative::None;
    SubI "arith.subi" Same(2), INTEGERS, "a - b, wrapped", Rounded, "sub", Derivative::None;
    MulI "arith.muli" Same(2), INTEGERS, "a * b, wrapped", Rounded, "mul.lo", Derivative::None;
    DivSI "arith.divsi" Same(2), NUMBERS, "a / b, towards 0", Rounded, "div.s", Derivative::None;
    DivUI "arith.divui" Same(2), NUMBERS, "a / b, unsigned", Rounded, "div.u", Derivative::None;
    CeilDivSI "arith.ceildivsi" Same(2), NUMBERS, "a / b, upwards", Rounded, "div.s and a correction", Derivative::None;
    CeilDivUI "arith.ceildivui" Same(2), NUMBERS, "a / b, unsigned, upwards", Rounded, "div.u and a correction", Derivative::None;
    FloorDivSI "arith.floordivsi" Same(2), NUMBERS, "a / b, downwards", Rounded, "div.s and a correction", Derivative::None;
    RemSI "arith.remsi" Same(2), NUMBERS, "a - (a / b) * b, of a's sign", Rounded, "rem.s", Derivative::None;
    RemUI "arith.remui" Same(2), NUMBERS, "a modulo b, unsigned", Rounded, "rem.u", Derivative::None;
    MinSI "arith.minsi" Same(2), NUMBERS, "the smaller", Rounded, "min.s", Derivative::None;
    MaxSI "arith.maxsi" Same(2), NUMBERS, "the larger", Rounded, "max.s", Derivative::None;
    MinUI "arith.minui" Same(2), NUMBERS, "the smaller, unsigned", Rounded, "min.u", Derivative::None;
    MaxUI "arith.maxui" Same(2), NUMBERS, "the larger, unsigned", Rounded, "max.u", Derivative::None;
    AndI "arith.andi" Same(2), INTEGERS, "a and b, bitwise", Rounded, "and", Derivative::None;
    OrI "arith.ori" Same(2), INTEGERS, "a or b, bitwise", Rounded, "or", Derivative::None;
    XOrI "arith.xori" Same(2), INTEGERS, "a exclusive or b, bitwise", Rounded, "xor", Derivative::None;
    ShLI "arith.shli" Same(2), NUMBERS, "a * 2^b, wrapped", Rounded, "shl", Derivative::None;
    ShRSI "arith.shrsi" Same(2), NUMBERS, "a / 2^b, downwards", Rounded, "shr.s", Derivative::None;
    ShRUI "arith.shrui" Same(2), NUMBERS, "a / 2^b, unsigned", Rounded, "shr.u", Derivative::None;
    CmpF "arith.cmpf" Compare, FLOATS, "whether the predicate holds", Rounded, "setp", OfTruth;
    CmpI "arith.cmpi" Compare, NUMBERS, "whether the predicate holds", Rounded, "setp", OfTruth;
    Select "arith.select" Choose, &[F16, BF16, F32, F64, I1, I8, I32, I64], "b if a, else c", Rounded, "selp", Along(&[ZERO, Is(0, true), Is(0, false)]);
    ExtF "arith.extf" Convert(Conversion::WidenFloat), STORED_FLOATS, "a", Rounded, "cvt; 8-bit floats: cvt.rn.f16x2 of two", Along(&[ONE]);
    TruncF "arith.truncf" Convert(Conversion::NarrowFloat), FLOATS, "a, to nearest even; to 8-bit floats limited to the largest finite number, NaN stays NaN", Rounded, "cvt.rn; 8-bit floats: cvt.rn.satfinite of two", Along(&[ONE]);
    FPToSI "arith.fptosi" Convert(Conversion::ToInteger), FLOATS, "a, towards 0", Rounded, "cvt.rzi.s", Derivative::None;
    FPToUI "arith.fptoui" Convert(Conversion::ToInteger), FLOATS, "a, towards 0, unsigned", Rounded, "cvt.rzi.u", Derivative::None;
    SIToFP "arith.sitofp" Convert(Conversion::ToFloat), INTEGERS, "a, to nearest even", Rounded, "cvt.rn", Derivative::None;
    UIToFP "arith.uitofp" Convert(Conversion::ToFloat), INTEGERS, "a, unsigned, to nearest even", Rounded, "cvt.rn", Derivative::None;
    ExtSI "arith.extsi" Convert(Conversion::WidenInteger), INTEGERS, "a", Rounded, "cvt.s", Derivative::None;
    ExtUI "arith.extui" Convert(Conversion::WidenInteger), INTEGERS, "a, unsigned", Rounded, "cvt.u", Derivative::None;
    TruncI "arith.trunci" Convert(Conversion::NarrowInteger), NUMBERS, "a, wrapped", Rounded, "cvt", Derivative::None;
    IndexCast "arith.index_cast" Convert(Conversion::Index), NUMBERS, "a", Rounded, "cvt.s", Derivative::None;
    IndexCastUI "arith.index_castui" Convert(Conversion::Index), NUMBERS, "a, unsigned", Rounded, "cvt.u", Derivative::None;
    Bitcast "arith.bitcast" Convert(Conversion::Bits), PATTERNS, "a's bits", Rounded, "mov", Derivative::None;
    AbsF "math.absf" Same(1), FLOATS, "|a|", Rounded, "abs", Along(&[Difference(&Holds(Greater, &A, &ZERO), &Holds(Greater, &ZERO, &A))]);
    CopySign "math.copysign" Same(2), FLOATS, "|a| with b's sign", Rounded, "copysign", Along(&[Product(&Call(ScalarOp::CopySign, &[ONE, A]), &Call(ScalarOp::CopySign, &[ONE, B])), ZERO]);
    Fma "math.fma" Same(3), FLOATS, "a * b + c, rounded once", Rounded, "fma.rn", Along(&[B, A, ONE]);
    ClampF "math.clampf" Same(3), FLOATS, "max(min(a, c), b), as maximumf and minimumf", Rounded, "min.NaN, max.NaN", Along(CLAMPED);
    Floor "math.floor" Same(1), FLOATS, "a, downwards to a whole number", Rounded, "cvt.rmi", Derivative::None;
    Ceil "math.ceil" Same(1), FLOATS, "a, upwards to a whole number", Rounded, "cvt.rpi", Derivative::None;
    Trunc "math.trunc" Same(1), FLOATS, "a, towards 0 to a whole number", Rounded, "cvt.rzi", Derivative::None;
    RoundEven "math.roundeven" Same(1), FLOATS, "the nearest whole number, ties to even", Rounded, "cvt.rni", Derivative::None;
    Round "math.round" Same(1), FLOATS, "the nearest whole number, ties away from 0", Rounded, "cvt.rzi and a correction", Derivative::None;
    AbsI "math.absi" Same(1), NUMBERS, "|a|, wrapped", Rounded, "abs.s", Derivative::None;
    Ctlz "math.ctlz" Same(1), NUMBERS, "leading zero bits; of 0 all", Rounded, "clz", Derivative::None;
    Cttz "math.cttz" Same(1), NUMBERS, "trailing zero bits; of 0 all", Rounded, "brev, clz", Derivative::None;
    CtPop "math.ctpop" Same(1), NUMBERS, "bits that are set", Rounded, "popc", Derivative::None;
    Sqrt "math.sqrt" Same(1), FLOATS, "the square root of a", within(0.5, 0.0), "sqrt.rn.ftz", Along(&[Quotient(&HALF, &Call(ScalarOp::MaximumF, &[Y, Number(LEAST_ROOT)]))]);
    Rsqrt "math.rsqrt" Same(1), FLOATS, "1 / sqrt(a)", within(2.0, 0.0), "rsqrt.approx; f64: sqrt.rn, div.rn", Along(&[Product(&Number(-0.5), &Product(&Y, &Product(&Y, &Y)))]);
    Exp "math.exp" Same(1), FLOATS, "e^a", within(3.0, 0.0), "ex2.approx of a * log2(e); f64: a polynomial", Along(&[Y]);
    Exp2 "math.exp2" Same(1), FLOATS, "2^a", within(3.0, 0.0), "ex2.approx; f64: a polynomial", Along(&[Product(&Number(LN_2), &Y)]);
    ExpM1 "math.expm1" Same(1), UP_TO_F32, "e^a - 1", within(8.0, 0.0), "a polynomial near 0, else exp(a) - 1", Along(&[Sum(&Y, &ONE)]);
    Log "math.log" Same(1), UP_TO_F32, "the natural logarithm of a", within(5.0, 2.0), "lg2.approx, scaled", Along(&[Quotient(&ONE, &A)]);
    Log2 "math.log2" Same(1), UP_TO_F32, "the logarithm of a to base 2", within(4.0, 2.0), "lg2.approx", Along(&[Quotient(&Number(LOG2_E), &A)]);
    Log10 "math.log10" Same(1), UP_TO_F32, "the logarithm of a to base 10", within(5.0, 2.0), "lg2.approx, scaled", Along(&[Quotient(&Number(LOG10_E), &A)]);
    Log1p "math.log1p" Same(1), UP_TO_F32, "log(1 + a)", within(8.0, 0.0), "a series near 0, else lg2.approx(1 + a)", Along(&[Quotient(&ONE, &Sum(&ONE, &A))]);
    Tanh "math.tanh" Same(1), UP_TO_F32, "the hyperbolic tangent of a", within(4.0, 2.0), "1 - 2 / (exp(2a) + 1)", Along(&[Difference(&ONE, &Product(&Y, &Y))]);
    Erf "math.erf" Same(1), UP_TO_F32, "the error function of a", within(4.0, 0.0), "a series near 0, else 1 - 2^-p(|a|)", Along(&[Product(&Number(FRAC_2_SQRT_PI), &Call(ScalarOp::Exp, &[Negated(&Product(&A, &A))]))]);
    Sin "math.sin" Same(1), UP_TO_F32, "the sine of a, for |a| up to 2^17", within(4.0, 1.0), "reduction by pi/2, a polynomial", Along(&[Call(ScalarOp::Cos, &[A])]);
    Cos "math.cos" Same(1), UP_TO_F32, "the cosine of a, for |a| up to 2^17", within(4.0, 1.0), "reduction by pi/2, a polynomial", Along(&[Negated(&Call(ScalarOp::Sin, &[A]))]);
    PowF "math.powf" Same(2), UP_TO_F32, "a to the power of b, as C's pow", within(8.0, 0.0), "log2 in two f32, ex2.approx", Along(POWER);
}

impl ScalarOp {
    /// The op with this name, if any.
    pub fn from_name(name: &str) -> Option<ScalarOp> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.op)
    }

    /// The op's row of the table.
    pub fn row(self) -> &'static Row {
        // One macro generates both the ops and the rows, in the same order.
        &TABLE[self as usize]
    }
}

impl Row {
    /// The number of operands.
    pub fn operand_count(&self) -> usize {
        match self.form {
            Same(count) => count,
            Compare => 2,
            Choose => 3,
            Convert(_) => 1,
        }
    }

    /// Whether the op accepts operands and a result of these types.
    pub fn accepts(&self, operands: &[Element], result: Element) -> bool {
        let is_of = |element: &Element| self.types.contains(element);
        match (self.form, operands) {
            (Same(count), operands) => {
                operands.len() == count
                    && operands
                        .iter()
                        .all(|operand| *operand == result && is_of(operand))
            }
            (Compare, [a, b]) => a == b && is_of(a) && result == I1,
            (Choose, [condition, a, b]) => *condition == I1 && a == b && is_of(a) && *a == result,
            (Convert(conversion), [from]) => is_of(from) && conversion.accepts(*from, result),
            _ => false,
        }
    }
}

impl Conversion {
    fn accepts(self, from: Element, to: Element) -> bool {
        let bits = |element: Element| element.integer_bits().unwrap_or(8 * element.bytes() as u32);
        let both_float = from.is_float() && to.is_float();
        let both_integer = INTEGERS.contains(&from) && INTEGERS.contains(&to);
        match self {
            Conversion::WidenFloat => both_float && bits(from) < bits(to),
            Conversion::NarrowFloat => both_float && bits(from) > bits(to),
            Conversion::ToInteger => from.is_float() && NUMBERS.contains(&to),
            Conversion::ToFloat => !from.is_float() && FLOATS.contains(&to),
            Conversion::WidenInteger => both_integer && bits(from) < bits(to),
            Conversion::NarrowInteger => both_integer && bits(from) > bits(to),
            // `index` and i64 are one element type here.
            Conversion::Index => both_integer && (from == I64 || to == I64),
            Conversion::Bits => from != to && bits(from) == bits(to) && PATTERNS.contains(&to),
        }
    }
}

/// The names of all ops, for a message.
pub fn names() -> String {
    names_of(|_| true)
}

/// The names of the ops for which `is_meant` holds, for a message.
pub fn names_of(is_meant: impl Fn(&Row) -> bool) -> String {
    let names: Vec<&str> = TABLE
        .iter()
        .filter(|row| is_meant(row))
        .map(|row| row.name)
        .collect();
    names.join(", ")
}

/// Formats the table as Markdown.
pub fn markdown() -> String {
    let mut text = String::from(
        "| op | types | computes | error | becomes | derivatives |\n|---|---|---|---|---|---|\n",
    );
    for row in TABLE {
        let types: Vec<&str> = row.types.iter().map(|element| element.name()).collect();
        let error = match row.accuracy {
            Accuracy::Rounded => "rounded once".to_owned(),
            Accuracy::Within { ulps, of_one: 0.0 } => format!("{ulps} ulp"),
            Accuracy::Within { ulps, of_one } => format!("{ulps} ulp, or {of_one} ulp of 1"),
        };
        let computes = row.computes.replace('|', "\\|");
        let lowering = row.lowering.replace('|', "\\|");
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {computes} | {error} | {lowering} | {} |",
            row.name,
            types.join(", "),
            row.derivative
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_is_found_by_its_name_and_has_its_own_row() {
        for row in TABLE {
            assert_eq!(ScalarOp::from_name(row.name), Some(row.op));
            assert_eq!(row.op.row(), row);
        }
        assert_eq!(ScalarOp::from_name("math.gamma"), None);
    }

    #[test]
    fn conversions_go_between_types_of_their_kinds() {
        let accepts = |name: &str, from, to| {
            let op = ScalarOp::from_name(name).unwrap();
            op.row().accepts(&[from], to)
        };
        assert!(accepts("arith.extf", BF16, F32) && !accepts("arith.extf", BF16, F16));
        assert!(accepts("arith.truncf", F64, F32) && !accepts("arith.truncf", F32, F64));
        assert!(accepts("arith.extf", F8E5M2, BF16) && !accepts("arith.extf", F8E5M2, F8E4M3FN));
        assert!(accepts("arith.truncf", F64, F8E4M3FN) && !accepts("arith.sitofp", I32, F8E4M3FN));
        assert!(accepts("arith.bitcast", F32, I32) && !accepts("arith.bitcast", F32, I64));
        assert!(accepts("arith.bitcast", F8E8M0FNU, I8) && !accepts("arith.extf", F8E8M0FNU, F32));
        assert!(accepts("arith.trunci", I64, I1) && !accepts("arith.fptosi", F32, I1));
        assert!(accepts("arith.index_cast", I32, I64) && !accepts("arith.index_cast", I8, I32));
    }
}
