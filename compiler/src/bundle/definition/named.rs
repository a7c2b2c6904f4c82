//! Reads a named op as data: the ODS names of its operands, results and attributes, but not what it computes.

use std::collections::BTreeMap;

use melior::ir::operation::OperationLike;
use melior::ir::{Attribute as IrAttribute, AttributeLike, OperationRef, Value};
use norma_bundle::definition::{Attribute, NamedOp};
use norma_bundle::program::Number;
use norma_dialects::named_op::{self, Shape, Tensor};
use norma_dialects::norm;

use super::scalar;

/// Reads an op of the `norm` dialect on tensors; `tensor` returns the name of a value's tensor, and for a scalar that of a tensor which
/// holds it alone. An attribute whose place a scalar takes is left out. Returns `None` for an op of another dialect, an op with regions,
/// and an op with an attribute that is not a string, a number or a list of integers.
pub(super) fn read(op: OperationRef, tensor: &mut dyn FnMut(Value) -> Option<String>) -> Option<NamedOp> {
    if op.region_count() > 0 {
        return None;
    }
    let name = norma_dialects::op_name(op).strip_prefix("norm.")?.to_owned();
    let operands = tensors(norm::operands_by_name(op)?, tensor)?;
    let mut attributes = attributes(op)?;
    for operand in operands.keys() {
        for attribute in replaced(&name, operand) {
            attributes.remove(*attribute);
        }
    }
    Some(NamedOp {
        results: tensors(norm::results_by_name(op)?, tensor)?,
        op: name,
        operands,
        attributes,
    })
}

/// The attributes of an op whose place an operand takes.
fn replaced(op: &str, operand: &str) -> &'static [&'static str] {
    let declared = named_op::NamedOp::find(op).map_or(&[][..], |op| op.operands);
    match declared.iter().find(|declared| declared.name == operand) {
        Some(Tensor {
            shape: Shape::InPlaceOf(attributes),
            ..
        }) => attributes,
        _ => &[],
    }
}

/// Reads `linalg.softmax`, which is `norm.softmax` along its dimension.
pub(super) fn linalg_softmax(
    op: OperationRef,
    tensor: &mut dyn FnMut(Value) -> Option<String>,
) -> Option<NamedOp> {
    let axis = norma_dialects::integer(op.attribute("dimension").ok()?).ok()?;
    let axis = Attribute::Number(Number::Integer(axis));
    let number = |value: f64| Attribute::Number(Number::Float(value));
    Some(NamedOp {
        op: "softmax".to_owned(),
        operands: [("x".to_owned(), tensor(op.operand(0).ok()?)?)].into(),
        results: [("y".to_owned(), tensor(op.result(0).ok()?.into())?)].into(),
        attributes: [
            ("axes".to_owned(), Attribute::List(vec![axis])),
            ("scale".to_owned(), number(1.0)),
            ("softcap".to_owned(), number(0.0)),
            ("causal".to_owned(), Attribute::List(Vec::new())),
        ]
        .into(),
    })
}

fn tensors(
    groups: Vec<(&'static str, Vec<Value>)>,
    tensor: &mut dyn FnMut(Value) -> Option<String>,
) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (name, values) in groups {
        match values.as_slice() {
            [] => {}
            [value] => {
                found.insert(name.to_owned(), tensor(*value)?);
            }
            _ => return None,
        }
    }
    Some(found)
}

/// The attributes that ODS declares, without the segment sizes of variadic operands and results.
fn attributes(op: OperationRef) -> Option<BTreeMap<String, Attribute>> {
    let declared = op.attributes().filter_map(|(name, attribute)| {
        let name = name.as_string_ref().as_str().ok()?.to_owned();
        (!name.contains('.') && !name.ends_with("SegmentSizes")).then_some((name, attribute))
    });
    declared
        .map(|(name, attribute)| {
            let value = match norm::enum_keyword(op, &name) {
                Some(keyword) => Attribute::Text(keyword.to_owned()),
                None => value(attribute)?,
            };
            Some((name, value))
        })
        .collect()
}

fn value(attribute: IrAttribute) -> Option<Attribute> {
    if attribute.is_string() {
        return Some(Attribute::Text(
            norma_dialects::string(attribute).ok()?.to_owned(),
        ));
    }
    if attribute.is_dense_i64_array() {
        let numbers = norma_dialects::dense_i64(attribute).ok()?.into_iter();
        let numbers = numbers.map(|number| Attribute::Number(Number::Integer(number)));
        return Some(Attribute::List(numbers.collect()));
    }
    match attribute.is_unit() {
        true => Some(Attribute::Number(Number::Integer(1))),
        false => scalar::number(attribute).map(Attribute::Number),
    }
}
