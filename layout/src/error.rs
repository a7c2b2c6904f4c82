//! Errors of building a layout, or of a question about one. Every variant is a user error: it follows from the layout as it was
//! written.

use crate::linear::HardwareDim;

/// Why a layout cannot be built, or cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// An extent that has to be a power of two is not.
    #[error("expected {what} to be a power of two, got {value}")]
    NotPowerOfTwo {
        /// What has this extent.
        what: &'static str,
        /// The extent given.
        value: i64,
    },
    /// A list does not have one entry per axis.
    #[error("expected {what} to have {expected} entries, one per axis, got {got}")]
    RankMismatch {
        /// Which list.
        what: &'static str,
        /// The tile's rank.
        expected: usize,
        /// The list's length.
        got: usize,
    },
    /// A basis points outside the tile.
    #[error("expected {dim} basis {bit} to lie in [0, {extent}) along axis {axis}, got {value}")]
    BasisOutOfRange {
        /// The hardware dim of the basis.
        dim: HardwareDim,
        /// Its bit within the dim.
        bit: usize,
        /// The offending axis.
        axis: usize,
        /// The tile's extent along that axis.
        extent: i64,
        /// The coordinate given.
        value: i32,
    },
    /// Some tile element is held by no thread.
    #[error("expected the bases to reach every element (rank {expected}), got rank {got}")]
    NotSurjective {
        /// log2 of the tile's element count.
        expected: usize,
        /// Rank of the bases.
        got: usize,
    },
    /// More index bits than the representation holds.
    #[error("expected at most {limit} bits of {what}, got {got}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The most supported.
        limit: usize,
        /// The bits asked for.
        got: usize,
    },
    /// `order` does not name every axis once.
    #[error("expected order to be a permutation of the axes 0..{rank}, got {order:?}")]
    BadOrder {
        /// The tile's rank.
        rank: usize,
        /// The order given.
        order: Vec<usize>,
    },
    /// An axis that the tile does not have.
    #[error("expected an axis below {rank}, got {axis}")]
    NoSuchAxis {
        /// The axis asked about.
        axis: usize,
        /// The tile's rank.
        rank: usize,
    },
    /// Two layouts that have to be of the same tile are not.
    #[error("expected both layouts to have shape {expected:?}, got {got:?}")]
    ShapeMismatch {
        /// The first layout's shape.
        expected: Vec<i64>,
        /// The second layout's shape.
        got: Vec<i64>,
    },
    /// Two layouts that have to be for the same threads are not.
    #[error("expected both layouts to have {expected} {dim}s, got {got}")]
    HardwareMismatch {
        /// The dim that differs.
        dim: HardwareDim,
        /// The first layout's extent.
        expected: usize,
        /// The second layout's extent.
        got: usize,
    },
    /// Elements of one reduced row are spread over combinations of levels, so that no level can be reduced alone.
    #[error(
        "expected axis {axis} to split into register, lane, warp and block parts, got bases that mix it with other axes \
         across levels; convert the layout before reducing"
    )]
    EntangledAxis {
        /// The axis to reduce.
        axis: usize,
    },
    /// CTAs interleave within the tile, so that one CTA's elements are no tile of their own.
    #[error("expected block bases to be the highest bits of their axis, got {basis:?}")]
    InterleavedBlocks {
        /// The offending basis.
        basis: Vec<i32>,
    },
    /// A conversion that moves data between the CTAs of a cluster.
    #[error("expected a conversion within one CTA, got one of a tile that is spread over several")]
    CrossesBlocks,
    /// A shared-memory swizzle that does not permute a row.
    #[error(
        "expected a swizzle of vec * max_phase at most {extent} elements (the fastest extent), got {vec} * {max_phase}"
    )]
    SwizzleTooWide {
        /// The fastest axis' extent.
        extent: i64,
        /// Elements that stay together.
        vec: i64,
        /// Distinct phases.
        max_phase: i64,
    },
    /// Negative padding so large that a run would not begin behind the beginning of the previous one.
    #[error("expected padding of more than -{interval} elements, got {amount}")]
    OverlappingPadding {
        /// The elements of a run.
        interval: i64,
        /// The padding behind each.
        amount: i64,
    },
    /// Partial results exist only per warp and per block.
    #[error("expected partials per warp or per block, got per {0}")]
    NoPartialsPer(HardwareDim),
}
