//! Tensors and scalars as callers pass them.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::{ptr, slice};

use norma_bundle::Element;

/// A tensor in a device's memory. The layout is that of DLPack's `DLTensor`, so pointers may be cast.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    /// The address of the memory; the first element is `byte_offset` bytes further.
    pub data: *mut c_void,
    /// The device that holds the memory.
    pub device: DeviceKey,
    /// The number of dims.
    pub rank: i32,
    /// The type of the elements.
    pub dtype: DataType,
    /// The extent of each dim.
    pub shape: *const i64,
    /// The stride of each dim, in elements; null for a dense tensor in row-major order.
    pub strides: *const i64,
    /// The offset from `data` to the first element, in bytes.
    pub byte_offset: u64,
    /// Ties `shape` and `strides` to the slices that they borrow.
    #[doc(hidden)]
    pub borrowed: PhantomData<&'a [i64]>,
}

/// DLPack's `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceKey {
    /// The kind: 2 for CUDA memory, 13 for CUDA managed memory.
    pub kind: i32,
    /// The device's number among devices of its kind.
    pub ordinal: i32,
}

/// DLPack's `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    /// The kind of number: 0 a signed integer, 1 an unsigned one, 2 an IEEE float, 4 a bfloat, 6 a boolean, 10 an `f8E4M3FN`,
    /// 12 an `f8E5M2`, 14 an `f8E8M0FNU`.
    pub code: u8,
    /// The number of bits.
    pub bits: u8,
    /// The number of lanes in an element: 1.
    pub lanes: u16,
}

// The layout that a C compiler gives the structs of dlpack.h on a 64-bit machine.
const _: () = {
    assert!(size_of::<Tensor<'_>>() == 48 && offset_of!(Tensor<'_>, rank) == 16);
    assert!(offset_of!(Tensor<'_>, dtype) == 20 && offset_of!(Tensor<'_>, shape) == 24);
    assert!(offset_of!(Tensor<'_>, strides) == 32 && offset_of!(Tensor<'_>, byte_offset) == 40);
};

/// `kDLCPU`.
const HOST: i32 = 1;
/// `kDLCUDA`.
const CUDA: i32 = 2;
/// `kDLCUDAHost`.
const PINNED_HOST: i32 = 3;
/// `kDLCUDAManaged`.
const CUDA_MANAGED: i32 = 13;
/// `kDLBool`.
const BOOL: u8 = 6;

impl DeviceKey {
    /// The memory of a GPU.
    pub fn cuda(ordinal: u32) -> Self {
        DeviceKey {
            kind: CUDA,
            ordinal: i32::try_from(ordinal).unwrap_or(i32::MAX),
        }
    }

    /// The ordinal of the GPU that the memory belongs to, if any.
    pub fn cuda_ordinal(self) -> Option<u32> {
        match self.kind {
            CUDA | CUDA_MANAGED => u32::try_from(self.ordinal).ok(),
            _ => None,
        }
    }
}

/// Whose memory it is, for messages.
impl fmt::Display for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ordinal = self.ordinal;
        match self.kind {
            HOST => f.write_str("host memory"),
            PINNED_HOST => f.write_str("pinned host memory"),
            CUDA | CUDA_MANAGED => write!(f, "GPU {ordinal}"),
            kind => write!(f, "device {ordinal} of DLPack's kind {kind}"),
        }
    }
}

impl From<Element> for DataType {
    fn from(element: Element) -> Self {
        let (code, bits) = match element {
            Element::F64 => (2, 64),
            Element::F32 => (2, 32),
            Element::F16 => (2, 16),
            Element::BF16 => (4, 16),
            Element::F8E4M3FN => (10, 8),
            Element::F8E5M2 => (12, 8),
            Element::F8E8M0FNU => (14, 8),
            Element::I1 => (BOOL, 8),
            Element::I8 => (0, 8),
            Element::I32 => (0, 32),
            Element::I64 => (0, 64),
        };
        DataType { code, bits, lanes: 1 }
    }
}

impl DataType {
    /// Whether elements of this type may be read as `element`: a boolean is a byte of 0 or 1, so an `i8` may be read from one. Results
    /// are of the type itself, as other bytes are no booleans.
    pub fn is_read_as(self, element: Element) -> bool {
        let bool_as_i8 = element == Element::I8 && self == DataType::from(Element::I1);
        self == DataType::from(element) || bool_as_i8
    }

    /// The type's name for messages, in MLIR's spelling.
    pub fn name(self) -> String {
        let prefix = match self.code {
            0 => "i",
            1 => "ui",
            2 => "f",
            4 => "bf",
            5 => "complex",
            BOOL => "bool",
            10 => return "f8E4M3FN".to_owned(),
            12 => return "f8E5M2".to_owned(),
            14 => return "f8E8M0FNU".to_owned(),
            code => return format!("DLPack's type {code} of {} bits", self.bits),
        };
        let lanes = match self.lanes {
            1 => String::new(),
            lanes => format!("x{lanes}"),
        };
        format!("{prefix}{}{lanes}", self.bits)
    }
}

impl<'a> Tensor<'a> {
    /// A tensor in the memory of GPU `device`, whose first element is at `address`. Strides are in elements, one for each
    /// dim.
    pub fn new(device: u32, address: u64, element: Element, shape: &'a [i64], strides: &'a [i64]) -> Self {
        debug_assert_eq!(shape.len(), strides.len());
        Tensor {
            strides: strides.as_ptr(),
            ..Tensor::dense(device, address, element, shape)
        }
    }

    /// A dense tensor in row-major order.
    pub fn dense(device: u32, address: u64, element: Element, shape: &'a [i64]) -> Self {
        Tensor {
            data: address as *mut c_void,
            device: DeviceKey::cuda(device),
            rank: i32::try_from(shape.len()).unwrap_or(i32::MAX),
            dtype: element.into(),
            shape: shape.as_ptr(),
            strides: ptr::null(),
            byte_offset: 0,
            borrowed: PhantomData,
        }
    }

    /// The address of the first element.
    pub(crate) fn address(&self) -> u64 {
        (self.data as u64).wrapping_add(self.byte_offset)
    }

    /// The extents.
    ///
    /// # Safety
    /// `shape` points to `rank` numbers.
    pub(crate) unsafe fn shape(&self) -> &[i64] {
        // SAFETY: passed on to the caller.
        unsafe { numbers(self.shape, self.rank) }
    }

    /// The strides, unless the tensor is dense.
    ///
    /// # Safety
    /// `strides` is null or points to `rank` numbers.
    pub(crate) unsafe fn strides(&self) -> Option<&[i64]> {
        // SAFETY: passed on to the caller.
        (!self.strides.is_null()).then(|| unsafe { numbers(self.strides, self.rank) })
    }
}

/// # Safety
/// `first` points to `count` numbers, or is null, or there are none.
unsafe fn numbers<'a>(first: *const i64, count: i32) -> &'a [i64] {
    match usize::try_from(count) {
        // SAFETY: passed on to the caller; no slice starts at null, or, even if it is empty, at an unaligned address.
        Ok(count) if count > 0 && !first.is_null() => unsafe { slice::from_raw_parts(first, count) },
        _ => &[],
    }
}

/// The value of a named scalar of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Scalar {
    /// The default that the function's author wrote.
    #[default]
    Default,
    /// A number; a scalar of an integer type accepts it if it is whole.
    Float(f64),
    /// An integer; a scalar of a float type rounds it.
    Integer(i64),
}

impl Scalar {
    /// The integer value; `None` for a fraction, for a number that is not finite or does not fit, and for the default.
    pub(crate) fn integer(self) -> Option<i64> {
        match self {
            Scalar::Integer(value) => Some(value),
            Scalar::Float(value) if value.fract() == 0.0 && value.abs() < i64::MAX as f64 => {
                Some(value as i64)
            }
            Scalar::Float(_) | Scalar::Default => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_is_read_as_a_byte_but_not_the_other_way_around() {
        let (boolean, byte) = (DataType::from(Element::I1), DataType::from(Element::I8));
        assert!(
            boolean.is_read_as(Element::I8)
                && byte.is_read_as(Element::I8)
                && boolean.is_read_as(Element::I1)
        );
        assert!(!byte.is_read_as(Element::I1));
        assert!(!DataType { lanes: 2, ..byte }.is_read_as(Element::I8));
    }

    /// DLPack leaves it open what the pointers of a tensor without dims are.
    #[test]
    fn a_tensor_without_dims_has_no_shape_to_read() {
        let mut tensor = Tensor::dense(0, 0x1000, Element::F32, &[]);
        let nowhere = ptr::without_provenance(1);
        (tensor.shape, tensor.strides) = (nowhere, nowhere);
        // SAFETY: there are no numbers.
        let (shape, strides) = unsafe { (tensor.shape(), tensor.strides()) };
        assert_eq!((shape, strides), (&[][..], Some(&[][..])));
    }

    #[test]
    fn types_are_called_as_in_mlir() {
        assert_eq!(DataType::from(Element::BF16).name(), "bf16");
        assert_eq!(
            DataType {
                code: 2,
                bits: 32,
                lanes: 4
            }
            .name(),
            "f32x4"
        );
    }
}
