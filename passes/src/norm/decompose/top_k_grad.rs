//! `norm.top_k_grad`: scatters the gradients of the k values of a row to the elements that they were taken from.
//!
//! Elements that no index names are written too, and one that several name gets the sum, neither of which `norm.scatter` does. So this is a
//! reduction: each element of the row sums over the k gradients, where one whose index is another element's counts as 0.

use melior::ir::OperationRef;
use norma_dialects::norm::{ReduceKind, TopKGradOp};

use super::{
    program::{Extent, Program},
    viewed,
};
use crate::mlir::pass::PassResult;

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let grad = viewed(op, TopKGradOp::from_op)?;
    let mut extents = Program::axes(op)?;
    let rank = extents.len();
    let axis = grad.axis()?.rem_euclid(rank as i64) as usize;
    extents.push(Extent::Static(grad.elements()?));
    let p = Program::begin_over(op, extents, &[])?;
    let (of_values, places) = p.dims().split_at(rank);
    let dvalue = p.read(grad.dvalues()?, of_values)?;
    let index = p.integer(grad.indices()?, of_values)?;
    let of_place = p.select(p.is_at(index, places)?, dvalue, p.constant(0.0));
    let dx = p.reduce(ReduceKind::Add, of_place, &of_values[axis..=axis])?;
    let mut at = of_values.to_vec();
    at[axis] = places[0];
    p.write(dx, grad.dx()?, &at)?;
    p.end();
    Ok(())
}
