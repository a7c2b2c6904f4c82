//! Rust enums from ODS enums, with the keywords of the assembly.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::{docs, ods::Enum};

/// The enum and its conversions. Its default is the first case.
pub fn rust(r#enum: &Enum) -> TokenStream {
    let name = format_ident!("{}", r#enum.class);
    let doc = docs::attribute(&r#enum.summary, "", &r#enum.class);
    let variants: Vec<_> = r#enum
        .cases
        .iter()
        .map(|case| format_ident!("{}", case.symbol))
        .collect();
    let values: Vec<_> = r#enum.cases.iter().map(|case| case.value).collect();
    let keywords: Vec<_> = r#enum.cases.iter().map(|case| &case.keyword).collect();
    let declarations = r#enum.cases.iter().enumerate().map(|(index, case)| {
        let doc = docs::attribute(&case.summary, "", &format!("`{}`", case.keyword));
        let (variant, value) = (&variants[index], case.value);
        let default = (index == 0).then(|| quote!(#[default]));
        quote!(#doc #default #variant = #value)
    });
    quote! {
        #doc
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u32)]
        pub enum #name {
            #(#declarations,)*
        }

        impl #name {
            /// Every case, in ODS order.
            pub const ALL: &'static [Self] = &[#(Self::#variants),*];

            /// The case with this value.
            pub fn from_u32(value: u32) -> Option<Self> {
                match value {
                    #(#values => Some(Self::#variants),)*
                    _ => None,
                }
            }

            /// The case with this keyword in assembly.
            pub fn from_keyword(keyword: &str) -> Option<Self> {
                match keyword {
                    #(#keywords => Some(Self::#variants),)*
                    _ => None,
                }
            }

            /// The keyword in assembly.
            pub fn keyword(self) -> &'static str {
                match self {
                    #(Self::#variants => #keywords,)*
                }
            }
        }

        impl ::std::fmt::Display for #name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                formatter.write_str(self.keyword())
            }
        }
    }
}
