//! Loads and stores.
//!
//! A vector is accessed in pieces as LLVM's NVPTX back end makes them: of at most 16 bytes, and no larger than the
//! alignment that the op promises.

use melior::ir::Type;

use super::super::{
    body::Body,
    error::{Result, internal, unsupported},
    op::Op,
    shape::{Scalar, Shape},
};
use crate::program::{Guard, Instruction, MemoryOrder, Register, Space};

/// The widest access of a thread, in bytes (PTX ISA 8.8, "Vector operands": four times 32 bits or twice 64).
const WIDEST_PIECE: u64 = 16;

/// Some components that are accessed at once.
struct Piece {
    /// Bytes from the start.
    offset: u64,
    components: std::ops::Range<usize>,
    /// Bytes of a component.
    bytes: u8,
    align: u32,
}

/// The order of the op: `volatile` is a strong access of system scope (PTX ISA 8.8, "Volatile Operations").
fn order(op: &Op<'_, '_>) -> Result<MemoryOrder> {
    let mut order = atomic_order(op, "ordering")?;
    order.strong |= op.flag("volatile_");
    Ok(order)
}

/// The memory order that an attribute with LLVM's `AtomicOrdering` states, with the op's `syncscope`.
pub(super) fn atomic_order(op: &Op<'_, '_>, attribute: &str) -> Result<MemoryOrder> {
    let (acquire, release) = match op.integer(attribute).unwrap_or(0) {
        0 => return Ok(MemoryOrder::default()),
        // unordered and monotonic
        1 | 2 => (false, false),
        4 => (true, false),
        5 => (false, true),
        // acq_rel and seq_cst
        6 | 7 => (true, true),
        other => {
            return Err(unsupported(format!(
                "has {attribute} {other}, which is not modelled"
            )));
        }
    };
    Ok(MemoryOrder {
        release,
        acquire,
        strong: true,
        cta: is_cta_scope(op)?,
    })
}

/// Whether the op's scope is the CTA. NVPTX's scopes are named in LLVM's "User Guide for NVPTX Back-end".
pub(super) fn is_cta_scope(op: &Op<'_, '_>) -> Result<bool> {
    match op.text("syncscope").unwrap_or("") {
        "block" => Ok(true),
        "" | "device" | "cluster" => Ok(false),
        other => Err(unsupported(format!(
            "has syncscope \"{other}\", which is not modelled"
        ))),
    }
}

/// The space that a pointer points to.
pub(in super::super) fn pointee(ty: Type<'_>) -> Result<Space> {
    match Scalar::of(ty)? {
        Scalar::Pointer(space) => Ok(space),
        other => Err(internal(format!("expected a pointer, got {other:?}"))),
    }
}

/// The pieces in which a value of `shape` is accessed at `align`.
fn pieces(shape: &Shape, align: u64) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    split(shape, align, 0, 0, &mut pieces)?;
    Ok(pieces)
}

fn split(shape: &Shape, align: u64, offset: u64, first: usize, pieces: &mut Vec<Piece>) -> Result<()> {
    let (element, count) = match shape {
        Shape::Scalar(scalar) => (*scalar, 1),
        Shape::Vector { element, count } => (*element, *count as usize),
        Shape::Array { .. } | Shape::Struct { .. } => {
            let mut index = 0;
            let mut components = 0;
            while components < shape.count() {
                let part = shape
                    .part(index)
                    .ok_or_else(|| internal("has an aggregate with fewer parts than scalars"))?;
                split(
                    &part.shape,
                    align,
                    offset + part.offset,
                    first + part.first,
                    pieces,
                )?;
                components = part.first + part.shape.count();
                index += 1;
            }
            return Ok(());
        }
    };
    let bits = element.bits();
    if !matches!((bits, count), (8 | 16 | 32 | 64, _) | (1, 1)) {
        return Err(unsupported(format!(
            "accesses {count} components of {bits} bits in memory, which is not modelled"
        )));
    }
    let bytes = u64::from(element.bytes());
    let mut done = 0;
    while done < count {
        let at = offset + done as u64 * bytes;
        let aligned = align.min(1 << at.trailing_zeros().min(32));
        let fits = (aligned.min(WIDEST_PIECE) / bytes).max(1) as usize;
        let left = count - done;
        // A vector access has 1, 2, 4... components.
        let taken = fits.min(1 << left.ilog2());
        pieces.push(Piece {
            offset: at,
            components: first + done..first + done + taken,
            bytes: element.bytes(),
            align: aligned as u32,
        });
        done += taken;
    }
    Ok(())
}

fn alignment(op: &Op<'_, '_>, shape: &Shape) -> u64 {
    op.integer("alignment")
        .map_or_else(|| shape.align(), |align| align as u64)
        .max(1)
}

fn address(body: &mut Body<'_>, base: Register, offset: u64) -> Register {
    if offset == 0 {
        return base;
    }
    let to = body.fresh();
    let b = body.constant(offset);
    body.push(Instruction::Address {
        to,
        a: base,
        b,
        bits: 64,
        scale: 1,
    });
    to
}

pub(super) fn load(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let shape = Shape::of(op.result_type(0)?)?;
    let space = pointee(op.operand_type(0)?)?;
    let order = order(op)?;
    let base = body.scalar(op, 0)?;
    let registers = body.fresh_many(shape.count());
    let invariant = op.flag("invariant") || (!order.strong && body.invariant.contains(&base));
    for piece in pieces(&shape, alignment(op, &shape))? {
        let address = address(body, base, piece.offset);
        body.push(Instruction::Load {
            space,
            order,
            invariant,
            to: registers[piece.components].to_vec(),
            bytes: piece.bytes,
            address,
            align: piece.align,
            guard: None,
        });
    }
    body.result(op, registers)
}

/// `llvm.intr.masked.load`: one access for each component whose mask is 1, as NVPTX expands it; the other components
/// are those of the third operand.
pub(super) fn masked_load(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let (masks, kept) = (body.operand(op, 1)?, body.operand(op, 2)?);
    let base = body.scalar(op, 0)?;
    let space = pointee(op.operand_type(0)?)?;
    let (bytes, align) = component(op, op.result_type(0)?)?;
    let registers = body.fresh_many(kept.len());
    for (index, &to) in registers.iter().enumerate() {
        let address = address(body, base, index as u64 * u64::from(bytes));
        body.push(Instruction::Copy {
            to,
            from: kept[index],
        });
        body.push(Instruction::Load {
            space,
            order: MemoryOrder::default(),
            invariant: body.invariant.contains(&base),
            to: vec![to],
            bytes,
            address,
            align: align.min(u32::from(bytes)),
            guard: Some(lanes_of(masks[index])),
        });
    }
    body.result(op, registers)
}

/// `llvm.intr.masked.store`.
pub(super) fn masked_store(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let (values, masks) = (body.operand(op, 0)?, body.operand(op, 2)?);
    let base = body.scalar(op, 1)?;
    let space = pointee(op.operand_type(1)?)?;
    let (bytes, align) = component(op, op.operand_type(0)?)?;
    for (index, from) in values.into_iter().enumerate() {
        let address = address(body, base, index as u64 * u64::from(bytes));
        body.push(Instruction::Store {
            space,
            order: MemoryOrder::default(),
            from: vec![from],
            bytes,
            address,
            align: align.min(u32::from(bytes)),
            guard: Some(lanes_of(masks[index])),
        });
    }
    Ok(())
}

fn lanes_of(mask: Register) -> Guard {
    Guard {
        register: mask,
        negated: false,
    }
}

/// The bytes of a component of a masked access, and the access's alignment.
fn component(op: &Op<'_, '_>, ty: Type<'_>) -> Result<(u8, u32)> {
    let scalar = Shape::of(ty)?.element()?;
    match scalar.bits() {
        8 | 16 | 32 | 64 => Ok((scalar.bytes(), op.need_integer("alignment")? as u32)),
        bits => Err(unsupported(format!(
            "accesses components of {bits} bits in memory, which is not modelled"
        ))),
    }
}

pub(super) fn store(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let shape = Shape::of(op.operand_type(0)?)?;
    let space = pointee(op.operand_type(1)?)?;
    let order = order(op)?;
    let registers = body.operand(op, 0)?;
    let base = body.scalar(op, 1)?;
    for piece in pieces(&shape, alignment(op, &shape))? {
        let address = address(body, base, piece.offset);
        body.push(Instruction::Store {
            space,
            order,
            from: registers[piece.components].to_vec(),
            bytes: piece.bytes,
            address,
            align: piece.align,
            guard: None,
        });
    }
    Ok(())
}
