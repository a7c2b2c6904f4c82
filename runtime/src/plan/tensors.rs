//! Checks a tensor of a call.

use norma_bundle::Element;
use norma_bundle::expression::EvaluateError;
use norma_bundle::manifest;

use super::Places;
use super::code::{Compiler, Names, Slot, Values};
use crate::error::CallError;

/// The largest span, in elements, of a tensor whose kernels index it in 32 bits.
const MAX_32_BIT_SPAN: i64 = 1 << 31;

/// A tensor of a function.
#[derive(Debug)]
pub(super) struct TensorPlan {
    pub(super) element: Element,
    /// The alignment of the first element, in bytes.
    pub(super) align: u64,
    pub(super) dims: Box<[DimPlan]>,
    indexed_in_32_bits: bool,
    pub(super) is_output: bool,
}

/// A dim of a tensor: the values for its extent and stride, and the values that these must have.
#[derive(Debug)]
pub(super) struct DimPlan {
    pub(super) extent: Slot,
    pub(super) stride: Slot,
    /// `None` if the extent itself defines a symbol.
    expected_extent: Option<Slot>,
    /// `None` if the caller chooses the stride.
    expected_stride: Option<Slot>,
    least_extent: Option<Slot>,
    extent_multiple: u64,
    stride_multiple: u64,
}

impl TensorPlan {
    /// Prepares a tensor whose extents and strides are the values in `places`.
    ///
    /// # Errors
    /// A size that is not the extent of any tensor.
    pub(super) fn new(
        compiler: &mut Compiler,
        tensor: &manifest::Tensor,
        places: &Places,
        is_output: bool,
        names: Names<'_>,
    ) -> Result<Self, EvaluateError> {
        let mut dims = Vec::new();
        for (dim, (&extent, &stride)) in places.extents.iter().zip(&places.strides).enumerate() {
            let expected_extent = compiler.expression(&tensor.shape[dim], names)?;
            let expected_stride = compiler.expression(&tensor.strides[dim], names)?;
            let least = tensor.shape_minimums.get(dim);
            dims.push(DimPlan {
                extent,
                stride,
                expected_extent: (expected_extent != extent).then_some(expected_extent),
                expected_stride: (expected_stride != stride).then_some(expected_stride),
                least_extent: least.map(|least| compiler.expression(least, names)).transpose()?,
                extent_multiple: tensor.shape_multiple(dim),
                stride_multiple: tensor.stride_multiple(dim),
            });
        }
        Ok(TensorPlan {
            element: tensor.dtype,
            align: tensor.align,
            dims: dims.into(),
            indexed_in_32_bits: tensor.index_bits == Some(32),
            is_output,
        })
    }

    /// Checks the tensor's extents and strides, and returns the number of bytes from its first element to its last. A dim of
    /// one element may have any stride, and so may a tensor without elements.
    ///
    /// # Errors
    /// A layout that the kernels are not made for.
    pub(super) fn check(&self, name: &str, values: &Values) -> Result<u64, CallError> {
        let refuse = |message: String| Err(CallError::Argument(message));
        for (index, dim) in self.dims.iter().enumerate() {
            let extent = values[dim.extent];
            if let Some(expected) = dim.expected_extent
                && values[expected] != extent
            {
                let expected = values[expected];
                return refuse(format!(
                    "expected dim {index} of '{name}' to be {expected}, got {extent}"
                ));
            }
            if !extent.unsigned_abs().is_multiple_of(dim.extent_multiple) {
                let multiple = dim.extent_multiple;
                return refuse(format!(
                    "expected dim {index} of '{name}' to be a multiple of {multiple}, got {extent}"
                ));
            }
            if let Some(least) = dim.least_extent
                && extent < values[least]
            {
                let least = values[least];
                return refuse(format!(
                    "expected dim {index} of '{name}' to be at least {least}, got {extent}"
                ));
            }
        }
        if self.dims.iter().any(|dim| values[dim.extent] == 0) {
            return Ok(0);
        }
        let mut span = Some(1i64);
        for (index, dim) in self.dims.iter().enumerate() {
            let (extent, stride) = (values[dim.extent], values[dim.stride]);
            if extent == 1 {
                continue;
            }
            if let Some(expected) = dim.expected_stride
                && values[expected] != stride
            {
                let expected = values[expected];
                return refuse(format!(
                    "expected stride {index} of '{name}' to be {expected}, got {stride}"
                ));
            }
            if stride < 0 {
                return refuse(format!(
                    "expected stride {index} of '{name}' to be at least 0, got {stride}"
                ));
            }
            if !stride.unsigned_abs().is_multiple_of(dim.stride_multiple) {
                let multiple = dim.stride_multiple;
                return refuse(format!(
                    "expected stride {index} of '{name}' to be a multiple of {multiple}, got {stride}"
                ));
            }
            let reach = (extent - 1).checked_mul(stride);
            span = span.and_then(|span| span.checked_add(reach?));
        }
        let bytes = span.and_then(|span| span.checked_mul(self.element.bytes() as i64));
        let (Some(span), Some(bytes)) = (span, bytes) else {
            return refuse(format!("'{name}' does not fit in 64-bit addresses"));
        };
        if self.indexed_in_32_bits && span > MAX_32_BIT_SPAN {
            return refuse(format!(
                "expected '{name}' to span up to 2^31 elements, as the kernels index it in 32 bits, got {span}"
            ));
        }
        if self.is_output && !self.is_nested(values) {
            let all = |slot: fn(&DimPlan) -> Slot| {
                self.dims.iter().map(|dim| values[slot(dim)]).collect::<Vec<_>>()
            };
            return refuse(format!(
                "expected strides of output '{name}' that are nested, so that its elements lie apart, got {:?} for extents {:?}",
                all(|dim| dim.stride),
                all(|dim| dim.extent)
            ));
        }
        Ok(bytes.unsigned_abs())
    }

    /// The extent and the stride of each dim of a checked tensor that has elements, in bytes, and those of the bytes of an
    /// element.
    pub(super) fn dims_in_bytes<'a>(
        &self,
        values: &'a Values,
    ) -> impl Iterator<Item = (i64, i64)> + use<'_, 'a> {
        let bytes = self.element.bytes() as i64;
        let dims = self.dims.iter().map(move |dim| match values[dim.extent] {
            // The stride of a dim of one element is arbitrary.
            1 => (1, 0),
            extent => (extent, values[dim.stride] * bytes),
        });
        dims.chain([(bytes, 1)])
    }

    /// Whether no stride is shorter than the span of the dims with smaller strides. Then no two elements share memory; of other
    /// strides it is not found out whether two do. The tensor must have elements, and its span must fit.
    fn is_nested(&self, values: &Values) -> bool {
        let dims = || {
            let dims = self.dims.iter().enumerate();
            let keyed = dims.map(|(index, dim)| (values[dim.stride], values[dim.extent], index));
            keyed.filter(|(_, extent, _)| *extent > 1)
        };
        // Visits the dims in the order of their strides by repeated minimum: there are few, and sorting would need memory.
        let mut span = 1;
        let mut next = dims().min();
        while let Some(dim) = next {
            let (stride, extent, _) = dim;
            if stride < span {
                return false;
            }
            span += (extent - 1) * stride;
            next = dims().filter(|other| *other > dim).min();
        }
        true
    }
}
