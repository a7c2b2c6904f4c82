//! Branches and ends of a kernel.

use super::{
    super::{
        body::Body,
        error::{Result, internal, unsupported},
        kernel::Edges,
        op::Op,
        shape::Shape,
    },
    constant::dense,
};
use crate::program::Instruction;

pub(super) fn branch(op: &Op<'_, '_>, body: &mut Body<'_>, edges: &Edges) -> Result<()> {
    let edge = edges.edge(op, body, 0, 0)?;
    body.push(Instruction::Branch(edge));
    Ok(())
}

pub(super) fn conditional_branch(op: &Op<'_, '_>, body: &mut Body<'_>, edges: &Edges) -> Result<()> {
    let condition = body.scalar(op, 0)?;
    let yes = edges.edge(op, body, 0, op.segment(1)?.start)?;
    let no = edges.edge(op, body, 1, op.segment(2)?.start)?;
    body.push(Instruction::ConditionalBranch { condition, yes, no });
    Ok(())
}

pub(super) fn switch(op: &Op<'_, '_>, body: &mut Body<'_>, edges: &Edges) -> Result<()> {
    let value = body.scalar(op, 0)?;
    let shape = Shape::of(op.operand_type(0)?)?;
    let default = edges.edge(op, body, 0, op.segment(1)?.start)?;
    let sizes = op.integers("case_operand_segments").unwrap_or_default();
    let values = match op.attribute("case_values") {
        None => Vec::new(),
        Some(values) => dense(values, &shape)
            .ok_or_else(|| unsupported(format!("has cases {values}, which are not modelled")))?,
    };
    let mut first = op.segment(2)?.start;
    let mut cases = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        cases.push((value, edges.edge(op, body, index + 1, first)?));
        first += *sizes
            .get(index)
            .ok_or_else(|| internal("has fewer segments than cases"))? as usize;
    }
    body.push(Instruction::Switch {
        value,
        cases,
        default,
    });
    Ok(())
}

/// An op that ends the thread or the kernel.
pub(super) fn end(op: &Op<'_, '_>, body: &mut Body<'_>, instruction: Instruction) -> Result<()> {
    if op.operands() != 0 {
        return Err(internal("gives a value back from a kernel"));
    }
    body.push(instruction);
    Ok(())
}
