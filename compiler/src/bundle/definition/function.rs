//! The body of a function as the statements of a definition.

use std::collections::HashMap;

use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, BlockRef, Module, OperationRef, RegionLike, Value, ValueLike};
use norma_bundle::Expression;
use norma_bundle::definition::{Definition, Intermediate, Statement};
use norma_dialects::norm::{ComputeOp, KernelOp, LaunchOp};
use norma_passes::mlir::values::key;
use norma_passes::mlir::{types, walk};

use super::program::{self, View};
use super::{extent, intermediate_name, named, scalar, tensor_name};
use crate::bundle::host;

/// Reads a function; nothing if an op of it has no form in a definition.
pub(super) fn read(function: OperationRef, module: &Module) -> Option<Definition> {
    let block = function.region(0).ok()?.first_block()?;
    let mut reader = Reader {
        module,
        arguments: arguments(block)?,
        tensors: HashMap::new(),
        definition: Definition::default(),
    };
    for index in 0..block.argument_count() {
        let argument = Value::from(block.argument(index).ok()?);
        reader.tensors.insert(key(argument), tensor_name(index));
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

/// The shapes of a function's arguments.
fn arguments(block: BlockRef) -> Option<Vec<Vec<Expression>>> {
    (0..block.argument_count())
        .map(|index| shape(&tensor_name(index), block.argument(index).ok()?.into()))
        .collect()
}

fn shape(tensor: &str, value: Value) -> Option<Vec<Expression>> {
    let extents = types::shape(value.r#type())?.into_iter().enumerate();
    Some(extents.map(|(axis, size)| extent(tensor, axis, size)).collect())
}

struct Reader<'m, 'c> {
    module: &'m Module<'c>,
    arguments: Vec<Vec<Expression>>,
    /// The names of the tensors that values are.
    tensors: HashMap<usize, String>,
    definition: Definition,
}

impl Reader<'_, '_> {
    fn read_op(&mut self, op: OperationRef) -> Option<()> {
        let statement = if let Some(launch) = LaunchOp::from_op(op) {
            Statement::Program(self.launch(launch)?)
        } else if let Some(compute) = ComputeOp::from_op(op) {
            Statement::Program(self.compute(compute)?)
        } else if walk::has_name(op, "memref.collapse_shape") || walk::has_name(op, "memref.cast") {
            // Launches follow these back to the arguments.
            return Some(());
        } else {
            Statement::Named(named::read(op, &mut |value| self.tensor(value))?)
        };
        self.definition.statements.push(statement);
        Some(())
    }

    /// The name of a tensor; a value that has none yet, being neither an argument nor returned, is an intermediate.
    fn tensor(&mut self, value: Value) -> Option<String> {
        if let Some(name) = self.tensors.get(&key(value)) {
            return Some(name.clone());
        }
        let name = intermediate_name(self.definition.intermediates.len());
        self.definition.intermediates.push(Intermediate {
            name: name.clone(),
            dtype: scalar::element(value.r#type())?,
            shape: shape(&name, value)?,
        });
        self.tensors.insert(key(value), name.clone());
        Some(name)
    }

    fn compute(&mut self, compute: ComputeOp) -> Option<norma_bundle::Program> {
        let tensors = [compute.inputs(), compute.outputs()].concat();
        let views = tensors
            .into_iter()
            .map(|value| {
                let tensor = self.tensor(value)?;
                Some(View::whole(shape(&tensor, value)?, tensor))
            })
            .collect::<Option<Vec<_>>>()?;
        let block = compute.body().ok()?.first_block()?;
        program::read(block, views, compute.extents().ok()?, &compute.sizes().ok()?)
    }

    fn launch(&mut self, launch: LaunchOp) -> Option<norma_bundle::Program> {
        let path = norma_dialects::symbol_path(launch.callee().ok()?).ok()?;
        let [callee] = path.as_slice() else {
            return None;
        };
        let kernel = walk::in_block(self.module.body())
            .into_iter()
            .filter_map(KernelOp::from_op)
            .find(|kernel| kernel.sym_name() == Ok(callee))?;
        if kernel.guards().is_some() {
            return None;
        }
        let views = launch
            .buffers()
            .into_iter()
            .map(|value| {
                let buffer = host::buffer(value)?;
                Some(View {
                    tensor: tensor_name(buffer.argument),
                    shape: self.arguments.get(buffer.argument)?.clone(),
                    groups: buffer.groups,
                })
            })
            .collect::<Option<Vec<_>>>()?;
        let block = kernel.body().ok()?.first_block()?;
        program::read(block, views, kernel.extents().ok()?, &kernel.sizes().ok()?)
    }
}
