//! `math.fpowi` by a constant, of numbers and of tensors: few factors are multiplied, and other powers are those of `math.powf`.

use melior::ir::{
    Attribute, OperationRef, Type, Value, ValueLike,
    attribute::{DenseElementsAttribute, IntegerAttribute},
    operation::OperationLike,
};

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        types,
        values::definition,
        walk,
    },
    norm::function_scalars,
};

/// The op's name; its dialect is one of MLIR's own.
pub(in crate::norm) const NAME: &str = "math.fpowi";

/// The most factors that are multiplied. The rounding errors of a product grow with their number, those of `math.powf` do not.
const MOST_FACTORS: i64 = 4;

/// Exponents up to this are numbers of f32.
const LARGEST: i64 = 1 << 24;

/// Replaces an op by products, or by `math.powf`.
///
/// # Errors
///
/// Unsupported: the exponent is no constant, or too large.
pub(in crate::norm) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let (base, exponent) = (op.operand(0)?, op.operand(1)?);
    let refuse = |message: String| PassError::from(Diagnostic::unsupported(op.location(), message));
    let count = constant(exponent)
        .filter(|count| count.abs() <= LARGEST)
        .ok_or_else(|| {
            refuse(format!(
                "'{NAME}' by what is no constant up to 2^24; supported: such constants, and math.powf"
            ))
        })?;
    let ty = base.r#type();
    let element = types::element(ty);
    let is_double = types::bit_width(element) == Some(64);
    if is_double && count.abs() > MOST_FACTORS {
        let message = format!("'{NAME}' of f64 by {count}; supported: exponents between -4 and 4");
        return Err(refuse(message));
    }
    let b = Builder::before(op);
    // The power is rounded once, from f32.
    let wide = if is_double {
        element
    } else {
        Type::float32(b.context())
    };
    let wide = with_element(ty, wide)?;
    let widened = match wide == ty {
        true => base,
        false => b.value("arith.extf", &[base], wide),
    };
    let power = match count.abs() {
        0 => number(&b, widened, 1.0)?,
        factors @ 1..=MOST_FACTORS => {
            let product = (1..factors).fold(widened, |product, _| {
                b.value("arith.mulf", &[product, widened], wide)
            });
            match count < 0 {
                true => b.value("arith.divf", &[number(&b, widened, 1.0)?, product], wide),
                false => product,
            }
        }
        _ => {
            let exponent = number(&b, widened, count as f64)?;
            b.value("math.powf", &[widened, exponent], wide)
        }
    };
    let result = match wide == ty {
        true => power,
        false => b.value("arith.truncf", &[power], ty),
    };
    b.replace(op, &[result]);
    // The exponent may be a tensor, which would become a program of its own.
    let of_exponent = definition(exponent).into_iter().collect::<Vec<_>>();
    let extracted_from = of_exponent
        .iter()
        .filter_map(|op| definition(op.operand(0).ok()?));
    let unused = extracted_from
        .chain(of_exponent.iter().copied())
        .collect::<Vec<_>>();
    b.erase_unused(unused.into_iter());
    Ok(())
}

/// The value of an integer, or of all elements of a tensor, that is a constant.
fn constant(exponent: Value<'_, '_>) -> Option<i64> {
    let op = definition(exponent)?;
    if walk::has_name(op, "tensor.splat") {
        return constant(op.operand(0).ok()?);
    }
    let value = match walk::has_name(op, "arith.constant") {
        true => op.attribute("value").ok()?,
        false => function_scalars::extracted(op)?,
    };
    let splat = |value: Attribute<'_>| {
        let splat = DenseElementsAttribute::try_from(value).ok()?;
        let splat = splat.is_splat().then(|| splat.splat_value())?;
        Some(IntegerAttribute::try_from(splat).ok()?.value())
    };
    match IntegerAttribute::try_from(value) {
        Ok(integer) => Some(integer.value()),
        Err(_) => splat(value),
    }
}

/// A scalar or tensor type with another element type.
fn with_element<'c>(ty: Type<'c>, element: Type<'c>) -> Result<Type<'c>, PassError<'c>> {
    match types::shape(ty) {
        None => Ok(element),
        Some(shape) => types::tensor(&shape, element, None)
            .ok_or_else(|| PassError::Internal(format!("no tensor of {element}"))),
    }
}

/// A number as a value of the type of `like`, of whose size a tensor is.
fn number<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    like: Value<'c, 'a>,
    value: f64,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let ty = like.r#type();
    let number = b.float(types::element(ty), value);
    let Some(shape) = types::shape(ty) else {
        return Ok(number);
    };
    let dynamic = (0..).zip(shape).filter(|(_, size)| size.is_none());
    let sizes =
        dynamic.map(|(axis, _)| b.value("tensor.dim", &[like, b.index(axis)], Type::index(b.context())));
    let operands = std::iter::once(number).chain(sizes).collect::<Vec<_>>();
    Ok(b.value("tensor.splat", &operands, ty))
}
