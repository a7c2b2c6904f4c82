//! Lowers the ops of clusters: the CTA's rank, the cluster's barrier, and stores and arrivals in the shared memory of other
//! CTAs.
//!
//! A tile that goes to every CTA is sent by several lanes: of the lanes that hold the same elements, each sends to another CTA.

use melior::ir::{Attribute, OperationRef, ValueLike};
use norma_dialects::gl::{ClusterArriveOp, RemoteStoreOp};
use norma_layout::HardwareDim;

use crate::gl::launch;
use crate::mlir::{
    address_space, builder::Builder, comparison::IntegerPredicate, conversion::Rejection,
    diagnostic::Diagnostic, walk,
};

use super::{
    emit::{Emit, Value},
    mbarrier,
    shared::Places,
    threads,
    tile::{self, Tile},
    words::Words,
};

/// Lowers `gl.cluster_rank`.
pub(super) fn rank<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    b.replace(op, &[e.widen(e.cluster_rank())]);
    Ok(())
}

/// Lowers `gl.cluster_arrive`.
pub(super) fn arrive<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let arrive = ClusterArriveOp::from_op(op).ok_or("expected gl.cluster_arrive")?;
    let name = match arrive.relaxed() {
        true => "nvvm.cluster.arrive.relaxed",
        false => "nvvm.cluster.arrive",
    };
    aligned(op, name, b);
    Ok(())
}

/// Lowers `gl.cluster_wait`.
pub(super) fn wait<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    aligned(op, "nvvm.cluster.wait", b);
    Ok(())
}

/// Replaces an op by a part of the cluster's barrier, which all threads of a warp execute together (`.aligned`).
fn aligned<'c, 'a>(op: OperationRef<'c, 'a>, name: &str, b: &Builder<'c, 'a>) {
    b.replace_by(op, name, &[("aligned", Attribute::unit(b.context()))]);
}

/// Lowers `gl.remote_store`.
pub(super) fn remote_store<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let store = RemoteStoreOp::from_op(op).ok_or("expected gl.remote_store")?;
    let [value, base, barriers, index] = operands else {
        return Err("expected a tile, a memory, mbarriers and an index".into());
    };
    let tile = Tile::of(&e, store.tile()?.r#type())?;
    let places = Places::of(&e, &tile, store.memory()?.r#type(), *base)?;
    let words = Words::of(places.bytes)
        .filter(|words| words.bits == 32)
        .ok_or_else(|| e.internal(format!("no store of {} bytes to other CTAs", places.bytes)))?;
    let (suffix, list) = (words.suffix, words.list(3));
    let constraints = format!(
        "r,r,b{},~{{memory}}",
        format!(",{}", words.constraint).repeat(words.count)
    );
    let text =
        format!("@$2 st.async.shared::cluster.mbarrier::complete_tx::bytes.{suffix} [$0], {list}, [$1];");
    let barrier = mbarrier::element(&e, *barriers, *index);
    let copies = |dim| tile.layout.copies(dim);
    let senders = Senders::of(&e, op, copies(HardwareDim::Lane))?;
    let holds = threads::without_bits(
        &e,
        [
            (HardwareDim::Lane, senders.idle_lanes),
            (HardwareDim::Warp, copies(HardwareDim::Warp)),
            (HardwareDim::Block, copies(HardwareDim::Block)),
        ],
    )
    .unwrap_or_else(|| e.bool(true));
    let value = tile::to_memory(&e, *value)?;
    let repeated = copies(HardwareDim::Register);
    for receiver in senders.receivers(&e) {
        let barrier = address_in_cta(&e, barrier, receiver);
        for first in places
            .first_registers()
            .filter(|register| register & repeated == 0)
        {
            let place = address_in_cta(&e, places.pointer(&e, first), receiver);
            let mut operands = vec![place, barrier, holds];
            operands.extend(words.split(&e, e.slice(value, first, places.count)?)?);
            e.inline_ptx(&text, &constraints, &operands, None, true);
        }
    }
    b.erase(op);
    Ok(())
}

/// Lowers `gl.remote_arrive`.
///
/// The arrival releases at the CTA's scope, as widely used pipelines across clusters do (CUTLASS, `ClusterBarrier::arrive`). By
/// the letter of PTX's memory model ("Morally Strong Operations") an arrival of that scope does not synchronize with a wait in
/// another CTA. But this arrival passes no data on: it says that the threads of this CTA, which have met at a barrier, have
/// read their own shared memory, before other CTAs store to it again. That memory is in one place, where all accesses meet, and
/// no cache holds a copy. A read has been performed there once the barrier behind it has been passed, so it cannot return the
/// value of a store that is issued because of the arrival. At the cluster's scope the arrival would wait until everything that
/// the CTA has stored to global memory is visible to the GPU (MEMBAR.ALL.GPU in SASS of sm_90a), in each step of a loop. Other
/// CTAs' stores are signalled by the bytes that complete on the mbarrier, not by this arrival.
pub(super) fn remote_arrive<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let [barriers, index, ..] = operands else {
        return Err("expected mbarriers and an index".into());
    };
    let barrier = mbarrier::element(&e, *barriers, *index);
    let ctas = size(&e, op)?;
    let rank = e.thread_id();
    let is_sender = e.compare(IntegerPredicate::Less, rank, e.i32(ctas));
    e.instead(is_sender, None, || {
        mbarrier::arrival(&e, "nvvm.mbarrier.arrive", &[in_cta(&e, barrier, rank)], &[])?;
        Ok(None)
    })?;
    b.erase(op);
    Ok(())
}

/// Which lanes send to which CTAs: of the lanes that hold the same elements, each sends to another CTA.
struct Senders {
    /// The bits of the lane number that are the receiving CTA's rank, from the rank's lowest bit on.
    lane_bits: Vec<u32>,
    /// The number of bits of the rank beyond those: each lane sends to the CTAs of all their values.
    bits_left: u32,
    /// The bits of the lane number that are set only in lanes that would repeat what other lanes send.
    idle_lanes: usize,
}

impl Senders {
    /// The senders of a tile in which lanes that differ only in the bits of `copies` hold the same elements.
    fn of<'c>(e: &Emit<'_, 'c, '_>, op: OperationRef<'c, '_>, copies: usize) -> Result<Self, Diagnostic<'c>> {
        let bits = size(e, op)?.ilog2();
        let lane_bits = (0..usize::BITS)
            .filter(|bit| copies >> bit & 1 == 1)
            .take(bits as usize)
            .collect::<Vec<_>>();
        let used = lane_bits.iter().map(|bit| 1 << bit).sum::<usize>();
        Ok(Self {
            bits_left: bits - lane_bits.len() as u32,
            idle_lanes: copies & !used,
            lane_bits,
        })
    }

    /// The ranks of the CTAs that a thread sends to, one after the other.
    fn receivers<'c, 'a>(&self, e: &Emit<'_, 'c, 'a>) -> Vec<Value<'c, 'a>> {
        let own = self.lane_bits.iter().zip(0_i64..).map(|(bit, place)| {
            let lane = match *bit {
                0 => e.lane_id(),
                bit => e.shrui(e.lane_id(), e.i32(bit.into())),
            };
            e.scale(e.andi(lane, e.i32(1)), 1 << place)
        });
        let own = e.sum(own);
        (0..1_i64 << self.bits_left)
            .map(|high| {
                let high = high << self.lane_bits.len();
                match own {
                    Some(own) if high == 0 => own,
                    Some(own) => e.addi(own, e.i32(high)),
                    None => e.i32(high),
                }
            })
            .collect()
    }
}

/// The number of CTAs in a cluster of the kernel around `op`.
pub(super) fn size<'c>(e: &Emit<'_, 'c, '_>, op: OperationRef<'c, '_>) -> Result<i64, Diagnostic<'c>> {
    let size = walk::enclosing(op, "llvm.func").and_then(launch::of);
    size.map(|launch| launch.cluster())
        .ok_or_else(|| e.internal("expected a kernel with gl.launch"))
}

/// The same address in the shared memory of another CTA.
fn in_cta<'c, 'a>(e: &Emit<'_, 'c, 'a>, pointer: Value<'c, 'a>, rank: Value<'c, 'a>) -> Value<'c, 'a> {
    let space = melior::dialect::llvm::r#type::pointer(e.b.context(), address_space::CLUSTER_SHARED);
    e.b.value("nvvm.mapa", &[pointer, rank], space)
}

/// The same address in the shared memory of another CTA, as the 32-bit integer that inline PTX takes.
pub(super) fn address_in_cta<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    pointer: Value<'c, 'a>,
    rank: Value<'c, 'a>,
) -> Value<'c, 'a> {
    e.b.value("llvm.ptrtoint", &[in_cta(e, pointer, rank)], e.int(32))
}
