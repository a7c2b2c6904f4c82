//! Results that may be the same memory as an argument: what `norm.may_alias` asks for, judged by what is computed.
//!
//! A result may be written over an argument if each element is read for the last time at the point that writes it, or
//! before. That is so if the compute that writes it reads the argument at the coordinates that it writes, if what it
//! writes depends on every reduction that such a read takes part in, and if no later compute reads the argument.

use std::collections::{BTreeSet, HashMap};

use melior::ir::{BlockLike, RegionLike, Value, operation::OperationLike};
use norma_dialects::norm::{ReadOp, ReduceOp, WriteOp};

use super::{Compute, Host};
use crate::mlir::{
    diagnostic::Diagnostic,
    pass::{PassError, PassResult},
    values::key,
    walk,
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
        let argument = host.inputs.iter().position(|input| input.name() == name);
        let Some((argument, input)) =
            argument.and_then(|argument| Some((argument, host.inputs[argument].tensor()?)))
        else {
            return refuse("no argument is a tensor of that name");
        };
        if input.buffer != output.buffer {
            return refuse(&format!("it is {}, the other {}", output.buffer, input.buffer));
        }
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
                if reads {
                    let found = accesses(compute, argument, result)?;
                    if let Some(why) = found.hazard() {
                        return refuse(why);
                    }
                }
            }
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

/// How a compute uses an argument and a result.
#[derive(Default)]
struct Accesses {
    /// The reads and the writes, as an access's map and the dims that it is over.
    coordinates: Vec<(String, Vec<usize>)>,
    /// Positions of the reductions that a read takes part in.
    reductions: BTreeSet<usize>,
    /// For each write, the reductions that its value depends on.
    before: Vec<BTreeSet<usize>>,
}

impl Accesses {
    /// Why an element may be read after it is written.
    fn hazard(&self) -> Option<&'static str> {
        if self.coordinates.windows(2).any(|pair| pair[0] != pair[1]) {
            return Some("it is not read at the coordinates at which it is written");
        }
        if self
            .before
            .iter()
            .any(|before| !before.is_superset(&self.reductions))
        {
            return Some("what is written does not depend on every reduction over what is read");
        }
        None
    }
}

/// What a value depends on: whether on a read of the argument, and on which reductions.
#[derive(Clone, Default)]
struct Facts {
    reads: bool,
    reductions: BTreeSet<usize>,
}

fn accesses<'c: 'a, 'a>(
    compute: &Compute<'c, 'a>,
    argument: Value<'c, 'a>,
    result: Value<'c, 'a>,
) -> Result<Accesses, PassError<'c>> {
    let block = compute.op.body()?.first_block();
    let block = block.ok_or_else(|| PassError::Internal("expected a norm.compute with a body".to_owned()))?;
    let tensors = compute.tensors();
    let tensors = tensors.iter().map(|tensor| *tensor == argument);
    let outputs = compute.op.outputs();
    let outputs = outputs.iter().map(|output| *output == result);
    let shared = tensors.chain(outputs).collect::<Vec<_>>();
    let is_shared = |buffer: Value<'c, 'a>| {
        let mut arguments = shared.iter().enumerate().filter(|(_, is_shared)| **is_shared);
        arguments.any(|(index, _)| {
            block
                .argument(index)
                .is_ok_and(|argument| key(argument.into()) == key(buffer))
        })
    };
    let mut found = Accesses::default();
    let mut facts = HashMap::<usize, Facts>::new();
    for (position, op) in walk::in_block(block).into_iter().enumerate() {
        let mut own = Facts::default();
        for operand in op.operands() {
            if let Some(known) = facts.get(&key(operand)) {
                own.reads |= known.reads;
                own.reductions.extend(&known.reductions);
            }
        }
        let dims = |indices: Vec<Value<'c, 'a>>| indices.into_iter().map(key).collect::<Vec<_>>();
        if let Some(read) = ReadOp::from_op(op)
            && is_shared(read.buffer()?)
        {
            found
                .coordinates
                .push((read.access()?.to_string(), dims(read.indices())));
            own.reads = true;
        }
        if let Some(write) = WriteOp::from_op(op)
            && is_shared(write.buffer()?)
        {
            found
                .coordinates
                .push((write.access()?.to_string(), dims(write.indices())));
            found.before.push(own.reductions.clone());
        }
        if ReduceOp::from_op(op).is_some() {
            if own.reads {
                found.reductions.insert(position);
            }
            own.reductions.insert(position);
        }
        for index in 0..op.result_count() {
            facts.insert(key(op.result(index)?.into()), own.clone());
        }
    }
    Ok(found)
}
