//! Scratch memory between the kernels of a function, which its host function allocates.

use melior::ir::{
    Attribute, Type, Value,
    attribute::{DenseI32ArrayAttribute, IntegerAttribute, StringAttribute},
    r#type::IntegerType,
};
use norma_dialects::attributes::{scratch, tensor};

use crate::mlir::builder::Builder;

/// Allocates scratch memory of type `memref`, with the dynamic extents `sizes`, under the name `name`.
pub fn allocate<'c, 'a>(
    b: &Builder<'c, 'a>,
    memref: Type<'c>,
    sizes: &[Value<'c, 'a>],
    name: &str,
) -> Value<'c, 'a> {
    let context = b.context();
    let segments = DenseI32ArrayAttribute::new(context, &[sizes.len() as i32, 0]);
    let alignment = IntegerAttribute::new(IntegerType::new(context, 64).into(), scratch::ALIGNMENT);
    let attributes = [
        ("operandSegmentSizes", segments.into()),
        ("alignment", alignment.into()),
        (tensor::NAME, StringAttribute::new(context, name).into()),
        (scratch::SCRATCH, Attribute::unit(context)),
    ];
    b.value_with("memref.alloc", sizes, memref, &attributes)
}
