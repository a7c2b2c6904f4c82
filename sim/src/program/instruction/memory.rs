//! Operands of memory instructions: state spaces, memory orders, atomic operations.

use super::Format;
use crate::program::Register;

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Generic: the address says which space it lies in.
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
    /// Whether it releases: a thread that acquires it sees this thread's earlier operations.
    pub release: bool,
    /// Whether it acquires: this thread's later operations see what was released.
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

/// The type of the values that an atomic operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicFormat {
    /// A signed integer of that many bits.
    Signed(u8),
    /// An unsigned integer, or plain bits, of that many bits.
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

/// The mechanism by which a bulk copy signals its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It performs `complete_tx` with the copied bytes on the mbarrier at this address, in the CTA that receives them.
    Mbarrier(Register),
    /// It belongs to a bulk group of the issuing thread.
    Group,
}
