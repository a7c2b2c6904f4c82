//! Operations on numbers, number formats and conversions.

use norma_bundle::Element;

/// Integer operations. `Shl`, `LShr` and `AShr` by the width or more are undefined in LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are LLVM's")]
pub enum IntegerOp {
    Add,
    Sub,
    Mul,
    MulHighSigned,
    MulHighUnsigned,
    DivSigned,
    DivUnsigned,
    RemSigned,
    RemUnsigned,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
    MaxSigned,
    MinSigned,
    MaxUnsigned,
    MinUnsigned,
    /// `b` is ignored.
    PopulationCount,
    /// `b` is ignored.
    LeadingZeros,
    /// `b` is ignored.
    TrailingZeros,
    /// `b` is ignored.
    BitReverse,
    /// `b` is ignored.
    AbsSigned,
}

/// Integer comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are LLVM's")]
pub enum IntegerPredicate {
    Eq,
    Ne,
    Slt,
    Sle,
    Sgt,
    Sge,
    Ult,
    Ule,
    Ugt,
    Uge,
}

/// Float operations, all correctly rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatOp {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`.
    Div,
    /// The remainder of truncated division (`llvm.frem`).
    Rem,
    /// `-a`; a NaN becomes the canonical NaN, as in a sum.
    Neg,
    /// `|a|`.
    Abs,
    /// `sqrt(a)`.
    Sqrt,
    /// IEEE 754-2019 maximumNumber: a NaN loses (`llvm.intr.maxnum`, `max.f32`); +0 is larger than -0.
    MaxNum,
    /// IEEE 754-2019 minimumNumber.
    MinNum,
    /// IEEE 754-2019 maximum: a NaN wins (`llvm.intr.maximum`, `max.NaN.f32`).
    Maximum,
    /// IEEE 754-2019 minimum.
    Minimum,
    /// `a` with the sign of `b`.
    CopySign,
    /// Rounded towards zero.
    Trunc,
    /// Rounded down.
    Floor,
    /// Rounded up.
    Ceil,
    /// Rounded to the nearest integer, ties to even (`llvm.intr.rint`, `roundeven`).
    Rint,
    /// Rounded to the nearest integer, ties away from zero (`llvm.intr.round`).
    Round,
}

/// Float comparisons. If an operand is NaN, ordered predicates (`O`) are false and unordered ones (`U`) true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are LLVM's")]
pub enum FloatPredicate {
    False,
    Oeq,
    Ogt,
    Oge,
    Olt,
    Ole,
    One,
    Ord,
    Ueq,
    Ugt,
    Uge,
    Ult,
    Ule,
    Une,
    Uno,
    True,
}

/// A float format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    BF16,
    /// fp8 with 1 sign, 4 exponent and 3 mantissa bits, without infinities.
    F8E4M3FN,
    /// fp8 with 1 sign, 5 exponent and 2 mantissa bits.
    F8E5M2,
}

impl Format {
    /// The storage type of its values.
    pub fn element(self) -> Element {
        match self {
            Self::F64 => Element::F64,
            Self::F32 => Element::F32,
            Self::F16 => Element::F16,
            Self::BF16 => Element::BF16,
            Self::F8E4M3FN => Element::F8E4M3FN,
            Self::F8E5M2 => Element::F8E5M2,
        }
    }

    /// Its width.
    pub fn bits(self) -> u8 {
        8 * self.element().bytes() as u8
    }
}

/// Functions of the special function unit, which may err by up to the bounds that the PTX ISA documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum ApproximateFunction {
    Reciprocal,
    SquareRoot,
    ReciprocalSquareRoot,
    Exp2,
    Log2,
    Sin,
    Cos,
    Tanh,
    /// `a / b`, which is 0 for divisors beyond 2^126 (`div.approx`).
    Divide,
    /// `a / b` for divisors of any magnitude (`div.full`).
    DivideFull,
}

/// A conversion between number types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// An integer truncated to fewer bits.
    Truncate {
        /// Width of the result.
        to: u8,
    },
    /// An integer widened with zeros.
    ZeroExtend {
        /// Width of the operand.
        from: u8,
    },
    /// An integer widened with its sign.
    SignExtend {
        /// Width of the operand.
        from: u8,
        /// Width of the result.
        to: u8,
    },
    /// A float to another format.
    Float {
        /// Format of the operand.
        from: Format,
        /// Format of the result.
        to: Format,
        /// How it is rounded.
        rounding: Rounding,
        /// Whether overflow gives the largest finite number (`.satfinite`).
        saturate: bool,
        /// Whether a negative result becomes 0 (`.relu`).
        relu: bool,
    },
    /// An integer to a float, rounded to nearest even.
    IntegerToFloat {
        /// Width of the operand.
        from: u8,
        /// Whether the operand has a sign.
        signed: bool,
        /// Format of the result.
        to: Format,
    },
    /// A float to an integer, saturating. NaN gives 0, as PTX's `cvt` says; for f64 operands and 64-bit results only
    /// the top bit is set, as on an H200.
    FloatToInteger {
        /// Format of the operand.
        from: Format,
        /// Width of the result.
        to: u8,
        /// Whether the result has a sign.
        signed: bool,
        /// How it is rounded: towards zero for LLVM's ops.
        rounding: Rounding,
    },
}

/// How a conversion rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, ties to even (`.rn`, `.rni`).
    NearestEven,
    /// To nearest, ties away from zero (`.rna`).
    NearestAway,
    /// Towards zero (`.rz`).
    Zero,
    /// Down (`.rm`).
    Down,
    /// Up (`.rp`).
    Up,
}
