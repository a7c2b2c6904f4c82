//! Names: from ODS's camel case and C++'s to Rust's, with keywords made raw.

use proc_macro2::Ident;
use quote::format_ident;

/// A Rust value name for an ODS name: `expectTx` becomes `expect_tx`, `type` becomes `r#type`.
pub fn value(name: &str) -> Ident {
    let name = snake(name);
    match syn::parse_str::<Ident>(&name) {
        Ok(ident) => ident,
        Err(_) => format_ident!("r#{name}"),
    }
}

/// `expectTx` as `expect_tx`; a name already in snake case stays.
pub fn snake(name: &str) -> String {
    let mut out = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() {
            if index > 0 && !out.ends_with('_') {
                out.push('_');
            }
            out.push(letter.to_ascii_lowercase());
        } else {
            out.push(letter);
        }
    }
    out
}

/// `expect_tx` or `expectTx` as `ExpectTx`: how mlir-tblgen spells accessors, and Rust its types.
pub fn pascal(name: &str) -> String {
    let mut out = String::new();
    let mut upper = true;
    for letter in name.chars() {
        if letter == '_' || letter == '-' {
            upper = true;
        } else if upper {
            out.push(letter.to_ascii_uppercase());
            upper = false;
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_becomes_snake_case() {
        assert_eq!(snake("sizePerThread"), "size_per_thread");
        assert_eq!(snake("size_per_thread"), "size_per_thread");
    }

    #[test]
    fn accessors_are_pascal_case() {
        assert_eq!(pascal("size_per_thread"), "SizePerThread");
        assert_eq!(pascal("sizePerThread"), "SizePerThread");
    }

    #[test]
    fn keywords_become_raw_identifiers() {
        assert_eq!(value("type").to_string(), "r#type");
        assert_eq!(value("map").to_string(), "map");
    }
}
