//! Rust wrappers of a dialect's attributes.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::{
    definitions, docs,
    ods::{Definition, Dialect},
};

/// The wrapper struct, its constructors and accessors, and the conversions from and to `Attribute`.
pub fn rust(dialect: &Dialect, attr: &Definition) -> TokenStream {
    let name = format_ident!("{}", attr.class);
    let mnemonic = &attr.mnemonic;
    let label = format!("#{}.{}", dialect.name, attr.mnemonic);
    let doc = docs::attribute(&attr.summary, &attr.description, &format!("`{label}`"));
    let is_a = definitions::function(dialect, attr, "IsA");
    let methods = definitions::methods(
        dialect,
        attr,
        &quote!(::melior::ir::Attribute),
        &quote!(::melior::ir::AttributeLike::to_raw(&self.0)),
    );
    quote! {
        #doc
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct #name<'c>(::melior::ir::Attribute<'c>);

        impl<'c> #name<'c> {
            /// The name in assembly, without the dialect.
            pub const MNEMONIC: &'static str = #mnemonic;

            /// `attribute`, if it is of this class.
            pub fn from_attribute(attribute: ::melior::ir::Attribute<'c>) -> Option<Self> {
                // SAFETY: a melior attribute is never null.
                unsafe { #is_a(::melior::ir::AttributeLike::to_raw(&attribute)) }.then_some(Self(attribute))
            }

            #methods
        }

        impl<'c> ::melior::ir::AttributeLike<'c> for #name<'c> {
            fn to_raw(&self) -> ::mlir_sys::MlirAttribute {
                self.0.to_raw()
            }
        }

        impl<'c> From<#name<'c>> for ::melior::ir::Attribute<'c> {
            fn from(attribute: #name<'c>) -> Self {
                attribute.0
            }
        }

        impl<'c> TryFrom<::melior::ir::Attribute<'c>> for #name<'c> {
            type Error = ::melior::Error;

            fn try_from(attribute: ::melior::ir::Attribute<'c>) -> Result<Self, ::melior::Error> {
                Self::from_attribute(attribute)
                    .ok_or_else(|| ::melior::Error::AttributeExpected(#label, attribute.to_string()))
            }
        }

        impl ::std::fmt::Display for #name<'_> {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl ::std::fmt::Debug for #name<'_> {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, formatter)
            }
        }
    }
}
