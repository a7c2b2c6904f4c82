//! Sizes, strides and ends of a kernel's buffers, read back by the patterns from `gl.params` on the lowered function.

use melior::ir::{
    Attribute, BlockLike, OperationRef, Type, ValueLike, attribute::ArrayAttribute, operation::OperationLike,
};
use norma_dialects::{
    attributes::kernel,
    gl::{ParamAttr, ParamKind},
};

use crate::mlir::{
    diagnostic::Diagnostic,
    types,
    values::{argument_number, definition},
    walk,
};

use super::emit::{Emit, Value};

/// A stride in elements.
#[derive(Clone, Copy)]
pub(super) enum Stride<'c, 'a> {
    /// Known at compile time.
    Static(i64),
    /// A kernel parameter or a product of such, i64.
    Dynamic(Value<'c, 'a>),
}

/// The end of a buffer, as the number of elements from its first to the end of its last one.
#[derive(Clone, Copy)]
pub(super) enum End<'c, 'a> {
    /// Known at compile time.
    Static(i64),
    /// Computed from a kernel parameter, i64.
    Dynamic(Value<'c, 'a>),
}

/// A buffer as a pattern sees it: the memref that is the view of a pointer parameter.
pub(super) struct Buffer<'c, 'a> {
    /// Position among the kernel's buffers.
    pub index: i64,
    function: OperationRef<'c, 'a>,
    params: Vec<ParamAttr<'c>>,
    ty: Type<'c>,
}

impl<'c, 'a> Buffer<'c, 'a> {
    /// The buffer that `memref`, an operand of `op` before conversion, stands for.
    ///
    /// # Errors
    ///
    /// Internal if it is not the view of a pointer parameter that `function::lower` made.
    pub fn of(
        e: &Emit<'_, 'c, 'a>,
        op: OperationRef<'c, 'a>,
        memref: Value<'c, 'a>,
    ) -> Result<Self, Diagnostic<'c>> {
        let function = walk::enclosing(op, "llvm.func")
            .ok_or_else(|| e.internal("expected an llvm.func around the op"))?;
        let params = params_of(function);
        let position =
            pointer_position(memref).ok_or_else(|| e.internal("expected a buffer of the kernel"))?;
        let param = params
            .get(position)
            .filter(|param| param.kind() == Ok(ParamKind::Pointer))
            .ok_or_else(|| e.internal("expected a pointer parameter"))?;
        Ok(Self {
            index: param.argument(),
            function,
            params,
            ty: memref.r#type(),
        })
    }

    /// The parameters of the kernel.
    pub fn params(&self) -> &[ParamAttr<'c>] {
        &self.params
    }

    /// The size of an axis, i64.
    pub fn size(&self, e: &Emit<'_, 'c, 'a>, axis: usize) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let shape = types::shape(self.ty).unwrap_or_default();
        match shape.get(axis) {
            Some(Some(size)) => Ok(e.i64(*size)),
            _ => self.param(e, ParamKind::Size, axis),
        }
    }

    /// The stride of each axis.
    pub fn strides(&self, e: &Emit<'_, 'c, 'a>) -> Result<Vec<Stride<'c, 'a>>, Diagnostic<'c>> {
        let (strides, offset) = types::strides_and_offset(self.ty)
            .ok_or_else(|| e.unsupported(format!("expected a strided buffer, got {}", self.ty)))?;
        if offset != Some(0) {
            return Err(e.unsupported(format!("expected a buffer without offset, got {}", self.ty)));
        }
        let shape = types::shape(self.ty).unwrap_or_default();
        let contiguous = types::is_contiguous(self.ty);
        (0..strides.len())
            .map(|axis| match strides[axis] {
                Some(stride) => Ok(Stride::Static(stride)),
                None if contiguous => {
                    let inner = (axis + 1..shape.len())
                        .map(|axis| self.size(e, axis))
                        .collect::<Result<Vec<_>, _>>()?;
                    let product = inner.into_iter().reduce(|product, size| e.muli(product, size));
                    Ok(product.map_or(Stride::Static(1), Stride::Dynamic))
                }
                None => self.param(e, ParamKind::Stride, axis).map(Stride::Dynamic),
            })
            .collect()
    }

    /// Where the buffer ends. It has to have elements, static strides, and static sizes except for its outermost axis.
    ///
    /// # Errors
    ///
    /// Internal if it has other strides and sizes.
    pub fn end(&self, e: &Emit<'_, 'c, 'a>) -> Result<End<'c, 'a>, Diagnostic<'c>> {
        let shape = types::shape(self.ty).unwrap_or_default();
        let mut end = 1;
        let mut outermost = None;
        for (axis, stride) in self.strides(e)?.into_iter().enumerate() {
            match (stride, shape[axis]) {
                (Stride::Static(stride), Some(size)) => end += (size - 1) * stride,
                (Stride::Static(stride), None) if axis == 0 => {
                    end -= stride;
                    outermost = Some(e.scale(self.size(e, 0)?, stride));
                }
                _ => return Err(e.internal(format!("expected to know where {} ends", self.ty))),
            }
        }
        Ok(match outermost {
            None => End::Static(end),
            Some(outermost) => End::Dynamic(e.addi(outermost, e.i64(end))),
        })
    }

    fn param(
        &self,
        e: &Emit<'_, 'c, 'a>,
        kind: ParamKind,
        axis: usize,
    ) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
        let position = self
            .params
            .iter()
            .position(|param| {
                (param.kind(), param.argument(), param.axis()) == (Ok(kind), self.index, axis as i64)
            })
            .ok_or_else(|| e.internal(format!("expected a {} parameter for axis {axis}", kind.keyword())))?;
        argument(self.function, position).ok_or_else(|| e.internal("expected as many arguments as gl.params"))
    }
}

fn params_of<'c>(function: OperationRef<'c, '_>) -> Vec<ParamAttr<'c>> {
    function
        .attribute(kernel::PARAMS)
        .and_then(ArrayAttribute::try_from)
        .map(|array| {
            (0..array.len())
                .filter_map(|index| array.element(index).ok())
                .filter_map(|attribute: Attribute<'c>| ParamAttr::from_attribute(attribute))
                .collect()
        })
        .unwrap_or_default()
}

/// The parameter that a memref views through `builtin.unrealized_conversion_cast`.
fn pointer_position(memref: Value<'_, '_>) -> Option<usize> {
    let cast = definition(memref)?;
    argument_number(cast.operand(0).ok()?)
}

fn argument<'c, 'a>(function: OperationRef<'c, 'a>, position: usize) -> Option<Value<'c, 'a>> {
    Some(walk::entry_block(function).ok()?.argument(position).ok()?.into())
}
