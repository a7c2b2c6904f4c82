//! The launch of a kernel of a function: its grid, shared memory and parameters, evaluated for the sizes of a
//! [`Problem`].
//!
//! The symbols of a kernel's expressions are those read off the tensors ([`Problem::kernel_symbols`]) and those of the device
//! ([`norma_bundle::manifest::DEVICE_SYMBOLS`]), which the caller adds.

use std::collections::BTreeMap;

use norma_bundle::Element;
use norma_bundle::condition::Condition;
use norma_bundle::expression::Expression;
use norma_bundle::manifest::{Argument, Kernel, ScalarType, ScalarValue, TensorMap, WorkspaceInit};

use crate::problem::{BindError, Problem};

/// The values of a kernel's symbols, by name.
pub type Symbols = BTreeMap<String, i64>;

/// One parameter of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter<'a> {
    /// The address of a tensor's first element.
    Tensor(&'a str),
    /// A number passed by value.
    Scalar {
        /// Its type, which says how many of the bytes count.
        scalar: ScalarType,
        /// Its little-endian bytes.
        bytes: [u8; 8],
    },
    /// The address of memory that the launcher allocates.
    Workspace {
        /// Workspaces of one name are the same memory in all kernels of a function.
        name: &'a str,
        /// Its size.
        bytes: usize,
        /// Its initial contents.
        init: WorkspaceInit,
    },
    /// A tensor map, passed by value.
    TensorMap {
        /// The manifest's entry, which holds the part that does not depend on sizes.
        map: &'a TensorMap,
        /// Extents in elements, innermost first.
        dims: Vec<u64>,
        /// Strides in bytes of all dims but the innermost.
        strides_bytes: Vec<u64>,
    },
}

/// Whether the kernel is launched for these sizes. `symbols` need not hold those known only once a kernel is loaded.
///
/// # Errors
/// A condition without a value.
pub fn is_launched(kernel: &Kernel, symbols: &Symbols) -> Result<bool, BindError> {
    let holds = |condition: &Condition| condition.holds(&|name| symbols.get(name).copied());
    for condition in &kernel.when {
        if !holds(condition)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The number of CTAs along x, y and z; if one is zero there is nothing to launch.
///
/// # Errors
/// An extent without a value, or one that does not fit in 32 bits.
pub fn grid(kernel: &Kernel, symbols: &Symbols) -> Result<[u32; 3], BindError> {
    let [x, y, z] = &kernel.grid;
    Ok([
        small(x, symbols, "grid")?,
        small(y, symbols, "grid")?,
        small(z, symbols, "grid")?,
    ])
}

/// The dynamic shared memory of a CTA, in bytes.
///
/// # Errors
/// As [`grid`].
pub fn shared_bytes(kernel: &Kernel, symbols: &Symbols) -> Result<u32, BindError> {
    small(&kernel.shared_bytes, symbols, "shared_bytes")
}

/// The fewest bytes that the kernel must move between memory and the device.
///
/// # Errors
/// An expression without a value.
pub fn bytes_moved(kernel: &Kernel, symbols: &Symbols) -> Result<i64, BindError> {
    Ok(value(&kernel.bytes_read, symbols)? + value(&kernel.bytes_written, symbols)?)
}

/// The kernel's parameters, in order; named scalars take the values that the problem sets.
///
/// # Errors
/// A parameter without a value, a scalar that does not fit its type, or a negative number of elements or bytes.
pub fn parameters<'a>(
    problem: &Problem<'_>,
    kernel: &'a Kernel,
    symbols: &Symbols,
) -> Result<Vec<Parameter<'a>>, BindError> {
    let parameter = |argument: &'a Argument| {
        Ok(match argument {
            Argument::Pointer { tensor } => Parameter::Tensor(tensor),
            Argument::Scalar {
                name,
                scalar,
                value: default,
            } => {
                let set = name.as_ref().and_then(|name| problem.scalars.get(name));
                Parameter::Scalar {
                    scalar: *scalar,
                    bytes: scalar_bytes(*scalar, default, set.copied(), symbols)?,
                }
            }
            Argument::Workspace { name, bytes, init } => {
                let size = count(bytes, symbols, &format!("the bytes of workspace '{name}'"))?;
                Parameter::Workspace {
                    name,
                    bytes: usize::try_from(size).unwrap_or(usize::MAX),
                    init: *init,
                }
            }
            Argument::TensorMap(map) => {
                let counts = |expressions: &[Expression], what: &str| {
                    let what = format!("the {what} of a tensor map of '{}'", map.tensor);
                    expressions
                        .iter()
                        .map(|expression| count(expression, symbols, &what))
                        .collect::<Result<Vec<_>, _>>()
                };
                Parameter::TensorMap {
                    map,
                    dims: counts(&map.dims, "extents")?,
                    strides_bytes: counts(&map.strides_bytes, "strides")?,
                }
            }
        })
    };
    kernel.args.iter().map(parameter).collect()
}

fn value(expression: &Expression, symbols: &Symbols) -> Result<i64, BindError> {
    Ok(expression.evaluate(&|name| symbols.get(name).copied())?)
}

/// Evaluates a number of elements or bytes, which is at least 0.
fn count(expression: &Expression, symbols: &Symbols, what: &str) -> Result<u64, BindError> {
    let value = value(expression, symbols)?;
    u64::try_from(value).map_err(|_| {
        BindError::Request(format!(
            "expected {what} to be at least 0, got '{expression}' = {value}"
        ))
    })
}

/// Evaluates a launch parameter, which must fit in 32 bits.
fn small(expression: &Expression, symbols: &Symbols, what: &str) -> Result<u32, BindError> {
    let value = value(expression, symbols)?;
    u32::try_from(value).map_err(|_| {
        BindError::Request(format!(
            "expected {what} '{expression}' to fit in 32 bits, got {value}"
        ))
    })
}

/// A scalar parameter's bytes: the caller's value, or else the manifest's.
fn scalar_bytes(
    scalar: ScalarType,
    default: &ScalarValue,
    set: Option<f64>,
    symbols: &Symbols,
) -> Result<[u8; 8], BindError> {
    let out_of_range = |value: &dyn std::fmt::Display| {
        BindError::Request(format!("expected a scalar that fits {scalar:?}, got {value}"))
    };
    if scalar.is_float() {
        let number = match (set, default) {
            (Some(number), _) => number,
            (None, ScalarValue::Float(number)) => number.as_f64(),
            (None, ScalarValue::Expression(expression)) => value(expression, symbols)? as f64,
        };
        let element = if scalar == ScalarType::F32 {
            Element::F32
        } else {
            Element::F64
        };
        return Ok(element.encode_float(number).to_le_bytes());
    }
    let number = match (set, default) {
        (Some(number), _) if number.fract() == 0.0 && number.abs() < i64::MAX as f64 => number as i64,
        (Some(number), _) => return Err(out_of_range(&number)),
        (None, ScalarValue::Float(number)) => number.as_i64(),
        (None, ScalarValue::Expression(expression)) => value(expression, symbols)?,
    };
    let fits = match scalar {
        ScalarType::I32 => i32::try_from(number).is_ok(),
        ScalarType::U32 => u32::try_from(number).is_ok(),
        ScalarType::U64 => number >= 0,
        ScalarType::I64 | ScalarType::F32 | ScalarType::F64 => true,
    };
    if fits {
        Ok(number.to_le_bytes())
    } else {
        Err(out_of_range(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(scalar: ScalarType, default: &str, set: Option<f64>) -> Result<[u8; 8], String> {
        let default: ScalarValue = serde_json::from_str(default).unwrap();
        let symbols = BTreeMap::from([("m".to_owned(), 5_000_000_000)]);
        scalar_bytes(scalar, &default, set, &symbols).map_err(|error| error.to_string())
    }

    #[test]
    fn scalars_take_the_callers_value_first() {
        let bytes = |number: f32| u64::from(number.to_bits()).to_le_bytes();
        assert_eq!(word(ScalarType::F32, "1e-6", None), Ok(bytes(1e-6)));
        assert_eq!(word(ScalarType::F32, "1e-6", Some(2.0)), Ok(bytes(2.0)));
        assert_eq!(word(ScalarType::F32, "1", None), Ok(bytes(1.0)));
        assert_eq!(
            word(ScalarType::I64, "\"m\"", None),
            Ok(5_000_000_000i64.to_le_bytes())
        );
    }

    #[test]
    fn scalars_must_fit_their_type() {
        assert!(
            word(ScalarType::I32, "\"m\"", None)
                .unwrap_err()
                .contains("fits I32, got 5000000000")
        );
        assert!(word(ScalarType::I64, "1", Some(0.5)).is_err());
        assert!(word(ScalarType::U32, "-1", None).is_err());
    }

    #[test]
    fn counts_are_not_negative() {
        let manifest: norma_bundle::Manifest =
            serde_json::from_str(include_str!("../../bundle/testdata/rms_norm.json")).unwrap();
        let function = &manifest.functions[0];
        let sizes = BTreeMap::from([("m".to_owned(), 3)]);
        let problem = Problem::new(function, sizes, BTreeMap::new(), BTreeMap::new()).unwrap();
        let refusal = |argument: &str| {
            let mut kernel = function.kernels[0].clone();
            kernel.args = vec![serde_json::from_str(argument).unwrap()];
            let symbols = problem.kernel_symbols(&kernel);
            parameters(&problem, &kernel, &symbols)
                .map(|_| ())
                .unwrap_err()
                .to_string()
        };
        let map = |dims: &str, stride: &str| {
            format!(
                r#"{{"kind": "tensor_map", "tensor": "x", "type": "bf16", "dims": [64, "{dims}"], "strides_bytes": ["{stride}"],
                    "box": [64, 1]}}"#
            )
        };
        assert_eq!(
            refusal(&map("m - 8", "m")),
            "expected the extents of a tensor map of 'x' to be at least 0, got 'm - 8' = -5"
        );
        assert_eq!(
            refusal(&map("m", "(m - 8)*2")),
            "expected the strides of a tensor map of 'x' to be at least 0, got '(m - 8)*2' = -10"
        );
        assert_eq!(
            refusal(r#"{"kind": "workspace", "name": "w", "bytes": "m - 8"}"#),
            "expected the bytes of workspace 'w' to be at least 0, got 'm - 8' = -5"
        );
    }

    #[test]
    fn launch_fields_are_32_bit() {
        let symbols = BTreeMap::from([("m".to_owned(), 1 << 40)]);
        assert!(small(&Expression::symbol("m"), &symbols, "grid").is_err());
        assert_eq!(small(&Expression::from(7), &symbols, "grid").unwrap(), 7);
    }
}
