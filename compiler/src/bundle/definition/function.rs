//! The body of a function as the statements of a definition.

mod extremum;
mod tensors;
mod views;

use std::collections::HashMap;

use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, Module, OperationRef, RegionLike, Value, ValueLike};
use norma_bundle::Expression;
use norma_bundle::definition::{Definition, Intermediate, Statement};
use norma_bundle::manifest::ScalarValue;
use norma_bundle::program::{Number, Step};
use norma_dialects::attributes;
use norma_dialects::norm::{ComputeOp, LaunchOp, NumSmsOp};
use norma_passes::mlir::values::key;
use norma_passes::mlir::{types, walk};

use super::program::{self, Scalar, View};
use super::{extent, intermediate_name, named, scalar, tensor_name};
use crate::bundle::host::{self, HostScalar, Root};
use crate::bundle::kernel_form::callee;

/// Reads a function; `None` if one of its ops has no form in a definition.
pub(super) fn read(function: OperationRef, module: &Module) -> Option<Definition> {
    let block = function.region(0).ok()?.first_block()?;
    let mut reader = Reader {
        module,
        arguments: Vec::new(),
        tensors: HashMap::new(),
        scalars: HashMap::new(),
        definition: Definition::default(),
    };
    for index in 0..block.argument_count() {
        let argument = Value::from(block.argument(index).ok()?);
        let name = tensor_name(index);
        let attributes = host::attributes(function, index);
        if let Some(scalar) = host::scalar(index, argument.r#type(), attributes) {
            let scalar = Scalar {
                symbol: host::number_symbol(index),
                step: scalar_step(scalar, argument)?,
            };
            reader.scalars.insert(key(argument), scalar);
            reader.arguments.push(None);
        } else {
            reader
                .arguments
                .push(Some((name.clone(), shape(&name, argument)?)));
            reader.tensors.insert(key(argument), name);
        }
    }
    let ops = walk::in_block(block);
    let end = ops.iter().find(|op| walk::has_name(**op, "func.return"))?;
    for (index, value) in end.operands().enumerate() {
        let name = tensor_name(block.argument_count() + index);
        reader.tensors.entry(key(value)).or_insert(name);
    }
    for op in ops.iter().filter(|op| *op != end) {
        reader.read_op(*op)?;
    }
    (!reader.definition.statements.is_empty()).then_some(reader.definition)
}

fn shape(tensor: &str, value: Value) -> Option<Vec<Expression>> {
    let extents = types::shape(value.r#type())?.into_iter().enumerate();
    Some(extents.map(|(axis, size)| extent(tensor, axis, size)).collect())
}

/// The step that defines a number which the caller passes.
fn scalar_step(scalar: HostScalar, argument: Value) -> Option<Step> {
    let value = match scalar.default {
        ScalarValue::Float(value) => value,
        ScalarValue::Expression(value) => Number::Integer(value.as_integer()?),
    };
    Some(Step::Scalar {
        name: scalar.name,
        value,
        element: scalar::element(argument.r#type())?,
    })
}

/// Whether an op has results, all of them tensors.
fn makes_tensors(op: OperationRef) -> bool {
    op.result_count() > 0 && op.results().all(|result| types::is_tensor(result.r#type()))
}

/// Whether an op belongs to `norm`, the dialect whose ops definitions name.
fn is_named(op: OperationRef) -> bool {
    norma_dialects::op_name(op).starts_with("norm.")
}

/// Ops that only compute numbers or sizes of tensors and scratch, or view a buffer: they are followed back from their uses.
const HOST_ONLY: [&str; 12] = [
    "affine.apply",
    "affine.max",
    "affine.min",
    "arith.constant",
    "memref.alloc",
    "memref.cast",
    "memref.collapse_shape",
    "memref.dim",
    "tensor.dim",
    "tensor.empty",
    "tensor.extract",
    NumSmsOp::NAME,
];

struct Reader<'m, 'c> {
    module: &'m Module<'c>,
    /// By argument: the name and the shape of a tensor, or nothing for a number.
    arguments: Vec<Option<(String, Vec<Expression>)>>,
    /// The names of tensors, by the [`key`]s of values.
    tensors: HashMap<usize, String>,
    /// The numbers that the caller passes, by the [`key`]s of values.
    scalars: HashMap<usize, Scalar>,
    definition: Definition,
}

impl Reader<'_, '_> {
    fn read_op(&mut self, op: OperationRef) -> Option<()> {
        let statement = if let Some(launch) = LaunchOp::from_op(op) {
            Statement::Program(self.launch(launch)?)
        } else if let Some(compute) = ComputeOp::from_op(op) {
            Statement::Program(self.compute(compute)?)
        } else if walk::has_name(op, "linalg.softmax") {
            Statement::Named(named::linalg_softmax(op, &mut |value| self.tensor(value))?)
        } else if makes_tensors(op) && !walk::has_name(op, "tensor.empty") && !is_named(op) {
            Statement::Program(self.whole_tensors(op)?)
        } else if HOST_ONLY.contains(&norma_dialects::op_name(op)) || scalar::is_op(op) {
            if walk::has_name(op, "memref.alloc") {
                self.tensor(op.result(0).ok()?.into())?;
            }
            return Some(());
        } else {
            Statement::Named(named::read(
                op,
                &mut |value| match types::is_tensor(value.r#type()) {
                    true => self.tensor(value),
                    false => self.stored_number(value),
                },
            )?)
        };
        self.definition.statements.push(statement);
        Some(())
    }

    /// The name of a tensor; a value without one, which is neither an argument nor returned, becomes a new intermediate, and so does a
    /// scalar, as a tensor without axes.
    fn tensor(&mut self, value: Value) -> Option<String> {
        if let Some(name) = self.tensors.get(&key(value)) {
            return Some(name.clone());
        }
        let name = intermediate_name(self.definition.intermediates.len());
        let shape = match types::is_tensor(value.r#type()) || types::is_memref(value.r#type()) {
            true => shape(&name, value)?,
            false => Vec::new(),
        };
        self.definition.intermediates.push(Intermediate {
            name: name.clone(),
            dtype: scalar::element(value.r#type())?,
            shape,
        });
        self.tensors.insert(key(value), name.clone());
        Some(name)
    }

    /// The name of the tensor without axes that holds a number; the first use adds the statement that writes it.
    fn stored_number(&mut self, number: Value) -> Option<String> {
        if let Some(name) = self.tensors.get(&key(number)) {
            return Some(name.clone());
        }
        let program = self.number_alone(number)?;
        self.definition.statements.push(Statement::Program(program));
        self.tensor(number)
    }

    fn compute(&mut self, compute: ComputeOp) -> Option<norma_bundle::Program> {
        let (tensors, scalars): (Vec<_>, Vec<_>) = compute
            .inputs()
            .into_iter()
            .partition(|input| types::is_tensor(input.r#type()));
        let tensors = [tensors, compute.outputs()].concat();
        let views = tensors
            .into_iter()
            .map(|value| {
                let tensor = self.tensor(value)?;
                Some(View::whole(shape(&tensor, value)?, tensor))
            })
            .collect::<Option<Vec<_>>>()?;
        let block = compute.body().ok()?.first_block()?;
        let scalars = self.scalars(&scalars)?;
        program::read(
            block,
            views,
            scalars,
            compute.extents().ok()?,
            &compute.sizes().ok()?,
            compute.guards(),
        )
    }

    fn scalars(&self, scalars: &[Value]) -> Option<Vec<Scalar>> {
        scalars
            .iter()
            .map(|scalar| self.scalars.get(&key(*scalar)).cloned())
            .collect()
    }

    fn launch(&mut self, launch: LaunchOp) -> Option<norma_bundle::Program> {
        let kernel = callee(launch, self.module)?;
        // The guards of a kernel that a schedule has been applied to are those of its CTAs' parts.
        let is_applied = kernel.roles().is_some() || kernel.op().attribute(attributes::kernel::PART).is_ok();
        if kernel.guards().is_some() && is_applied {
            return None;
        }
        let (buffers, scalars): (Vec<_>, Vec<_>) = launch
            .arguments()
            .into_iter()
            .partition(|argument| types::is_memref(argument.r#type()));
        let views = buffers
            .into_iter()
            .map(|value| {
                let view = host::view(value)?;
                let (tensor, shape) = match view.root {
                    Root::Argument(argument) => self.arguments.get(argument)?.clone()?,
                    Root::Allocation(value) => self.intermediate(self.tensors.get(&value)?)?,
                };
                Some(View {
                    tensor,
                    shape,
                    groups: view.groups,
                })
            })
            .collect::<Option<Vec<_>>>()?;
        let block = kernel.body().ok()?.first_block()?;
        let scalars = self.scalars(&scalars)?;
        program::read(
            block,
            views,
            scalars,
            kernel.extents().ok()?,
            &kernel.sizes().ok()?,
            kernel.guards(),
        )
    }

    /// The name and the shape of an intermediate.
    fn intermediate(&self, name: &str) -> Option<(String, Vec<Expression>)> {
        let mut intermediates = self.definition.intermediates.iter();
        let found = intermediates.find(|intermediate| intermediate.name == name)?;
        Some((found.name.clone(), found.shape.clone()))
    }
}
