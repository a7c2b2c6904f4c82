//! Lowers the ops on mbarriers: their addresses in shared memory, arrivals and waits. Ops that one thread executes stand in a
//! branch of that thread already (`partitions`).

use melior::ir::{Attribute, OperationRef, Type, ValueLike, attribute::BoolAttribute};
use norma_dialects::gl::{MBarrierArriveOp, MBarrierInitOp, MBarrierType, MBarrierWaitOp};
use norma_targets::MBARRIER_BYTES;

use crate::{
    gl::steps,
    mlir::{
        builder::Builder, comparison::IntegerPredicate, conversion::Rejection, diagnostic::Diagnostic,
        region, walk,
    },
};

use super::emit::{Emit, Value};

/// Lowers `gl.mbarrier_init`: every mbarrier of the array.
pub(super) fn init<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let init = MBarrierInitOp::from_op(op).ok_or("expected gl.mbarrier_init")?;
    let ty = MBarrierType::from_type(init.barriers()?.r#type()).ok_or("expected mbarriers")?;
    let arrivals = e.i32(init.arrivals()?);
    for index in 0..ty.count() {
        let barrier = e.constant_pointer(operands[0], e.int(8), index * MBARRIER_BYTES);
        b.op("nvvm.mbarrier.init", &[barrier, arrivals], &[]);
    }
    b.erase(op);
    Ok(())
}

/// Lowers `gl.fence_mbarrier_init`.
pub(super) fn fence_init<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    b.replace_by(op, "nvvm.fence.mbarrier.init", &[]);
    Ok(())
}

/// Lowers `gl.mbarrier_expect`.
pub(super) fn expect<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let [array, index, bytes] = operands else {
        return Err("expected an array, an index and bytes".into());
    };
    let bytes = b.value("arith.trunci", &[*bytes], e.int(32));
    expect_at(&e, element(&e, *array, *index), bytes)?;
    b.erase(op);
    Ok(())
}

/// Arrives at an mbarrier, and announces `bytes` bytes, an i32, to its phase.
pub(super) fn expect_at<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    barrier: Value<'c, 'a>,
    bytes: Value<'c, 'a>,
) -> Result<(), Diagnostic<'c>> {
    arrival(e, "nvvm.mbarrier.arrive.expect_tx", &[barrier, bytes], &[])
}

/// Lowers `gl.mbarrier_arrive`: one lane of each warp arrives, once all lanes have reached the op.
pub(super) fn arrive<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    MBarrierArriveOp::from_op(op).ok_or("expected gl.mbarrier_arrive")?;
    let [array, index] = operands else {
        return Err("expected an array and an index".into());
    };
    let barrier = element(&e, *array, *index);
    b.op("nvvm.bar.warp.sync", &[e.i32(-1)], &[]);
    let is_first = e.compare(IntegerPredicate::Equal, e.lane_id(), e.i32(0));
    e.instead(is_first, None, || {
        arrive_at(&e, barrier)?;
        Ok(None)
    })?;
    b.erase(op);
    Ok(())
}

/// Arrives at an mbarrier, and releases what the thread wrote before.
pub(super) fn arrive_at<'c, 'a>(e: &Emit<'_, 'c, 'a>, barrier: Value<'c, 'a>) -> Result<(), Diagnostic<'c>> {
    arrival(e, "nvvm.mbarrier.arrive", &[barrier], &[e.int(64)])
}

/// Builds an arrival at an mbarrier, the op `name`, which releases what the thread wrote before.
pub(super) fn arrival<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    name: &str,
    operands: &[Value<'c, 'a>],
    results: &[Type<'c>],
) -> Result<(), Diagnostic<'c>> {
    e.b.op_with(name, operands, results, &ordered(e)?, Vec::new());
    Ok(())
}

/// Lowers `gl.mbarrier_wait`: a loop, since `try_wait` gives up after a time.
///
/// The wait acquires at the CTA's scope even where other CTAs of a cluster arrive, as widely used pipelines across clusters do: at
/// the cluster's scope it would invalidate the L1 cache.
pub(super) fn wait<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    MBarrierWaitOp::from_op(op).ok_or("expected gl.mbarrier_wait")?;
    let [array, index, parity] = operands else {
        return Err("expected an array, an index and a parity".into());
    };
    until(&e, element(&e, *array, *index), *parity)?;
    b.erase(op);
    Ok(())
}

/// Waits until the phase of that parity has completed at an mbarrier.
pub(super) fn until<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    barrier: Value<'c, 'a>,
    parity: Value<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let b = e.b;
    let parity = b.value("arith.extui", &[parity], e.int(32));
    let attributes = ordered(e)?;
    let regions = [(); 2].map(|()| region::of_block(&[]));
    let polling = b.op_with("scf.while", &[], &[], &[], regions.into());
    b.within(polling, walk::entry_block(polling)?, || {
        let done = b.value_with(
            "nvvm.mbarrier.try_wait",
            &[barrier, parity],
            e.int(1),
            &attributes,
        );
        let again = e.xori(done, e.bool(true));
        b.op("scf.condition", &[again], &[]);
    });
    b.within(polling, steps::body(polling)?, || b.op("scf.yield", &[], &[]));
    Ok(())
}

/// An mbarrier of an array, which lie side by side; the index is i64.
pub(super) fn element<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    array: Value<'c, 'a>,
    index: Value<'c, 'a>,
) -> Value<'c, 'a> {
    e.element_pointer(array, e.int(8 * MBARRIER_BYTES as u32), index)
}

/// The attributes of an op on an mbarrier that orders memory within the CTA.
fn ordered<'c>(e: &Emit<'_, 'c, '_>) -> Result<[(&'static str, Attribute<'c>); 2], Diagnostic<'c>> {
    let context = e.b.context();
    let scope =
        Attribute::parse(context, "#nvvm.mem_scope<cta>").ok_or_else(|| e.internal("no scope of the CTA"))?;
    Ok([
        ("relaxed", BoolAttribute::new(context, false).into()),
        ("scope", scope),
    ])
}
