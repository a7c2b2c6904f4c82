//! Reads a function's computes into groups, and writes the fused groups back.

use std::collections::BTreeSet;

use melior::ir::{BlockRef, OperationRef, RegionLike, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::ComputeOp;

use super::{
    aliases,
    apart::{self, Apart},
    emit::emit,
    graph::Graph,
    groups::{Group, Groups},
    read::{Shapes, read},
};
use crate::mlir::{
    builder::Builder,
    context,
    pass::{PassError, PassResult},
    types, walk,
};

/// A function whose computes are being fused.
pub(super) struct Function<'c, 'a> {
    end: OperationRef<'c, 'a>,
    graph: Graph<'c, 'a>,
    shapes: Shapes<'c>,
    groups: Groups<'c, 'a>,
    /// The number of groups at the start: one for each op that is needed.
    count: usize,
}

impl<'c: 'a, 'a> Function<'c, 'a> {
    /// Reads a function; `None` if it has fewer than two computes or does not end in `func.return`. With `any_rows`, a dim that no
    /// reduction ranges over or counts results by may count rows, even if its extent is 1.
    pub(super) fn read(
        function: OperationRef<'c, 'a>,
        any_rows: bool,
    ) -> Result<Option<Self>, PassError<'c>> {
        let Some(block) = function.region(0)?.first_block() else {
            return Ok(None);
        };
        let ops = walk::in_block(block);
        let computes = ops.iter().filter(|op| ComputeOp::from_op(**op).is_some()).count();
        let Some(end) = ops
            .last()
            .copied()
            .filter(|op| computes > 1 && walk::has_name(*op, "func.return"))
        else {
            return Ok(None);
        };
        let returned = end.operands().collect::<Vec<_>>();
        let needed = needed(&ops, &returned);
        let mut graph = Graph::new(context::of(function.location()));
        let mut shapes = Shapes::new();
        let mut groups = Vec::new();
        let mut unneeded = Vec::new();
        for op in ops.iter().filter(|op| **op != end) {
            let compute = ComputeOp::from_op(*op);
            if compute.is_some() && !needed.contains(&(op.to_raw().ptr as usize)) {
                unneeded.push(*op);
                continue;
            }
            let program = compute
                .map(|compute| read(&mut graph, &mut shapes, compute, any_rows))
                .transpose()?;
            groups.push(Some(match program {
                Some(Ok(program)) => Group::of(&graph, vec![*op], program),
                Some(Err(alone)) => Group::opaque(*op, Some(alone)),
                None => Group::opaque(*op, None),
            }));
        }
        let aliases = aliases::of(function, block, &returned)?;
        let before = before(block, &aliases);
        Ok(Some(Self {
            end,
            graph,
            shapes,
            count: groups.len(),
            groups: Groups {
                groups,
                returned,
                aliases,
                unneeded,
                before,
            },
        }))
    }

    /// Fuses all groups that fit together.
    pub(super) fn fuse(&mut self) {
        self.groups.fuse(&mut self.graph);
    }

    /// The number of groups that have been fused into others.
    pub(super) fn fused(&self) -> u64 {
        (self.count - self.groups().len()) as u64
    }

    /// The current groups.
    pub(super) fn groups(&self) -> Vec<&Group<'c, 'a>> {
        self.groups.groups.iter().flatten().collect()
    }

    /// The pairs of groups that fusion considered and left apart.
    pub(super) fn apart(&mut self) -> Vec<Apart<'c, 'a>> {
        apart::of(&self.groups, &mut self.graph)
    }

    /// Writes the groups back, each after those that it depends on.
    pub(super) fn write(mut self) -> PassResult<'c> {
        let order = self.groups.order();
        let order =
            order.ok_or_else(|| PassError::Internal("groups of computes wait for each other".to_owned()))?;
        let mut replaced = self.groups.unneeded.clone();
        let mut made = Vec::new();
        for index in order {
            let Some(group) = &self.groups.groups[index] else {
                continue;
            };
            let Some(last) = group.own.last().copied() else {
                continue;
            };
            let Some(program) = group.program.as_ref().filter(|_| group.has_changed()) else {
                // SAFETY: both are alive, and in one block.
                unsafe { mlir_sys::mlirOperationMoveBefore(last.to_raw(), self.end.to_raw()) };
                continue;
            };
            let mut b = Builder::before(self.end);
            b.set_location(last.location());
            let compute = emit(&b, &mut self.graph, &mut self.shapes, program)?;
            made.extend(program.results().into_iter().zip(compute.outputs()));
            replaced.extend(&group.own);
        }
        // Only now: until all programs are written, they refer to tensors by the original ops' results.
        let b = Builder::before(self.end);
        for (old, new) in made {
            b.replace_all_uses(old, new);
        }
        let Some(block) = self.end.block() else {
            return Ok(());
        };
        for op in walk::in_block(block)
            .into_iter()
            .rev()
            .filter(|op| replaced.contains(op))
        {
            Builder::before(op).erase(op);
        }
        Ok(())
    }
}

/// The ops, by address, that a returned value depends on. Ops other than computes all count as needed.
fn needed<'c: 'a, 'a>(ops: &[OperationRef<'c, 'a>], returned: &[Value<'c, 'a>]) -> BTreeSet<usize> {
    let mut wanted = returned.to_vec();
    let mut needed = BTreeSet::new();
    for op in ops.iter().rev() {
        let is_compute = ComputeOp::from_op(*op).is_some();
        if !is_compute || op.results().any(|result| wanted.contains(&result.into())) {
            wanted.extend(op.operands().filter(|operand| types::is_tensor(operand.r#type())));
            needed.insert(op.to_raw().ptr as usize);
        }
    }
    needed
}

/// Pairs of ops of which the first reads an argument that a result of the second may overwrite.
fn before<'c: 'a, 'a>(
    block: BlockRef<'c, 'a>,
    aliases: &[aliases::Alias<'c, 'a>],
) -> Vec<(OperationRef<'c, 'a>, OperationRef<'c, 'a>)> {
    let ops = walk::in_block(block);
    let mut before = Vec::new();
    for alias in aliases {
        let makes =
            |op: &OperationRef<'c, 'a>| op.results().any(|result| Value::from(result) == alias.result);
        let Some(position) = ops.iter().position(makes) else {
            continue;
        };
        let readers = ops[..position]
            .iter()
            .filter(|op| op.operands().any(|operand| operand == alias.argument));
        before.extend(readers.map(|reader| (*reader, ops[position])));
    }
    before
}
