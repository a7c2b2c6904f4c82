//! Lowers copies by the copy engine: contiguous bytes from global to shared memory and back, and the waits and fences that
//! order these with other accesses.

use melior::ir::{
    AffineMap, Attribute, OperationRef, Type, ValueLike,
    attribute::{DenseI32ArrayAttribute, IntegerAttribute},
    operation::OperationLike,
    r#type::IntegerType,
};
use norma_dialects::gl::{BulkLoadOp, BulkStoreOp, BulkWaitOp, MemDescType, TailLoadOp};
use norma_layout::LinearLayout;
use norma_targets::{COPY_ENGINE_GRANULE, WARP_SIZE};

use crate::mlir::comparison::IntegerPredicate;
use crate::{
    gl::shared_memory,
    mlir::{builder::Builder, conversion::Rejection, types},
};

use super::{
    access::Access,
    buffer::Buffer,
    emit::{Emit, Value},
    form::Scalars,
    mbarrier,
};

/// Lowers `gl.bulk_load`, which one thread executes. Nothing is copied if `count` is 0, as the engine takes no empty copies.
pub(super) fn load<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
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
    let run = Run {
        memory: load.memory()?.r#type(),
        buffer: load.buffer()?,
        access: load.access()?,
    };
    let source = run.address(&e, op, *buffer, Scalars::new(indices, load.indices()))?;
    let barrier = mbarrier::element(&e, *array, *index);
    let segments = DenseI32ArrayAttribute::new(b.context(), &[1, 1, 1, 1, 0, 0]);
    run.copied(&e, op, given.first().copied(), |size| {
        b.op_with(
            "nvvm.cp.async.bulk.shared.cluster.global",
            &[*memory, source, barrier, size],
            &[],
            &[("operandSegmentSizes", segments.into())],
            Vec::new(),
        );
    })?;
    b.erase(op);
    Ok(())
}

/// Lowers `gl.tail_load`, which one thread executes. No fence orders it before later copies of the engine to the same memory: a buffer ends
/// in the last step of a walk, behind which there are none.
pub(super) fn load_tail<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let load = TailLoadOp::from_op(op).ok_or("expected gl.tail_load")?;
    let [buffer, rest @ ..] = operands else {
        return Err("expected a buffer".into());
    };
    let (indices, [memory, from, to]) = rest.split_at(load.indices().len()) else {
        return Err("expected a memory and two positions in it".into());
    };
    let run = Run {
        memory: load.memory()?.r#type(),
        buffer: load.buffer()?,
        access: load.access()?,
    };
    let bytes = run.element_bytes(&e)?;
    let element = e.int(bytes as u32 * 8);
    let source = run.address(&e, op, *buffer, Scalars::new(indices, load.indices()))?;
    let (from, to) = (e.narrow(*from), e.narrow(*to));
    let is_there = |position| e.compare(IntegerPredicate::Less, position, to);
    e.instead(is_there(from), None, || {
        for step in 0..COPY_ENGINE_GRANULE / bytes {
            let position = e.addi(from, e.i32(step));
            let offset = e.widen(position);
            let zero = b.value("llvm.mlir.zero", &[], element);
            let value = e.instead(is_there(position), Some(zero), || {
                Ok(Some(e.load(
                    e.element_pointer(source, element, offset),
                    element,
                    bytes,
                )))
            })?;
            let value = value.ok_or_else(|| e.internal("expected an element"))?;
            e.store(value, e.element_pointer(*memory, element, offset), bytes);
        }
        Ok(None)
    })?;
    b.erase(op);
    Ok(())
}

/// Lowers `gl.bulk_store`, as [`load`].
pub(super) fn store<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let store = BulkStoreOp::from_op(op).ok_or("expected gl.bulk_store")?;
    let count = store.indices().len();
    let [memory, buffer, rest @ ..] = operands else {
        return Err("expected a memory and a buffer".into());
    };
    let (indices, given) = rest.split_at(count);
    let run = Run {
        memory: store.memory()?.r#type(),
        buffer: store.buffer()?,
        access: store.access()?,
    };
    let target = run.address(&e, op, *buffer, Scalars::new(indices, store.indices()))?;
    let segments = DenseI32ArrayAttribute::new(b.context(), &[1, 1, 1, 0, 0]);
    run.copied(&e, op, given.first().copied(), |size| {
        b.op_with(
            "nvvm.cp.async.bulk.global.shared.cta",
            &[target, *memory, size],
            &[],
            &[("operandSegmentSizes", segments.into())],
            Vec::new(),
        );
    })?;
    b.erase(op);
    Ok(())
}

/// Lowers `gl.bulk_commit`, which the thread executes that has issued the copies.
pub(super) fn commit<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    b.replace_by(op, "nvvm.cp.async.bulk.commit.group", &[]);
    Ok(())
}

/// Lowers `gl.bulk_wait`, which the thread executes that has committed the groups.
pub(super) fn wait<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let wait = BulkWaitOp::from_op(op).ok_or("expected gl.bulk_wait")?;
    let group = IntegerAttribute::new(IntegerType::new(b.context(), 32).into(), wait.pending()?);
    let mut attributes = vec![("group", group.into())];
    attributes.extend(wait.read().then(|| ("read", Attribute::unit(b.context()))));
    b.replace_by(op, "nvvm.cp.async.bulk.wait_group", &attributes);
    Ok(())
}

/// Lowers `gl.fence_async`, of the CTA's shared memory.
pub(super) fn fence<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let parse = |text: &str| Attribute::parse(b.context(), text).ok_or("expected an attribute of fences");
    let attributes = [
        ("kind", parse("#nvvm.proxy_kind<async.shared>")?),
        ("space", parse("#nvvm.shared_space<cta>")?),
    ];
    b.replace_by(op, "nvvm.fence.proxy", &attributes);
    Ok(())
}

/// Contiguous elements of a buffer and of shared memory.
struct Run<'c, 'a> {
    /// The type of the memory.
    memory: Type<'c>,
    /// The buffer, before conversion.
    buffer: Value<'c, 'a>,
    access: AffineMap<'c>,
}

impl<'c, 'a> Run<'c, 'a> {
    fn element_bytes(&self, e: &Emit<'_, 'c, 'a>) -> Result<i64, Rejection<'c>> {
        let memory = MemDescType::from_type(self.memory).ok_or("expected shared memory")?;
        let element = memory.element_type();
        let bytes = types::element_bytes(element);
        Ok(bytes.ok_or_else(|| e.unsupported(format!("expected elements of whole bytes, got {element}")))?)
    }

    /// The address of the first element in the buffer that begins at `pointer`.
    fn address(
        &self,
        e: &Emit<'_, 'c, 'a>,
        op: OperationRef<'c, 'a>,
        pointer: Value<'c, 'a>,
        indices: Scalars<'c, 'a>,
    ) -> Result<Value<'c, 'a>, Rejection<'c>> {
        // The layout of a tile of one element, which every thread holds.
        let bases = [
            Vec::new(),
            vec![Vec::new(); WARP_SIZE.ilog2() as usize],
            Vec::new(),
            Vec::new(),
        ];
        let layout = LinearLayout::new(bases, Vec::new()).map_err(|error| e.internal(error))?;
        let access = Access::new(e, &layout, vec![0], indices)?;
        let strides = Buffer::of(e, op, self.buffer)?.strides(e)?;
        let bits = self.element_bytes(e)? as u32 * 8;
        let addresses = access.addresses(self.access, pointer, &strides, e.int(bits), 1)?;
        Ok(addresses.of(e, 0))
    }

    /// Copies `count` elements, or all of them without a count. Nothing is copied if `count` is 0, as the engine takes no empty
    /// copies.
    fn copied(
        &self,
        e: &Emit<'_, 'c, 'a>,
        op: OperationRef<'c, 'a>,
        count: Option<Value<'c, 'a>>,
        copy: impl FnOnce(Value<'c, 'a>),
    ) -> Result<(), Rejection<'c>> {
        let Some(count) = count else {
            copy(e.i32(shared_memory::bytes(self.memory, op.location())?));
            return Ok(());
        };
        let bytes = self.element_bytes(e)?;
        let count = e.narrow(count);
        let is_there = e.compare(IntegerPredicate::Less, e.i32(0), count);
        e.instead(is_there, None, || {
            copy(e.scale(count, bytes));
            Ok(None)
        })?;
        Ok(())
    }
}
