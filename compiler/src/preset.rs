//! Generates a function that is one named op from the shape of its first operand, so that no MLIR has to be written.
//!
//! The operands, results and attributes of an op come from the table that is generated from ODS
//! ([`norma_dialects::named_op`]). Whether the op is valid is left to its verifier.

mod shapes;
mod text;

use std::collections::BTreeMap;
use std::str::FromStr;

use norma_bundle::manifest::{SizeNameError, check_size_name};
use norma_bundle::{RANGE_OF_F32, is_in_range_of_f32};
use norma_dialects::named_op::{Choice, ChoiceKind, NamedOp, Shape, Tensor};
pub use norma_dialects::norm::NAMED_OPS as OPS;

use crate::error::{Error, Result};

/// The element type of a tensor each of whose elements holds two numbers of 4 bits.
const PACKED: &str = "i8";

/// A named op with the caller's settings.
#[derive(Debug, Clone)]
pub struct Preset {
    /// The op.
    pub op: &'static NamedOp,
    /// The name of the function.
    pub name: String,
    /// The shape of the first operand.
    pub shape: Vec<Extent>,
    /// The element type of the first operand; by default i8 if it holds packed numbers, and otherwise the first that the op accepts.
    pub dtype: Option<String>,
    /// The operands and results for which a setting is given.
    pub tensors: BTreeMap<&'static str, Wanted>,
    /// The attributes for which a value is given, as text: numbers, comma-separated lists, keywords, and `true` for a flag.
    pub choices: BTreeMap<&'static str, String>,
    /// The promises about sizes, by the sizes' names.
    pub promises: BTreeMap<String, Promise>,
    /// The number of devices over which the first operand is sharded, along the last axis that the op's attributes name; 1
    /// for no sharding.
    pub devices: i64,
}

/// An extent of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Static(i64),
    /// A size that is known only at run time.
    Dynamic(String),
}

/// The setting of an operand or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// It is left out.
    Absent,
    /// It is present, with this element type or else with one that fits the first operand's.
    Present(Option<String>),
}

/// Promises about a size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Promise {
    /// The size is a multiple of this.
    pub multiple: Option<i64>,
    /// The least value of the size.
    pub min: Option<i64>,
    /// The greatest value of the size.
    pub max: Option<i64>,
}

impl FromStr for Extent {
    type Err = String;

    /// Reads a number or a name.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if let Ok(number) = text.parse() {
            return match number {
                0.. => Ok(Self::Static(number)),
                _ => Err(format!("expected extents that are not negative, got {number}")),
            };
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match check_size_name(text) {
            Ok(()) => Ok(Self::Dynamic(text.to_owned())),
            Err(SizeNameError::NoName { .. }) if is_number => {
                Err(format!("expected extents below 2^63, got {text}"))
            }
            Err(SizeNameError::NoName { .. }) => Err(format!(
                "expected an extent to be a number, or a name such as m for a dynamic size, got '{text}'"
            )),
            Err(reserved) => Err(reserved.to_string()),
        }
    }
}

/// Reads a comma-separated list of extents such as `m,4096`.
///
/// # Errors
/// An extent is neither a number nor a name.
pub fn parse_shape(text: &str) -> std::result::Result<Vec<Extent>, String> {
    let extents = text.split(',').map(str::trim);
    extents.map(str::parse).collect()
}

/// Reads a number for an attribute, whose type is f32.
///
/// # Errors
/// It is no finite number, or f32 has none close to it.
pub fn parse_number(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| format!("expected a finite number, got '{text}'"))?;
    match is_in_range_of_f32(number) {
        true => Ok(number),
        false => Err(format!("expected {RANGE_OF_F32}, got '{text}'")),
    }
}

/// Finds a named op.
///
/// # Errors
/// No op has that name; the message lists those that exist.
pub fn find_op(mnemonic: &str) -> Result<&'static NamedOp> {
    NamedOp::find(mnemonic).ok_or_else(|| {
        let known: Vec<_> = OPS.iter().map(|op| op.mnemonic).collect();
        Error::user(format!(
            "expected a named op, {}, got '{mnemonic}'",
            known.join(", ")
        ))
    })
}

impl Preset {
    /// The op on a tensor of the given shape, with all defaults.
    pub fn new(op: &'static NamedOp, shape: Vec<Extent>) -> Self {
        Self {
            op,
            name: op.mnemonic.to_owned(),
            shape,
            dtype: None,
            tensors: BTreeMap::new(),
            choices: BTreeMap::new(),
            promises: BTreeMap::new(),
            devices: 1,
        }
    }

    /// The function as a module of level `tensor`, in MLIR's generic form.
    ///
    /// # Errors
    /// The settings cannot be expressed: a type or a value that the op does not accept, a required attribute that is missing,
    /// an axis that does not exist, or a promise about a size that no tensor has.
    pub fn source(&self) -> Result<String> {
        text::source(self)
    }

    /// The element type of the first operand, as it is given or by default.
    ///
    /// # Errors
    ///
    /// The op does not accept the type that is given.
    pub fn dtype(&self) -> Result<&str> {
        let Some(first) = self.op.operands.first() else {
            return Err(Error::internal(format!(
                "the op '{}' has no operand",
                self.op.mnemonic
            )));
        };
        match &self.dtype {
            Some(dtype) => element(first, dtype),
            None if self.unpacks()? => Ok(PACKED),
            None => Ok(first.elements.first().copied().unwrap_or_default()),
        }
    }

    /// Whether the first operand holds packed numbers, which a result has unpacked.
    fn unpacks(&self) -> Result<bool> {
        for result in self.op.results {
            if let Shape::Unpacked(by) = result.shape
                && self.is_given(by, 0)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The element type of a result that the op's attributes decide, if they do: of what holds packed numbers, of places, and of truths.
    fn element_by_choices(&self, result: &'static Tensor) -> Result<Option<&'static str>> {
        if let Shape::Packed(by) = result.shape
            && self.is_given(by, 0)?
        {
            return Ok(Some(PACKED));
        }
        let keywords = self.op.choices.iter();
        let mut keywords = keywords.filter(|choice| matches!(choice.kind, ChoiceKind::Keyword(_)));
        let decided = keywords.find_map(|choice| match self.choice(choice) {
            "argmax" | "argmin" => Some("i64"),
            "any" | "all" => Some("i1"),
            _ => None,
        });
        Ok(decided.filter(|decided| result.elements.contains(decided)))
    }

    /// The value given for an attribute, or its default; empty for an empty list and for a flag that is not set.
    fn choice(&self, choice: &'static Choice) -> &str {
        self.choices
            .get(choice.name)
            .map_or(choice.default, String::as_str)
    }

    fn has(&self, tensor: &Tensor) -> bool {
        match self.tensors.get(tensor.name) {
            None => !tensor.is_optional || tensor.is_usual,
            Some(wanted) => *wanted != Wanted::Absent,
        }
    }

    /// The element type of an operand or result: the one given, or else one that fits the first operand's. Tensors with the
    /// shape of rows, of parts of them or of weights default to its type, if they accept it; statistics default to f32, or to
    /// f64 for an f64 operand. A result whose type the op's attributes decide has that one.
    fn element(&self, tensor: &'static Tensor) -> Result<&str> {
        let dtype = self.dtype()?;
        if let Some(Wanted::Present(Some(wanted))) = self.tensors.get(tensor.name) {
            return element(tensor, wanted);
        }
        let is_result = self.op.results.iter().any(|result| result.name == tensor.name);
        if is_result && let Some(decided) = self.element_by_choices(tensor)? {
            return Ok(decided);
        }
        let is_like_first = match tensor.shape {
            Shape::Same | Shape::NamedAxes(_) | Shape::AxisOf(_) => true,
            // A result computed from integers is of integers, if it accepts the same set of types as the first operand.
            _ => {
                dtype.starts_with('i')
                    && self
                        .op
                        .operands
                        .first()
                        .is_some_and(|first| first.elements == tensor.elements)
            }
        };
        let statistic = match dtype {
            "f64" => "f64",
            _ => "f32",
        };
        let suited = if is_like_first { dtype } else { statistic };
        let may_be = |name: &&&str| **name == suited;
        let found = tensor.elements.iter().find(may_be).or(tensor.elements.first());
        Ok(found.copied().unwrap_or_default())
    }
}

/// Checks that a tensor accepts an element type, and returns the type's name.
fn element<'e>(tensor: &'static Tensor, wanted: &'e str) -> Result<&'e str> {
    match tensor.elements.contains(&wanted) {
        true => Ok(wanted),
        false => Err(Error::user(format!(
            "expected the type of {} to be one of {}, got '{wanted}'",
            tensor.name,
            tensor.elements.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_f32() {
        for (text, number) in [
            ("1e-5", 1e-5),
            ("-0.5", -0.5),
            ("0", 0.0),
            ("1e-45", 1e-45),
            ("3.4e38", 3.4e38),
        ] {
            assert_eq!(parse_number(text), Ok(number));
        }
        for text in ["1e-50", "-1e-50", "1e300", "3.5e38"] {
            let error = parse_number(text).unwrap_err();
            let expected =
                "expected 0, or a number of f32's range, between 1.4e-45 and 3.4e38 without its sign";
            assert_eq!(error, format!("{expected}, got '{text}'"));
        }
        for text in ["inf", "nan", "big", ""] {
            let error = parse_number(text).unwrap_err();
            assert_eq!(error, format!("expected a finite number, got '{text}'"));
        }
    }

    #[test]
    fn an_extent_is_a_number_or_a_name_that_is_not_reserved() {
        assert_eq!("4096".parse(), Ok(Extent::Static(4096)));
        assert_eq!("m".parse(), Ok(Extent::Dynamic("m".to_owned())));
        for (text, part) in [
            ("d0", "expected a size's name other than the reserved num_sms, "),
            ("-1", "expected extents that are not negative, got -1"),
            ("9223372036854775808", "expected extents below 2^63"),
            (
                "m+1",
                "expected an extent to be a number, or a name such as m for a dynamic size, got 'm+1'",
            ),
        ] {
            let error = text.parse::<Extent>().unwrap_err();
            assert!(error.starts_with(part), "{error}");
        }
    }
}
