//! Shared memory: allocation, tiles in and out of it, and the CTA's barrier.

use melior::ir::{
    AffineExpr, AffineMap, OperationRef, Type, ValueLike,
    attribute::{DenseI32ArrayAttribute, FlatSymbolRefAttribute},
    operation::OperationLike,
};
use norma_dialects::{
    gl::{BarrierOp, LocalLoadOp, LocalStoreOp, MemDescIndexOp, MemDescType, PlainAttr},
    layout,
};
use norma_layout::{HardwareDim, LinearLayout, SharedLayout};
use norma_targets::ACCESS_BYTES;

use crate::{
    gcd::gcd,
    gl::shared_memory,
    mlir::{builder::Builder, conversion::Rejection, diagnostic::Diagnostic, walk},
};

use super::{
    access::Access,
    buffer::Stride,
    emit::{Emit, Value},
    form::Scalars,
    function,
    guards::{Predicate, Reach},
    threads,
    tile::{self, Tile},
    words::Words,
};

/// Lowers `gl.local_alloc` and `gl.mbarrier_alloc` to an address in the kernel's shared memory.
pub(super) fn alloc<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let offset = shared_memory::offset_of(op).ok_or_else(|| {
        Diagnostic::user(
            op.location(),
            "expected shared memory with an offset; run gl-allocate-shared first",
        )
    })?;
    let name = walk::enclosing(op, "llvm.func")
        .and_then(norma_dialects::symbol_name)
        .ok_or_else(|| e.internal("expected a named llvm.func around the op"))?;
    let symbol = FlatSymbolRefAttribute::new(b.context(), &function::shared_symbol(name));
    let base = b.value_with(
        "llvm.mlir.addressof",
        &[],
        e.shared_pointer(),
        &[("global_name", symbol.into())],
    );
    b.replace(op, &[e.constant_pointer(base, e.int(8), offset)]);
    Ok(())
}

/// Lowers `gl.memdesc_index`: stages lie one after the other.
pub(super) fn memdesc_index<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let stage = MemDescIndexOp::from_op(op).ok_or("expected gl.memdesc_index")?;
    let [base, index] = operands else {
        return Err("expected a memory and an index".into());
    };
    let memory = MemDescType::from_type(stage.memory()?.r#type()).ok_or("expected a memory")?;
    let is_slowest = PlainAttr::from_attribute(memory.layout())
        .is_some_and(|plain| plain.padding() == 0 && plain.order().last() == Some(&0));
    if !is_slowest {
        return Err(e
            .unsupported(format!(
                "expected plain memory whose first axis is the slowest, got {memory}"
            ))
            .into());
    }
    let bytes = shared_memory::bytes(stage.stage()?.r#type(), op.location())?;
    let offset = e.scale(*index, bytes);
    b.replace(op, &[e.element_pointer(*base, e.int(8), offset)]);
    Ok(())
}

/// Lowers `gl.local_store`. Vectors of which a guard may mask off a part are stored element by element.
pub(super) fn local_store<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let store = LocalStoreOp::from_op(op).ok_or("expected gl.local_store")?;
    let [value, base] = operands else {
        return Err("expected a tile and a memory".into());
    };
    let tile = Tile::of(&e, store.tile()?.r#type())?;
    let places = Places::of(&e, &tile, store.memory()?.r#type(), *base)?;
    let holder = match threads::first_holder_in_cta(&e, &tile.layout) {
        Some(holder) => Predicate::When(holder),
        None => Predicate::Always,
    };
    let copies = tile.layout.copies(HardwareDim::Register);
    let value = tile::to_memory(&e, *value)?;
    let none = || Scalars::new(&[], Vec::new());
    let registers = (0..tile.layout.num_registers()).collect();
    let access = Access::new(&e, &tile.layout, registers, none())?;
    let guards = access.guards(store.guards(), &none())?;
    let put = |first, count, predicate: Predicate<'c, 'a>| {
        let part = e.slice(value, first, count)?;
        let pointer = places.pointer(&e, first);
        let bytes = places.bytes / places.count * count;
        match predicate.and(&e, holder) {
            Predicate::Never => {}
            Predicate::Always => e.store(part, pointer, bytes as i64),
            Predicate::When(holds) => store_if(&e, holds, part, pointer, bytes)?,
        }
        Ok::<_, Diagnostic<'c>>(())
    };
    for first in places.first_registers().filter(|register| register & copies == 0) {
        match guards.within(first, places.count)? {
            Reach::Whole(predicate) => put(first, places.count, predicate)?,
            Reach::Part { .. } => {
                for register in first..first + places.count {
                    put(register, 1, guards.at(register)?)?;
                }
            }
        }
    }
    b.erase(op);
    Ok(())
}

/// Lowers `gl.local_load`. Vectors that a guard may mask off as a whole are loaded behind a branch, one by one.
pub(super) fn local_load<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let load = LocalLoadOp::from_op(op).ok_or("expected gl.local_load")?;
    let (base, scalars) = operands.split_first().ok_or("expected a memory")?;
    let (indices, limits) = scalars.split_at(load.indices().len());
    let tile = Tile::of(&e, load.tile()?.r#type())?;
    let places = Places::of(&e, &tile, load.memory()?.r#type(), *base)?;
    let registers = tile.layout.num_registers();
    let limits = Scalars::new(limits, load.limits());
    let indices = Scalars::new(indices, load.indices());
    let access = Access::new(&e, &tile.layout, (0..registers).collect(), indices)?;
    let guards = access.guards(load.guards(), &limits)?;
    let part_ty = e.vector_of(places.count, places.element)?;
    let result_ty = e.vector_of(registers, places.element)?;
    let empty = if load.guards().is_some() {
        "llvm.mlir.zero"
    } else {
        "llvm.mlir.poison"
    };
    let mut result = b.value(empty, &[], result_ty);
    let zero_of_element = b.value("llvm.mlir.zero", &[], places.element);
    for first in places.first_registers() {
        let whole = || e.load(places.pointer(&e, first), part_ty, places.bytes as i64);
        let whole_where = |holds| {
            let zero = b.value("llvm.mlir.zero", &[], part_ty);
            let part = e.instead(holds, Some(zero), || Ok(Some(whole())))?;
            part.ok_or_else(|| e.internal("expected the elements"))
        };
        let part = match guards.within(first, places.count)? {
            Reach::Whole(Predicate::Always) => whole(),
            Reach::Whole(Predicate::Never) => continue,
            Reach::Whole(Predicate::When(holds)) => whole_where(holds)?,
            // The memory of a vector of which something is admitted is there. Few warps, those at the ends of a row, have elements to
            // replace.
            Reach::Part { all, any } => {
                let part = match any {
                    Predicate::When(holds) => whole_where(holds)?,
                    _ => whole(),
                };
                let is_cut_off = Predicate::Always.and_not(&e, all).value(&e);
                let masked = e.instead(is_cut_off, Some(part), || {
                    Ok(Some(guards.masked(part, first, zero_of_element)?))
                })?;
                masked.ok_or("expected the elements")?
            }
        };
        result = e.insert(part, result, first);
    }
    b.replace(op, &[tile::from_memory(&e, result, tile.element)?]);
    Ok(())
}

/// Lowers `gl.barrier`.
pub(super) fn barrier<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let barrier = BarrierOp::from_op(op).ok_or("expected gl.barrier")?;
    let operands = match (barrier.id(), barrier.threads()) {
        (Some(id), Some(threads)) => vec![e.i32(id), e.i32(threads)],
        _ => Vec::new(),
    };
    let given = i32::from(!operands.is_empty());
    let segments = DenseI32ArrayAttribute::new(b.context(), &[given, given, 0]);
    b.op_with(
        "nvvm.barrier",
        &operands,
        &[],
        &[("operandSegmentSizes", segments.into())],
        Vec::new(),
    );
    b.erase(op);
    Ok(())
}

/// Where a thread's registers lie in shared memory.
pub(super) struct Places<'c, 'a> {
    /// One pointer for each of the thread's places ([`threads::AxisCoordinates`]).
    bases: Vec<Value<'c, 'a>>,
    element: Type<'c>,
    /// For each register the index of its base.
    base_of: Vec<usize>,
    constants: Vec<i64>,
    /// The number of elements that one instruction moves.
    pub count: usize,
    /// The number of bytes that one instruction moves.
    pub bytes: usize,
}

impl<'c, 'a> Places<'c, 'a> {
    /// The places of `tile` in the memory at `base`, which holds all of it or the CTA's part of it.
    ///
    /// # Errors
    ///
    /// At the op that is lowered, if the memory's layout does not fit or has padding within an axis.
    pub fn of(
        e: &Emit<'_, 'c, 'a>,
        tile: &Tile<'c>,
        memory: Type<'c>,
        base: Value<'c, 'a>,
    ) -> Result<Self, Diagnostic<'c>> {
        let shared = layout::of_memory(memory).map_err(|error| Diagnostic::user(e.b.location(), error))?;
        let Some(offsets) = shared.offset_map() else {
            return Self::in_strides(e, tile, memory, &shared, base);
        };
        let offsets: LinearLayout = match tile.layout.shape() == offsets.shape() {
            true => tile.layout.compose(&offsets),
            // The memory holds the CTA's part only.
            false => tile.layout.within_block().and_then(|part| part.compose(&offsets)),
        }
        .map_err(|error| e.internal(error))?;
        let coordinates = threads::along(e, &offsets, 0)?;
        let element = tile::memory_element(e, tile.element);
        let element_bytes = tile::element_bytes(e, element)?;
        let count = offsets
            .contiguous_elements(&[0])
            .min(ACCESS_BYTES as usize / element_bytes);
        let base_at = |place: &Option<Value<'c, 'a>>| match place {
            None => base,
            Some(place) => e.element_pointer(base, element, e.widen(*place)),
        };
        Ok(Self {
            bases: coordinates.places.iter().map(base_at).collect(),
            element,
            base_of: coordinates.place_of,
            constants: coordinates.constants,
            count,
            bytes: count * element_bytes,
        })
    }

    /// The places of `tile` in padded memory, whose elements lie at a distance of their own along each axis.
    fn in_strides(
        e: &Emit<'_, 'c, 'a>,
        tile: &Tile<'c>,
        memory: Type<'c>,
        shared: &SharedLayout,
        base: Value<'c, 'a>,
    ) -> Result<Self, Diagnostic<'c>> {
        let strides = shared.strides().filter(|_| tile.layout.shape() == shared.shape());
        let strides = strides.ok_or_else(|| {
            e.unsupported(format!(
                "expected shared memory without padding within an axis, got {memory}"
            ))
        })?;
        let element = tile::memory_element(e, tile.element);
        let element_bytes = tile::element_bytes(e, element)?;
        // Vectors begin at multiples of their length along the contiguous axis, and so do they in memory where all other strides are
        // multiples of it.
        let along = strides.iter().position(|stride| *stride == 1);
        let run = along.map_or(1, |axis| tile.layout.contiguous_elements(&[axis]));
        let others = strides.iter().filter(|stride| **stride != 1);
        let aligned = others.fold(0, |divisor, stride| gcd(divisor, *stride));
        let count = run
            .min(ACCESS_BYTES as usize / element_bytes)
            .min(1 << aligned.trailing_zeros().min(6));
        let none = Scalars::new(&[], Vec::new());
        let access = Access::new(e, &tile.layout, (0..tile.layout.num_registers()).collect(), none)?;
        let context = e.b.context();
        let axes = (0..strides.len())
            .map(|axis| AffineExpr::dim(context, axis))
            .collect::<Vec<_>>();
        let map = AffineMap::new(context, axes.len(), 0, &axes);
        let strides = strides.into_iter().map(Stride::Static).collect::<Vec<_>>();
        let addresses = access.addresses(map, base, &strides, element, count)?;
        Ok(Self {
            base_of: (0..addresses.bases.len()).collect(),
            bases: addresses.bases,
            element,
            constants: addresses.constants,
            count,
            bytes: count * element_bytes,
        })
    }

    /// The first register of each instruction.
    pub fn first_registers(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.constants.len()).step_by(self.count)
    }

    /// The address of a register's element.
    pub fn pointer(&self, e: &Emit<'_, 'c, 'a>, register: usize) -> Value<'c, 'a> {
        let base = self.bases[self.base_of[register]];
        e.constant_pointer(base, self.element, self.constants[register])
    }
}

/// A predicated store, as inline PTX: a branch would cost more than the store.
fn store_if<'c, 'a>(
    e: &Emit<'_, 'c, 'a>,
    predicate: Value<'c, 'a>,
    part: Value<'c, 'a>,
    pointer: Value<'c, 'a>,
    bytes: usize,
) -> Result<(), Diagnostic<'c>> {
    let words = Words::of(bytes).ok_or_else(|| e.internal(format!("no access of {bytes} bytes")))?;
    let address = e.b.value("llvm.ptrtoint", &[pointer], e.int(32));
    let mut operands = vec![address, predicate];
    operands.extend(words.split(e, part)?);
    let (suffix, list) = (words.suffix, words.list(2));
    let constraints = format!(",{}", words.constraint).repeat(words.count);
    e.inline_ptx(
        &format!("@$1 st.shared.{suffix} [$0], {list};"),
        &format!("r,b{constraints},~{{memory}}"),
        &operands,
        None,
        true,
    );
    Ok(())
}
