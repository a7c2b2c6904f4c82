//! Names that are valid in C, C++ and Rust.

use crate::c_library::is_macro;

/// Keywords of C, C++ or Rust. A name that is refused by one of the languages is refused for all, so
/// that a function has the same name in each.
const RESERVED: &[&str] = &[
    "Self",
    "abstract",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "as",
    "asm",
    "async",
    "auto",
    "await",
    "become",
    "bitand",
    "bitor",
    "bool",
    "box",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "crate",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dyn",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "final",
    "float",
    "fn",
    "for",
    "friend",
    "gen",
    "goto",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "let",
    "long",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "override",
    "priv",
    "private",
    "protected",
    "pub",
    "public",
    "ref",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "self",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "super",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsafe",
    "unsigned",
    "unsized",
    "use",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "where",
    "while",
    "xor",
    "xor_eq",
    "yield",
];

/// Keywords of Rust, of every edition. They are names as `r#keyword`, but for [`NO_RAW`].
const OF_RUST: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait",
    "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Keywords of Rust that nothing can be named, in any way of writing them.
const NO_RAW: [&str; 5] = ["Self", "_", "crate", "self", "super"];

/// The beginning of the names of the runtime and of generated data.
const RUNTIME_PREFIX: &str = "norma_";

/// The beginning of the names of TVM-FFI, which an object declares.
const TVM_FFI_PREFIX: &str = "TVMFFI";

/// Why a name is not valid in all the languages; `None` if it is.
pub(crate) fn fault(name: &str) -> Option<&'static str> {
    if let Some(reason) = fault_anywhere(name) {
        Some(reason)
    } else if name.starts_with('_') {
        Some("names that begin with '_' are reserved for compilers")
    } else if name.starts_with(TVM_FFI_PREFIX) {
        Some("names that begin with 'TVMFFI' are reserved for TVM-FFI")
    } else if RESERVED.contains(&name) {
        Some("it is a keyword of C, C++ or Rust")
    } else if is_macro(name) {
        Some("it is a macro of C")
    } else {
        None
    }
}

/// Why a name is not valid in Rust; `None` if it is one as it stands or as a raw identifier.
pub(crate) fn rust_fault(name: &str) -> Option<&'static str> {
    let names_nothing = NO_RAW.contains(&name);
    fault_anywhere(name).or_else(|| names_nothing.then_some("it is a keyword of Rust that can name nothing"))
}

/// Why a name is valid in none of the languages.
fn fault_anywhere(name: &str) -> Option<&'static str> {
    let is_of_words = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let begins_with_digit = name.starts_with(|first: char| first.is_ascii_digit());
    if name.is_empty() || begins_with_digit || !name.chars().all(is_of_words) {
        Some("expected letters, digits and '_', and no digit first")
    } else if name.starts_with(RUNTIME_PREFIX) {
        Some("names that begin with 'norma_' are reserved for the runtime")
    } else if name == "main" {
        Some("a program begins with this function")
    } else {
        None
    }
}

/// A name that Rust takes, as Rust's source has it: a raw identifier where it is a keyword.
pub(crate) fn in_rust(name: &str) -> String {
    match OF_RUST.contains(&name) {
        true => format!("r#{name}"),
        false => name.to_owned(),
    }
}

/// A name similar to `name` that is valid in all the languages and not among `taken`.
pub(crate) fn name_like(name: &str, taken: &[String]) -> String {
    let mut like: String = name
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '_'
            }
        })
        .collect();
    if !like.starts_with(|first: char| first.is_ascii_alphabetic()) {
        like.insert_str(0, "arg");
    }
    if like.starts_with(RUNTIME_PREFIX) {
        like.insert_str(0, "arg_");
    }
    while fault(&like).is_some() || taken.contains(&like) {
        like.push('_');
    }
    like
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_has_a_reason() {
        for (names, reason) in [
            (
                &["", "1d", "rms-norm", "rms.norm", "größe"][..],
                "expected letters, digits and '_', and no digit first",
            ),
            (
                &["int", "fn", "xor_eq", "thread_local", "Self"],
                "it is a keyword of C, C++ or Rust",
            ),
            (
                &["_x", "__x"],
                "names that begin with '_' are reserved for compilers",
            ),
            (
                &["norma_launch"],
                "names that begin with 'norma_' are reserved for the runtime",
            ),
            (&["main"], "a program begins with this function"),
            (
                &["TVMFFIEnvGetStream", "TVMFFIObject"],
                "names that begin with 'TVMFFI' are reserved for TVM-FFI",
            ),
            (&["linux", "NULL", "INT32_MAX"], "it is a macro of C"),
        ] {
            for name in names {
                assert_eq!(fault(name), Some(reason), "{name}");
            }
        }
        for name in ["rms_norm", "x1", "exp", "X"] {
            assert_eq!(fault(name), None, "{name}");
        }
    }

    #[test]
    fn reserved_names_are_in_order() {
        assert!(RESERVED.is_sorted() && OF_RUST.is_sorted() && NO_RAW.is_sorted());
    }

    #[test]
    fn keywords_are_raw_identifiers_in_rust() {
        for (name, written) in [
            ("fn", "r#fn"),
            ("union", "union"),
            ("new", "new"),
            ("scale", "scale"),
        ] {
            assert_eq!(in_rust(name), written);
        }
        assert!(OF_RUST.iter().all(|keyword| RESERVED.contains(keyword)));
    }

    #[test]
    fn what_is_no_name_becomes_one() {
        let taken = ["x".to_owned()];
        for (name, like) in [
            ("x", "x_"),
            ("int", "int_"),
            ("0", "arg0"),
            ("a.b", "a_b"),
            ("w", "w"),
            ("norma_x", "arg_norma_x"),
            ("linux", "linux_"),
            ("exp", "exp"),
        ] {
            assert_eq!(name_like(name, &taken), like);
        }
    }
}
