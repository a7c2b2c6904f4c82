//! The named ops of the `norm` dialect, by the formulas of their definitions in ODS.
//!
//! Each op has a row in [`FORMULAS`] and a file of its own, which states the formula once more, independently of
//! how the compiler decomposes the op.

mod batch_stats;
mod blocks;
mod broadcast_grad;
mod classes;
mod cross_entropy;
mod cross_entropy_grad;
mod cumsum;
mod dequantize;
mod e2m1;
mod group_norm;
mod group_norm_grad;
mod groups;
mod l2_norm;
mod l2_norm_grad;
mod layer_norm;
mod layer_norm_grad;
mod lengths;
mod log_softmax;
mod log_softmax_grad;
mod logits;
mod logsumexp;
mod normalization;
mod normalization_grad;
mod of_rows;
mod quantize;
mod reduce_axes;
mod result_grad;
mod rms_norm;
mod rms_norm_grad;
mod rows;
mod scale_layout;
mod softmax;
mod softmax_grad;
mod statistics;
mod top_k;
mod top_k_grad;

use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::Element;
use norma_bundle::definition::{Attribute, NamedOp};

use self::rows::{Operand, Rows};
use crate::error::OracleError;
use crate::program::grid::Data;
use crate::tensor::Tensor;

/// The formula of an op, with its operands bound.
pub(crate) trait Formula {
    /// The shape of the result of that name; `None` if the op has none.
    fn shape(&self, result: &str) -> Option<Vec<i64>>;

    /// How many leading dims of a result are independent: elements at different indices along them share no reduction.
    fn independent_dims(&self, result: &str) -> usize;

    /// How many ulp the arithmetic behind a result may be off; see `tolerance.rs`.
    fn ulps(&self, result: &str) -> f64;

    /// Whether the element of a result at `index` is padding, which nothing writes. The values of padding are undefined.
    fn is_padding(&self, _result: &str, _index: &[i64]) -> bool {
        false
    }

    /// The elements of a result within `region`, one range per dim, row-major, before they are rounded to its type.
    fn evaluate(&self, result: &str, region: &[Range<i64>]) -> Data;
}

/// Checks a call against the op's definition and binds it; the error says what was expected.
type Bind = for<'a> fn(Call<'a>) -> Result<Box<dyn Formula + 'a>, String>;

/// The ops that the oracle knows: one row each.
const FORMULAS: &[(&str, Bind)] = &[
    ("batch_stats", batch_stats::bind),
    ("cross_entropy", cross_entropy::bind),
    ("cross_entropy_grad", cross_entropy_grad::bind),
    ("cumsum", cumsum::bind),
    ("dequantize", dequantize::bind),
    ("group_norm", group_norm::bind),
    ("group_norm_grad", group_norm_grad::bind),
    ("l2_norm", l2_norm::bind),
    ("l2_norm_grad", l2_norm_grad::bind),
    ("layer_norm", layer_norm::bind),
    ("layer_norm_grad", layer_norm_grad::bind),
    ("log_softmax", log_softmax::bind),
    ("log_softmax_grad", log_softmax_grad::bind),
    ("logsumexp", logsumexp::bind),
    ("quantize", quantize::bind),
    ("reduce_axes", reduce_axes::bind),
    ("rms_norm", rms_norm::bind),
    ("rms_norm_grad", rms_norm_grad::bind),
    ("softmax", softmax::bind),
    ("softmax_grad", softmax_grad::bind),
    ("top_k", top_k::bind),
    ("top_k_grad", top_k_grad::bind),
];

/// A call of a named op, with its operands and attributes.
pub(crate) struct Call<'a> {
    named: &'a NamedOp,
    operands: BTreeMap<&'a str, Tensor<'a>>,
    /// The element type of each result that is asked for.
    results: BTreeMap<&'a str, Element>,
}

/// Whether the oracle has a formula for the op of that mnemonic.
pub fn is_known(op: &str) -> bool {
    FORMULAS.iter().any(|(known, _)| *known == op)
}

/// Binds `named` to its operands; `tensor` finds an operand by its tensor's name, and `element` the type of a result.
pub(crate) fn bind<'a>(
    named: &'a NamedOp,
    tensor: impl Fn(&str) -> Result<Tensor<'a>, OracleError>,
    element: impl Fn(&str) -> Result<Element, OracleError>,
) -> Result<Box<dyn Formula + 'a>, OracleError> {
    let error = |message: String| OracleError::Named {
        op: named.op.clone(),
        message,
    };
    let (_, bind) = FORMULAS
        .iter()
        .find(|(known, _)| *known == named.op)
        .ok_or_else(|| {
            let known: Vec<&str> = FORMULAS.iter().map(|(known, _)| *known).collect();
            let known = known.join(", ");
            error(format!("the oracle has no formula for it, only for {known}"))
        })?;
    let operands = named
        .operands
        .iter()
        .map(|(name, source)| Ok((name.as_str(), tensor(source)?)))
        .collect::<Result<_, OracleError>>()?;
    let results = named
        .results
        .iter()
        .map(|(name, tensor)| Ok((name.as_str(), element(tensor)?)))
        .collect::<Result<_, OracleError>>()?;
    let call = Call {
        named,
        operands,
        results,
    };
    let formula = bind(call).map_err(error)?;
    match named
        .results
        .keys()
        .find(|result| formula.shape(result).is_none())
    {
        None => Ok(formula),
        Some(result) => Err(error(format!("it has no result '{result}'"))),
    }
}

impl<'a> Call<'a> {
    /// A float operand that is required.
    fn operand(&self, name: &str) -> Result<Tensor<'a>, String> {
        self.optional(name)?
            .ok_or_else(|| format!("expected an operand '{name}'"))
    }

    /// A float operand that is optional.
    fn optional(&self, name: &str) -> Result<Option<Tensor<'a>>, String> {
        match self.operands.get(name) {
            Some(tensor) if !tensor.element.is_float() => Err(format!(
                "expected operand '{name}' of floats, got {}",
                tensor.element
            )),
            found => Ok(found.cloned()),
        }
    }

    /// An integer operand that is optional.
    fn optional_integers(&self, name: &str) -> Result<Option<Tensor<'a>>, String> {
        match self.operands.get(name) {
            Some(tensor) if tensor.element.is_float() => Err(format!(
                "expected operand '{name}' of integers, got {}",
                tensor.element
            )),
            found => Ok(found.cloned()),
        }
    }

    /// A required operand of floats or integers.
    fn number(&self, name: &str) -> Result<Tensor<'a>, String> {
        let found = self.operands.get(name).cloned();
        found.ok_or_else(|| format!("expected an operand '{name}'"))
    }

    /// The element type of a required result.
    fn result(&self, name: &str) -> Result<Element, String> {
        let found = self.results.get(name).copied();
        found.ok_or_else(|| format!("expected a result '{name}'"))
    }

    /// Checks that a result, if it is asked for, is of floats where an operand is, and else of integers.
    fn check_kind(&self, operand: &str, result: &str) -> Result<(), String> {
        let from = self.number(operand)?.element;
        match self.results.get(result) {
            Some(to) if to.is_float() != from.is_float() => Err(format!(
                "expected '{operand}' and '{result}' both of floats or both of integers, got {from} and {to}"
            )),
            _ => Ok(()),
        }
    }

    /// Whether a unit attribute is set.
    fn is_set(&self, name: &str) -> bool {
        self.named.attributes.contains_key(name)
    }

    /// An integer attribute.
    fn integer(&self, name: &str) -> Result<i64, String> {
        match self.named.attributes.get(name) {
            Some(Attribute::Number(number)) => Ok(number.as_i64()),
            _ => Err(format!("expected a number as attribute '{name}'")),
        }
    }

    /// The keyword of an attribute that is an enum.
    fn text(&self, name: &str) -> Result<&'a str, String> {
        match self.named.attributes.get(name) {
            Some(Attribute::Text(text)) => Ok(text),
            _ => Err(format!("expected a keyword as attribute '{name}'")),
        }
    }

    /// A required float operand, and its rows along the attribute `axes`.
    fn rows(&self, name: &str) -> Result<(Rows, Operand<'a>), String> {
        let tensor = self.operand(name)?;
        let rows = Rows::along(&self.integers("axes")?, &tensor.layout.shape)?;
        let operand = rows.whole(name, tensor)?;
        Ok((rows, operand))
    }

    /// An attribute that is a list of integers.
    fn integers(&self, name: &str) -> Result<Vec<i64>, String> {
        let integer = |attribute: &Attribute| match attribute {
            Attribute::Number(number) => Some(number.as_i64()),
            _ => None,
        };
        let list = match self.named.attributes.get(name) {
            Some(Attribute::List(list)) => list.iter().map(integer).collect(),
            _ => None,
        };
        list.ok_or_else(|| format!("expected a list of numbers as attribute '{name}'"))
    }

    /// A number of the op: an f32 attribute, or the operand that a call may give in its place, whose name is `runtime_`
    /// followed by the attribute's name.
    fn float(&self, name: &str) -> Result<f64, String> {
        let operand = self.operands.get(format!("runtime_{name}").as_str());
        match (self.named.attributes.get(name), operand) {
            (Some(Attribute::Number(number)), None) => Ok(Element::F32.round(number.as_f64())),
            (None, Some(tensor)) => {
                let found = tensor.at(&[0]).and_then(|data| data.floats().next());
                let number = found.filter(|_| tensor.layout.shape.is_empty());
                let number =
                    number.ok_or_else(|| format!("expected one float as operand 'runtime_{name}'"))?;
                Ok(number.value)
            }
            _ => Err(format!(
                "expected a number as attribute '{name}', or as operand 'runtime_{name}'"
            )),
        }
    }
}
