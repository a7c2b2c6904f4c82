//! The gradient of a function: behind its computes their gradients, from the last to the first.

use std::collections::HashSet;

use melior::ir::{BlockLike, BlockRef, OperationRef, RegionLike, Value, operation::OperationLike};
use norma_dialects::{norm::ComputeOp, op_name};

use super::{
    activity::{self, is_of_floats},
    program::{self, Adjoints},
    signature::{self, Tensor},
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
};

/// Makes of a function, which consists of computes, its gradient with respect to the arguments at the positions `wanted`.
pub(super) fn differentiate<'c: 'a, 'a>(function: OperationRef<'c, 'a>, wanted: &[usize]) -> PassResult<'c> {
    let (block, computes, end) = body(function)?;
    let arguments = wanted.iter().map(|argument| block.argument(*argument));
    let arguments = arguments
        .map(|argument| argument.map(Value::from))
        .collect::<Result<Vec<_>, _>>()?;
    let active = active(&computes, &arguments)?;
    let returned = end.operands().collect::<Vec<_>>();
    let results = (0..returned.len())
        .filter(|result| is_of_floats(returned[*result]) && active.contains(&key(returned[*result])))
        .collect::<Vec<_>>();

    let tensors = signature::Tensors::of(function)?;
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
            .map(|position| tensors[*position].gradient(b.context()))
            .collect::<Vec<_>>()
    };
    let of_results = pick(&tensors.results, &results);
    let of_arguments = pick(&tensors.arguments, wanted);
    tensors.set(function, of_results, of_arguments);
    Ok(())
}

/// A function's block, its computes and its return.
type Body<'c, 'a> = (BlockRef<'c, 'a>, Vec<ComputeOp<'c, 'a>>, OperationRef<'c, 'a>);

fn body<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Result<Body<'c, 'a>, PassError<'c>> {
    let refused = |at: OperationRef<'c, 'a>, what: &str| {
        let message = format!(
            "the gradient of a function with {what}; supported: functions of one block, of what becomes norm.compute"
        );
        PassError::from(Diagnostic::unsupported(at.location(), message))
    };
    let block = function.region(0)?.first_block();
    let block = block.ok_or_else(|| refused(function, "no body"))?;
    let mut computes = Vec::new();
    for op in walk::in_block(block) {
        if let Some(compute) = ComputeOp::from_op(op) {
            computes.push(compute);
        } else if walk::has_name(op, "func.return") && block.next_in_region().is_none() {
            return Ok((block, computes, op));
        } else {
            return Err(refused(op, &format!("'{}'", op_name(op))));
        }
    }
    Err(refused(function, "control flow"))
}

/// The tensors that change with the floats of `arguments`, these among them.
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

/// Erases the computes that nothing needs any more.
fn erase_unused(block: BlockRef<'_, '_>) {
    for op in walk::in_block(block).into_iter().rev() {
        let is_unused = op.results().all(|result| uses(result.into()) == 0);
        if op.result_count() > 0 && is_unused {
            Builder::before(op).erase(op);
        }
    }
}
