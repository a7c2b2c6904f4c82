//! Reads a cubin's declarations of its kernels' parameters, so that no launch passes others.
//!
//! The driver copies as many bytes for each parameter as the cubin declares, from wherever the launcher points: with a
//! manifest that belongs to another cubin it would read past what was passed. A cubin is an ELF image. The section
//! `.nv.info.<kernel>` lists attributes, each with a format and an attribute number of one byte each. For format 4 these are
//! followed by a 16-bit length and that many bytes, for other formats by two bytes. Attribute 0x17 describes a parameter: its
//! ordinal at byte 4 and its offset at byte 6, 16 bits each, and its size in the upper 14 of the 32 bits at byte 8. NVIDIA
//! documents none of this; `cuobjdump --dump-elf` prints it under the names EIFMT_SVAL and EIATTR_KPARAM_INFO.

use std::collections::BTreeMap;

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection};
use thiserror::Error;

use crate::manifest::{Argument, Kernel, ScalarType};

/// The format of an attribute with an explicit length.
const SIZED: u8 = 4;
/// The attribute that describes a parameter.
const PARAMETER: u8 = 0x17;

/// Why a cubin is not the one that a manifest describes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CubinError {
    /// The bytes are not an ELF image, or a truncated one.
    #[error("it is no cubin, or a truncated one")]
    Image,
    /// The cubin has no such kernel.
    #[error("it has no kernel '{0}'")]
    Kernel(String),
    /// The kernel takes other parameters.
    #[error("kernel '{symbol}' takes parameters of {expected:?} bytes, and the manifest passes {got:?}")]
    Parameters {
        /// The kernel.
        symbol: String,
        /// What the cubin declares, in order.
        expected: Vec<u32>,
        /// The sizes of the manifest's arguments.
        got: Vec<u32>,
    },
}

/// A cubin.
#[derive(Debug)]
pub struct Cubin<'a>(ElfFile64<'a, LittleEndian>);

impl<'a> Cubin<'a> {
    /// Parses an image and checks that it is complete.
    ///
    /// # Errors
    /// The bytes are not an ELF image, or a truncated one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, CubinError> {
        let file = ElfFile64::parse(bytes).map_err(|_| CubinError::Image)?;
        let is_whole = file.sections().all(|section| section.data().is_ok());
        let has_code = file.sections().next().is_some();
        (is_whole && has_code)
            .then_some(Self(file))
            .ok_or(CubinError::Image)
    }

    /// The sizes of a kernel's parameters, in bytes, in order.
    ///
    /// # Errors
    /// There is no such kernel, or its attributes cannot be read.
    pub fn parameters(&self, symbol: &str) -> Result<Vec<u32>, CubinError> {
        if self.0.section_by_name(&format!(".text.{symbol}")).is_none() {
            return Err(CubinError::Kernel(symbol.to_owned()));
        }
        let information = self.0.section_by_name(&format!(".nv.info.{symbol}"));
        let Some(information) = information else {
            return Ok(Vec::new());
        };
        let mut rest = information.data().map_err(|_| CubinError::Image)?;
        let mut sizes = BTreeMap::new();
        while let [format, attribute, low, high, following @ ..] = rest {
            rest = following;
            if *format != SIZED {
                continue;
            }
            let length = usize::from(u16::from_le_bytes([*low, *high]));
            let (value, following) = rest.split_at_checked(length).ok_or(CubinError::Image)?;
            rest = following;
            if *attribute == PARAMETER {
                let (ordinal, size) = parameter(value).ok_or(CubinError::Image)?;
                sizes.insert(ordinal, size);
            }
        }
        Ok(sizes.into_values().collect())
    }

    /// Checks that the cubin contains a manifest's kernel, and that its parameters have the sizes that the manifest passes.
    ///
    /// # Errors
    /// The kernel is missing, or has other parameters.
    pub fn check(&self, kernel: &Kernel) -> Result<(), CubinError> {
        let expected = self.parameters(&kernel.symbol)?;
        let got: Vec<u32> = kernel.args.iter().map(Argument::bytes).collect();
        if expected == got {
            return Ok(());
        }
        Err(CubinError::Parameters {
            symbol: kernel.symbol.clone(),
            expected,
            got,
        })
    }
}

/// The ordinal and the size of a parameter from its attribute.
fn parameter(value: &[u8]) -> Option<(u16, u32)> {
    let ordinal = u16::from_le_bytes(value.get(4..6)?.try_into().ok()?);
    let flags = u32::from_le_bytes(value.get(8..12)?.try_into().ok()?);
    Some((ordinal, flags >> 18))
}

impl Argument {
    /// The size of the parameter, in bytes.
    pub fn bytes(&self) -> u32 {
        match self {
            Argument::Pointer { .. } | Argument::Workspace { .. } => 8,
            Argument::Scalar { scalar, .. } => match scalar {
                ScalarType::I32 | ScalarType::U32 | ScalarType::F32 => 4,
                ScalarType::I64 | ScalarType::U64 | ScalarType::F64 => 8,
            },
            Argument::TensorMap(_) => 128,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    /// A kernel `scale` with two pointers, an f32 and an i64 as parameters, assembled by ptxas of CUDA 13.0 for sm_90a.
    const CUBIN: &[u8] = include_bytes!("../testdata/scale.sm_90a.cubin");

    fn scale() -> Kernel {
        let text = include_str!("../testdata/scale.json");
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        manifest.functions[0].kernels[0].clone()
    }

    #[test]
    fn a_kernel_that_passes_what_the_cubin_takes_is_its() {
        let cubin = Cubin::parse(CUBIN).unwrap();
        let kernel = scale();
        assert_eq!(cubin.parameters(&kernel.symbol), Ok(vec![8, 8, 4, 8]));
        assert_eq!(cubin.check(&kernel), Ok(()));
    }

    #[test]
    fn other_parameters_are_refused() {
        let cubin = Cubin::parse(CUBIN).unwrap();
        let mut kernel = scale();
        let last = kernel.args.pop().unwrap();
        let fewer = cubin.check(&kernel).unwrap_err().to_string();
        assert_eq!(
            fewer,
            "kernel 'scale_0' takes parameters of [8, 8, 4, 8] bytes, and the manifest passes [8, 8, 4]"
        );
        kernel.args.insert(0, last.clone());
        kernel.args.insert(0, last);
        assert!(cubin.check(&kernel).is_err());
        kernel.symbol = "other".to_owned();
        assert_eq!(cubin.check(&kernel), Err(CubinError::Kernel("other".to_owned())));
    }

    #[test]
    fn what_is_no_whole_image_is_refused() {
        for bytes in [&CUBIN[..CUBIN.len() - 1], &CUBIN[..64], b"", b"not an image"] {
            assert_eq!(
                Cubin::parse(bytes).unwrap_err(),
                CubinError::Image,
                "{} bytes",
                bytes.len()
            );
        }
    }
}
