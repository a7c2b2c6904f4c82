//! The languages whose rules decide which names a function may have.

use std::fmt;

use crate::PackageError;
use crate::c_library::header_of;
use crate::identifier::{fault, rust_fault};

/// The names that `norma/runtime.hpp` declares in the namespace of the generated C++ functions.
pub(crate) const OF_RUNTIME: [&str; 5] = ["check", "dtype", "error", "function", "tensor"];
/// The namespaces of the generated C++ code, beside which there can be no function of their names.
const NAMESPACES: [&str; 2] = ["norma", "std"];

/// What the callers of a package's functions are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C or C++, which link an object with its headers. A function's name is valid in Rust as well, so that it has the same name
    /// everywhere.
    C,
    /// Rust alone, whose functions are not symbols of the program, so that names of C's library are as good as any.
    Rust,
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::C => "C",
            Self::Rust => "Rust",
        })
    }
}

impl Language {
    /// Refuses the name of a function that the language has no function of.
    ///
    /// # Errors
    /// The name is not valid in the language, or something else has it that the function would replace.
    pub(crate) fn check(self, function: &str) -> Result<(), PackageError> {
        let name = || function.to_owned();
        let reason = match self {
            Self::C => fault(function),
            Self::Rust => rust_fault(function),
        };
        if let Some(reason) = reason {
            let (name, language) = (name(), self);
            return Err(PackageError::Name {
                name,
                language,
                reason,
            });
        }
        if self == Self::Rust {
            return Ok(());
        }
        if NAMESPACES.contains(&function) {
            return Err(PackageError::Namespace { name: name() });
        }
        let of_runtime = OF_RUNTIME.contains(&function);
        let of_runtime = of_runtime.then_some("norma/runtime.hpp");
        match of_runtime.or_else(|| header_of(function)) {
            Some(header) => Err(PackageError::Declared { name: name(), header }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(language: Language, name: &str) -> String {
        language
            .check(name)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
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
            assert_eq!(
                said(Language::C, name),
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
            ("rms_norm", ""),
        ] {
            assert_eq!(said(Language::C, name), message);
        }
    }

    #[test]
    fn for_rust_alone_a_name_is_refused_that_rust_does_not_take() {
        for name in [
            "fn", "union", "new", "int", "std", "norma", "exp", "linux", "check", "_x",
        ] {
            assert_eq!(said(Language::Rust, name), "");
        }
        for (name, reason) in [
            ("rms-norm", "expected letters, digits and '_', and no digit first"),
            ("crate", "it is a keyword of Rust that can name nothing"),
            ("_", "it is a keyword of Rust that can name nothing"),
            ("main", "a program begins with this function"),
            (
                "norma_launch",
                "names that begin with 'norma_' are reserved for the runtime",
            ),
        ] {
            assert_eq!(
                said(Language::Rust, name),
                format!("function '{name}' has no name that Rust takes: {reason}")
            );
        }
    }
}
