//! What the simulator finds wrong with a kernel.

use std::fmt;

use crate::program::{Site, Space};

/// Something a kernel must not do, at the place where it does it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The instruction.
    pub site: Site,
    /// The thread that executes it, or that issued the copy.
    pub thread: ThreadPlace,
    /// The memory concerned.
    pub memory: Option<MemoryPlace>,
    /// The sentence: lower-case, without a final period.
    pub message: String,
    /// What else took part: the other access of a race, what a wait is for.
    pub notes: Vec<Note>,
    /// How many more times the same kind was found at the same site.
    pub repeats: u64,
}

/// A secondary location of a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The instruction, where there is one.
    pub site: Option<Site>,
    /// The sentence.
    pub message: String,
}

/// The kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// An access outside of what was allocated.
    OutOfBounds,
    /// An access whose address is less aligned than the instruction requires.
    Misaligned,
    /// A read of bytes that nobody wrote.
    Uninitialized,
    /// An undefined value, which nothing has set, that reaches memory, an address, a branch or a wait.
    UndefinedValue,
    /// A write to a buffer that is only read.
    WriteToInput,
    /// Two accesses, one of them a write, that nothing orders.
    DataRace,
    /// A generic access and one by the async proxy, ordered but without a proxy fence between them.
    MissingProxyFence,
    /// A load that promised constant memory, of memory that the kernel writes.
    InvariantLoad,
    /// An mbarrier used wrongly: not initialized, too many arrivals, a transaction count out of range.
    Mbarrier,
    /// No thread can go on.
    Deadlock,
    /// A barrier, shuffle or vote that some of its threads never reach.
    PartialBarrier,
    /// A barrier with an id or thread count that hardware does not support.
    BadBarrier,
    /// A copy that is still under way when its CTA ends, or a CTA that ends while others access its shared memory.
    EarlyExit,
    /// A phase of an mbarrier that completes while a copy that counts for it is still under way.
    UnfinishedCopy,
    /// A copy whose sizes, addresses or tensor map break the rules of its instruction.
    BadCopy,
    /// Register counts of `setmaxnreg` that cannot be granted.
    Registers,
    /// A trap, or code that must not be reached.
    Trap,
    /// A read of another kernel's result before `griddepcontrol.wait`.
    GridDependency,
    /// A CTA that executes more instructions than the limit allows.
    Endless,
}

/// Identifies a thread of the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadPlace {
    /// The CTA's coordinates in the grid.
    pub cta: [u32; 3],
    /// The thread's coordinates in the CTA.
    pub thread: [u32; 3],
}

/// Identifies a range of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlace {
    /// The state space: global, shared, ...
    pub space: Space,
    /// The buffer or shared variable, where known.
    pub name: String,
    /// Bytes from its start.
    pub offset: i64,
    /// How many.
    pub bytes: u32,
}

impl FindingKind {
    /// The position of the kind in reports: causes come ahead of their consequences.
    pub fn rank(self) -> u8 {
        match self {
            // An uninitialized read, and more so a deadlock, often follows from a race, a missing fence or a misused
            // barrier.
            Self::Uninitialized => 1,
            Self::Deadlock | Self::Endless => 2,
            _ => 0,
        }
    }

    /// A short name, as in reports and tests.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out-of-bounds access",
            Self::Misaligned => "misaligned access",
            Self::Uninitialized => "uninitialized read",
            Self::UndefinedValue => "undefined value",
            Self::WriteToInput => "write to an input",
            Self::DataRace => "data race",
            Self::MissingProxyFence => "missing proxy fence",
            Self::InvariantLoad => "invariant load of written memory",
            Self::Mbarrier => "mbarrier misuse",
            Self::Deadlock => "deadlock",
            Self::PartialBarrier => "partial barrier",
            Self::BadBarrier => "bad barrier",
            Self::EarlyExit => "early exit",
            Self::UnfinishedCopy => "unfinished copy",
            Self::BadCopy => "bad copy",
            Self::Registers => "register budget",
            Self::Trap => "trap",
            Self::GridDependency => "grid dependency",
            Self::Endless => "endless kernel",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for ThreadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [[x, y, z], [a, b, c]] = [self.cta, self.thread];
        write!(f, "thread ({a}, {b}, {c}) of CTA ({x}, {y}, {z})")
    }
}

impl fmt::Display for MemoryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {}{:+}", self.bytes, self.name, self.offset)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |site: &Site| match &site.location {
            Some(location) => format!("{location}: "),
            None => String::new(),
        };
        write!(
            f,
            "{}error: {}: {} {}",
            place(&self.site),
            self.kind,
            self.site,
            self.message
        )?;
        write!(f, "\n  note: by {}", self.thread)?;
        if let Some(memory) = &self.memory {
            write!(f, ", {memory}")?;
        }
        if self.repeats > 0 {
            write!(f, "; {} more of this kind here", self.repeats)?;
        }
        for note in &self.notes {
            match &note.site {
                Some(site) => write!(f, "\n  {}note: {site} {}", place(site), note.message)?,
                None => write!(f, "\n  note: {}", note.message)?,
            }
        }
        Ok(())
    }
}
