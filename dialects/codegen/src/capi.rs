//! The C functions behind attribute and type wrappers: their definitions in C++ and their declarations in Rust.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::{
    definitions, names,
    ods::{Definition, Dialect},
    params,
};

/// Whether a definition is an attribute or a type.
struct Kind {
    c: &'static str,
    rust: TokenStream,
}

fn definitions(dialect: &Dialect) -> impl Iterator<Item = (Kind, &Definition)> {
    let attrs = dialect.attrs.iter().map(|attr| {
        (
            Kind {
                c: "MlirAttribute",
                rust: quote!(::mlir_sys::MlirAttribute),
            },
            attr,
        )
    });
    let types = dialect.types.iter().map(|ty| {
        (
            Kind {
                c: "MlirType",
                rust: quote!(::mlir_sys::MlirType),
            },
            ty,
        )
    });
    attrs.chain(types)
}

/// The `extern "C"` block.
pub fn rust(dialect: &Dialect) -> TokenStream {
    let functions = definitions(dialect).map(|(kind, definition)| {
        let this = kind.rust;
        let is_a = definitions::function(dialect, definition, "IsA");
        let get = definitions::function(dialect, definition, "Get");
        let arguments: Vec<TokenStream> = definition
            .params
            .iter()
            .map(|param| {
                let (name, ty) = (param.ident(), param.raw());
                quote!(#name: #ty)
            })
            .collect();
        let checked = definition.verified.then(|| {
            let get_checked = definitions::function(dialect, definition, "GetChecked");
            quote!(fn #get_checked(location: ::mlir_sys::MlirLocation, #(#arguments),*) -> #this;)
        });
        let getters = definition.params.iter().map(|param| {
            let getter = format_ident!("{}", params::getter(&dialect.name, definition, param));
            let ty = param.raw();
            quote!(fn #getter(this: #this) -> #ty;)
        });
        quote! {
            fn #is_a(this: #this) -> bool;
            fn #get(context: ::mlir_sys::MlirContext, #(#arguments),*) -> #this;
            #checked
            #(#getters)*
        }
    });
    quote! {
        unsafe extern "C" {
            #(#functions)*
        }
    }
}

/// The C++ file that defines the functions.
pub fn cpp(dialect: &Dialect) -> String {
    let (folder, class) = (&dialect.name, names::pascal(&dialect.name));
    let mut out = format!(
        "// Generated from ODS. The C functions behind the Rust wrappers of the {folder} dialect's attributes and types.\n\n\
         #include \"capi/Slice.h\"\n\
         #include \"{folder}/{class}Dialect.h\"\n\
         #include \"mlir/CAPI/AffineMap.h\"\n\
         #include \"mlir/CAPI/IR.h\"\n\
         #include \"mlir/CAPI/Support.h\"\n\n\
         using namespace mlir;\n\
         using namespace mlir::{folder};\n\n"
    );
    for (kind, definition) in definitions(dialect) {
        out.push_str(&functions_cpp(dialect, kind.c, definition));
    }
    out
}

fn functions_cpp(dialect: &Dialect, this: &str, definition: &Definition) -> String {
    let class = &definition.cpp;
    let name = |what: &str| params::function(&dialect.name, definition, what);
    let declared: String = definition
        .params
        .iter()
        .map(|param| format!(", {} {}", param.c(), param.name))
        .collect();
    let passed: String = definition
        .params
        .iter()
        .map(|param| format!(", {}", param.unwrap_cpp()))
        .collect();
    let mut out = format!(
        "extern \"C\" bool {}({this} self) {{ return llvm::isa<{class}>(unwrap(self)); }}\n\
         extern \"C\" {this} {}(MlirContext context{declared}) {{\n\
         \x20 return wrap({class}::get(unwrap(context){passed}));\n}}\n",
        name("IsA"),
        name("Get"),
    );
    if definition.verified {
        out.push_str(&format!(
            "extern \"C\" {this} {}(MlirLocation location{declared}) {{\n\
             \x20 Location at = unwrap(location);\n\
             \x20 return wrap({class}::getChecked([at] {{ return emitError(at); }}, at.getContext(){passed}));\n}}\n",
            name("GetChecked"),
        ));
    }
    for param in &definition.params {
        let value = format!(
            "llvm::cast<{class}>(unwrap(self)).get{}()",
            names::pascal(&param.name)
        );
        out.push_str(&format!(
            "extern \"C\" {} {}({this} self) {{ return {}; }}\n",
            param.c(),
            params::getter(&dialect.name, definition, param),
            param.wrap_cpp(&value),
        ));
    }
    out.push('\n');
    out
}
