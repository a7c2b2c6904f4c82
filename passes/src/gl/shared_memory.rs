//! Shared memory in `gl`: which allocation a descriptor belongs to, how large it is, and what ops do to it.
//!
//! A descriptor is an allocation's result or a stage of one ([`origin`]); one that comes out of a region or a block
//! argument has no known origin, which passes report.

use melior::{
    Context,
    ir::{Location, OperationRef, Type, TypeLike, Value, ValueLike, operation::OperationLike},
};
use norma_dialects::{
    gl::{
        AsyncCopyOp, AwaitTileOp, BulkLoadOp, BulkStoreOp, CopyFromSharedOp, CopyToSharedOp, DrawTileOp,
        FenceMBarrierInitOp, LocalAllocOp, LocalLoadOp, LocalStoreOp, MBarrierAllocOp, MBarrierArriveOp,
        MBarrierExpectOp, MBarrierInitOp, MBarrierType, MBarrierWaitOp, MemDescIndexOp, MemDescReshapeOp,
        MemDescType, PlainAttr, RemoteArriveOp, RemoteStoreOp, TailLoadOp, TensorLoadOp, TensorStoreOp,
    },
    layout::{self, EncodingError},
};
use norma_targets::MBARRIER_BYTES;

use crate::mlir::{diagnostic::Diagnostic, types, values::definition};

/// When an access to shared memory is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// With the op, in the order of the thread's program.
    Immediate,
    /// When `gl.async_wait` has waited for its group.
    AsyncGroup,
    /// When `gl.bulk_wait` has waited for its group.
    BulkGroup,
    /// When the phase of an mbarrier completes.
    MBarrier,
    /// In all CTAs of the cluster, when the phases of their mbarriers complete.
    Remote,
}

impl Completion {
    /// Whether the copy engine may perform the access, for which memory has to be aligned to 128 bytes.
    pub fn is_by_copy_engine(self) -> bool {
        matches!(self, Self::BulkGroup | Self::MBarrier)
    }
}

/// One access of an op to shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Access<'c, 'a> {
    /// A memory descriptor, or an array of mbarriers.
    pub memory: Value<'c, 'a>,
    /// Whether the op writes; it reads otherwise. Using an mbarrier is a read, initialising it a write.
    pub writes: bool,
    /// When the access is over.
    pub completion: Completion,
}

/// The accesses of `op` itself to shared memory, without those of the ops nested in it.
///
/// # Errors
///
/// If the op lacks operands that its verifier asks for.
pub fn accesses<'c, 'a>(op: OperationRef<'c, 'a>) -> Result<Vec<Access<'c, 'a>>, melior::Error> {
    use Completion::{AsyncGroup, BulkGroup, Immediate, MBarrier, Remote};
    let access = |memory, writes, completion| Access {
        memory,
        writes,
        completion,
    };
    Ok(if let Some(op) = LocalLoadOp::from_op(op) {
        vec![access(op.memory()?, false, Immediate)]
    } else if let Some(op) = LocalStoreOp::from_op(op) {
        vec![access(op.memory()?, true, Immediate)]
    } else if let Some(op) = CopyToSharedOp::from_op(op) {
        vec![access(op.memory()?, true, Immediate)]
    } else if let Some(op) = CopyFromSharedOp::from_op(op) {
        vec![access(op.memory()?, false, Immediate)]
    } else if let Some(op) = AsyncCopyOp::from_op(op) {
        vec![access(op.memory()?, true, AsyncGroup)]
    } else if let Some(op) = BulkLoadOp::from_op(op) {
        vec![
            access(op.memory()?, true, MBarrier),
            access(op.barriers()?, false, Immediate),
        ]
    } else if let Some(op) = TensorLoadOp::from_op(op) {
        vec![
            access(op.memory()?, true, MBarrier),
            access(op.barriers()?, false, Immediate),
        ]
    } else if let Some(op) = TailLoadOp::from_op(op) {
        vec![access(op.memory()?, true, MBarrier)]
    } else if let Some(op) = BulkStoreOp::from_op(op) {
        vec![access(op.memory()?, false, BulkGroup)]
    } else if let Some(op) = TensorStoreOp::from_op(op) {
        vec![access(op.memory()?, false, BulkGroup)]
    } else if let Some(op) = DrawTileOp::from_op(op) {
        vec![
            access(op.numbers()?, true, MBarrier),
            access(op.drawn()?, false, Immediate),
        ]
    } else if let Some(op) = AwaitTileOp::from_op(op) {
        vec![
            access(op.numbers()?, false, Immediate),
            access(op.drawn()?, false, Immediate),
        ]
    } else if let Some(op) = RemoteStoreOp::from_op(op) {
        vec![
            access(op.memory()?, true, Remote),
            access(op.barriers()?, false, Remote),
        ]
    } else if let Some(op) = RemoteArriveOp::from_op(op) {
        // Other CTAs store to these memories afterwards.
        let freed = op
            .memories()
            .into_iter()
            .map(|memory| access(memory, true, Remote));
        let arrived = access(op.barriers()?, false, Remote);
        freed.chain([arrived]).collect()
    } else if let Some(op) = MBarrierInitOp::from_op(op) {
        vec![access(op.barriers()?, true, Immediate)]
    } else if let Some(op) = MBarrierArriveOp::from_op(op) {
        vec![access(op.barriers()?, false, Immediate)]
    } else if let Some(op) = MBarrierExpectOp::from_op(op) {
        vec![access(op.barriers()?, false, Immediate)]
    } else if let Some(op) = MBarrierWaitOp::from_op(op) {
        vec![access(op.barriers()?, false, Immediate)]
    } else {
        Vec::new()
    })
}

/// Whether `op` allocates shared memory.
pub fn is_allocation(op: OperationRef<'_, '_>) -> bool {
    LocalAllocOp::from_op(op).is_some() || MBarrierAllocOp::from_op(op).is_some()
}

/// Whether `op` allocates shared memory, or initialises mbarriers, once for the kernel.
pub fn sets_up(op: OperationRef<'_, '_>) -> bool {
    is_allocation(op) || MBarrierInitOp::from_op(op).is_some() || FenceMBarrierInitOp::from_op(op).is_some()
}

/// Whether a type is that of shared memory.
pub fn is_memory(ty: Type<'_>) -> bool {
    MemDescType::from_type(ty).is_some() || MBarrierType::from_type(ty).is_some()
}

/// The type of row-major memory.
pub fn row_major<'c>(context: &'c Context, element: Type<'c>, shape: &[i64]) -> MemDescType<'c> {
    let order = (0..shape.len() as i64).rev().collect::<Vec<_>>();
    MemDescType::get(
        context,
        shape,
        element,
        PlainAttr::get(context, &order, 0, 0).into(),
    )
}

/// The type of a memory that `user` accesses.
///
/// # Errors
///
/// Internal, at `user`, if the value is not shared memory, which the verifier of `user` refuses.
pub fn type_of<'c>(
    memory: Value<'c, '_>,
    user: OperationRef<'c, '_>,
) -> Result<MemDescType<'c>, Diagnostic<'c>> {
    let ty = memory.r#type();
    MemDescType::from_type(ty)
        .ok_or_else(|| Diagnostic::internal(user.location(), format!("expected shared memory, got {ty}")))
}

/// The allocation that a memory is, or of which it is a stage or a reshaped view; `None` if it comes through a region or a
/// block argument.
pub fn origin<'c, 'a>(memory: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let mut op = definition(memory)?;
    loop {
        let whole = if let Some(stage) = MemDescIndexOp::from_op(op) {
            stage.memory()
        } else if let Some(reshaped) = MemDescReshapeOp::from_op(op) {
            reshaped.memory()
        } else {
            return is_allocation(op).then_some(op);
        };
        op = definition(whole.ok()?)?;
    }
}

/// As [`origin`].
///
/// # Errors
///
/// Unsupported, at `user`, where the origin is not known.
pub fn known_origin<'c, 'a>(
    memory: Value<'c, 'a>,
    user: OperationRef<'c, 'a>,
) -> Result<OperationRef<'c, 'a>, Diagnostic<'c>> {
    origin(memory).ok_or_else(|| {
        Diagnostic::unsupported(
            user.location(),
            "expected shared memory that is allocated in the kernel or a stage of such, got a region's result or \
             argument",
        )
    })
}

/// The byte offset that an allocation has been given.
pub fn offset_of(allocation: OperationRef<'_, '_>) -> Option<i64> {
    match LocalAllocOp::from_op(allocation) {
        Some(alloc) => alloc.offset(),
        None => MBarrierAllocOp::from_op(allocation)?.offset(),
    }
}

/// The bytes that a memory of this type takes.
///
/// # Errors
///
/// At `location`, if the type's layout does not fit its shape, or its elements have no size.
pub fn bytes<'c>(memory: Type<'c>, location: Location<'c>) -> Result<i64, Diagnostic<'c>> {
    if let Some(barriers) = MBarrierType::from_type(memory) {
        return Ok(barriers.count() * MBARRIER_BYTES);
    }
    let memory = MemDescType::from_type(memory).ok_or_else(|| {
        Diagnostic::internal(location, format!("expected memory or mbarriers, got {memory}"))
    })?;
    let elements = elements(memory).map_err(|error| Diagnostic::user(location, error))?;
    let element = memory.element_type();
    // An index becomes i64.
    let element_bytes = if element.is_index() {
        Some(8)
    } else {
        types::element_bytes(element)
    };
    let element_bytes = element_bytes.ok_or_else(|| {
        Diagnostic::unsupported(
            location,
            format!("expected elements of integer, index or float type, got {element}"),
        )
    })?;
    Ok(elements * element_bytes)
}

/// The number of elements that a memory takes, padding included. The number of stages of a ring, which is its slowest axis,
/// need not be a power of two as a layout's extents have to be: every stage after the first adds as many elements as the second
/// does.
fn elements(memory: MemDescType<'_>) -> Result<i64, EncodingError> {
    let size = |shape: &[i64]| layout::shared(memory.layout(), shape).map(|layout| layout.size());
    let shape = memory.shape();
    match shape.split_first() {
        Some((&stages, stage)) if stages.count_ones() > 1 => {
            let of = |stages: i64| size(&[&[stages], stage].concat());
            Ok(of(1)? + (stages - 1) * (of(2)? - of(1)?))
        }
        _ => size(shape),
    }
}
