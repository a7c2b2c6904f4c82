//! Where the dims of a tiled space lie: in the grid, in a loop, or along the axes of tiles.

use norma_dialects::norm::{DimRole, HandOut};

use crate::{
    kernel::space::{DimSet, Space},
    mlir::diagnostic::Diagnostic,
    schedule::mapping::Mapping,
};

/// A set of tile dims, as bits.
pub(super) type Axes = u32;

/// Where one dim of the space lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The grid.
    Grid,
    /// The steps of a loop.
    Loop,
    /// An axis of tiles; position among tile dims.
    Tile(usize),
}

/// The place of each dim of a space.
pub(super) struct Placement {
    places: Vec<Place>,
    tile_shape: Vec<i64>,
    /// The axes that lie within each thread.
    register_axes: Axes,
    /// The axes that the CTAs of a cluster are spread over.
    cluster_axes: Axes,
}

impl Placement {
    /// The places of a kernel's dims after `norm-tile`.
    ///
    /// # Errors
    ///
    /// A user error if the kernel is not tiled.
    pub fn of<'c>(space: &Space<'c, '_>) -> Result<Self, Diagnostic<'c>> {
        let location = space.location();
        let roles = space
            .roles
            .as_ref()
            .ok_or_else(|| Diagnostic::user(location, "expected a tiled kernel, got one without roles"))?;
        let mut places = Vec::new();
        let mut tile_shape = Vec::new();
        let (mut register_axes, mut cluster_axes) = (0, 0);
        for (role, extent) in roles.iter().zip(&space.extents) {
            places.push(match role {
                DimRole::Grid => Place::Grid,
                DimRole::Loop => Place::Loop,
                DimRole::Cluster | DimRole::Thread | DimRole::Register => {
                    if !extent.is_constant() || !(extent.constant_value() as u64).is_power_of_two() {
                        let message =
                            format!("expected tile dims whose extents are powers of two, got {extent}");
                        return Err(Diagnostic::user(location, message));
                    }
                    let axis = tile_shape.len();
                    if axis >= Axes::BITS as usize {
                        let message = format!("more than {} tile dims", Axes::BITS);
                        return Err(Diagnostic::unsupported(location, message));
                    }
                    register_axes |= Axes::from(*role == DimRole::Register) << axis;
                    cluster_axes |= Axes::from(*role == DimRole::Cluster) << axis;
                    tile_shape.push(extent.constant_value());
                    Place::Tile(axis)
                }
            });
        }
        Ok(Self {
            places,
            tile_shape,
            register_axes,
            cluster_axes,
        })
    }

    /// The place of a dim.
    pub fn place(&self, dim: usize) -> Place {
        self.places[dim]
    }

    /// The positions of the grid dims in the space.
    pub fn grid(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.places.len()).filter(|dim| self.places[*dim] == Place::Grid)
    }

    /// The loop dim whose steps CTAs draw, which is the only loop dim of such a schedule. `None` if nothing is drawn, or if
    /// only one step is left, so that there is no loop.
    pub fn drawn(&self, mapping: &Mapping) -> Option<usize> {
        let mut dims = 0..self.places.len();
        match mapping.hand_out {
            HandOut::Static => None,
            HandOut::Dynamic => dims.find(|dim| self.places[*dim] == Place::Loop),
        }
    }

    /// The dims that are spread over CTAs: no two CTAs share their points, except CTAs of one cluster.
    pub fn of_ctas(&self, mapping: &Mapping) -> impl Iterator<Item = usize> {
        self.grid().chain(self.drawn(mapping))
    }

    /// The dims of the space that a tile over `axes` can depend on: those of its axes, and those that are scalars.
    pub fn dims_over(&self, axes: Axes) -> DimSet {
        let reaches = |dim: &usize| match self.places[*dim] {
            Place::Tile(position) => axes >> position & 1 == 1,
            Place::Grid | Place::Loop => true,
        };
        (0..self.places.len()).filter(reaches).collect()
    }

    /// The extents of the tile dims.
    pub fn tile_shape(&self) -> &[i64] {
        &self.tile_shape
    }

    /// The axes along which a thread that holds any element holds all of them.
    pub fn register_axes(&self) -> Axes {
        self.register_axes
    }

    /// The axes along which each CTA of a cluster holds one point.
    pub fn cluster_axes(&self) -> Axes {
        self.cluster_axes
    }

    /// The tile dims among dims of the space.
    pub fn axes<'d>(&self, dims: impl IntoIterator<Item = &'d usize>) -> Axes {
        dims.into_iter().fold(0, |axes, dim| match self.places[*dim] {
            Place::Tile(position) => axes | 1 << position,
            Place::Grid | Place::Loop => axes,
        })
    }
}
