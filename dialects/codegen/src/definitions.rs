//! What attributes and types share: constructors and accessors that call the generated C functions.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::{
    docs,
    ods::{Definition, Dialect},
    params,
};

/// `get`, `get_checked` (where the class verifies) and one accessor for each parameter.
///
/// `wrapped` is `::melior::ir::Attribute` or `::melior::ir::Type`, `raw` turns `self` into its raw form.
pub fn methods(
    dialect: &Dialect,
    definition: &Definition,
    wrapped: &TokenStream,
    raw: &TokenStream,
) -> TokenStream {
    let arguments: Vec<TokenStream> = definition
        .params
        .iter()
        .map(|param| {
            let (name, ty) = (param.ident(), param.argument());
            quote!(#name: #ty)
        })
        .collect();
    let (keep, pass): (Vec<_>, Vec<_>) = definition.params.iter().map(|param| param.pass()).unzip();
    let get = function(dialect, definition, "Get");
    let get_doc = if definition.verified {
        " The one with these parameters, which must be valid: use [`Self::get_checked`] for those a user wrote."
    } else {
        " The one with these parameters."
    };
    let checked = definition.verified.then(|| {
        let get_checked = function(dialect, definition, "GetChecked");
        quote! {
            /// The one with these parameters, or `None` after a diagnostic at `location` that says what is wrong with them.
            #[allow(clippy::too_many_arguments, reason = "one argument for each ODS parameter")]
            pub fn get_checked(location: ::melior::ir::Location<'c>, #(#arguments),*) -> Option<Self> {
                #(#keep)*
                // SAFETY: all arguments outlive the call; the result is null or lives as long as the context.
                unsafe { #wrapped::from_option_raw(#get_checked(location.to_raw(), #(#pass),*)) }.map(Self)
            }
        }
    });
    let accessors = definition.params.iter().map(|param| {
        let name = param.ident();
        let doc = docs::attribute(&param.summary, "", &format!("The parameter `{}`", param.name));
        let getter = format_ident!("{}", params::getter(&dialect.name, definition, param));
        let (ty, value) = param.receive(quote!(#getter(#raw)));
        quote! {
            #doc
            pub fn #name(self) -> #ty {
                // SAFETY: `self` holds the class that the function expects; what it returns lives as long as the context.
                unsafe { #value }
            }
        }
    });
    quote! {
        #[doc = #get_doc]
        #[allow(clippy::too_many_arguments, reason = "one argument for each ODS parameter")]
        pub fn get(context: impl crate::ContextLike<'c>, #(#arguments),*) -> Self {
            #(#keep)*
            // SAFETY: all arguments outlive the call; the result lives as long as the context.
            Self(unsafe { #wrapped::from_raw(#get(context.to_raw_context(), #(#pass),*)) })
        }

        #checked

        #(#accessors)*
    }
}

/// The C function about `definition` as a Rust name.
pub fn function(dialect: &Dialect, definition: &Definition, what: &str) -> Ident {
    format_ident!("{}", params::function(&dialect.name, definition, what))
}
