//! Names that are valid in C, C++ and Rust.

/// Keywords of C, C++ or Rust, and the name `main`. A name that is refused by one of the languages is refused for all, so
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
    "main",
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

/// The beginning of the names of the runtime and of generated data.
const RUNTIME_PREFIX: &str = "norma_";

/// Whether a name is valid in all the languages. Names that begin with `_` are reserved by the languages, and those that
/// begin with `norma_` by the runtime.
pub(crate) fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|first| first.is_ascii_alphabetic());
    begins
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
        && !RESERVED.contains(&name)
        && !name.starts_with(RUNTIME_PREFIX)
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
    while !is_name(&like) || taken.contains(&like) {
        like.push('_');
    }
    like
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_and_other_characters_make_no_name() {
        for name in [
            "",
            "int",
            "fn",
            "xor_eq",
            "thread_local",
            "Self",
            "1d",
            "rms-norm",
            "rms.norm",
            "größe",
            "_x",
            "norma_launch",
            "main",
        ] {
            assert!(!is_name(name), "{name}");
        }
        assert!(is_name("rms_norm") && is_name("x1"));
    }

    #[test]
    fn reserved_names_are_in_order() {
        assert!(RESERVED.is_sorted());
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
        ] {
            assert_eq!(name_like(name, &taken), like);
        }
    }
}
