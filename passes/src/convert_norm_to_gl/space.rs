//! A tiled space: which of a kernel's block arguments are buffers, grid dims and tile dims.

use melior::ir::{
    AffineExpr, AffineMap, BlockLike, BlockRef, Location, RegionLike, Type, Value, ValueLike,
    block::BlockArgument, operation::OperationLike,
};
use norma_dialects::norm::{DimRole, KernelOp};

use crate::support::{diagnostic::Diagnostic, pass::PassError};

/// What one dim of the space is spread over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dim {
    /// The grid; position among grid dims.
    Grid(usize),
    /// An axis of tiles; position among tile dims.
    Tile(usize),
}

/// The space of a kernel that is all grid and tiles.
pub(super) struct Space<'c, 'a> {
    location: Location<'c>,
    block: BlockRef<'c, 'a>,
    buffers: Vec<(Type<'c>, Location<'c>)>,
    dims: Vec<Dim>,
    extents: AffineMap<'c>,
    guards: Option<AffineMap<'c>>,
    sizes: Vec<(usize, usize)>,
    tile_shape: Vec<i64>,
}

impl<'c, 'a> Space<'c, 'a> {
    /// The space of a kernel after `norm-tile` and the passes that take away its loops.
    ///
    /// # Errors
    ///
    /// A user error if the kernel is not tiled; unsupported if dims are spread over loops or clusters.
    pub fn of(kernel: KernelOp<'c, 'a>) -> Result<Self, PassError<'c>> {
        let op = kernel.op();
        let location = op.location();
        let block = kernel
            .body()?
            .first_block()
            .ok_or_else(|| Diagnostic::internal(location, "a kernel without a block"))?;
        let extents = kernel.extents()?;
        let roles = kernel
            .roles()
            .ok_or_else(|| Diagnostic::user(location, "expected a tiled kernel; run norm-tile first"))?;
        let num_buffers = block.argument_count() - extents.result_count();
        let buffers = (0..num_buffers)
            .map(|index| Ok((block.argument(index)?.r#type(), location)))
            .collect::<Result<Vec<_>, melior::Error>>()?;
        let mut dims = Vec::new();
        let mut tile_shape = Vec::new();
        let mut num_grid = 0;
        for (index, role) in roles.iter().enumerate() {
            let role = DimRole::from_u32(*role as u32)
                .ok_or_else(|| Diagnostic::internal(location, format!("expected a role, got {role}")))?;
            match role {
                DimRole::Grid => {
                    dims.push(Dim::Grid(num_grid));
                    num_grid += 1;
                }
                DimRole::Tile => {
                    let extent = extents.result(index)?;
                    if !extent.is_constant() || !(extent.constant_value() as u64).is_power_of_two() {
                        return Err(Diagnostic::user(
                            location,
                            format!("expected tile dims whose extents are powers of two, got {extent}"),
                        )
                        .into());
                    }
                    dims.push(Dim::Tile(tile_shape.len()));
                    tile_shape.push(extent.constant_value());
                }
                DimRole::Loop | DimRole::Cluster => {
                    return Err(Diagnostic::unsupported(
                        location,
                        format!(
                            "expected dims spread over the grid and tiles alone, got a {} dim",
                            role.keyword()
                        ),
                    )
                    .into());
                }
            }
        }
        if tile_shape.is_empty() {
            return Err(Diagnostic::user(location, "expected a kernel with at least one tile dim").into());
        }
        Ok(Self {
            location,
            block,
            buffers,
            dims,
            extents,
            guards: kernel.guards(),
            sizes: kernel
                .sizes()?
                .chunks(2)
                .map(|pair| (pair[0] as usize, pair[1] as usize))
                .collect(),
            tile_shape,
        })
    }

    /// Where the kernel stands in the source.
    pub fn location(&self) -> Location<'c> {
        self.location
    }

    /// The kernel's block.
    pub fn block(&self) -> BlockRef<'c, 'a> {
        self.block
    }

    /// The buffers' types and places in the source.
    pub fn buffers(&self) -> &[(Type<'c>, Location<'c>)] {
        &self.buffers
    }

    /// The dims, in the kernel's order.
    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// The extent of a dim, over the sizes.
    pub fn extent(&self, dim: usize) -> Result<AffineExpr<'c>, melior::Error> {
        self.extents.result(dim)
    }

    /// The kernel's guards, over all of its dims and sizes.
    pub fn guards(&self) -> Option<AffineMap<'c>> {
        self.guards
    }

    /// (buffer, axis) of each affine symbol.
    pub fn sizes(&self) -> &[(usize, usize)] {
        &self.sizes
    }

    /// The extents of the tile dims.
    pub fn tile_shape(&self) -> &[i64] {
        &self.tile_shape
    }

    /// The position of a value among the dims, if it is one.
    pub fn dim_of(&self, value: Value<'c, 'a>) -> Option<usize> {
        let number = BlockArgument::try_from(value).ok()?.argument_number();
        number.checked_sub(self.buffers.len())
    }

    /// The positions of the grid dims.
    pub fn grid(&self) -> Vec<usize> {
        (0..self.dims.len())
            .filter(|dim| matches!(self.dims[*dim], Dim::Grid(_)))
            .collect()
    }
}
