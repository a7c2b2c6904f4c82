//! Reads the declarations of kernels' parameters from PTX, so that no launch passes others than the driver reads.
//!
//! An entry is `.entry NAME(`, a comma-separated list of parameters, and `)`. Each parameter is `.param`, attributes, a type
//! and a name, such as `.param .u64 .ptr .global .align 16 a`, or for a struct `.param .align 64 .b8 a[128]` (PTX ISA 8.0,
//! "Kernel Function Parameter Attributes"). The parser reads the compiler's own PTX, which has no comments between the
//! parentheses.

use thiserror::Error;

use crate::manifest::{Argument, Kernel};

/// Why PTX does not match a manifest.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PtxError {
    /// There is no such kernel, or its parameters cannot be read.
    #[error("it has no kernel '{0}' whose parameters are known")]
    Kernel(String),
    /// The kernel takes other parameters.
    #[error("kernel '{symbol}' takes parameters of {expected:?} bytes, and the manifest passes {got:?}")]
    Parameters {
        /// The kernel.
        symbol: String,
        /// What the PTX declares, in order.
        expected: Vec<u32>,
        /// The sizes of the manifest's arguments.
        got: Vec<u32>,
    },
}

/// The sizes of a kernel's parameters, in bytes, in order; `None` if there is no such kernel, or its parameters cannot be
/// parsed.
pub fn parameters(text: &str, symbol: &str) -> Option<Vec<u32>> {
    let mut entries = text.split(".entry").skip(1);
    let list = entries.find_map(|entry| {
        let (name, rest) = entry.split_once('(')?;
        let (list, _) = rest.split_once(')')?;
        (name.trim() == symbol).then_some(list)
    })?;
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    list.split(',').map(bytes).collect()
}

/// Checks that the PTX contains a manifest's kernel, and that its parameters have the sizes that the manifest passes.
///
/// # Errors
/// The kernel is missing, or has other parameters.
pub fn check(text: &str, kernel: &Kernel) -> Result<(), PtxError> {
    let symbol = kernel.symbol.clone();
    let Some(expected) = parameters(text, &symbol) else {
        return Err(PtxError::Kernel(symbol));
    };
    let got: Vec<u32> = kernel.args.iter().map(Argument::bytes).collect();
    match expected == got {
        true => Ok(()),
        false => Err(PtxError::Parameters {
            symbol,
            expected,
            got,
        }),
    }
}

/// The size of a parameter, in bytes.
fn bytes(parameter: &str) -> Option<u32> {
    let mut words = parameter.split_whitespace();
    let element = words.by_ref().find_map(|word| match word {
        ".b8" | ".u8" | ".s8" => Some(1),
        ".b16" | ".u16" | ".s16" | ".f16" => Some(2),
        ".b32" | ".u32" | ".s32" | ".f32" => Some(4),
        ".b64" | ".u64" | ".s64" | ".f64" => Some(8),
        _ => None,
    })?;
    let Some((_, count)) = words.last()?.split_once('[') else {
        return Some(element);
    };
    count.strip_suffix(']')?.parse::<u32>().ok()?.checked_mul(element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    const PTX: &str = "\
.version 8.0
.target sm_80
.visible .entry other()
{
  ret;
}
.visible .entry scale_0(
\t.param .u64 .ptr .global .align 16 scale_0_param_0,
\t.param .u64 .ptr .global .align 16 scale_0_param_1,
\t.param .f32 scale_0_param_2,
\t.param .u64 scale_0_param_3
)
.reqntid 256, 1, 1
{
  ret;
}
.visible .entry mapped(
\t.param .align 64 .b8 mapped_param_0[128]
)
{
  ret;
}
";

    fn scale() -> Kernel {
        let text = include_str!("../testdata/scale.json");
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        manifest.functions[0].kernels[0].clone()
    }

    #[test]
    fn parameters_are_those_of_the_entry() {
        assert_eq!(parameters(PTX, "scale_0"), Some(vec![8, 8, 4, 8]));
        assert_eq!(parameters(PTX, "other"), Some(Vec::new()));
        assert_eq!(parameters(PTX, "mapped"), Some(vec![128]));
        assert_eq!(parameters(PTX, "scale"), None);
    }

    #[test]
    fn other_parameters_and_cut_texts_are_refused() {
        let mut kernel = scale();
        assert_eq!(check(PTX, &kernel), Ok(()));
        kernel.args.pop();
        assert_eq!(
            check(PTX, &kernel).unwrap_err().to_string(),
            "kernel 'scale_0' takes parameters of [8, 8, 4, 8] bytes, and the manifest passes [8, 8, 4]"
        );
        let cut = &PTX[..PTX.find("param_2").unwrap()];
        assert_eq!(parameters(cut, "scale_0"), None);
    }
}
