//! Scratch memory between the kernels that one is split into: the first writes it, a later one reads it.

use melior::{
    Error,
    ir::{AffineExpr, AffineMap, OperationRef, Type, Value, ValueLike, operation::OperationLike},
};
use norma_dialects::{
    attributes::scratch,
    norm::{KernelOp, ReadOp, WriteOp},
};

use crate::{
    kernel::{scratch::allocate, signature::add_buffer, space::Space},
    mlir::{affine_value, builder::Builder, pass::PassError, types, walk},
};

/// The scratch of one value of a kernel: an element for each point of some dims.
pub(in crate::norm) struct Scratch<'c> {
    element: Type<'c>,
    /// The dims, as positions in the kernel's space.
    dims: Vec<usize>,
    /// Their extents, over the kernel's sizes.
    extents: Vec<AffineExpr<'c>>,
    /// The kernel's sizes, as (buffer, axis).
    sizes: Vec<(usize, usize)>,
}

impl<'c: 'a, 'a> Scratch<'c> {
    /// The scratch of a value: an element for each point of `dims`, which include all dims that the value varies over.
    pub(super) fn of(space: &Space<'c, 'a>, value: Value<'c, 'a>, dims: Vec<usize>) -> Self {
        Self {
            element: value.r#type(),
            extents: dims.iter().map(|dim| space.extents[*dim]).collect(),
            dims,
            sizes: space.sizes.clone(),
        }
    }

    fn memref(&self) -> Result<Type<'c>, PassError<'c>> {
        let known = |extent: &AffineExpr<'c>| extent.is_constant().then(|| extent.constant_value());
        let shape = self.extents.iter().map(known).collect::<Vec<_>>();
        types::memref(&shape, self.element, None, None).ok_or(PassError::Reported)
    }

    /// Adds the scratch to the buffers of a kernel with this space, and a write of `value` to it at the end.
    pub(super) fn write(&self, kernel: KernelOp<'c, 'a>, value: Value<'c, 'a>) -> Result<(), PassError<'c>> {
        let buffer = add_buffer(kernel, self.memref()?, scratch::ALIGNMENT)?;
        let indices = self.indices(kernel)?;
        let location = kernel.op().location();
        let b = Builder::at_end(walk::entry_block(kernel.op())?, location);
        let access = identity(b.context(), indices.len());
        b.insert(WriteOp::build(location, value, buffer, &indices, access, false)?);
        Ok(())
    }

    /// Adds the scratch to the buffers of a kernel with this space, and a read of it before `op`, whose result it returns.
    pub(super) fn read(
        &self,
        kernel: KernelOp<'c, 'a>,
        op: OperationRef<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let buffer = add_buffer(kernel, self.memref()?, scratch::ALIGNMENT)?;
        let indices = self.indices(kernel)?;
        let b = Builder::before(op);
        let access = identity(b.context(), indices.len());
        let read = ReadOp::build(op.location(), buffer, &indices, access)?;
        Ok(b.insert(read).result(0)?.into())
    }

    fn indices(&self, kernel: KernelOp<'c, 'a>) -> Result<Vec<Value<'c, 'a>>, Error> {
        let space = Space::of(kernel)?;
        Ok(self.dims.iter().map(|dim| space.dims[*dim]).collect())
    }

    /// Allocates the scratch in the function that launches the kernel on `buffers`.
    pub(super) fn allocate(
        &self,
        b: &Builder<'c, 'a>,
        buffers: &[Value<'c, 'a>],
        name: &str,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let context = b.context();
        let index = Type::index(context);
        let mut operands = Vec::new();
        for extent in self.extents.iter().filter(|extent| !extent.is_constant()) {
            let sizes = self
                .sizes
                .iter()
                .map(|(buffer, axis)| {
                    b.value("memref.dim", &[buffers[*buffer], b.index(*axis as i64)], index)
                })
                .collect::<Vec<_>>();
            let map = AffineMap::new(context, 0, sizes.len(), &[*extent]);
            operands.push(affine_value::apply(b, map, &sizes));
        }
        Ok(allocate(b, self.memref()?, &operands, name))
    }
}

fn identity(context: &melior::Context, rank: usize) -> AffineMap<'_> {
    let dims = (0..rank)
        .map(|dim| AffineExpr::dim(context, dim))
        .collect::<Vec<_>>();
    AffineMap::new(context, rank, 0, &dims)
}
