//! Float arithmetic, rounded to nearest even, and the functions of the special function unit.

use super::{
    super::error::{Result, unsupported},
    arithmetic::{give, sources},
    assembly::{Assembly, operands},
    qualifiers::{Kind, Qualifiers, Type},
    statement::Operand,
};
use crate::program::{ApproximateFunction, FloatOp, Format, Instruction, Register};

pub(super) fn arithmetic(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
    root: &str,
    ty: Type,
) -> Result<()> {
    let (format, packed) = match ty.kind {
        Kind::Float(format) => (format, false),
        Kind::Pair(format @ (Format::F16 | Format::BF16)) => (format, true),
        _ => return Err(unsupported("has a type that is not modelled")),
    };
    let flush = q.flush();
    // `.approx` and `.full` are for divisions alone.
    let approximation = match root {
        "div" => q.one_of(&[
            ("approx", ApproximateFunction::Divide),
            ("full", ApproximateFunction::DivideFull),
        ]),
        _ => None,
    };
    q.take("rn");
    let nan = matches!(root, "min" | "max") && q.take("NaN");
    q.done()?;
    let sources = sources(asm, found, ty)?;
    let op = match root {
        "fma" => None,
        "add" => Some(FloatOp::Add),
        "sub" => Some(FloatOp::Sub),
        "mul" => Some(FloatOp::Mul),
        "div" => Some(FloatOp::Div),
        "min" if nan => Some(FloatOp::Minimum),
        "max" if nan => Some(FloatOp::Maximum),
        "min" => Some(FloatOp::MinNum),
        "max" => Some(FloatOp::MaxNum),
        "abs" => Some(FloatOp::Abs),
        "neg" => Some(FloatOp::Neg),
        _ => return Err(unsupported("is not modelled on floats")),
    };
    let one = |asm: &mut Assembly<'_, '_>, sources: &[Register]| {
        let to = asm.body.fresh();
        let instruction = match (op, sources) {
            (None, &[a, b, c]) => Instruction::FusedMultiplyAdd {
                format,
                flush,
                to,
                a,
                b,
                c,
            },
            (Some(FloatOp::Div), &[a, b])
                if let Some(function) = approximation
                    && format == Format::F32 =>
            {
                Instruction::Approximate {
                    function,
                    flush,
                    to,
                    a,
                    b,
                }
            }
            (Some(op @ (FloatOp::Abs | FloatOp::Neg)), &[a]) => Instruction::Float {
                op,
                format,
                flush,
                to,
                a,
                b: a,
            },
            (Some(op), &[a, b]) if approximation.is_none() => Instruction::Float {
                op,
                format,
                flush,
                to,
                a,
                b,
            },
            _ => return Err(operands(found)),
        };
        asm.push(instruction)?;
        Ok(to)
    };
    if !packed {
        let result = one(asm, &sources)?;
        return give(asm, found, result);
    }
    let halves: Vec<Vec<Register>> = sources
        .into_iter()
        .map(|source| asm.body.repack(vec![source], 32, 16))
        .collect();
    let mut results = Vec::new();
    for half in 0..2 {
        let sources: Vec<Register> = halves.iter().map(|halves| halves[half]).collect();
        results.push(one(asm, &sources)?);
    }
    let result = asm.body.repack(results, 16, 32)[0];
    give(asm, found, result)
}

/// A function of one float, approximate or rounded to nearest even.
pub(super) fn function(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
    root: &str,
) -> Result<()> {
    let ty = q.ty()?;
    let flush = q.flush();
    let (approximate, nearest) = (q.take("approx"), q.take("rn"));
    q.done()?;
    let Kind::Float(format) = ty.kind else {
        return Err(unsupported("has a type that is not modelled"));
    };
    let &[a] = &sources(asm, found, ty)?[..] else {
        return Err(operands(found));
    };
    let to = asm.body.fresh();
    let instruction = match (root, approximate, nearest) {
        ("sqrt", false, true) => Instruction::Float {
            op: FloatOp::Sqrt,
            format,
            flush,
            to,
            a,
            b: a,
        },
        ("rcp", false, true) if matches!(format, Format::F32 | Format::F64) => Instruction::Float {
            op: FloatOp::Div,
            format,
            flush,
            to,
            a: {
                let one = if format == Format::F64 {
                    1f64.to_bits()
                } else {
                    u64::from(1f32.to_bits())
                };
                asm.body.constant(one)
            },
            b: a,
        },
        (_, true, false) if format == Format::F32 => Instruction::Approximate {
            function: match root {
                "ex2" => ApproximateFunction::Exp2,
                "lg2" => ApproximateFunction::Log2,
                "rcp" => ApproximateFunction::Reciprocal,
                "rsqrt" => ApproximateFunction::ReciprocalSquareRoot,
                "sqrt" => ApproximateFunction::SquareRoot,
                "sin" => ApproximateFunction::Sin,
                "cos" => ApproximateFunction::Cos,
                _ => ApproximateFunction::Tanh,
            },
            flush,
            to,
            a,
            b: a,
        },
        _ => return Err(unsupported("has a rounding or type that is not modelled")),
    };
    asm.push(instruction)?;
    give(asm, found, to)
}

/// `copysign.f32 d, a, b`: b with the sign of a.
pub(super) fn copy_sign(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    let ty = q.ty()?;
    q.done()?;
    let Kind::Float(format) = ty.kind else {
        return Err(unsupported("has a type that is not modelled"));
    };
    let &[sign, magnitude] = &sources(asm, found, ty)?[..] else {
        return Err(operands(found));
    };
    let to = asm.body.fresh();
    asm.push(Instruction::Float {
        op: FloatOp::CopySign,
        format,
        flush: false,
        to,
        a: magnitude,
        b: sign,
    })?;
    give(asm, found, to)
}
