//! `arith` and `math` ops on tiles: the same op on the vector of a thread's registers.
//!
//! Some ops differ: the attribute of a constant gets the converted type; a cast of an index, which is i64 from here on, becomes
//! a cast between integers or nothing; conversions of 8-bit floats, which LLVM holds as integers, are in [`float8`]. Widening
//! from bf16 is a shift and a mask: the conversion instruction takes two operations for the high half of a register (read off
//! SASS for sm_90a). Narrowing to a float of 16 bits converts two elements at a time. What takes or returns predicates is done element
//! by element: LLVM splits vectors into words, and one of 32 predicates would keep as many elements together.

use melior::ir::{
    Attribute, AttributeLike, OperationRef, Type, TypeLike, ValueLike,
    attribute::{FloatAttribute, IntegerAttribute},
    operation::OperationLike,
};
use mlir_sys::{
    mlirAttributeIsADenseElements, mlirDenseElementsAttrGetSplatValue, mlirDenseElementsAttrIsSplat,
    mlirDenseElementsAttrSplatGet,
};
use norma_bundle::Element;

use crate::mlir::{builder::Builder, conversion::Rejection, diagnostic::Diagnostic, types};

use super::{
    emit::{Emit, Value},
    float8, packed, tile,
};

/// Lowers any elementwise op of `arith` or `math`.
pub(super) fn elementwise<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    if op.region_count() != 0 || op.result_count() != 1 {
        return Err("expected an elementwise op of one result".into());
    }
    let result = op.result(0)?.r#type();
    let name = norma_dialects::op_name(op);
    let float8 = op
        .operands()
        .map(|operand| operand.r#type())
        .chain([result])
        .map(types::element)
        .find(|element| types::is_float8(*element));
    let ty = convert(&e, result);
    let value = match name {
        "arith.extf" | "arith.truncf" if float8.is_some() => {
            let from = types::element(op.operand(0)?.r#type());
            float8::convert(&e, operands[0], from, types::element(result), ty)?
        }
        // Both are bytes already.
        "arith.bitcast" if float8.is_some() => operands[0],
        name if name != "arith.constant" && float8.is_some() => {
            let message = format!(
                "expected 8-bit floats to be converted by arith.extf, arith.truncf and arith.bitcast alone, got {name} of {}",
                float8.unwrap_or(result)
            );
            return Err(e.unsupported(message).into());
        }
        "arith.constant" => constant(&e, op.attribute("value")?, ty)?,
        name @ ("arith.index_cast" | "arith.index_castui") => index_cast(&e, name, operands[0], ty),
        "arith.extf" if is_widening_of_bf16(operands[0].r#type(), ty) => widen_bf16(&e, operands[0], ty)?,
        "arith.truncf" if is_narrowing_to_half(operands[0].r#type(), ty) => narrow_f32(&e, operands[0], ty)?,
        _ if handles_predicates(operands, ty) => by_elements(&e, op, operands, ty)?,
        _ => b.rebuild(op, operands, &[ty]).result(0)?.into(),
    };
    b.replace(op, &[value]);
    Ok(())
}

fn convert<'c>(e: &Emit<'_, 'c, '_>, ty: Type<'c>) -> Type<'c> {
    let int = |bits| e.int(bits);
    tile::converted(ty, int).unwrap_or_else(|| tile::llvm_element(ty, int))
}

fn constant<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Attribute<'c>,
    ty: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let element = types::element(ty);
    let scalar =
        |value: Attribute<'c>| match (IntegerAttribute::try_from(value), FloatAttribute::try_from(value)) {
            (Ok(integer), _) => Ok(IntegerAttribute::new(element, integer.value()).into()),
            // A float that LLVM holds as an integer.
            (_, Ok(float)) if types::bit_width(element) == Some(8) => {
                let format = Element::from_name(&value.r#type().to_string()).ok_or_else(|| {
                    e.unsupported(format!(
                        "expected 8-bit floats of f8E4M3FN, f8E5M2 or f8E8M0FNU as constants, got {value}"
                    ))
                })?;
                let bits = match format {
                    Element::F8E8M0FNU => exponent_of_power(float.value()),
                    format => format.encode_float(float.value()) as i64,
                };
                Ok(IntegerAttribute::new(element, bits).into())
            }
            _ => Ok(value),
        };
    if !types::is_vector(ty) {
        return Ok(e.b.constant(scalar(value)?, ty));
    }
    // SAFETY: the attribute is alive, and each query runs on the kind of attribute it is for; the splat's value has the
    // vector's element type, as the constant had before its index elements became i64.
    let dense = unsafe {
        if !mlirAttributeIsADenseElements(value.to_raw()) || !mlirDenseElementsAttrIsSplat(value.to_raw()) {
            return Err(e.unsupported(format!("expected a constant tile of one value, got {value}")));
        }
        let splat = scalar(Attribute::from_raw(mlirDenseElementsAttrGetSplatValue(
            value.to_raw(),
        )))?;
        Attribute::from_raw(mlirDenseElementsAttrSplatGet(ty.to_raw(), splat.to_raw()))
    };
    Ok(e.b.constant(dense, ty))
}

/// The bits of a power of two from 2^-127 to 2^127 in E8M0; of its NaN otherwise, which MLIR converts to an infinity of f64.
fn exponent_of_power(power: f64) -> i64 {
    // All of these are normal numbers of f64.
    let exponent = (power.to_bits() >> 52) as i64 - 1023;
    if power.is_finite() { exponent + 127 } else { 255 }
}

fn index_cast<'c, 'a>(e: &Emit<'_, 'c, 'a>, name: &str, value: Value<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
    let bits = |ty| types::bit_width(types::element(ty)).unwrap_or_default();
    match bits(value.r#type()).cmp(&bits(ty)) {
        std::cmp::Ordering::Equal => value,
        std::cmp::Ordering::Greater => e.b.value("arith.trunci", &[value], ty),
        std::cmp::Ordering::Less if name == "arith.index_cast" => e.b.value("arith.extsi", &[value], ty),
        std::cmp::Ordering::Less => e.b.value("arith.extui", &[value], ty),
    }
}

fn is_widening_of_bf16(from: Type<'_>, to: Type<'_>) -> bool {
    types::vector_len(from).is_multiple_of(2)
        && types::is_bf16(types::element(from))
        && types::is_f32(types::element(to))
}

/// Element 2i is the low half of word i, element 2i + 1 the high half.
fn widen_bf16<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Value<'c, 'a>,
    ty: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let count = types::vector_len(ty);
    let words_ty = e.vector_of(count / 2, e.int(32))?;
    let words = e
        .elements(e.bitcast(value, words_ty))
        .map_err(|error| e.internal(error))?;
    let f32 = types::element(ty);
    let mut floats = Vec::with_capacity(count);
    for word in words {
        let low = e.b.value("arith.shli", &[word, e.i32(16)], e.int(32));
        let high = e.andi(word, e.i32(-65536));
        floats.extend([low, high].map(|bits| e.b.value("arith.bitcast", &[bits], f32)));
    }
    e.pack(&floats)
}

fn is_narrowing_to_half(from: Type<'_>, to: Type<'_>) -> bool {
    types::vector_len(from).is_multiple_of(2)
        && types::is_f32(types::element(from))
        && packed::is_half(types::element(to))
}

/// Element 2i becomes the low half of word i, element 2i + 1 the high half.
fn narrow_f32<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Value<'c, 'a>,
    ty: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let half = types::element(ty);
    let convert = match types::is_bf16(half) {
        true => "nvvm.convert.f32x2.to.bf16x2",
        false => "nvvm.convert.f32x2.to.f16x2",
    };
    let to_nearest = Attribute::parse(e.b.context(), "#nvvm.fp_rnd_mode<rn>")
        .ok_or_else(|| e.internal("expected a rounding mode of nvvm"))?;
    let pair_ty = e.vector_of(2, half)?;
    let elements = e.elements(value).map_err(|error| e.internal(error))?;
    let words = elements.chunks_exact(2).map(|pair| {
        // The first operand is the high half.
        let halves =
            e.b.value_with(convert, &[pair[1], pair[0]], pair_ty, &[("rnd", to_nearest)]);
        e.bitcast(halves, e.int(32))
    });
    Ok(e.bitcast(e.pack(&words.collect::<Vec<_>>())?, ty))
}

/// Whether an op on tiles takes or returns tiles of i1.
fn handles_predicates(operands: &[Value<'_, '_>], result: Type<'_>) -> bool {
    let is_of_predicates = |ty| types::is_vector(ty) && types::bit_width(types::element(ty)) == Some(1);
    types::is_vector(result)
        && (is_of_predicates(result) || operands.iter().any(|operand| is_of_predicates(operand.r#type())))
}

/// The same op on each element.
fn by_elements<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    ty: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let count = types::vector_len(ty);
    let of_operand = |operand: &Value<'c, 'a>| match types::is_vector(operand.r#type()) {
        true => e.elements(*operand).map_err(|error| e.internal(error)),
        false => Ok(vec![*operand; count]),
    };
    let operands = operands.iter().map(of_operand).collect::<Result<Vec<_>, _>>()?;
    let element = types::element(ty);
    let elements = (0..count).map(|index| {
        let of_element = operands
            .iter()
            .map(|elements| elements[index])
            .collect::<Vec<_>>();
        let result = e.b.rebuild(op, &of_element, &[element]).result(0);
        result.map(Into::into).map_err(|error| e.internal(error))
    });
    e.pack(&elements.collect::<Result<Vec<_>, _>>()?)
}
