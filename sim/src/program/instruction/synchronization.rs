//! Operations of barriers, mbarriers and fences.

use crate::program::Register;

/// Operations of a CTA barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Arrives and waits.
    Sync,
    /// Arrives only.
    Arrive,
    /// Arrives, waits, and gives all threads the count, conjunction or disjunction of a predicate.
    Reduce {
        /// Which reduction.
        op: BarrierReduceOp,
        /// Result.
        to: Register,
        /// The predicate.
        predicate: Register,
    },
}

/// The reduction of a predicate that `barrier.red` computes.
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

/// The ways to test a phase of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// `mbarrier.test_wait`: answers at once.
    Test,
    /// `mbarrier.try_wait`: may suspend the thread for a bounded time, and may then answer no.
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
    /// `fence.proxy.async`: orders accesses of the generic and the async proxy, to shared memory, global memory or
    /// both.
    ProxyAsync {
        /// Whether it orders accesses of shared memory.
        shared: bool,
        /// Whether it orders accesses of global memory.
        global: bool,
    },
    /// `fence.mbarrier_init.release.cluster`.
    MbarrierInit,
    /// `fence.proxy.tensormap`, `.alias`: fences of proxies that are not modelled.
    OtherProxy,
}
