//! Spaces, orders and atomic operations: what memory instructions are about.

use super::Format;
use crate::program::Register;

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Known only by the address.
    Generic,
    /// Global memory.
    Global,
    /// The CTA's own shared memory (`.shared::cta`).
    Shared,
    /// Shared memory of any CTA of the cluster (`.shared::cluster`).
    Cluster,
    /// Constants of the module.
    Constant,
    /// Kernel parameters.
    Parameter,
    /// A thread's own memory.
    Local,
}

/// How a memory operation is ordered with others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryOrder {
    /// Earlier operations of the thread are seen by who acquires it.
    pub release: bool,
    /// Later operations of the thread see what was released.
    pub acquire: bool,
    /// Whether it is a strong (relaxed or stronger, or volatile) operation, which cannot race with another such.
    pub strong: bool,
    /// Whether only threads of the same CTA are ordered (`.cta` scope).
    pub cta: bool,
}

/// Atomic operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PTX's")]
pub enum AtomicOp {
    Add,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Max,
    Min,
    Increment,
    Decrement,
}

/// What an atomic operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicFormat {
    /// Bits of that width, signed where it matters.
    Signed(u8),
    /// Bits of that width, unsigned.
    Unsigned(u8),
    /// A float.
    Float(Format),
    /// Two floats of 16 bits.
    Pair(Format),
}

/// One end of a bulk copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkPlace {
    /// Global, shared, or cluster.
    pub space: Space,
    /// Its address.
    pub address: Register,
}

/// How the completion of a bulk copy is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Bytes are taken off an mbarrier's pending transactions, in the memory that receives them.
    Mbarrier(Register),
    /// The thread's bulk groups.
    Group,
}
