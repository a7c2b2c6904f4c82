//! Writes typed Rust views, and the C API they call, from a dialect's ODS.
//!
//! ODS is the one description of ops, attributes, types and enums. `mlir-tblgen` turns it into C++; this crate turns the same
//! records (`llvm-tblgen --dump-json`) into what Rust needs: a view over each op, a wrapper for each attribute and type, an enum
//! for each enum, and the `extern "C"` C++ functions by which the wrappers reach the C++ classes. A construct that has no Rust form
//! is an error at build time that names the record; nothing is left out silently.

mod attrs;
mod capi;
mod definitions;
mod docs;
mod enums;
mod groups;
pub mod named_ops;
mod names;
mod ods;
mod ops;
mod params;
mod reader;
mod types;

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

/// Why a dialect could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The JSON is not what `llvm-tblgen --dump-json` writes for ODS.
    #[error("record {record}: expected {expected}")]
    Malformed {
        /// The TableGen record.
        record: String,
        /// What should have been there.
        expected: String,
    },
    /// The ODS is valid, but this generator has no Rust form for it.
    #[error("record {record}: {what} has no generated Rust form")]
    Unsupported {
        /// The TableGen record.
        record: String,
        /// The construct.
        what: String,
    },
    /// The generated tokens are not Rust: a bug in this crate.
    #[error("generated code for dialect {dialect} is not valid Rust")]
    NotRust {
        /// The dialect's name.
        dialect: String,
        /// The parser's complaint.
        #[source]
        source: syn::Error,
    },
}

/// The two files generated for a dialect.
pub struct Generated {
    /// Rust items: enums, attributes, types, op views, and the declarations of the C functions they call.
    pub rust: String,
    /// C++ defining those C functions.
    pub cpp: String,
}

/// Generates the views of `dialect` (its `name` in ODS).
///
/// `records` is the parsed output of `llvm-tblgen --dump-json`. `op_declarations` is the text of `-gen-op-decls`: whether an
/// op infers its result types is mlir-tblgen's decision, read from there rather than decided again.
pub fn generate(dialect: &str, records: &Value, op_declarations: &str) -> Result<Generated, Error> {
    let dialect = reader::read(dialect, records, &ops_inferring_types(op_declarations))?;
    let enums: Vec<TokenStream> = dialect.enums.iter().map(enums::rust).collect();
    let attrs: Vec<TokenStream> = dialect
        .attrs
        .iter()
        .map(|attr| attrs::rust(&dialect, attr))
        .collect();
    let types: Vec<TokenStream> = dialect.types.iter().map(|ty| types::rust(&dialect, ty)).collect();
    let ops: Vec<TokenStream> = dialect.ops.iter().map(ops::rust).collect();
    let groups = groups::rust(&dialect);
    let named = match named_ops::of(&dialect)? {
        named if named.is_empty() => TokenStream::new(),
        named => named_ops::rust(&named),
    };
    let functions = capi::rust(&dialect);
    let items = quote! { #(#enums)* #(#attrs)* #(#types)* #(#ops)* #groups #named #functions };
    let file = syn::parse2(items).map_err(|source| Error::NotRust {
        dialect: dialect.name.clone(),
        source,
    })?;
    Ok(Generated {
        rust: prettyplease::unparse(&file),
        cpp: capi::cpp(&dialect),
    })
}

/// The C++ class names of the ops that `mlir-tblgen` gave `InferTypeOpInterface`, asked for or derived.
fn ops_inferring_types(op_declarations: &str) -> BTreeSet<String> {
    op_declarations
        .lines()
        .filter(|line| line.contains("::mlir::InferTypeOpInterface::Trait"))
        .filter_map(|line| line.strip_prefix("class ")?.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_inference_is_read_from_the_op_declarations() {
        let text = "class AddOp : public ::mlir::Op<AddOp, ::mlir::InferTypeOpInterface::Trait> {\n\
                    class ReadOp : public ::mlir::Op<ReadOp, ::mlir::OpTrait::OneResult> {\n";
        assert_eq!(ops_inferring_types(text), BTreeSet::from(["AddOp".to_owned()]));
    }
}
