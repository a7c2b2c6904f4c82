//! The parameters of a function, with names that are valid in the languages.

use norma_bundle::manifest::{Function, Tensor};

use crate::PackageError;
use crate::c_library::header_of;
use crate::identifier::{fault, name_like};

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
}

/// Names in the generated functions that no parameter may have: a parameter that they add, a type in their signatures, and
/// Rust's static. Other names of the code begin with `norma_`, which no name from a bundle does.
const USED: [&str; 3] = ["stream", "int64_t", "FUNCTION"];
/// The names that `norma/runtime.hpp` declares in the namespace of the generated C++ functions.
const OF_RUNTIME: [&str; 5] = ["check", "dtype", "error", "function", "tensor"];
/// The namespaces of the generated C++ code, beside which there can be no function of their names.
const NAMESPACES: [&str; 2] = ["norma", "std"];

impl Signature {
    /// Reads a function's signature.
    ///
    /// # Errors
    /// Its name is not valid in the languages, or one of the runtime's or of C's library.
    pub(crate) fn of(function: &Function) -> Result<Self, PackageError> {
        let name = || function.name.clone();
        if let Some(reason) = fault(&function.name) {
            return Err(PackageError::Name { name: name(), reason });
        }
        if NAMESPACES.contains(&function.name.as_str()) {
            return Err(PackageError::Namespace { name: name() });
        }
        let of_runtime = OF_RUNTIME.contains(&function.name.as_str());
        let of_runtime = of_runtime.then_some("norma/runtime.hpp");
        if let Some(header) = of_runtime.or_else(|| header_of(&function.name)) {
            return Err(PackageError::Declared { name: name(), header });
        }
        let used = USED.map(str::to_owned);
        let mut taken = [used.as_slice(), &[name()]].concat();
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
        let scalars = scalars.map(|(scalar, kind, _)| ScalarParameter {
            name: name(scalar),
            is_float: kind.is_float(),
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
            format!("{}: {kind}", scalar.name)
        });
        tensors.chain(scalars)
    }
}

fn describe(name: &str, tensor: &Tensor, is_output: bool) -> String {
    let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
    let role = if is_output { "written" } else { "read" };
    format!("{name}: {} [{}], {role}", tensor.dtype, shape.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scale;

    #[test]
    fn parameters_have_names_of_their_own() {
        let bundle = scale("sm_90a", |manifest| {
            let function = &mut manifest.functions[0];
            function.inputs[0].name = "stream".to_owned();
            function.outputs[0].name = "stream_".to_owned();
        });
        let signature = Signature::of(&bundle.manifest.functions[0]).unwrap();
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
                "s: a float"
            ]
        );
    }

    /// In the header, declarations of the namespace begin in the first column.
    #[test]
    fn names_of_the_runtimes_namespace_are_refused() {
        let text = include_str!("../../runtime/include/norma/runtime.hpp");
        let (_, inside) = text.split_once("namespace norma {").unwrap();
        let declared = inside.lines().filter_map(|line| {
            let mut words = line.split(['(', ' ']);
            match words.next()? {
                "class" | "struct" | "namespace" | "using" => words.next(),
                "inline" => words.nth(1),
                _ => None,
            }
        });
        let declared: Vec<&str> = declared.collect();
        let mut sorted = declared.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, OF_RUNTIME);
        for name in declared {
            let bundle = scale("sm_90a", |manifest| manifest.functions[0].name = name.to_owned());
            let error = Signature::of(&bundle.manifest.functions[0])
                .unwrap_err()
                .to_string();
            assert_eq!(
                error,
                format!("function '{name}' has a name that norma/runtime.hpp declares")
            );
        }
    }

    #[test]
    fn a_function_needs_a_name_that_the_languages_take() {
        for (name, message) in [
            (
                "rms-norm",
                "function 'rms-norm' has no name that C takes: expected letters, digits and '_', and no digit first",
            ),
            (
                "linux",
                "function 'linux' has no name that C takes: it is a macro of C",
            ),
            ("std", "function 'std' has the name of a namespace of C++"),
            ("norma", "function 'norma' has the name of a namespace of C++"),
            ("exp", "function 'exp' has a name that math.h declares"),
            ("free", "function 'free' has a name that stdlib.h declares"),
        ] {
            let bundle = scale("sm_90a", |manifest| manifest.functions[0].name = name.to_owned());
            let error = Signature::of(&bundle.manifest.functions[0]).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_parameter_may_have_the_name_of_a_function_of_c() {
        let bundle = scale("sm_90a", |manifest| {
            manifest.functions[0].inputs[0].name = "exp".to_owned();
            manifest.functions[0].outputs[0].name = "std".to_owned();
        });
        let signature = Signature::of(&bundle.manifest.functions[0]).unwrap();
        let names = signature.tensors.iter().map(|tensor| tensor.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["exp", "std"]);
    }
}
