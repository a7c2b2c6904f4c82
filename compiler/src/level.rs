//! The named levels of the compiler, from what a user writes to what a GPU runs.
//!
//! `--emit` prints a module at a level, and `--from` resumes from one. A level determines which dialects a module may
//! contain; [`Level::check`] checks this when a module is resumed, so that a wrong `--from` is reported as such and not by
//! some pass.

use std::fmt;
use std::str::FromStr;

use melior::ir::operation::OperationLike;
use melior::ir::{Module, OperationRef};
use norma_dialects::named_op::NamedOp;
use norma_dialects::norm::{ComputeOp, KernelOp};
use norma_passes::mlir::diagnostic::Diagnostic;
use norma_passes::mlir::walk;

use crate::error::{Error, Result};

/// A level, in the order of lowering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Named ops on tensors.
    Tensor,
    /// Kernel form: iteration spaces and scalar programs, with a normalised space.
    Kernel,
    /// Kernel form with a schedule on each kernel.
    Scheduled,
    /// Kernel form with its dims mapped to grid, threads and registers.
    Tiled,
    /// One CTA's program on tiles.
    Gl,
    /// The same with layouts, shared memory and barriers settled.
    GlLowered,
    /// One thread's program in MLIR's LLVM and NVVM dialects.
    Nvvm,
    /// LLVM IR, optimised.
    Llvm,
    /// PTX.
    Ptx,
    /// Machine code.
    Cubin,
}

impl Level {
    /// Every level, in order.
    pub const ALL: [Self; 10] = [
        Self::Tensor,
        Self::Kernel,
        Self::Scheduled,
        Self::Tiled,
        Self::Gl,
        Self::GlLowered,
        Self::Nvvm,
        Self::Llvm,
        Self::Ptx,
        Self::Cubin,
    ];

    /// The name, as in `--emit`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Kernel => "kernel",
            Self::Scheduled => "scheduled",
            Self::Tiled => "tiled",
            Self::Gl => "gl",
            Self::GlLowered => "gl-lowered",
            Self::Nvvm => "nvvm",
            Self::Llvm => "llvm",
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
        }
    }

    /// What the level holds, in one line.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Tensor => "named ops on tensors",
            Self::Kernel => "iteration spaces and scalar programs",
            Self::Scheduled => "kernels with their schedules",
            Self::Tiled => "kernels with their dims spread over the machine",
            Self::Gl => "one CTA's program on tiles",
            Self::GlLowered => "the same with layouts, shared memory and barriers settled",
            Self::Nvvm => "one thread's program in the LLVM and NVVM dialects",
            Self::Llvm => "optimised LLVM IR",
            Self::Ptx => "PTX",
            Self::Cubin => "machine code",
        }
    }

    /// Whether the level is an MLIR module.
    pub fn is_mlir(self) -> bool {
        self <= Self::Nvvm
    }

    /// The dialects that a module may hold at this level, besides `builtin`.
    fn dialects(self) -> &'static [&'static str] {
        match self {
            Self::Tensor => &[
                "affine", "arith", "func", "linalg", "math", "memref", "norm", "tensor",
            ],
            Self::Kernel | Self::Scheduled | Self::Tiled => {
                &["affine", "arith", "func", "math", "memref", "norm"]
            }
            Self::Gl | Self::GlLowered => &[
                "affine", "arith", "func", "gl", "gpu", "math", "memref", "norm", "scf", "tensor", "vector",
            ],
            Self::Nvvm => &["affine", "arith", "func", "gpu", "llvm", "memref", "norm", "nvvm"],
            Self::Llvm | Self::Ptx | Self::Cubin => &[],
        }
    }

    /// Checks that a module is of this level, and reports the first op that is not.
    ///
    /// # Errors
    ///
    /// An op that occurs only at other levels, or a module in the module.
    pub fn check(self, module: &Module) -> Result<()> {
        for op in walk::pre_order(module.as_operation()) {
            let name = norma_dialects::op_name(op);
            if name == "builtin.module" && op.parent_operation().is_some() {
                let message = "a module in a module; supported: functions of one module";
                Diagnostic::unsupported(op.location(), message).emit(None);
                return Err(Error::unsupported("the input has modules in a module").diagnosed());
            }
            let dialect = name.split('.').next().unwrap_or_default();
            let message = if let Some(last) = last_level(op).filter(|last| *last < self) {
                format!("'{name}' op is not of level '{self}', but of level '{last}'")
            } else if dialect != "builtin" && !self.dialects().contains(&dialect) {
                let having = Self::ALL
                    .iter()
                    .filter(|level| level.dialects().contains(&dialect));
                let having: Vec<_> = having.map(|level| level.name()).collect();
                let having = match having.as_slice() {
                    [] => String::new(),
                    having => format!("; '{dialect}' is of {}", having.join(", ")),
                };
                let dialects = self.dialects().join(", ");
                format!("'{name}' op is not of level '{self}', which has the dialects {dialects}{having}")
            } else {
                continue;
            };
            Diagnostic::user(op.location(), message).emit(None);
            return Err(Error::user(format!("the input is not of level '{self}'")).diagnosed());
        }
        Ok(())
    }
}

/// The last level at which an op of `norm` occurs, if a later level has other ops of the dialect.
fn last_level(op: OperationRef) -> Option<Level> {
    let name = norma_dialects::op_name(op);
    let is_named = name
        .strip_prefix("norm.")
        .is_some_and(|mnemonic| NamedOp::find(mnemonic).is_some());
    if is_named || name == ComputeOp::NAME {
        return Some(Level::Tensor);
    }
    KernelOp::from_op(op).map(|kernel| match kernel.roles() {
        None => Level::Scheduled,
        Some(_) => Level::Tiled,
    })
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|level| level.name() == name)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                Error::user(format!("unknown level '{name}', expected one of {names}"))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_own_level() {
        for level in Level::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
    }
}
