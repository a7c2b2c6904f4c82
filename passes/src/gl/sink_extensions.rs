//! `gl-sink-extensions`: what no step of a loop changes stays 16 bits wide in registers, and each step extends it again.
//!
//! Persistent clusters that walk over rows load the weights of their columns once, in front of the loop. If they are extended to f32
//! there, they take twice as many registers for the whole walk. Matches `arith.extf` of a tile of 16-bit floats whose result a loop uses
//! and does not compute, directly or by broadcasts and sums or products with constants (`1 + w`). The extension, and what lies between it
//! and its uses in the loop, is computed again in front of the first use in each step, from the tile behind a `gl.optimization_barrier`:
//! without it LLVM's loop-invariant code motion would bring the extension back in front of the loop.
//!
//! Why it is correct: the same ops compute the same values from the same tile, which is defined in front of the loop.
//!
//! It costs an instruction for each element and step, which is why small tiles are left alone. LayerNorm over 65536 columns takes 153
//! registers in place of 168 and 48 bytes of spills. Beside sums over rows, which gradients carry from step to step, only large tiles gain.

use melior::ir::{Operation, OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    gl::{BroadcastOp, OptimizationBarrierOp},
    layout, op_name,
};

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        types,
        values::{definition, key, users},
        walk,
    },
    table::{GlSinkExtensions, GlSinkExtensionsStatistic},
};

/// The fewest elements of a tile that a thread holds for its extension to move: it saves half as many registers.
const FEWEST_ELEMENTS: usize = 16;
/// The same where the loop carries sums. Of 93 schedules of gradients with 16 to 40 elements most were as fast or slower, 3% on average:
/// ptxas spilled more, or took more registers. With 64, RMSNorm's gradient over 131072 columns spills 264 bytes otherwise, and LayerNorm's
/// over 98304 reaches 3966 GB/s, and 2110 with a schedule that does not spill either way (H200).
const FEWEST_BESIDE_SUMS: usize = 64;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlSinkExtensions>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        let is_loop = |op: &OperationRef<'c, '_>| matches!(op_name(*op), "scf.for" | "scf.while");
        let mut loops = walk::pre_order(function);
        loops.retain(is_loop);
        // An extension that has moved into a loop is found again for the loops within it.
        for loop_op in loops {
            let fewest = if carries_sums(loop_op) {
                FEWEST_BESIDE_SUMS
            } else {
                FEWEST_ELEMENTS
            };
            for extension in walk::named(function, "arith.extf") {
                if !walk::is_within(extension, loop_op) && saved_elements(extension)? >= fewest {
                    sink(extension, loop_op, cx)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether a loop carries tiles of f32 from step to step. It does so with sums, and not with what it has loaded for its next step.
fn carries_sums(loop_op: OperationRef<'_, '_>) -> bool {
    let is_sum = |ty| types::is_tensor(ty) && types::is_f32(types::element(ty));
    loop_op.results().any(|result| is_sum(result.r#type()))
}

/// The number of elements of the tile that `extension` extends, for each thread; 0 if the tile does not take half the registers of its
/// result.
fn saved_elements<'c>(extension: OperationRef<'c, '_>) -> Result<usize, PassError<'c>> {
    let from = extension.operand(0)?.r#type();
    let to = extension.result(0)?.r#type();
    let is_half = types::bit_width(types::element(from)) == Some(16) && types::is_f32(types::element(to));
    if !types::is_tensor(from) || !is_half {
        return Ok(0);
    }
    let layout =
        layout::of_tile(from).map_err(|error| Diagnostic::user(extension.location(), error.to_string()))?;
    Ok(layout.num_registers())
}

/// The ops from an extension to a value that an op of a loop uses.
struct Chain<'c, 'a> {
    /// From the extension on, each the only source of the next that is no constant.
    ops: Vec<OperationRef<'c, 'a>>,
    user: OperationRef<'c, 'a>,
}

/// Computes `extension` and what follows from it alone in the loop `loop_op`, in front of each block's first use there.
fn sink<'c: 'a, 'a>(
    extension: OperationRef<'c, 'a>,
    loop_op: OperationRef<'c, 'a>,
    cx: &PassContext<'c, GlSinkExtensions>,
) -> Result<(), PassError<'c>> {
    let mut chains = Vec::new();
    follow(extension, loop_op, &mut vec![extension], &mut chains)?;
    if chains.is_empty() {
        return Ok(());
    }
    let mut blocks = Vec::new();
    for chain in &chains {
        if !blocks.contains(&chain.user.block()) {
            blocks.push(chain.user.block());
        }
    }
    for block in blocks {
        let here = chains.iter().filter(|chain| chain.user.block() == block);
        let here = here.collect::<Vec<_>>();
        let is_user = |op: &OperationRef<'c, 'a>| here.iter().any(|chain| chain.user == *op);
        let first = block.and_then(|block| walk::in_block(block).into_iter().find(is_user));
        if let Some(first) = first {
            recompute(extension, first, &here)?;
        }
    }
    erase_unused(extension, &chains);
    cx.count(GlSinkExtensionsStatistic::NumSunk, 1);
    Ok(())
}

/// Collects the uses in the loop `loop_op` of what follows from the last op of `ops` alone.
fn follow<'c: 'a, 'a>(
    last: OperationRef<'c, 'a>,
    loop_op: OperationRef<'c, 'a>,
    ops: &mut Vec<OperationRef<'c, 'a>>,
    chains: &mut Vec<Chain<'c, 'a>>,
) -> Result<(), PassError<'c>> {
    for user in users(last.result(0)?.into()) {
        if follows_alone(user, last)? {
            ops.push(user);
            follow(user, loop_op, ops, chains)?;
            ops.pop();
        } else if walk::is_within(user, loop_op) {
            chains.push(Chain {
                ops: ops.clone(),
                user,
            });
        }
    }
    Ok(())
}

/// Whether `op` spreads the result of `source`, or adds a constant to it or multiplies it by one.
fn follows_alone<'c>(op: OperationRef<'c, '_>, source: OperationRef<'c, '_>) -> Result<bool, PassError<'c>> {
    if BroadcastOp::from_op(op).is_some() {
        return Ok(true);
    }
    let source = Value::from(source.result(0)?);
    let is_constant =
        |value: Value<'c, '_>| definition(value).is_some_and(|op| walk::has_name(op, "arith.constant"));
    let is_sum = matches!(op_name(op), "arith.addf" | "arith.mulf");
    Ok(is_sum
        && op
            .operands()
            .all(|operand| operand == source || is_constant(operand)))
}

/// Computes the chains that end in one block again in front of `first`, and gives the block's uses these values.
fn recompute<'c: 'a, 'a>(
    extension: OperationRef<'c, 'a>,
    first: OperationRef<'c, 'a>,
    chains: &[&Chain<'c, 'a>],
) -> Result<(), PassError<'c>> {
    let b = Builder::before(first);
    let narrow = extension.operand(0)?;
    let kept = b.value(OptimizationBarrierOp::NAME, &[narrow], narrow.r#type());
    // The values that have been computed here, with what they take the place of.
    let mut renewed = vec![(key(narrow), kept)];
    let in_place_of = |renewed: &[(usize, Value<'c, 'a>)], value: Value<'c, 'a>| {
        let found = renewed.iter().find(|(old, _)| *old == key(value));
        found.map_or(value, |(_, new)| *new)
    };
    for op in chains.iter().flat_map(|chain| &chain.ops) {
        let old = Value::from(op.result(0)?);
        if renewed.iter().any(|(known, _)| *known == key(old)) {
            continue;
        }
        let operands = op.operands().map(|operand| in_place_of(&renewed, operand));
        let operands = operands.collect::<Vec<_>>();
        let copy = b.insert(Operation::clone(op));
        b.set_operands(copy, &operands);
        renewed.push((key(old), copy.result(0)?.into()));
    }
    for chain in chains {
        let operands = chain
            .user
            .operands()
            .map(|operand| in_place_of(&renewed, operand));
        let operands = operands.collect::<Vec<_>>();
        b.set_operands(chain.user, &operands);
    }
    Ok(())
}

/// Erases the ops of the chains that nothing uses any longer.
fn erase_unused<'c: 'a, 'a>(extension: OperationRef<'c, 'a>, chains: &[Chain<'c, 'a>]) {
    let mut ops = Vec::new();
    for op in chains.iter().flat_map(|chain| &chain.ops) {
        if !ops.contains(op) {
            ops.push(*op);
        }
    }
    // Each op comes behind its source.
    Builder::before(extension).erase_unused(ops.into_iter());
}
