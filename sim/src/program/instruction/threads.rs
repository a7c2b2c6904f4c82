//! Special registers, and the exchanges between the threads of a warp.

/// Special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialRegister {
    /// `%tid`, along 0 to 2.
    ThreadId(u8),
    /// `%ntid`.
    ThreadCount(u8),
    /// `%ctaid`.
    CtaId(u8),
    /// `%nctaid`.
    CtaCount(u8),
    /// `%clusterid`.
    ClusterId(u8),
    /// `%nclusterid`.
    ClusterCount(u8),
    /// `%cluster_ctaid`.
    ClusterCtaId(u8),
    /// `%cluster_nctaid`.
    ClusterCtaCount(u8),
    /// `%cluster_ctarank`.
    ClusterCtaRank,
    /// `%cluster_nctarank`.
    ClusterCtaRankCount,
    /// `%laneid`.
    LaneId,
    /// `%warpid`.
    WarpId,
    /// `%nwarpid`.
    WarpCount,
    /// `WARP_SZ`.
    WarpSize,
    /// `%smid`: any number below the count of multiprocessors.
    MultiprocessorId,
    /// `%nsmid`.
    MultiprocessorCount,
    /// `%dynamic_smem_size`.
    DynamicSharedBytes,
    /// `%lanemask_eq`, `_le`, `_lt`, `_ge`, `_gt`, numbered 0 to 4.
    LaneMask(u8),
    /// `%clock`, `%globaltimer`: grows over time.
    Clock,
}

/// Which lanes a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum ShuffleKind {
    Butterfly,
    Up,
    Down,
    Index,
}

/// Votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum VoteKind {
    All,
    Any,
    Uniform,
    Ballot,
    MatchAny,
    MatchAll,
    ActiveMask,
}

/// The 32-bit reductions of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum WarpReduceOp {
    Add,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    /// Of f32, as [`FloatOp::MinNum`](super::FloatOp::MinNum).
    MinNum,
    /// Of f32, as [`FloatOp::MaxNum`](super::FloatOp::MaxNum).
    MaxNum,
    /// Of f32, as [`FloatOp::Minimum`](super::FloatOp::Minimum).
    Minimum,
    /// Of f32, as [`FloatOp::Maximum`](super::FloatOp::Maximum).
    Maximum,
}
