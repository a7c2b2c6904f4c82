//! Copies by TMA: a box of a buffer, whose tensor map is a parameter of the kernel, to shared memory and back.

use melior::ir::{
    Attribute, BlockLike, OperationRef, ValueLike,
    attribute::{BoolAttribute, DenseI32ArrayAttribute},
};
use norma_dialects::gl::{ParamKind, TensorLoadOp, TensorMapOp, TensorMapType, TensorStoreOp};

use crate::mlir::{builder::Builder, conversion::Rejection, walk};

use super::{
    buffer::Buffer,
    emit::{Emit, Value},
    mbarrier,
};

/// The attributes of a parameter that holds a tensor map: 128 bytes by value, aligned to 64, which the copy engine reads where
/// they are (CUDA driver API, `CUtensorMap`; PTX ISA, "Tensor-map").
pub(super) const PARAMETER: &str =
    "{llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant, llvm.align = 64 : i64}";

/// Lowers `gl.tensor_map`: the address of the parameter.
pub(super) fn map<'c, 'a>(op: OperationRef<'c, 'a>, b: &Builder<'c, 'a>) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let map = TensorMapOp::from_op(op).ok_or("expected gl.tensor_map")?;
    let ty = TensorMapType::from_type(map.map()?.r#type()).ok_or("expected a tensor map")?;
    let buffer = Buffer::of(&e, op, map.buffer()?)?;
    let position = buffer
        .params()
        .iter()
        .position(|param| {
            (param.kind(), param.argument()) == (Ok(ParamKind::TensorMap), buffer.index)
                && param.r#box() == ty.r#box()
                && param.swizzle() == ty.swizzle()
        })
        .ok_or_else(|| e.internal("expected a parameter for each tensor map"))?;
    let kernel = walk::enclosing(op, "llvm.func").ok_or("expected an llvm.func around the op")?;
    let parameter = walk::entry_block(kernel)?.argument(position)?;
    b.replace(op, &[parameter.into()]);
    Ok(())
}

/// Lowers `gl.tensor_load`, which one thread executes, to the shared memory of its own CTA.
pub(super) fn load<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let load = TensorLoadOp::from_op(op).ok_or("expected gl.tensor_load")?;
    let rank = load.coordinates().len();
    let (map, rest) = operands.split_first().ok_or("expected a tensor map")?;
    let (coordinates, rest) = rest.split_at(rank);
    let [memory, array, index] = rest else {
        return Err("expected a memory and an mbarrier".into());
    };
    let mut all = vec![*memory, *map];
    all.extend(place(&e, coordinates));
    all.push(mbarrier::element(&e, *array, *index));
    let segments = [1, 1, rank as i32, 1, 0, 0, 0, 0];
    let segments: Attribute<'c> = DenseI32ArrayAttribute::new(b.context(), &segments).into();
    let own: Attribute<'c> = BoolAttribute::new(b.context(), true).into();
    b.op_with(
        "nvvm.cp.async.bulk.tensor.shared.cluster.global",
        &all,
        &[],
        &[("operandSegmentSizes", segments), ("isCTAOnly", own)],
        Vec::new(),
    );
    b.erase(op);
    Ok(())
}

/// Lowers `gl.tensor_store`, which one thread executes, as part of its bulk group.
pub(super) fn store<'c, 'a>(
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    b: &Builder<'c, 'a>,
) -> Result<(), Rejection<'c>> {
    let e = Emit::new(b);
    let store = TensorStoreOp::from_op(op).ok_or("expected gl.tensor_store")?;
    let rank = store.coordinates().len();
    let [memory, map, coordinates @ ..] = operands else {
        return Err("expected a memory and a tensor map".into());
    };
    let mut all = vec![*map, *memory];
    all.extend(place(&e, coordinates));
    let segments = [1, 1, rank as i32, 0, 0];
    let segments: Attribute<'c> = DenseI32ArrayAttribute::new(b.context(), &segments).into();
    b.op_with(
        "nvvm.cp.async.bulk.tensor.global.shared.cta",
        &all,
        &[],
        &[("operandSegmentSizes", segments)],
        Vec::new(),
    );
    b.erase(op);
    Ok(())
}

/// The coordinates at which a box begins, as the engine takes them: the fastest axis first, in 32 bits.
fn place<'c, 'a>(e: &Emit<'_, 'c, 'a>, coordinates: &[Value<'c, 'a>]) -> Vec<Value<'c, 'a>> {
    let coordinates = coordinates.iter().rev();
    coordinates.map(|coordinate| e.narrow(*coordinate)).collect()
}
