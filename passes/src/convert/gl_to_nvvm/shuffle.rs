//! Exchanges values between lanes: `shfl.sync` of any element, and conversions of layouts within a warp.

use std::collections::HashMap;

use melior::ir::{Attribute, ValueLike};
use norma_layout::{Round, Swap, WarpExchange};
use norma_targets::{REGISTER_BYTES, WARP_SIZE};

use crate::mlir::{comparison::IntegerPredicate, diagnostic::Diagnostic, types};

use super::emit::{Emit, Value};

/// Bits that one shuffle moves.
const WORD_BITS: usize = 8 * REGISTER_BYTES as usize;

/// The lane whose value a lane receives.
#[derive(Clone, Copy)]
pub(super) enum Source<'c, 'a> {
    /// The one whose id differs in the bits of a mask.
    Xor(usize),
    /// The one with this id, i32.
    Lane(Value<'c, 'a>),
}

/// The value that another lane has.
pub(super) fn from_lane<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    value: Value<'c, 'a>,
    source: Source<'c, 'a>,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let ty = value.r#type();
    match types::bit_width(ty) {
        Some(WORD_BITS) => Ok(shuffle(e, value, source)),
        Some(bits @ (1 | 8 | 16)) => {
            let narrow = e.int(bits as u32);
            let wide = e.b.value("arith.extui", &[e.bitcast(value, narrow)], e.int(32));
            let moved = e.b.value("arith.trunci", &[shuffle(e, wide, source)], narrow);
            Ok(e.bitcast(moved, ty))
        }
        Some(64) => {
            let halves = e
                .elements(e.bitcast(value, e.vector_of(2, e.int(32))?))
                .map_err(|error| e.internal(error))?;
            let moved = halves
                .into_iter()
                .map(|half| shuffle(e, half, source))
                .collect::<Vec<_>>();
            Ok(e.bitcast(e.pack(&moved)?, ty))
        }
        _ => Err(e.unsupported(format!(
            "expected elements of 1, 8, 16, 32 or 64 bits to be exchanged between lanes, got {ty}"
        ))),
    }
}

/// `shfl.sync` of a 32-bit value over the full warp.
fn shuffle<'c, 'a>(e: &Emit<'_, 'c, 'a>, value: Value<'c, 'a>, source: Source<'c, 'a>) -> Value<'c, 'a> {
    let context = e.b.context();
    let (kind, lane) = match source {
        Source::Xor(mask) => ("bfly", e.i32(mask as i64)),
        Source::Lane(lane) => ("idx", lane),
    };
    let kind = Attribute::parse(context, &format!("#nvvm<shfl_kind {kind}>"));
    let operands = [e.i32(-1), value, lane, e.i32(WARP_SIZE - 1)];
    let attributes = kind.map(|kind| ("kind", kind));
    e.b.value_with("nvvm.shfl.sync", &operands, value.r#type(), attributes.as_slice())
}

/// A thread's registers after an exchange within its warp.
pub(super) fn exchange<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    tile: Value<'c, 'a>,
    exchange: &WarpExchange,
) -> Result<Value<'c, 'a>, Diagnostic<'c>> {
    let element = types::element(tile.r#type());
    let bits = types::bit_width(element).unwrap_or(WORD_BITS).max(1);
    // Neighbours that go to the same place share a word.
    let packed = (1..=(WORD_BITS / bits).max(1).ilog2())
        .rev()
        .find_map(|group| Some((1_usize << group, exchange.by_groups(group)?)))
        .filter(|_| bits >= 8);
    let (group, exchange) = packed.unwrap_or_else(|| (1, exchange.clone()));
    let elements = e.elements(tile).map_err(|error| e.internal(error))?;
    let mut registers = Vec::with_capacity(elements.len() / group);
    for members in elements.chunks(group) {
        registers.push(match members {
            [single] => *single,
            members => e.bitcast(e.pack(members)?, e.int((group * bits) as u32)),
        });
    }
    swap(e, &mut registers, &exchange.before);

    let source = lane_of(e, &exchange);
    let is_identity = exchange
        .lanes
        .iter()
        .enumerate()
        .all(|(bit, &lane)| lane == 1 << bit)
        && exchange.warps.iter().all(|&lane| lane == 0);
    let mut known: HashMap<Round, Value<'c, 'a>> = HashMap::new();
    let mut received = Vec::with_capacity(exchange.rounds.len());
    for &round in &exchange.rounds {
        let sent = registers[round.register];
        let value = match known.get(&round) {
            Some(&value) => value,
            None if !exchange.moves(round) => sent,
            None if is_identity => from_lane(e, sent, Source::Xor(round.lane))?,
            None => {
                let lane = match round.lane {
                    0 => source,
                    lane => e.xori(source, e.i32(lane as i64)),
                };
                from_lane(e, sent, Source::Lane(lane))?
            }
        };
        known.insert(round, value);
        received.push(value);
    }
    swap(e, &mut received, &exchange.after);

    let mut result = Vec::with_capacity(received.len() * group);
    for value in received {
        match group {
            1 => result.push(value),
            _ => {
                let members = e.bitcast(value, e.vector_of(group, element)?);
                result.extend(e.elements(members).map_err(|error| e.internal(error))?);
            }
        }
    }
    e.pack(&result)
}

/// The source lane of this thread in a round with lane offset 0, i32.
fn lane_of<'c, 'a>(e: &Emit<'_, 'c, 'a>, exchange: &WarpExchange) -> Value<'c, 'a> {
    let thread = e.thread_id();
    let of_thread = exchange.lanes.iter().chain(&exchange.warps).enumerate();
    // Bits that move by the same distance are moved together, by one shift and one mask.
    let mut moves: Vec<(i64, i64)> = Vec::new();
    for (bit, &lane) in of_thread {
        let bit = bit as i64;
        for to in (0..WARP_SIZE.ilog2().into()).filter(|to: &i64| lane >> to & 1 == 1) {
            match moves.iter_mut().find(|(shift, _)| *shift == bit - to) {
                Some((_, mask)) => *mask |= 1 << to,
                None => moves.push((bit - to, 1 << to)),
            }
        }
    }
    let parts = moves.into_iter().map(|(shift, mask)| {
        let shifted = match shift {
            0 => thread,
            shift if shift > 0 => e.shrui(thread, e.i32(shift)),
            shift => e.muli(thread, e.i32(1 << -shift)),
        };
        e.andi(shifted, e.i32(mask))
    });
    parts
        .reduce(|sum, part| e.xori(sum, part))
        .unwrap_or_else(|| e.i32(0))
}

/// Exchanges pairs of registers in the threads that a swap applies to.
fn swap<'c, 'a>(e: &Emit<'_, 'c, 'a>, registers: &mut [Value<'c, 'a>], swaps: &[Swap]) {
    for swap in swaps {
        let condition = applies(e, swap);
        let lowest = swap.registers & swap.registers.wrapping_neg();
        for one in (0..registers.len()).filter(|register| register & lowest == 0) {
            let other = one ^ swap.registers;
            let (a, b) = (registers[one], registers[other]);
            let select =
                |yes, no: Value<'c, 'a>| e.b.value("arith.select", &[condition, yes, no], no.r#type());
            registers[one] = select(b, a);
            registers[other] = select(a, b);
        }
    }
}

/// Whether a swap applies to this thread, i1: the parity of the bits of its id that the swap names.
fn applies<'c, 'a>(e: &Emit<'_, 'c, 'a>, swap: &Swap) -> Value<'c, 'a> {
    let mask = swap.lanes | swap.warps << WARP_SIZE.ilog2();
    let bits = e.andi(e.thread_id(), e.i32(mask as i64));
    let parity = match mask.count_ones() {
        1 => bits,
        _ => {
            let count = e.b.value("llvm.intr.ctpop", &[bits], e.int(32));
            e.andi(count, e.i32(1))
        }
    };
    e.compare(IntegerPredicate::NotEqual, parity, e.i32(0))
}
