//! `norm-form-computes`: ops on whole tensors become programs over their elements, each a `norm.compute`.
//!
//! Matches `arith` and `math` ops on ranked tensors, splat constants, `tensor.splat`, views ([`views`]), and every op of `linalg`
//! that is a loop nest with indexing maps. Each op becomes one compute, whose values have the element types of the op: each result
//! is rounded where the op rounds it, so that results do not depend on what is fused later. Sizes that an op requires to be equal
//! are assumed to be equal ([`sizes`]). Of equal sizes, dims range over the one that comes first in the function, so that computes
//! which follow each other have the same extents.

mod elementwise;
mod extrema;
mod fill;
mod sizes;
mod structured;
mod views;
mod writer;

use std::collections::HashMap;

use melior::ir::{Attribute, BlockRef, OperationRef, RegionLike, Value, ValueLike, operation::OperationLike};
use norma_dialects::op_name;
use sizes::Sizes;
use views::View;

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        types,
        values::key,
        walk,
    },
    norm::function_scalars,
    table::{NormFormComputes, NormFormComputesStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormFormComputes>) -> PassResult<'c> {
    for function in walk::named(op, "func.func") {
        let Some(block) = function.region(0)?.first_block() else {
            continue;
        };
        let mut former = Former {
            sizes: Sizes::of(block)?,
            constants: HashMap::new(),
        };
        extract_constants(block)?;
        for op in walk::in_block(block) {
            if former.form(op)? {
                cx.count(NormFormComputesStatistic::NumFormed, 1);
            }
        }
        erase_unused(function, block);
    }
    Ok(())
}

/// The state of a function while its ops become computes.
struct Former<'c, 'a> {
    sizes: Sizes<'c, 'a>,
    /// By tensor: the constant that all of its elements equal.
    constants: HashMap<usize, Attribute<'c>>,
}

impl<'c: 'a, 'a> Former<'c, 'a> {
    /// Replaces an op on tensors by its program. Returns whether it is an op of a kind that has one.
    fn form(&mut self, op: OperationRef<'c, 'a>) -> Result<bool, PassError<'c>> {
        if op.result_count() == 0 || !op.results().all(|result| types::is_tensor(result.r#type())) {
            return Ok(false);
        }
        let name = op_name(op);
        let (results, constant) = if name == "arith.constant" {
            self.constant(op)?
        } else if name == "tensor.splat" {
            self.splat(op)?
        } else if name.starts_with("arith.") || name.starts_with("math.") {
            (self.elementwise(op)?, None)
        } else if let Some(view) = View::of(op)? {
            self.view(&view)?
        } else if let Some(maps) = structured::indexing_maps(op) {
            self.structured(op, &maps?)?
        } else {
            return Ok(false);
        };
        let b = Builder::before(op);
        for (old, new) in op.results().zip(&results) {
            self.sizes.rename(old.into(), *new);
            if let Some(constant) = constant {
                self.constants.insert(key(*new), constant);
            }
        }
        b.replace(op, &results);
        Ok(true)
    }
}

/// Replaces numbers that are extracted from constant tensors by constants, before those tensors become programs.
fn extract_constants<'c>(block: BlockRef<'c, '_>) -> PassResult<'c> {
    for op in walk::in_block(block) {
        if let Some(value) = function_scalars::extracted(op) {
            let b = Builder::before(op);
            b.replace(op, &[b.constant(value, op.result(0)?.r#type())]);
        }
    }
    Ok(())
}

/// Erases unused ops that computed sizes of tensors or scalars.
fn erase_unused<'c>(function: OperationRef<'c, '_>, block: BlockRef<'c, '_>) {
    const SIZES_AND_NUMBERS: [&str; 5] = [
        "affine.apply",
        "arith.constant",
        "tensor.dim",
        "tensor.empty",
        "tensor.extract",
    ];
    let is_erasable = |op: &OperationRef<'c, '_>| {
        SIZES_AND_NUMBERS.contains(&op_name(*op)) || function_scalars::is_scalar_op(*op)
    };
    let ops = walk::in_block(block).into_iter().filter(is_erasable);
    Builder::before(function).erase_unused(ops);
}

/// The error for a dynamic extent that equals the size of no tensor.
fn unknown_size<'c>(op: OperationRef<'c, '_>, tensor: Value<'c, '_>, axis: usize) -> PassError<'c> {
    let message = format!(
        "'{}' of {}, whose size along axis {axis} is no tensor's; supported: sizes that are a tensor.dim of a tensor, or another \
         operand's",
        op_name(op),
        tensor.r#type()
    );
    Diagnostic::unsupported(op.location(), message).into()
}
