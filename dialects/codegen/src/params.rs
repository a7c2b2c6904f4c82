//! How attribute and type parameters cross the C boundary: their spelling in Rust, in `extern "C"` Rust, and in C++.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::{
    names,
    ods::{Definition, Element, Param, ParamKind},
};

/// The C function name for `what` about `definition`: `normaNormScheduleAttrGetRows`.
pub fn function(dialect: &str, definition: &Definition, what: &str) -> String {
    format!("norma{}{}{what}", names::pascal(dialect), definition.class)
}

/// The C function name of a parameter's getter.
pub fn getter(dialect: &str, definition: &Definition, param: &Param) -> String {
    function(dialect, definition, &format!("Get{}", names::pascal(&param.name)))
}

impl Element {
    /// The Rust type users see; strings and references live as long as the context.
    fn rust(&self) -> TokenStream {
        match self {
            Element::I64 => quote!(i64),
            Element::I32 => quote!(i32),
            Element::U32 => quote!(u32),
            Element::Bool => quote!(bool),
            Element::Str => quote!(&str),
            Element::AffineMap => quote!(::melior::ir::AffineMap<'c>),
            Element::Attribute => quote!(::melior::ir::Attribute<'c>),
            Element::Type => quote!(::melior::ir::Type<'c>),
            Element::Enum(class) => class_ident(class),
            Element::OwnAttribute(class) | Element::OwnType(class) => {
                let class = class_ident(class);
                quote!(#class<'c>)
            }
        }
    }

    /// The type in `extern "C"` Rust.
    pub fn raw(&self) -> TokenStream {
        match self {
            Element::I64 => quote!(i64),
            Element::I32 => quote!(i32),
            Element::U32 | Element::Enum(_) => quote!(u32),
            Element::Bool => quote!(bool),
            Element::Str => quote!(::mlir_sys::MlirStringRef),
            Element::AffineMap => quote!(::mlir_sys::MlirAffineMap),
            Element::Attribute | Element::OwnAttribute(_) => quote!(::mlir_sys::MlirAttribute),
            Element::Type | Element::OwnType(_) => quote!(::mlir_sys::MlirType),
        }
    }

    /// The type in `extern "C"` C++.
    pub fn c(&self) -> &'static str {
        match self {
            Element::I64 => "int64_t",
            Element::I32 => "int32_t",
            Element::U32 | Element::Enum(_) => "uint32_t",
            Element::Bool => "bool",
            Element::Str => "MlirStringRef",
            Element::AffineMap => "MlirAffineMap",
            Element::Attribute | Element::OwnAttribute(_) => "MlirAttribute",
            Element::Type | Element::OwnType(_) => "MlirType",
        }
    }

    fn lower(&self, value: TokenStream) -> TokenStream {
        match self {
            Element::I64 | Element::I32 | Element::U32 | Element::Bool => value,
            Element::Enum(_) => quote!(#value as u32),
            Element::Str => quote!(::melior::StringRef::new(#value).to_raw()),
            Element::AffineMap => quote!(#value.to_raw()),
            Element::Attribute | Element::OwnAttribute(_) => {
                quote!(::melior::ir::AttributeLike::to_raw(&#value))
            }
            Element::Type | Element::OwnType(_) => quote!(::melior::ir::TypeLike::to_raw(&#value)),
        }
    }

    /// Rust for a raw `value`, inside an `unsafe` block.
    fn lift(&self, value: TokenStream) -> TokenStream {
        match self {
            Element::I64 | Element::I32 | Element::U32 | Element::Bool => value,
            Element::Enum(class) => {
                let class = class_ident(class);
                quote!(crate::view::enumeration(#class::from_u32, #value))
            }
            Element::Str => quote!(crate::view::str_from_raw(#value)),
            Element::AffineMap => quote!(::melior::ir::AffineMap::from_raw(#value)),
            Element::Attribute => quote!(::melior::ir::Attribute::from_raw(#value)),
            Element::Type => quote!(::melior::ir::Type::from_raw(#value)),
            Element::OwnAttribute(class) => {
                let class = class_ident(class);
                quote!(#class(::melior::ir::Attribute::from_raw(#value)))
            }
            Element::OwnType(class) => {
                let class = class_ident(class);
                quote!(#class(::melior::ir::Type::from_raw(#value)))
            }
        }
    }

    /// Whether a C++ array of these has the same layout as a Rust slice of the user's type.
    fn is_plain(&self) -> bool {
        matches!(self, Element::I64 | Element::I32 | Element::U32 | Element::Bool)
    }

    fn is_type(&self) -> bool {
        matches!(self, Element::Type | Element::OwnType(_))
    }
}

fn class_ident(class: &str) -> TokenStream {
    let ident = format_ident!("{class}");
    quote!(#ident)
}

impl Param {
    /// The name of the Rust accessor and argument.
    pub fn ident(&self) -> Ident {
        names::value(&self.name)
    }

    /// The Rust type of the constructor's argument.
    pub fn argument(&self) -> TokenStream {
        match &self.kind {
            ParamKind::Scalar(element) => element.rust(),
            ParamKind::Slice(element) => {
                let element = element.rust();
                quote!(&[#element])
            }
            ParamKind::Nullable(element) => {
                let element = element.rust();
                quote!(Option<#element>)
            }
        }
    }

    /// The argument's type in `extern "C"` Rust; also what the getter returns.
    pub fn raw(&self) -> TokenStream {
        match &self.kind {
            ParamKind::Scalar(element) | ParamKind::Nullable(element) => element.raw(),
            ParamKind::Slice(element) => {
                let raw = element.raw();
                quote!(crate::slice::Slice<#raw>)
            }
        }
    }

    /// The argument's type in `extern "C"` C++; also what the getter returns.
    pub fn c(&self) -> &'static str {
        match &self.kind {
            ParamKind::Scalar(element) | ParamKind::Nullable(element) => element.c(),
            ParamKind::Slice(_) => "NormaSlice",
        }
    }

    /// The statement that keeps alive what `pass` points to, and the raw argument.
    pub fn pass(&self) -> (TokenStream, TokenStream) {
        let name = self.ident();
        match &self.kind {
            ParamKind::Scalar(element) => (quote!(), element.lower(quote!(#name))),
            ParamKind::Slice(element) if element.is_plain() => {
                (quote!(), quote!(crate::slice::Slice::new(#name)))
            }
            ParamKind::Slice(element) => {
                let one = element.lower(quote!((*one)));
                (
                    quote!(let #name: Vec<_> = #name.iter().map(|one| #one).collect();),
                    quote!(crate::slice::Slice::new(&#name)),
                )
            }
            ParamKind::Nullable(element) => {
                let one = element.lower(quote!(one));
                let null = if element.is_type() {
                    quote!(::mlir_sys::MlirType {
                        ptr: ::std::ptr::null_mut()
                    })
                } else {
                    quote!(::mlir_sys::MlirAttribute {
                        ptr: ::std::ptr::null_mut()
                    })
                };
                (quote!(), quote!(#name.map_or(#null, |one| #one)))
            }
        }
    }

    /// The accessor's return type and its value, given the getter's result; the value stands in an `unsafe` block.
    pub fn receive(&self, raw: TokenStream) -> (TokenStream, TokenStream) {
        match &self.kind {
            ParamKind::Scalar(element @ (Element::Str | Element::Enum(_))) => {
                let ty = match element {
                    Element::Str => quote!(&'c str),
                    element => element.rust(),
                };
                (quote!(Result<#ty, ::melior::Error>), element.lift(raw))
            }
            ParamKind::Scalar(element) => (element.rust(), element.lift(raw)),
            ParamKind::Slice(element) if element.is_plain() => {
                let element = element.rust();
                (quote!(&'c [#element]), quote!(#raw.as_slice()))
            }
            ParamKind::Slice(element) => {
                let (ty, one) = (element.rust(), element.lift(quote!(*one)));
                (
                    quote!(Vec<#ty>),
                    quote!(#raw.as_slice().iter().map(|one| #one).collect()),
                )
            }
            ParamKind::Nullable(element) => {
                let (ty, one) = (element.rust(), element.lift(quote!(raw)));
                (
                    quote!(Option<#ty>),
                    quote!({
                        let raw = #raw;
                        if raw.ptr.is_null() { None } else { Some(#one) }
                    }),
                )
            }
        }
    }

    /// The C++ type inside `ArrayRef<...>`.
    fn inner_cpp(&self) -> &str {
        match (self.cpp.find('<'), self.cpp.rfind('>')) {
            (Some(start), Some(end)) => self.cpp[start + 1..end].trim(),
            _ => &self.cpp,
        }
    }

    /// C++ that turns the C argument of this name into what the class's `get` takes.
    pub fn unwrap_cpp(&self) -> String {
        let name = &self.name;
        match &self.kind {
            ParamKind::Scalar(element) | ParamKind::Nullable(element) => match element {
                Element::Enum(_) => format!("static_cast<{}>({name})", self.cpp),
                Element::Str | Element::AffineMap => format!("unwrap({name})"),
                Element::Attribute | Element::Type | Element::OwnAttribute(_) | Element::OwnType(_) => {
                    format!("llvm::cast_or_null<{}>(unwrap({name}))", self.cpp)
                }
                _ => name.clone(),
            },
            ParamKind::Slice(_) => format!("fromSlice<{}>({name})", self.inner_cpp()),
        }
    }

    /// C++ that turns the accessor's result into its C form.
    pub fn wrap_cpp(&self, value: &str) -> String {
        match &self.kind {
            ParamKind::Scalar(element) | ParamKind::Nullable(element) => match element {
                Element::Enum(_) => format!("static_cast<uint32_t>({value})"),
                Element::Str | Element::AffineMap => format!("wrap({value})"),
                Element::Attribute | Element::OwnAttribute(_) => format!("wrap(mlir::Attribute({value}))"),
                Element::Type | Element::OwnType(_) => format!("wrap(mlir::Type({value}))"),
                _ => value.to_owned(),
            },
            ParamKind::Slice(_) => format!("toSlice({value})"),
        }
    }
}
