//! Rust wrappers of a dialect's types.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::{
    definitions, docs,
    ods::{Definition, Dialect},
};

/// The wrapper struct, its constructors and accessors, and the conversions from and to `Type`.
pub fn rust(dialect: &Dialect, ty: &Definition) -> TokenStream {
    let name = format_ident!("{}", ty.class);
    let mnemonic = &ty.mnemonic;
    let label = format!("!{}.{}", dialect.name, ty.mnemonic);
    let doc = docs::attribute(&ty.summary, &ty.description, &format!("`{label}`"));
    let is_a = definitions::function(dialect, ty, "IsA");
    let methods = definitions::methods(
        dialect,
        ty,
        &quote!(::melior::ir::Type),
        &quote!(::melior::ir::TypeLike::to_raw(&self.0)),
    );
    quote! {
        #doc
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct #name<'c>(::melior::ir::Type<'c>);

        impl<'c> #name<'c> {
            /// The name in assembly, without the dialect.
            pub const MNEMONIC: &'static str = #mnemonic;

            /// `ty`, if it is of this class.
            pub fn from_type(ty: ::melior::ir::Type<'c>) -> Option<Self> {
                // SAFETY: a melior type is never null.
                unsafe { #is_a(::melior::ir::TypeLike::to_raw(&ty)) }.then_some(Self(ty))
            }

            #methods
        }

        impl<'c> ::melior::ir::TypeLike<'c> for #name<'c> {
            fn to_raw(&self) -> ::mlir_sys::MlirType {
                self.0.to_raw()
            }
        }

        impl<'c> From<#name<'c>> for ::melior::ir::Type<'c> {
            fn from(ty: #name<'c>) -> Self {
                ty.0
            }
        }

        impl<'c> TryFrom<::melior::ir::Type<'c>> for #name<'c> {
            type Error = ::melior::Error;

            fn try_from(ty: ::melior::ir::Type<'c>) -> Result<Self, ::melior::Error> {
                Self::from_type(ty)
                    .ok_or_else(|| ::melior::Error::TypeExpected(#label, ty.to_string()))
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
