//! `cvt` between floats, integers and packed floats, and `cvta` between address spaces.

use super::{
    super::{
        error::{Result, unsupported},
        llvm::pointer::cast_address,
    },
    arithmetic::give,
    assembly::{Assembly, B64, operands},
    qualifiers::{Kind, Qualifiers},
    statement::Operand,
};
use crate::program::{Conversion, Format, Register, Rounding, Space};

pub(super) fn convert(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    let (to, from) = (q.ty()?, q.ty()?);
    let rounding = q.one_of(&[
        ("rn", Rounding::NearestEven),
        ("rni", Rounding::NearestEven),
        ("rna", Rounding::NearestAway),
        ("rz", Rounding::Zero),
        ("rzi", Rounding::Zero),
        ("rm", Rounding::Down),
        ("rmi", Rounding::Down),
        ("rp", Rounding::Up),
        ("rpi", Rounding::Up),
    ]);
    let (saturate, relu) = (q.take("satfinite"), q.take("relu"));
    q.done()?;
    let nearest = rounding.unwrap_or(Rounding::NearestEven);
    let float = |from: Format, to: Format| Conversion::Float {
        from,
        to,
        rounding: nearest,
        saturate,
        relu,
    };
    match (to.kind, from.kind, found) {
        // The first operand is the upper half.
        (Kind::Pair(to), Kind::Float(Format::F32), [_, high, low]) => {
            let sources = [asm.source(low, from)?, asm.source(high, from)?];
            pack(asm, found, float(Format::F32, to), to, sources)
        }
        (Kind::Pair(to), Kind::Pair(source), [_, operand]) => {
            let register = asm.source(operand, from)?;
            let halves = asm.body.repack(vec![register], from.bits, from.bits / 2);
            pack(asm, found, float(source, to), to, [halves[0], halves[1]])
        }
        (to_kind, from_kind, [_, operand]) => {
            let register = asm.source(operand, from)?;
            let conversion = match (to_kind, from_kind) {
                (Kind::Float(to), Kind::Float(from)) if to != from => float(from, to),
                (Kind::Float(to), Kind::Signed | Kind::Unsigned) if nearest == Rounding::NearestEven => {
                    Conversion::IntegerToFloat {
                        from: from.bits,
                        signed: from_kind == Kind::Signed,
                        to,
                    }
                }
                (Kind::Signed | Kind::Unsigned, Kind::Float(format)) => Conversion::FloatToInteger {
                    from: format,
                    to: to.bits,
                    signed: to_kind == Kind::Signed,
                    rounding: rounding.ok_or_else(|| unsupported("has no rounding"))?,
                },
                (Kind::Signed | Kind::Unsigned, Kind::Signed | Kind::Unsigned) => {
                    if to.bits <= from.bits {
                        Conversion::Truncate { to: to.bits }
                    } else if from_kind == Kind::Signed {
                        Conversion::SignExtend {
                            from: from.bits,
                            to: to.bits,
                        }
                    } else {
                        Conversion::ZeroExtend { from: from.bits }
                    }
                }
                _ => return Err(unsupported("is not modelled")),
            };
            let result = asm.body.convert(conversion, register);
            give(asm, found, result)
        }
        _ => Err(operands(found)),
    }
}

/// Converts two floats, the lower first, and packs them.
fn pack(
    asm: &mut Assembly<'_, '_>,
    found: &[Operand],
    conversion: Conversion,
    to: Format,
    sources: [Register; 2],
) -> Result<()> {
    let bits = match to {
        Format::F16 | Format::BF16 => 16,
        _ => 8,
    };
    let halves = sources
        .into_iter()
        .map(|source| asm.body.convert(conversion, source))
        .collect();
    let result = asm.body.repack(halves, bits, bits * 2)[0];
    give(asm, found, result)
}

/// `cvta.space` to generic, `cvta.to.space` from it.
pub(super) fn convert_address(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
) -> Result<()> {
    let to = q.take("to");
    let space = q.space();
    q.ty()?;
    q.done()?;
    let [_, address] = found else {
        return Err(operands(found));
    };
    let address = asm.source(address, B64)?;
    let (from, to) = if to {
        (Space::Generic, space)
    } else {
        (space, Space::Generic)
    };
    let result = cast_address(asm.body, address, from, to)?;
    give(asm, found, result)
}
