//! Mbarriers: one thread initialises them and expects bytes, all threads wait.

use melior::ir::{Block, OperationRef, Region, RegionLike, ValueLike, operation::OperationLike};
use norma_dialects::gl::{MBarrierInitOp, MBarrierType};

use crate::mlir::{
    conversion::{ConversionBuilder, Rejection},
    diagnostic::Diagnostic,
};

use super::{
    emit::{Emit, Value},
    shared,
};

/// Lowers `gl.mbarrier_alloc` to an address in the kernel's shared memory.
pub(super) fn alloc<'c, 'a>(
    op: OperationRef<'c, 'a>,
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let address = shared::allocated(&Emit::new(b), op)?;
    b.replace(op, &[address]);
    Ok(())
}

/// Lowers `gl.mbarrier_init`.
pub(super) fn init<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let init = MBarrierInitOp::from_op(op).ok_or("expected gl.mbarrier_init")?;
    let [barriers] = operands else {
        return Err("expected mbarriers".into());
    };
    let count = MBarrierType::from_type(init.barriers()?.r#type())
        .ok_or("expected mbarriers")?
        .count();
    let arrivals = init.arrivals()?;
    by_one_thread(&e, || {
        for index in 0..count {
            let barrier = e.constant_pointer(*barriers, e.int(64), index);
            b.op("nvvm.mbarrier.init", &[barrier, e.i32(arrivals)], &[]);
        }
    })?;
    b.erase(op);
    Ok(())
}

/// Lowers `gl.fence_mbarrier_init`, for the thread that [`init`] picks.
pub(super) fn fence_init<'c, 'a>(
    op: OperationRef<'c, 'a>,
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    by_one_thread(&Emit::new(b), || {
        b.op("nvvm.fence.mbarrier.init", &[], &[]);
    })?;
    b.erase(op);
    Ok(())
}

/// Lowers `gl.mbarrier_expect`.
pub(super) fn expect<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let [barriers, index, bytes] = operands else {
        return Err("expected mbarriers, an index and bytes".into());
    };
    let barrier = element(&e, *barriers, *index);
    by_one_thread(&e, || {
        let bytes = b.value("arith.trunci", &[*bytes], e.int(32));
        b.op("nvvm.mbarrier.arrive.expect_tx", &[barrier, bytes], &[]);
    })?;
    b.erase(op);
    Ok(())
}

/// Lowers `gl.mbarrier_wait` to a loop, as the instruction may give up early.
///
/// The wait acquires at the CTA's scope although other CTAs arrive, as widely used pipelines across clusters do: at the cluster's
/// scope it would invalidate the L1 cache.
pub(super) fn wait<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &ConversionBuilder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let [barriers, index, parity] = operands else {
        return Err("expected mbarriers, an index and a parity".into());
    };
    let barrier = element(&e, *barriers, *index);
    let parity = b.value("arith.extui", &[*parity], e.int(32));
    let region = || {
        let region = Region::new();
        region.append_block(Block::new(&[]));
        region
    };
    let retry = b.op_with("scf.while", &[], &[], &[], vec![region(), region()]);
    let block = |index| {
        let region = retry.region(index)?;
        let block = region.first_block();
        block.ok_or_else(|| Rejection::from(e.internal("expected a block")))
    };
    b.within(retry, block(0)?, || {
        let is_over = b.value("nvvm.mbarrier.try_wait", &[barrier, parity], e.int(1));
        let goes_on = e.xori(is_over, e.bool(true));
        b.op("scf.condition", &[goes_on], &[]);
    });
    b.within(retry, block(1)?, || {
        b.op("scf.yield", &[], &[]);
    });
    b.erase(op);
    Ok(())
}

/// One mbarrier of an array.
pub(super) fn element<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    barriers: Value<'c, 'a>,
    index: Value<'c, 'a>,
) -> Value<'c, 'a> {
    e.element_pointer(barriers, e.int(64), index)
}

/// What `build` builds, for one thread of the CTA.
fn by_one_thread<'c, 'a>(e: &Emit<'_, 'c, 'a>, build: impl FnOnce()) -> Result<(), Diagnostic<'c>> {
    let is_first = e.compare("eq", e.thread_id(), e.i32(0));
    e.instead(is_first, None, || {
        build();
        Ok(None)
    })?;
    Ok(())
}
