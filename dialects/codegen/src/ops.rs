//! Rust views over a dialect's ops: names, accessors and builders.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::{
    docs, names,
    ods::{Arity, Attribute, AttributeKind, Group, Op, Presence},
};

/// The view struct of an op, over an operation that it borrows.
pub fn rust(op: &Op) -> TokenStream {
    let class = format_ident!("{}", op.class);
    let name = &op.name;
    let doc = docs::attribute(&op.summary, &op.description, &format!("`{name}`"));
    let operands = values(&op.operands, op.operand_segments, &format_ident!("operand"));
    let results = values(&op.results, op.result_segments, &format_ident!("result"));
    let regions = op.regions.iter().enumerate().filter_map(region);
    let attributes = op.attributes.iter().map(attribute);
    let build = build(op);
    quote! {
        #doc
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub struct #class<'c, 'a>(::melior::ir::operation::OperationRef<'c, 'a>);

        impl<'c, 'a> #class<'c, 'a> {
            /// The op's full name.
            pub const NAME: &'static str = #name;

            /// A view of `op`, if it is this op.
            pub fn from_op(op: ::melior::ir::operation::OperationRef<'c, 'a>) -> Option<Self> {
                crate::view::is_named(op, Self::NAME).then_some(Self(op))
            }

            /// The operation viewed.
            pub fn op(self) -> ::melior::ir::operation::OperationRef<'c, 'a> {
                self.0
            }

            #operands
            #results
            #(#regions)*
            #(#attributes)*
            #build
        }

        impl ::std::fmt::Display for #class<'_, '_> {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl ::std::fmt::Debug for #class<'_, '_> {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, formatter)
            }
        }
    }
}

/// The accessors of operands or of results; `one` is `operand` or `result`.
fn values(groups: &[Group], segmented: bool, one: &Ident) -> TokenStream {
    let arities: Vec<TokenStream> = groups
        .iter()
        .map(|group| match group.arity {
            Arity::Single => quote!(crate::view::Arity::Single),
            Arity::Optional => quote!(crate::view::Arity::Optional),
            Arity::Variadic => quote!(crate::view::Arity::Variadic),
        })
        .collect();
    let group_of = format_ident!("{one}_group");
    let not_found = format_ident!("{}NotFound", names::pascal(&one.to_string()));
    let into = (one == "result").then(|| quote!(.map(Into::into)));
    let accessors = groups.iter().enumerate().filter_map(|(index, group)| {
        if group.name.is_empty() && groups.len() != 1 {
            return None;
        }
        let name = if group.name.is_empty() {
            one.clone()
        } else {
            accessor(&group.name)
        };
        let label = if group.name.is_empty() {
            one.to_string()
        } else {
            group.name.clone()
        };
        let what = format!("The {one} `{label}`");
        let fixed = !segmented && groups[..=index].iter().all(|group| group.arity == Arity::Single);
        let find = quote!(crate::view::#group_of(self.0, &[#(#arities),*], #index, #segmented));
        Some(match group.arity {
            Arity::Single if fixed => {
                let doc = docs::attribute(&format!("{what}: {}", group.summary), "", "");
                quote! {
                    #doc
                    pub fn #name(self) -> Result<::melior::ir::Value<'c, 'a>, ::melior::Error> {
                        ::melior::ir::operation::OperationLike::#one(&self.0, #index) #into
                    }
                }
            }
            Arity::Single => {
                let doc = docs::attribute(&format!("{what}: {}", group.summary), "", "");
                quote! {
                    #doc
                    pub fn #name(self) -> Result<::melior::ir::Value<'c, 'a>, ::melior::Error> {
                        #find.first().copied().ok_or(::melior::Error::#not_found(#label))
                    }
                }
            }
            Arity::Optional => {
                let doc = docs::attribute(&format!("{what}, if given: {}", group.summary), "", "");
                quote! {
                    #doc
                    pub fn #name(self) -> Option<::melior::ir::Value<'c, 'a>> {
                        #find.first().copied()
                    }
                }
            }
            Arity::Variadic => {
                let doc = docs::attribute(&format!("The {one}s `{label}`: {}", group.summary), "", "");
                quote! {
                    #doc
                    pub fn #name(self) -> Vec<::melior::ir::Value<'c, 'a>> {
                        #find
                    }
                }
            }
        })
    });
    quote!(#(#accessors)*)
}

/// The accessor of a region, if it has a name.
fn region((index, group): (usize, &Group)) -> Option<TokenStream> {
    if group.name.is_empty() {
        return None;
    }
    let name = accessor(&group.name);
    let summary = &group.summary;
    Some(if group.arity == Arity::Variadic {
        let skip = (index > 0).then(|| quote!(.skip(#index)));
        let doc = docs::attribute(&format!("The regions `{}`: {summary}", group.name), "", "");
        quote! {
            #doc
            pub fn #name(self) -> Vec<::melior::ir::RegionRef<'c, 'a>> {
                ::melior::ir::operation::OperationLike::regions(&self.0)#skip.collect()
            }
        }
    } else {
        let doc = docs::attribute(&format!("The region `{}`: {summary}", group.name), "", "");
        quote! {
            #doc
            pub fn #name(self) -> Result<::melior::ir::RegionRef<'c, 'a>, ::melior::Error> {
                ::melior::ir::operation::OperationLike::region(&self.0, #index)
            }
        }
    })
}

/// The accessor of an attribute.
fn attribute(attribute: &Attribute) -> TokenStream {
    let name = accessor(&attribute.name);
    let key = &attribute.name;
    let get = quote!(::melior::ir::operation::OperationLike::attribute(&self.0, #key));
    let doc = |text: String| docs::attribute(&text, "", "");
    let summary = format!("The attribute `{key}`: {}", attribute.summary);
    if attribute.kind == AttributeKind::Unit {
        let doc = doc(format!("Whether the attribute `{key}` is set"));
        return quote! {
            #doc
            pub fn #name(self) -> bool {
                ::melior::ir::operation::OperationLike::has_attribute(&self.0, #key)
            }
        };
    }
    let (ty, read) = (attribute.kind.returned(), attribute.kind.read());
    match &attribute.presence {
        Presence::Optional => {
            let doc = doc(format!("{summary}; `None` when not given"));
            quote! {
                #doc
                pub fn #name(self) -> Option<#ty> {
                    let attribute = #get.ok()?;
                    #read.ok()
                }
            }
        }
        Presence::Required | Presence::Default(_) => {
            let doc = match &attribute.presence {
                Presence::Default(value) => doc(format!("{summary}; `{value}` when not given")),
                _ => doc(summary),
            };
            quote! {
                #doc
                pub fn #name(self) -> Result<#ty, ::melior::Error> {
                    let attribute = #get?;
                    #read
                }
            }
        }
    }
}

impl AttributeKind {
    /// The type an accessor returns.
    fn returned(&self) -> TokenStream {
        match self {
            AttributeKind::Integer(_) | AttributeKind::Index => quote!(i64),
            AttributeKind::Float(_) => quote!(f64),
            AttributeKind::Bool | AttributeKind::Unit => quote!(bool),
            AttributeKind::Str | AttributeKind::Symbol => quote!(&'c str),
            AttributeKind::DenseI64 => quote!(Vec<i64>),
            AttributeKind::DenseI32 => quote!(Vec<i32>),
            AttributeKind::Array => quote!(Vec<::melior::ir::Attribute<'c>>),
            AttributeKind::Type => quote!(::melior::ir::Type<'c>),
            AttributeKind::AffineMap => quote!(::melior::ir::AffineMap<'c>),
            AttributeKind::IntegerEnum(class) | AttributeKind::OwnEnum { r#enum: class, .. } => {
                let class = format_ident!("{class}");
                quote!(#class)
            }
            AttributeKind::Own(class) => {
                let class = format_ident!("{class}");
                quote!(#class<'c>)
            }
            AttributeKind::Any => quote!(::melior::ir::Attribute<'c>),
        }
    }

    /// The type a builder takes.
    fn taken(&self) -> TokenStream {
        match self {
            AttributeKind::Str | AttributeKind::Symbol => quote!(&str),
            AttributeKind::DenseI64 => quote!(&[i64]),
            AttributeKind::DenseI32 => quote!(&[i32]),
            AttributeKind::Array => quote!(&[::melior::ir::Attribute<'c>]),
            _ => self.returned(),
        }
    }

    /// Reads `attribute` as a `Result` of [`Self::returned`].
    fn read(&self) -> TokenStream {
        match self {
            AttributeKind::Integer(_) | AttributeKind::Index => quote!(crate::view::integer(attribute)),
            AttributeKind::Float(_) => quote!(crate::view::float(attribute)),
            AttributeKind::Bool | AttributeKind::Unit => quote!(crate::view::boolean(attribute)),
            AttributeKind::Str => quote!(crate::view::string(attribute)),
            AttributeKind::Symbol => quote!(crate::view::symbol(attribute)),
            AttributeKind::DenseI64 => quote!(crate::view::dense_i64(attribute)),
            AttributeKind::DenseI32 => quote!(crate::view::dense_i32(attribute)),
            AttributeKind::Array => quote!(crate::view::array(attribute)),
            AttributeKind::Type => quote!(crate::view::type_of(attribute)),
            AttributeKind::AffineMap => quote!(crate::view::affine_map(attribute)),
            AttributeKind::IntegerEnum(class) => {
                let enumeration = format_ident!("{class}");
                quote! {
                    crate::view::integer(attribute).and_then(|value| {
                        u32::try_from(value)
                            .ok()
                            .and_then(#enumeration::from_u32)
                            .ok_or_else(|| ::melior::Error::AttributeExpected(#class, attribute.to_string()))
                    })
                }
            }
            AttributeKind::OwnEnum { attribute, .. } => {
                let class = format_ident!("{attribute}");
                quote!(#class::try_from(attribute).and_then(#class::value))
            }
            AttributeKind::Own(class) => {
                let class = format_ident!("{class}");
                quote!(#class::try_from(attribute))
            }
            AttributeKind::Any => quote!(Ok::<_, ::melior::Error>(attribute)),
        }
    }

    /// The attribute that holds the builder's argument `value`.
    fn make(&self, value: &Ident) -> TokenStream {
        match self {
            AttributeKind::Integer(bits) => quote!(crate::view::integer_attribute(context, #bits, #value)),
            AttributeKind::IntegerEnum(_) => {
                quote!(crate::view::integer_attribute(context, 32, i64::from(#value as u32)))
            }
            AttributeKind::Index => quote!(crate::view::index_attribute(context, #value)),
            AttributeKind::Float(bits) => quote!(crate::view::float_attribute(context, #bits, #value)),
            AttributeKind::Bool => {
                quote!(::melior::ir::attribute::BoolAttribute::new(context, #value).into())
            }
            AttributeKind::Unit => quote!(::melior::ir::Attribute::unit(context)),
            AttributeKind::Str => {
                quote!(::melior::ir::attribute::StringAttribute::new(context, #value).into())
            }
            AttributeKind::Symbol => {
                quote!(::melior::ir::attribute::FlatSymbolRefAttribute::new(context, #value).into())
            }
            AttributeKind::DenseI64 => {
                quote!(::melior::ir::attribute::DenseI64ArrayAttribute::new(context, #value).into())
            }
            AttributeKind::DenseI32 => {
                quote!(::melior::ir::attribute::DenseI32ArrayAttribute::new(context, #value).into())
            }
            AttributeKind::Array => {
                quote!(::melior::ir::attribute::ArrayAttribute::new(context, #value).into())
            }
            AttributeKind::Type => quote!(::melior::ir::attribute::TypeAttribute::new(#value).into()),
            AttributeKind::AffineMap => quote!(crate::view::affine_map_attribute(#value)),
            AttributeKind::OwnEnum { attribute, .. } => {
                let class = format_ident!("{attribute}");
                quote!(#class::get(context, #value).into())
            }
            AttributeKind::Own(_) => quote!(#value.into()),
            AttributeKind::Any => quote!(#value),
        }
    }
}

/// The builder: operands, attributes, result types that are not inferred, regions, each in ODS order.
fn build(op: &Op) -> TokenStream {
    let mut arguments = Vec::new();
    let mut statements = Vec::new();

    let operands = collect(
        &op.operands,
        "operand",
        &quote!(::melior::ir::Value<'c, 'a>),
        &mut arguments,
    );
    statements.push(segments(&op.operands, op.operand_segments, "operand"));
    if !op.operands.is_empty() {
        statements.push(quote!(builder = builder.add_operands(&[#(#operands),*].concat());));
    }
    statements.extend(
        op.attributes
            .iter()
            .map(|attribute| set(attribute, &mut arguments)),
    );
    if op.infers_types {
        statements.push(quote!(builder = builder.enable_result_type_inference();));
    } else if !op.results.is_empty() {
        let results = collect(
            &op.results,
            "result",
            &quote!(::melior::ir::Type<'c>),
            &mut arguments,
        );
        statements.push(segments(&op.results, op.result_segments, "result"));
        statements.push(quote!(builder = builder.add_results(&[#(#results),*].concat());));
    }
    for (index, group) in op.regions.iter().enumerate() {
        let name = argument(group, "region", index);
        if group.arity == Arity::Variadic {
            arguments.push(quote!(#name: Vec<::melior::ir::Region<'c>>));
            statements.push(quote!(builder = builder.add_regions_vec(#name);));
        } else {
            arguments.push(quote!(#name: ::melior::ir::Region<'c>));
            statements.push(quote!(builder = builder.add_regions([#name]);));
        }
    }
    let uses_context =
        op.operand_segments || (op.result_segments && !op.infers_types) || !op.attributes.is_empty();
    let context = uses_context.then(|| {
        quote! {
            let context = location.context();
            // SAFETY: the reference points to the variable above, and is used in this function alone.
            let context = unsafe { context.to_ref() };
        }
    });
    let summary = format!("Builds `{}`.", op.name);
    quote! {
        #[doc = #summary]
        ///
        /// Arguments are operands, attributes, result types (unless inferred) and regions, each in ODS order.
        #[allow(clippy::too_many_arguments, reason = "one argument for each ODS argument")]
        pub fn build(
            location: ::melior::ir::Location<'c>,
            #(#arguments),*
        ) -> Result<::melior::ir::Operation<'c>, ::melior::Error> {
            #context
            #[allow(unused_mut, reason = "an op may have nothing to add")]
            let mut builder = ::melior::ir::operation::OperationBuilder::new(Self::NAME, location);
            #(#statements)*
            builder.build()
        }
    }
}

/// Adds an argument for each group; returns a slice expression for each.
fn collect(
    groups: &[Group],
    what: &str,
    ty: &TokenStream,
    arguments: &mut Vec<TokenStream>,
) -> Vec<TokenStream> {
    let mut slices = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let name = argument(group, what, index);
        let (argument, slice) = match group.arity {
            Arity::Single => (quote!(#ty), quote!(&[#name][..])),
            Arity::Optional => (quote!(Option<#ty>), quote!(#name.as_slice())),
            Arity::Variadic => (quote!(&[#ty]), quote!(#name)),
        };
        arguments.push(quote!(#name: #argument));
        slices.push(slice);
    }
    slices
}

/// Sets `operandSegmentSizes` or `resultSegmentSizes` where the op has it.
fn segments(groups: &[Group], segmented: bool, what: &str) -> TokenStream {
    if !segmented {
        return quote!();
    }
    let sizes = groups.iter().enumerate().map(|(index, group)| {
        let name = argument(group, what, index);
        match group.arity {
            Arity::Single => quote!(1),
            Arity::Optional => quote!(#name.as_slice().len()),
            Arity::Variadic => quote!(#name.len()),
        }
    });
    let key = format!("{what}SegmentSizes");
    quote!(builder = crate::view::set_segments(builder, context, #key, &[#(#sizes),*]);)
}

/// Adds the argument of an attribute; returns the statement that sets it.
fn set(attribute: &Attribute, arguments: &mut Vec<TokenStream>) -> TokenStream {
    let name = names::value(&attribute.name);
    let key = &attribute.name;
    let ty = attribute.kind.taken();
    let value = attribute.kind.make(&name);
    let add = quote! {
        builder = builder.add_attributes(&[(::melior::ir::Identifier::new(context, #key), #value)]);
    };
    if attribute.kind == AttributeKind::Unit {
        arguments.push(quote!(#name: bool));
        return quote!(if #name { #add });
    }
    if attribute.presence == Presence::Required {
        arguments.push(quote!(#name: #ty));
        return add;
    }
    arguments.push(quote!(#name: Option<#ty>));
    quote!(if let Some(#name) = #name { #add })
}

/// The builder's argument for a group.
fn argument(group: &Group, what: &str, index: usize) -> Ident {
    match group.name.as_str() {
        "" => format_ident!("{what}_{index}"),
        "location" | "context" | "builder" => format_ident!("{}_{what}", group.name),
        name => names::value(name),
    }
}

/// The accessor's name; `op` and `build` are the view's own.
fn accessor(name: &str) -> Ident {
    match name {
        "op" | "build" | "from_op" => format_ident!("{name}_value"),
        name => names::value(name),
    }
}
