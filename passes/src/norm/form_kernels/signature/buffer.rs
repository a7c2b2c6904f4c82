//! The buffers that hold the tensors of a function: their types, and where their elements lie.

use melior::ir::{Attribute, Type, attribute::TypeAttribute};

use super::{Kind, Place, SCALARS};
use crate::mlir::{
    diagnostic::Diagnostic,
    pass::{PassError, PassResult},
    types,
};

impl<'c> Place<'c> {
    /// The buffer where `norm.buffer` gives none: contiguous for a tensor, and the argument itself in a function on buffers.
    pub(super) fn contiguous_or_given(&self) -> Result<Type<'c>, PassError<'c>> {
        let (is_one, all) = match self.kind {
            Kind::Argument | Kind::Result => (
                types::is_tensor(self.ty) && types::encoding(self.ty).is_none(),
                "ranked tensors without encoding",
            ),
            Kind::Buffer => (types::is_memref(self.ty), "memrefs"),
        };
        if !is_one {
            let scalars = match self.kind {
                Kind::Argument | Kind::Buffer => format!(", and {}", SCALARS.join(", ")),
                Kind::Result => String::new(),
            };
            let message = format!("{} as {self}; supported: {all}{scalars}", self.ty);
            return Err(Diagnostic::unsupported(self.location, message).into());
        }
        if self.kind == Kind::Buffer {
            self.check_layout(self.ty)?;
            return Ok(self.ty);
        }
        let shape = types::shape(self.ty).unwrap_or_default();
        types::memref(&shape, types::element(self.ty), None, None).ok_or(PassError::Reported)
    }

    /// Reads `norm.buffer`: a memref of the tensor's shape and element type.
    pub(super) fn buffer(&self, value: Attribute<'c>) -> Result<Type<'c>, PassError<'c>> {
        let memref = TypeAttribute::try_from(value).map(|value| value.value()).ok();
        let Some(memref) = memref.filter(|ty| types::is_memref(*ty)) else {
            return Err(self.wrong(format!("expected norm.buffer to be a memref, got {value}")));
        };
        let element = types::element(self.ty);
        if types::shape(memref) != types::shape(self.ty) || types::element(memref) != element {
            return Err(self.wrong(format!("expected norm.buffer to hold {}, got {memref}", self.ty)));
        }
        self.check_layout(memref)?;
        Ok(memref)
    }

    /// Refuses a buffer that is not in the default memory space, does not begin at its base address, or has negative strides.
    fn check_layout(&self, memref: Type<'c>) -> PassResult<'c> {
        if types::memory_space(memref).is_some() {
            let message = format!("{memref} for {self}; supported: buffers in the default memory space");
            return Err(Diagnostic::unsupported(self.location, message).into());
        }
        let Some((strides, offset)) = types::strides_and_offset(memref) else {
            return Err(self.wrong(format!("expected a memref with strides, got {memref}")));
        };
        if offset != Some(0) {
            let message = format!("{memref} for {self}; supported: buffers that begin at their base address");
            return Err(Diagnostic::unsupported(self.location, message).into());
        }
        if strides.iter().flatten().any(|stride| *stride < 0) {
            return Err(self.wrong(format!("expected strides that are not negative, got {memref}")));
        }
        Ok(())
    }

    /// Refuses a buffer that, by its static extents and strides alone, spans 2^63 bytes or more or has that many bytes of elements.
    pub(super) fn check_span(&self, buffer: Type<'c>) -> Result<(), PassError<'c>> {
        let bytes = types::element_bytes(types::element(buffer)).unwrap_or(1);
        let measure = |(count, end): (i64, i64), (extent, stride): (Option<i64>, Option<i64>)| {
            let (extent, stride) = (extent.unwrap_or(1).max(1), stride.unwrap_or(1));
            Some((
                count.checked_mul(extent)?,
                end.checked_add(extent.checked_mul(stride)?.checked_mul(bytes)?)?,
            ))
        };
        match extents_and_strides(buffer)
            .into_iter()
            .try_fold((bytes, 0), measure)
        {
            Some(_) => Ok(()),
            None => Err(self.wrong(format!("expected a buffer of less than 2^63 bytes, got {buffer}"))),
        }
    }

    /// Refuses a buffer that is written and in which elements share memory.
    pub(super) fn check_apart(&self, buffer: Type<'c>) -> PassResult<'c> {
        let written = match self.kind {
            Kind::Argument | Kind::Result => "a result",
            Kind::Buffer => "an output",
        };
        let strides = types::strides_and_offset(buffer)
            .map(|(strides, _)| strides)
            .unwrap_or_default();
        if strides.contains(&Some(0)) {
            return Err(self.wrong(format!(
                "expected {written}'s strides to differ from 0, got {buffer}"
            )));
        }
        if overlaps(buffer) {
            return Err(self.wrong(format!(
                "expected {written} whose elements lie apart, got {buffer}"
            )));
        }
        Ok(())
    }
}

/// The extent and the stride of each axis, outermost first; `None` where it is dynamic.
fn extents_and_strides(buffer: Type<'_>) -> Vec<(Option<i64>, Option<i64>)> {
    let shape = types::shape(buffer).unwrap_or_default();
    let strides = types::strides_and_offset(buffer).map(|(strides, _)| strides);
    shape.into_iter().zip(strides.unwrap_or_default()).collect()
}

/// Whether two elements of a buffer may have the same address, as far as static strides tell: the stride of an axis is shorter than
/// what the axes of shorter strides span. An axis of dynamic extent counts as one of two elements.
fn overlaps(buffer: Type<'_>) -> bool {
    let dims = extents_and_strides(buffer).into_iter();
    let mut dims = dims
        .map(|(extent, stride)| (stride.unwrap_or(i64::MAX), extent.unwrap_or(2)))
        .filter(|(stride, extent)| *extent > 1 && *stride != i64::MAX)
        .collect::<Vec<_>>();
    dims.sort_unstable();
    let mut span = 1_i64;
    dims.into_iter().any(|(stride, extent)| {
        let is_short = stride < span;
        span = span.saturating_add((extent - 1).saturating_mul(stride));
        is_short
    })
}
