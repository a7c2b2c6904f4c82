//! Memory for the partial results of an exchange. In a loop it is double-buffered, so that a step need not wait until all
//! threads have read what the previous step exchanged.

use melior::ir::Type;
use norma_dialects::gl::{MemDescType, PlainAttr};

use crate::mlir::builder::Builder;

/// The number of buffers of an exchange that is repeated in a loop.
pub(super) const BUFFERS: i64 = 2;

/// The type of memory for partial results of `shape`: one buffer, or [`BUFFERS`] stages if the exchange is repeated. The
/// partials of one result, along `axis`, are contiguous, so that a thread reads them as a vector.
pub(super) fn memory<'c>(
    b: &Builder<'c, '_>,
    shape: &[i64],
    axis: usize,
    element: Type<'c>,
    is_repeated: bool,
) -> MemDescType<'c> {
    let mut shape = shape.to_vec();
    let mut order = vec![axis as i64];
    order.extend(
        (0..shape.len() as i64)
            .rev()
            .filter(|&other| other != axis as i64),
    );
    if is_repeated {
        shape.insert(0, BUFFERS);
        order.iter_mut().for_each(|axis| *axis += 1);
        order.push(0);
    }
    let plain = PlainAttr::get(b.context(), &order, 0, 0);
    MemDescType::get(b.context(), &shape, element, plain.into())
}
