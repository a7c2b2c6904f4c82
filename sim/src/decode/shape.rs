//! The shape of an LLVM type: which scalars it is made of, and where they lie in memory.
//!
//! Sizes and alignments are those of LLVM's data layout for `nvptx64` (`NVPTXTargetMachine`): every scalar is aligned to
//! its size, a vector to its size rounded up to a power of two, pointers have 64 bits in all address spaces.

use std::rc::Rc;

use melior::ir::{Type, TypeLike};
use mlir_sys::*;

use super::error::{Result, internal, unsupported};
use crate::program::{Format, Space};

/// What one register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// A signless integer of that many bits.
    Integer(u8),
    Float(Format),
    Pointer(Space),
}

/// The shape of a type that holds data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Scalar(Scalar),
    Vector { element: Scalar, count: u64 },
    Array { element: Rc<Shape>, count: u64 },
    Struct { fields: Vec<Rc<Shape>>, packed: bool },
}

/// A part of an array, struct or vector.
pub(super) struct Part {
    pub shape: Rc<Shape>,
    /// Bytes from the start of the whole.
    pub offset: u64,
    /// Scalars of the whole before it.
    pub first: usize,
}

impl Scalar {
    pub fn bits(self) -> u8 {
        match self {
            Self::Integer(bits) => bits,
            Self::Float(format) => format.bits(),
            Self::Pointer(_) => 64,
        }
    }

    /// Bytes in memory.
    pub fn bytes(self) -> u8 {
        self.bits().div_ceil(8).next_power_of_two()
    }

    pub fn of(ty: Type<'_>) -> Result<Self> {
        match &*Shape::of(ty)? {
            Shape::Scalar(scalar) => Ok(*scalar),
            _ => Err(unsupported(format!("expected a scalar, got {ty}"))),
        }
    }
}

/// The state space of an LLVM address space (LLVM's "User Guide for NVPTX Back-end", Address Spaces).
pub(super) fn space(address_space: u32) -> Result<Space> {
    Ok(match address_space {
        0 => Space::Generic,
        1 => Space::Global,
        3 => Space::Shared,
        4 => Space::Constant,
        5 => Space::Local,
        7 => Space::Cluster,
        101 => Space::Parameter,
        other => {
            return Err(unsupported(format!(
                "uses address space {other}, which is not modelled"
            )));
        }
    })
}

impl Shape {
    /// The shape of a type.
    pub fn of(ty: Type<'_>) -> Result<Rc<Self>> {
        let raw = ty.to_raw();
        // SAFETY: the type is alive, and each accessor is called on the kind of type that it is for.
        unsafe {
            if let Some(scalar) = scalar(ty)? {
                return Ok(Rc::new(Self::Scalar(scalar)));
            }
            if mlirTypeIsAVector(raw) && mlirShapedTypeGetRank(raw) == 1 && !mlirVectorTypeIsScalable(raw) {
                let element = Scalar::of(Type::from_raw(mlirShapedTypeGetElementType(raw)))?;
                let count = u64::try_from(mlirShapedTypeGetDimSize(raw, 0)).map_err(internal)?;
                return Ok(Rc::new(Self::Vector { element, count }));
            }
            if mlirTypeIsALLVMStructType(raw) && !mlirLLVMStructTypeIsOpaque(raw) {
                let fields = (0..mlirLLVMStructTypeGetNumElementTypes(raw))
                    .map(|field| Self::of(Type::from_raw(mlirLLVMStructTypeGetElementType(raw, field))))
                    .collect::<Result<_>>()?;
                let packed = mlirLLVMStructTypeIsPacked(raw);
                return Ok(Rc::new(Self::Struct { fields, packed }));
            }
            if let Some(count) = array_count(&ty.to_string()) {
                let element = Self::of(Type::from_raw(mlirLLVMArrayTypeGetElementType(raw)))?;
                return Ok(Rc::new(Self::Array { element, count }));
            }
        }
        Err(unsupported(format!("uses type {ty}, which is not modelled")))
    }

    /// Bytes in memory.
    pub fn size(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => u64::from(scalar.bytes()),
            // LLVM's alloc size of a vector: its bits, rounded up to its alignment.
            Self::Vector { element, count } => (u64::from(element.bits()) * count)
                .div_ceil(8)
                .next_multiple_of(self.align()),
            Self::Array { element, count } => element.size() * count,
            Self::Struct { fields, .. } => fields
                .iter()
                .fold(0, |end, field| self.place(end, field) + field.size())
                .next_multiple_of(self.align()),
        }
    }

    /// The alignment of a load or store that states none, in bytes.
    pub fn align(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => u64::from(scalar.bytes()),
            Self::Vector { element, count } => (u64::from(element.bits()) * count)
                .div_ceil(8)
                .next_power_of_two(),
            Self::Array { element, .. } => element.align(),
            Self::Struct { packed: true, .. } => 1,
            Self::Struct { fields, .. } => fields.iter().map(|field| field.align()).max().unwrap_or(1),
        }
    }

    /// Where `field` lies in a struct whose fields so far end at `end`.
    fn place(&self, end: u64, field: &Shape) -> u64 {
        match self {
            Self::Struct { packed: true, .. } => end,
            _ => end.next_multiple_of(field.align()),
        }
    }

    /// How many registers it needs.
    pub fn count(&self) -> usize {
        match self {
            Self::Scalar(_) => 1,
            Self::Vector { count, .. } => *count as usize,
            Self::Array { element, count } => element.count() * *count as usize,
            Self::Struct { fields, .. } => fields.iter().map(|field| field.count()).sum(),
        }
    }

    /// The scalars it is made of, in order.
    pub fn scalars(&self) -> Vec<Scalar> {
        match self {
            Self::Scalar(scalar) => vec![*scalar],
            Self::Vector { element, count } => vec![*element; *count as usize],
            Self::Array { element, count } => (0..*count).flat_map(|_| element.scalars()).collect(),
            Self::Struct { fields, .. } => fields.iter().flat_map(|field| field.scalars()).collect(),
        }
    }

    /// The scalar type of all its components.
    pub fn element(&self) -> Result<Scalar> {
        match self {
            Self::Scalar(scalar) => Ok(*scalar),
            Self::Vector { element, .. } => Ok(*element),
            _ => Err(unsupported(
                "expected scalars or vectors of them, got an aggregate",
            )),
        }
    }

    /// Part `index` of an aggregate or vector.
    pub fn part(&self, index: u64) -> Option<Part> {
        match self {
            Self::Scalar(_) => None,
            Self::Vector { element, .. } => Some(Part {
                shape: Rc::new(Self::Scalar(*element)),
                offset: index * u64::from(element.bits()) / 8,
                first: index as usize,
            }),
            Self::Array { element, .. } => Some(Part {
                shape: element.clone(),
                offset: index * element.size(),
                first: index as usize * element.count(),
            }),
            Self::Struct { fields, .. } => {
                let (mut end, mut first) = (0, 0);
                for (number, field) in fields.iter().enumerate() {
                    let offset = self.place(end, field);
                    if number as u64 == index {
                        let shape = field.clone();
                        return Some(Part { shape, offset, first });
                    }
                    end = offset + field.size();
                    first += field.count();
                }
                None
            }
        }
    }
}

fn scalar(ty: Type<'_>) -> Result<Option<Scalar>> {
    let raw = ty.to_raw();
    // SAFETY: the type is alive, and each accessor is called on the kind of type that it is for.
    unsafe {
        if mlirTypeIsAInteger(raw) {
            return match mlirIntegerTypeGetWidth(raw) {
                bits @ 1..=64 => Ok(Some(Scalar::Integer(bits as u8))),
                bits => Err(unsupported(format!(
                    "uses integers of {bits} bits; at most 64 are modelled"
                ))),
            };
        }
        if mlirTypeIsALLVMPointerType(raw) {
            return space(mlirLLVMPointerTypeGetAddressSpace(raw)).map(|space| Some(Scalar::Pointer(space)));
        }
        let formats: [(unsafe extern "C" fn(MlirType) -> bool, Format); 6] = [
            (mlirTypeIsAF32, Format::F32),
            (mlirTypeIsABF16, Format::BF16),
            (mlirTypeIsAF16, Format::F16),
            (mlirTypeIsAF64, Format::F64),
            (mlirTypeIsAFloat8E4M3FN, Format::F8E4M3FN),
            (mlirTypeIsAFloat8E5M2, Format::F8E5M2),
        ];
        Ok(formats
            .into_iter()
            .find(|(is, _)| is(raw))
            .map(|(_, format)| Scalar::Float(format)))
    }
}

/// The extent of `!llvm.array<N x T>`, which has no accessor in the C API.
fn array_count(text: &str) -> Option<u64> {
    text.strip_prefix("!llvm.array<")?.split(' ').next()?.parse().ok()
}
