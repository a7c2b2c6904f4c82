//! The gradient of a function: after its computes come their gradients, from the last to the first.

use std::collections::HashSet;

use melior::ir::{BlockLike, BlockRef, OperationRef, Value, operation::OperationLike};
use norma_dialects::norm::ComputeOp;

use super::{
    activity::{self, is_of_floats},
    program::{self, Adjoints},
    signature,
};
use crate::{
    kernel::compute,
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        values::{key, uses},
        walk,
    },
    norm::host_function::{self, Body, Tensor, Tensors},
};

/// Turns a function, which consists of computes, into its gradient with respect to the arguments at the positions `wanted`.
pub(super) fn differentiate<'c: 'a, 'a>(function: OperationRef<'c, 'a>, wanted: &[usize]) -> PassResult<'c> {
    let Body { block, computes, end } = host_function::body(function, "the gradient of a function")?;
    let arguments = wanted.iter().map(|argument| block.argument(*argument));
    let arguments = arguments
        .map(|argument| argument.map(Value::from))
        .collect::<Result<Vec<_>, _>>()?;
    let active = active(&computes, &arguments)?;
    let returned = end.operands().collect::<Vec<_>>();
    let results = (0..returned.len())
        .filter(|result| is_of_floats(returned[*result]) && active.contains(&key(returned[*result])))
        .collect::<Vec<_>>();

    let mut tensors = Tensors::of(function)?;
    let mut adjoints = Adjoints::new();
    for result in &results {
        let adjoint = block.add_argument(tensors.results[*result].ty, end.location());
        if adjoints.insert(key(returned[*result]), adjoint).is_some() {
            let message = format!("result {result} is another result again; supported: distinct results");
            return Err(Diagnostic::unsupported(end.location(), message).into());
        }
    }
    let mut b = Builder::before(end);
    for compute in computes.into_iter().rev() {
        let has_adjoint = |output: &Value<'c, 'a>| adjoints.contains_key(&key(*output));
        if compute.outputs().iter().any(has_adjoint) {
            b.set_location(compute.op().location());
            let is_wanted = |tensor: Value<'c, 'a>| active.contains(&key(tensor));
            let found = program::differentiate(&b, compute, &adjoints, is_wanted)?;
            adjoints.extend(found.into_iter().map(|(tensor, adjoint)| (key(tensor), adjoint)));
        }
    }
    let gradients = arguments.iter().zip(wanted).map(|(argument, position)| {
        adjoints.get(&key(*argument)).copied().ok_or_else(|| {
            let name = &tensors.arguments[*position].name;
            let message = format!(
                "expected an argument that a result of floats changes with, got '{name}'; norm.gradient may name those that are meant"
            );
            PassError::from(Diagnostic::user(function.location(), message))
        })
    });
    let gradients = gradients.collect::<Result<Vec<_>, _>>()?;
    b.set_location(end.location());
    b.op("func.return", &gradients, &[]);
    b.erase(end);
    erase_unused(block);

    let pick = |tensors: &[Tensor<'c>], positions: &[usize]| {
        positions
            .iter()
            .map(|position| signature::gradient(&tensors[*position], b.context()))
            .collect::<Vec<_>>()
    };
    let of_results = pick(&tensors.results, &results);
    tensors.results = pick(&tensors.arguments, wanted);
    tensors.arguments.extend(of_results);
    tensors.set(function);
    Ok(())
}

/// The keys of the tensors that depend on the floats of `arguments`, including these.
fn active<'c: 'a, 'a>(
    computes: &[ComputeOp<'c, 'a>],
    arguments: &[Value<'c, 'a>],
) -> Result<HashSet<usize>, PassError<'c>> {
    let mut active = arguments
        .iter()
        .map(|argument| key(*argument))
        .collect::<HashSet<_>>();
    for compute in computes {
        let (tensors, _) = compute::inputs(*compute);
        let inside = compute::arguments(*compute)?;
        let inputs = inside.tensors.iter().zip(tensors);
        let inputs = inputs.filter(|(_, outside)| active.contains(&key(*outside)));
        let inputs = inputs.map(|(inside, _)| key(*inside)).collect::<HashSet<_>>();
        let ops = walk::in_block(compute::block(*compute)?);
        let values = activity::active(&ops, |buffer| inputs.contains(&key(buffer)))?;
        for buffer in activity::written(&ops, &values)? {
            let result = inside.results.iter().position(|result| *result == buffer);
            let output = result.and_then(|result| compute.outputs().get(result).copied());
            active.extend(output.map(key));
        }
    }
    Ok(active)
}

/// Erases unused computes.
fn erase_unused(block: BlockRef<'_, '_>) {
    for op in walk::in_block(block).into_iter().rev() {
        let is_unused = op.results().all(|result| uses(result.into()) == 0);
        if op.result_count() > 0 && is_unused {
            Builder::before(op).erase(op);
        }
    }
}
