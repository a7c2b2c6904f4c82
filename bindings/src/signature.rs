//! The parameters of a function, with names that are valid in the languages.

use norma_bundle::manifest::{Function, ScalarType, ScalarValue, Tensor};

use crate::identifier::name_like;
use crate::{Language, PackageError};

/// A function's signature, as its callers see it.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    /// The function's name.
    pub(crate) name: String,
    /// The inputs, then the outputs.
    pub(crate) tensors: Vec<TensorParameter>,
    /// The scalars that a caller sets.
    pub(crate) scalars: Vec<ScalarParameter>,
}

/// A tensor parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TensorParameter {
    /// The parameter's name.
    pub(crate) name: String,
    /// A description for people, such as `x: bf16 [m, 4096], read`.
    pub(crate) description: String,
    is_output: bool,
}

/// A scalar parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalarParameter {
    /// The parameter's name.
    pub(crate) name: String,
    /// Whether it is a float; otherwise it is an integer.
    pub(crate) is_float: bool,
    /// The value that the source of the function gives for calls that set none, as the languages write it; `None` for one that they have
    /// no literal of.
    pub(crate) default: Option<String>,
}

/// Names in the generated functions that no parameter may have: a parameter that they add, a type in their signatures, and
/// Rust's static. Other names of the code begin with `norma_`, which no name from a bundle does.
const USED: [&str; 3] = ["stream", "int64_t", "FUNCTION"];

impl Signature {
    /// Reads a function's signature, for callers in a language.
    ///
    /// # Errors
    /// As [`Language::check`].
    pub(crate) fn of(function: &Function, language: Language) -> Result<Self, PackageError> {
        language.check(&function.name)?;
        let used = USED.map(str::to_owned);
        let mut taken = [used.as_slice(), std::slice::from_ref(&function.name)].concat();
        let mut name = |name: &str| {
            let name = name_like(name, &taken);
            taken.push(name.clone());
            name
        };
        let inputs = function.inputs.len();
        let mut tensors = Vec::new();
        for (index, tensor) in function.tensors().enumerate() {
            let is_output = index >= inputs;
            let name = name(&tensor.name);
            tensors.push(TensorParameter {
                description: describe(&name, tensor, is_output),
                name,
                is_output,
            });
        }
        let scalars = function.named_scalars().into_iter();
        let scalars = scalars.map(|(scalar, kind, value)| ScalarParameter {
            name: name(scalar),
            is_float: kind.is_float(),
            default: literal(value, kind),
        });
        let scalars = scalars.collect();
        Ok(Signature {
            name: function.name.clone(),
            tensors,
            scalars,
        })
    }

    /// The name of the function that loads it.
    pub(crate) fn load_name(&self) -> String {
        format!("{}_load", self.name)
    }

    /// The name in C++ of the function that loads it: another one than in C, so that a call is not ambiguous where both namespaces are
    /// searched.
    pub(crate) fn cpp_load_name(&self) -> String {
        format!("load_{}", self.name)
    }

    /// The name of the function that lets it run by PTX.
    pub(crate) fn allow_ptx_name(&self) -> String {
        format!("{}_allow_ptx", self.name)
    }

    /// The name in C++ of the function that lets it run by PTX, as [`Self::cpp_load_name`].
    pub(crate) fn cpp_allow_ptx_name(&self) -> String {
        format!("allow_ptx_{}", self.name)
    }

    /// Whether both have the same parameters, so that one typed function serves both.
    pub(crate) fn accepts_like(&self, other: &Signature) -> bool {
        (&self.tensors, &self.scalars) == (&other.tensors, &other.scalars)
    }

    /// A line for each parameter.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = String> {
        let tensors = self.tensors.iter().map(|tensor| tensor.description.clone());
        let scalars = self.scalars.iter().map(|scalar| {
            let kind = if scalar.is_float { "a float" } else { "an integer" };
            let default = scalar.default.as_ref();
            let default = default.map_or_else(String::new, |default| format!(", {default} in the source"));
            format!("{}: {kind}{default}", scalar.name)
        });
        tensors.chain(scalars)
    }
}

/// A number as C, C++ and Rust all write it. They have no literals of infinities and NaN, and C none of the least integer.
fn literal(value: &ScalarValue, kind: ScalarType) -> Option<String> {
    let number = match value {
        ScalarValue::Float(number) => number.as_f64(),
        ScalarValue::Expression(expression) => {
            let integer = expression.as_integer()?;
            if !kind.is_float() {
                return (integer != i64::MIN).then(|| integer.to_string());
            }
            integer as f64
        }
    };
    // Debug formatting has a point or an exponent, without which the number would be an integer, and as many digits as tell it from others
    // of its type.
    let text = match kind {
        ScalarType::F64 => format!("{number:?}"),
        _ => format!("{:?}", number as f32),
    };
    number.is_finite().then_some(text)
}

fn describe(name: &str, tensor: &Tensor, is_output: bool) -> String {
    let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
    let role = if is_output { "written" } else { "read" };
    format!("{name}: {} [{}], {role}", tensor.dtype, shape.join(", "))
}

#[cfg(test)]
mod tests {
    use norma_bundle::program::Number;

    use super::*;
    use crate::tests::scale;

    #[test]
    fn parameters_have_names_of_their_own() {
        let bundle = scale("sm_90a", |manifest| {
            let function = &mut manifest.functions[0];
            function.inputs[0].name = "stream".to_owned();
            function.outputs[0].name = "stream_".to_owned();
        });
        let signature = Signature::of(&bundle.manifest.functions[0], Language::C).unwrap();
        let names: Vec<&str> = signature
            .tensors
            .iter()
            .map(|tensor| tensor.name.as_str())
            .collect();
        assert_eq!(names, ["stream_", "stream__"]);
        assert_eq!(
            signature.descriptions().collect::<Vec<_>>(),
            [
                "stream_: f32 [m, 64], read",
                "stream__: f32 [m], written",
                "s: a float, 2.0 in the source"
            ]
        );
    }

    #[test]
    fn a_number_is_written_as_the_languages_write_it() {
        let float = |value: f64, kind| literal(&ScalarValue::Float(Number::Float(value)), kind);
        let integer = |value: i64, kind| literal(&ScalarValue::Expression(value.into()), kind);
        assert_eq!(
            float(f64::from(1e-5_f32), ScalarType::F32).as_deref(),
            Some("1e-5")
        );
        assert_eq!(
            float(1.0 / 3.0, ScalarType::F64).as_deref(),
            Some("0.3333333333333333")
        );
        assert_eq!(float(f64::INFINITY, ScalarType::F32), None);
        assert_eq!(integer(2, ScalarType::F32).as_deref(), Some("2.0"));
        assert_eq!(integer(-2, ScalarType::I64).as_deref(), Some("-2"));
        assert_eq!(integer(i64::MIN, ScalarType::I64), None);
    }

    #[test]
    fn a_parameter_may_have_the_name_of_a_function_of_c() {
        let bundle = scale("sm_90a", |manifest| {
            manifest.functions[0].inputs[0].name = "exp".to_owned();
            manifest.functions[0].outputs[0].name = "std".to_owned();
        });
        let signature = Signature::of(&bundle.manifest.functions[0], Language::C).unwrap();
        let names = signature.tensors.iter().map(|tensor| tensor.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["exp", "std"]);
    }
}
