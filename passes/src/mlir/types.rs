//! Queries and construction of types that melior lacks, mostly for ranked tensors with an encoding, memrefs with a layout, and vectors.
//!
//! Accessors accept any type and return `None` for one of another kind, where the C API would assert or read garbage.

use melior::{
    Context,
    ir::{Attribute, AttributeLike, Type, TypeLike, attribute::StridedLayoutAttribute},
};
use mlir_sys::{
    mlirAttributeGetNull, mlirFloatTypeGetWidth, mlirIntegerTypeGetWidth, mlirLLVMPointerTypeGetAddressSpace,
    mlirLocationUnknownGet, mlirMemRefTypeGetChecked, mlirMemRefTypeGetLayout, mlirMemRefTypeGetMemorySpace,
    mlirMemRefTypeGetStridesAndOffset, mlirRankedTensorTypeGetChecked, mlirRankedTensorTypeGetEncoding,
    mlirShapedTypeGetDimSize, mlirShapedTypeGetDynamicSize, mlirShapedTypeGetElementType,
    mlirShapedTypeGetRank, mlirShapedTypeHasRank, mlirShapedTypeIsDynamicDim, mlirTypeGetContext,
    mlirTypeIsAFloat, mlirTypeIsAInteger, mlirTypeIsALLVMPointerType, mlirTypeIsAMemRef,
    mlirTypeIsARankedTensor, mlirTypeIsAShaped, mlirTypeIsAVector, mlirVectorTypeGetChecked,
    mlirVectorTypeIsScalable,
};

/// The shape of a ranked tensor, memref or fixed-size vector; each dynamic size is `None`.
pub fn shape(ty: Type<'_>) -> Option<Vec<Option<i64>>> {
    let raw = ty.to_raw();
    // SAFETY: each query runs only on the kind of type it is for.
    unsafe {
        if !mlirTypeIsAShaped(raw) || !mlirShapedTypeHasRank(raw) {
            return None;
        }
        if mlirTypeIsAVector(raw) && mlirVectorTypeIsScalable(raw) {
            return None;
        }
        let dims = (0..mlirShapedTypeGetRank(raw) as isize)
            .map(|dim| (!mlirShapedTypeIsDynamicDim(raw, dim)).then(|| mlirShapedTypeGetDimSize(raw, dim)));
        Some(dims.collect())
    }
}

/// The width of an integer or float type in bits.
pub fn bit_width(ty: Type<'_>) -> Option<usize> {
    let raw = ty.to_raw();
    // SAFETY: the type is alive, and each width is asked of the kind of type it is for.
    unsafe {
        if mlirTypeIsAFloat(raw) {
            Some(mlirFloatTypeGetWidth(raw) as usize)
        } else if mlirTypeIsAInteger(raw) {
            Some(mlirIntegerTypeGetWidth(raw) as usize)
        } else {
            None
        }
    }
}

/// Whether `ty` is `index`.
pub fn is_index(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive by its lifetime.
    unsafe { mlir_sys::mlirTypeIsAIndex(ty.to_raw()) }
}

/// The address space of an LLVM pointer; `None` for another type.
pub fn address_space(ty: Type<'_>) -> Option<u32> {
    let raw = ty.to_raw();
    // SAFETY: the type is alive, and a pointer where its address space is asked for.
    unsafe { mlirTypeIsALLVMPointerType(raw).then(|| mlirLLVMPointerTypeGetAddressSpace(raw)) }
}

/// Whether `ty` is a float of any format.
pub fn is_float(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive by its lifetime.
    unsafe { mlirTypeIsAFloat(ty.to_raw()) }
}

/// Whether `ty` is a float of 8 bits, of any format; LLVM has no such types.
pub fn is_float8(ty: Type<'_>) -> bool {
    is_float(ty) && bit_width(ty) == Some(8)
}

/// Whether `ty` is `bf16`.
pub fn is_bf16(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive by its lifetime.
    unsafe { mlir_sys::mlirTypeIsABF16(ty.to_raw()) }
}

/// Whether `ty` is `f32`.
pub fn is_f32(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive by its lifetime.
    unsafe { mlir_sys::mlirTypeIsAF32(ty.to_raw()) }
}

/// The shape of a shaped type, if all of its sizes are static.
pub fn static_shape(ty: Type<'_>) -> Option<Vec<i64>> {
    shape(ty)?.into_iter().collect()
}

/// The shape of a fixed-size vector.
pub fn vector_shape(ty: Type<'_>) -> Option<Vec<i64>> {
    is_vector(ty).then(|| static_shape(ty)).flatten()
}

/// The number of elements of a fixed-size vector; 1 for any other type.
pub fn vector_len(ty: Type<'_>) -> usize {
    vector_shape(ty).map_or(1, |shape| shape.iter().product::<i64>() as usize)
}

/// The element type of a shaped type; any other type is returned as it is.
pub fn element(ty: Type<'_>) -> Type<'_> {
    // SAFETY: the element is asked of a shaped type only, and lives in the same context.
    unsafe {
        if mlirTypeIsAShaped(ty.to_raw()) {
            Type::from_raw(mlirShapedTypeGetElementType(ty.to_raw()))
        } else {
            ty
        }
    }
}

/// The bytes that an element of type `ty` takes in memory, for integers and floats.
pub fn element_bytes(ty: Type<'_>) -> Option<i64> {
    bit_width(ty).map(|bits| bits.div_ceil(8) as i64)
}

/// Whether `ty` is a ranked tensor.
pub fn is_tensor(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive by its lifetime.
    unsafe { mlirTypeIsARankedTensor(ty.to_raw()) }
}

/// Whether `ty` is a ranked memref.
pub fn is_memref(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive by its lifetime.
    unsafe { mlirTypeIsAMemRef(ty.to_raw()) }
}

/// Whether `ty` is a vector.
pub fn is_vector(ty: Type<'_>) -> bool {
    // SAFETY: the type is alive by its lifetime.
    unsafe { mlirTypeIsAVector(ty.to_raw()) }
}

/// A ranked tensor's encoding, which is a layout in `gl`.
pub fn encoding(ty: Type<'_>) -> Option<Attribute<'_>> {
    if !is_tensor(ty) {
        return None;
    }
    // SAFETY: the type is a ranked tensor; the attribute, or null, lives in the same context.
    unsafe { Attribute::from_option_raw(mlirRankedTensorTypeGetEncoding(ty.to_raw())) }
}

/// A memref's memory space; `None` for the default one too.
pub fn memory_space(ty: Type<'_>) -> Option<Attribute<'_>> {
    if !is_memref(ty) {
        return None;
    }
    // SAFETY: the type is a memref; the attribute, or null, lives in the same context.
    unsafe { Attribute::from_option_raw(mlirMemRefTypeGetMemorySpace(ty.to_raw())) }
}

/// A memref's layout attribute.
pub fn layout(ty: Type<'_>) -> Option<Attribute<'_>> {
    if !is_memref(ty) {
        return None;
    }
    // SAFETY: the type is a memref; the attribute lives in the same context.
    unsafe { Attribute::from_option_raw(mlirMemRefTypeGetLayout(ty.to_raw())) }
}

/// Whether `ty` is a memref with the identity layout: it is contiguous, whatever its sizes.
pub fn is_contiguous(ty: Type<'_>) -> bool {
    layout(ty)
        .and_then(|layout| norma_dialects::affine_map(layout).ok())
        .is_some_and(|map| map.is_identity())
}

/// The strides and the offset of a memref in elements, if its layout is strided; each dynamic one is `None`.
pub fn strides_and_offset(ty: Type<'_>) -> Option<(Vec<Option<i64>>, Option<i64>)> {
    if !is_memref(ty) {
        return None;
    }
    let rank = shape(ty)?.len();
    let mut strides = vec![0_i64; rank];
    let mut offset = 0_i64;
    // SAFETY: the type is a memref and the buffer has its rank.
    let (result, dynamic) = unsafe {
        (
            mlirMemRefTypeGetStridesAndOffset(ty.to_raw(), strides.as_mut_ptr(), &mut offset),
            mlir_sys::mlirShapedTypeGetDynamicStrideOrOffset(),
        )
    };
    let known = |value: i64| (value != dynamic).then_some(value);
    (result.value != 0).then(|| (strides.into_iter().map(known).collect(), known(offset)))
}

/// `tensor<...>` with an optional encoding. `None` if MLIR rejects it, with the reason emitted as a diagnostic.
pub fn tensor<'c>(
    shape: &[Option<i64>],
    element: Type<'c>,
    encoding: Option<Attribute<'c>>,
) -> Option<Type<'c>> {
    let dims = raw_dims(shape);
    // SAFETY: the arguments are alive in one context, and the dims outlive the call.
    unsafe {
        Type::from_option_raw(mlirRankedTensorTypeGetChecked(
            mlirLocationUnknownGet(mlirTypeGetContext(element.to_raw())),
            dims.len() as isize,
            dims.as_ptr(),
            element.to_raw(),
            encoding.map_or_else(|| mlirAttributeGetNull(), |encoding| encoding.to_raw()),
        ))
    }
}

/// `memref<...>` with an optional layout and memory space. `None` if MLIR rejects it, with the reason emitted as a diagnostic.
pub fn memref<'c>(
    shape: &[Option<i64>],
    element: Type<'c>,
    layout: Option<Attribute<'c>>,
    space: Option<Attribute<'c>>,
) -> Option<Type<'c>> {
    let dims = raw_dims(shape);
    let raw = |attribute: Option<Attribute<'c>>| {
        // SAFETY: a null attribute stands for the default.
        attribute.map_or_else(
            || unsafe { mlirAttributeGetNull() },
            |attribute| attribute.to_raw(),
        )
    };
    // SAFETY: the arguments are alive in one context, and the dims outlive the call.
    unsafe {
        Type::from_option_raw(mlirMemRefTypeGetChecked(
            mlirLocationUnknownGet(mlirTypeGetContext(element.to_raw())),
            element.to_raw(),
            dims.len() as isize,
            dims.as_ptr(),
            raw(layout),
            raw(space),
        ))
    }
}

/// The `strided<[...], offset: ...>` layout; `None` stands for a dynamic value.
pub fn strided<'c>(context: &'c Context, strides: &[Option<i64>], offset: Option<i64>) -> Attribute<'c> {
    // SAFETY: a constant.
    let dynamic = unsafe { mlir_sys::mlirShapedTypeGetDynamicStrideOrOffset() };
    let strides = strides
        .iter()
        .map(|stride| stride.unwrap_or(dynamic))
        .collect::<Vec<_>>();
    StridedLayoutAttribute::new(context, offset.unwrap_or(dynamic), &strides).into()
}

/// `vector<...>`. `None` if MLIR rejects it, with the reason emitted as a diagnostic.
pub fn vector<'c>(shape: &[i64], element: Type<'c>) -> Option<Type<'c>> {
    // SAFETY: the arguments are alive in one context, and the dims outlive the call.
    unsafe {
        Type::from_option_raw(mlirVectorTypeGetChecked(
            mlirLocationUnknownGet(mlirTypeGetContext(element.to_raw())),
            shape.len() as isize,
            shape.as_ptr(),
            element.to_raw(),
        ))
    }
}

fn raw_dims(shape: &[Option<i64>]) -> Vec<i64> {
    // SAFETY: a constant.
    let dynamic = unsafe { mlirShapedTypeGetDynamicSize() };
    shape.iter().map(|dim| dim.unwrap_or(dynamic)).collect()
}

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        ir::{Attribute, Type},
    };

    use super::*;

    #[test]
    fn a_tensor_keeps_its_encoding() {
        let context = Context::new();
        let tag = Attribute::parse(&context, "\"tag\"");
        let built = tensor(&[Some(4), None], Type::float32(&context), tag);
        assert_eq!(
            built.map(|ty| ty.to_string()).as_deref(),
            Some("tensor<4x?xf32, \"tag\">")
        );
        assert_eq!(built.and_then(encoding), tag);
        assert_eq!(built.and_then(shape), Some(vec![Some(4), None]));
        assert_eq!(built.and_then(static_shape), None);
        assert_eq!(built.and_then(memory_space), None);
    }

    #[test]
    fn a_memref_has_strides_where_its_layout_does() {
        let context = Context::new();
        let layout = strided(&context, &[None, Some(1)], Some(2));
        let built = memref(&[Some(4), Some(8)], Type::float32(&context), Some(layout), None);
        assert_eq!(
            built.map(|ty| ty.to_string()).as_deref(),
            Some("memref<4x8xf32, strided<[?, 1], offset: 2>>")
        );
        assert_eq!(
            built.and_then(strides_and_offset),
            Some((vec![None, Some(1)], Some(2)))
        );
        let plain = memref(&[None, Some(8)], Type::float32(&context), None, None);
        assert_eq!(
            plain.and_then(strides_and_offset),
            Some((vec![Some(8), Some(1)], Some(0)))
        );
    }

    #[test]
    fn a_memref_is_contiguous_by_its_layout() {
        let context = Context::new();
        let is_contiguous = |text| Type::parse(&context, text).map(is_contiguous);
        assert_eq!(is_contiguous("memref<?x?xf32>"), Some(true));
        assert_eq!(is_contiguous("memref<?x8xf32, strided<[8, 1]>>"), Some(false));
        assert_eq!(is_contiguous("f32"), Some(false));
    }

    #[test]
    fn float_formats_are_told_apart() {
        let context = Context::new();
        let ty = |text| Type::parse(&context, text);
        assert_eq!(ty("f8E4M3FN").map(is_float8), Some(true));
        assert_eq!(ty("f8E8M0FNU").map(is_float8), Some(true));
        assert_eq!(ty("i8").map(is_float8), Some(false));
        assert_eq!(ty("f16").map(is_bf16), Some(false));
        assert_eq!(ty("bf16").map(is_bf16), Some(true));
        assert_eq!(ty("f32").map(is_f32), Some(true));
    }

    #[test]
    fn an_element_takes_whole_bytes() {
        let context = Context::new();
        let bytes = |text| Type::parse(&context, text).and_then(element_bytes);
        assert_eq!(bytes("bf16"), Some(2));
        assert_eq!(bytes("i1"), Some(1));
        assert_eq!(bytes("f64"), Some(8));
        assert_eq!(bytes("index"), None);
    }

    #[test]
    fn a_scalar_is_its_own_element_and_has_no_shape() {
        let context = Context::new();
        let f32 = Type::float32(&context);
        assert_eq!(element(f32), f32);
        assert_eq!(shape(f32), None);
        assert_eq!(vector(&[2, 4], f32).and_then(vector_shape), Some(vec![2, 4]));
        assert_eq!(vector(&[2, 4], f32).map(element), Some(f32));
        assert_eq!(vector(&[2, 4], f32).map(vector_len), Some(8));
    }
}
