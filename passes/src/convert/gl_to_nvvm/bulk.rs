//! Copies by the copy engine: contiguous bytes from global to shared memory.

use melior::ir::{OperationRef, ValueLike, attribute::DenseI32ArrayAttribute, operation::OperationLike};
use norma_dialects::gl::{BulkLoadOp, MemDescType};
use norma_layout::LinearLayout;
use norma_targets::WARP_SIZE;

use crate::mlir::comparison::IntegerPredicate;
use crate::{
    gl::shared_memory,
    mlir::{
        conversion::{ConversionBuilder, Rejection},
        types,
    },
};

use super::{
    access::Access,
    emit::{Emit, Value},
    form::Scalars,
    mbarrier,
    params::Buffer,
};

/// Lowers `gl.bulk_load`, which one thread does. Nothing is copied where `count` is 0, as the engine takes no empty copies.
pub(super) fn load<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let load = BulkLoadOp::from_op(op).ok_or("expected gl.bulk_load")?;
    if load.cache().is_some() {
        return Err(e
            .unsupported("expected a bulk copy without cache hints, which slow it down on sm_90a")
            .into());
    }
    let count = load.indices().len();
    let (buffer, rest) = operands.split_first().ok_or("expected a buffer")?;
    let (indices, rest) = rest.split_at(count);
    let [memory, array, index, given @ ..] = rest else {
        return Err("expected a memory and an mbarrier".into());
    };
    let ty = load.memory()?.r#type();
    let element = MemDescType::from_type(ty)
        .ok_or("expected shared memory")?
        .element_type();
    let bytes = types::element_bytes(element)
        .ok_or_else(|| e.unsupported(format!("expected elements of whole bytes, got {element}")))?;

    // A tile of one element, which every thread has.
    let bases = [
        Vec::new(),
        vec![Vec::new(); WARP_SIZE.ilog2() as usize],
        Vec::new(),
        Vec::new(),
    ];
    let layout = LinearLayout::new(bases, Vec::new()).map_err(|error| e.internal(error))?;
    let scalars = Scalars::new(indices, load.indices());
    let access = Access::new(&e, &layout, vec![0], scalars)?;
    let strides = Buffer::of(&e, op, load.buffer()?)?.strides(&e)?;
    let addresses = access.addresses(load.access()?, *buffer, &strides, e.int(bytes as u32 * 8), 1)?;
    let source = addresses.of(&e, 0);
    let barrier = mbarrier::element(&e, *array, *index);
    let segments = DenseI32ArrayAttribute::new(b.context(), &[1, 1, 1, 1, 0, 0]);
    let copy = |size: Value<'c, 'a>| {
        b.op_with(
            "nvvm.cp.async.bulk.shared.cluster.global",
            &[*memory, source, barrier, size],
            &[],
            &[("operandSegmentSizes", segments.into())],
            Vec::new(),
        );
    };
    match given {
        [] => copy(e.i32(shared_memory::bytes(ty, op.location())?)),
        [count, ..] => {
            let count = b.value("arith.trunci", &[*count], e.int(32));
            let is_there = e.compare(IntegerPredicate::Less, e.i32(0), count);
            e.instead(is_there, None, || {
                copy(e.scale(count, bytes));
                Ok(None)
            })?;
        }
    }
    b.erase(op);
    Ok(())
}
