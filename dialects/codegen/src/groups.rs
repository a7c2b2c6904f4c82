//! A table of the ODS names of each op's operands, results and enum cases, for code that treats all ops of a dialect alike.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::ods::{Arity, AttributeKind, Dialect, Group, Op};

/// The table, and the functions that look up an op in it.
pub fn rust(dialect: &Dialect) -> TokenStream {
    let rows = dialect.ops.iter().map(row);
    let accesses_memory = |op: &Op| {
        op.operands
            .iter()
            .any(|operand| operand.is_read || operand.is_written)
    };
    let effects = dialect.ops.iter().any(accesses_memory).then(|| {
        quote! {
            /// The operands through which an op of this dialect reads or writes global memory. Ops that it nests are not asked.
            pub fn global_effects<'c, 'a>(
                op: ::melior::ir::operation::OperationRef<'c, 'a>,
            ) -> Vec<crate::view::GlobalEffect<'c, 'a>> {
                crate::view::global_effects(GROUPS, op)
            }
        }
    });
    quote! {
        const GROUPS: &[crate::view::Groups] = &[#(#rows),*];

        /// The operands of an op of this dialect, by their names in ODS; `None` for another op.
        pub fn operands_by_name<'c, 'a>(
            op: ::melior::ir::operation::OperationRef<'c, 'a>,
        ) -> Option<Vec<(&'static str, Vec<::melior::ir::Value<'c, 'a>>)>> {
            crate::view::operands_by_name(GROUPS, op)
        }

        /// The results of an op of this dialect, by their names in ODS; `None` for another op.
        pub fn results_by_name<'c, 'a>(
            op: ::melior::ir::operation::OperationRef<'c, 'a>,
        ) -> Option<Vec<(&'static str, Vec<::melior::ir::Value<'c, 'a>>)>> {
            crate::view::results_by_name(GROUPS, op)
        }

        /// The keyword of an attribute that ODS declares as an enum of an op of this dialect; `None` for another attribute.
        pub fn enum_keyword(
            op: ::melior::ir::operation::OperationRef,
            attribute: &str,
        ) -> Option<&'static str> {
            crate::view::enum_keyword(GROUPS, op, attribute)
        }

        #effects
    }
}

fn row(op: &Op) -> TokenStream {
    let (name, operand_segments, result_segments) = (&op.name, op.operand_segments, op.result_segments);
    let (operands, results) = (groups(&op.operands), groups(&op.results));
    let enums = op.attributes.iter().filter_map(|attribute| {
        let AttributeKind::IntegerEnum(class) = &attribute.kind else {
            return None;
        };
        let (name, class) = (&attribute.name, format_ident!("{class}"));
        Some(quote!((#name, |value| #class::from_u32(value).map(#class::keyword))))
    });
    let effects = op
        .operands
        .iter()
        .filter(|operand| operand.is_read || operand.is_written);
    let effects = effects.map(|operand| {
        let (name, is_read, is_written) = (&operand.name, operand.is_read, operand.is_written);
        quote!((#name, #is_read, #is_written))
    });
    quote! {
        crate::view::Groups {
            op: #name,
            operands: &[#(#operands),*],
            operand_segments: #operand_segments,
            results: &[#(#results),*],
            result_segments: #result_segments,
            enums: &[#(#enums),*],
            effects: &[#(#effects),*],
        }
    }
}

fn groups(groups: &[Group]) -> impl Iterator<Item = TokenStream> + '_ {
    groups.iter().map(|group| {
        let name = &group.name;
        let arity = match group.arity {
            Arity::Single => quote!(crate::view::Arity::Single),
            Arity::Optional => quote!(crate::view::Arity::Optional),
            Arity::Variadic => quote!(crate::view::Arity::Variadic),
        };
        quote!((#name, #arity))
    })
}
