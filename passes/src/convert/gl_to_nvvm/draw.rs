//! Lowers the ops by which CTAs draw tiles: a counter in global memory, and numbers in shared memory.

use melior::ir::{Attribute, OperationRef, attribute::StringAttribute};
use norma_dialects::gl::{AwaitTileOp, DrawTileOp};

use crate::mlir::{
    builder::Builder, comparison::IntegerPredicate, conversion::Rejection, diagnostic::Diagnostic,
};

use super::{
    cluster,
    emit::{Emit, Value},
    mbarrier,
};

/// Bytes of a tile's number, in global and in shared memory.
const BYTES: i64 = 8;

/// The atomic operations in use, with the numbers of LLVM's `AtomicBinOp`.
#[derive(Clone, Copy)]
enum Atomic {
    Exchange = 0,
    Add = 1,
}

/// Lowers `gl.draw_tile`, which one thread executes; in a cluster one thread of each CTA, of which that of the first CTA draws, and sends the
/// number to all CTAs. The atomics are relaxed, as CTAs exchange no data by them. The last draw resets the counter, which only the next
/// launch reads.
pub(super) fn draw<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    DrawTileOp::from_op(op).ok_or("expected gl.draw_tile")?;
    let [counter, tiles, dealt, numbers, drawn, index] = operands else {
        return Err("expected a counter, two numbers, a memory, mbarriers and an index".into());
    };
    let place = e.element_pointer(*numbers, e.int(64), *index);
    let barrier = mbarrier::element(&e, *drawn, *index);
    let ctas = cluster::size(&e, op)?;
    if ctas == 1 {
        let number = e.addi(*dealt, drawn_before(&e, *counter, *tiles)?);
        e.store(number, place, BYTES);
        mbarrier::arrive_at(&e, barrier)?;
        b.erase(op);
        return Ok(());
    }
    mbarrier::expect_at(&e, barrier, e.i32(BYTES))?;
    let is_first = e.compare(IntegerPredicate::Equal, e.cluster_rank(), e.i32(0));
    e.instead(is_first, None, || {
        let number = e.addi(*dealt, drawn_before(&e, *counter, *tiles)?);
        for rank in 0..ctas {
            let [place, barrier] =
                [place, barrier].map(|place| cluster::address_in_cta(&e, place, e.i32(rank)));
            e.inline_ptx(
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [$0], $2, [$1];",
                "r,r,l,~{memory}",
                &[place, barrier, number],
                None,
                true,
            );
        }
        Ok(None)
    })?;
    b.erase(op);
    Ok(())
}

/// Draws from the counter: returns how many numbers were drawn before, and resets it behind the last draw of a launch.
fn drawn_before<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    counter: Value<'c, 'a>,
    tiles: Value<'c, 'a>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let before = atomic(e, Atomic::Add, counter, e.i64(1));
    let is_last = e.compare(IntegerPredicate::Equal, before, e.subi(tiles, e.i64(1)));
    e.instead(is_last, None, || {
        atomic(e, Atomic::Exchange, counter, e.i64(0));
        Ok(None)
    })?;
    Ok(before)
}

/// Lowers `gl.await_tile`.
pub(super) fn wait<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    AwaitTileOp::from_op(op).ok_or("expected gl.await_tile")?;
    let [numbers, drawn, index, parity] = operands else {
        return Err("expected a memory, mbarriers, an index and a parity".into());
    };
    mbarrier::until(&e, mbarrier::element(&e, *drawn, *index), *parity)?;
    let place = e.element_pointer(*numbers, e.int(64), *index);
    b.replace(op, &[e.load(place, e.int(64), BYTES)]);
    Ok(())
}

/// A relaxed atomic operation on global memory at the device's scope; returns the previous value.
fn atomic<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    operation: Atomic,
    place: Value<'c, 'a>,
    operand: Value<'c, 'a>,
) -> Value<'c, 'a> {
    /// LLVM's `AtomicOrdering` of that name.
    const MONOTONIC: i64 = 2;
    let context = e.b.context();
    let attributes: [(&str, Attribute<'c>); 4] = [
        ("bin_op", e.b.i64_attribute(operation as i64)),
        ("ordering", e.b.i64_attribute(MONOTONIC)),
        ("syncscope", StringAttribute::new(context, "device").into()),
        ("alignment", e.b.i64_attribute(BYTES)),
    ];
    e.b.value_with("llvm.atomicrmw", &[place, operand], e.int(64), &attributes)
}
