//! `norm.top_k`: the k largest elements of each row, sorted, and their indices.
//!
//! Each element gets an integer key that orders elements by value and then by index, so that no two keys of a row are equal. The j-th
//! result of a row is the element with the j-th largest key, which a reduction with `nth` yields for each of the k points of a dim.

use melior::ir::{OperationRef, ValueLike};
use norma_dialects::norm::{ReduceKind, TopKOp};

use super::{
    program::{Coordinate, Extent, Program},
    viewed,
};
use crate::mlir::{pass::PassResult, types};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, TopKOp::from_op)?;
    let mut extents = Program::axes(op)?;
    let rank = extents.len();
    let axis = of.axis()?.rem_euclid(rank as i64) as usize;
    extents.push(Extent::Static(of.k()?));
    let p = Program::begin_over(op, extents, &[])?;
    let (of_row, nth) = (&p.dims()[..rank], p.dims()[rank]);
    let x = p.read_stored(of.x()?, &Coordinate::of(of_row))?;
    let keys = p.keys(x.r#type(), axis);
    let found = p.reduce_to_nth(ReduceKind::Max, p.key(keys, x), &[of_row[axis]], nth)?;
    let mut place = of_row.to_vec();
    place[axis] = nth;
    p.write(p.value_of_key(keys, found), of.values()?, &place)?;
    let index = types::element(of.indices()?.r#type());
    p.write(p.place_of_key(keys, found, index), of.indices()?, &place)?;
    p.end();
    Ok(())
}
