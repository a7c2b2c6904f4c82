//! Writes a preset as MLIR text, in the generic form that all ops share.

use std::fmt::Write;

use norma_dialects::attributes::tensor as attribute;
use norma_dialects::named_op::{Choice, ChoiceKind, Shape, Tensor};

use super::shapes::integers;
use super::{Extent, Preset, Wanted, parse_number};
use crate::error::{Error, Result};

/// Writes the function as a module.
pub(super) fn source(preset: &Preset) -> Result<String> {
    check_names(preset)?;
    let operands = written(preset, preset.op.operands)?;
    let results = written(preset, preset.op.results)?;
    check_promises(preset, operands.iter().chain(&results))?;
    let list = |values: &[Written], each: fn(&Written) -> String| {
        values.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    let value = |written: &Written| format!("%{}", written.name);
    let ty = |written: &Written| written.ty.clone();
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "func.func @{}({}) -> ({}) {{",
        preset.name,
        list(&operands, |operand| format!(
            "%{}: {} {}",
            operand.name, operand.ty, operand.attributes
        )),
        list(&results, |result| format!("{} {}", result.ty, result.attributes))
    );
    let _ = writeln!(
        text,
        "  {} = \"norm.{}\"({}) <{{{}}}> : ({}) -> ({})",
        list(&results, value),
        preset.op.mnemonic,
        list(&operands, value),
        properties(preset)?.join(", "),
        list(&operands, ty),
        list(&results, ty)
    );
    let _ = writeln!(
        text,
        "  return {} : {}\n}}",
        list(&results, value),
        list(&results, ty)
    );
    Ok(text)
}

/// An operand or result that is present, as MLIR text.
struct Written {
    name: &'static str,
    ty: String,
    attributes: String,
    shape: Vec<Option<Extent>>,
}

fn written(preset: &Preset, tensors: &'static [Tensor]) -> Result<Vec<Written>> {
    let there = tensors.iter().filter(|tensor| preset.has(tensor));
    there
        .map(|tensor| {
            if let Shape::InPlaceOf(by) = tensor.shape {
                return scalar(preset, tensor, by);
            }
            let shape = preset.shape_of(tensor)?;
            let extents = shape.iter().map(|extent| match extent {
                Some(Extent::Static(extent)) => format!("{extent}x"),
                _ => "?x".to_owned(),
            });
            Ok(Written {
                name: tensor.name,
                ty: format!(
                    "tensor<{}{}>",
                    extents.collect::<String>(),
                    preset.element(tensor)?
                ),
                attributes: attributes(preset, tensor.name, &shape)?,
                shape,
            })
        })
        .collect()
}

/// A scalar that takes the place of an attribute: it has the attribute's name, and its value as the default.
fn scalar(preset: &Preset, scalar: &'static Tensor, by: &'static [&'static str]) -> Result<Written> {
    let choice = preset
        .op
        .choices
        .iter()
        .find(|choice| by.first() == Some(&choice.name));
    let choice = choice.ok_or_else(|| {
        Error::internal(format!(
            "'{}' of '{}' takes the place of no attribute",
            scalar.name, preset.op.mnemonic
        ))
    })?;
    let default = value(choice, preset.choice(choice))?.unwrap_or_default();
    Ok(Written {
        name: choice.name,
        ty: preset.element(scalar)?.to_owned(),
        attributes: format!(
            "{{{} = \"{}\", {} = {default}}}",
            attribute::NAME,
            choice.name,
            attribute::DEFAULT
        ),
        shape: Vec::new(),
    })
}

/// The attributes of an argument or result: its name, the names of its sizes, the promises about them, and the number of
/// devices that share it.
fn attributes(preset: &Preset, name: &str, shape: &[Option<Extent>]) -> Result<String> {
    let names: Vec<&str> = shape
        .iter()
        .map(|extent| match extent {
            Some(Extent::Dynamic(name)) => name.as_str(),
            _ => "",
        })
        .collect();
    let mut all = vec![format!("{} = \"{name}\"", attribute::NAME)];
    if names.iter().any(|name| !name.is_empty()) {
        all.push(format!("{} = {names:?}", attribute::SIZES));
    }
    for (attribute, of, otherwise) in [
        (
            attribute::MULTIPLES,
            (|promise| promise.multiple) as fn(&super::Promise) -> Option<i64>,
            1,
        ),
        (attribute::MIN, |promise| promise.min, 0),
        (attribute::MAX, |promise| promise.max, -1),
    ] {
        // A static extent satisfies all default values here, which stand for no promise.
        let numbers = names.iter().map(|name| preset.promises.get(*name).and_then(of));
        let numbers: Vec<_> = numbers.collect();
        if numbers.iter().any(Option::is_some) {
            let numbers = numbers
                .iter()
                .map(|number| number.unwrap_or(otherwise).to_string());
            let numbers = numbers.collect::<Vec<_>>().join(", ");
            all.push(format!("{attribute} = array<i64: {numbers}>"));
        }
    }
    let is_first = preset.op.operands.first().is_some_and(|first| first.name == name);
    if is_first && preset.devices != 1 {
        let shared = preset.shared_axis()?;
        let devices = (0..shape.len()).map(|axis| if axis == shared { preset.devices } else { 1 });
        let devices = devices.map(|devices| devices.to_string()).collect::<Vec<_>>();
        all.push(format!(
            "{} = array<i64: {}>",
            attribute::DEVICES,
            devices.join(", ")
        ));
    }
    Ok(format!("{{{}}}", all.join(", ")))
}

/// The op's properties, including the segment sizes of optional operands and results.
fn properties(preset: &Preset) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for choice in preset.op.choices {
        // An operand that takes the place of an attribute leaves it at its default.
        let mut operands = preset.op.operands.iter().filter(|operand| preset.has(operand));
        let is_replaced = operands
            .any(|operand| matches!(operand.shape, Shape::InPlaceOf(by) if by.first() == Some(&choice.name)));
        let said = if is_replaced {
            choice.default
        } else {
            preset.choice(choice)
        };
        if let Some(value) = value(choice, said)? {
            all.push(match value.is_empty() {
                true => choice.name.to_owned(),
                false => format!("{} = {value}", choice.name),
            });
        }
    }
    let segments = |tensors: &'static [Tensor]| {
        let counts = tensors
            .iter()
            .map(|tensor| u8::from(preset.has(tensor)).to_string());
        counts.collect::<Vec<_>>().join(", ")
    };
    for (name, is_said, tensors) in [
        (
            "operandSegmentSizes",
            preset.op.operand_segments,
            preset.op.operands,
        ),
        ("resultSegmentSizes", preset.op.result_segments, preset.op.results),
    ] {
        if is_said {
            all.push(format!("{name} = array<i32: {}>", segments(tensors)));
        }
    }
    Ok(all)
}

/// The value of an attribute: an empty string for a unit attribute, `None` for one that is absent.
fn value(choice: &'static Choice, said: &str) -> Result<Option<String>> {
    let name = choice.name;
    if said.is_empty() && choice.is_required {
        let expected = match &choice.kind {
            ChoiceKind::Keyword(keywords) => format!("one of {}", keywords.join(", ")),
            ChoiceKind::Number => "a number".to_owned(),
            ChoiceKind::Integer => "an integer".to_owned(),
            ChoiceKind::Integers => "a list of integers".to_owned(),
            ChoiceKind::Flag => "a flag".to_owned(),
        };
        return Err(Error::user(format!("expected {name} to be given, {expected}")));
    }
    Ok(match &choice.kind {
        ChoiceKind::Number => Some(format!("{} : f32", number(name, said)?)),
        ChoiceKind::Integer => match integers(name, said)?.as_slice() {
            [value] => Some(format!("{value} : i64")),
            _ => {
                return Err(Error::user(format!(
                    "expected {name} to be an integer, got '{said}'"
                )));
            }
        },
        ChoiceKind::Integers => {
            let values = integers(name, said)?;
            let values: Vec<_> = values.iter().map(i64::to_string).collect();
            Some(match values.as_slice() {
                [] => "array<i64>".to_owned(),
                values => format!("array<i64: {}>", values.join(", ")),
            })
        }
        ChoiceKind::Flag => match said {
            "true" => Some(String::new()),
            _ => None,
        },
        ChoiceKind::Keyword(keywords) => match keywords.iter().position(|keyword| *keyword == said) {
            Some(value) => Some(format!("{value} : i32")),
            None => {
                return Err(Error::user(format!(
                    "expected {name} to be one of {}, got '{said}'",
                    keywords.join(", ")
                )));
            }
        },
    })
}

/// A number as MLIR's float literals require it, with a decimal point.
fn number(name: &str, said: &str) -> Result<String> {
    let number = parse_number(said).map_err(|error| Error::user(format!("{name}: {error}")))?;
    let text = format!("{number:e}");
    Ok(match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    })
}

/// Refuses a function name that is not an identifier, a setting for an operand, result or attribute that the op does not
/// have, and a required operand or result that is marked absent.
fn check_names(preset: &Preset) -> Result<()> {
    let op = preset.op.mnemonic;
    let is_identifier = norma_bundle::manifest::is_identifier(&preset.name);
    if !is_identifier {
        return Err(Error::user(format!(
            "expected the name of a function to be an identifier, got '{}'",
            preset.name
        )));
    }
    for (name, wanted) in &preset.tensors {
        match preset.op.tensors().find(|tensor| tensor.name == *name) {
            None => return Err(Error::user(format!("{op} has no operand or result '{name}'"))),
            Some(tensor) if !tensor.is_optional && *wanted == Wanted::Absent => {
                return Err(Error::user(format!("{op} always has '{name}'")));
            }
            Some(_) => {}
        }
    }
    let is_attribute = |name: &&&'static str| preset.op.choices.iter().any(|choice| choice.name == **name);
    match preset.choices.keys().find(|name| !is_attribute(name)) {
        Some(name) => Err(Error::user(format!("{op} has no attribute '{name}'"))),
        None => Ok(()),
    }
}

/// Refuses a promise about a size that no tensor has, and one that no size keeps.
fn check_promises<'w>(preset: &Preset, tensors: impl Iterator<Item = &'w Written> + Clone) -> Result<()> {
    let is_size = |name: &str| {
        let mut extents = tensors.clone().flat_map(|tensor| &tensor.shape);
        extents.any(|extent| matches!(extent, Some(Extent::Dynamic(size)) if size == name))
    };
    for (name, promise) in &preset.promises {
        if !is_size(name) {
            return Err(Error::user(format!(
                "expected a promise of a size that the shape names, got one of '{name}'"
            )));
        }
        let least = promise.min.unwrap_or(0);
        let bounds = [
            ("multiple", promise.multiple, 1),
            ("min", promise.min, 0),
            ("max", promise.max, least),
        ];
        for (what, promised, least) in bounds {
            if let Some(promised) = promised.filter(|promised| *promised < least) {
                return Err(Error::user(format!(
                    "expected {what} of size '{name}' to be at least {least}, got {promised}"
                )));
            }
        }
    }
    Ok(())
}
