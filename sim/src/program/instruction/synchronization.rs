//! What barriers, mbarriers and fences do.

use crate::program::Register;

/// What a CTA barrier does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Arrives and waits.
    Sync,
    /// Arrives only.
    Arrive,
    /// Arrives, waits, and gives all threads the count, conjunction or disjunction of a predicate.
    Reduce {
        /// Which.
        op: BarrierReduceOp,
        /// Result.
        to: Register,
        /// The predicate.
        predicate: Register,
    },
}

/// What `barrier.red` computes of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum BarrierReduceOp {
    PopulationCount,
    And,
    Or,
}

/// Operations on an mbarrier that never wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierOp {
    /// `mbarrier.init`.
    Init,
    /// `mbarrier.inval`.
    Invalidate,
    /// `mbarrier.arrive`, with `expect_tx` where a transaction is given.
    Arrive,
    /// `mbarrier.arrive_drop`: also expects fewer arrivals in the phases that follow.
    ArriveDrop,
    /// `mbarrier.expect_tx`.
    ExpectTransaction,
    /// `mbarrier.complete_tx`.
    CompleteTransaction,
}

/// What a test of a phase gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// `mbarrier.test_wait`: the answer now.
    Test,
    /// `mbarrier.try_wait`: the answer within some time, which may come late and may be no.
    Try,
    /// A loop around `try_wait` written as one op (`nvvm.mbarrier.try_wait.parity`).
    Loop,
}

/// Fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// `fence.acq_rel`, `fence.sc`, `membar`, at least of CTA scope.
    AcquireRelease {
        /// Whether only threads of the CTA are ordered.
        cta: bool,
    },
    /// `fence.proxy.async`: between generic and async accesses, of shared memory alone, of global alone, or of all.
    ProxyAsync {
        /// Whether it orders accesses of shared memory.
        shared: bool,
        /// Whether it orders accesses of global memory.
        global: bool,
    },
    /// `fence.mbarrier_init.release.cluster`.
    MbarrierInit,
    /// `fence.proxy.tensormap`, `.alias`: no such proxy is used otherwise.
    OtherProxy,
}
