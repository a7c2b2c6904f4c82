//! The instructions that a warp can execute.
//!
//! Where PTX and LLVM differ in detail the instruction says which it means. Operations on vectors are decoded to one
//! instruction per component; memory instructions keep their vector, as the width of an access is observable.

mod memory;
mod number;
mod synchronization;
mod threads;

pub use memory::*;
pub use number::*;
pub use synchronization::*;
pub use threads::*;

use super::{Pc, Register};

/// One instruction, executed by the active lanes of a warp.
#[derive(Clone, Debug, PartialEq)]
pub enum Instruction {
    /// `to = value`.
    Constant {
        /// Result.
        to: Register,
        /// The bit pattern.
        value: u64,
    },
    /// `to = undefined`: any bit pattern. Computing with it is allowed; letting it reach memory or control flow is a
    /// fault.
    Undefined {
        /// Result.
        to: Register,
    },
    /// `to = from`.
    Copy {
        /// Result.
        to: Register,
        /// Operand.
        from: Register,
    },
    /// `to = condition ? yes : no`, lane by lane.
    Select {
        /// Result.
        to: Register,
        /// An `i1`.
        condition: Register,
        /// If 1.
        yes: Register,
        /// If 0.
        no: Register,
    },
    /// Integer arithmetic on the low `bits` bits.
    Integer {
        /// Which operation.
        op: IntegerOp,
        /// 1 to 64.
        bits: u8,
        /// Result.
        to: Register,
        /// Left operand.
        a: Register,
        /// Right operand.
        b: Register,
    },
    /// `to = a + b * scale`, on 64-bit addresses (`llvm.getelementptr`); `b` is sign-extended from `bits`.
    Address {
        /// Result.
        to: Register,
        /// The base address.
        a: Register,
        /// The index.
        b: Register,
        /// The index's width.
        bits: u8,
        /// Bytes per step.
        scale: i64,
    },
    /// An integer comparison, giving an `i1`.
    CompareInteger {
        /// Which comparison.
        predicate: IntegerPredicate,
        /// Width of the operands.
        bits: u8,
        /// Result.
        to: Register,
        /// Left operand.
        a: Register,
        /// Right operand.
        b: Register,
    },
    /// Float arithmetic on one or two operands, rounded to nearest even.
    Float {
        /// Which operation.
        op: FloatOp,
        /// The format of operands and result.
        format: Format,
        /// Whether subnormal operands and results are flushed to zero of their sign (`.ftz`).
        flush: bool,
        /// Result.
        to: Register,
        /// Left operand.
        a: Register,
        /// Right operand; equal to `a` where the operation has one operand.
        b: Register,
    },
    /// `to = a * b + c` with one rounding to nearest even.
    FusedMultiplyAdd {
        /// The format.
        format: Format,
        /// Whether subnormals are flushed.
        flush: bool,
        /// Result.
        to: Register,
        /// Factor.
        a: Register,
        /// Factor.
        b: Register,
        /// Addend.
        c: Register,
    },
    /// A float comparison, giving an `i1`.
    CompareFloat {
        /// Which comparison.
        predicate: FloatPredicate,
        /// The format.
        format: Format,
        /// Result.
        to: Register,
        /// Left operand.
        a: Register,
        /// Right operand.
        b: Register,
    },
    /// An approximate function of the special function unit, f32 to f32.
    Approximate {
        /// Which function.
        function: ApproximateFunction,
        /// Whether subnormals are flushed.
        flush: bool,
        /// Result.
        to: Register,
        /// Operand.
        a: Register,
        /// The divisor of a division; otherwise equal to `a`.
        b: Register,
    },
    /// A conversion between number types.
    Convert {
        /// Which conversion.
        conversion: Conversion,
        /// Result.
        to: Register,
        /// Operand.
        from: Register,
    },
    /// The bits of `from`, lowest register first, split again into registers of another width (`llvm.bitcast`).
    Repack {
        /// Results.
        to: Vec<Register>,
        /// Width of each result.
        to_bits: u8,
        /// Operands.
        from: Vec<Register>,
        /// Width of each operand.
        from_bits: u8,
    },
    /// `prmt.b32`: each selector nibble picks a byte of `b:a`, or its sign replicated (bit 3).
    PermuteBytes {
        /// Result.
        to: Register,
        /// Bytes 0 to 3.
        a: Register,
        /// Bytes 4 to 7.
        b: Register,
        /// Four nibbles.
        selector: Register,
    },
    /// A special register.
    Special {
        /// Which register.
        register: SpecialRegister,
        /// Result.
        to: Register,
    },
    /// Reads `to.len()` components of `bytes` bytes each from consecutive addresses.
    Load {
        /// The memory.
        space: Space,
        /// How it is ordered.
        order: MemoryOrder,
        /// Whether it promises that nobody writes there while the kernel runs (`.nc`, `invariant`).
        invariant: bool,
        /// Results.
        to: Vec<Register>,
        /// Bytes per component.
        bytes: u8,
        /// The address's register.
        address: Register,
        /// What the address must be a multiple of.
        align: u32,
        /// Lanes that take part; the others keep their `to`.
        guard: Option<Guard>,
    },
    /// Writes `from.len()` components of `bytes` bytes each to consecutive addresses.
    Store {
        /// The memory.
        space: Space,
        /// How it is ordered.
        order: MemoryOrder,
        /// What to write.
        from: Vec<Register>,
        /// Bytes per component.
        bytes: u8,
        /// The address's register.
        address: Register,
        /// What the address must be a multiple of.
        align: u32,
        /// Lanes that take part.
        guard: Option<Guard>,
    },
    /// An atomic read-modify-write (`atom`, `red`).
    Atomic {
        /// The memory.
        space: Space,
        /// How it is ordered.
        order: MemoryOrder,
        /// Which operation.
        op: AtomicOp,
        /// The type of the value in memory.
        format: AtomicFormat,
        /// The old value; absent for `red`.
        to: Option<Register>,
        /// The address's register.
        address: Register,
        /// The operand; the new value of a compare-and-swap.
        operand: Register,
        /// What a compare-and-swap expects.
        expected: Option<Register>,
        /// Lanes that take part.
        guard: Option<Guard>,
    },
    /// `shfl.sync`.
    Shuffle {
        /// Which lanes are read.
        kind: ShuffleKind,
        /// Result, 32 bits.
        to: Register,
        /// Whether the source lane was in range.
        in_range: Option<Register>,
        /// Lanes that take part.
        mask: Register,
        /// What is exchanged.
        value: Register,
        /// Lane or distance.
        offset: Register,
        /// Clamp and segment mask, as in PTX.
        clamp: Register,
    },
    /// `vote.sync`, `match.sync`, `activemask`.
    Vote {
        /// Which vote.
        kind: VoteKind,
        /// Result.
        to: Register,
        /// Lanes that take part; for [`VoteKind::ActiveMask`] unused.
        mask: Register,
        /// The predicate or value.
        value: Register,
    },
    /// `elect.sync`.
    Elect {
        /// 1 in the elected lane.
        to: Register,
        /// Lanes that take part; absent for all.
        mask: Option<Register>,
    },
    /// `redux.sync`.
    WarpReduce {
        /// Which operation.
        op: WarpReduceOp,
        /// Result.
        to: Register,
        /// Lanes that take part.
        mask: Register,
        /// What is reduced, 32 bits.
        value: Register,
    },
    /// `bar.warp.sync`.
    WarpBarrier {
        /// Lanes that take part.
        mask: Register,
    },
    /// `barrier.cta`.
    Barrier {
        /// Whether threads wait, or only arrive.
        kind: BarrierKind,
        /// Which of the CTA's 16 barriers; absent for 0.
        id: Option<Register>,
        /// Threads that take part; absent for all of the CTA.
        threads: Option<Register>,
        /// Whether all threads of a warp must execute it together.
        aligned: bool,
    },
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// Whether it releases what came before; otherwise `.relaxed`.
        release: bool,
        /// Whether all threads of a warp must execute it together.
        aligned: bool,
    },
    /// `barrier.cluster.wait`.
    ClusterWait {
        /// Whether it acquires what the others released; otherwise `.relaxed`.
        acquire: bool,
        /// Whether all threads of a warp must execute it together.
        aligned: bool,
    },
    /// An operation on an mbarrier that never waits.
    Mbarrier {
        /// Which operation.
        op: MbarrierOp,
        /// Shared ([`Space::Shared`]) or another CTA's ([`Space::Cluster`]).
        space: Space,
        /// The mbarrier's address.
        address: Register,
        /// The expected count of an init; arrivals of an arrive (1 if absent).
        count: Option<Register>,
        /// Transaction bytes of `expect_tx` and `complete_tx`, or of an `arrive.expect_tx`.
        transaction: Option<Register>,
        /// The opaque state of the phase, which an arrive returns.
        state: Option<Register>,
        /// How it is ordered.
        order: MemoryOrder,
        /// Lanes that take part.
        guard: Option<Guard>,
    },
    /// Tests whether a phase of an mbarrier has completed.
    MbarrierWait {
        /// Whether it answers at once, waits for some time, or loops.
        kind: WaitKind,
        /// The mbarrier's address.
        address: Register,
        /// The phase: a parity (0 or 1), or the state that an arrive gave.
        phase: Register,
        /// Whether `phase` is a parity.
        parity: bool,
        /// 1 if the phase has completed; absent for [`WaitKind::Loop`], which ends only then.
        to: Option<Register>,
        /// How it is ordered.
        order: MemoryOrder,
    },
    /// `cp.async`: 4, 8 or 16 bytes from global to shared memory.
    CopyAsync {
        /// Where to, in shared memory.
        to: Register,
        /// Where from, in global memory.
        from: Register,
        /// Bytes written.
        bytes: u8,
        /// Bytes read; the rest is zero. Absent for all.
        source_bytes: Option<Register>,
        /// Lanes that take part.
        guard: Option<Guard>,
    },
    /// `cp.async.commit_group`.
    CopyAsyncCommit,
    /// `cp.async.wait_group`, until at most this many groups of the thread are pending; `wait_all` is absent.
    CopyAsyncWait {
        /// Groups that may stay pending.
        pending: Option<u32>,
    },
    /// `cp.async.mbarrier.arrive`: arrives once the thread's copies so far have landed.
    CopyAsyncArrive {
        /// The mbarrier's address.
        address: Register,
        /// Whether the mbarrier's expected count already includes this arrival (`.noinc`).
        counted: bool,
    },
    /// `cp.async.bulk` of one piece of memory.
    BulkCopy {
        /// Where to.
        destination: BulkPlace,
        /// Where from.
        source: BulkPlace,
        /// Bytes, a multiple of 16.
        bytes: Register,
        /// How its completion is signalled.
        completion: Completion,
        /// Mask of the CTAs of the cluster that receive it.
        multicast: Option<Register>,
        /// An operation in place of a plain write (`cp.reduce.async.bulk`).
        reduce: Option<(AtomicOp, AtomicFormat)>,
        /// Lanes that take part.
        guard: Option<Guard>,
    },
    /// `cp.async.bulk.tensor` of one box (tile mode).
    TensorCopy {
        /// The tensor map's address.
        map: Register,
        /// The box's corner, innermost first.
        coordinates: Vec<Register>,
        /// The place in shared memory.
        shared: BulkPlace,
        /// Whether it goes from shared to global memory.
        store: bool,
        /// How its completion is signalled.
        completion: Completion,
        /// Mask of the CTAs of the cluster that receive it.
        multicast: Option<Register>,
        /// An operation in place of a plain write (`cp.reduce.async.bulk.tensor`).
        reduce: Option<(AtomicOp, AtomicFormat)>,
        /// Lanes that take part.
        guard: Option<Guard>,
    },
    /// `cp.async.bulk.commit_group`.
    BulkCommit,
    /// `cp.async.bulk.wait_group`.
    BulkWait {
        /// Groups that may stay pending.
        pending: u32,
        /// Whether it is enough that sources have been read (`.read`).
        read: bool,
    },
    /// `st.async`: a store to another CTA's shared memory that completes on an mbarrier there.
    StoreAsync {
        /// Where to, in the cluster's shared memory.
        address: Register,
        /// What to write.
        from: Vec<Register>,
        /// Bytes per component.
        bytes: u8,
        /// The mbarrier's address, in the same CTA as `address`.
        mbarrier: Register,
        /// Lanes that take part.
        guard: Option<Guard>,
    },
    /// `mapa`: the address of the same variable in another CTA of the cluster.
    MapToCta {
        /// Result, an address of [`Space::Cluster`].
        to: Register,
        /// An address of shared memory.
        address: Register,
        /// The CTA's rank in the cluster.
        rank: Register,
    },
    /// A fence.
    Fence(Fence),
    /// `griddepcontrol.wait`: what the kernels ahead in the stream wrote is visible from here on.
    GridDependencyWait,
    /// `griddepcontrol.launch_dependents`.
    GridDependencyLaunch,
    /// `setmaxnreg`.
    SetMaxRegisters {
        /// Registers per thread from here on.
        registers: u32,
        /// Whether it acquires registers (`.inc`); otherwise it releases some (`.dec`).
        increase: bool,
    },
    /// A prefetch, which changes nothing. The machine ignores it, whatever memory it names.
    Prefetch {
        /// The address.
        address: Register,
    },
    /// Branches to another block.
    Branch(Edge),
    /// Branches to one of two blocks; each lane takes its own way.
    ConditionalBranch {
        /// An `i1`.
        condition: Register,
        /// If 1.
        yes: Edge,
        /// If 0.
        no: Edge,
    },
    /// Branches to the block of the case that equals the operand.
    Switch {
        /// The operand.
        value: Register,
        /// The cases: values and their edges.
        cases: Vec<(u64, Edge)>,
        /// The edge of all other values.
        default: Edge,
    },
    /// Ends the thread.
    Return,
    /// Ends the kernel with a fault (`trap`, `llvm.unreachable`).
    Trap,
}

/// A control-flow edge: the target block and the values of its arguments. All sources are read before any argument is
/// written (a parallel copy).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edge {
    /// The block's first instruction.
    pub target: Pc,
    /// (argument, value).
    pub moves: Vec<(Register, Register)>,
}

/// Lanes that take part in a guarded instruction: `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub register: Register,
    /// Whether lanes take part where it is 0.
    pub negated: bool,
}
