//! A kernel's arguments: adding a buffer, and removing unused ones.

use std::collections::BTreeSet;

use melior::{
    Error,
    ir::{
        AffineExpr, AffineMap, BlockLike, BlockRef, RegionLike, Type, TypeLike, Value,
        attribute::{DenseI32ArrayAttribute, DenseI64ArrayAttribute},
        operation::OperationLike,
    },
};
use mlir_sys::mlirBlockInsertArgument;
use norma_dialects::{affine_map_attribute, attributes, norm::KernelOp};

use super::space::Space;
use crate::mlir::{
    affine::{Leaf, substitute, symbols},
    builder::Builder,
    context,
    values::uses,
};

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

/// The buffers and scalars of a kernel that are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Positions among the buffers that the kernel had before.
    pub buffers: Vec<usize>,
    /// Positions among the scalars that the kernel had before.
    pub scalars: Vec<usize>,
}

/// Removes unused dims, scalars and buffers. A buffer whose size is the extent of a dim counts as used. A guard applies to ops that use all
/// of its dims: if one of them is used by nothing else, the guard applies to nothing and is removed as well.
///
/// # Errors
///
/// The kernel is not one that its verifier accepts.
pub fn drop_unused<'c>(kernel: KernelOp<'c, '_>) -> Result<Left, Error> {
    let space = Space::of(kernel)?;
    let context = context::of(space.location());
    let is_used = |value: &Value<'_, '_>| uses(*value) > 0;
    let (dims, left_out) = (0..space.dims.len()).partition::<Vec<_>, _>(|dim| is_used(&space.dims[*dim]));
    let concerns = |sides: &&[AffineExpr<'c>; 2]| {
        !left_out
            .iter()
            .any(|dim| sides.iter().any(|side| side.is_function_of_dim(*dim)))
    };
    let guards = space.guards.iter().filter(concerns).flatten().copied();
    let guards = guards.collect::<Vec<_>>();
    let extents = dims.iter().map(|dim| space.extents[*dim]).collect::<Vec<_>>();
    let conditions = kernel.conditions();
    let conditions = conditions
        .map(|map| {
            (0..map.result_count())
                .map(|index| map.result(index))
                .collect::<Result<Vec<_>, _>>()
        })
        .transpose()?;
    let expressions = extents.iter().chain(&guards).chain(conditions.iter().flatten());
    let used_symbols = expressions.fold(BTreeSet::new(), |all, expression| &all | &symbols(*expression));
    let is_measured = |buffer: usize| used_symbols.iter().any(|symbol| space.sizes[*symbol].0 == buffer);
    let buffers = (0..space.buffers.len())
        .filter(|buffer| is_used(&space.buffers[*buffer]) || is_measured(*buffer))
        .collect::<Vec<_>>();
    let scalars = (0..space.scalars.len())
        .filter(|scalar| is_used(&space.scalars[*scalar]))
        .collect::<Vec<_>>();

    let renumbered = |buffer: usize| {
        buffers
            .iter()
            .position(|kept| *kept == buffer)
            .map(|position| position as i64)
    };
    let sizes = used_symbols
        .iter()
        .filter_map(|symbol| {
            let (buffer, axis) = space.sizes[*symbol];
            Some([renumbered(buffer)?, axis as i64])
        })
        .flatten()
        .collect::<Vec<_>>();
    let mut renamed = |leaf| {
        let (position, is_dim) = match leaf {
            Leaf::Dim(dim) => (dims.iter().position(|kept| *kept == dim), true),
            Leaf::Symbol(symbol) => (used_symbols.iter().position(|used| *used == symbol), false),
        };
        match position {
            Some(position) if is_dim => AffineExpr::dim(context, position),
            Some(position) => AffineExpr::symbol(context, position),
            None => AffineExpr::constant(context, 0),
        }
    };
    let mut replaced = |results: &[AffineExpr<'c>], num_dims: usize| {
        let results = results
            .iter()
            .map(|result| substitute(*result, &mut renamed))
            .collect::<Vec<_>>();
        AffineMap::new(context, num_dims, used_symbols.len(), &results)
    };
    let b = Builder::before(kernel.op());
    b.set_attribute(
        kernel.op(),
        "extents",
        affine_map_attribute(replaced(&extents, 0)),
    );
    set(kernel, "sizes", &sizes);
    if let Some(conditions) = conditions {
        let conditions = affine_map_attribute(replaced(&conditions, 0));
        b.set_attribute(kernel.op(), "conditions", conditions);
    }
    if guards.is_empty() {
        b.remove_attribute(kernel.op(), "guards");
        b.remove_attribute(kernel.op(), attributes::kernel::PART);
    } else {
        let guards = replaced(&guards, dims.len());
        b.set_attribute(kernel.op(), "guards", affine_map_attribute(guards));
    }
    if let Some(roles) = kernel.roles() {
        let roles = dims.iter().map(|dim| roles[*dim]).collect::<Vec<_>>();
        b.set_attribute(
            kernel.op(),
            "roles",
            DenseI32ArrayAttribute::new(context, &roles).into(),
        );
    }
    if let Some(alignments) = kernel.alignments() {
        let alignments = buffers
            .iter()
            .map(|buffer| alignments[*buffer])
            .collect::<Vec<_>>();
        set(kernel, "alignments", &alignments);
    }
    if let Some(multiples) = kernel.multiples() {
        let kept = multiples.chunks_exact(3).filter_map(|triple| {
            let buffer = renumbered(usize::try_from(triple[0]).ok()?)?;
            Some([buffer, triple[1], triple[2]])
        });
        set_or_remove(kernel, "multiples", &kept.flatten().collect::<Vec<_>>());
    }
    if let Some(bounds) = kernel.bounds() {
        let kept = bounds.chunks_exact(4).filter_map(|bound| {
            let buffer = renumbered(usize::try_from(bound[0]).ok()?)?;
            Some([buffer, bound[1], bound[2], bound[3]])
        });
        set_or_remove(kernel, "bounds", &kept.flatten().collect::<Vec<_>>());
    }
    if let Some(aliases) = kernel.aliases() {
        let kept = aliases.chunks_exact(2).filter_map(|pair| {
            let one = renumbered(usize::try_from(pair[0]).ok()?)?;
            Some([one, renumbered(usize::try_from(pair[1]).ok()?)?])
        });
        set_or_remove(kernel, "aliases", &kept.flatten().collect::<Vec<_>>());
    }
    let block = block(kernel)?;
    let first_scalar = space.buffers.len();
    let first_dim = first_scalar + space.scalars.len();
    let unused = (0..space.buffers.len())
        .filter(|buffer| !buffers.contains(buffer))
        .chain(
            (0..space.scalars.len())
                .filter(|scalar| !scalars.contains(scalar))
                .map(|scalar| first_scalar + scalar),
        )
        .chain(
            (0..space.dims.len())
                .filter(|dim| !dims.contains(dim))
                .map(|dim| first_dim + dim),
        )
        .collect::<Vec<_>>();
    for argument in unused.into_iter().rev() {
        // SAFETY: nothing uses the argument, and the analysis that names it ends with this function.
        unsafe { block.erase_argument(argument) }
    }
    Ok(Left { buffers, scalars })
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
