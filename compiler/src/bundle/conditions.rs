//! The conditions on dynamic sizes and on numbers under which a function's kernels stay within their tensors, derived from
//! their accesses.
//!
//! They are collected before any pass, as the definition is: merging dims later keeps only the product of their sizes. Until
//! the tensors have their names, symbols stand for sizes: `t0_1` is the extent of the function's tensor 0 (its arguments,
//! then its results) along axis 1, `v0_1` that of an intermediate, and `n2` is the number that is argument 2. The extent of
//! an intermediate follows from a condition of the compute that writes it, or from the shapes of the op that makes it
//! ([`views`]). Other tensors of named ops have no conditions of their own: sizes that must be equal share one symbol.

mod views;

use std::collections::HashMap;

use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, Module, OperationRef, RegionLike, Value, ValueLike};
use norma_bundle::Expression;
use norma_bundle::condition::{Condition, Relation};
use norma_dialects::conditions::{Conditions, Symbol, conditions};
use norma_dialects::norm::{ComputeOp, LaunchOp};
use norma_passes::mlir::values::{argument_number, key};
use norma_passes::mlir::{types, walk};

use super::affine;
use super::definition::{intermediate_name, tensor_name};
use super::host::{self, HostFunction, Root, View, dim_of_symbol, number_of_symbol, number_symbol};
use super::kernel_form::callee;
use super::sizes::Sizes;

/// The conditions of a function.
#[derive(Debug, Clone)]
pub struct SourceConditions {
    /// The function's symbol.
    function: String,
    /// The two sides of each condition, over the placeholder symbols, and how they compare.
    all: Vec<Sides>,
}

impl SourceConditions {
    /// Reads every function of a module.
    pub fn collect(module: &Module) -> Vec<Self> {
        walk::named(module.as_operation(), "func.func")
            .into_iter()
            .filter_map(|function| {
                Some(Self {
                    function: norma_dialects::symbol_name(function)?.to_owned(),
                    all: read(function, module)?,
                })
            })
            .collect()
    }

    /// Returns the conditions of `host` that its tensors' shapes do not already imply, without duplicates.
    pub(super) fn find(source: &[Self], host: &HostFunction, sizes: &Sizes) -> Vec<Condition> {
        let mut found = Vec::new();
        for (left, relation, right) in source
            .iter()
            .filter(|source| source.function == host.name)
            .flat_map(|source| &source.all)
        {
            let find = |name: &str| {
                let (argument, axis) = dim_of_symbol(name)?;
                let mut tensors = host.tensors.iter();
                Some((
                    tensors.position(|tensor| tensor.argument() == Some(argument))?,
                    axis,
                ))
            };
            let number = |name: &str| host.number(number_of_symbol(name)?);
            // A number that no kernel takes is not used in any access.
            let mut symbols = left.symbols().into_iter().chain(right.symbols());
            if symbols.any(|name| number(name).is_some_and(|(_, is_taken)| !is_taken)) {
                continue;
            }
            let named = |name: &str| Some(Expression::symbol(number(name)?.0.name.clone()));
            let size = |name: &str| {
                let Some((tensor, axis)) = find(name) else {
                    return named(name);
                };
                sizes.shapes.get(tensor)?.get(axis).cloned()
            };
            let in_words = |name: &str| {
                let Some((tensor, axis)) = find(name) else {
                    return named(name);
                };
                let tensor = &host.tensors.get(tensor)?.name;
                Some(Expression::symbol(format!("dim({tensor}, {axis})")))
            };
            let text = |side| affine::substitute(side, &in_words);
            let condition = Condition {
                left: affine::substitute(left, &size),
                relation: *relation,
                right: affine::substitute(right, &size),
                text: format!("{} {} {}", text(left), relation.name(), text(right)),
            };
            if !condition.is_trivial() && !found.contains(&condition) {
                found.push(condition);
            }
        }
        found
    }
}

/// An expression over [`host::dim_symbol`]s, over the sizes of the manifest.
pub(super) fn in_manifest(sizes: &Sizes, expression: &Expression) -> Expression {
    let size = |name: &str| {
        let (tensor, dim) = dim_of_symbol(name)?;
        sizes.shapes.get(tensor)?.get(dim).cloned()
    };
    affine::substitute(expression, &size)
}

/// Turns `left >= right`, over [`host::dim_symbol`]s and the device's symbols, into a condition of the manifest.
pub(super) fn at_least(
    host: &HostFunction,
    sizes: &Sizes,
    left: &Expression,
    right: &Expression,
) -> Condition {
    let in_words = |name: &str| {
        let (tensor, dim) = dim_of_symbol(name)?;
        let tensor = &host.tensors.get(tensor)?.name;
        Some(Expression::symbol(format!("dim({tensor}, {dim})")))
    };
    let text = |side| affine::substitute(side, &in_words);
    Condition {
        left: in_manifest(sizes, left),
        relation: Relation::AtLeast,
        right: in_manifest(sizes, right),
        text: match left {
            Expression::Integer(most) => format!("{} <= {most}", text(right)),
            _ => format!("{} >= {}", text(left), text(right)),
        },
    }
}

type Sides = (Expression, Relation, Expression);

fn read(function: OperationRef, module: &Module) -> Option<Vec<Sides>> {
    let block = function.region(0).ok()?.first_block()?;
    // A kernel's conditions must hold for all sizes, even if it is launched for some only: its alternatives need the same.
    let ops = walk::pre_order(function);
    let end = ops.iter().find(|op| walk::has_name(**op, "func.return"))?;
    let mut names = Names {
        returned: end.operands().map(key).collect(),
        arguments: block.argument_count(),
        intermediates: Vec::new(),
    };
    let mut all = Vec::new();
    for op in ops {
        let (needs, buffers, numbers) = if let Some(compute) = ComputeOp::from_op(op) {
            let inputs = compute.inputs().into_iter();
            let (tensors, numbers) = inputs.partition::<Vec<_>, _>(|input| types::is_tensor(input.r#type()));
            let tensors = tensors.into_iter().chain(compute.outputs());
            (
                conditions(op),
                Some(tensors.map(|value| names.whole(value)).collect::<Vec<_>>()),
                numbers,
            )
        } else if let Some(launch) = LaunchOp::from_op(op) {
            let kernel = callee(launch, module);
            let arguments = launch.arguments().into_iter();
            let (buffers, numbers) =
                arguments.partition::<Vec<_>, _>(|value| types::is_memref(value.r#type()));
            (
                kernel.and_then(|kernel| conditions(kernel.op())),
                buffers.into_iter().map(|value| names.collapsed(value)).collect(),
                numbers,
            )
        } else {
            all.extend(names.of_shapes(op).unwrap_or_default());
            continue;
        };
        if let (Some(needs), Some(buffers)) = (needs, buffers) {
            all.extend(over_tensors(&needs, &buffers, &numbers));
        }
    }
    Some(without_intermediates(all))
}

/// Substitutes the sizes of intermediates. Conditions on an intermediate of unknown size are dropped: such a tensor is the
/// scratch of a function that begins with kernels, and states its extents itself.
fn without_intermediates(all: Vec<Sides>) -> Vec<Sides> {
    let is_intermediate = |name: &str| name.starts_with('v');
    let mut known: HashMap<String, Expression> = HashMap::new();
    let mut resolved = Vec::new();
    for (left, relation, right) in all {
        let put = |side: &Expression| affine::substitute(side, &|name| known.get(name).cloned());
        let (left, right) = (put(&left), put(&right));
        match &left {
            Expression::Symbol(name) if relation == Relation::Equal && is_intermediate(name) => {
                known.insert(name.clone(), right);
            }
            _ if left
                .symbols()
                .into_iter()
                .chain(right.symbols())
                .any(is_intermediate) => {}
            _ => resolved.push((left, relation, right)),
        }
    }
    resolved
}

/// Assigns placeholder names to the tensors of a function.
struct Names {
    /// The results, by their [`key`]s.
    returned: Vec<usize>,
    arguments: usize,
    /// The tensors that are neither arguments nor results, by their [`key`]s.
    intermediates: Vec<usize>,
}

impl Names {
    fn whole(&mut self, value: Value) -> Buffer {
        let tensor = match argument_number(value) {
            Some(argument) => tensor_name(argument),
            None => match self.returned.iter().position(|other| *other == key(value)) {
                Some(result) => tensor_name(self.arguments + result),
                None => self.intermediate(key(value)),
            },
        };
        Buffer { tensor, groups: None }
    }

    fn collapsed(&mut self, value: Value) -> Option<Buffer> {
        let View { root, groups } = host::view(value)?;
        Some(Buffer {
            tensor: match root {
                Root::Argument(argument) => tensor_name(argument),
                Root::Allocation(value) => self.intermediate(value),
            },
            groups: Some(groups),
        })
    }

    fn intermediate(&mut self, value: usize) -> String {
        let known = self.intermediates.iter().position(|other| *other == value);
        let index = known.unwrap_or_else(|| {
            self.intermediates.push(value);
            self.intermediates.len() - 1
        });
        intermediate_name(index)
    }
}

/// The placeholder name of a buffer's tensor, and, for a collapsed view, the tensor's axes behind each axis of the view.
struct Buffer {
    tensor: String,
    groups: Option<Vec<Vec<usize>>>,
}

impl Buffer {
    fn size(&self, axis: usize) -> Option<Expression> {
        let extent = |axis: &usize| Expression::symbol(format!("{}_{axis}", self.tensor));
        match &self.groups {
            None => Some(extent(&axis)),
            Some(groups) => groups.get(axis)?.iter().map(extent).reduce(|a, b| a * b),
        }
    }
}

/// Instantiates conditions over the arguments of a space's block: the buffers come first, the scalars behind them.
fn over_tensors(conditions: &Conditions, buffers: &[Buffer], numbers: &[Value]) -> Vec<Sides> {
    let symbols = conditions.symbols.iter().map(|symbol| match symbol {
        Symbol::Size(buffer, axis) => buffers.get(*buffer)?.size(*axis),
        Symbol::Number(argument) => {
            let number = numbers.get(argument.checked_sub(buffers.len())?)?;
            Some(Expression::symbol(number_symbol(argument_number(*number)?)))
        }
    });
    // A bundle cannot pass a value that has no name.
    let Some(symbols) = symbols.collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let relation = |is_equality| match is_equality {
        true => Relation::Equal,
        false => Relation::AtLeast,
    };
    let sides = conditions.all.iter().filter_map(|condition| {
        Some((
            affine::expression(condition.left, &[], &symbols)?,
            relation(condition.is_equality),
            affine::expression(condition.right, &[], &symbols)?,
        ))
    });
    sides.collect()
}
