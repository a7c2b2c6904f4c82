//! Moves, arithmetic, bits, comparisons and selects.

use super::{
    super::error::{Result, invalid, unsupported},
    assembly::{Assembly, B32, PREDICATE, operands},
    float,
    qualifiers::{Kind, Qualifiers, Type},
    statement::Operand,
};
use crate::program::{Conversion, FloatPredicate, Instruction, IntegerOp, IntegerPredicate, Register};

/// `mov`: of a scalar, or between a vector and a scalar of the same bits.
pub(super) fn move_(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    let ty = q.ty()?;
    q.done()?;
    match found {
        [Operand::Vector(to), from] => {
            let from = asm.source(from, ty)?;
            let to = to
                .iter()
                .map(|to| asm.destination(to))
                .collect::<Result<Vec<_>>>()?;
            let to_bits = part(ty, to.len())?;
            asm.push(Instruction::Repack {
                to,
                to_bits,
                from: vec![from],
                from_bits: ty.bits,
            })
        }
        [to, Operand::Vector(from)] => {
            let from_bits = part(ty, from.len())?;
            let element = Type {
                kind: Kind::Bits,
                bits: from_bits,
            };
            let from = from
                .iter()
                .map(|from| asm.source(from, element))
                .collect::<Result<Vec<_>>>()?;
            let to = asm.destination(to)?;
            asm.push(Instruction::Repack {
                to: vec![to],
                to_bits: ty.bits,
                from,
                from_bits,
            })
        }
        [to, from] => {
            let from = asm.source(from, ty)?;
            let to = asm.destination(to)?;
            asm.push(Instruction::Copy { to, from })
        }
        _ => Err(operands(found)),
    }
}

fn part(ty: Type, count: usize) -> Result<u8> {
    match usize::from(ty.bits) {
        bits if count > 0 && bits % count == 0 => Ok((bits / count) as u8),
        bits => Err(invalid(format!("splits {bits} bits into {count}"))),
    }
}

/// Instructions that both integers and floats have; those on floats are decoded by [`float`].
pub(super) fn arithmetic(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
    root: &str,
) -> Result<()> {
    let ty = q.ty()?;
    if matches!(ty.kind, Kind::Float(_) | Kind::Pair(_)) {
        return float::arithmetic(asm, q, found, root, ty);
    }
    let signed = ty.kind == Kind::Signed;
    let kept = match root {
        "mul" | "mad" => q.one_of(&[("lo", Kept::Low), ("hi", Kept::High), ("wide", Kept::Whole)]),
        _ => None,
    };
    let kept = kept.unwrap_or(Kept::Low);
    q.done()?;
    let bits = ty.bits;
    let product = product(ty, kept)?;
    let types = [ty, ty, product];
    let sources = found.iter().skip(1).enumerate().map(|(index, operand)| {
        let ty = types.get(index).ok_or_else(|| operands(found))?;
        asm.source(operand, *ty)
    });
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let by_sign = |yes, no| if signed { yes } else { no };
    let result = match (root, &sources[..]) {
        ("add", &[a, b]) => asm.body.integer(IntegerOp::Add, bits, a, b),
        ("sub", &[a, b]) => asm.body.integer(IntegerOp::Sub, bits, a, b),
        ("mul", &[a, b]) => multiply(asm, ty, kept, a, b),
        ("mad", &[a, b, c]) => {
            let multiplied = multiply(asm, ty, kept, a, b);
            asm.body.integer(IntegerOp::Add, product.bits, multiplied, c)
        }
        ("div", &[a, b]) => {
            let op = by_sign(IntegerOp::DivSigned, IntegerOp::DivUnsigned);
            asm.body.integer(op, bits, a, b)
        }
        ("rem", &[a, b]) => {
            let op = by_sign(IntegerOp::RemSigned, IntegerOp::RemUnsigned);
            asm.body.integer(op, bits, a, b)
        }
        ("min", &[a, b]) => {
            let op = by_sign(IntegerOp::MinSigned, IntegerOp::MinUnsigned);
            asm.body.integer(op, bits, a, b)
        }
        ("max", &[a, b]) => {
            let op = by_sign(IntegerOp::MaxSigned, IntegerOp::MaxUnsigned);
            asm.body.integer(op, bits, a, b)
        }
        ("abs", &[a]) if signed => asm.body.integer(IntegerOp::AbsSigned, bits, a, a),
        ("neg", &[a]) if signed => {
            let zero = asm.body.constant(0);
            asm.body.integer(IntegerOp::Sub, bits, zero, a)
        }
        _ => return Err(operands(found)),
    };
    give(asm, found, result)
}

/// The part of a product that an integer multiplication keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Low,
    High,
    /// All of it (`.wide`).
    Whole,
}

/// The type of a product, and of what `mad` adds to it (PTX ISA, "mad").
fn product(ty: Type, kept: Kept) -> Result<Type> {
    match kept {
        Kept::Low | Kept::High => Ok(ty),
        Kept::Whole if ty.bits > 32 => Err(invalid("has .wide of 64 bits")),
        Kept::Whole => Ok(Type {
            bits: ty.bits * 2,
            ..ty
        }),
    }
}

fn multiply(asm: &mut Assembly<'_, '_>, ty: Type, kept: Kept, a: Register, b: Register) -> Register {
    let (from, signed) = (ty.bits, ty.kind == Kind::Signed);
    let widen = |asm: &mut Assembly<'_, '_>, register| match signed {
        true => {
            let to = from * 2;
            asm.body.convert(Conversion::SignExtend { from, to }, register)
        }
        false => register,
    };
    match kept {
        Kept::Low => asm.body.integer(IntegerOp::Mul, from, a, b),
        Kept::High if signed => asm.body.integer(IntegerOp::MulHighSigned, from, a, b),
        Kept::High => asm.body.integer(IntegerOp::MulHighUnsigned, from, a, b),
        Kept::Whole => {
            let (a, b) = (widen(asm, a), widen(asm, b));
            asm.body.integer(IntegerOp::Mul, from * 2, a, b)
        }
    }
}

/// Instructions on bits.
pub(super) fn bits(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
    root: &str,
) -> Result<()> {
    let ty = q.ty()?;
    q.done()?;
    let bits = ty.bits;
    if matches!(root, "shl" | "shr") {
        return shift(asm, found, ty, root == "shl");
    }
    if root == "lop3" {
        return lookup(asm, found, ty);
    }
    let sources = sources(asm, found, ty)?;
    let result = match (root, &sources[..]) {
        ("and", &[a, b]) => asm.body.integer(IntegerOp::And, bits, a, b),
        ("or", &[a, b]) => asm.body.integer(IntegerOp::Or, bits, a, b),
        ("xor", &[a, b]) => asm.body.integer(IntegerOp::Xor, bits, a, b),
        ("not", &[a]) => complement(asm, bits, a),
        ("popc", &[a]) => asm.body.integer(IntegerOp::PopulationCount, bits, a, a),
        ("clz", &[a]) => asm.body.integer(IntegerOp::LeadingZeros, bits, a, a),
        ("brev", &[a]) => asm.body.integer(IntegerOp::BitReverse, bits, a, a),
        ("prmt", &[a, b, selector]) => {
            let to = asm.body.fresh();
            asm.body.push(Instruction::PermuteBytes { to, a, b, selector });
            to
        }
        _ => return Err(operands(found)),
    };
    give(asm, found, result)
}

fn complement(asm: &mut Assembly<'_, '_>, bits: u8, a: Register) -> Register {
    let ones = asm.body.constant(u64::MAX >> (64 - u32::from(bits)));
    asm.body.integer(IntegerOp::Xor, bits, a, ones)
}

/// `shl` and `shr`, which shift out all bits if the amount is the width or more, where LLVM's operations are undefined.
fn shift(asm: &mut Assembly<'_, '_>, found: &[Operand], ty: Type, left: bool) -> Result<()> {
    let [_, a, b] = found else {
        return Err(operands(found));
    };
    let (a, b) = (asm.source(a, ty)?, asm.source(b, B32)?);
    let bits = ty.bits;
    let signed = ty.kind == Kind::Signed && !left;
    let last = asm.body.constant(u64::from(bits) - 1);
    let amount = asm.body.integer(IntegerOp::MinUnsigned, 32, b, last);
    let op = match (left, signed) {
        (true, _) => IntegerOp::Shl,
        (false, true) => IntegerOp::AShr,
        (false, false) => IntegerOp::LShr,
    };
    let known = asm.body.known(b).is_some_and(|amount| amount < u64::from(bits));
    let result = if known {
        asm.body.integer(op, bits, a, b)
    } else {
        let shifted = asm.body.integer(op, bits, a, amount);
        if signed {
            shifted
        } else {
            let zero = asm.body.constant(0);
            let within = asm.body.compare(IntegerPredicate::Ule, 32, b, last);
            asm.body.select(within, shifted, zero)
        }
    };
    give(asm, found, result)
}

/// `lop3.b32`: the disjunction of the minterms whose bits are set in the table.
fn lookup(asm: &mut Assembly<'_, '_>, found: &[Operand], ty: Type) -> Result<()> {
    let [_, a, b, c, Operand::Integer(table)] = found else {
        return Err(operands(found));
    };
    let bits = ty.bits;
    let inputs = [asm.source(a, ty)?, asm.source(b, ty)?, asm.source(c, ty)?];
    let mut result = asm.body.constant(0);
    for minterm in (0..8).filter(|minterm| table >> minterm & 1 == 1) {
        let mut product = asm.body.constant(u64::MAX >> (64 - u32::from(bits)));
        for (place, input) in inputs.into_iter().enumerate() {
            let factor = match minterm >> (2 - place) & 1 {
                1 => input,
                _ => complement(asm, bits, input),
            };
            product = asm.body.integer(IntegerOp::And, bits, product, factor);
        }
        result = asm.body.integer(IntegerOp::Or, bits, result, product);
    }
    give(asm, found, result)
}

/// `setp` with one predicate, not combined with another.
pub(super) fn set_predicate(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
) -> Result<()> {
    let ty = q.ty()?;
    let [_, a, b] = found else {
        return Err(operands(found));
    };
    let (a, b) = (asm.source(a, ty)?, asm.source(b, ty)?);
    let to = asm.body.fresh();
    if let Kind::Float(format) = ty.kind {
        if q.flush() {
            return Err(unsupported(
                "flushes subnormals before it compares, which is not modelled",
            ));
        }
        use FloatPredicate::*;
        let predicate = q.one_of(&[
            ("eq", Oeq),
            ("ne", One),
            ("lt", Olt),
            ("le", Ole),
            ("gt", Ogt),
            ("ge", Oge),
            ("equ", Ueq),
            ("neu", Une),
            ("ltu", Ult),
            ("leu", Ule),
            ("gtu", Ugt),
            ("geu", Uge),
            ("num", Ord),
            ("nan", Uno),
        ]);
        q.done()?;
        let predicate = predicate.ok_or_else(|| unsupported("has no comparison that is modelled"))?;
        asm.body.push(Instruction::CompareFloat {
            predicate,
            format,
            to,
            a,
            b,
        });
        return give(asm, found, to);
    }
    use IntegerPredicate::*;
    let signed = ty.kind == Kind::Signed;
    let predicate = q.one_of(&[
        ("eq", Eq),
        ("ne", Ne),
        ("lt", if signed { Slt } else { Ult }),
        ("le", if signed { Sle } else { Ule }),
        ("gt", if signed { Sgt } else { Ugt }),
        ("ge", if signed { Sge } else { Uge }),
        ("lo", Ult),
        ("ls", Ule),
        ("hi", Ugt),
        ("hs", Uge),
    ]);
    q.done()?;
    let predicate = predicate.ok_or_else(|| unsupported("has no comparison that is modelled"))?;
    asm.body.push(Instruction::CompareInteger {
        predicate,
        bits: ty.bits,
        to,
        a,
        b,
    });
    give(asm, found, to)
}

pub(super) fn select(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    let ty = q.ty()?;
    q.done()?;
    let [_, yes, no, condition] = found else {
        return Err(operands(found));
    };
    let (yes, no) = (asm.source(yes, ty)?, asm.source(no, ty)?);
    let condition = asm.source(condition, PREDICATE)?;
    let result = asm.body.select(condition, yes, no);
    give(asm, found, result)
}

/// The operands after the first, which all are of the instruction's type.
pub(super) fn sources(asm: &mut Assembly<'_, '_>, found: &[Operand], ty: Type) -> Result<Vec<Register>> {
    found
        .iter()
        .skip(1)
        .map(|operand| asm.source(operand, ty))
        .collect()
}

/// Writes a result to the first operand.
pub(super) fn give(asm: &mut Assembly<'_, '_>, found: &[Operand], result: Register) -> Result<()> {
    let [to, ..] = found else {
        return Err(operands(found));
    };
    let to = asm.destination(to)?;
    asm.push(Instruction::Copy { to, from: result })
}
