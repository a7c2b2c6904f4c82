//! The named ops of a dialect as a table: their operands, results and attributes, and the shapes of their tensors.
//!
//! Programs that write ops read the table; the page `docs/named-ops.md` is made of it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;

use crate::{
    Error,
    ods::{Arity, Attribute, AttributeKind, Dialect, Group, Op, Presence, Shape},
    reader,
};

/// A named op.
#[derive(Debug)]
pub struct NamedOp {
    /// Its name behind the dialect's: `rms_norm`.
    pub mnemonic: String,
    /// What it computes, in a line.
    pub summary: String,
    /// Its operands, in order.
    pub operands: Vec<Tensor>,
    /// The attributes that a user may set, in the order of ODS.
    pub choices: Vec<Choice>,
    /// Its results, in order.
    pub results: Vec<Tensor>,
    /// Whether it has `operandSegmentSizes`.
    operand_segments: bool,
    /// Whether it has `resultSegmentSizes`.
    result_segments: bool,
}

/// An operand or a result of a named op.
#[derive(Debug)]
pub struct Tensor {
    /// The name that ODS gives it.
    pub name: String,
    /// Its element types, as ODS words them: `bf16, f16 or f32`.
    pub types: String,
    /// Whether it may be left out.
    pub is_optional: bool,
    is_usual: bool,
    shape: Shape,
}

/// An attribute of a named op.
#[derive(Debug)]
pub struct Choice {
    /// The name that ODS gives it.
    pub name: String,
    /// The default, as a user writes it; empty for a required attribute, and for an empty list.
    pub default: String,
    /// The keywords of an enum; empty for other attributes.
    pub keywords: Vec<String>,
    kind: ChoiceKind,
    is_required: bool,
}

#[derive(Debug)]
enum ChoiceKind {
    Number,
    Integer,
    Integers,
    Flag,
    Keyword,
}

/// Reads the named ops of a dialect from the records of `llvm-tblgen --dump-json`, in the order of their names.
///
/// # Errors
/// The records are not ODS, or contain something that this crate has no Rust form for.
pub fn read(dialect: &str, records: &Value) -> Result<Vec<NamedOp>, Error> {
    of(&reader::read(dialect, records, &Default::default())?)
}

/// The named ops of a dialect.
pub(crate) fn of(dialect: &Dialect) -> Result<Vec<NamedOp>, Error> {
    let mut ops = Vec::new();
    for op in dialect.ops.iter().filter(|op| op.is_named) {
        ops.push(named_op(dialect, op)?);
    }
    ops.sort_by(|a, b| a.mnemonic.cmp(&b.mnemonic));
    Ok(ops)
}

fn named_op(dialect: &Dialect, op: &Op) -> Result<NamedOp, Error> {
    let tensors = |groups: &[Group]| groups.iter().map(|group| tensor(op, group)).collect();
    let choices = op.attributes.iter();
    Ok(NamedOp {
        mnemonic: op
            .name
            .split_once('.')
            .map_or("", |(_, mnemonic)| mnemonic)
            .to_owned(),
        summary: op.summary.clone(),
        operands: tensors(&op.operands),
        choices: choices
            .map(|attribute| choice(dialect, op, attribute))
            .collect::<Result<_, _>>()?,
        results: tensors(&op.results),
        operand_segments: op.operand_segments,
        result_segments: op.result_segments,
    })
}

fn tensor(op: &Op, group: &Group) -> Tensor {
    let name = group.name.clone();
    let shape = op.shapes.iter().find(|(of, _)| *of == name);
    Tensor {
        types: types(&group.summary).to_owned(),
        is_optional: group.arity == Arity::Optional,
        is_usual: op.usual.contains(&name),
        shape: shape.map_or(Shape::Same, |(_, shape)| shape.clone()),
        name,
    }
}

/// Extracts `f16 or f32` from the summary `ranked tensor of f16 or f32`.
fn types(summary: &str) -> &str {
    summary.strip_prefix("ranked tensor of ").unwrap_or(summary)
}

/// Returns the words that name an element type.
fn elements(types: &str) -> impl Iterator<Item = &str> {
    let words = types.split([' ', ',']);
    words.filter(|word| {
        let width = word.trim_start_matches("bf").trim_start_matches(['f', 'i']);
        width.len() < word.len() && width.starts_with(|digit: char| digit.is_ascii_digit())
    })
}

fn choice(dialect: &Dialect, op: &Op, attribute: &Attribute) -> Result<Choice, Error> {
    let (kind, cases) = match &attribute.kind {
        AttributeKind::Float(32) => (ChoiceKind::Number, None),
        AttributeKind::Integer(64) => (ChoiceKind::Integer, None),
        AttributeKind::DenseI64 => (ChoiceKind::Integers, None),
        AttributeKind::Unit => (ChoiceKind::Flag, None),
        AttributeKind::IntegerEnum(class) => {
            let known = dialect.enums.iter().find(|known| known.class == *class);
            (ChoiceKind::Keyword, known.map(|known| &known.cases))
        }
        _ => {
            return Err(Error::Unsupported {
                record: op.class.clone(),
                what: format!("the attribute {} of a named op", attribute.name),
            });
        }
    };
    let cases = cases.map_or([].as_slice(), Vec::as_slice);
    // `::llvm::APFloat(0.5f)`, `{-1}`, `::mlir::norm::LossReduction::None` and plain numbers.
    let default = match &attribute.presence {
        Presence::Default(text) => text.as_str(),
        Presence::Optional if matches!(kind, ChoiceKind::Flag) => "false",
        Presence::Optional | Presence::Required => "",
    };
    let default = default
        .trim_start_matches("::llvm::APFloat(")
        .trim_end_matches("f)")
        .trim_start_matches('{')
        .trim_end_matches('}');
    let symbol = default.rsplit("::").next().unwrap_or(default);
    let case = cases.iter().find(|case| case.symbol == symbol);
    Ok(Choice {
        name: attribute.name.clone(),
        default: case.map_or(default, |case| &case.keyword).to_owned(),
        keywords: cases.iter().map(|case| case.keyword.clone()).collect(),
        kind,
        is_required: attribute.presence == Presence::Required,
    })
}

/// The table as a Rust constant.
pub(crate) fn rust(ops: &[NamedOp]) -> TokenStream {
    let rows = ops.iter().map(|op| {
        let (mnemonic, summary) = (&op.mnemonic, &op.summary);
        let (operand_segments, result_segments) = (op.operand_segments, op.result_segments);
        let operands = op.operands.iter().map(tensor_row);
        let results = op.results.iter().map(tensor_row);
        let choices = op.choices.iter().map(choice_row);
        quote! {
            crate::named_op::NamedOp {
                mnemonic: #mnemonic,
                summary: #summary,
                operands: &[#(#operands),*],
                choices: &[#(#choices),*],
                results: &[#(#results),*],
                operand_segments: #operand_segments,
                result_segments: #result_segments,
            }
        }
    });
    quote! {
        /// The dialect's named ops, in the order of their names.
        pub const NAMED_OPS: &[crate::named_op::NamedOp] = &[#(#rows),*];
    }
}

fn tensor_row(tensor: &Tensor) -> TokenStream {
    let Tensor {
        name,
        types,
        is_optional,
        is_usual,
        shape,
    } = tensor;
    let elements = elements(types);
    let shape = match shape {
        Shape::Same => quote!(Same),
        Shape::Rule { name, attributes } => {
            let rule = format_ident!("{name}");
            quote!(#rule(&[#(#attributes),*]))
        }
    };
    quote! {
        crate::named_op::Tensor {
            name: #name,
            elements: &[#(#elements),*],
            is_optional: #is_optional,
            is_usual: #is_usual,
            shape: crate::named_op::Shape::#shape,
        }
    }
}

fn choice_row(choice: &Choice) -> TokenStream {
    let Choice {
        name,
        default,
        keywords,
        kind,
        is_required,
    } = choice;
    let kind = match kind {
        ChoiceKind::Number => quote!(Number),
        ChoiceKind::Integer => quote!(Integer),
        ChoiceKind::Integers => quote!(Integers),
        ChoiceKind::Flag => quote!(Flag),
        ChoiceKind::Keyword => quote!(Keyword(&[#(#keywords),*])),
    };
    quote! {
        crate::named_op::Choice {
            name: #name,
            default: #default,
            is_required: #is_required,
            kind: crate::named_op::ChoiceKind::#kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_types_are_the_words_that_name_one() {
        let of = |types| elements(types).collect::<Vec<_>>();
        assert_eq!(of("bf16, f16 or f32"), ["bf16", "f16", "f32"]);
        assert_eq!(of("f32 or, as E8M0, i8"), ["f32", "i8"]);
        assert_eq!(of("f8E4M3FN, f8E5M2 or i8"), ["f8E4M3FN", "f8E5M2", "i8"]);
    }
}
