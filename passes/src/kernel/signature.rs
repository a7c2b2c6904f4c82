//! A kernel's arguments: adding a buffer, and removing unused ones.

mod unused;

use melior::{
    Error,
    ir::{
        BlockRef, RegionLike, Type, TypeLike, Value, attribute::DenseI64ArrayAttribute,
        operation::OperationLike,
    },
};
use mlir_sys::mlirBlockInsertArgument;
use norma_dialects::norm::KernelOp;

use super::space::Space;
use crate::mlir::{builder::Builder, context};

pub use unused::{Kept, drop_unused};

/// Adds a buffer after the others.
///
/// # Errors
///
/// The kernel is not one that its verifier accepts.
pub fn add_buffer<'c, 'a>(
    kernel: KernelOp<'c, 'a>,
    memref: Type<'c>,
    alignment: i64,
) -> Result<Value<'c, 'a>, Error> {
    let space = Space::of(kernel)?;
    let location = space.location();
    let position = space.buffers.len();
    // SAFETY: the block, the type and the location are alive, and the position is within the arguments.
    let buffer = unsafe {
        Value::from_raw(mlirBlockInsertArgument(
            block(kernel)?.to_raw(),
            position as isize,
            memref.to_raw(),
            location.to_raw(),
        ))
    };
    if let Some(mut alignments) = kernel.alignments() {
        alignments.push(alignment);
        set(kernel, "alignments", &alignments);
    }
    Ok(buffer)
}

/// Erases the ops of a kernel that no write depends on. All ops but writes are pure.
///
/// # Errors
///
/// The kernel is not one that its verifier accepts.
pub fn drop_dead(kernel: KernelOp<'_, '_>) -> Result<(), Error> {
    drop_dead_of(Space::of(kernel)?);
    Ok(())
}

/// As [`drop_dead`], for a program that has been analysed.
pub fn drop_dead_of(space: Space<'_, '_>) {
    Builder::before(space.program).erase_unused(space.ops.iter().copied());
}

fn block<'c, 'a>(kernel: KernelOp<'c, 'a>) -> Result<BlockRef<'c, 'a>, Error> {
    kernel
        .body()?
        .first_block()
        .ok_or(Error::BlockArgumentExpected("a kernel without a body".to_owned()))
}

fn set(kernel: KernelOp<'_, '_>, name: &str, numbers: &[i64]) {
    let context = context::of(kernel.op().location());
    let attribute = DenseI64ArrayAttribute::new(context, numbers).into();
    Builder::before(kernel.op()).set_attribute(kernel.op(), name, attribute);
}

fn set_or_remove(kernel: KernelOp<'_, '_>, name: &str, numbers: &[i64]) {
    if numbers.is_empty() {
        Builder::before(kernel.op()).remove_attribute(kernel.op(), name);
    } else {
        set(kernel, name, numbers);
    }
}
