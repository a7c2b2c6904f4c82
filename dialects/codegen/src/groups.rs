//! A table of what ODS calls the operands and results of each op, for code that treats all ops of a dialect alike.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ods::{Arity, Dialect, Group, Op};

/// The table and what looks up an op in it.
pub fn rust(dialect: &Dialect) -> TokenStream {
    let rows = dialect.ops.iter().map(row);
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
    }
}

fn row(op: &Op) -> TokenStream {
    let (name, operand_segments, result_segments) = (&op.name, op.operand_segments, op.result_segments);
    let (operands, results) = (groups(&op.operands), groups(&op.results));
    quote! {
        crate::view::Groups {
            op: #name,
            operands: &[#(#operands),*],
            operand_segments: #operand_segments,
            results: &[#(#results),*],
            result_segments: #result_segments,
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
