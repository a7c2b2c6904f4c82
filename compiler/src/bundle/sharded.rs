//! Descriptions of functions that are sharded over devices, as a whole, beside the runs of each device: the results of all
//! devices together are judged by them.
//!
//! The runs on one device are made by the pass `norm-shard`; their attribute [`attribute::SHARDED`] names the function that
//! they are parts of.

use std::collections::BTreeMap;

use melior::Context;
use melior::ir::attribute::{ArrayAttribute, DenseI64ArrayAttribute, DictionaryAttribute, TypeAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, Identifier, Module, Operation, OperationRef, Type};
use norma_bundle::manifest::Sharded;
use norma_dialects::attributes::{function as attribute, tensor};
use norma_dialects::symbol_name;
use norma_passes::mlir::builder::Builder;
use norma_passes::mlir::{types, walk};

use super::definition::SourceDefinition;
use super::host::{self, HostFunction};
use super::kernel_form::KernelForms;
use super::{SourceConditions, describe as describe_function, sizes};
use crate::error::{Error, Result};

/// What the attributes of a function's runs say about the whole function.
#[derive(Debug)]
struct Described {
    /// Its name.
    function: String,
    devices: i64,
    /// The axis along which an argument or a result is sharded, by its name.
    axes: BTreeMap<String, usize>,
    /// The names of the runs, in order.
    runs: Vec<String>,
}

/// Copies the functions of a module that are to be sharded into a module of their own; `None` if there are none.
pub(crate) fn whole<'c>(module: &Module<'c>) -> Result<Option<Module<'c>>> {
    if !functions(module).into_iter().any(is_asked) {
        return Ok(None);
    }
    let copy = Module::from_operation(Operation::clone(&module.as_operation()))
        .ok_or_else(|| Error::internal("the copy of a module is none"))?;
    for function in functions(&copy) {
        if !is_asked(function) {
            Builder::before(function).erase(function);
        }
    }
    Ok(Some(copy))
}

/// Collects what the runs in a module say about the functions that they are parts of.
fn collect(module: &Module) -> Result<Vec<Described>> {
    let mut found = Vec::<Described>::new();
    for run in functions(module) {
        let Ok(said) = run.attribute(attribute::SHARDED) else {
            continue;
        };
        let broken = || Error::internal(format!("{} does not say what is sharded", attribute::SHARDED));
        let own = symbol_name(run).ok_or_else(broken)?.to_owned();
        let described = described(said, own).ok_or_else(broken)?;
        match found
            .iter_mut()
            .find(|known| known.function == described.function)
        {
            Some(known) => known.runs.extend(described.runs),
            None => found.push(described),
        }
    }
    Ok(found)
}

/// Parses the attribute of the run named `own`.
fn described(said: Attribute, own: String) -> Option<Described> {
    let said = DictionaryAttribute::try_from(said).ok()?;
    let axes = DictionaryAttribute::try_from(said.element_by_name("axes")?).ok()?;
    let axes = (0..axes.len()).map(|index| {
        let (name, axis) = axes.element(index).ok()?;
        let axis = usize::try_from(norma_dialects::integer(axis).ok()?).ok()?;
        Some((name.as_string_ref().as_str().ok()?.to_owned(), axis))
    });
    Some(Described {
        function: norma_dialects::string(said.element_by_name("function")?)
            .ok()?
            .to_owned(),
        devices: norma_dialects::integer(said.element_by_name("devices")?).ok()?,
        axes: axes.collect::<Option<_>>()?,
        runs: vec![own],
    })
}

/// Turns the functions to be sharded into functions of a single device. A bound on a shard's extent becomes a bound on the
/// whole extent, multiplied by the number of devices.
fn unshard(module: &Module, described: &[Described]) -> Result<()> {
    for function in functions(module) {
        let own = described
            .iter()
            .find(|described| symbol_name(function) == Some(&described.function));
        let own = own.ok_or_else(|| Error::internal("a function is to be sharded and has no run"))?;
        let broken = |error: melior::Error| Error::internal(error.to_string());
        let ty = TypeAttribute::try_from(function.attribute("function_type").map_err(broken)?);
        let ty = FunctionType::try_from(ty.map_err(broken)?.value()).map_err(broken)?;
        let inputs = (0..ty.input_count()).map(|index| ty.input(index));
        let results = (0..ty.result_count()).map(|index| ty.result(index));
        for (list, default, types) in [
            (
                "arg_attrs",
                "arg",
                inputs.collect::<std::result::Result<Vec<_>, _>>(),
            ),
            ("res_attrs", "result", results.collect()),
        ] {
            let Ok(attributes) = function.attribute(list).and_then(ArrayAttribute::try_from) else {
                continue;
            };
            let b = Builder::before(function);
            let mut of_whole = Vec::new();
            for (index, ty) in types.map_err(broken)?.into_iter().enumerate() {
                let of_shard = attributes.element(index).and_then(DictionaryAttribute::try_from);
                let of_shard = of_shard.map_err(broken)?;
                let name = host::name(Some(of_shard)).unwrap_or_else(|| format!("{default}{index}"));
                let axis = own.axes.get(&name).copied();
                of_whole.push(promises(b.context(), of_shard, ty, axis, own.devices).into());
            }
            b.set_attribute(function, list, ArrayAttribute::new(b.context(), &of_whole).into());
        }
    }
    Ok(())
}

/// The attributes of a whole tensor, computed from those of its shards.
fn promises<'c>(
    context: &'c Context,
    of_shard: DictionaryAttribute<'c>,
    ty: Type<'c>,
    axis: Option<usize>,
    devices: i64,
) -> DictionaryAttribute<'c> {
    let shape = types::shape(ty).unwrap_or_default();
    let is_open = |axis: &usize| shape.get(*axis).is_some_and(Option::is_none);
    let mut of_whole = Vec::<(Identifier, Attribute)>::new();
    for index in 0..of_shard.len() {
        let Ok((name, mut value)) = of_shard.element(index) else {
            continue;
        };
        let word = name.as_string_ref();
        match word.as_str().unwrap_or_default() {
            tensor::DEVICES => continue,
            tensor::MIN | tensor::MAX => {
                let numbers = DenseI64ArrayAttribute::try_from(value);
                if let (Some(axis), Ok(numbers)) = (axis.filter(is_open), numbers) {
                    let scaled = (0..numbers.len()).filter_map(|dim| {
                        let number = numbers.element(dim).ok()?;
                        Some(match number {
                            0.. if dim == axis => number.saturating_mul(devices),
                            _ => number,
                        })
                    });
                    let scaled = scaled.collect::<Vec<_>>();
                    value = DenseI64ArrayAttribute::new(context, &scaled).into();
                }
            }
            _ => {}
        }
        of_whole.push((name, value));
    }
    DictionaryAttribute::new(context, &of_whole)
}

/// Describes the functions in `whole`, whose runs are in `module`, for the manifest. `lower` lowers them to kernel form,
/// which says which of their sizes are equal; they are never launched and so go no further. A function that takes scalars is
/// left out, because the values of scalars are known only to the kernels that take them.
pub(crate) fn describe<'c>(
    module: &Module<'c>,
    whole: &mut Module<'c>,
    lower: impl FnOnce(&mut Module<'c>) -> Result<()>,
) -> Result<Vec<Sharded>> {
    let described = collect(module)?;
    unshard(whole, &described)?;
    let definitions = SourceDefinition::collect(whole);
    let conditions = SourceConditions::collect(whole);
    lower(whole)?;
    let forms = KernelForms::collect(whole)?;
    let hosts = host::functions(whole)?;
    let host_of = |described: &Described| hosts.iter().find(|host| host.name == described.function);
    let mut sharded = Vec::new();
    for described in described {
        let host: Option<&HostFunction> = host_of(&described);
        let Some(host) = host.filter(|host| host.scalars.is_empty()) else {
            continue;
        };
        let sizes = sizes::name_sizes(host, &forms);
        sharded.push(Sharded {
            whole: describe_function(host, &sizes, &definitions, &conditions, &forms, None)?,
            devices: usize::try_from(described.devices).unwrap_or(usize::MAX),
            runs: described.runs,
            axes: described.axes,
        });
    }
    Ok(sharded)
}

fn functions<'c, 'a>(module: &'a Module<'c>) -> Vec<OperationRef<'c, 'a>> {
    walk::named(module.as_operation(), "func.func")
}

/// Whether an argument of a function asks for sharding.
fn is_asked(function: OperationRef) -> bool {
    let Ok(list) = function.attribute("arg_attrs").and_then(ArrayAttribute::try_from) else {
        return false;
    };
    (0..list.len()).any(|index| {
        let attributes = list.element(index).and_then(DictionaryAttribute::try_from);
        attributes.is_ok_and(|attributes| attributes.element_by_name(tensor::DEVICES).is_some())
    })
}
