//! Generates C++ functions, which throw errors as exceptions.

use std::fmt::Write;

use crate::c::guarded;
use crate::signature::ScalarParameter;
use crate::{GENERATED, Package};

/// What stands around the functions: each module of a process has its own. Otherwise modules with functions of one name would share
/// those of the first one, where a compiler does not inline them, and with them its kernel.
const OWN: [&str; 2] = [
    "#pragma GCC visibility push(hidden)\n",
    "\n#pragma GCC visibility pop\n",
];

/// The C++ header of a package's functions, which includes the C header with that file name.
pub fn header(package: &Package, c_header: &str) -> String {
    let [begin, end] = OWN;
    let mut text =
        format!("#include <norma/runtime.hpp>\n\n#include \"{c_header}\"\n\n{begin}\nnamespace norma {{\n");
    for function in &package.functions {
        let signature = &function.signature;
        text.push_str("\n/// Launches on `stream`, a CUstream or cudaStream_t; throws norma::error.\n");
        for line in signature.descriptions() {
            let _ = writeln!(text, "///   {line}");
        }
        let (name, c_load, load) = (&signature.name, signature.load_name(), signature.cpp_load_name());
        let tensors = signature.tensors.iter();
        let parameters = tensors.map(|tensor| format!("const norma_tensor &{}", tensor.name));
        let scalars = scalars_with_defaults(&signature.scalars);
        let parameters: Vec<String> = parameters
            .chain(scalars)
            .chain(["void *stream = nullptr".to_owned()])
            .collect();
        let tensors = signature.tensors.iter().map(|tensor| format!("&{}", tensor.name));
        let scalars = signature.scalars.iter().map(|scalar| scalar.name.clone());
        let arguments: Vec<String> = tensors.chain(scalars).chain(["stream".to_owned()]).collect();
        let _ = writeln!(
            text,
            "inline void {name}({}) {{\n  ::norma::check(::{name}({}));\n}}\n\n\
             /// Loads it on a device, so that its first launch there need not.\n\
             inline void {load}(std::int32_t device) {{ ::norma::check(::{c_load}(device)); }}",
            parameters.join(", "),
            arguments.join(", ")
        );
        if function.has_ptx() {
            let (c_allow, allow) = (signature.allow_ptx_name(), signature.cpp_allow_ptx_name());
            let _ = writeln!(
                text,
                "\n/// Lets it run on devices that no cubin fits, by PTX that the driver compiles; call this before the others.\n\
                 inline void {allow}() {{ ::norma::check(::{c_allow}()); }}"
            );
        }
    }
    text.push_str("\n} // namespace norma\n");
    text.push_str(end);
    format!(
        "// {GENERATED}: do not edit. Tensors are the inputs, then the outputs.\n\n{}",
        guarded(&text, "HPP")
    )
}

/// The parameters for scalars. The last ones have their defaults, as far as each has one that C++ can write: C++ allows it from one
/// parameter on to the end alone.
fn scalars_with_defaults(scalars: &[ScalarParameter]) -> Vec<String> {
    let without = scalars.iter().rposition(|scalar| scalar.default.is_none());
    let first = without.map_or(0, |index| index + 1);
    let parameters = scalars.iter().enumerate().map(|(index, scalar)| {
        let kind = if scalar.is_float { "double" } else { "std::int64_t" };
        let default = scalar.default.as_ref().filter(|_| index >= first);
        let default = default.map_or_else(String::new, |default| format!(" = {default}"));
        format!("{kind} {}{default}", scalar.name)
    });
    parameters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;
    use crate::tests::{scale, scale_with_ptx};

    #[test]
    fn scalars_have_defaults_behind_the_last_one_that_has_none() {
        let scalars = [("a", Some("1")), ("b", None), ("c", Some("-1")), ("d", Some("2"))];
        let scalars = scalars.map(|(name, default)| ScalarParameter {
            name: name.to_owned(),
            is_float: false,
            default: default.map(str::to_owned),
        });
        assert_eq!(
            scalars_with_defaults(&scalars),
            [
                "std::int64_t a",
                "std::int64_t b",
                "std::int64_t c = -1",
                "std::int64_t d = 2"
            ]
        );
    }

    #[test]
    fn each_module_has_its_own_functions() {
        let package = Package::new(&[scale("sm_90a", |_| ())], Language::C).unwrap();
        let header = header(&package, "scale.h");
        let [begin, end] = OWN.map(|pragma| header.find(pragma).unwrap());
        let namespace = header.find("namespace norma {").unwrap();
        assert!(begin < namespace && namespace < end, "{header}");
        assert!(header.find("#include \"scale.h\"").unwrap() < begin, "{header}");
    }

    #[test]
    fn the_wrapper_passes_addresses_on() {
        let package = Package::new(&[scale("sm_90a", |_| ())], Language::C).unwrap();
        let header = header(&package, "scale.h");
        let expected = "inline void scale(const norma_tensor &x, const norma_tensor &y, double s = 2.0, void *stream = nullptr) {\n  \
                        ::norma::check(::scale(&x, &y, s, stream));\n}\n";
        assert!(header.contains(expected), "{header}");
        assert!(!header.contains("allow_ptx"), "{header}");
        let header = super::header(
            &Package::new(&[scale_with_ptx("sm_80")], Language::C).unwrap(),
            "scale.h",
        );
        let expected = "inline void allow_ptx_scale() { ::norma::check(::scale_allow_ptx()); }\n";
        assert!(header.contains(expected), "{header}");
    }
}
