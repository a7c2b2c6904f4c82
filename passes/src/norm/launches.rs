//! The launches of a module, by the kernel that they run: found once, whatever the number of kernels.

use std::collections::HashMap;

use melior::ir::OperationRef;
use norma_dialects::norm::{KernelOp, LaunchOp};

use crate::mlir::{pass::PassError, walk};

/// The launches of a module.
pub(super) struct Launches<'c, 'a> {
    of_kernel: HashMap<String, Vec<LaunchOp<'c, 'a>>>,
}

impl<'c: 'a, 'a> Launches<'c, 'a> {
    pub(super) fn of(module: OperationRef<'c, 'a>) -> Result<Self, PassError<'c>> {
        let mut of_kernel = HashMap::<String, Vec<_>>::new();
        let launches = walk::named(module, LaunchOp::NAME).into_iter();
        for launch in launches.filter_map(LaunchOp::from_op) {
            if let Ok(callee) = norma_dialects::symbol(launch.callee()?) {
                of_kernel.entry(callee.to_owned()).or_default().push(launch);
            }
        }
        Ok(Self { of_kernel })
    }

    /// Removes and returns the launches of a kernel, which the caller replaces by others.
    pub(super) fn take(&mut self, kernel: KernelOp<'c, 'a>) -> Vec<LaunchOp<'c, 'a>> {
        let name = kernel.sym_name().unwrap_or_default();
        self.of_kernel.remove(name).unwrap_or_default()
    }

    /// Adds a new launch of a kernel.
    pub(super) fn add(&mut self, kernel: &str, launch: LaunchOp<'c, 'a>) {
        self.of_kernel.entry(kernel.to_owned()).or_default().push(launch);
    }
}
