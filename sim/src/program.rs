//! A kernel as the simulator runs it: flat code over scalar registers.
//!
//! Decoding an MLIR function loses nothing that can be observed: every SSA value becomes one register per scalar
//! component (a `vector<4xf32>` has four, a struct has those of its fields in order), every op becomes one
//! [`Instruction`] or a few, and each instruction keeps the [`Site`] it came from, for reports.
//!
//! A register holds 64 bits per lane. Narrower values lie in the low bits and the rest is zero, so that equal values
//! have equal registers: an `i1` is 0 or 1, an f32 its pattern, a pointer its address ([`crate::address`]).

pub mod instruction;
mod reads;
mod ways_out;
mod writes;

pub use instruction::*;

use std::fmt;

/// One scalar register of a lane.
pub type Register = u32;
/// The index of an instruction in [`Kernel::code`].
pub type Pc = u32;
/// The index of a [`Site`] in [`Program::sites`].
pub type SiteId = u32;

/// All kernels of a module, with the shared memory each declares.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The kernels, in the order of the module.
    pub kernels: Vec<Kernel>,
    /// Where instructions come from.
    pub sites: Vec<Site>,
}

/// One kernel.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Its symbol.
    pub name: String,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Threads along x, y and z that it was compiled for (`nvvm.reqntid`).
    pub required_block: Option<[u32; 3]>,
    /// CTAs of a cluster that it was compiled for (`nvvm.cluster_dim`).
    pub required_cluster: Option<[u32; 3]>,
    /// The most registers a thread may have at entry (`nvvm.maxnreg`, or what `nvvm.minctasm` leaves), if stated.
    pub entry_registers: Option<u32>,
    /// How many scalar registers a lane needs.
    pub registers: u32,
    /// The code. Blocks lie in weak topological order (`decode/blocks.rs`), so that diverged threads of a warp
    /// reconverge if the one at the smallest index always runs first.
    pub code: Vec<Instruction>,
    /// The site of each instruction.
    pub sites: Vec<SiteId>,
    /// The shared variables it uses, with their places.
    pub shared: Vec<SharedVariable>,
    /// Bytes of static shared memory, with the gaps between variables.
    pub static_shared_bytes: u32,
    /// Where dynamic shared memory begins, in bytes.
    pub dynamic_shared_offset: u32,
    /// Where dynamic shared memory begins on a device, which has no gaps between variables.
    pub packed_shared_bytes: u32,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The register that holds it (its address for [`ParameterKind::TensorMap`]).
    pub register: Register,
    /// What it is.
    pub kind: ParameterKind,
}

/// What a kernel parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// An address of global memory; `align` is the alignment that the kernel may assume (`llvm.align`), 1 if none is
    /// stated.
    Pointer {
        /// Bytes.
        align: u32,
    },
    /// An integer or float of that many bits.
    Scalar {
        /// 1 to 64.
        bits: u8,
    },
    /// A 128-byte tensor map passed by value (`llvm.byval`, `nvvm.grid_constant`).
    TensorMap,
}

/// A variable in shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedVariable {
    /// Its symbol.
    pub name: String,
    /// Where it begins, in bytes.
    pub offset: u32,
    /// Its size; 0 for dynamic shared memory, which extends to the end of what the launch asks for.
    pub bytes: u32,
}

/// Where an instruction comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// The op, such as `nvvm.barrier`, or the PTX instruction within an inline assembly op.
    pub op: String,
    /// The op's location: `file:line:col` where known.
    pub location: Option<Location>,
    /// The op's place in the module, where `location` points into the source that the module was compiled from instead.
    pub in_module: Option<Location>,
}

/// A place in a source text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl fmt::Display for Site {
    /// Writes the op, with its place in the module if that is not its location.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.op)?;
        match &self.in_module {
            Some(place) => write!(f, " ({place})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Program {
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}
