//! `cp.async`: copies of 4, 8 or 16 bytes by each thread, from global to shared memory without registers.
//!
//! The threads of the CTA share a tile as `LinearLayout::cooperative_copy` distributes it. A guard becomes the number of bytes
//! that an instruction reads, which fills up the rest with zeros: all of them, none, or, where a guard ends within a vector,
//! those of the first elements. Two kinds of elements go through registers: those that are shorter than any copy, and those of
//! a vector of which guards mask off others than the last elements. All of these are loaded before the first is stored, so that
//! the loads are in flight together.

use melior::ir::{
    Attribute, OperationRef, ValueLike,
    attribute::{DenseI32ArrayAttribute, IntegerAttribute},
    operation::OperationLike,
};
use norma_dialects::{
    gl::{AsyncCopyOp, AsyncWaitOp, MemDescType},
    layout,
};
use norma_layout::LinearLayout;
use norma_targets::{CP_ASYNC_BYTES, WARP_SIZE};

use crate::mlir::{builder::Builder, conversion::Rejection, diagnostic::Diagnostic, walk};

use super::{
    access::{Access, Addresses},
    buffer::Buffer,
    emit::{Emit, Value},
    form::Scalars,
    global::Vector,
    guards::{Guards, Predicate, Reach},
    shared::Places,
    threads,
    tile::{self, Tile},
};

/// What the ops become.
pub(super) const COPY: &str = "nvvm.cp.async.shared.global";
pub(super) const COMMIT: &str = "nvvm.cp.async.commit.group";
pub(super) const WAIT: &str = "nvvm.cp.async.wait.group";

/// The attribute of a wait: how many groups it leaves in flight.
pub(super) const PENDING: &str = "n";

/// Lowers `gl.async_copy`.
pub(super) fn copy<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let copy = AsyncCopyOp::from_op(op).ok_or("expected gl.async_copy")?;
    if copy.cache().is_some() {
        return Err(e
            .unsupported("expected a copy by cp.async without cache hints")
            .into());
    }
    let vector = copy.vector().ok_or_else(|| {
        Diagnostic::user(
            op.location(),
            "expected a copy with a vector; run gl-vectorize-access first",
        )
    })?;
    let (Some((buffer, rest)), Some(base)) = (operands.split_first(), operands.last()) else {
        return Err("expected a buffer and a memory".into());
    };
    let (indices, rest) = rest.split_at(copy.indices().len());
    let limits = &rest[..copy.limits().len()];
    let memory = copy.memory()?.r#type();
    let layout = layout_of(&e, op, copy.memory()?, vector)?;
    let element = MemDescType::from_type(memory).ok_or("expected shared memory")?;
    let element = tile::llvm_element(element.element_type(), |bits| e.int(bits));
    let tile = Tile { layout, element };
    let element = tile::memory_element(&e, element);

    let registers = tile.layout.num_registers();
    let scalars = Scalars::new(indices, copy.indices());
    let access = Access::new(&e, &tile.layout, (0..registers).collect(), scalars)?;
    let strides = Buffer::of(&e, op, copy.buffer()?)?.strides(&e)?;
    let addresses = access.addresses(copy.access()?, *buffer, &strides, element, vector as usize)?;
    let guards = access.guards(copy.guards(), &Scalars::new(limits, copy.limits()))?;
    let places = Places::of(&e, &tile, memory, *base)?;
    let pieces = Pieces {
        e: &e,
        addresses,
        places,
        guards,
        vector: Vector::of(&e, &tile.layout, Some(vector), element)?,
        single: Vector::of(&e, &tile.layout, None, element)?,
    };
    if pieces.places.count < pieces.vector.count {
        let message = format!(
            "expected {vector} elements that are neighbours in memory, got {}",
            pieces.places.count
        );
        return Err(Diagnostic::user(op.location(), message).into());
    }
    match threads::first_holder_in_cta(&e, &tile.layout) {
        None => pieces.copy(registers)?,
        Some(holder) => {
            e.instead(holder, None, || {
                pieces.copy(registers)?;
                Ok(None)
            })?;
        }
    }
    b.erase(op);
    Ok(())
}

/// Lowers `gl.async_commit`.
pub(super) fn commit<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    b.replace_by(op, COMMIT, &[]);
    Ok(())
}

/// Lowers `gl.async_wait`.
pub(super) fn wait<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let wait = AsyncWaitOp::from_op(op).ok_or("expected gl.async_wait")?;
    let pending = IntegerAttribute::new(Emit::new(b).int(32), wait.pending()?);
    b.replace_by(op, WAIT, &[(PENDING, pending.into())]);
    Ok(())
}

/// The layout that says which thread of the kernel copies which elements.
fn layout_of<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    op: OperationRef<'c, 'a>,
    memory: Value<'c, 'a>,
    vector: i64,
) -> Result<LinearLayout, Diagnostic<'c>> {
    let threads = walk::enclosing(op, "llvm.func")
        .and_then(|kernel| kernel.attribute("nvvm.reqntid").ok())
        .and_then(|threads| DenseI32ArrayAttribute::try_from(threads).ok()?.element(0).ok())
        .ok_or_else(|| e.internal("expected a kernel of a known number of threads"))?;
    let memory = memory.r#type();
    let offsets = layout::of_memory(memory)
        .map_err(|error| Diagnostic::user(op.location(), error))?
        .offset_map()
        .ok_or_else(|| e.unsupported(format!("expected shared memory without padding, got {memory}")))?;
    offsets
        .cooperative_copy(vector, i64::from(threads) / WARP_SIZE)
        .map_err(|error| Diagnostic::user(op.location(), error))
}

/// A thread's part of a copy.
struct Pieces<'b, 'c: 'a, 'a> {
    e: &'b Emit<'b, 'c, 'a>,
    addresses: Addresses<'c, 'a>,
    places: Places<'c, 'a>,
    guards: Guards<'b, 'c, 'a>,
    /// The elements that one instruction copies.
    vector: Vector<'c>,
    /// One element.
    single: Vector<'c>,
}

impl<'c, 'a> Pieces<'_, 'c, 'a> {
    /// Copies the elements of the first `registers` registers.
    fn copy(&self, registers: usize) -> Result<(), Diagnostic<'c>> {
        let mut through_registers = Vec::new();
        for first in (0..registers).step_by(self.vector.count) {
            let count = self.vector.count;
            match self.guards.within(first, count)? {
                Reach::Whole(predicate) if CP_ASYNC_BYTES.contains(&(self.vector.bytes as i64)) => {
                    self.issue(first, self.bytes_if(predicate))?;
                }
                Reach::Whole(predicate) => through_registers.push((first, predicate)),
                Reach::Part { .. } => match self.guards.prefix(first, count)? {
                    Some(there) => {
                        let bytes = self.e.scale(there, self.single.bytes as i64);
                        self.issue(first, Some(bytes))?;
                    }
                    None => {
                        for register in first..first + count {
                            through_registers.push((register, self.guards.at(register)?));
                        }
                    }
                },
            }
        }
        let mut loaded = Vec::with_capacity(through_registers.len());
        for (register, predicate) in through_registers {
            let from = self.addresses.of(self.e, register);
            let value = match predicate {
                Predicate::Never => self.e.b.value("llvm.mlir.zero", &[], self.single.ty),
                predicate => self.single.load(self.e, from, predicate, None)?,
            };
            loaded.push((register, value));
        }
        for (register, value) in loaded {
            let to = self.places.pointer(self.e, register);
            self.e.store(value, to, self.single.bytes as i64);
        }
        Ok(())
    }

    /// The number of bytes of a vector that are read, i32; `None` for all.
    fn bytes_if(&self, predicate: Predicate<'c, 'a>) -> Option<Value<'c, 'a>> {
        let e = self.e;
        match predicate {
            Predicate::Always => None,
            Predicate::Never => Some(e.i32(0)),
            Predicate::When(holds) => Some(e.select(holds, e.i32(self.vector.bytes as i64), e.i32(0))),
        }
    }

    /// Issues one `cp.async`. A copy of the largest size bypasses L1 (`.cg`); the others have to go through it (`.ca`).
    fn issue(&self, first: usize, source_bytes: Option<Value<'c, 'a>>) -> Result<(), Diagnostic<'c>> {
        let e = self.e;
        let bytes = self.vector.bytes as i64;
        let cache = if bytes == CP_ASYNC_BYTES[0] {
            "#nvvm<load_cache_modifier cg>"
        } else {
            "#nvvm<load_cache_modifier ca>"
        };
        let cache =
            Attribute::parse(e.b.context(), cache).ok_or_else(|| e.internal("no modifier of the cache"))?;
        let size = IntegerAttribute::new(e.int(32), bytes);
        let mut operands = vec![self.places.pointer(e, first), self.addresses.of(e, first)];
        operands.extend(source_bytes);
        e.b.op_with(
            COPY,
            &operands,
            &[],
            &[("size", size.into()), ("modifier", cache)],
            Vec::new(),
        );
        Ok(())
    }
}
