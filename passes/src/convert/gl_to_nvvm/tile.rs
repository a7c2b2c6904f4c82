//! The layout of a tile, and the types of its elements in LLVM and in memory.

use melior::ir::{
    Type, ValueLike,
    attribute::{FloatAttribute, IntegerAttribute},
    operation::OperationLike,
};
use norma_dialects::layout;
use norma_layout::LinearLayout;

use crate::mlir::{diagnostic::Diagnostic, types, values::definition, walk};

use super::emit::{Emit, Value};

/// A tile of a layout.
pub(super) struct Tile<'c> {
    /// Which thread holds which element.
    pub layout: LinearLayout,
    /// The element's type as LLVM has it.
    pub element: Type<'c>,
}

impl<'c> Tile<'c> {
    /// The tile that a tensor type describes.
    ///
    /// # Errors
    ///
    /// A user error if the type has no distributed layout, or one that does not fit its shape.
    pub fn of(e: &Emit<'_, 'c, '_>, ty: Type<'c>) -> Result<Self, Diagnostic<'c>> {
        let layout = layout::of_tile(ty).map_err(|error| Diagnostic::user(e.b.location(), error))?;
        let element = llvm_element(types::element(ty), |bits| e.int(bits));
        Ok(Self { layout, element })
    }
}

/// The type that LLVM holds an element in: itself, but i64 for `index`, and i8 for the 8-bit floats, which it lacks.
pub(super) fn llvm_element<'c>(element: Type<'c>, int: impl Fn(u32) -> Type<'c>) -> Type<'c> {
    if types::is_index(element) {
        int(64)
    } else if types::is_float8(element) {
        int(8)
    } else {
        element
    }
}

/// The vector of a thread's registers that a tile becomes, or `None` for another type.
pub(super) fn converted<'c>(ty: Type<'c>, int: impl Fn(u32) -> Type<'c>) -> Option<Type<'c>> {
    let layout = layout::of_tile(ty).ok()?;
    types::vector(
        &[layout.num_registers() as i64],
        llvm_element(types::element(ty), int),
    )
}

/// The type in which an element lies in memory: a bit takes a byte.
pub(super) fn memory_element<'c>(e: &Emit<'_, 'c, '_>, element: Type<'c>) -> Type<'c> {
    match types::bit_width(element) {
        Some(1) => e.int(8),
        _ => element,
    }
}

/// A value, or a vector of values, as it lies in memory.
pub(super) fn to_memory<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let ty = value.r#type();
    match types::bit_width(types::element(ty)) {
        Some(1) if types::is_vector(ty) => {
            let bytes = e.vector_of(types::vector_len(ty), e.int(8))?;
            Ok(e.b.value("arith.extui", &[value], bytes))
        }
        Some(1) => Ok(e.b.value("arith.extui", &[value], e.int(8))),
        _ => Ok(value),
    }
}

/// A vector that lay in memory, as one of `element`.
pub(super) fn from_memory<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    vector: Value<'c, 'a>,
    element: Type<'c>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let ty = vector.r#type();
    if types::element(ty) == element {
        return Ok(vector);
    }
    let bits = e.vector_of(types::vector_len(ty), element)?;
    Ok(e.b.value("arith.trunci", &[vector], bits))
}

/// The bytes as which a vector of bits was loaded, if it was: bit 0 of each is the bit.
pub(super) fn as_loaded<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
    let truncated = definition(value).filter(|op| walk::has_name(*op, "arith.trunci"))?;
    let bytes = truncated.operand(0).ok()?;
    let is_of_bits = types::bit_width(types::element(value.r#type())) == Some(1);
    (is_of_bits && types::bit_width(types::element(bytes.r#type())) == Some(8)).then_some(bytes)
}

/// Bytes of an element in memory.
pub(super) fn element_bytes<'c>(e: &Emit<'_, 'c, '_>, element: Type<'c>) -> Result<usize, Diagnostic<'c>> {
    types::bit_width(element)
        .filter(|bits| bits % 8 == 0)
        .map(|bits| bits / 8)
        .ok_or_else(|| e.unsupported(format!("expected elements of whole bytes, got {element}")))
}

/// Whether a value is the constant +0 of any scalar type.
pub(super) fn is_zero(value: Value<'_, '_>) -> bool {
    let Some(op) = definition(value) else {
        return false;
    };
    let Ok(attribute) = op.attribute("value") else {
        return false;
    };
    match FloatAttribute::try_from(attribute) {
        Ok(float) => float.value() == 0.0 && float.value().is_sign_positive(),
        Err(_) => IntegerAttribute::try_from(attribute).is_ok_and(|integer| integer.value() == 0),
    }
}
