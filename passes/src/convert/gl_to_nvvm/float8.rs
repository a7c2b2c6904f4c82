//! Conversions of 8-bit floats: the machine converts two at a time, which share a word of 16 bits.
//!
//! Widening goes through f16, which represents every number of both formats. Narrowing goes through f32, which represents every
//! f16 and bf16; an f64 is first rounded to odd, so that the rounding to nearest that follows gives what a single rounding
//! would. Narrowing saturates: that is the only conversion there is (PTX ISA 9.0, "cvt").

use melior::ir::{Attribute, Type, ValueLike, attribute::TypeAttribute};

use crate::mlir::{diagnostic::Diagnostic, types};

use super::emit::{Emit, Value};

/// The predicates of `arith.cmpf` that are used here.
const GREATER: i64 = 2;
const UNORDERED_OR_UNEQUAL: i64 = 13;

/// `value`, of elements `from`, as a value of type `ty` that holds elements `to`; one of the two is an 8-bit float.
pub(super) fn convert<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Value<'c, 'a>,
    from: Type<'c>,
    to: Type<'c>,
    ty: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let elements = match types::is_vector(ty) {
        true => value,
        false => e.pack(&[value])?,
    };
    let converted = match types::is_float8(from) {
        true => widen(e, elements, from, to)?,
        false => narrow(e, elements, to)?,
    };
    match types::is_vector(ty) {
        true => Ok(converted),
        false => Ok(e.elements(converted).map_err(|error| e.internal(error))?[0]),
    }
}

/// Element 2i is the low byte of word i, element 2i + 1 the high byte.
fn widen<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    bytes: Value<'c, 'a>,
    from: Type<'c>,
    to: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let count = types::vector_len(bytes.r#type());
    let pair = e.vector_of(2, e.int(8))?;
    let pairs = match count.is_multiple_of(2) {
        true => {
            let words = e.bitcast(bytes, e.vector_of(count / 2, e.int(16))?);
            let words = e.elements(words).map_err(|error| e.internal(error))?;
            words.into_iter().map(|word| e.bitcast(word, pair)).collect()
        }
        // A single byte: the other half of the word is not used.
        false => vec![e.shuffle(bytes, &[0, 0])?],
    };
    let halves_ty = e.vector_of(2, Type::float16(e.b.context()))?;
    let mut halves = Vec::with_capacity(2 * pairs.len());
    for pair in pairs {
        let format = [("srcType", TypeAttribute::new(from).into())];
        let converted =
            e.b.value_with("nvvm.convert.f8x2.to.f16x2", &[pair], halves_ty, &format);
        halves.extend(e.elements(converted).map_err(|error| e.internal(error))?);
    }
    halves.truncate(count);
    let halves = e.pack(&halves)?;
    let of = |element| e.vector_of(count, element);
    if halves.r#type() == of(to)? {
        return Ok(halves);
    }
    if types::bit_width(to) == Some(16) {
        let wide =
            e.b.value("arith.extf", &[halves], of(Type::float32(e.b.context()))?);
        return Ok(e.b.value("arith.truncf", &[wide], of(to)?));
    }
    Ok(e.b.value("arith.extf", &[halves], of(to)?))
}

fn narrow<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Value<'c, 'a>,
    to: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let count = types::vector_len(value.r#type());
    let floats = e.elements(to_f32(e, value)?).map_err(|error| e.internal(error))?;
    let attributes = [
        ("rnd", Attribute::parse(e.b.context(), "#nvvm.fp_rnd_mode<rn>")),
        (
            "sat",
            Attribute::parse(e.b.context(), "#nvvm.sat_mode<satfinite>"),
        ),
        ("dstTy", Some(TypeAttribute::new(to).into())),
    ];
    let attributes = attributes
        .into_iter()
        .filter_map(|(name, attribute)| Some((name, attribute?)))
        .collect::<Vec<_>>();
    let words = floats
        .chunks(2)
        .map(|pair| {
            let (low, high) = (pair[0], pair[pair.len() - 1]);
            // The first operand is the high byte.
            e.b.value_with("nvvm.convert.f32x2.to.f8x2", &[high, low], e.int(16), &attributes)
        })
        .collect::<Vec<_>>();
    let bytes = e.bitcast(e.pack(&words)?, e.vector_of(2 * words.len(), e.int(8))?);
    e.slice(bytes, 0, count)
}

/// A vector of f32 that round to the same 8-bit floats as `value`.
fn to_f32<'c, 'a>(e: &Emit<'_, 'c, 'a>, value: Value<'c, 'a>) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let ty = value.r#type();
    let of = |element| e.vector_of(types::vector_len(ty), element);
    let f32 = of(Type::float32(e.b.context()))?;
    match types::bit_width(types::element(ty)) {
        Some(32) => Ok(value),
        Some(16) => Ok(e.b.value("arith.extf", &[value], f32)),
        _ => {
            // Rounds to odd: a step towards zero where the nearest f32 is greater in magnitude, then the lowest bit set where
            // the conversion was inexact. Overflow becomes the largest number, and NaN stays NaN.
            let nearest = e.b.value("arith.truncf", &[value], f32);
            let back = e.b.value("arith.extf", &[nearest], ty);
            let magnitude = |value| e.b.value("math.absf", &[value], ty);
            let flag = |predicate: i64, lhs, rhs| {
                let attributes = [("predicate", e.b.i64_attribute(predicate))];
                let bits =
                    e.b.value_with("arith.cmpf", &[lhs, rhs], of(e.int(1))?, &attributes);
                Ok::<_, Diagnostic<'c>>(e.b.value("arith.extui", &[bits], of(e.int(32))?))
            };
            let too_far = flag(GREATER, magnitude(back), magnitude(value))?;
            let lost = flag(UNORDERED_OR_UNEQUAL, back, value)?;
            let bits = e.bitcast(nearest, of(e.int(32))?);
            let towards_zero = e.b.value("arith.subi", &[bits, too_far], bits.r#type());
            let odd = e.b.value("arith.ori", &[towards_zero, lost], bits.r#type());
            Ok(e.bitcast(odd, f32))
        }
    }
}
