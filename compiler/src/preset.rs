//! A function that is one named op, written from the shape of its first operand: kernels without a line of MLIR.
//!
//! What an op takes, returns and lets one choose is the table that is generated from ODS ([`norma_dialects::named_op`]). Whether
//! it makes a valid op is for the op's verifier to say.

mod shapes;
mod text;

use std::collections::BTreeMap;
use std::str::FromStr;

use norma_bundle::manifest::is_size_name;
use norma_dialects::named_op::{Choice, NamedOp, Shape, Tensor};
pub use norma_dialects::norm::NAMED_OPS as OPS;

use crate::error::{Error, Result};

/// A named op, with what one says of it.
#[derive(Debug, Clone)]
pub struct Preset {
    /// The op.
    pub op: &'static NamedOp,
    /// The name of the function.
    pub name: String,
    /// The shape of the first operand.
    pub shape: Vec<Extent>,
    /// The element type of the first operand; where nothing is said, the first that the op takes.
    pub dtype: Option<String>,
    /// Operands and results of which something is said.
    pub tensors: BTreeMap<&'static str, Wanted>,
    /// Attributes of which something is said, in words: numbers, lists with commas, keywords, and `true` for a flag.
    pub choices: BTreeMap<&'static str, String>,
    /// What is promised of sizes by name.
    pub promises: BTreeMap<String, Promise>,
    /// Over how many devices the first operand is sharded, along the last axis of those that the op's attributes name; 1 for none.
    pub devices: i64,
}

/// An extent of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Static(i64),
    /// A size that only the run knows.
    Dynamic(String),
}

/// What is said of an operand or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// That it is not there.
    Absent,
    /// That it is there, of this element type or of one that suits the first operand's.
    Present(Option<String>),
}

/// What is promised of a size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Promise {
    /// What it is a multiple of.
    pub multiple: Option<i64>,
    /// The least that it is.
    pub min: Option<i64>,
    /// The most that it is.
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
        match is_size_name(text) {
            true => Ok(Self::Dynamic(text.to_owned())),
            false if is_number => Err(format!("expected extents below 2^63, got {text}")),
            false => Err(format!(
                "expected an extent to be a number, or a name such as m for a size that only the run knows, got '{text}'"
            )),
        }
    }
}

/// Reads `m,4096`: extents with commas between them.
///
/// # Errors
/// One is neither a number nor a name.
pub fn parse_shape(text: &str) -> std::result::Result<Vec<Extent>, String> {
    let extents = text.split(',').map(str::trim);
    extents.map(str::parse).collect()
}

/// Finds a named op.
///
/// # Errors
/// There is none of that name; the message has those that there are.
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
    /// The op on a tensor of that shape, with all defaults.
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
    /// What is said cannot be written: a type or a value that the op does not take, an attribute that must be given, an axis that
    /// is not there, or a promise of a size that no tensor has.
    pub fn source(&self) -> Result<String> {
        text::source(self)
    }

    fn dtype(&self) -> Result<&str> {
        let Some(first) = self.op.operands.first() else {
            return Err(Error::internal(format!(
                "the op '{}' has no operand",
                self.op.mnemonic
            )));
        };
        match &self.dtype {
            Some(dtype) => element(first, dtype),
            None => Ok(first.elements.first().copied().unwrap_or_default()),
        }
    }

    /// What is said of an attribute, or its default; nothing for an empty list and a flag that is not set.
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

    /// The element type of an operand or result: what is said, or what suits the first operand's. Tensors of rows, of parts of them or
    /// of weights are of its type, if they may be; statistics are of f32, or of f64 beside that.
    fn element(&self, tensor: &'static Tensor) -> Result<&str> {
        let dtype = self.dtype()?;
        if let Some(Wanted::Present(Some(wanted))) = self.tensors.get(tensor.name) {
            return element(tensor, wanted);
        }
        let is_like_first = match tensor.shape {
            Shape::Same | Shape::NamedAxes(_) | Shape::AxisOf(_) => true,
            // What is computed of integers is of integers, where it is of the same set of types.
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

/// An element type of a tensor by its name.
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
