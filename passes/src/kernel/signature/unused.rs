//! Removes the arguments of a kernel that nothing uses.

use std::collections::BTreeSet;

use melior::{
    Error,
    ir::{AffineExpr, AffineMap, BlockLike, Value, attribute::DenseI32ArrayAttribute},
};
use norma_dialects::{affine_map_attribute, attributes, norm::KernelOp};

use super::{block, set, set_or_remove};
use crate::{
    kernel::{guards::Guard, space::Space},
    mlir::{
        affine::{Leaf, substitute, symbols},
        builder::Builder,
        context,
        values::uses,
    },
};

/// The buffers and scalars that a kernel keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
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
pub fn drop_unused<'c>(kernel: KernelOp<'c, '_>) -> Result<Kept, Error> {
    let space = Space::of(kernel)?;
    let conditions = kernel.conditions().map(results).transpose()?;
    let used = Used::of(&space, conditions.as_deref());
    used.rewrite_expressions(kernel, &space, conditions.as_deref());
    used.rewrite_numbers(kernel);
    used.erase_others(kernel, &space)?;
    Ok(used.kept)
}

fn results(map: AffineMap<'_>) -> Result<Vec<AffineExpr<'_>>, Error> {
    (0..map.result_count()).map(|index| map.result(index)).collect()
}

/// What a kernel uses, by position, in the order in which it has it.
struct Used<'c> {
    kept: Kept,
    dims: Vec<usize>,
    /// The symbols of extents, guards and conditions.
    symbols: BTreeSet<usize>,
    guards: Vec<Guard<'c>>,
}

impl<'c> Used<'c> {
    fn of(space: &Space<'c, '_>, conditions: Option<&[AffineExpr<'c>]>) -> Self {
        let is_used = |value: &Value<'_, '_>| uses(*value) > 0;
        let (dims, unused) = (0..space.dims.len()).partition::<Vec<_>, _>(|dim| is_used(&space.dims[*dim]));
        let concerns_unused = |sides: &Guard<'c>| {
            let mut unused = unused.iter();
            unused.any(|dim| sides.iter().any(|side| side.is_function_of_dim(*dim)))
        };
        let guards = space.guards.iter().filter(|sides| !concerns_unused(sides));
        let guards = guards.copied().collect::<Vec<_>>();
        let extents = dims.iter().map(|dim| &space.extents[*dim]);
        let symbols = extents
            .chain(guards.as_flattened())
            .chain(conditions.into_iter().flatten())
            .flat_map(|expression| symbols(*expression))
            .collect::<BTreeSet<_>>();
        let is_measured = |buffer: usize| symbols.iter().any(|symbol| space.sizes[*symbol].0 == buffer);
        let buffers = (0..space.buffers.len())
            .filter(|buffer| is_used(&space.buffers[*buffer]) || is_measured(*buffer))
            .collect();
        let scalars = (0..space.scalars.len())
            .filter(|scalar| is_used(&space.scalars[*scalar]))
            .collect();
        Self {
            kept: Kept { buffers, scalars },
            dims,
            symbols,
            guards,
        }
    }

    /// The new position of a buffer; `None` if it is removed.
    fn buffer(&self, buffer: usize) -> Option<i64> {
        let position = self.kept.buffers.iter().position(|kept| *kept == buffer);
        position.map(|position| position as i64)
    }

    /// As [`Self::buffer`], of a position in an attribute.
    fn named_buffer(&self, buffer: i64) -> Option<i64> {
        self.buffer(usize::try_from(buffer).ok()?)
    }

    /// A map of expressions over what is used.
    fn map(
        &self,
        context: &'c melior::Context,
        expressions: &[AffineExpr<'c>],
        num_dims: usize,
    ) -> AffineMap<'c> {
        let mut renumbered = |leaf| {
            let (position, is_dim) = match leaf {
                Leaf::Dim(dim) => (self.dims.iter().position(|kept| *kept == dim), true),
                Leaf::Symbol(symbol) => (self.symbols.iter().position(|used| *used == symbol), false),
            };
            match position {
                Some(position) if is_dim => AffineExpr::dim(context, position),
                Some(position) => AffineExpr::symbol(context, position),
                None => AffineExpr::constant(context, 0),
            }
        };
        let results = expressions
            .iter()
            .map(|expression| substitute(*expression, &mut renumbered))
            .collect::<Vec<_>>();
        AffineMap::new(context, num_dims, self.symbols.len(), &results)
    }

    /// Rewrites the attributes of affine expressions, and of what their symbols and dims stand for.
    fn rewrite_expressions(
        &self,
        kernel: KernelOp<'c, '_>,
        space: &Space<'c, '_>,
        conditions: Option<&[AffineExpr<'c>]>,
    ) {
        let context = context::of(space.location());
        let b = Builder::before(kernel.op());
        let set_map = |name: &str, expressions: &[AffineExpr<'c>], num_dims| {
            let map = self.map(context, expressions, num_dims);
            b.set_attribute(kernel.op(), name, affine_map_attribute(map));
        };
        let extents = self
            .dims
            .iter()
            .map(|dim| space.extents[*dim])
            .collect::<Vec<_>>();
        set_map("extents", &extents, 0);
        let sizes = self.symbols.iter().filter_map(|symbol| {
            let (buffer, axis) = space.sizes[*symbol];
            Some([self.buffer(buffer)?, axis as i64])
        });
        set(kernel, "sizes", &sizes.flatten().collect::<Vec<_>>());
        if let Some(conditions) = conditions {
            set_map("conditions", conditions, 0);
        }
        if self.guards.is_empty() {
            b.remove_attribute(kernel.op(), "guards");
            b.remove_attribute(kernel.op(), attributes::kernel::PART);
        } else {
            set_map("guards", self.guards.as_flattened(), self.dims.len());
        }
        if let Some(roles) = kernel.roles() {
            let roles = self.dims.iter().map(|dim| roles[*dim]).collect::<Vec<_>>();
            let roles = DenseI32ArrayAttribute::new(context, &roles);
            b.set_attribute(kernel.op(), "roles", roles.into());
        }
    }

    /// Rewrites the attributes that say something of buffers, each of which is a list of numbers.
    fn rewrite_numbers(&self, kernel: KernelOp<'c, '_>) {
        if let Some(alignments) = kernel.alignments() {
            let kept = self.kept.buffers.iter().map(|buffer| alignments[*buffer]);
            set(kernel, "alignments", &kept.collect::<Vec<_>>());
        }
        if let Some(multiples) = kernel.multiples() {
            let kept = multiples
                .chunks_exact(3)
                .filter_map(|triple| Some([self.named_buffer(triple[0])?, triple[1], triple[2]]));
            set_or_remove(kernel, "multiples", &kept.flatten().collect::<Vec<_>>());
        }
        if let Some(bounds) = kernel.bounds() {
            let kept = bounds
                .chunks_exact(4)
                .filter_map(|bound| Some([self.named_buffer(bound[0])?, bound[1], bound[2], bound[3]]));
            set_or_remove(kernel, "bounds", &kept.flatten().collect::<Vec<_>>());
        }
        if let Some(aliases) = kernel.aliases() {
            let kept = aliases
                .chunks_exact(2)
                .filter_map(|pair| Some([self.named_buffer(pair[0])?, self.named_buffer(pair[1])?]));
            set_or_remove(kernel, "aliases", &kept.flatten().collect::<Vec<_>>());
        }
    }

    /// Erases the block arguments of all other buffers, scalars and dims, which follow each other in this order.
    fn erase_others(&self, kernel: KernelOp<'c, '_>, space: &Space<'c, '_>) -> Result<(), Error> {
        let block = block(kernel)?;
        let first_scalar = space.buffers.len();
        let first_dim = first_scalar + space.scalars.len();
        let others = |count: usize, used: &[usize], first: usize| {
            let positions = (0..count).filter(|position| !used.contains(position));
            positions.map(|position| first + position).collect::<Vec<_>>()
        };
        let unused = [
            others(space.buffers.len(), &self.kept.buffers, 0),
            others(space.scalars.len(), &self.kept.scalars, first_scalar),
            others(space.dims.len(), &self.dims, first_dim),
        ];
        for argument in unused.into_iter().flatten().rev() {
            // SAFETY: nothing uses the argument, and the analysis that names it ends with `drop_unused`.
            unsafe { block.erase_argument(argument) }
        }
        Ok(())
    }
}
