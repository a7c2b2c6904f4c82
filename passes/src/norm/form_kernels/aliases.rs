//! Checks which results may share an argument's memory, as `norm.may_alias` and the `aliases` of a kernel ask.
//!
//! A result may overwrite an argument if no element is read after the point that writes it. That can be had if the compute that
//! writes the result reads the argument only at the coordinates that it writes, if nothing that depends on what it reads there varies
//! over other dims or is written at points of other dims (over which CTAs may be spread), and if no later compute reads the argument. A
//! kernel that was written by hand says by its `aliases` that it fulfils the first two conditions, and its launches have to fulfil the
//! third ([`super::launching`]). That no later loop reads an element that an earlier one has written is ensured where loop nests are derived
//! ([`crate::kernel::nests`]), and that no later kernel does where kernels are taken apart ([`crate::norm::split_reductions`]).

use std::collections::{BTreeSet, HashSet};

use melior::ir::{BlockLike, Value, operation::OperationLike};

use norma_dialects::norm::KernelOp;

use super::{
    Compute, Host,
    signature::{Argument, Tensor},
};
use crate::{
    kernel::space::Space,
    mlir::{
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        values::key,
    },
};

/// Checks every `norm.may_alias` of a function.
pub(super) fn check<'c: 'a, 'a>(host: &Host<'c, 'a>) -> PassResult<'c> {
    let location = host.function.location();
    let mut taken = BTreeSet::new();
    for (index, output) in host.outputs.iter().enumerate() {
        let Some(name) = &output.may_alias else {
            continue;
        };
        let refuse = |why: &str| -> PassResult<'c> {
            let message = format!("result {index} cannot be the same memory as '{name}': {why}");
            Err(Diagnostic::user(location, message).into())
        };
        let argument = match target(output, name, &host.inputs) {
            Ok(argument) => argument,
            Err(why) => return refuse(&why),
        };
        if !taken.insert(argument) {
            return refuse("another result may be that already");
        }
        let argument = Value::from(host.body.argument(argument)?);
        let result = host.end.operand(index)?;
        let needed = host.computes.iter().filter(|compute| compute.is_needed);
        let mut is_written = false;
        for compute in needed {
            let reads = compute.tensors().contains(&argument);
            if is_written && reads {
                return refuse("a later norm.compute reads the argument");
            }
            if compute.op.outputs().contains(&result) {
                is_written = true;
                let inputs = compute.tensors().into_iter().map(|tensor| tensor == argument);
                let outputs = compute.op.outputs().into_iter().map(|output| output == result);
                let shared = inputs.chain(outputs).collect::<Vec<_>>();
                if reads && let Some(why) = hazard(&Space::of_compute(compute.op)?, &shared)? {
                    return refuse(why);
                }
            }
        }
    }
    Ok(())
}

/// The position of the argument that `output` may be the same memory as, which it calls `name`; or why it cannot be.
pub(super) fn target<'c>(
    output: &Tensor<'c>,
    name: &str,
    arguments: &[Argument<'c>],
) -> Result<usize, String> {
    let position = arguments.iter().position(|argument| argument.name() == name);
    let argument = position.and_then(|position| Some((position, arguments[position].tensor()?)));
    let (position, argument) = argument.ok_or("no argument is a tensor of that name")?;
    if argument.is_output {
        return Err("it is an output too".to_owned());
    }
    if argument.buffer != output.buffer {
        return Err(format!("it is {}, the other {}", output.buffer, argument.buffer));
    }
    Ok(position)
}

/// Checks the `aliases` of a kernel that was written by hand.
pub(super) fn check_kernel<'c: 'a, 'a>(kernel: KernelOp<'c, 'a>) -> PassResult<'c> {
    let space = Space::of(kernel)?;
    for (output, input) in space.aliases() {
        let is_shared = |buffer| buffer == output || buffer == input;
        let shared = (0..space.buffers.len()).map(is_shared).collect::<Vec<_>>();
        if let Some(why) = hazard(&space, &shared)? {
            let message = format!("buffer {output} cannot be the same memory as buffer {input}: {why}");
            return Err(Diagnostic::user(kernel.op().location(), message).into());
        }
    }
    Ok(())
}

/// Pairs (output, input) of a compute's buffers that may be the same memory.
pub(super) fn pairs<'c: 'a, 'a>(
    host: &Host<'c, 'a>,
    compute: &Compute<'c, 'a>,
) -> Result<Vec<i64>, PassError<'c>> {
    let tensors = compute.tensors();
    let mut pairs = Vec::new();
    for (position, result) in compute.op.outputs().into_iter().enumerate() {
        let output = host.output_of(result).map(|output| &host.outputs[output]);
        let Some(name) = output.and_then(|output| output.may_alias.as_ref()) else {
            continue;
        };
        let Some(argument) = host.inputs.iter().position(|input| input.name() == name) else {
            continue;
        };
        let argument = Value::from(host.body.argument(argument)?);
        let inputs = tensors
            .iter()
            .enumerate()
            .filter(|(_, tensor)| **tensor == argument);
        pairs.extend(inputs.flat_map(|(input, _)| [(tensors.len() + position) as i64, input as i64]));
    }
    Ok(pairs)
}

/// Why an element of the memory that buffers share (`shared`, by buffer) may be needed at other points than the one that writes it;
/// `None` if it may not.
fn hazard<'c>(space: &Space<'c, '_>, shared: &[bool]) -> Result<Option<&'static str>, PassError<'c>> {
    let accesses = space
        .accesses()?
        .into_iter()
        .filter(|access| shared[access.buffer]);
    let accesses = accesses.collect::<Vec<_>>();
    if accesses
        .windows(2)
        .any(|pair| pair[0].coordinates != pair[1].coordinates)
    {
        return Ok(Some("it is not read at the coordinates at which it is written"));
    }
    let Some(access) = accesses.first() else {
        return Ok(None);
    };
    let at = access.dims();
    let reads = accesses.iter().filter(|access| !access.is_write);
    let mut dependent = reads.map(|read| key(read.value)).collect::<HashSet<_>>();
    for op in &space.ops {
        if !op.operands().any(|operand| dependent.contains(&key(operand))) {
            continue;
        }
        if space
            .access(*op)?
            .is_some_and(|access| !access.dims().is_subset(&at))
        {
            return Ok(Some(
                "what is read is written at points of dims that it is not indexed by",
            ));
        }
        for result in op.results() {
            if !space.dims_of(result.into()).is_subset(&at) {
                return Ok(Some(
                    "what is read is needed at points of dims that it is not indexed by",
                ));
            }
            dependent.insert(key(result.into()));
        }
    }
    Ok(None)
}
